#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "input.hpp"
#include "options.hpp"
#include "warploom/imaging/denoise.hpp"
#include "warploom/json/json.hpp"

namespace warploom::tool {

/// Wall time of a run's parts [s]; the iterations and transfers stand in the library's report.
struct DenoiseTimes {
  double read = 0, series = 0, fit = 0, denoise = 0, maps = 0, qc = 0, write = 0, total = 0;
};

/// A run, for its reports.
struct DenoiseRun {
  const DenoiseSettings& settings;
  DenoiseInput input{};  ///< its image may be gone
  imaging::DenoiseReport done{};
  std::optional<std::int64_t> negative_after{};  ///< voxels with an eigenvalue below 0
  std::vector<std::string> files{};
  DenoiseTimes times{};

  /// Of a functional, by a solver: there is a lambda, and a gap.
  bool minimised() const {
    return input.regulariser == imaging::Regulariser::tv || input.regulariser == imaging::Regulariser::tgv;
  }
};

/// --json and --report.
Json as_json(const DenoiseRun& run);
/// For people, several lines.
std::string as_text(const DenoiseRun& run);

/// "5 x b = 0, 12 x b = 1000"
std::string shells_text(const SeriesFacts& series);

}  // namespace warploom::tool
