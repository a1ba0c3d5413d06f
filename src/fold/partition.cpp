#include "fold/partition.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <thread>
#include <unordered_map>

#include "core/instruction_sets.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/core/threads.hpp"

namespace warploom::fold {
namespace {

/// What a strip's first row in one column is to the strip before it.
struct InsideBoundary {
  double generic[kMaxLoop + 1];
  double m2, one;  ///< sums with two stems and more, and with one
};

class InsideSums {
 public:
  InsideSums(const Problem& problem, Partition& out)
      : s_(problem.s),
        w_(problem.weights),
        problem_(problem),
        n_(problem.s.size()),
        tiling_(problem.tiling()),
        sizes_(size_weights(problem.weights)),
        out_(out),
        boundary_(static_cast<std::size_t>(n_ + 1)),
        turns_(tiling_.strips()),
        hairpins_(static_cast<std::size_t>(n_ + 2 * kStripRows), 0),
        progress_("summing", n_ * (n_ + 1) / 2, "cells") {
    // Row r of column j has j - i - 1 unpaired: index n - (j - i - 1), so that rows are neighbours.
    for (std::int64_t size = 7; size < n_; ++size)
      hairpins_[static_cast<std::size_t>(n_ - size)] = w_.hairpin_of(size);
  }

  void run() {
    turns_.run([&](std::int64_t k) { strip(tiling_.strips() - 1 - k); });
  }

 private:
  struct Work {
    Rings rings;
    alignas(64) double sums[kTileColumns][kStripRows];  ///< of this tile's columns: splits behind the strip
    alignas(64) double packed[kTileColumns * kTileColumns];
    alignas(64) WideRow m2;  ///< of column j - 1
    alignas(64) StripRow b, one;
  };

  void strip(std::int64_t t) {
    const std::int64_t first = Tiling::first_row(t);
    thread_local const std::unique_ptr<Work> work = std::make_unique_for_overwrite<Work>();
    std::memset(work.get(), 0, sizeof *work);
    const std::unique_ptr<StripWeights> strip = strip_weights(problem_, t);
    for (std::int64_t tile = Tiling::tile_of(first); tile <= tiling_.last_tile(t); ++tile) {
      if (t + 1 < tiling_.strips() && tiling_.last_column(tile) >= first + kStripRows)
        if (!turns_.wait(t + 1, tile + 1)) return;
      begin_tile(*work, t, tile);
      for (std::int64_t j = std::max(first, Tiling::first_column(tile)); j <= tiling_.last_column(tile); ++j)
        column(*strip, *work, t, j);
      turns_.done(t, tile + 1);
      check_interrupt();
    }
    const std::int64_t rows = std::min<std::int64_t>(kStripRows, n_ - first + 1);
    progress_.advance(rows * (n_ - first + 1) - rows * (rows - 1) / 2);
  }

  std::int32_t& exponent(std::int64_t t, std::int64_t tile) {
    return out_.exponents[static_cast<std::size_t>(t * tiling_.tiles() + tile)];
  }

  /// Chooses the tile's power of two, and sums the splits M(i,k-1) M1(k,j) whose k lies behind the strip and
  /// not behind the tile's first column.
  void begin_tile(Work& work, std::int64_t t, std::int64_t tile) {
    const std::int64_t first = Tiling::first_row(t), begin = Tiling::first_column(tile);
    std::int32_t& here = exponent(t, tile);
    if (problem_.unpaired != nullptr) {
      here = exponent_under_force(t, tile);
    } else if (begin > first) {
      const double* m = out_.m.column(t, begin - 1);
      const double most = *std::max_element(m, m + kStripRows);
      constexpr int kApart = 64;
      const int by = most > 0 ? std::ilogb(most) : 0;
      here = exponent(t, tile - 1) + (std::abs(by) > kApart ? by : 0);
    }
    std::memset(work.sums, 0, sizeof work.sums);
    const std::int64_t count = tiling_.last_column(tile) - begin + 1;
    for (std::int64_t k = first + kStripRows; k <= begin;) {
      const auto [v, left, end] = part_of_splits(k, begin);
      const double scale = power(exponent(t, left) + exponent(v, tile) - here);
      if (scale != 0) {
        for (std::int64_t c = 0; c < kTileColumns; ++c) {
          const double* m1 = c < count ? out_.m1.column(v, begin + c) + (k - Tiling::first_row(v)) : nullptr;
          for (std::int64_t x = 0; x < end - k; ++x)
            work.packed[x * kTileColumns + c] = m1 == nullptr ? 0 : m1[x] * scale;
        }
        kernels_.product(out_.m.column(t, k - 1), work.packed, static_cast<int>(end - k), work.sums[0]);
      }
      k = end;
    }
  }

  /// M1's rows of one strip, and M's columns of one tile.
  struct Splits {
    std::int64_t strip, tile, end;
  };
  static Splits part_of_splits(std::int64_t k, std::int64_t begin) {
    const std::int64_t v = Tiling::strip_of(k), left = Tiling::tile_of(k - 1);
    return {v, left, std::min({Tiling::first_row(v + 1), Tiling::first_column(left + 1) + 1, begin + 1})};
  }

  /// Where bases have to pair, sums are 0 up to the column that they pair with, and what they are then
  /// follows from no column before it alone: a tile's power of two is of the greatest number of all that goes
  /// into it.
  std::int32_t exponent_under_force(std::int64_t t, std::int64_t tile) const {
    const std::int64_t first = Tiling::first_row(t), begin = Tiling::first_column(tile),
                       last = tiling_.last_column(tile);
    std::int64_t greatest = std::numeric_limits<std::int64_t>::min();
    const auto most_of = [&](const Panels& panels, std::int64_t strip, std::int64_t from, std::int64_t to) {
      double most = 0;
      for (std::int64_t j = from; j <= to; ++j)
        most =
            std::max(most, *std::max_element(panels.column(strip, j), panels.column(strip, j) + kStripRows));
      return most;
    };
    const auto take = [&](double most, std::int64_t exponent) {
      if (most > 0) greatest = std::max(greatest, exponent + std::ilogb(most));
    };
    const std::int64_t before = std::max(first, begin - kTileColumns);
    if (before < begin) take(most_of(out_.m, t, before, begin - 1), out_.exponent(t, tile - 1));
    if (t + 1 < tiling_.strips() && last >= first + kStripRows)
      take(most_of(out_.m, t + 1, std::max(begin, first + kStripRows), last), out_.exponent(t + 1, tile));
    for (std::int64_t k = first + kStripRows; k <= begin;) {
      const auto [v, left, end] = part_of_splits(k, begin);
      const double m = most_of(out_.m, t, k - 1, end - 2);
      double m1 = 0;
      for (std::int64_t j = begin; j <= last && m > 0; ++j) {
        const double* column = out_.m1.column(v, j) - Tiling::first_row(v);
        m1 = std::max(m1, *std::max_element(column + k, column + end));
      }
      if (m1 > 0) take(m, out_.exponent(t, left) + out_.exponent(v, tile) + std::ilogb(m1));
      k = end;
    }
    if (greatest == std::numeric_limits<std::int64_t>::min())
      return before < begin ? out_.exponent(t, tile - 1) : 0;
    return static_cast<std::int32_t>(greatest);
  }

  void column(const StripWeights& strip, Work& work, std::int64_t t, std::int64_t j) {
    const std::int64_t first = Tiling::first_row(t), tile = Tiling::tile_of(j),
                       begin = Tiling::first_column(tile);
    const Base *code = s_.codes.data() + j, b0 = code[0];
    const InnerWeights& inner = strip.inner[loop_context(b0, code[1])];
    const std::int32_t here = exponent(t, tile);
    const double from_before = tile > 0 && begin > first ? power(exponent(t, tile - 1) - here) : 1;
    const LoopColumn place = loop_column(problem_, strip, j, from_before);

    double* b = out_.b.column(t, j);
    kernels_.interior(place, sizes_, work.rings, b);
    pairs(work, t, j, place, b);
    const std::int64_t end = std::clamp<std::int64_t>(j - kMinHairpin - first, 0, kStripRows);
    std::fill(b + end, b + kStripRows, 0.);

    double *m1 = out_.m1.column(t, j), *m = out_.m.column(t, j);
    const double grow = place.own ? w_.numbers().multi_base * place.scale[1] : 0;
    for (int r = 0; r < kStripRows; ++r) m1[r] = b[r] * inner.stem[r];
    if (j > first) kernels_.add(out_.m1.column(t, j - 1), grow, m1);
    if (problem_.quadruplexes != nullptr)
      for (const auto& [i, weight] : problem_.quadruplexes->ending(j))
        if (i >= first && i < first + kStripRows)
          m1[i - first] += weight * w_.numbers().multi_intern * power(-here);

    double* m2 = work.sums[j - begin];
    for (std::int64_t k = first + 1; k < std::min(first + kStripRows, j - kMinHairpin); ++k)
      if (const double stem = m1[k - first]; stem != 0)
        kernels_.add(out_.m.column(t, k - 1), stem * power(exponent(t, Tiling::tile_of(k - 1))), m2);
    for (std::int64_t k = std::max(first + kStripRows, begin + 1); k < j - kMinHairpin; ++k) {
      const std::int64_t v = Tiling::strip_of(k);
      if (const double stem = out_.m1.column(v, j)[k - Tiling::first_row(v)]; stem != 0)
        kernels_.add(out_.m.column(t, k - 1), stem * power(exponent(v, tile)), m2);
    }
    InsideBoundary& boundary = boundary_[static_cast<std::size_t>(j)];
    const bool next = t + 1 < tiling_.strips() && j >= first + kStripRows;
    const double from_next = next ? power(exponent(t + 1, tile) - here) : 0;
    double one = next ? boundary.one * from_next : 0;
    for (int r = kStripRows - 1; r >= 0; --r) {
      one = m1[r] + strip.multi_base[r] * one;
      m[r] = one + m2[r];
    }
    remember(work.rings, j, inner, strip.end[b0], b, next ? out_.b.column(t + 1, j) : nullptr, from_next);
    std::memcpy(work.m2, m2, sizeof(StripRow));
    work.m2[kStripRows] = next ? boundary.m2 * from_next : 0;
    for (int u = 0; u <= kMaxLoop; ++u) {
      work.rings.generic[u][kStripRows] = next ? boundary.generic[u] * from_next : 0;
      boundary.generic[u] = work.rings.generic[u][0];
    }
    boundary.m2 = m2[0], boundary.one = one;
  }

  /// What of B is no interior loop that the kernel sums.
  void pairs(const Work& work, std::int64_t t, std::int64_t j, const LoopColumn& place, double* b) {
    const std::int64_t first = Tiling::first_row(t);
    const Weights::Numbers& numbers = w_.numbers();
    const Loops& loops = w_.loops();
    const double absolute = power(-exponent(t, Tiling::tile_of(j)));
    const double* hairpins = hairpins_.data() + (n_ - (j - first - 1));
    // Where bases have to pair, a hairpin has none of them.
    const std::int64_t from = problem_.unpaired == nullptr ? 0 : problem_.unpaired->before(j) - first;
    for (int r = 0; r < kStripRows; ++r)
      b[r] += place.scale[1] * work.m2[r + 1] * place.outer->closing[r] +
              (first + r < j - 7 && r >= from ? absolute * hairpins[r] * place.outer->hairpin[r] : 0);
    StripRow quadruplexes = {};
    if (problem_.quadruplexes != nullptr) problem_.quadruplexes->around(first, kStripRows, j, quadruplexes);
    const auto ring = [&](int d) { return work.rings.b[(j - d) & (kReach - 1)]; };
    const Base* c = s_.codes.data();
    const std::int64_t end = std::min<std::int64_t>(kStripRows, j - kMinHairpin - first);
    const bool pseudo = !loops.pseudo().stack.empty();
    for (std::int64_t r = 0; r < end; ++r) {
      const std::int64_t i = first + r;
      const int type = loops.pair(c[i], c[j]);
      if (type == 0) {
        b[r] = 0;
        continue;
      }
      b[r] += absolute * quadruplexes[r];
      if (j - i <= 7 && r >= from) b[r] += absolute * w_.hairpin(s_, i, j);
      if (pseudo)
        b[r] += place.scale[1] * ring(1)[r + 1] * place.outer->stack[r] * (w_.stack_extra(s_, i, j) - 1);
      if (loops.closes(type)) {
        const auto inner = [&](int left, int right) {
          const std::int64_t p = i + 1 + left, q = j - 1 - right;
          const int pair = loops.pair(c[q], c[p]);
          return loops.closes(pair) && problem_.may_be_unpaired(i, j, p, q) ? pair : 0;
        };
        if (const double x = ring(2)[r + 2]; x != 0)
          if (const int pair = inner(1, 1); pair != 0)
            b[r] += place.scale[2] * x * numbers.int11[type][pair][c[i + 1]][c[j - 1]];
        if (const double x = ring(3)[r + 2]; x != 0)
          if (const int pair = inner(1, 2); pair != 0)
            b[r] += place.scale[3] * x * numbers.int21[type][pair][c[i + 1]][c[j - 2]][c[j - 1]];
        if (const double x = ring(2)[r + 3]; x != 0)
          if (const int pair = inner(2, 1); pair != 0)
            b[r] += place.scale[2] * x * numbers.int21[pair][type][c[j - 1]][c[i + 1]][c[i + 2]];
        if (const double x = ring(3)[r + 3]; x != 0)
          if (const int pair = inner(2, 2); pair != 0)
            b[r] += place.scale[3] * x * numbers.int22[type][pair][c[i + 1]][c[i + 2]][c[j - 2]][c[j - 1]];
      }
      if (!problem_.allowed.all() && !problem_.allowed(i, j)) b[r] = 0;
      if (!problem_.extras.empty()) b[r] *= w_.of(problem_.extras.pair(i, j));
    }
  }

  const Bases& s_;
  const Weights& w_;
  const Problem& problem_;
  std::int64_t n_;
  Tiling tiling_;
  SizeWeights sizes_;
  Partition& out_;
  std::vector<InsideBoundary> boundary_;
  Turns turns_;
  std::vector<double> hairpins_;
  const SumKernels& kernels_ = *WARPLOOM_PICK(sum_kernels);
  Progress progress_;
};

/// What is outside of all pairs: ends[j] = ends[j-1] + the sum over i of ends[i-1] stem(i,j) B(i,j).
void fill_ends(const Problem& problem, Partition& out) {
  const std::int64_t n = problem.s.size();
  const EndWeights stems(problem);
  out.ends.assign(static_cast<std::size_t>(n + 1), 0);
  out.ends[0] = 1;
  bool nothing = false;  // but zeros in the numbers of the last power of two
  for (std::int64_t j = 1; j <= n; ++j) {
    const double before = out.ends[static_cast<std::size_t>(j - 1)];
    if (j % kStripRows == 0) {
      out.end_exponents.push_back(out.end_exponents.back() + (before > 0 ? std::ilogb(before) : 0));
      nothing = true;
    }
    std::int64_t& here = out.end_exponents.back();
    double sum = problem.may_be_unpaired(j, j) ? before * power(out.end_exponent(j - 1) - here) : 0;
    const double* stem = stems.of(j);
    for (std::int64_t t = out.tiling.first_strip(Tiling::tile_of(j)); t <= Tiling::strip_of(j); ++t) {
      const double* b = out.b.column(t, j);
      const std::int64_t first = Tiling::first_row(t),
                         rows = std::min<std::int64_t>(kStripRows, j - first + 1);
      // Several sums, which a processor adds at once
      double parts[8] = {};
      const double *ends = out.ends.data() + (first - 1), *weight = stem + first;
      std::int64_t r = 0;
      for (; r + 8 <= rows; r += 8)
        for (int k = 0; k < 8; ++k) parts[k] += ends[r + k] * weight[r + k] * b[r + k];
      for (; r < rows; ++r) parts[0] += ends[r] * weight[r] * b[r];
      const double part = std::accumulate(std::begin(parts), std::end(parts), 0.);
      if (part == 0) continue;
      const std::int64_t exponent =
          out.end_exponents[static_cast<std::size_t>(t)] + out.exponent(t, Tiling::tile_of(j));
      if (nothing && sum == 0) here = exponent + std::ilogb(part);  // 0 has any power of two
      sum += part * power(exponent - here);
    }
    if (problem.quadruplexes != nullptr)
      for (const auto& [i, weight] : problem.quadruplexes->ending(j))
        sum += out.ends[static_cast<std::size_t>(i - 1)] * weight * power(out.end_exponent(i - 1) - here);
    nothing = nothing && sum == 0;
    out.ends[static_cast<std::size_t>(j)] = sum;
  }
  out.log = std::log(out.ends.back()) + static_cast<double>(out.end_exponents.back()) * std::log(2.);
}

}  // namespace

void remember(Rings& rings, std::int64_t j, const InnerWeights& inner, const double* end, const double* b,
              const double* below, double from_next) {
  const std::size_t slot = static_cast<std::size_t>(j & (kReach - 1));
  alignas(64) WideRow wide = {};
  std::memcpy(wide, b, sizeof(StripRow));
  if (from_next != 0)
    for (int r = 0; r < kBelow; ++r) wide[kStripRows + r] = below[r] * from_next;
  for (int r = 0; r < kStripRows + kBelow; ++r) {
    rings.b[slot][r] = wide[r];
    rings.interior[slot][r] = wide[r] * inner.interior[r];
    rings.interior_1n[slot][r] = wide[r] * inner.interior_1n[r];
    rings.interior_23[slot][r] = wide[r] * inner.interior_23[r];
    rings.end[slot][r] = wide[r] * end[r];
  }
}

Panels::Panels(const Tiling& tiling) {
  std::int64_t cells = 0;
  for (std::int64_t t = 0; t < tiling.strips(); ++t) {
    offsets_.push_back(cells - Tiling::first_row(t) * kStripRows);
    cells += ((tiling.last_tile(t) + 1) * kTileColumns - t * kStripRows) * kStripRows;
  }
  cells_ = std::make_unique_for_overwrite<double[]>(static_cast<std::size_t>(cells));
  ask_for_large_pages(cells_.get(), static_cast<std::size_t>(cells) * sizeof(double));
  // Columns behind the last, which products of whole tiles read
  for (std::int64_t t = 0; t < tiling.strips(); ++t)
    for (std::int64_t j = tiling.n + 1; j <= (tiling.last_tile(t) + 1) * kTileColumns; ++j)
      if (j >= Tiling::first_row(t)) std::fill_n(column(t, j), kStripRows, 0.);
}

std::uint64_t Panels::bytes(const Tiling& tiling) {
  std::int64_t cells = 0;
  for (std::int64_t t = 0; t < tiling.strips(); ++t)
    cells += ((tiling.last_tile(t) + 1) * kTileColumns - t * kStripRows) * kStripRows;
  return static_cast<std::uint64_t>(cells) * sizeof(double);
}

Partition::Partition(const Tiling& of)
    : tiling(of),
      b(of),
      m1(of),
      m(of),
      exponents(static_cast<std::size_t>(tiling.strips() * tiling.tiles())),
      end_exponents(1) {}

Allowed::Allowed(const Bases& s, const Loops& loops, const Marks& marks)
    : s_(s),
      loops_(loops),
      marks_(marks),
      all_(marks.first.empty() && loops.lonely_pairs() && loops.max_span() >= s.size()) {}

bool Allowed::operator()(std::int64_t i, std::int64_t j) const {
  const auto pair = [&](std::int64_t a, std::int64_t b) {
    return a >= 1 && b <= s_.size() && b - a > kMinHairpin && loops_.pair(s_.codes[a], s_.codes[b]) != 0;
  };
  // What could stack is asked of the bases alone, as RNAfold does.
  return pair(i, j) && (loops_.lonely_pairs() || pair(i - 1, j + 1) || pair(i + 1, j - 1)) &&
         (marks_.first.empty() ||
          marks_.first[static_cast<std::size_t>(i)] == marks_.second[static_cast<std::size_t>(j)]) &&
         (j - i < loops_.max_span() || marks_.names_pair(j));
}

std::int64_t Allowed::span() const {
  std::int64_t longest = std::min(loops_.max_span(), s_.size());
  std::unordered_map<std::int32_t, std::int64_t> opened;  // by mark
  for (std::int64_t k = 1; k <= s_.size() && !marks_.first.empty(); ++k) {
    if (const std::int32_t mark = marks_.first[static_cast<std::size_t>(k)]; mark % 2 == 1) opened[mark] = k;
    if (marks_.names_pair(k))
      longest = std::max(longest, k - opened.at(marks_.second[static_cast<std::size_t>(k)]) + 1);
  }
  return longest;
}

double power(std::int64_t exponent) {
  return std::ldexp(1., static_cast<int>(std::clamp<std::int64_t>(exponent, -5000, 5000)));
}

SizeWeights size_weights(const Weights& weights) {
  SizeWeights sizes = {};
  const Weights::Numbers& w = weights.numbers();
  for (int u = 0; u <= kMaxLoop; ++u) {
    sizes.bulge[u] = w.bulge[static_cast<std::size_t>(u)],
    sizes.interior[u] = w.interior[static_cast<std::size_t>(u)];
    sizes.asymmetry[u] = weights.asymmetry(u);
    if (u >= 2) sizes.one_n[u] = sizes.interior[u] * weights.asymmetry(u - 2);
  }
  sizes.two_three = w.interior[5] * weights.asymmetry(1);
  return sizes;
}

std::unique_ptr<StripWeights> strip_weights(const Problem& problem, std::int64_t strip) {
  const Bases& s = problem.s;
  const Weights& weights = problem.weights;
  const Loops& loops = weights.loops();
  const Weights::Numbers& w = weights.numbers();
  auto out = std::make_unique<StripWeights>();
  const std::int64_t first = Tiling::first_row(strip);
  out->multi_base_above = first > 1 && problem.may_be_unpaired(first - 1, first - 1) ? w.multi_base : 0;
  if (problem.unpaired != nullptr) {
    out->all_unpaired = false;
    for (std::int64_t i = first; i < std::min(first + kStripRows, s.size() + 1); ++i) {
      const std::int64_t r = i - first;
      out->stretches.own[r] = problem.may_be_unpaired(i, i) ? 1 : 0;
      for (int length = 0; length <= kMaxLoop && i + length <= s.size(); ++length)
        out->stretches.behind[length][r] = problem.may_be_unpaired(i + 1, i + length) ? 1 : 0;
    }
  }
  const auto base = [&](std::int64_t k) {
    return k <= s.size() ? s.codes[static_cast<std::size_t>(k)] : Base{0};
  };
  for (std::int64_t r = 0; r < kStripRows + kBelow; ++r) {
    const std::int64_t i = first + r;
    if (i > s.size()) break;
    const Base before = base(i - 1), behind = base(i + 1);
    if (r < kStripRows) out->multi_base[r] = problem.may_be_unpaired(i, i) ? w.multi_base : 0;
    for (Base x = 0; x < kBases; ++x) {
      const int type = loops.pair(base(i), x), seen = Loops::reversed(type);
      if (type == 0) continue;
      const bool closes = loops.closes(type);
      out->end[x][r] = closes ? weights.end(type) : 0;
      for (Base y = 0; y < kBases; ++y) {
        InnerWeights& inner = out->inner[loop_context(x, y)];
        inner.stem[r] = weights.multi_stem(type, before, y);
        if (closes) {
          inner.interior[r] = w.mismatch_interior[seen][y][before];
          inner.interior_1n[r] = w.mismatch_interior_1n[seen][y][before];
          inner.interior_23[r] = w.mismatch_interior_23[seen][y][before];
        }
        if (r >= kStripRows) continue;
        OuterWeights& outer = out->outer[loop_context(x, y)];
        if (const int next = loops.pair(y, behind); next != 0) {
          outer.stack[r] = w.stack[type][next];
          if (closes && loops.closes(next)) outer.bulge_right[r] = w.bulge[1] * w.stack[type][next];
        }
        if (!closes) continue;
        outer.interior[r] = w.mismatch_interior[type][behind][y];
        outer.interior_1n[r] = w.mismatch_interior_1n[type][behind][y];
        outer.interior_23[r] = w.mismatch_interior_23[type][behind][y];
        outer.hairpin[r] = w.mismatch_hairpin[type][behind][y];
        outer.closing[r] = weights.multi_closing(type, y, behind);
        const int over_one = loops.pair(y, base(i + 2));
        if (over_one != 0 && loops.closes(over_one))
          outer.bulge_left[r] = w.bulge[1] * w.stack[type][over_one];
      }
    }
  }
  return out;
}

EndWeights::EndWeights(const Problem& problem) : s_(problem.s) {
  const std::int64_t n = s_.size();
  const Loops& loops = problem.weights.loops();
  constexpr int kNeighbours = kBases + 1;
  weights_.resize(kBases * kNeighbours);
  for (Base x = 0; x < kBases; ++x)
    for (int y = 0; y < kNeighbours; ++y) {
      std::vector<double>& of = weights_[static_cast<std::size_t>(x * kNeighbours + y)];
      of.assign(static_cast<std::size_t>(n + 1), 0);
      for (std::int64_t i = 1; i <= n; ++i)
        if (const int type = loops.pair(s_.codes[static_cast<std::size_t>(i)], x); type != 0)
          of[static_cast<std::size_t>(i)] = problem.weights.exterior_stem(
              type, i > 1 ? s_.codes[static_cast<std::size_t>(i - 1)] : -1, y < kBases ? y : -1);
    }
}

const double* EndWeights::of(std::int64_t j) const {
  const int behind = j < s_.size() ? s_.codes[static_cast<std::size_t>(j + 1)] : kBases;
  return weights_[static_cast<std::size_t>(s_.codes[static_cast<std::size_t>(j)] * (kBases + 1) + behind)]
      .data();
}

bool Turns::wait(std::int64_t strip, std::int64_t tiles) const {
  for (int spins = 0; done_[static_cast<std::size_t>(strip)].load(std::memory_order_acquire) < tiles;
       ++spins) {
    if (failed_.load(std::memory_order_relaxed)) return false;
    if (spins > 64) std::this_thread::yield();
  }
  return true;
}

LoopColumn loop_column(const Problem& problem, const StripWeights& strip, std::int64_t j, double other_tile) {
  const Bases& s = problem.s;
  const Base *code = s.codes.data() + j, b0 = code[0];
  LoopColumn column;
  column.j = j, column.outer = &strip.outer[loop_context(b0, code[-1])], column.end = strip.end[b0];
  column.bulge_right = strip.outer[loop_context(b0, j > 1 ? code[-2] : Base{0})].bulge_right;
  const std::int64_t begin = Tiling::first_column(Tiling::tile_of(j));
  for (int d = 0; d < kReach; ++d) column.scale[d] = j - d >= begin ? 1 : other_tile;
  if (!strip.all_unpaired) {
    column.stretches = &strip.stretches;
    column.unpaired = static_cast<int>(std::min<std::int64_t>(kMaxLoop, j - 1 - problem.unpaired->before(j)));
    column.own = problem.may_be_unpaired(j, j);
  }
  return column;
}

Partition partition(const Problem& problem) {
  Partition out(problem.tiling());
  InsideSums(problem, out).run();
  if (!problem.weights.loops().circular()) fill_ends(problem, out);
  return out;
}

}  // namespace warploom::fold
