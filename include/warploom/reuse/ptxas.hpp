#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace warploom::reuse {

/// What `ptxas --verbose` says of one kernel.
struct PtxasUsage {
  std::uint32_t registers = 0;  ///< a thread
  std::uint64_t shared = 0;     ///< [bytes a block], static; with --compile-only less what nvlink adds
  std::uint64_t stack = 0, spill_stores = 0, spill_loads = 0;  ///< [bytes a thread]

  bool operator==(const PtxasUsage&) const = default;
};

struct PtxasRun {
  std::map<std::string, PtxasUsage, std::less<>> kernels = {};  ///< by mangled name; empty on an error
  std::string error = {};                                       ///< empty, or why ptxas gave no answer

  bool ok() const { return error.empty(); }
};

struct PtxasOptions {
  std::filesystem::path executable{};    ///< empty: find_ptxas()
  std::vector<std::string> arguments{};  ///< more options, "--maxrregcount=64"
  std::string file = "<ptx>";            ///< the text's name in error messages
  std::chrono::milliseconds time_limit{300'000};
};

/// ptxas in the directories of $PATH, in $CUDA_HOME/bin and $CUDA_PATH/bin, in /usr/local/cuda/bin:
/// the first that can be executed.
std::optional<std::filesystem::path> find_ptxas();

/// Assembles `text` for `arch` ("sm_90") and reads off what each kernel takes; the code is dropped.
/// Nothing is written to named files, and ptxas is started without a shell.
/// @return nullopt if there is no ptxas; every failure of a ptxas that is there (text refused, killed
///         at the time limit, output not understood) is in PtxasRun::error, in its own words
/// @throws Interrupted
std::optional<PtxasRun> run_ptxas(std::string_view text, std::string_view arch,
                                  const PtxasOptions& options = {});

/// The part of run_ptxas that reads ptxas' verbose output.
std::map<std::string, PtxasUsage, std::less<>> parse_ptxas_output(std::string_view output);

}  // namespace warploom::reuse
