# `cmake --install BUILD --prefix P` gives the tool, its man pages and completion, the headers, the libraries and a CMake
# package: find_package(warploom) -> warploom::core, hw, page, ptx, reuse_check, reuse, sim, io, signal, imaging, dp, table,
# search and tile, all of namespace warploom::.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

get_property(modules GLOBAL PROPERTY WARPLOOM_MODULES)
install(TARGETS ${modules} EXPORT warploomTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/warploom DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(WARPLOOM_TOOLS)
  install(TARGETS warploom DESTINATION ${CMAKE_INSTALL_BINDIR})
  # Completion of shells and man pages: the tool itself writes them, where it runs.
  if(NOT CMAKE_CROSSCOMPILING)
    set(written ${PROJECT_BINARY_DIR}/written)
    install(CODE "
      file(REMOVE_RECURSE \"${written}\")
      file(MAKE_DIRECTORY \"${written}\")
      foreach(shell bash zsh fish)
        execute_process(COMMAND \"$<TARGET_FILE:warploom>\" completion \${shell}
          OUTPUT_FILE \"${written}/\${shell}\" COMMAND_ERROR_IS_FATAL ANY)
      endforeach()
      execute_process(COMMAND \"$<TARGET_FILE:warploom>\" man --all \"${written}/man1\" COMMAND_ERROR_IS_FATAL ANY)")
    install(FILES ${written}/bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME warploom)
    install(FILES ${written}/zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions RENAME _warploom)
    install(FILES ${written}/fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d RENAME warploom.fish)
    install(DIRECTORY ${written}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR})
  endif()
endif()

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/warploom)
install(EXPORT warploomTargets NAMESPACE warploom:: DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/warploomConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_SOURCE_DIR}/cmake/warploomConfig.cmake ${PROJECT_BINARY_DIR}/warploomConfigVersion.cmake
  DESTINATION ${package_dir})

# `cpack --config BUILD/CPackConfig.cmake` makes a Debian package of the same.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME warploom)
set(CPACK_PACKAGE_CONTACT "the developers of Warploom")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)  # the libraries that the tool links, by their packages
include(CPack)
