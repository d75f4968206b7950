# Installs berth from `build` into a fresh prefix below `work` and builds the consumer against it.
set(here ${CMAKE_CURRENT_LIST_DIR})
file(REMOVE_RECURSE ${work})
set(prefix ${work}/prefix)

function(must_pass what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(NOT code EQUAL 0)
    message(NOTICE "${out}")
    message(FATAL_ERROR "${what}: exit ${code}")
  endif()
  message(STATUS "${what}: ok")
endfunction()
function(must_fail what expected)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE out ERROR_VARIABLE out)
  string(REGEX REPLACE "[ \n]+" " " words "${out}")
  if(code EQUAL 0 OR NOT words MATCHES "${expected}")
    message(NOTICE "${out}")
    message(FATAL_ERROR "${what}: exit ${code}, expected a refusal that says '${expected}'")
  endif()
  message(STATUS "${what}: refused, as it should be")
endfunction()

set(configure ${CMAKE_COMMAND} -S ${here} -G ${generator} -D CMAKE_CXX_COMPILER=${compiler} -D CMAKE_PREFIX_PATH=${prefix})
set(no_library -D CMAKE_DISABLE_FIND_PACKAGE_Boost=ON -D CMAKE_DISABLE_FIND_PACKAGE_nlohmann_json=ON
               -D CMAKE_DISABLE_FIND_PACKAGE_fmt=ON)

must_pass("install" ${CMAKE_COMMAND} --install ${build} --prefix ${prefix})

must_pass("configure without any library" ${configure} -B ${work}/light -D LIGHT=ON ${no_library})
must_pass("build" ${CMAKE_COMMAND} --build ${work}/light)
must_pass("run" ${work}/light/light)

must_pass("configure with all components" ${configure} -B ${work}/full)
must_pass("build" ${CMAKE_COMMAND} --build ${work}/full)
must_pass("run light" ${work}/full/light)
must_pass("run full" ${work}/full/full)

must_fail("a later major version" "not accepted|compatible with requested version"
          ${configure} -B ${work}/later -D WANTED=1.0)
must_fail("a later minor version" "compatible with requested version" ${configure} -B ${work}/minor -D WANTED=0.2)
must_fail("an unknown component" "There is no component colour"
          ${configure} -B ${work}/unknown -D COMPONENTS=colour)
must_fail("a component without its library" "Component report needs fmt"
          ${configure} -B ${work}/missing -D COMPONENTS=report -D CMAKE_DISABLE_FIND_PACKAGE_fmt=ON)
