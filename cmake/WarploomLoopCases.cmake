# warploom_loop_cases(NAME polybench TABLE cases FILES a.c b.c)
# An object library loop_cases_NAME of nests and of the C and CUDA that `tile` makes of them (tests/tile/generate_cases),
# with the function TABLE() that lists them.
# In C the source and what was made of it are compiled alike, without contraction: results must agree bit for bit.
function(warploom_loop_cases)
  cmake_parse_arguments(L "" "NAME;TABLE" "FILES" ${ARGN})
  set(out ${CMAKE_CURRENT_BINARY_DIR}/cases_${L_NAME})
  file(MAKE_DIRECTORY ${out})
  set(generated ${out}/cases.cpp)
  set(cuda)
  foreach(file IN LISTS L_FILES)
    cmake_path(GET file STEM stem)
    list(APPEND c_sources ${out}/${stem}.source.c ${out}/${stem}.double.c ${out}/${stem}.cpu.c)
    list(APPEND cuda_sources ${out}/${stem}.cu)
  endforeach()
  set(arguments --no-cuda)
  if(WARPLOOM_HAVE_CUDA)
    set(arguments)
    set(cuda ${cuda_sources})
  endif()
  add_custom_command(OUTPUT ${generated} ${c_sources} ${cuda}
    COMMAND generate_loop_cases ${out} ${L_TABLE} ${arguments} ${L_FILES} DEPENDS generate_loop_cases ${L_FILES} VERBATIM)
  add_library(loop_cases_${L_NAME} OBJECT ${generated} ${c_sources} ${cuda})
  target_include_directories(loop_cases_${L_NAME} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_compile_features(loop_cases_${L_NAME} PRIVATE cxx_std_20)
  set_source_files_properties(${c_sources} PROPERTIES COMPILE_OPTIONS "-O2;-ffp-contract=off;-w")
  # One architecture: what CI compiles runs in the simulator's tests, and what a GPU measures is an H200's.
  set_target_properties(loop_cases_${L_NAME} PROPERTIES CUDA_ARCHITECTURES 90)
endfunction()
