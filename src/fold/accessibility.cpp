#include "warploom/fold/accessibility.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>

#include "fold/check_ensemble.hpp"
#include "fold/gpu_choice.hpp"
#include "fold/partition.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/memory.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/core/threads.hpp"

namespace warploom::fold {
namespace {

constexpr std::int64_t kMostStretch = 10'000;

/// What is outside of all pairs within windows. A sum over the structures of a..b is kept without the power
/// of two by which the sum over the first b bases of all exceeds that over the first a - 1: what is left is
/// how much an end at a costs, which does not grow with b.
class WindowEnds {
 public:
  WindowEnds(const Problem& problem, const Partition& p, std::int64_t window)
      : p_(p),
        n_(problem.s.size()),
        window_(window),
        stems_(problem),
        by_end_(cells(), 0),
        by_begin_(cells(), 0),
        grown_(static_cast<std::size_t>(n_ + 1)) {
    for (std::int64_t k = 0; k <= n_; ++k)
      grown_[static_cast<std::size_t>(k)] =
          p.end_exponent(k) + std::ilogb(p.ends[static_cast<std::size_t>(k)]);
    fill();
  }
  static std::uint64_t bytes(std::int64_t n, std::int64_t window) {
    return static_cast<std::uint64_t>(n + 2) * static_cast<std::uint64_t>(window + 1) * 2 * sizeof(double);
  }

  /// WindowEnds that have i..j.
  std::int64_t count(std::int64_t i, std::int64_t j) const {
    return std::max<std::int64_t>(0, last(i) - first(j) + 1);
  }
  /// The sum over these of what is around i..j outside of all pairs, divided by the window's whole. Times
  /// 2^exponent_of(i, j).
  double around(std::int64_t i, std::int64_t j) const {
    const double *before = end(i - 1), *behind = begin(j + 1) + window_ - 1 - j;
    double sum = 0;
    for (std::int64_t s = first(j); s <= last(i); ++s) sum += before[s] * behind[s] / begin(s)[window_];
    return sum;
  }
  std::int64_t exponent_of(std::int64_t i, std::int64_t j) const { return grown(i - 1) - grown(j); }
  const EndWeights& stems() const { return stems_; }

 private:
  std::size_t cells() const { return static_cast<std::size_t>((n_ + 2) * (window_ + 1)); }
  std::int64_t first(std::int64_t j) const { return std::max<std::int64_t>(1, j - window_ + 1); }
  std::int64_t last(std::int64_t i) const { return std::min(i, n_ - window_ + 1); }
  std::int64_t grown(std::int64_t k) const { return grown_[static_cast<std::size_t>(k)]; }
  /// [a]: of a..b
  double* end(std::int64_t b) { return by_end_.data() + (b * (window_ + 1) - (b - window_ + 1)); }
  const double* end(std::int64_t b) const { return by_end_.data() + (b * (window_ + 1) - (b - window_ + 1)); }
  /// [length]: of a and on
  double* begin(std::int64_t a) { return by_begin_.data() + a * (window_ + 1); }
  const double* begin(std::int64_t a) const { return by_begin_.data() + a * (window_ + 1); }

  /// What begins at one base does not depend on what begins at others: threads share them.
  void fill() {
    for (std::int64_t b = 0; b <= n_; ++b) end(b)[b + 1] = begin(b + 1)[0] = 1;
    constexpr std::int64_t kTogether = 128;
    parallel_for((n_ + kTogether - 1) / kTogether,
                 [&](std::int64_t k) { fill(k * kTogether + 1, std::min(n_, (k + 1) * kTogether)); });
  }
  void fill(std::int64_t from, std::int64_t to) {
    for (std::int64_t b = from; b <= std::min(n_, to + window_ - 1); ++b) {
      double* sums = end(b);
      const double alone = power(grown(b - 1) - grown(b)), *before = end(b - 1), *stem = stems_.of(b);
      const std::int64_t least = std::max(from, first(b)), most = std::min(to, b);
      for (std::int64_t a = least; a <= most; ++a) sums[a] = alone * before[a];
      const std::int64_t tile = Tiling::tile_of(b);
      for (std::int64_t t = p_.tiling.first_strip(tile); t <= Tiling::strip_of(b); ++t) {
        const double* pairs = p_.b.column(t, b) - Tiling::first_row(t);
        const std::int64_t top = std::min(Tiling::first_row(t + 1), b - kMinHairpin);
        for (std::int64_t i = std::max(Tiling::first_row(t), least); i < top; ++i) {
          if (pairs[i] == 0) continue;
          const double weight = pairs[i] * stem[i] * power(p_.exponent(t, tile) + grown(i - 1) - grown(b));
          const double* left = end(i - 1);
          for (std::int64_t a = least; a <= std::min(i, most); ++a) sums[a] += left[a] * weight;
        }
      }
      for (std::int64_t a = least; a <= most; ++a) begin(a)[b - a + 1] = sums[a];
    }
    check_interrupt();
  }

  const Partition& p_;
  std::int64_t n_, window_;
  EndWeights stems_;
  std::vector<double> by_end_, by_begin_;
  std::vector<std::int64_t> grown_;  // the power of two of the sum over the first k bases
};

/// Probabilities, summed over windows, that stretches of bases are unpaired.
class UnpairedStretches {
 public:
  UnpairedStretches(const Problem& problem, const Partition& p, const WindowEnds& windows,
                    const Panels& pairs, const Panels& of_m1, const Panels& of_one, std::int64_t stretch)
      : s_(problem.s),
        w_(problem.weights),
        problem_(problem),
        p_(p),
        windows_(windows),
        pairs_(pairs),
        of_m1_(of_m1),
        of_one_(of_one),
        one_(p.tiling),
        n_(problem.s.size()),
        span_(std::min(p.tiling.span, n_)),
        stretch_(std::min(stretch, n_)),
        runs_(static_cast<std::size_t>((n_ + 2) * (span_ + 1)), 0) {}

  /// [base][u - 1], as in Accessibility, in the mean of windows.
  std::vector<double> all(std::int64_t columns) {
    fill_runs();
    parallel_for(p_.tiling.tiles(), [&](std::int64_t tile) { fill_one(tile); });
    std::vector<double> out(static_cast<std::size_t>(n_ * columns), std::numeric_limits<double>::quiet_NaN());
    // loops_[l]: runs that end before l and began before a
    std::vector<double> loops(static_cast<std::size_t>(n_ + 2), 0),
        within(static_cast<std::size_t>(stretch_ + 2));
    for (std::int64_t a = 1; a <= n_; ++a) {
      if (a > 1) {
        const double* run = runs_.data() + (a - 1) * (span_ + 1);
        for (std::int64_t l = a; l <= std::min(n_, a - 1 + span_ - 1); ++l)
          loops[static_cast<std::size_t>(l)] += run[l - a + 1];
      }
      const std::int64_t most = std::min(stretch_, n_ - a + 1);
      double beyond = 0;
      for (std::int64_t l = std::min(n_, a + span_); l > a; --l) {
        beyond += loops[static_cast<std::size_t>(l)];
        if (l - a <= most) within[static_cast<std::size_t>(l - a)] = beyond;
      }
      for (std::int64_t u = 1; u <= most; ++u)
        out[static_cast<std::size_t>((a + u - 2) * columns + u - 1)] =
            a + u <= std::min(n_, a + span_) ? within[static_cast<std::size_t>(u)] : 0;
    }
    const double base = w_.numbers().multi_base;
    parallel_for(n_, [&](std::int64_t k) {
      const std::int64_t a = k + 1, most = std::min(stretch_, n_ - a + 1);
      double unpaired = 1;
      for (std::int64_t u = 1; u <= most; ++u) {
        const std::int64_t b = a + u - 1;
        double& cell = out[static_cast<std::size_t>((b - 1) * columns + u - 1)];
        unpaired *= base;
        double sum = windows_.around(a, b) * power(windows_.exponent_of(a, b)) + cell;
        sum += unpaired * (behind_stems(a, b) + before_stems(a, b));
        const std::int64_t count = windows_.count(a, b);
        cell = count > 0 ? sum / static_cast<double>(count) : std::numeric_limits<double>::quiet_NaN();
      }
      if (a % 64 == 0) check_interrupt();
    });
    return out;
  }

 private:
  double& run(std::int64_t before, std::int64_t behind) {
    return runs_[static_cast<std::size_t>(before * (span_ + 1) + behind - before)];
  }

  /// Strips add to rows of their own, but for runs that begin at an inner pair: these are added after each
  /// some strips, so that the order does not depend on the number of threads.
  void fill_runs() {
    constexpr std::int64_t kTogether = 16;
    std::vector<std::vector<double>> right(kTogether);  // of a strip, by column and by the run's length
    for (std::int64_t from = 0; from < p_.tiling.strips(); from += kTogether) {
      const std::int64_t count = std::min(kTogether, p_.tiling.strips() - from);
      parallel_for(count, [&](std::int64_t k) {
        runs_of(from + k, right[static_cast<std::size_t>(k)]);
        check_interrupt();
      });
      for (std::int64_t k = 0; k < count; ++k) {
        const double* sum = right[static_cast<std::size_t>(k)].data();
        for (std::int64_t j = Tiling::first_row(from + k); j <= p_.tiling.last_of(from + k); ++j)
          for (std::int64_t length = 0; length <= kMaxLoop; ++length, ++sum)
            if (*sum != 0) run(j - 1 - length, j) += *sum;
      }
    }
  }

  /// Unpaired bases of hairpins and interior loops whose outer pair begins in a strip.
  void runs_of(std::int64_t t, std::vector<double>& right) {
    const std::int64_t first = Tiling::first_row(t);
    right.assign(static_cast<std::size_t>((p_.tiling.last_of(t) - first + 1) * (kMaxLoop + 1)), 0);
    for (std::int64_t j = first; j <= p_.tiling.last_of(t); ++j) {
      const double *probability = pairs_.column(t, j), *b = p_.b.column(t, j);
      const std::int64_t exponent = p_.exponent(t, Tiling::tile_of(j));
      const std::int64_t rows = std::clamp<std::int64_t>(j - kMinHairpin - first, 0, kStripRows);
      for (std::int64_t r = 0; r < rows; ++r) {
        if (probability[r] == 0) continue;
        const std::int64_t i = first + r;
        double worth = probability[r] / b[r];
        if (!problem_.extras.empty()) worth *= w_.of(problem_.extras.pair(i, j));
        run(i, j) += w_.hairpin(s_, i, j) * worth * power(-exponent);
        interior(i, j, worth, exponent, right.data() + (j - first) * (kMaxLoop + 1));
      }
    }
  }

  void interior(std::int64_t i, std::int64_t j, double worth, std::int64_t exponent, double* right_runs) {
    const std::int64_t strip = Tiling::strip_of(i + 1), edge = Tiling::first_row(strip + 1);
    for (std::int64_t q = j - 1; q > i + kMinHairpin + 1 && j - 1 - q <= kMaxLoop; --q) {
      const std::int64_t end = std::min(i + 1 + kMaxLoop - (j - 1 - q), q - kMinHairpin - 1);
      double right = 0;
      for (std::int64_t p = i + 1; p <= end;) {
        const std::int64_t of = p < edge ? strip : strip + 1, last = p < edge ? std::min(end, edge - 1) : end;
        const double* b = p_.b.column(of, q) - Tiling::first_row(of);
        const double scale = worth * power(p_.exponent(of, Tiling::tile_of(q)) - exponent);
        for (; p <= last; ++p) {
          if (b[p] == 0) continue;
          const double loop = b[p] * scale * w_.interior(s_, i, j, p, q);
          run(i, p) += loop;
          right += loop;
        }
      }
      right_runs[j - 1 - q] += right;
    }
  }

  /// The sums with one stem, as partition() has them between M1 and M.
  void fill_one(std::int64_t tile) {
    const double base = w_.numbers().multi_base;
    for (std::int64_t j = Tiling::first_column(tile); j <= p_.tiling.last_column(tile); ++j) {
      double one = 0;
      for (std::int64_t t = Tiling::strip_of(j); t >= p_.tiling.first_strip(tile); --t) {
        if (t < Tiling::strip_of(j)) one *= power(p_.exponent(t + 1, tile) - p_.exponent(t, tile));
        const double* m1 = p_.m1.column(t, j);
        double* to = one_.column(t, j);
        for (std::int64_t r = kStripRows - 1; r >= 0; --r) to[r] = one = m1[r] + base * one;
      }
    }
  }

  /// a..b of a multiloop, without their own weight: the stem before them ends where M1(k, a-1) says.
  double behind_stems(std::int64_t a, std::int64_t b) const {
    if (a == 1) return 0;
    const std::int64_t left = Tiling::tile_of(a - 1), right = Tiling::tile_of(b);
    double sum = 0;
    for (std::int64_t t = p_.tiling.first_strip(right); t <= Tiling::strip_of(a - 1); ++t) {
      const double *m1 = p_.m1.column(t, a - 1), *of = of_m1_.column(t, b);
      const std::int64_t rows = std::min<std::int64_t>(kStripRows, a - Tiling::first_row(t));
      double part = 0;
      for (std::int64_t r = 0; r < rows; ++r) part += m1[r] * of[r];
      sum += part * power(p_.exponent(t, left) - p_.exponent(t, right));
    }
    return sum;
  }
  /// The same before the first stem of a multiloop.
  double before_stems(std::int64_t a, std::int64_t b) const {
    const std::int64_t t = Tiling::strip_of(a), v = Tiling::strip_of(b + 1);
    const std::int64_t row = a - Tiling::first_row(t), next = b + 1 - Tiling::first_row(v);
    double sum = 0;
    for (std::int64_t j = b + kMinHairpin + 2; j <= p_.tiling.last_of(t); ++j) {
      const double of = of_one_.column(t, j)[row];
      if (of == 0) continue;
      const std::int64_t tile = Tiling::tile_of(j);
      sum += of * one_.column(v, j)[next] * (t == v ? 1 : power(p_.exponent(v, tile) - p_.exponent(t, tile)));
    }
    return sum;
  }

  const Bases& s_;
  const Weights& w_;
  const Problem& problem_;
  const Partition& p_;
  const WindowEnds& windows_;
  const Panels &pairs_, &of_m1_, &of_one_;
  Panels one_;
  std::int64_t n_, span_, stretch_;
  std::vector<double> runs_;  // by the paired bases before and behind
};

Accessibility in_windows(const Problem& problem, std::int64_t window, const AccessibilityOptions& options) {
  const std::int64_t n = problem.s.size();
  const Tiling tiling = problem.tiling();
  const Partition p = partition(problem);
  const WindowEnds windows(problem, p, window);
  Panels exterior(tiling), pairs(tiling), of_m1(tiling), of_one(tiling);
  parallel_for(tiling.strips(), [&](std::int64_t t) {
    const std::int64_t first = Tiling::first_row(t);
    for (std::int64_t j = first; j <= tiling.last_of(t); ++j) {
      const double *b = p.b.column(t, j), *stem = windows.stems().of(j);
      double* to = exterior.column(t, j);
      for (std::int64_t r = 0; r < kStripRows; ++r) {
        const std::int64_t i = first + r;
        to[r] = i < j && b[r] != 0 ? stem[i] * windows.around(i, j) *
                                         power(windows.exponent_of(i, j) + p.exponent(t, Tiling::tile_of(j)))
                                   : 0;
      }
    }
    check_interrupt();
  });
  outside(problem, p, pairs, {.exterior = &exterior, .m1 = &of_m1, .one = &of_one});
  Accessibility out;
  out.stretch = options.stretch;
  for (std::int64_t i = 1; i <= n; ++i) {
    const std::int64_t t = Tiling::strip_of(i), row = i - Tiling::first_row(t);
    for (std::int64_t j = i + kMinHairpin + 1; j <= tiling.last_of(t); ++j)
      if (const double sum = pairs.column(t, j)[row]; sum != 0)
        if (const double mean = sum / static_cast<double>(windows.count(i, j)); mean >= options.cutoff)
          out.pairs.push_back({i, j, mean});
  }
  out.unpaired =
      UnpairedStretches(problem, p, windows, pairs, of_m1, of_one, options.stretch).all(options.stretch);
  return out;
}

}  // namespace

Accessibility accessibility(std::string_view sequence, const AccessibilityOptions& options,
                            const Model& model, const Run& run) {
  if (names_gpu(run))
    throw BadInput("windows' ensembles on a GPU: they are there on the CPU alone (`device` cpu)");
  check_ensemble(model);
  if (model.quadruplexes) throw BadInput("unpaired stretches with quadruplexes; they are there without them");
  if (model.circular) throw BadInput("windows of a circle; they are there for linear sequences");
  if (options.window < 0)
    throw BadInput(fmt::format("a window of {} bases; it has 1 or more, or 0 for all", options.window));
  if (options.stretch < 1 || options.stretch > kMostStretch)
    throw BadInput(
        fmt::format("stretches of up to {} bases: 1 to {} are possible", options.stretch, kMostStretch));
  if (!(options.cutoff >= 0 && options.cutoff <= 1))
    throw BadInput(fmt::format("a cutoff of {}: it is a probability, 0 to 1", options.cutoff));
  const RunScope scope(run);
  Model own = model;
  const auto n = static_cast<std::int64_t>(sequence.size());
  const std::int64_t window = options.window == 0 ? n : std::min(options.window, n);
  if (own.max_span == 0 || own.max_span > window) own.max_span = window;
  const Loops loops(own);
  const Weights weights(own, loops);
  check_span(own, weights);
  const Bases s = bases_of(sequence, loops);
  const Marks marks;
  const Extras extras(s, loops, marks.forced);
  const Allowed allowed(s, loops, marks);
  const Problem problem{s, weights, extras, allowed, allowed.span()};
  const Tiling tiling = problem.tiling();
  const std::uint64_t bytes = 9 * Panels::bytes(tiling) + WindowEnds::bytes(n, window) +
                              static_cast<std::uint64_t>(n) *
                                  static_cast<std::uint64_t>(tiling.span + options.stretch + 250) *
                                  sizeof(double);
  try {
    constexpr std::uint64_t kSmall = 16'000'000;
    if (bytes > kSmall) require_memory(bytes, fmt::format("the windows of {} bases", n));
    return in_windows(problem, window, options);
  } catch (const std::bad_alloc&) {
    throw OutOfMemory(fmt::format("the windows of {} bases take {} bytes, which there are not", n, bytes));
  }
}

}  // namespace warploom::fold
