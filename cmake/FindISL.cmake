# isl, and gmp for it, as ISL::ISL; they have no packages of CMake's. Our build and users' find_package(warploom) use it.
include(FindPackageHandleStandardArgs)
find_path(ISL_INCLUDE_DIR isl/cpp.h)
find_library(ISL_LIBRARY isl)
find_library(GMP_LIBRARY gmp)
mark_as_advanced(ISL_INCLUDE_DIR ISL_LIBRARY GMP_LIBRARY)
find_package_handle_standard_args(ISL REQUIRED_VARS ISL_LIBRARY GMP_LIBRARY ISL_INCLUDE_DIR)
if(ISL_FOUND AND NOT TARGET ISL::ISL)
  add_library(ISL::ISL UNKNOWN IMPORTED)
  set_target_properties(ISL::ISL PROPERTIES IMPORTED_LOCATION "${ISL_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${ISL_INCLUDE_DIR}" INTERFACE_LINK_LIBRARIES "${GMP_LIBRARY}")
endif()
