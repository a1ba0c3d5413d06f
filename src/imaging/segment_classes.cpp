#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <utility>

#include "imaging/segment_convex.hpp"
#include "imaging/segment_means.hpp"
#include "imaging/segment_potts.hpp"
#include "imaging/voxels.hpp"
#include "warploom/core/error.hpp"

namespace warploom::imaging {
namespace {

using Means = std::vector<double>;  // ascending, as u

class Classes {
 public:
  Classes(const ImageView& image, ScaledImage scaled, const SegmentOptions& options)
      : image_(image),
        scaled_(std::move(scaled)),
        options_(options),
        problem_{image.grid, edges_of(relative_spacing(image.grid)), scaled_.data.data(),
                 options.mask.empty() ? nullptr : options.mask.data()} {}

  Segmentation run() {
    const auto start = std::chrono::steady_clock::now();
    const double noise = options_.mu ? 0 : finest_noise(scaled_.data.data(), image_.grid, options_.mask);
    report_.noise = scaled_.roots ? Noise::counts : Noise::equal;
    const std::vector<Means> starts = first_means(noise);
    report_.starts = static_cast<int>(starts.size());
    Result best;
    for (const Means& means : starts) {
      Result here = alternate(means, noise);
      report_.iterations += here.iterations;
      report_.energy.push_back(here.energies.labels);
      if (here.energies.labels < best.energies.labels) best = std::move(here);
    }
    report_.minima = 1;
    for (const double energy : report_.energy)
      if (energy > best.energies.labels * (1 + 1e-3)) ++report_.minima;
    report_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return finished(std::move(best));
  }

 private:
  struct Result {
    Means means = {};
    PottsEnergies energies{.labels = std::numeric_limits<double>::infinity()};
    Mask labels = {};
    std::vector<std::vector<float>> members = {};
    double mu = 0;
    int iterations = 0;
    bool converged = false;
  };

  std::size_t classes() const { return static_cast<std::size_t>(options_.classes); }

  /// Of the image without noise: where the cut of its levels into classes is the best of all, by dynamic
  /// programming; and cuts into classes of as many voxels.
  std::vector<Means> first_means(double noise) {
    constexpr int kSteps = 30, kBins = 256, kWidth = kLevels / kBins;
    const auto backend = convex_cpu(problem_);
    if (noise > 0) {
      backend->begin(static_cast<float>(noise));
      backend->iterate(kSteps);
    }
    const LevelTable table(backend->levels());
    const auto part = [&](int from, int to) {  // bins [from, to): voxels and mean
      const auto &a = table.below(from * kWidth), &b = table.below(to * kWidth);
      const double count = static_cast<double>(b.count - a.count);
      return std::pair{count, count > 0 ? (b.sum - a.sum) / count : 0.0};
    };
    const auto cost = [&](int from, int to) {  // up to what all cuts share
      const auto [count, mean] = part(from, to);
      if (count == 0) return std::numeric_limits<double>::infinity();
      return -count * mean * mean;
    };
    const auto most = static_cast<std::size_t>(kBins);
    std::vector<std::vector<double>> least(
        classes() + 1, std::vector<double>(most + 1, std::numeric_limits<double>::infinity()));
    std::vector<std::vector<int>> cut(classes() + 1, std::vector<int>(most + 1));
    least[0][0] = 0;
    for (std::size_t k = 1; k <= classes(); ++k)
      for (int to = 1; to <= kBins; ++to)
        for (int from = 0; from < to; ++from) {
          const double before = least[k - 1][static_cast<std::size_t>(from)];
          if (before == std::numeric_limits<double>::infinity()) continue;
          const double here = before + cost(from, to);
          if (here < least[k][static_cast<std::size_t>(to)])
            least[k][static_cast<std::size_t>(to)] = here, cut[k][static_cast<std::size_t>(to)] = from;
        }
    if (!std::isfinite(least[classes()][most]))
      throw BadInput(fmt::format("`classes` {}: the image has fewer values than that", classes()));
    std::vector<Means> out(1);
    for (std::size_t k = classes(), to = most; k > 0; --k) {
      const int from = cut[k][to];
      out[0].insert(out[0].begin(), part(from, static_cast<int>(to)).second);
      to = static_cast<std::size_t>(from);
    }
    Means even;
    for (std::size_t k = 0; k < classes(); ++k) {
      const auto rank = static_cast<std::int64_t>((static_cast<double>(k) + 0.5) / double(classes()) *
                                                  static_cast<double>(table.voxels()));
      int level = 0;
      while (table.below(level + 1).count <= rank) ++level;
      even.push_back((level + 0.5) / kLevels);
    }
    out.push_back(even);
    return out;
  }

  /// cost_k, as segment() has d(u, c).
  std::vector<std::vector<float>> costs(const Means& means) const {
    std::vector<std::vector<float>> out(classes(), std::vector<float>(scaled_.data.size()));
    for (std::size_t k = 0; k < classes(); ++k) {
      for (std::size_t v = 0; v < out[k].size(); ++v) {
        if (!inside(options_.mask, v)) continue;
        const double off = double(scaled_.data[v]) - means[k];
        out[k][v] = static_cast<float>(off * off);
      }
    }
    return out;
  }

  /// As between the two classes that differ least, with the lambda of two.
  double mu_of(const Means& means, double noise) const {
    if (options_.mu) return *options_.mu;
    double slope = std::numeric_limits<double>::infinity();
    for (std::size_t k = 1; k < classes(); ++k) slope = std::min(slope, 2 * (means[k] - means[k - 1]));
    return noise * std::max(slope, 0.0);
  }

  Means means_of(const Mask& labels, const Means& before) const {
    std::vector<double> sum(classes()), count(classes());
    for (std::size_t v = 0; v < labels.size(); ++v)
      if (inside(options_.mask, v)) sum[labels[v]] += double(scaled_.data[v]), ++count[labels[v]];
    Means out = before;  // an empty class keeps its mean
    for (std::size_t k = 0; k < classes(); ++k)
      if (count[k] > 0) out[k] = sum[k] / count[k];
    std::ranges::sort(out);
    return out;
  }

  Result alternate(Means means, double noise) {
    constexpr int kMostRounds = 10, kBetweenChecks = 20;
    Potts potts(problem_, options_.classes);
    Result out;
    for (int round = 0; round < kMostRounds; ++round) {
      out.mu = mu_of(means, noise);
      const auto cost = costs(means);
      potts.begin(cost, out.mu);
      int done = 0;
      while (true) {
        const int count = std::min(kBetweenChecks, *options_.max_iterations - done);
        potts.iterate(count);
        done += count;
        out.energies = potts.energies();
        out.converged =
            out.energies.relaxed - out.energies.bound <= *options_.tolerance * out.energies.relaxed + 1e-9;
        if (out.converged || done >= *options_.max_iterations) break;
      }
      out.iterations += done;
      out.means = means;
      means = means_of(potts.labels(), means);
      double moved = 0;
      for (std::size_t k = 0; k < classes(); ++k) moved = std::max(moved, std::abs(means[k] - out.means[k]));
      if (moved <= 1e-3) break;
    }
    out.labels = potts.labels();
    for (int k = 0; k < options_.classes; ++k) out.members.push_back(potts.membership(k));
    return out;
  }

  Segmentation finished(Result best) {
    Segmentation out;
    out.mask = std::move(best.labels);
    out.level_set = Image(image_.grid, options_.classes - 1);
    for (int c = 0; c + 1 < options_.classes; ++c) {
      const auto border = out.level_set.channel(c);
      for (std::size_t v = 0; v < border.size(); ++v) {
        if (!inside(options_.mask, v)) continue;
        float above = -0.5F;
        for (std::size_t k = static_cast<std::size_t>(c) + 1; k < classes(); ++k) above += best.members[k][v];
        const bool wanted = static_cast<int>(out.mask[v]) > c;  // the label decides where shares are even
        border[v] = (above > 0) == wanted && above != 0 ? above : wanted ? 1e-30F : -1e-30F;
      }
    }
    report_.sizes.assign(classes(), 0);
    for (std::size_t v = 0; v < out.mask.size(); ++v)
      if (inside(options_.mask, v))
        ++report_.sizes[out.mask[v]];
      else
        out.mask[v] = 0;
    report_.converged = best.converged;
    report_.means.assign(classes(), 0);
    for_values(image_, [&](std::size_t begin, const float* values, std::size_t count) {
      for (std::size_t v = begin; v < begin + count; ++v)
        if (inside(options_.mask, v))
          report_.means[out.mask[v]] +=
              double(values[v - begin]) / static_cast<double>(report_.sizes[out.mask[v]]);
    });
    report_.mu = best.mu;
    report_.mask_energy = best.energies.labels;
    report_.lower_bound = std::min(best.energies.bound, best.energies.labels);
    report_.gap = report_.mask_energy > 0 ? 1 - report_.lower_bound / report_.mask_energy : 0;
    report_.length = best.energies.length;
    report_.inside = report_.sizes.back();
    report_.mean_in = report_.means.back();
    report_.mean_out = report_.means.front();
    out.report = report_;
    return out;
  }

  const ImageView& image_;
  const ScaledImage scaled_;
  const SegmentOptions& options_;
  ConvexProblem problem_;
  SegmentReport report_;
};

}  // namespace

Segmentation segment_classes(const ImageView& image, ScaledImage scaled, const SegmentOptions& options) {
  const double noise = options.mu ? 0 : finest_noise(scaled.data.data(), image.grid, options.mask);
  const double unit = scaled.scale;
  if (options.noise == Noise::counts) take_roots(scaled);
  Segmentation out = Classes(image, std::move(scaled), options).run();
  out.report.noise_level = noise * unit;
  return out;
}

}  // namespace warploom::imaging
