# The papers' benchmark on a GPU: gpu_test_reuse and gpu_bench_reuse (the CUDA driver is all they need), and
# the modules they run, which gpu_prepare.py compiles and rewrites into gpu-reuse/ beside them.
if(NOT WARPLOOM_HAVE_CUDA)
  return()
endif()
find_package(Python3 REQUIRED COMPONENTS Interpreter)

set(reuse_kernels curvature2d curvature3d curvature3d_tiles registration)
list(TRANSFORM reuse_kernels REPLACE "(.+)" "${CMAKE_CURRENT_LIST_DIR}/kernels/\\1.cu" OUTPUT_VARIABLE reuse_kernel_files)

# Compiles for every architecture, so that a kernel that no longer does is seen where there is no GPU.
list(TRANSFORM WARPLOOM_ARCHITECTURES REPLACE "^([0-9]+[af]?).*" "\\1" OUTPUT_VARIABLE reuse_architectures)
list(REMOVE_DUPLICATES reuse_architectures)  # 90-real and 90-virtual are one here
foreach(architecture IN LISTS reuse_architectures)
  add_library(bench_reuse_kernels_${architecture} OBJECT ${reuse_kernel_files})
  set_target_properties(bench_reuse_kernels_${architecture} PROPERTIES
    CUDA_ARCHITECTURES ${architecture} CUDA_PTX_COMPILATION ON)
  target_link_libraries(bench_reuse_kernels_${architecture} PRIVATE warploom_warnings)
endforeach()

add_library(bench_reuse_gpu STATIC ${CMAKE_CURRENT_LIST_DIR}/gpu_driver.cpp ${CMAKE_CURRENT_LIST_DIR}/gpu_problem.cpp)
target_compile_features(bench_reuse_gpu PUBLIC cxx_std_20)
target_link_libraries(bench_reuse_gpu PUBLIC CUDA::cuda_driver Threads::Threads PRIVATE warploom_warnings)
foreach(kind IN ITEMS test bench)
  _warploom_executable(gpu_${kind}_reuse ${CMAKE_CURRENT_LIST_DIR}/gpu_${kind}.cpp bench_reuse_gpu)
endforeach()

get_filename_component(nvcc_directory ${CMAKE_CUDA_COMPILER} DIRECTORY)
set(reuse_modules ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/gpu-reuse)
add_custom_command(OUTPUT ${reuse_modules}/manifest
  COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/gpu_prepare.py --warploom $<TARGET_FILE:warploom>
          --nvcc ${CMAKE_CUDA_COMPILER} --ptxas ${nvcc_directory}/ptxas --out ${reuse_modules}
  DEPENDS warploom ${CMAKE_CURRENT_LIST_DIR}/gpu_prepare.py ${reuse_kernel_files}
          ${CMAKE_CURRENT_LIST_DIR}/kernels/curvature3d.cuh
  COMMENT "Rewriting the reuse benchmark's kernels" VERBATIM)
add_custom_target(gpu_reuse_modules DEPENDS ${reuse_modules}/manifest)
set_property(GLOBAL APPEND PROPERTY WARPLOOM_GPU_TARGETS gpu_test_reuse gpu_bench_reuse gpu_reuse_modules)
