# What `cmake --install` installs where: libraries, headers, the program and the package for find_package.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/isentropic)

install(TARGETS isentropic EXPORT isentropic)
if(ISENTROPIC_INFORMATION)
  install(TARGETS isentropic_information EXPORT isentropic)
endif()
install(EXPORT isentropic NAMESPACE isentropic:: FILE isentropic-targets.cmake DESTINATION ${package_dir})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ ${PROJECT_BINARY_DIR}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN *.hpp PATTERN pytorch EXCLUDE)
# C++ users of the operators provide PyTorch themselves: the library and its headers, but no exported target.
if(TARGET isentropic_torch)
  install(TARGETS isentropic_torch)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/isentropic/pytorch DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/isentropic)
endif()
if(ISENTROPIC_BUILD_CLI)
  set_target_properties(isentropic-cli PROPERTIES INSTALL_RPATH $ORIGIN/../${CMAKE_INSTALL_LIBDIR})
  install(TARGETS isentropic-cli)
endif()

get_target_property(library_type isentropic TYPE)
if(ISENTROPIC_OPENMP AND library_type STREQUAL STATIC_LIBRARY)
  set(package_needs_openmp ON)
else()
  set(package_needs_openmp OFF)
endif()
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/isentropic-config.cmake.in
                              ${PROJECT_BINARY_DIR}/isentropic-config.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/isentropic-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/isentropic-config.cmake ${PROJECT_BINARY_DIR}/isentropic-config-version.cmake
        DESTINATION ${package_dir})
