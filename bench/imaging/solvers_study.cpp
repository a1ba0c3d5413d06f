// How many passes over the image do the solvers of total variation need, and what is the result worth?
//
// Prints JSON: passes until the true error of the objective, against a minimum known to 1e-9, falls below
// each of several limits; what happens as epsilon goes to 0; how near lambda from the noise comes to the best
// one; the error of a phantom before and after. Counts, no times: nothing here depends on the machine's
// speed. The measured image is a part of the head in `$WARPLOOM_DATA/dti` or ../shared/data/dti; without it
// that part is left out.
//
// study_imaging_solvers [--quick]
#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <string_view>
#include <utility>
#include <vector>

#include "oracle/measured.hpp"
#include "oracle/phantom.hpp"
#include "oracle/tv.hpp"
#include "warploom/core/device.hpp"
#include "warploom/core/error.hpp"
#include "warploom/imaging/denoise.hpp"
#include "warploom/imaging/mask.hpp"
#include "warploom/json/json.hpp"

namespace warploom::imaging {
namespace {

using oracle::TotalVariation;

constexpr double kTensorWeightSum = 9;

struct Setting {
  Solver solver = Solver::accelerated;
  double lambda = 4, epsilon = 1e-2, tolerance = 1e-4, step = 0;
  int limit = 20000;
};
DenoiseReport run(TensorImage& image, const Setting& setting, const Mask& mask = {}) {
  DenoiseOptions options;
  options.run.devices = {Device::cpu};
  options.solver = setting.solver;
  options.lambda = setting.lambda;
  options.epsilon = setting.epsilon;
  options.tolerance = setting.tolerance;
  options.max_iterations = setting.limit;
  options.descent_step = setting.step;
  return denoise_tensors(image, mask, options);
}

/// The smallest objective that any method found, and how far that may be from the minimum.
struct Reference {
  double minimum = INFINITY, gap = 0, lbfgs_excess = NAN;
};
Reference reference(const TensorImage& noisy, const Setting& setting, bool with_lbfgs) {
  Setting fine = setting;
  fine.tolerance = 1e-8;
  if (setting.epsilon == 0) fine.solver = Solver::primal_dual, fine.tolerance = 1e-7;
  TensorImage image = noisy;
  const DenoiseReport report = run(image, fine);
  const TotalVariation f(noisy, {}, true, setting.lambda, setting.epsilon);
  Reference result{f.objective(f.field(image)), report.gap};
  if (with_lbfgs) {
    const double lbfgs = oracle::minimise(f).objective;
    result.lbfgs_excess = lbfgs / result.minimum - 1;
    result.minimum = std::min(result.minimum, lbfgs);
  }
  return result;
}

Json passes(const TensorImage& noisy, const Setting& setting, double minimum) {
  TensorImage image = noisy;
  const DenoiseReport report = run(image, setting);
  Json row = {{"solver", name(setting.solver)}, {"lambda", setting.lambda}, {"epsilon", setting.epsilon}};
  if (setting.solver == Solver::descent)
    row["step"] = setting.step == 0 ? Json("chosen by the solver") : Json(setting.step);
  for (const double limit : {1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6}) {
    Json reached = nullptr;
    // The first pass of each solver measures the start.
    for (const DenoiseStep& step : report.history)
      if (step.objective / minimum - 1 <= limit) {
        reached = step.iteration;
        break;
      }
    row["passes_to"][fmt::format("{:.0e}", limit)] = reached;
  }
  row["passes"] = report.iterations;
  row["error_at_end"] = report.history.back().objective / minimum - 1;
  row["gap_reported_at_end"] = report.gap;
  return row;
}

Json convergence(const std::string& what, const TensorImage& noisy, double lambda, bool with_lbfgs,
                 int limit) {
  Setting setting;
  setting.lambda = lambda;
  setting.limit = limit;
  setting.tolerance = 1e-7;
  const Reference best = reference(noisy, setting, with_lbfgs);
  Json result = {{"image", what}, {"minimum", best.minimum}, {"bound_on_its_relative_error", best.gap}};
  if (with_lbfgs) result["lbfgs_relative_to_accelerated"] = best.lbfgs_excess;
  result["solvers"].push_back(passes(noisy, setting, best.minimum));
  for (const double step : {0.0, 5e-4, 1e-3}) {
    Setting descent = setting;
    descent.solver = Solver::descent;
    descent.step = step;
    result["solvers"].push_back(passes(noisy, descent, best.minimum));
  }
  Setting sharp = setting;
  sharp.solver = Solver::primal_dual, sharp.epsilon = 0, sharp.tolerance = 1e-6;
  result["solvers"].push_back(passes(noisy, sharp, reference(noisy, sharp, false).minimum));
  return result;
}

Json epsilon_trend(const TensorImage& noisy, double lambda) {
  const TotalVariation f(noisy, {}, true, lambda, 0);
  TensorImage sharp = noisy;
  run(sharp, {.solver = Solver::primal_dual, .lambda = lambda, .epsilon = 0, .tolerance = 1e-7});
  const double minimum = f.objective(f.field(sharp));
  Json rows;
  for (const double epsilon : {1e-1, 1e-2, 1e-3, 1e-4}) {
    TensorImage image = noisy;
    const DenoiseReport report = run(image, {.lambda = lambda, .epsilon = epsilon, .tolerance = 1e-6});
    rows.push_back({{"epsilon", epsilon},
                    {"passes_to_gap_1e-6", report.iterations},
                    {"sharp_objective_above_primal_dual", f.objective(f.field(image)) / minimum - 1},
                    {"relative_distance_to_primal_dual", oracle::distance(f.field(image), f.field(sharp))}});
  }
  return rows;
}

Json errors(const TensorImage& image, const TensorImage& truth) {
  return {{"relative_frobenius", relative_error(image, truth)},
          {"fa_rms", fa_error(image, truth)},
          {"v1_mean_degrees", direction_error(image, truth)}};
}

/// lambda from the noise beside the best of a search with steps of 10 %.
Json quality(std::int64_t n, double sigma) {
  const TensorImage truth = tensor_phantom(n);
  TensorImage noisy = truth;
  add_noise(noisy, sigma, 7);
  TensorImage chosen = noisy;
  const DenoiseReport report = run(chosen, {.lambda = 0});
  double best_error = INFINITY, best_lambda = 0;
  TensorImage best;
  for (double lambda = report.lambda / 2; lambda < 3 * report.lambda; lambda *= 1.1) {
    TensorImage image = noisy;
    run(image, {.lambda = lambda});
    const double error = relative_error(image, truth);
    if (error < best_error) best_error = error, best_lambda = lambda, best = std::move(image);
  }
  const TotalVariation f(noisy, {}, true, 1, 0);
  const double noise = kTensorWeightSum * sigma * sigma * static_cast<double>(truth.grid.voxels());
  return {{"side", n},
          {"sigma", sigma},
          {"noise_estimated", report.noise},
          {"before", errors(noisy, truth)},
          {"lambda_from_noise", {{"lambda", report.lambda}, {"after", errors(chosen, truth)}}},
          {"best_lambda",
           {{"lambda", best_lambda},
            {"discrepancy_over_noise", f.fidelity(f.field(best)) / noise},
            {"after", errors(best, truth)}}},
          {"error_cut", relative_error(noisy, truth) / relative_error(chosen, truth)},
          {"error_above_best", relative_error(chosen, truth) / best_error - 1}};
}

int study(bool quick) {
  Json result = {{"what", "solvers of total variation on tensor images, passes over the image"}};
  const std::int64_t side = quick ? 10 : 20;
  const int limit = quick ? 1000 : 20000;
  const auto phantom = [side](double sigma) {
    TensorImage image = tensor_phantom(side);
    add_noise(image, sigma, 7);
    return image;
  };
  for (const auto& [sigma, lambda] : {std::pair{0.15, 4.0}, {0.05, 8.0}})
    result["convergence"].push_back(convergence(fmt::format("phantom {}^3, sigma {}", side, sigma),
                                                phantom(sigma), lambda, /*with_lbfgs=*/true, limit));
  if (const auto head = head_tensors(measured_data(WARPLOOM_STUDY_DATA))) {
    TensorImage part = crop(*head, {32, 32, 8}, {48, 48, 16});
    if (quick) part = crop(part, {0, 0, 0}, {12, 12, 6});
    TensorImage chosen = part;
    const DenoiseReport report = run(chosen, {.lambda = 0});
    const Grid& grid = part.grid;
    Json row = convergence(fmt::format("head, {} x {} x {} of 2 mm", grid.nx, grid.ny, grid.nz), part,
                           report.lambda, /*with_lbfgs=*/false, limit / 4);
    row["noise"] = report.noise;
    row["lambda_from_noise"] = report.lambda;
    result["convergence"].push_back(row);
  }
  result["epsilon_to_0"] = epsilon_trend(phantom(0.15), 4);
  for (const std::int64_t n : quick ? std::vector<std::int64_t>{12} : std::vector<std::int64_t>{20, 32, 64})
    for (const double sigma : {0.05, 0.1, 0.15, 0.2, 0.3}) result["phantom"].push_back(quality(n, sigma));
  fmt::print("{}\n", result.dump(1));
  return 0;
}

}  // namespace
}  // namespace warploom::imaging

int main(int argc, char** argv) {
  try {
    return warploom::imaging::study(argc > 1 && std::string_view(argv[1]) == "--quick");
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
