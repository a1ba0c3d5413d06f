# `cmake --install BUILD --prefix P` gives the headers and libraries of the modules that are built, a CMake package with a
# component for each (find_package(warploom COMPONENTS table) -> warploom::table), warploom-MODULE.pc for pkg-config, the
# licences and, if it is built, the tool with its man pages and completion.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/warploom)
set(pkgconfig_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
set(prefix /)
cmake_path(RELATIVE_PATH prefix BASE_DIRECTORY /${pkgconfig_dir} OUTPUT_VARIABLE to_prefix)
# What a package is for pkg-config: a package of its own, or options of the linker.
set(requires_Deflate libdeflate)
set(requires_PNG libpng)
set(requires_ISL isl gmp)
set(requires_Isal libisal)
set(libraries_Threads -pthread -ldl)
set(libraries_CUDAToolkit -lcudart_static -lrt)
set(arrows)
foreach(module IN LISTS WARPLOOM_BUILT_MODULES)
  set(target warploom_${module})
  install(TARGETS ${target} EXPORT warploom-${module}
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT warploom-${module} NAMESPACE warploom:: DESTINATION ${package_dir})
  get_target_property(headers ${target} WARPLOOM_HEADERS)
  foreach(header IN LISTS headers)  # a folder, or a file in one
    cmake_path(SET folder ${CMAKE_INSTALL_INCLUDEDIR}/warploom/${header})
    cmake_path(GET folder PARENT_PATH folder)
    set(kind FILES)
    if(IS_DIRECTORY ${PROJECT_SOURCE_DIR}/include/warploom/${header})
      set(kind DIRECTORY)
    endif()
    install(${kind} ${PROJECT_SOURCE_DIR}/include/warploom/${header} DESTINATION ${folder})
  endforeach()

  # A shared library knows itself what it was linked with.
  set(packages)
  if(NOT BUILD_SHARED_LIBS)
    set(packages ${WARPLOOM_${module}_PACKAGES})
    if(TARGET ${target}_cuda)
      list(APPEND packages CUDAToolkit)
    endif()
  endif()
  string(APPEND arrows "  set(needs_${module} ${WARPLOOM_${module}_NEEDS})\n  set(packages_${module} ${packages})\n")
  set(requires ${WARPLOOM_${module}_PUBLIC} ${WARPLOOM_${module}_PRIVATE})
  list(TRANSFORM requires PREPEND warploom-)
  set(libraries)
  foreach(package IN LISTS packages)
    list(APPEND requires ${requires_${package}})
    list(APPEND libraries ${libraries_${package}})
  endforeach()
  list(JOIN requires " " requires)
  list(JOIN libraries " " libraries)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/warploom.pc.in ${PROJECT_BINARY_DIR}/warploom-${module}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/warploom-${module}.pc DESTINATION ${pkgconfig_dir})
endforeach()
install(FILES ${PROJECT_BINARY_DIR}/roots/core/public/warploom/config.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/warploom)

configure_file(${PROJECT_SOURCE_DIR}/cmake/warploomConfig.cmake.in ${PROJECT_BINARY_DIR}/warploomConfig.cmake @ONLY)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/warploomConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/warploomConfig.cmake ${PROJECT_BINARY_DIR}/warploomConfigVersion.cmake
  ${PROJECT_SOURCE_DIR}/cmake/FindDeflate.cmake ${PROJECT_SOURCE_DIR}/cmake/FindISL.cmake ${PROJECT_SOURCE_DIR}/cmake/FindIsal.cmake DESTINATION ${package_dir})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/third_party/licenses DESTINATION ${CMAKE_INSTALL_DOCDIR})

if(WARPLOOM_TOOLS)
  install(TARGETS warploom DESTINATION ${CMAKE_INSTALL_BINDIR})
  if(BUILD_SHARED_LIBS)
    set_target_properties(warploom PROPERTIES INSTALL_RPATH $ORIGIN/../${CMAKE_INSTALL_LIBDIR})
  endif()
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

# `cpack --config BUILD/CPackConfig.cmake` makes a Debian package of the same.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME warploom)
set(CPACK_PACKAGE_CONTACT "the developers of Warploom")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "libdeflate-dev, libgmp-dev, libisal-dev, libisl-dev, libpng-dev")  # what links our archives needs
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)  # the libraries that the tool links, by their packages
include(CPack)
