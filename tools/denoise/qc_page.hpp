#pragma once

#include <string>

#include "report.hpp"

namespace warploom::tool {

/// A page that shows what denoising did, in one HTML file that needs nothing else: the facts, slices before
/// and after along three planes, the main directions in a part of one slice, the solver's progress,
/// histograms.
///
/// @param run    `run.input.image` holds the denoised image, in the input's `frame`; times as far as known
/// @param noisy  the same image before
std::string qc_page(const DenoiseRun& run, const imaging::Image& noisy);

}  // namespace warploom::tool
