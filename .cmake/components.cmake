# The optional dependencies, and the targets that carry them.
#
# A missing library is no error here: the target exists either way, and only a program that links it needs the library.
# Found packages are visible in the whole build, so that a parent project can link berth::graph and the like.

set(BERTH_BOOST_VERSION 1.74)
set(BERTH_EIGEN_VERSION 3.4)
set(BERTH_JSON_VERSION 3.11)
set(BERTH_FMT_VERSION 9)
set(BERTH_PUGIXML_VERSION 1.13)
set(BERTH_YAML_VERSION 0.7)
set(BERTH_HWLOC_VERSION 2.9)

include(${CMAKE_CURRENT_LIST_DIR}/find_library.cmake)
berth_find_library(Boost ${BERTH_BOOST_VERSION} Boost::headers)
berth_find_library(Eigen3 ${BERTH_EIGEN_VERSION} Eigen3::Eigen)
berth_find_library(nlohmann_json ${BERTH_JSON_VERSION} nlohmann_json::nlohmann_json)
berth_find_library(fmt ${BERTH_FMT_VERSION} fmt::fmt)
berth_find_library(pugixml ${BERTH_PUGIXML_VERSION} pugixml::pugixml)
berth_find_library(yaml-cpp ${BERTH_YAML_VERSION} yaml-cpp::yaml-cpp)
berth_find_library(hwloc ${BERTH_HWLOC_VERSION} hwloc::hwloc)

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
  foreach(target IN ITEMS Boost::headers Eigen3::Eigen nlohmann_json::nlohmann_json fmt::fmt pugixml::pugixml
                          yaml-cpp::yaml-cpp hwloc::hwloc)
    if(NOT TARGET ${target})
      list(APPEND missing ${target})
    endif()
  endforeach()
  if(missing)
    message(FATAL_ERROR "berth: ${purpose} need(s) ${missing}. On Debian: "
                        "apt-get install libboost-dev libeigen3-dev nlohmann-json3-dev libfmt-dev libpugixml-dev "
                        "libyaml-cpp-dev libhwloc-dev")
  endif()
endfunction()
