#include "warploom/fold/ensemble.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <new>
#include <numbers>
#include <optional>
#include <tuple>

#include "core/built_with_cuda.hpp"
#include "fold/accuracy.hpp"
#include "fold/alone.hpp"
#include "fold/check_ensemble.hpp"
#include "fold/circle_sums.hpp"
#include "fold/gpu_choice.hpp"
#include "fold/gpu_ensemble.hpp"
#include "fold/partition.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/log.hpp"
#include "warploom/core/memory.hpp"
#include "warploom/core/threads.hpp"

namespace warploom::fold {
namespace {

constexpr std::int64_t kMostSamples = 10'000'000;

void check(const Model& model, const EnsembleOptions& options, const Run& run) {
  if (names_gpu(run) && (options.samples > 0 || options.gradient))
    throw BadInput(fmt::format("{} of an ensemble are not there on a GPU: use the CPU (`device` cpu)",
                               options.samples > 0 ? "samples" : "derivatives"));
  check_ensemble(model);
  if (!(options.cutoff >= 0 && options.cutoff <= 1))
    throw BadInput(fmt::format("a cutoff of {}: it is a probability, 0 to 1", options.cutoff));
  if (!(options.gamma >= 0 && options.gamma <= 1e6))
    throw BadInput(fmt::format("a gamma of {}: it is 0 to 1,000,000", options.gamma));
  if (options.gradient && !options.probabilities)
    throw BadInput("a gradient without probabilities: it comes from them");
  if (options.samples < 0 || options.samples > kMostSamples)
    throw BadInput(fmt::format("{} samples: 0 to {} are drawn", options.samples, kMostSamples));
}

/// What the pairs that begin in a strip add.
struct StripPairs {
  StripPairs(const Panels& probabilities, const Tiling& tiling, std::int64_t t, double cutoff)
      : first(Tiling::first_row(t)), paired(static_cast<std::size_t>(tiling.last_of(t) - first + 1), 0) {
    for (std::int64_t j = first + kMinHairpin + 1; j <= tiling.last_of(t); ++j) {
      const double* column = probabilities.column(t, j);
      for (std::int64_t r = 0; r < kStripRows; ++r) {
        const double probability = column[r];
        if (probability == 0) continue;
        paired[static_cast<std::size_t>(r)] += probability;
        paired[static_cast<std::size_t>(j - first)] += probability;
        differ += probability * (1 - probability);
        const bool often = probability > .5;
        from_centroid += often ? 1 - probability : probability;
        if (often) centroid.emplace_back(first + r, j);
        if (probability >= cutoff) pairs[r].push_back({first + r, j, probability});
      }
    }
  }
  std::int64_t first;
  std::vector<double> paired;  // bases from the strip's first on
  double differ = 0, from_centroid = 0;
  std::vector<PairProbability> pairs[kStripRows];
  std::vector<std::pair<std::int64_t, std::int64_t>> centroid;
};

/// Pairs, unpaired bases, and what follows from them.
void read_off(const Panels& probabilities, const Problem& problem,
              std::span<const QuadruplexSums::Found> quadruplexes, const EnsembleOptions& options,
              Ensemble& out) {
  const Tiling tiling = problem.tiling();
  const std::int64_t n = tiling.n;
  out.unpaired.assign(static_cast<std::size_t>(n), 1);
  out.centroid.assign(static_cast<std::size_t>(n), '.');
  double differ = 0, from_centroid = 0;
  std::vector<std::optional<StripPairs>> strips(static_cast<std::size_t>(tiling.strips()));
  parallel_for(tiling.strips(), [&](std::int64_t t) {
    strips[static_cast<std::size_t>(t)].emplace(probabilities, tiling, t, options.cutoff);
  });
  for (std::optional<StripPairs>& of : strips) {
    differ += of->differ, from_centroid += of->from_centroid;
    for (std::size_t k = 0; k < of->paired.size(); ++k)
      out.unpaired[static_cast<std::size_t>(of->first - 1) + k] -= of->paired[k];
    for (const auto& [i, j] : of->centroid) {
      out.centroid[static_cast<std::size_t>(i - 1)] = '(';
      out.centroid[static_cast<std::size_t>(j - 1)] = ')';
    }
    for (const auto& row : of->pairs) out.pairs.insert(out.pairs.end(), row.begin(), row.end());
    of.reset();
  }
  if (problem.quadruplexes != nullptr) {
    out.in_quadruplexes = problem.quadruplexes->in_runs(quadruplexes);
    for (std::size_t k = 0; k < out.unpaired.size(); ++k) out.unpaired[k] -= out.in_quadruplexes[k];
    for (const auto& [i, j, probability, multi] : quadruplexes) {
      differ += probability * (1 - probability);
      const bool often = probability > .5;
      from_centroid += often ? 1 - probability : probability;
      if (often) draw(problem.quadruplexes->best(i, j), true, out.centroid);
      if (probability >= options.cutoff && probability > 0) out.quadruplexes.push_back({i, j, probability});
    }
  }
  for (double& probability : out.unpaired) probability = std::max(probability, 0.);  // but for rounding
  out.diversity = 2 * differ, out.centroid_distance = from_centroid;
  if (options.gamma > 0)
    std::tie(out.mea, out.accuracy) =
        most_accurate(probabilities, tiling, out.unpaired, options.gamma, problem.quadruplexes, quadruplexes);
}

std::uint64_t bytes_of(const Tiling& tiling, const EnsembleOptions& options) {
  constexpr std::uint64_t kBesides = 2'000;  // a base: what strips hand down, and what stems weigh
  const auto exponents = static_cast<std::uint64_t>(tiling.strips() * tiling.tiles()) * sizeof(std::int32_t);
  // Three arrays inside; two more outside, and then of the most accurate structure
  return Panels::bytes(tiling) * (options.probabilities ? 5 : 3) + exponents +
         kBesides * static_cast<std::uint64_t>(tiling.n);
}

Ensemble ensemble_of(std::string_view sequence, std::string_view constraint, const Model& model,
                     const Weights& weights, const EnsembleOptions& options) {
  const Loops& loops = weights.loops();
  const Bases s = bases_of(sequence, loops);
  const Marks marks = marks_of(s, constraint, loops);
  const Extras extras(s, loops, {});
  const Allowed allowed(s, loops, marks);
  std::optional<Unpaired> unpaired;
  if (std::ranges::count(marks.forced, true) > 0) unpaired.emplace(s.size(), marks.forced);
  // What lies in a circle may be anywhere behind what its pairs enclose.
  const std::int64_t span = loops.circular() ? s.size() : allowed.span();
  std::optional<QuadruplexSums> quadruplexes;
  if (loops.quadruplexes()) quadruplexes.emplace(s, weights);
  if (quadruplexes && quadruplexes->empty()) quadruplexes.reset();
  const Problem problem{s,
                        weights,
                        extras,
                        allowed,
                        span,
                        unpaired ? &*unpaired : nullptr,
                        quadruplexes ? &*quadruplexes : nullptr};
  const Tiling tiling = problem.tiling();
  const std::int64_t n = s.size();
  try {
    constexpr std::uint64_t kSmall = 16'000'000;  // what is free takes a tenth of a millisecond to find out
    if (const std::uint64_t bytes = bytes_of(tiling, options); bytes > kSmall)
      require_memory(bytes + (loops.circular() || quadruplexes ? Panels::bytes(tiling) : 0),
                     fmt::format("the ensemble of {} bases", n));
    Ensemble out;
    Partition p = partition(problem);
    std::optional<CircleSums> circle;
    if (loops.circular()) {
      circle.emplace(problem, p);
      p.log = std::log(circle->whole().number) +
              static_cast<double>(circle->whole().exponent) * std::numbers::ln2;
    }
    const CircleSums* const around = circle ? &*circle : nullptr;
    if (!std::isfinite(p.log))
      throw BadInput("no structure was found that pairs all bases that the constraint names");
    out.kt = weights.kt();
    out.energy = -weights.kt() * p.log + extras.offset() / 100.;
    if (options.samples > 0) out.samples = sample(problem, p, options.samples, options.seed, around);
    if (options.probabilities) {
      Panels probabilities(tiling);
      std::optional<Panels> of_m1;
      std::vector<QuadruplexSums::Found> found;
      std::vector<PairCounts> counts(options.gradient ? static_cast<std::size_t>(p.tiling.strips()) : 0);
      {
        if (quadruplexes) of_m1.emplace(tiling);
        const std::optional<Panels> exterior = circle ? std::optional(circle->exterior()) : std::nullopt;
        outside(
            problem, p, probabilities,
            {.counts = counts, .exterior = exterior ? &*exterior : nullptr, .m1 = of_m1 ? &*of_m1 : nullptr});
      }
      if (of_m1) found = quadruplexes->probabilities(problem, p, probabilities, *of_m1);
      of_m1.reset();
      read_off(probabilities, problem, found, options, out);
      if (options.gradient) out.gradient = gradient(problem, p, probabilities, counts, model, around, found);
    }
    return out;
  } catch (const std::bad_alloc&) {
    throw OutOfMemory(fmt::format("the ensemble of {} bases takes {} bytes, which there are not", n,
                                  bytes_of(tiling, options)));
  }
}

/// Whether a GPU is to sum. @throws as takes_gpu()
bool sums_on_gpu(std::span<const std::string> sequences, const Model& model, const EnsembleOptions& options,
                 const Run& run) {
  constexpr double kOfACell = 4;  // what a cell takes of a CPU's time, beside one of fold()
  // A CPU leaves out what is longer than the span, a GPU sums all.
  constexpr std::int64_t kFewSpans = 4;
  const bool band = model.max_span > 0 && std::ranges::any_of(sequences, [&](const std::string& one) {
                      return std::ssize(one) > kFewSpans * model.max_span;
                    });
  const bool for_a_cpu = options.samples > 0 || options.gradient || band;
  return takes_gpu(run, model, for_a_cpu ? 0 : kOfACell * cells_of(sequences)) && kBuiltWithCuda;
}

/// False: the CPU is to sum, to which what has no room on a GPU that was not named is left.
bool on_gpu([[maybe_unused]] std::span<const std::string> sequences,
            [[maybe_unused]] std::span<const std::string> constraints,
            [[maybe_unused]] const Weights& weights, [[maybe_unused]] const EnsembleOptions& options,
            [[maybe_unused]] const Run& run, [[maybe_unused]] const DeviceScope& scope,
            [[maybe_unused]] std::vector<Ensemble>& all) {
#ifdef WARPLOOM_HAVE_CUDA
  if (!scope.device().is_gpu()) return false;
  const bool named = names_gpu(run);
  try {
    all = gpu::ensembles_on_gpu(sequences, weights, options, nullptr, constraints);
    return true;
  } catch (const OutOfMemory& error) {
    if (named) throw;
    log(LogLevel::warning, fmt::format("the CPU sums: {}", error.what()));
  }
#endif
  return false;
}

}  // namespace

void check_ensemble(const Model& model) {
  if (model.dangles % 2 == 1)
    throw BadInput(fmt::format(
        "an ensemble with dangles {}; they are 0 or 2 for an ensemble (RNAfold -p takes 1 and 3 as 2)",
        model.dangles));
}

void check_span(const Model& model, const Weights& weights) {
  constexpr double kMostBits =
      19;  // of a loop and its pair: two bases of the 96 that a tile's corners are apart
  Model plain = model;
  plain.pseudo = {};
  double least = Loops(plain).least();
  const PseudoEnergies& pseudo = model.pseudo;
  const auto of = [&](const auto& list, double factor) {
    double most = 0;
    for (const double energy : list) most = std::min(most, factor * energy);
    least += most;
  };
  of(pseudo.stack, 4), of(pseudo.unpaired, -2), of(pseudo.paired, 200);
  if (!(-least / 100 / weights.kt() * std::numbers::log2e <= kMostBits))
    throw BadInput(fmt::format(
        "an ensemble at {} C with energies down to {:.2f} kcal/mol a loop: they may be {:.2f} at most there",
        model.temperature, least / 100, -kMostBits * weights.kt() / std::numbers::log2e));
}

double Ensemble::probability_of(double structure_energy) const {
  return std::exp((energy - structure_energy) / kt);
}

std::uint64_t bytes_to_sum(std::int64_t n, const EnsembleOptions& options, std::int64_t max_span) {
  if (n > kMostBases) throw BadInput(fmt::format("{} bases; at most {} are folded", n, kMostBases));
  if (n <= 0) return 0;
  return bytes_of({n, max_span > 0 ? std::min(max_span, n) : n}, options);
}

Ensemble ensemble(std::string_view sequence, const Model& model, const EnsembleOptions& options,
                  const Run& run, std::string_view constraint) {
  const std::string one_sequence(sequence), one_constraint(constraint);
  check(model, options, run);
  const DeviceScope scope(run, "an ensemble", sums_on_gpu({&one_sequence, 1}, model, options, run));
  const Loops loops(model);
  const Weights weights(model, loops);
  check_span(model, weights);
  std::vector<Ensemble> all;
  if (on_gpu({&one_sequence, 1}, {&one_constraint, 1}, weights, options, run, scope, all)) return all.front();
  return ensemble_of(sequence, constraint, model, weights, options);
}

std::vector<Ensemble> ensembles(std::span<const std::string> sequences, const Model& model,
                                const EnsembleOptions& options, const Run& run,
                                std::span<const std::string> constraints) {
  if (!constraints.empty() && constraints.size() != sequences.size())
    throw BadInput(fmt::format("{} constraints of {} sequences", constraints.size(), sequences.size()));
  check(model, options, run);
  const DeviceScope scope(run, "ensembles", sums_on_gpu(sequences, model, options, run));
  const Loops loops(model);
  const Weights weights(model, loops);
  check_span(model, weights);
  std::vector<Ensemble> all;
  if (on_gpu(sequences, constraints, weights, options, run, scope, all)) return all;
  all.resize(sequences.size());
  const auto one = [&](std::size_t k) {
    try {
      EnsembleOptions own = options;
      own.seed += k;
      all[k] = ensemble_of(sequences[k], constraints.empty() ? std::string_view() : constraints[k], model,
                           weights, own);
    } catch (const BadInput& error) {
      throw BadInput(fmt::format("sequence {}: {}", k + 1, error.what()));
    }
  };
  std::vector<std::size_t> together;
  for (std::size_t k = 0; k < sequences.size(); ++k)
    if (static_cast<std::int64_t>(sequences[k].size()) <= kShort) together.push_back(k);
  parallel_for(std::ssize(together), [&](std::int64_t k) { one(together[static_cast<std::size_t>(k)]); });
  for (std::size_t k = 0; k < sequences.size(); ++k)
    if (static_cast<std::int64_t>(sequences[k].size()) > kShort) one(k);
  return all;
}

void check_pair(const PairProbability& pair, std::int64_t n) {
  if (pair.i < 1 || pair.j <= pair.i || pair.j > n || !(pair.probability >= 0))
    throw BadInput(fmt::format("the pair ({}, {}) of probability {} in an ensemble of {} bases", pair.i,
                               pair.j, pair.probability, n));
}

std::string pairing_letters(const Ensemble& ensemble) {
  constexpr double kMost = .667;
  std::vector<double> later(ensemble.unpaired.size()), earlier(ensemble.unpaired.size());
  if (!ensemble.in_quadruplexes.empty() && ensemble.in_quadruplexes.size() != later.size())
    throw BadInput(fmt::format("{} bases in quadruplexes of an ensemble of {} bases",
                               ensemble.in_quadruplexes.size(), later.size()));
  for (const PairProbability& pair : ensemble.pairs) {
    check_pair(pair, std::ssize(later));
    later[static_cast<std::size_t>(pair.i - 1)] += pair.probability;
    earlier[static_cast<std::size_t>(pair.j - 1)] += pair.probability;
  }
  std::string letters;
  for (std::size_t k = 0; k < later.size(); ++k) {
    const double in_runs = ensemble.in_quadruplexes.empty() ? 0 : ensemble.in_quadruplexes[k];
    const double paired = later[k] + earlier[k], alone = 1 - paired - in_runs;
    if (in_runs > .5) {
      letters += '+';
      continue;
    }
    letters += alone > kMost        ? '.'
               : later[k] > kMost   ? '('
               : earlier[k] > kMost ? ')'
               : paired > alone     ? later[k] > kMost * paired     ? '{'
                                      : earlier[k] > kMost * paired ? '}'
                                                                    : '|'
               : alone > paired     ? ','
                                    : ':';
  }
  return letters;
}

}  // namespace warploom::fold
