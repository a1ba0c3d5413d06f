#include <algorithm>
#include <cstring>
#include <thread>

#include "core/instruction_sets.hpp"
#include "fold/partition.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/core/threads.hpp"

/// The transpose of partition.cpp, line by line and from the end: what a number is worth is the sum over all
/// that it went into of what that is worth times its weight there. The power of two of what a number is worth
/// is that of the whole sum less the number's own, so that no other ones have to be found.
namespace warploom::fold {
namespace {

/// What a strip's last row, and its columns' rows in the next strip, are to that, in one column.
struct OutsideBoundary {
  double b[kBelow], interior[kBelow], interior_1n[kBelow], interior_23[kBelow], end[kBelow];
  double generic[kMaxLoop + 1];
  double one;      ///< of the sum with one stem
  double closing;  ///< of the multiloop that the last row closes
};

class OutsideSums {
 public:
  OutsideSums(const Problem& problem, const Partition& p, Panels& probabilities,
              const OutsideOptions& options)
      : s_(problem.s),
        w_(problem.weights),
        problem_(problem),
        p_(p),
        n_(problem.s.size()),
        tiling_(problem.tiling()),
        sizes_(size_weights(problem.weights)),
        stems_(problem),
        ends_(options.exterior == nullptr ? worth_of_ends(problem, p) : std::vector<double>()),
        splits_(tiling_),
        out_(probabilities),
        counts_(options.counts),
        options_(options),
        boundary_(static_cast<std::size_t>(n_ + 2)),
        turns_(tiling_.strips()),
        progress_("summing from outside", n_ * (n_ + 1) / 2, "cells") {}

  void run() {
    turns_.run([&](std::int64_t t) { strip(t); });
  }

 private:
  struct Work {
    Rings rings;
    alignas(64) double m[kTileColumns]
                        [kStripRows];  ///< of this tile's M: splits whose second part ends behind it
    alignas(64) double m1[kTileColumns]
                         [kStripRows];  ///< of its M1: splits whose first part begins before the strip
    alignas(64) double packed[kTileColumns * kTileColumns];
    alignas(64) double own[kStripRows]
                          [kStripRows];  ///< [i][k]: M(i, k - 1), whose column k - 1 is the strip's own
    alignas(64) StripRow m1_behind, closing_behind;     ///< of column j + 1
    double generic_above[kMaxLoop + 1], closing_above;  ///< of the strip before, in column j + 1
  };

  void strip(std::int64_t t) {
    const std::int64_t first = Tiling::first_row(t);
    thread_local const std::unique_ptr<Work> work = std::make_unique_for_overwrite<Work>();
    std::memset(work.get(), 0, sizeof *work);
    const std::unique_ptr<StripWeights> strip = strip_weights(problem_, t);
    for (std::int64_t r = 1; r < kStripRows && first + r <= n_; ++r) {
      const std::int64_t before = first + r - 1;
      const double scale = power(p_.exponent(t, Tiling::tile_of(before)));
      const double* m = p_.m.column(t, before);
      for (std::int64_t i = 0; i < kStripRows; ++i) work->own[i][r] = m[i] * scale;
    }
    for (std::int64_t tile = tiling_.last_tile(t); tile >= Tiling::tile_of(first); --tile) {
      if (t > 0 && tile <= tiling_.last_tile(t - 1) && !turns_.wait(t - 1, tiling_.tiles() - tile)) return;
      begin_tile(*work, t, tile);
      for (std::int64_t j = tiling_.last_column(tile); j >= std::max(first, Tiling::first_column(tile)); --j)
        column(*strip, *work, t, j);
      turns_.done(t, tiling_.tiles() - tile);
      check_interrupt();
    }
    const std::int64_t rows = std::min<std::int64_t>(kStripRows, n_ - first + 1);
    progress_.advance(rows * (n_ - first + 1) - rows * (rows - 1) / 2);
  }

  void begin_tile(Work& work, std::int64_t t, std::int64_t tile) {
    const std::int64_t first = Tiling::first_row(t), begin = Tiling::first_column(tile);
    const std::int32_t here = p_.exponent(t, tile);
    std::memset(work.m, 0, sizeof work.m);
    std::memset(work.m1, 0, sizeof work.m1);
    for (std::int64_t right = tile + 1; right <= tiling_.last_tile(t); ++right) {
      const std::int64_t from = Tiling::first_column(right), count = tiling_.last_column(right) - from + 1;
      for (std::int64_t c = 0; c < kTileColumns; ++c) {
        const std::int64_t k = begin + c + 1;  // the second part begins behind column begin + c
        const std::int64_t v = Tiling::strip_of(k);
        const double scale =
            power(here + p_.exponent(std::min(v, tiling_.strips() - 1), right) - p_.exponent(t, right));
        for (std::int64_t x = 0; x < count; ++x)
          work.packed[x * kTileColumns + c] =
              k <= from + x ? p_.m1.column(v, from + x)[k - Tiling::first_row(v)] * scale : 0;
      }
      kernels_.product(splits_.column(t, from), work.packed, static_cast<int>(count), work.m[0]);
    }
    for (std::int64_t before = tiling_.first_strip(tile); before < t; ++before) {
      const double* m[kStripRows];
      double scale[kStripRows];
      for (std::int64_t r = 0; r < kStripRows; ++r) {
        const std::int64_t column =
            std::min(first + r - 1, tiling_.last_of(before));  // others are not needed
        m[r] = p_.m.column(before, column);
        scale[r] = power(p_.exponent(before, Tiling::tile_of(column)) + here - p_.exponent(before, tile));
      }
      kernels_.dots(m, scale, splits_.column(before, begin), work.m1[0]);
    }
  }

  void column(const StripWeights& strip, Work& work, std::int64_t t, std::int64_t j) {
    const std::int64_t first = Tiling::first_row(t), tile = Tiling::tile_of(j),
                       begin = Tiling::first_column(tile);
    const Base *code = s_.codes.data() + j, b0 = code[0];
    const OuterWeights& outer = strip.outer[loop_context(b0, code[-1])];
    const InnerWeights& inner = strip.inner[loop_context(b0, code[1])];
    const std::int32_t here = p_.exponent(t, tile);
    const std::int64_t rows = std::clamp<std::int64_t>(j - kMinHairpin - first, 0, kStripRows);
    const bool last = j == tiling_.last_of(t);
    const double from_behind = last ? 0 : power(here - p_.exponent(t, Tiling::tile_of(j + 1)));
    const bool above = t > 0 && tile <= tiling_.last_tile(t - 1);
    const double from_above = above ? power(here - p_.exponent(t - 1, tile)) : 0;

    // M and the sums of two stems and more, which go into M and into the multiloop that (i - 1, j + 1) closes
    alignas(64) StripRow m;
    std::memcpy(m, work.m[j - begin], sizeof m);
    if (j < n_) {
      const std::int64_t k = j + 1, v = Tiling::strip_of(k);
      const double scale = power(p_.exponent(v, tile));
      for (std::int64_t end = k + kMinHairpin + 1; end <= tiling_.last_column(tile); ++end)
        kernels_.add(splits_.column(t, end), p_.m1.column(v, end)[k - Tiling::first_row(v)] * scale, m);
    }
    std::fill(m + rows, m + kStripRows, 0.);
    // Where bases have to pair sums are 0 beside large ones. What they are worth may be too much for a
    // double, and their parts are 0, too.
    const auto leave_out = [&](const Panels& numbers, double* worth) {
      if (problem_.unpaired == nullptr) return;
      for (std::int64_t r = 0; r < rows; ++r)
        if (numbers.column(t, j)[r] == 0) worth[r] = 0;
    };
    double* split = splits_.column(t, j);
    for (std::int64_t r = 0; r < kStripRows; ++r) split[r] = m[r];
    for (std::int64_t r = 1; r < rows; ++r) split[r] += work.closing_behind[r - 1] * from_behind;
    if (rows > 0) split[0] += work.closing_above * from_behind;
    leave_out(p_.m, m), leave_out(p_.m, split);

    // M1
    OutsideBoundary& boundary = boundary_[static_cast<std::size_t>(j)];
    const double grow =
        j < n_ && problem_.may_be_unpaired(j + 1, j + 1) ? w_.numbers().multi_base * from_behind : 0;
    alignas(64) StripRow m1;
    std::memcpy(m1, work.m1[j - begin], sizeof m1);
    for (std::int64_t i = 0; i < rows; ++i)
      if (split[i] != 0) kernels_.add(work.own[i], split[i], m1);
    alignas(64) StripRow ones;
    double one = t > 0 ? boundary.one * from_above : 0;
    for (std::int64_t r = 0; r < kStripRows; ++r) {
      one = m[r] + (r > 0 ? strip.multi_base[r - 1] : strip.multi_base_above) * one;
      ones[r] = one;
      m1[r] += one + grow * work.m1_behind[r];
    }
    std::fill(m1 + rows, m1 + kStripRows, 0.);
    leave_out(p_.m1, m1);
    std::memcpy(work.m1_behind, m1, sizeof m1);
    if (options_.m1 != nullptr) std::memcpy(options_.m1->column(t, j), m1, sizeof m1);
    if (options_.one != nullptr) std::memcpy(options_.one->column(t, j), ones, sizeof ones);

    // B, and the probability
    Rings& rings = work.rings;
    const std::size_t slot = static_cast<std::size_t>(j & (kReach - 1));
    if (t > 0)
      for (int r = 0; r < kBelow; ++r) {
        rings.b[slot][r] += boundary.b[r] * from_above;
        rings.interior[slot][r] += boundary.interior[r] * from_above;
        rings.interior_1n[slot][r] += boundary.interior_1n[r] * from_above;
        rings.interior_23[slot][r] += boundary.interior_23[r] * from_above;
        rings.end[slot][r] += boundary.end[r] * from_above;
      }
    const double* stem = stems_.of(j);
    const double outermost =
        options_.exterior != nullptr
            ? 0
            : ends_[static_cast<std::size_t>(j)] *
                  power(p_.end_exponents[static_cast<std::size_t>(t)] + here - p_.end_exponent(j));
    const double* b = p_.b.column(t, j);
    double* probability = out_.column(t, j);
    alignas(64) StripRow worth = {};
    const double all = options_.exterior == nullptr ? p_.ends.back() : 1;
    const double* exterior = options_.exterior == nullptr ? nullptr : options_.exterior->column(t, j);
    for (std::int64_t r = 0; r < kStripRows; ++r) {
      const bool there = r < rows && b[r] != 0;
      const double in_loops = rings.b[slot][r] + rings.interior[slot][r] * inner.interior[r] +
                              rings.interior_1n[slot][r] * inner.interior_1n[r] +
                              rings.interior_23[slot][r] * inner.interior_23[r] +
                              rings.end[slot][r] * strip.end[b0][r];
      const double alone =
          exterior != nullptr ? exterior[r]
          : there             ? outermost * p_.ends[static_cast<std::size_t>(first + r - 1)] * stem[first + r]
                              : 0;
      if (there) worth[r] = m1[r] * inner.stem[r] + in_loops + alone;
      probability[r] = there ? worth[r] * b[r] / all : 0;
      if (there && !counts_.empty()) {
        const double part = b[r] / all;
        PairCounts& to = counts_[static_cast<std::size_t>(t)];
        count(to, first + r, j, m1[r] * inner.stem[r] * part, alone * part);
        const int seen = Loops::reversed(w_.loops().pair(s_.codes[first + r], b0));
        const Base before = s_.codes[first + r - 1], behind = code[1];
        to.interior[seen][behind][before] += rings.interior[slot][r] * inner.interior[r] * part;
        to.interior_1n[seen][behind][before] += rings.interior_1n[slot][r] * inner.interior_1n[r] * part;
        to.interior_23[seen][behind][before] += rings.interior_23[slot][r] * inner.interior_23[r] * part;
        to.bulge[seen] += rings.end[slot][r] * strip.end[b0][r] * part;
      }
      if (there && !problem_.extras.empty()) worth[r] *= w_.of(problem_.extras.pair(first + r, j));
    }
    const double to_before = tile > 0 && begin > first ? power(p_.exponent(t, tile - 1) - here) : 1;
    LoopColumn place = loop_column(problem_, strip, j, to_before);
    place.scale[0] = from_behind;
    for (int u = 0; u <= kMaxLoop; ++u) {
      rings.generic[u][0] = work.generic_above[u];
      work.generic_above[u] = t > 0 ? boundary.generic[u] * from_above : 0;
    }
    work.closing_above = t > 0 ? boundary.closing * from_above : 0;
    kernels_.give_interior(place, sizes_, worth, rings);
    give_pairs(work, t, j, place, rows, worth);
    for (std::int64_t r = 0; r < kStripRows; ++r) work.closing_behind[r] = worth[r] * outer.closing[r];
    hand_down(work, t, j, one);
  }

  void count(PairCounts& counts, std::int64_t i, std::int64_t j, double multi, double exterior) const {
    const Base* c = s_.codes.data();
    const int type = w_.loops().pair(c[i], c[j]);
    counts.multi[type][c[i - 1]][c[j + 1]] += multi;
    counts.exterior[type][i > 1 ? c[i - 1] : kBases][j < n_ ? c[j + 1] : kBases] += exterior;
    counts.covered += exterior * static_cast<double>(j - i + 1);
  }

  void give_pairs(Work& work, std::int64_t t, std::int64_t j, const LoopColumn& place, std::int64_t rows,
                  const double* worth) {
    const std::int64_t first = Tiling::first_row(t);
    const Weights::Numbers& numbers = w_.numbers();
    const Loops& loops = w_.loops();
    const Base* c = s_.codes.data();
    const auto ring = [&](int d) { return work.rings.b[(j - d) & (kReach - 1)]; };
    const bool pseudo = !loops.pseudo().stack.empty();
    for (std::int64_t r = 0; r < rows; ++r) {
      if (worth[r] == 0) continue;
      const std::int64_t i = first + r;
      const int type = loops.pair(c[i], c[j]);
      if (pseudo)
        ring(1)[r + 1] += worth[r] * place.scale[1] * place.outer->stack[r] * (w_.stack_extra(s_, i, j) - 1);
      if (!loops.closes(type)) continue;
      const auto inner = [&](int left, int right) {
        const std::int64_t p = i + 1 + left, q = j - 1 - right;
        const int pair = p < q ? loops.pair(c[q], c[p]) : 0;
        return loops.closes(pair) && problem_.may_be_unpaired(i, j, p, q) ? pair : 0;
      };
      if (const int pair = inner(1, 1); pair != 0)
        ring(2)[r + 2] += worth[r] * place.scale[2] * numbers.int11[type][pair][c[i + 1]][c[j - 1]];
      if (const int pair = inner(1, 2); pair != 0)
        ring(3)[r + 2] += worth[r] * place.scale[3] * numbers.int21[type][pair][c[i + 1]][c[j - 2]][c[j - 1]];
      if (const int pair = inner(2, 1); pair != 0)
        ring(2)[r + 3] += worth[r] * place.scale[2] * numbers.int21[pair][type][c[j - 1]][c[i + 1]][c[i + 2]];
      if (const int pair = inner(2, 2); pair != 0)
        ring(3)[r + 3] +=
            worth[r] * place.scale[3] * numbers.int22[type][pair][c[i + 1]][c[i + 2]][c[j - 2]][c[j - 1]];
    }
  }

  /// Column j is done: the next strip has its part of it, and the ring's place is free.
  void hand_down(Work& work, std::int64_t t, std::int64_t j, double one) {
    Rings& rings = work.rings;
    const std::size_t slot = static_cast<std::size_t>(j & (kReach - 1));
    OutsideBoundary& boundary = boundary_[static_cast<std::size_t>(j)];
    if (t + 1 < tiling_.strips()) {
      std::memcpy(boundary.b, rings.b[slot] + kStripRows, sizeof boundary.b);
      std::memcpy(boundary.interior, rings.interior[slot] + kStripRows, sizeof boundary.b);
      std::memcpy(boundary.interior_1n, rings.interior_1n[slot] + kStripRows, sizeof boundary.b);
      std::memcpy(boundary.interior_23, rings.interior_23[slot] + kStripRows, sizeof boundary.b);
      std::memcpy(boundary.end, rings.end[slot] + kStripRows, sizeof boundary.b);
      for (int u = 0; u <= kMaxLoop; ++u) boundary.generic[u] = rings.generic[u][kStripRows];
      boundary.one = one, boundary.closing = work.closing_behind[kStripRows - 1];
    }
    for (WideRow* ring : {rings.b, rings.interior, rings.interior_1n, rings.interior_23, rings.end})
      std::memset(ring[slot], 0, sizeof(WideRow));
  }

  const Bases& s_;
  const Weights& w_;
  const Problem& problem_;
  const Partition& p_;
  std::int64_t n_;
  Tiling tiling_;
  SizeWeights sizes_;
  EndWeights stems_;
  std::vector<double> ends_;
  Panels splits_;  ///< what the sums of two stems and more are worth
  Panels& out_;
  std::span<PairCounts> counts_;
  const OutsideOptions& options_;
  std::vector<OutsideBoundary> boundary_;
  Turns turns_;
  const SumKernels& kernels_ = *WARPLOOM_PICK(sum_kernels);
  Progress progress_;
};

}  // namespace

std::vector<double> worth_of_ends(const Problem& problem, const Partition& p) {
  const EndWeights stems(problem);
  const std::int64_t n = p.tiling.n;
  std::vector<double> worth(static_cast<std::size_t>(n + 1), 0);
  worth.back() = 1;
  for (std::int64_t j = n; j >= 1; --j) {
    double& here = worth[static_cast<std::size_t>(j)];
    if (p.ends[static_cast<std::size_t>(j)] == 0) {  // its parts are 0, whatever it is worth
      here = 0;
      continue;
    }
    if (problem.may_be_unpaired(j, j))
      worth[static_cast<std::size_t>(j - 1)] += here * power(p.end_exponent(j - 1) - p.end_exponent(j));
    if (problem.quadruplexes != nullptr)
      for (const auto& [i, weight] : problem.quadruplexes->ending(j))
        worth[static_cast<std::size_t>(i - 1)] +=
            here * weight * power(p.end_exponent(i - 1) - p.end_exponent(j));
    const double* stem = stems.of(j);
    for (std::int64_t t = p.tiling.first_strip(Tiling::tile_of(j)); t <= Tiling::strip_of(j); ++t) {
      const double* b = p.b.column(t, j);
      const std::int64_t first = Tiling::first_row(t),
                         rows = std::min<std::int64_t>(kStripRows, j - first + 1);
      const double scale = here * power(p.end_exponents[static_cast<std::size_t>(t)] +
                                        p.exponent(t, Tiling::tile_of(j)) - p.end_exponent(j));
      for (std::int64_t r = 0; r < rows; ++r)
        worth[static_cast<std::size_t>(first + r - 1)] += scale * stem[first + r] * b[r];
    }
  }
  return worth;
}

void outside(const Problem& problem, const Partition& p, Panels& probabilities,
             const OutsideOptions& options) {
  OutsideSums(problem, p, probabilities, options).run();
}

}  // namespace warploom::fold
