# berth_find_library(<package> <version> <target>): looks for a library that a component needs, and gives its target the
# name that berth uses. Used by berth's own build and by find_package(berth). A missing library is no error.
function(berth_find_library package version target)
  if(TARGET ${target})
    return()
  endif()
  set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL TRUE)
  if(package STREQUAL "hwloc")
    # hwloc comes with a pkg-config file and none for CMake.
    find_path(BERTH_HWLOC_INCLUDE_DIR hwloc.h)
    find_library(BERTH_HWLOC_LIBRARY hwloc)
    mark_as_advanced(BERTH_HWLOC_INCLUDE_DIR BERTH_HWLOC_LIBRARY)
    if(BERTH_HWLOC_INCLUDE_DIR AND BERTH_HWLOC_LIBRARY)
      add_library(${target} UNKNOWN IMPORTED GLOBAL)
      set_target_properties(${target} PROPERTIES IMPORTED_LOCATION "${BERTH_HWLOC_LIBRARY}"
                                                 INTERFACE_INCLUDE_DIRECTORIES "${BERTH_HWLOC_INCLUDE_DIR}")
    endif()
    return()
  endif()
  find_package(${package} ${version} CONFIG QUIET)
  # yaml-cpp puts its target into a namespace only from 0.8 on.
  if(package STREQUAL "yaml-cpp" AND TARGET yaml-cpp AND NOT TARGET ${target})
    add_library(${target} INTERFACE IMPORTED GLOBAL)
    target_link_libraries(${target} INTERFACE yaml-cpp)
  endif()
endfunction()
