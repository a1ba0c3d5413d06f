# warploom_loop_cases(NAME polybench TABLE cases FILES a.c b.c [APART] [FLAGS -O3 -march=native])
# An object library loop_cases_NAME of nests and of the C and CUDA that `tile` makes of them (tests/tile/generate_cases),
# with the function TABLE() that lists them. The CUDA of about eight nests makes a unit, for of the second or so that nvcc
# takes for one, most is headers and start-up; APART: of each nest, for a unit has no more than 64 KB of constants.
# In C the source and what was made of it are compiled alike, without contraction: results must agree bit for bit;
# or with FLAGS.
function(warploom_loop_cases)
  cmake_parse_arguments(L "APART" "NAME;TABLE" "FILES;FLAGS" ${ARGN})
  set(out ${CMAKE_CURRENT_BINARY_DIR}/cases_${L_NAME})
  file(MAKE_DIRECTORY ${out})
  set(c_sources ${out}/source.c ${out}/double.c ${out}/cpu.c)
  set(cuda)
  set(cuda_units 0)
  if(WARPLOOM_HAVE_CUDA)
    list(LENGTH L_FILES cuda_units)
    if(NOT L_APART)
      math(EXPR cuda_units "(${cuda_units} + 7) / 8")
    endif()
    foreach(nest RANGE 1 ${cuda_units})
      math(EXPR unit "${nest} - 1")
      list(APPEND cuda ${out}/cuda_${unit}.cu)
    endforeach()
  endif()
  add_custom_command(OUTPUT ${out}/cases.cpp ${c_sources} ${cuda}
    COMMAND generate_loop_cases ${out} ${L_TABLE} ${cuda_units} ${L_FILES} DEPENDS generate_loop_cases ${L_FILES} VERBATIM)
  add_library(loop_cases_${L_NAME} OBJECT ${out}/cases.cpp ${c_sources} ${cuda})
  target_include_directories(loop_cases_${L_NAME} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_compile_features(loop_cases_${L_NAME} PRIVATE cxx_std_20)
  if(NOT L_FLAGS)
    set(L_FLAGS -O2 -ffp-contract=off)
  endif()
  set_source_files_properties(${c_sources} PROPERTIES COMPILE_OPTIONS "${L_FLAGS};-w")
  # One architecture: what CI compiles runs in the simulator's tests, and what a GPU measures is an H200's.
  set_target_properties(loop_cases_${L_NAME} PROPERTIES CUDA_ARCHITECTURES 90)
endfunction()
