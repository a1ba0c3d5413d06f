#pragma once

#include <string>
#include <vector>

#include "cli/command.hpp"
#include "warploom/imaging/denoise_workflow.hpp"

namespace warploom::tool {

/// What `warploom denoise` was asked to do.
struct DenoiseSettings : imaging::DenoiseRequest {
  std::string prefix;
  bool bids_names = false;
  bool maps_listed = false;  ///< one by one, in lower case, in the order of all_maps()
  bool gzip = true;
  int gzip_level = 1;
  std::string report, qc;
  bool only_series = false;  ///< no tensors
  std::string series_out, noise_map, rank_map, residual_out;

  /// Files of the step before the fit that are asked for by name.
  std::vector<std::string> series_files() const;
  bool json = false, force = false;
};

/// Declares every option; `settings` has to outlive the parser.
void add_denoise_options(Command& command, DenoiseSettings& settings);

/// What shows only when all options are known. @throws BadInput (options that contradict each other)
void check_together(const DenoiseSettings& settings);

}  // namespace warploom::tool
