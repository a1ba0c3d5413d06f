# An overlay port of the sources that it lies in. A feature is a module; there are no `tile` and `tile_verify`, for vcpkg has
# no isl.
cmake_path(SET SOURCE_PATH NORMALIZE ${CMAKE_CURRENT_LIST_DIR}/../../..)
string(REPLACE - _ modules "${FEATURES}")

vcpkg_cmake_configure(SOURCE_PATH ${SOURCE_PATH} OPTIONS "-DWARPLOOM_MODULES=${modules}" -DWARPLOOM_CUDA=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/warploom)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE ${CURRENT_PACKAGES_DIR}/debug/include ${CURRENT_PACKAGES_DIR}/debug/share)
vcpkg_install_copyright(FILE_LIST ${SOURCE_PATH}/LICENSE ${SOURCE_PATH}/third_party/licenses/fmt
  ${SOURCE_PATH}/third_party/licenses/nlohmann-json)
