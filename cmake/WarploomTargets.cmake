# One CMake target per module, so that an arrow the design forbids does not link.

# Debian's fmt is a shared library; where none may be needed, its header-only form takes its place.
function(_warploom_dependencies list)
  if(WARPLOOM_STATIC)
    list(TRANSFORM ${list} REPLACE "^fmt::fmt$" "fmt::fmt-header-only")
  endif()
  set(${list} ${${list}} PARENT_SCOPE)
endfunction()

# warploom_module(NAME core SOURCES a.cpp b.cpp PUBLIC dep... PRIVATE dep...)
# defines warploom_NAME (alias warploom::NAME) from the sources beside the caller.
function(warploom_module)
  cmake_parse_arguments(M "" "NAME" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  _warploom_dependencies(M_PUBLIC)
  _warploom_dependencies(M_PRIVATE)
  set(target warploom_${M_NAME})
  add_library(${target} ${M_SOURCES})
  add_library(warploom::${M_NAME} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${M_NAME})
  target_include_directories(${target}
    PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>
    PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_link_libraries(${target} PUBLIC ${M_PUBLIC} PRIVATE ${M_PRIVATE} $<BUILD_INTERFACE:warploom_warnings>)
  set_property(GLOBAL APPEND PROPERTY WARPLOOM_MODULES ${target})
endfunction()

# An executable of ours beside the tests' helpers (used by the functions below).
function(_warploom_executable target sources libraries)
  _warploom_dependencies(libraries)
  add_executable(${target} ${sources})
  target_link_libraries(${target} PRIVATE ${libraries} warploom_warnings)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests)
endfunction()

# warploom_test(NAME reuse_place SOURCES place_test.cpp... LINK warploom::reuse [LABELS slow])
# One GoogleTest executable test_NAME, one CTest entry a case.
function(warploom_test)
  cmake_parse_arguments(T "" "NAME" "SOURCES;LINK;LABELS" ${ARGN})
  set(target test_${T_NAME})
  _warploom_executable(${target} "${T_SOURCES}" "${T_LINK};GTest::gmock;GTest::gtest_main")
  target_compile_definitions(${target} PRIVATE WARPLOOM_TESTS_DIR="${PROJECT_SOURCE_DIR}/tests")
  gtest_discover_tests(${target} PROPERTIES LABELS "${T_LABELS}" DISCOVERY_TIMEOUT 60)
endfunction()

# warploom_gpu_test(NAME curvature SOURCES curvature_test.cu LINK warploom::core)
# A GoogleTest executable gpu_test_NAME, compiled wherever there is a CUDA toolkit. It needs a GPU to
# run, so it is no CTest entry: `./dev gpu-test` runs it.
function(warploom_gpu_test)
  if(WARPLOOM_HAVE_CUDA)
    cmake_parse_arguments(T "" "NAME" "SOURCES;LINK" ${ARGN})
    _warploom_executable(gpu_test_${T_NAME} "${T_SOURCES}" "${T_LINK};GTest::gmock;GTest::gtest_main")
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
    _warploom_executable(${target} "${F_SOURCES};${PROJECT_SOURCE_DIR}/tests/fuzz/replay.cpp" "${F_LINK};fmt::fmt")
    add_test(NAME ${target} COMMAND ${target} ${F_SEEDS})
  endif()
endfunction()
