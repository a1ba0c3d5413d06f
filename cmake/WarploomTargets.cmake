# One CMake target and one include root per module, so that an arrow the design forbids does not compile.

include(GNUInstallDirs)

# Two include roots of a module, folders of links into the tree: in `public` lie its headers alone, as <warploom/NAME/...>,
# in `private` its sources' own, as "NAME/...".
function(_warploom_roots name folder headers)
  set(roots ${PROJECT_BINARY_DIR}/roots/${name})
  foreach(header IN LISTS headers)
    cmake_path(GET header PARENT_PATH parent)
    file(MAKE_DIRECTORY ${roots}/public/warploom/${parent})
    file(CREATE_LINK ${PROJECT_SOURCE_DIR}/include/warploom/${header} ${roots}/public/warploom/${header} SYMBOLIC)
  endforeach()
  cmake_path(GET folder PARENT_PATH parent)
  file(MAKE_DIRECTORY ${roots}/private/${parent})
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/src/${folder} ${roots}/private/${folder} SYMBOLIC)
endfunction()

# The sources of a target are compiled several at once: headers, which take most of the time, are read once for all.
function(_warploom_unity target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${WARPLOOM_UNITY} UNITY_BUILD_BATCH_SIZE 6)
endfunction()

# Sources that are compiled by themselves, for their options or because they take long.
function(warploom_alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# warploom_module(NAME json SOURCES a.cpp b.cpp LINK nlohmann_json::nlohmann_json)
# defines warploom_NAME (alias warploom::NAME) from the sources beside the caller, on the modules and packages that
# WarploomModules.cmake names. LINK: what an archive of it does not need where it is linked. A part of a module, which is in
# its folder, names its public headers: HEADERS reuse/check.hpp.
function(warploom_module)
  cmake_parse_arguments(M "" "NAME" "SOURCES;HEADERS;LINK" ${ARGN})
  if(NOT M_HEADERS)
    set(M_HEADERS ${M_NAME})
  endif()
  string(REPLACE _ / folder ${M_NAME})
  _warploom_roots(${M_NAME} ${folder} "${M_HEADERS}")
  set(public ${WARPLOOM_${M_NAME}_PUBLIC})
  set(private ${WARPLOOM_${M_NAME}_PRIVATE})
  list(TRANSFORM public PREPEND warploom::)
  list(TRANSFORM private PREPEND warploom::)
  foreach(package IN LISTS WARPLOOM_${M_NAME}_PACKAGES)
    list(APPEND private ${package}::${package})
  endforeach()
  list(TRANSFORM M_LINK REPLACE "(.+)" "$<BUILD_INTERFACE:\\1>")
  set(target warploom_${M_NAME})
  add_library(${target} ${M_SOURCES})
  _warploom_unity(${target})
  add_library(warploom::${M_NAME} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${M_NAME} WARPLOOM_HEADERS "${M_HEADERS}")
  target_include_directories(${target}
    PUBLIC $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/roots/${M_NAME}/public> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
    PRIVATE ${PROJECT_BINARY_DIR}/roots/${M_NAME}/private ${PROJECT_BINARY_DIR}/roots/core/private)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_link_libraries(${target} PUBLIC ${public}
    PRIVATE ${private} ${M_LINK} $<BUILD_INTERFACE:warploom_warnings> $<BUILD_INTERFACE:warploom_fmt>)
  if(BUILD_SHARED_LIBS)  # before 1.0 a minor version may break the interface
    set(map ${PROJECT_SOURCE_DIR}/cmake/warploom.map)
    set_target_properties(${target} PROPERTIES VERSION ${PROJECT_VERSION}
      SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR} VISIBILITY_INLINES_HIDDEN ON
      INSTALL_RPATH $ORIGIN LINK_DEPENDS ${map})
    target_link_options(${target} PRIVATE -Wl,--version-script=${map})
  endif()
endfunction()

# warploom_embed(warploom_page common.css reveal.js)
# gives a target the files beside the caller as constants: std::string_view common_css and reveal_js of namespace
# warploom::page::embedded, declared in "page/embedded.hpp". After an edit of a file CMake runs again by itself.
function(warploom_embed target)
  string(REGEX REPLACE "^warploom_" "" name ${target})
  set(folder ${PROJECT_BINARY_DIR}/embedded/${target})
  foreach(file IN LISTS ARGN)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    cmake_path(GET file FILENAME constant)
    string(MAKE_C_IDENTIFIER ${constant} constant)
    file(READ ${file} bytes HEX)
    string(REGEX REPLACE "(..)" "'\\\\x\\1'," bytes "${bytes}")  # not a literal: compilers limit their length
    string(APPEND declared "extern const std::string_view ${constant};\n")
    string(APPEND defined "static const char ${constant}_bytes[] = {${bytes}0};\n"
      "const std::string_view ${constant}(${constant}_bytes, sizeof ${constant}_bytes - 1);\n")
  endforeach()
  set(namespace "namespace warploom::${name}::embedded {\n")
  file(CONFIGURE OUTPUT ${folder}/${name}/embedded.hpp CONTENT "#pragma once\n#include <string_view>\n${namespace}${declared}}\n")
  file(CONFIGURE OUTPUT ${folder}/embedded.cpp CONTENT "#include \"${name}/embedded.hpp\"\n${namespace}${defined}}\n")
  target_sources(${target} PRIVATE ${folder}/embedded.cpp)
  target_include_directories(${target} PRIVATE ${folder})
endfunction()

# warploom_parts(units a.cu 0 1 2)
# adds units to a list that compile a source of many kernels in parts, since one unit of them all would take minutes. Each
# defines WARPLOOM_PART, one of the values, and WARPLOOM_PARTS, their number, and includes the source, which then has
# that part's kernels alone.
function(warploom_parts units source)
  list(LENGTH ARGN count)
  cmake_path(GET source STEM stem)
  foreach(part IN LISTS ARGN)
    string(REGEX MATCH "[^_]+$" name ${part})
    set(unit ${CMAKE_CURRENT_BINARY_DIR}/${stem}_${name}.cu)
    file(CONFIGURE OUTPUT ${unit} CONTENT "#define WARPLOOM_PART ${part}
#define WARPLOOM_PARTS ${count}
#include \"${CMAKE_CURRENT_SOURCE_DIR}/${source}\"
")
    list(APPEND ${units} ${unit})
  endforeach()
  set(${units} ${${units}} PARENT_SCOPE)
endfunction()

# warploom_module_cuda(NAME imaging SOURCES a.cu b.cu host.cpp)
# adds the CUDA half to warploom_NAME, whose sources then see WARPLOOM_HAVE_CUDA. With WARPLOOM_WRAP its kernels
# are compiled through `warploom wrap`, by the tool's compiler half. Does nothing without a CUDA toolkit.
function(warploom_module_cuda)
  if(NOT WARPLOOM_HAVE_CUDA)
    return()
  endif()
  cmake_parse_arguments(M "" "NAME" "SOURCES" ${ARGN})
  set(target warploom_${M_NAME}_cuda)
  add_library(${target} OBJECT ${M_SOURCES})
  set_property(GLOBAL APPEND PROPERTY WARPLOOM_CUDA_MODULES ${target})
  target_include_directories(${target} PRIVATE $<TARGET_PROPERTY:warploom_${M_NAME},INCLUDE_DIRECTORIES>)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_compile_features(${target} PRIVATE cxx_std_20)
  target_link_libraries(${target} PRIVATE warploom_warnings CUDA::toolkit)
  if(WARPLOOM_WRAP AND WARPLOOM_TOOLS AND PROJECT_IS_TOP_LEVEL)
    set(wrap ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/warploom_compiler)
    set(launcher ${wrap} wrap ${CMAKE_CUDA_COMPILER_LAUNCHER})  # the last may be empty
    set_target_properties(${target} PROPERTIES CUDA_COMPILER_LAUNCHER "${launcher}")
    set_source_files_properties(${M_SOURCES} PROPERTIES OBJECT_DEPENDS ${wrap})
    add_dependencies(${target} warploom_compiler)
  endif()
  target_sources(warploom_${M_NAME} PRIVATE $<TARGET_OBJECTS:${target}>)
  target_compile_definitions(warploom_${M_NAME} PRIVATE WARPLOOM_HAVE_CUDA)
  target_link_libraries(warploom_${M_NAME} PRIVATE CUDA::cudart_static)
endfunction()

# warploom_instruction_sets(NAME imaging SETS avx2 avx512 SOURCES rows.cpp OPTIONS -fno-math-errno)
# compiles the sources once for any processor ("baseline") and, on x86-64, once for each of SETS, each time with
# WARPLOOM_INSTRUCTION_SET naming the set, which the sources take for a namespace. Gives NAME_objects, to be listed
# among a module's sources, and NAME_definitions (WARPLOOM_HAS_baseline, ...), for the module that chooses at run time:
# see core/instruction_sets.hpp.
function(warploom_instruction_sets)
  cmake_parse_arguments(M "" "NAME" "SETS;SOURCES;OPTIONS" ${ARGN})
  set(flags_avx2 -mavx2 -mfma -mf16c)
  set(flags_avx512 -mavx512f -mavx512vl -mavx512dq -mavx512bw -mfma -mprefer-vector-width=512)
  set(sets baseline)
  if(WARPLOOM_NATIVE)
    set(flags_baseline -march=native)
  elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    list(APPEND sets ${M_SETS})
  endif()
  foreach(set IN LISTS sets)
    set(target warploom_${M_NAME}_${set})
    add_library(${target} OBJECT ${M_SOURCES})
    target_include_directories(${target} PRIVATE
      ${PROJECT_BINARY_DIR}/roots/core/public ${PROJECT_BINARY_DIR}/roots/core/private
      $<$<TARGET_EXISTS:warploom_${M_NAME}>:$<TARGET_PROPERTY:warploom_${M_NAME},INCLUDE_DIRECTORIES>>
      $<$<NOT:$<TARGET_EXISTS:warploom_${M_NAME}>>:${PROJECT_SOURCE_DIR}/src>)
    target_compile_features(${target} PRIVATE cxx_std_20)
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_compile_definitions(${target} PRIVATE WARPLOOM_INSTRUCTION_SET=${set})
    target_link_libraries(${target} PRIVATE warploom_warnings)
    target_compile_options(${target} PRIVATE
      -fno-trapping-math -fno-math-errno $<$<CONFIG:Release,RelWithDebInfo>:-O3> ${M_OPTIONS} ${flags_${set}})
    list(APPEND objects $<TARGET_OBJECTS:${target}>)
    list(APPEND definitions WARPLOOM_HAS_${set})
  endforeach()
  set(${M_NAME}_objects ${objects} PARENT_SCOPE)
  set(${M_NAME}_definitions ${definitions} PARENT_SCOPE)
endfunction()

# What takes long in most tests is the library's work, so they are compiled without optimisation, in two thirds of the
# time. A folder whose tests compute themselves says set(WARPLOOM_TEST_OPTIONS ${WARPLOOM_HALF_OPTIMISED}).
set(WARPLOOM_TEST_OPTIONS $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O0>)
set(WARPLOOM_HALF_OPTIMISED $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O1>)

# warploom_test_objects(NAME dp_engine SOURCES engine_test.cpp LINK warploom::dp)
# What several tests or benchmarks link, an oracle for instance, compiled once.
function(warploom_test_objects)
  cmake_parse_arguments(O "" "NAME" "SOURCES;LINK" ${ARGN})
  add_library(${O_NAME} OBJECT ${O_SOURCES})
  target_compile_features(${O_NAME} PUBLIC cxx_std_20)
  _warploom_unity(${O_NAME})
  target_include_directories(${O_NAME} PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(${O_NAME} PUBLIC ${O_LINK} PRIVATE warploom_warnings warploom_fmt)
endfunction()

# An executable of ours beside the tests' helpers (used by the functions below).
function(_warploom_executable target sources libraries)
  add_executable(${target} ${sources})
  target_link_libraries(${target} PRIVATE ${libraries} warploom_warnings warploom_fmt)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests)
endfunction()

# warploom_test(NAME reuse_place SOURCES place_test.cpp... LINK warploom::reuse [LABELS slow])
# One GoogleTest executable test_NAME, one CTest entry a case.
function(warploom_test)
  cmake_parse_arguments(T "" "NAME" "SOURCES;LINK;LABELS" ${ARGN})
  set(target test_${T_NAME})
  _warploom_executable(${target} "${T_SOURCES}" "${T_LINK};GTest::gmock;GTest::gtest_main")
  _warploom_unity(${target})
  target_compile_options(${target} PRIVATE ${WARPLOOM_TEST_OPTIONS})
  target_compile_definitions(${target} PRIVATE WARPLOOM_TESTS_DIR="${PROJECT_SOURCE_DIR}/tests")
  gtest_discover_tests(${target} PROPERTIES LABELS "${T_LABELS}" DISCOVERY_TIMEOUT 60)
endfunction()

# warploom_sim_test(NAME dp_persistent_sim KERNELS src/dp/persistent.cu [PARTS WARPLOOM_DP_INT32...]
#                   SOURCES persistent_sim_test.cpp LINK warploom::dp)
# A test that runs kernels in the simulator: their PTX, made from a file named from the root of the project, or from some of
# its parts (warploom_parts), is found at WARPLOOM_KERNEL_PTX. Compiled wherever there is a CUDA toolkit.
function(warploom_sim_test)
  if(NOT WARPLOOM_HAVE_CUDA)
    return()
  endif()
  cmake_parse_arguments(T "" "NAME;KERNELS" "PARTS;SOURCES;LINK" ${ARGN})
  list(TRANSFORM T_PARTS APPEND "(X)")
  list(JOIN T_PARTS " " parts)
  cmake_path(REMOVE_EXTENSION T_KERNELS OUTPUT_VARIABLE target)
  string(MAKE_C_IDENTIFIER ptx_${target} target)
  if(NOT TARGET ${target})  # tests/sim/kernels.cmake makes the same for kernels that it can launch
    set(source ${PROJECT_SOURCE_DIR}/${T_KERNELS})
    set(ptx ${CMAKE_CURRENT_BINARY_DIR}/${T_NAME}.ptx)
    add_custom_command(OUTPUT ${ptx}
      COMMAND ${CMAKE_CUDA_COMPILER} -std=c++20 -I${PROJECT_SOURCE_DIR}/include -I${PROJECT_SOURCE_DIR}/src
              "$<$<BOOL:${parts}>:-DWARPLOOM_PART(X)=${parts}>"
              -ptx -lineinfo -arch=sm_80 -MMD -MF ${ptx}.d -o ${ptx} ${source}
      COMMAND_EXPAND_LISTS DEPENDS ${source} DEPFILE ${ptx}.d VERBATIM)
    add_custom_target(${target} DEPENDS ${ptx})
    set_target_properties(${target} PROPERTIES PTX ${ptx})
  endif()
  get_target_property(ptx ${target} PTX)
  warploom_test(NAME ${T_NAME} SOURCES ${T_SOURCES} LINK ${T_LINK} warploom::sim CUDA::cudart_static)
  target_compile_definitions(test_${T_NAME} PRIVATE WARPLOOM_KERNEL_PTX="${ptx}")
  add_dependencies(test_${T_NAME} ${target})
endfunction()

# warploom_gpu_test(NAME curvature SOURCES curvature_test.cu LINK warploom::core)
# A GoogleTest executable gpu_test_NAME, where there is a CUDA toolkit. It needs a GPU to run, so it is neither a CTest
# entry nor built by default: the target gpu_pack builds it, as CI does, and `./dev gpu-test` runs it.
function(warploom_gpu_test)
  if(WARPLOOM_HAVE_CUDA)
    cmake_parse_arguments(T "" "NAME" "SOURCES;LINK" ${ARGN})
    _warploom_executable(gpu_test_${T_NAME} "${T_SOURCES}" "${T_LINK};GTest::gmock;GTest::gtest_main")
    target_compile_options(gpu_test_${T_NAME} PRIVATE ${WARPLOOM_TEST_OPTIONS})
    set_target_properties(gpu_test_${T_NAME} PROPERTIES EXCLUDE_FROM_ALL ON)
    set_property(GLOBAL APPEND PROPERTY WARPLOOM_GPU_TARGETS gpu_test_${T_NAME})
  endif()
endfunction()

# warploom_bench(NAME reuse_place SOURCES place_bench.cpp LINK warploom::reuse)
# A Google Benchmark executable bench_NAME. `./dev bench` runs it.
function(warploom_bench)
  cmake_parse_arguments(B "" "NAME" "SOURCES;LINK" ${ARGN})
  _warploom_executable(bench_${B_NAME} "${B_SOURCES}" "${B_LINK};benchmark::benchmark_main")
endfunction()

# warploom_gpu_bench(NAME curvature SOURCES curvature_bench.cu LINK warploom::core)
# The same for a GPU: gpu_bench_NAME, run by `./dev bench --gpu`.
function(warploom_gpu_bench)
  if(WARPLOOM_HAVE_CUDA)
    cmake_parse_arguments(B "" "NAME" "SOURCES;LINK" ${ARGN})
    _warploom_executable(gpu_bench_${B_NAME} "${B_SOURCES}" "${B_LINK};benchmark::benchmark_main")
    if(WARPLOOM_STATIC)  # Debian has Google Benchmark as a shared library only: it goes along
      set_target_properties(gpu_bench_${B_NAME} PROPERTIES BUILD_RPATH "$ORIGIN")
      add_custom_command(TARGET gpu_bench_${B_NAME} POST_BUILD COMMAND ${CMAKE_COMMAND} -E copy_if_different
        $<TARGET_SONAME_FILE:benchmark::benchmark> $<TARGET_FILE_DIR:gpu_bench_${B_NAME}>)
    endif()
    set_property(GLOBAL APPEND PROPERTY WARPLOOM_GPU_TARGETS gpu_bench_${B_NAME})
  endif()
endfunction()

# warploom_fuzz(NAME ptx_parse SOURCES parse_fuzz.cpp LINK warploom::ptx SEEDS directory)
# fuzz_NAME from a file that defines LLVMFuzzerTestOneInput. With WARPLOOM_FUZZ it is a libFuzzer
# target, which `./dev deep` runs; otherwise a CTest entry that runs each seed once.
function(warploom_fuzz)
  cmake_parse_arguments(F "" "NAME;SEEDS" "SOURCES;LINK" ${ARGN})
  set(target fuzz_${F_NAME})
  cmake_path(ABSOLUTE_PATH F_SEEDS NORMALIZE)
  if(WARPLOOM_FUZZ)
    _warploom_executable(${target} "${F_SOURCES}" "${F_LINK}")
    target_link_options(${target} PRIVATE -fsanitize=fuzzer)
    file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/fuzz/${target}.seeds CONTENT "${F_SEEDS}\n")
  else()
    _warploom_executable(${target} "${F_SOURCES};${PROJECT_SOURCE_DIR}/tests/fuzz/replay.cpp" "${F_LINK};warploom::core")
    add_test(NAME ${target} COMMAND ${target} ${F_SEEDS})
  endif()
endfunction()
