#include "estimate_report.hpp"

#include <fmt/format.h>

#include "cli/verb.hpp"
#include "facts.hpp"

namespace warploom::tool {

using namespace registration;

Json as_json(const Estimate& e) {
  const Registration& r = e.result;
  const auto size = [](const imaging::Grid& grid) { return Json{grid.nx, grid.ny, grid.nz}; };
  Json options = {{"method", name(e.options.method)}, {"measure", name(e.options.align.measure)},
                  {"radius", e.options.align.radius}, {"init", e.start},
                  {"fixed_mask", e.fixed_mask},       {"moving_mask", e.moving_mask}};
  if (r.deform) {
    options["levels"] = r.deform->levels;
    options["step"] = e.options.deform.step;
    options["smooth_update"] = e.options.deform.smooth_update;
    options["smooth_field"] = r.deform->smooth_field;
    options["allow_folds"] = e.options.deform.allow_folds;
  }
  Json rows;
  for (const auto& row : r.affine) rows.push_back(row);
  Json out = {{"fixed", e.fixed},
              {"moving", e.moving},
              {"fixed_size", size(e.fixed_grid)},
              {"moving_size", size(e.moving_grid)},
              {"options", options},
              {"affine_ras_mm", rows}};
  if (r.align)
    out["affine_stage"] = {{"measure_before", r.align->before},
                           {"measure_after", r.align->after},
                           {"starts", r.align->starts},
                           {"resolutions", r.align->resolutions},
                           {"evaluations", r.align->evaluations}};
  if (r.deform)
    out["deformation"] = {
        {"iterations", r.deform->iterations},           {"measure", r.deform->measure},
        {"smoothed_voxels", r.deform->smoothed_voxels}, {"device", name(r.deform->device)},
        {"kernel_seconds", r.deform->kernel_seconds},   {"device_bytes", r.deform->device_bytes}};
  const FoldCertificate& c = r.certificate;
  out["folding"] = {{"proved_none", c.proved()},
                    {"kind", name(c.kind)},
                    {"smallest_determinant", c.smallest_determinant},
                    {"lower_bound", c.lower_bound},
                    {"cells", c.cells},
                    {"folded", c.folded},
                    {"undecided", c.undecided}};
  out["displacement_mm"] = {{"mean", r.mean_displacement}, {"largest", r.largest_displacement}};
  if (e.landmarks) out["landmarks_mm"] = as_json(*e.landmarks);
  out["memory_bytes"] = e.memory;
  Json seconds;
  for (const auto& [stage, time] : e.times) seconds[stage] = time;
  out["seconds"] = seconds;
  return out;
}

std::string as_text(const Estimate& e, bool stages) {
  const Registration& r = e.result;
  const std::string_view measure = name(e.options.align.measure),
                         deform_measure = e.options.method > Method::greedy ? name(Measure::ssd) : measure;
  std::string text = fmt::format("{}: {}, onto {}: {}\n", e.moving, size_text(e.moving_grid), e.fixed,
                                 size_text(e.fixed_grid));
  if (r.align)
    text += fmt::format(
        "  affine      {} {:.4f}, {}\n", measure, r.align->after,
        r.align->starts > 0 ? fmt::format("the best of {} starts", r.align->starts) : "from --init");
  if (r.deform && !r.deform->measure.empty()) {
    std::string levels;
    for (const int n : r.deform->iterations) levels += fmt::format("{}{}", levels.empty() ? "" : ",", n);
    text += fmt::format("  deformation {} {:.4f} after {} iterations{}\n", deform_measure,
                        r.deform->measure.back(), levels, r.deform->device.is_gpu() ? " on the GPU" : "");
  }
  const FoldCertificate& c = r.certificate;
  text += c.proved() ? fmt::format("  folding     none (proved by {}); smallest determinant {:.3g}\n",
                                   name(c.kind), c.smallest_determinant)
                     : fmt::format("  folding     {} of {} cells; smallest determinant {:.3g}\n",
                                   c.folded + c.undecided, c.cells, c.smallest_determinant);
  text += fmt::format("  moved       {:.2f} mm in the mean, at most {:.2f} mm\n", r.mean_displacement,
                      r.largest_displacement);
  if (e.landmarks) text += as_text(*e.landmarks);
  text += fmt::format("  memory      {} at most\n", byte_text(e.memory));
  if (stages)
    for (const auto& [stage, time] : e.times) text += fmt::format("  {:<11} {:.2f} s\n", stage, time);
  else
    text += fmt::format("  time        {:.2f} s\n", e.times.back().second);
  return text;
}

}  // namespace warploom::tool
