# Fuzzing of the optimiser, with the simulator as its judge: docs/guide/trust-fuzz.md.
set(libraries warploom::reuse warploom::sim nlohmann_json::nlohmann_json)
add_library(fuzz_judge STATIC
  optimizer_fuzz_judge.cpp optimizer_fuzz_run.cpp optimizer_fuzz_workers.cpp optimizer_fuzz_ledger.cpp minimize.cpp
  $<TARGET_OBJECTS:oracle_random_kernel>)
target_include_directories(fuzz_judge PUBLIC ${PROJECT_SOURCE_DIR}/tests)
target_link_libraries(fuzz_judge PUBLIC ${libraries} warploom_fmt PRIVATE warploom_warnings)

warploom_test(NAME fuzz_minimize SOURCES minimize_test.cpp LINK fuzz_judge)
warploom_test(NAME fuzz_judge
  SOURCES optimizer_fuzz_test.cpp optimizer_fuzz_oracle.cpp ../oracle/ptx_interpreter.cpp LINK fuzz_judge)
if(NOT WARPLOOM_FUZZ)  # it is no libFuzzer target, which `./dev deep` would take it for
  _warploom_executable(fuzz_optimizer optimizer_fuzz.cpp fuzz_judge)
  set_property(GLOBAL APPEND PROPERTY WARPLOOM_GPU_TARGETS fuzz_optimizer)  # it needs processors, many
  add_test(NAME fuzz_optimizer COMMAND fuzz_optimizer --from day --seconds 45 --minimize
    --failures ${PROJECT_BINARY_DIR}/fuzz-failures)
endif()
