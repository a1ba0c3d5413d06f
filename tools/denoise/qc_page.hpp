#pragma once

#include <string>

#include "report.hpp"

namespace warploom::tool {

/// imaging::quality_page() with the facts of a run.
/// @param run    `run.input.image` holds the denoised image, in the input's `frame`; times as far as known
/// @param noisy  the same image before
std::string qc_page(const DenoiseRun& run, const imaging::Image& noisy);

}  // namespace warploom::tool
