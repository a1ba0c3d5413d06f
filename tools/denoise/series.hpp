#pragma once

#include <complex>
#include <string>
#include <vector>

#include "cli/output_files.hpp"
#include "options.hpp"
#include "warploom/imaging/series_workflow.hpp"
#include "warploom/json/json.hpp"

/// What `warploom denoise` writes and says of the step before the fit.
namespace warploom::tool {

/// `warploom denoise --only series`.
int run_only_series(const DenoiseSettings& settings);

/// Writes the files that options name. @throws BadInput (they are asked for, and the series was not denoised)
/// @param complex  of a complex series its values, which are written in place of `series`; they are taken
/// away
void write_series_files(const DenoiseSettings& settings, const OutputFiles& files, imaging::Image& series,
                        std::vector<std::complex<float>>& complex, imaging::SeriesOutcome& outcome,
                        const io::Nifti& like);

/// "patches of 5 x 5 x 5 voxels on cpu: noise 20.1, 4 of 32 components kept (medians)", or why not.
std::string series_text(const imaging::SeriesOutcome& outcome, int volumes);
Json series_json(const imaging::SeriesOutcome& outcome, const imaging::SeriesDenoiseOptions& options);

}  // namespace warploom::tool
