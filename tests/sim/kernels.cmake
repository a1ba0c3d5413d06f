# Every .cu file of the repository that holds kernels, compiled to PTX into bin/sim-kernels, with the .sim file
# that lists its launches: test_sim_kernels runs them in the simulator, gpu_test_sim there and on a GPU.
set(WARPLOOM_SIM_ARCHITECTURES 90 CACHE STRING "Architectures that the simulator's tests compile kernels for, e.g. 75;80;90")
set(sim_kernels ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/sim-kernels)
set(sim_kernel_sources kernel_cases.cpp tolerance.cpp)
list(TRANSFORM sim_kernel_sources PREPEND ${CMAKE_CURRENT_LIST_DIR}/)

warploom_test(NAME sim_kernels
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/kernels_test.cpp ${CMAKE_CURRENT_LIST_DIR}/kernel_oracles.cpp
          ${CMAKE_CURRENT_LIST_DIR}/christiansen_oracle.cpp
          ${CMAKE_CURRENT_LIST_DIR}/rectangular_oracle.cpp
          ${CMAKE_CURRENT_LIST_DIR}/other_process.cpp ${CMAKE_CURRENT_LIST_DIR}/other_process_test.cpp
          ${CMAKE_CURRENT_LIST_DIR}/tolerance_test.cpp ${sim_kernel_sources}
  LINK oracle_christiansen warploom::sim warploom::dp)
target_compile_definitions(test_sim_kernels PRIVATE WARPLOOM_SIM_KERNELS="${sim_kernels}")
if(NOT WARPLOOM_HAVE_CUDA)
  return()
endif()

# sim_remark(out FILE WORD): what the line `# WORD: ...` of a .sim file says, up to a semicolon, as a list.
function(sim_remark out file word)
  set(value "")
  if(EXISTS ${file})
    file(STRINGS ${file} lines REGEX "^# ${word}: ")
    string(REGEX REPLACE "^# ${word}: *" "" value "${lines}")
    string(REGEX REPLACE ";.*" "" value "${value}")
    separate_arguments(value UNIX_COMMAND "${value}")
  endif()
  set(${out} ${value} PARENT_SCOPE)
endfunction()

file(GLOB_RECURSE sources CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}
  ${PROJECT_SOURCE_DIR}/bench/*.cu ${PROJECT_SOURCE_DIR}/src/*.cu ${PROJECT_SOURCE_DIR}/examples/*.cu
  ${PROJECT_SOURCE_DIR}/tests/*.cu)
set(targets "")
set(list "")
foreach(source IN LISTS sources)
  file(STRINGS ${PROJECT_SOURCE_DIR}/${source} kernels REGEX "__global__" LIMIT_COUNT 1)
  if(NOT kernels)
    continue()
  endif()
  string(REGEX REPLACE "\\.cu$" "" name ${source})
  set(launches ${PROJECT_SOURCE_DIR}/${name}.sim)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${launches})
  sim_remark(reason ${launches} "not run")
  if(reason OR NOT EXISTS ${launches})  # the test says which files have no launches
    continue()
  endif()
  sim_remark(flags ${launches} nvcc)
  sim_remark(allowed ${launches} architectures)
  set(architectures "")
  foreach(architecture IN LISTS WARPLOOM_SIM_ARCHITECTURES)
    if(NOT allowed OR architecture IN_LIST allowed)
      list(APPEND architectures ${architecture})
    endif()
  endforeach()
  if(NOT architectures)
    list(GET allowed 0 architectures)
  endif()
  get_filename_component(directory ${sim_kernels}/${name} DIRECTORY)
  file(MAKE_DIRECTORY ${directory})
  add_custom_command(OUTPUT ${sim_kernels}/${name}.sim
    COMMAND ${CMAKE_COMMAND} -E copy ${launches} ${sim_kernels}/${name}.sim
    DEPENDS ${launches} VERBATIM)
  set(made ${sim_kernels}/${name}.sim)
  file(STRINGS ${launches} parts REGEX "^# part: ")
  list(TRANSFORM parts REPLACE "^# part: *" "")
  set(files)
  warploom_parts(files ../../${source} ${parts})
  if(NOT parts)
    set(files ${PROJECT_SOURCE_DIR}/${source})
  endif()
  foreach(file part IN ZIP_LISTS files parts)
    foreach(architecture IN LISTS architectures)
      string(JOIN . ptx ${name} ${part} sm_${architecture} ptx)
      set(ptx ${sim_kernels}/${ptx})
      add_custom_command(OUTPUT ${ptx}
        COMMAND ${CMAKE_CUDA_COMPILER} -std=c++20 -I${PROJECT_SOURCE_DIR}/include -I${PROJECT_SOURCE_DIR}/src
                -ptx -lineinfo -arch=sm_${architecture} ${flags} -MMD -MF ${ptx}.d -o ${ptx} ${file}
        DEPENDS ${file} DEPFILE ${ptx}.d
        COMMENT "Compiling ${source} ${part} to PTX for sm_${architecture}" VERBATIM)
      list(APPEND made ${ptx})
      string(APPEND list "${architecture}:${part}:${name}\n")
    endforeach()
  endforeach()
  # One target a source, for the other tests that simulate it (warploom_sim_test).
  string(MAKE_C_IDENTIFIER ptx_${name} target)
  add_custom_target(${target} DEPENDS ${made})
  set_target_properties(${target} PROPERTIES PTX ${ptx})
  list(APPEND targets ${target})
endforeach()
file(GENERATE OUTPUT ${sim_kernels}/modules CONTENT "${list}")
add_custom_target(sim_kernels DEPENDS ${targets})
add_dependencies(test_sim_kernels sim_kernels)

warploom_gpu_test(NAME sim
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/kernels_gpu_test.cpp ${PROJECT_SOURCE_DIR}/bench/reuse/gpu_driver.cpp
          ${CMAKE_CURRENT_LIST_DIR}/other_process.cpp ${sim_kernel_sources}
  LINK nlohmann_json::nlohmann_json CUDA::cuda_driver warploom::sim)
target_include_directories(gpu_test_sim PRIVATE ${PROJECT_SOURCE_DIR}/bench)
add_dependencies(gpu_test_sim sim_kernels)
