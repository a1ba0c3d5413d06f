#include "imaging/segment_convex.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "imaging/segment_means.hpp"
#include "imaging/segment_work.hpp"
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

// Where the blur of the borders is all that lies between the thresholds of both models of noise it is at most
// this wide. Wider is what has a brightness of its own: docs/design/0009-segmentation.md.
constexpr double kWidestBlur = 1.2;  // [smallest spacing]

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
  Alternation(const Grid& grid, const ImageScale& scaled, const SegmentOptions& options,
              ConvexBackend& backend)
      : scaled_(scaled), options_(options), backend_(backend), sums_(scaled) {
    for (const double h : relative_spacing(grid)) voxel_ *= h > 0 ? h : 1;
  }

  /// lambda of given mu [u^2/voxel] for means that differ by so much of u.
  double lambda_for(double mu) const { return mu / std::max(best_.found ? best_.means.slope() : 0, 2e-6); }

  /// From the levels of v as it is: all starts to their fixed points, the lowest energy of these.
  void choose(double lambda) {
    const LevelTable table(backend_.levels());
    root_threshold_ = table.root_threshold();
    std::vector<double> starts = table.starts();
    if (options_.means)
      starts.push_back((scaled_.unit((*options_.means)[0]) + scaled_.unit((*options_.means)[1])) / 2);
    starts_ = static_cast<int>(starts.size());
    std::map<float, double> ends;  // thresholds, and what the values alone cost there
    for (const double start : starts)
      if (const auto end = table.fixed_point(start))
        ends.emplace(static_cast<float>(*end), table.deviation(*end));
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
    if (options_.noise != Noise::automatic || scaled_.roots || !best_.found) return;
    strip_ = strip_to_roots();
    if (strip_ > kWidestBlur || options_.mu) return;
    // From the best means to medians of v, which a few objects much brighter than the others do not move. Not
    // with a mu of the caller's: v may be so smooth then that its contrast is no longer that of u.
    if (const auto medians = table.medians(double(best_.threshold)))
      if (const Candidate here = measured(static_cast<float>(medians->threshold()), *medians, lambda);
          here.found)
        best_ = here;
  }

  /// How much wider the best set would be, beyond its border, at the threshold of the roots; of
  /// Noise::automatic.
  double strip() const { return strip_; }
  const Candidate& best() const { return best_; }
  int starts() const { return starts_; }
  int minima() const { return minima_; }

 private:
  double strip_to_roots() const {
    const SetSums wider = backend_.measure(static_cast<float>(root_threshold_));
    const double length = (best_.sums.length + wider.length) / 2;
    return length > 0 ? voxel_ * static_cast<double>(wider.inside - best_.sums.inside) / length : 0;
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
      out.means = sums_.means(sums);
      const auto next = static_cast<float>(out.means.threshold());
      if (next == threshold || same || step + 1 == kMostSteps) break;
      threshold = next;
    }
    return measured(threshold, out.means, lambda);
  }

  /// The set above a threshold, with what both sides are compared with there.
  Candidate measured(float threshold, const MeanPair& means, double lambda) {
    Candidate out;
    out.sums = backend_.measure(threshold);
    if (out.sums.inside == 0 || out.sums.inside == scaled_.voxels) return {};
    out.found = true;
    out.means = means;
    // Measured at `threshold`, to which the dual objective belongs; the set is the one of its means.
    out.threshold = threshold;
    const double slope = out.means.slope();
    const double u_inside = static_cast<double>(out.sums.sum) / kSetPoint;
    const double inside = static_cast<double>(out.sums.inside);
    const double deviation = sums_.deviation(out.sums, out.means);
    const double primal = lambda * out.sums.length + inside * double(threshold) - u_inside;
    out.energy = slope * lambda * out.sums.length + deviation;
    // Less than this is what single precision leaves of the sums.
    const double rounding = 1e-8 * static_cast<double>(scaled_.voxels), above = primal + out.sums.excess;
    out.bound = out.energy - (above > rounding ? slope * above : 0);
    return out;
  }

  const ImageScale& scaled_;
  const SegmentOptions& options_;
  ConvexBackend& backend_;
  ImageSums sums_;
  double voxel_ = 1;  // its volume, or area
  Candidate best_;
  double root_threshold_ = 0, strip_ = 0;
  int starts_ = 0, minima_ = 0;
};

/// The results, and what the report says of both sides.
void write(SegmentReport& r, SegmentWork& work, const SegmentOptions& options, const ConvexBackend& backend,
           const Candidate& best) {
  const bool dark = options.inside == Inside::dark;
  const SideSums sides =
      work.cut(backend.v(), {.found = best.found, .dark = dark, .threshold = best.threshold});
  r.inside = 0;
  if (!best.found) return;
  r.inside = dark ? work.scale().voxels - best.sums.inside : best.sums.inside;
  for (const int side : {0, 1})
    r.means.push_back(sides.number[side] > 0 ? sides.sum[side] / sides.number[side] : 0);
  r.mean_in = r.means[dark ? 0 : 1];
  r.mean_out = r.means[dark ? 1 : 0];
}

/// What was found, and whether there is more between two sides than the blur of their border.
struct TwoSides {
  SegmentReport report;
  double strip = 0;  ///< Alternation::strip() [smallest spacing]
};

TwoSides two_sides(SegmentWork& work, const SegmentOptions& options, double noise) {
  constexpr int kFirstChecks = 10, kBetweenChecks = 20;  // iterations to the first two, and after them
  const auto backend = work.convex();
  TwoSides out;
  SegmentReport& r = out.report;

  Alternation alternation(work.grid(), work.scale(), options, *backend);
  double lambda = noise;
  if (options.mu) {
    alternation.choose(0);
    lambda = alternation.lambda_for(*options.mu);
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
  out.strip = alternation.strip();
  write(r, work, options, *backend, best);
  r.noise = work.scale().roots ? Noise::counts : Noise::equal;
  r.starts = alternation.starts(), r.minima = alternation.minima();
  r.mask_energy = best.found ? best.energy : 0;
  r.lower_bound = best.found ? std::min(best.bound, best.energy) : 0;
  r.gap = best.found ? best.gap() : 0;
  r.length = best.sums.length;
  r.mu = best.found ? lambda * best.means.slope() : options.mu.value_or(0);
  if (best.found) r.sizes = {work.scale().voxels - best.sums.inside, best.sums.inside};
  r.seconds = backend->seconds();
  r.device_bytes = backend->device_bytes();
  r.devices = backend->devices();
  return out;
}

}  // namespace

SegmentReport segment_convex(SegmentWork& work, const SegmentOptions& options) {
  const auto noise = [&] { return options.mu ? 0.0 : work.noise(); };
  const double plain_noise = noise();
  double seconds = 0;
  if (options.noise != Noise::counts) {
    TwoSides equal = two_sides(work, options, plain_noise);
    if (options.noise == Noise::equal || equal.strip <= kWidestBlur) {
      equal.report.noise_level = plain_noise * work.scale().scale;
      return equal.report;
    }
    seconds = equal.report.seconds;
  }
  work.take_roots();
  SegmentReport report = two_sides(work, options, noise()).report;
  report.noise_level = plain_noise * work.scale().scale;
  report.seconds += seconds;
  return report;
}

}  // namespace warploom::imaging
