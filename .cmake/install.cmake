# Install rules and the package files. Each component has an export file of its own, so that find_package(berth) asks
# only for the libraries of the components that were named.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(berth_package_dir ${CMAKE_INSTALL_DATADIR}/cmake/berth)

install(TARGETS berth EXPORT berth-targets FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT berth-targets NAMESPACE berth:: DESTINATION ${berth_package_dir})
foreach(component IN ITEMS graph quota io xml yaml hwloc report all)
  install(TARGETS berth_${component} EXPORT berth-${component}-targets)
  install(EXPORT berth-${component}-targets NAMESPACE berth:: DESTINATION ${berth_package_dir})
endforeach()

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/berth-config.cmake.in
  ${CMAKE_CURRENT_BINARY_DIR}/berth-config.cmake INSTALL_DESTINATION ${berth_package_dir})
# Before 1.0 a minor version may break what an earlier one promised.
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/berth-config-version.cmake
  VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/berth-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/berth-config-version.cmake
  ${CMAKE_CURRENT_LIST_DIR}/find_library.cmake DESTINATION ${berth_package_dir})
install(FILES ${CMAKE_CURRENT_LIST_DIR}/../LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/berth)
