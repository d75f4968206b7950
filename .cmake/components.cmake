# The optional dependencies, and the targets that carry them.
#
# A missing library is no error here: the target exists either way, and only a program that links it needs the library.
# Found packages are visible in the whole build, so that a parent project can link berth::graph and the like.

set(BERTH_BOOST_VERSION 1.74)
set(BERTH_JSON_VERSION 3.11)
set(BERTH_FMT_VERSION 9)

block()
  set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL TRUE)
  if(NOT TARGET Boost::headers)
    find_package(Boost ${BERTH_BOOST_VERSION} CONFIG QUIET)
  endif()
  if(NOT TARGET nlohmann_json::nlohmann_json)
    find_package(nlohmann_json ${BERTH_JSON_VERSION} CONFIG QUIET)
  endif()
  if(NOT TARGET fmt::fmt)
    find_package(fmt ${BERTH_FMT_VERSION} CONFIG QUIET)
  endif()
endblock()

# berth_component(<name> <target>...): the target berth::<name>, which is berth::berth plus the named targets.
function(berth_component name)
  add_library(berth_${name} INTERFACE)
  add_library(berth::${name} ALIAS berth_${name})
  set_target_properties(berth_${name} PROPERTIES EXPORT_NAME ${name})
  target_link_libraries(berth_${name} INTERFACE berth ${ARGN})
endfunction()

# berth_require(<what for>): stops unless every optional library is there.
function(berth_require purpose)
  set(missing "")
  foreach(target IN ITEMS Boost::headers nlohmann_json::nlohmann_json fmt::fmt)
    if(NOT TARGET ${target})
      list(APPEND missing ${target})
    endif()
  endforeach()
  if(missing)
    message(FATAL_ERROR "berth: ${purpose} need(s) ${missing}. On Debian: "
                        "apt-get install libboost-dev nlohmann-json3-dev libfmt-dev")
  endif()
endfunction()
