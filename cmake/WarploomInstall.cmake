# `cmake --install BUILD --prefix P` gives the tool, the headers, the libraries and a CMake package:
# find_package(warploom) -> warploom::core, hw, page, ptx, reuse_check, reuse, sim, io, signal, imaging, dp,
# table, search and tile, all of namespace warploom::.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

get_property(modules GLOBAL PROPERTY WARPLOOM_MODULES)
install(TARGETS ${modules} EXPORT warploomTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/warploom DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(WARPLOOM_TOOLS)
  install(TARGETS warploom DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/warploom)
install(EXPORT warploomTargets NAMESPACE warploom:: DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/warploomConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_SOURCE_DIR}/cmake/warploomConfig.cmake ${PROJECT_BINARY_DIR}/warploomConfigVersion.cmake
  DESTINATION ${package_dir})
