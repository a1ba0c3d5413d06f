#include "imaging/segment_convex.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "imaging/segment_means.hpp"
#include "warploom/core/progress.hpp"

namespace warploom::imaging {

ConvexSteps first_steps(const Edges& edges) {
  // |D|^2 is at most 4 times the sum of the squared weights. v moves fast at first: it has far to go.
  constexpr float kFirstTau = 4;
  float squares = 0;
  for (int e = 0; e < edges.count; ++e) squares += edges.edge[e].weight * edges.edge[e].weight;
  return {kFirstTau, 1 / (4 * squares * kFirstTau), 1};
}

void next_steps(ConvexSteps& steps) {
  steps.theta = 1 / std::sqrt(1 + 2 * steps.tau);
  steps.tau *= steps.theta;
  steps.sigma /= steps.theta;
}

namespace {

/// One set {v > threshold} with the means that it has, and its energy at a lambda.
struct Candidate {
  bool found = false;
  float threshold = 0;
  SetSums sums = {};
  MeanPair means = {};
  double energy = std::numeric_limits<double>::infinity(), bound = 0;

  double gap() const { return energy > 0 ? std::max(0.0, energy - bound) / energy : 0; }
};

class Alternation {
 public:
  Alternation(const ScaledImage& scaled, const SegmentOptions& options, ConvexBackend& backend)
      : scaled_(scaled), options_(options), backend_(backend), model_(scaled, options.noise) {}

  /// lambda of given mu [u^2/voxel] for means that differ by so much of u.
  double lambda_for(double mu) const {
    const double contrast = best_.found ? (best_.means.high - best_.means.low) / scaled_.scale : 0;
    return mu / (2 * std::max(contrast, 1e-6));
  }

  /// From the levels of v as it is: all starts to their fixed points, the lowest energy of these.
  void choose(double lambda) {
    const LevelTable table(backend_.levels());
    if (options_.noise == Noise::automatic) model_.choose(table);
    std::vector<double> starts = table.starts();
    if (options_.means) starts.push_back(model_.threshold(ordered(*options_.means)));
    starts_ = static_cast<int>(starts.size());
    std::map<float, double> ends;  // thresholds, and what the values alone cost there
    for (const double start : starts)
      if (const auto end = model_.fixed_point(table, start))
        ends.emplace(static_cast<float>(*end), model_.deviation(table, *end));
    minima_ = static_cast<int>(ends.size());
    std::vector<std::pair<double, float>> order;
    for (const auto& [end, deviation] : ends) order.emplace_back(deviation, end);
    std::ranges::sort(order);
    best_ = {};
    // A length is never negative: what the values alone cost is enough to leave an end out. The table's sums
    // are coarse, hence the margin.
    for (const auto& [deviation, end] : order)
      if (!best_.found || deviation < best_.energy * (1 + 1e-3))
        if (const Candidate here = settled(end, lambda); here.energy < best_.energy) best_ = here;
  }

  const Candidate& best() const { return best_; }
  const NoiseModel& model() const { return model_; }
  int starts() const { return starts_; }
  int minima() const { return minima_; }

 private:
  static MeanPair ordered(const std::array<double, 2>& means) {
    return {std::min(means[0], means[1]), std::max(means[0], means[1])};
  }

  /// On to the exact fixed point: the table's is one to the width of a level.
  Candidate settled(float threshold, double lambda) {
    constexpr int kMostSteps = 20;
    Candidate out;
    for (int step = 0; step < kMostSteps; ++step) {
      const SetSums sums = backend_.sides(threshold);
      if (sums.inside == 0 || sums.inside == scaled_.voxels) return {};
      const bool same = out.found && sums.inside == out.sums.inside && sums.sum == out.sums.sum;
      out.found = true;
      out.sums = sums;
      out.means = model_.means(sums);
      const auto next = static_cast<float>(model_.threshold(out.means));
      if (next == threshold || same || step + 1 == kMostSteps) break;
      threshold = next;
    }
    out.sums = backend_.measure(threshold);
    // Measured at `threshold`, to which the dual objective belongs; the set is the one of its means.
    out.threshold = threshold;
    const double slope = model_.slope(out.means);
    const double u_inside = static_cast<double>(out.sums.sum) / kSetPoint;
    const double inside = static_cast<double>(out.sums.inside);
    const double deviation = model_.deviation(out.sums, out.means);
    const double primal = lambda * out.sums.length + inside * double(threshold) - u_inside;
    out.energy = slope * lambda * out.sums.length + deviation;
    // Less than this is what single precision leaves of the sums.
    const double rounding = 1e-8 * static_cast<double>(scaled_.voxels), above = primal + out.sums.excess;
    out.bound = out.energy - (above > rounding ? slope * above : 0);
    return out;
  }

  const ScaledImage& scaled_;
  const SegmentOptions& options_;
  ConvexBackend& backend_;
  NoiseModel model_;
  Candidate best_;
  int starts_ = 0, minima_ = 0;
};

std::unique_ptr<ConvexBackend> backend_for(const ConvexProblem& problem, [[maybe_unused]] Device device) {
#if defined(WARPLOOM_HAVE_CUDA)
  if (device.is_gpu()) return convex_cuda(problem);
#endif
  return convex_cpu(problem);
}

/// The mask, and v less the threshold where the mask is taken of it.
void fill(Segmentation& out, const ScaledImage& scaled, const SegmentOptions& options, ConvexBackend& backend,
          const Candidate& best) {
  std::vector<float>& v = out.level_set.data;
  backend.read(v.data());
  const bool dark = options.inside == Inside::dark;
  for (std::size_t i = 0; i < v.size(); ++i) {
    const bool counts = options.mask.empty() || options.mask[i] != 0;
    const bool above = best.found && v[i] > best.threshold;
    out.mask[i] = counts && above != dark && best.found ? 1 : 0;
    if (!best.found) {
      v[i] = counts ? -1.0F : 0.0F;
      continue;
    }
    const float off = dark ? best.threshold - v[i] : v[i] - best.threshold;
    // A voxel at the threshold itself is where the mask has it.
    v[i] = !counts ? 0.0F : off != 0 ? off : out.mask[i] != 0 ? 1e-30F : -1e-30F;
  }
  SegmentReport& r = out.report;
  const std::int64_t above = best.found ? best.sums.inside : dark ? scaled.voxels : 0;
  r.inside = best.found ? (dark ? scaled.voxels - above : above) : 0;
}

}  // namespace

Segmentation segment_convex(const Image& image, const ScaledImage& scaled, const SegmentOptions& options,
                            Device device) {
  constexpr int kFirstChecks = 10, kBetweenChecks = 20;  // iterations to the first two, and after them
  const ConvexProblem problem{image.grid, edges_of(relative_spacing(image.grid)), scaled.data.data(),
                              options.mask.empty() ? nullptr : options.mask.data()};
  const auto backend = backend_for(problem, device);
  Segmentation out{Mask(scaled.data.size()), Image(image.grid, 1), {}};
  SegmentReport& r = out.report;

  Alternation alternation(scaled, options, *backend);
  double lambda = 0;
  if (options.mu) {
    alternation.choose(0);
    lambda = alternation.lambda_for(*options.mu);
  } else {
    lambda = finest_noise(scaled.data.data(), image.grid, options.mask);
    r.noise_level = lambda * scaled.scale;
  }
  // What rounding alone leaves of the gap: where nothing but the length counts, it is all.
  const double tolerance = std::max(*options.tolerance, 1e-7);
  backend->begin(static_cast<float>(lambda));
  Progress progress("segmenting", static_cast<std::uint64_t>(*options.max_iterations), "iterations");
  while (true) {
    const int count = std::min(r.iterations < 2 * kFirstChecks ? kFirstChecks : kBetweenChecks,
                               *options.max_iterations - r.iterations);
    backend->iterate(count);
    r.iterations += count;
    progress.advance(static_cast<std::uint64_t>(count));
    alternation.choose(lambda);
    const Candidate& best = alternation.best();
    const double wanted = options.mu && best.found ? alternation.lambda_for(*options.mu) : lambda;
    const bool settled = std::abs(wanted - lambda) <= 1e-4 * lambda;
    r.energy.push_back(best.found ? best.energy : 0);
    r.converged = best.found && settled && best.gap() <= tolerance;
    if (r.converged || r.iterations >= *options.max_iterations) break;
    if (!settled) {
      lambda = wanted;
      backend->begin(static_cast<float>(lambda));
    }
  }
  const Candidate& best = alternation.best();
  fill(out, scaled, options, *backend, best);
  r.noise = alternation.model().noise();
  r.starts = alternation.starts(), r.minima = alternation.minima();
  r.mask_energy = best.found ? best.energy : 0;
  r.lower_bound = best.found ? std::min(best.bound, best.energy) : 0;
  r.gap = best.found ? best.gap() : 0;
  r.length = best.sums.length;
  r.mu = best.found ? lambda * alternation.model().slope(best.means) : options.mu.value_or(0);
  if (best.found) {
    const bool dark = options.inside == Inside::dark;
    r.mean_in = dark ? best.means.low : best.means.high;
    r.mean_out = dark ? best.means.high : best.means.low;
    r.means = {best.means.low, best.means.high};
    r.sizes = {scaled.voxels - best.sums.inside, best.sums.inside};
  }
  r.seconds = backend->seconds();
  r.transfer_seconds = backend->transfer_seconds();
  r.device_bytes = backend->device_bytes();
  return out;
}

}  // namespace warploom::imaging
