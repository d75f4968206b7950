# Builds the consumer around the sources in `source`, below `work`.
set(here ${CMAKE_CURRENT_LIST_DIR})
file(REMOVE_RECURSE ${work})

function(must_pass what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(NOT code EQUAL 0)
    message(NOTICE "${out}")
    message(FATAL_ERROR "${what}: exit ${code}")
  endif()
  message(STATUS "${what}: ok")
endfunction()

# By add_subdirectory where no optional library can be found, and by FetchContent where they can.
foreach(fetch IN ITEMS OFF ON)
  set(no_library ON)
  if(fetch)
    set(no_library OFF)
  endif()
  set(tree ${work}/fetch-${fetch})
  must_pass("configure, FetchContent ${fetch}, without libraries ${no_library}"
    ${CMAKE_COMMAND} -S ${here} -B ${tree} -G ${generator} -D CMAKE_CXX_COMPILER=${compiler}
    -D BERTH_SOURCE=${source} -D FETCH=${fetch} -D CMAKE_DISABLE_FIND_PACKAGE_Boost=${no_library}
    -D CMAKE_DISABLE_FIND_PACKAGE_nlohmann_json=${no_library} -D CMAKE_DISABLE_FIND_PACKAGE_fmt=${no_library})
  must_pass("build" ${CMAKE_COMMAND} --build ${tree})
  foreach(program IN ITEMS light separate)
    must_pass("run ${program}" ${tree}/${program})
  endforeach()
  must_pass("install" ${CMAKE_COMMAND} --install ${tree} --prefix ${tree}/prefix)
  file(GLOB_RECURSE installed RELATIVE ${tree}/prefix ${tree}/prefix/*)
  if(NOT installed STREQUAL "bin/light")
    message(FATAL_ERROR "the parent installs more than its own program: ${installed}")
  endif()
endforeach()
