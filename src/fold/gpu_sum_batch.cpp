#include "fold/gpu_sum_batch.hpp"

#include <algorithm>
#include <array>

#include "fold/gpu_special.hpp"

namespace warploom::fold::gpu {
namespace {

/// Of all numbers of so many digits of base 5, the digits, the first base first.
template <int kCount, std::size_t kAll>
consteval std::array<std::array<Base, kCount>, kAll> all_letters() {
  std::array<std::array<Base, kCount>, kAll> all{};
  for (std::size_t code = 0; code < kAll; ++code)
    for (std::size_t k = kCount, rest = code; k > 0; --k, rest /= kBases)
      all[code][k - 1] = static_cast<Base>(rest % kBases);
  return all;
}
constexpr auto kLetters4 = all_letters<4, kQuads>();

/// Loops of a table of four unpaired bases at most: of b_j and on, and b_i and on.
template <int kRight, int kLeft, std::size_t R, std::size_t L, class Of>
void put_small(const Loops& loops, double (&table)[R][L], const Of& of) {
  static constexpr auto kRights = all_letters<kRight, R>();
  static constexpr auto kLefts = all_letters<kLeft, L>();
  const auto closing = [&](Base i, Base j) {
    const int type = loops.pair(i, j);
    return type != 0 && loops.closes(type) ? type : 0;
  };
  for (std::size_t right = 0; right < R; ++right)
    for (std::size_t left = 0; left < L; ++left) {
      const auto &r = kRights[right], &l = kLefts[left];
      const int outer = closing(l.front(), r.front()), inner = outer == 0 ? 0 : closing(r.back(), l.back());
      table[right][left] = inner == 0 ? 0 : of(outer, inner, l, r);
    }
}

/// Into what is 0.
void put_outer(const Weights& weights, std::size_t at, Base bj, Base before_j, Base bi, Base behind_i,
               OuterSums& o) {
  const Loops& loops = weights.loops();
  const Weights::Numbers& w = weights.numbers();
  const int type = loops.pair(bi, bj);
  if (type == 0) return;
  if (const int inner = loops.pair(before_j, behind_i); inner != 0) o.stack[at] = w.stack[type][inner];
  if (!loops.closes(type)) return;
  o.interior[at] = w.mismatch_interior[type][behind_i][before_j];
  o.interior_1n[at] = w.mismatch_interior_1n[type][behind_i][before_j];
  o.interior_23[at] = w.mismatch_interior_23[type][behind_i][before_j];
  o.hairpin[at] = w.mismatch_hairpin[type][behind_i][before_j];
  o.closing[at] = weights.multi_closing(type, before_j, behind_i);
  o.end[at] = weights.end(type);
}

void put_inner(const Weights& weights, std::size_t at, Base bj, Base behind_j, Base bi, Base before_i,
               InnerSums& in) {
  const Loops& loops = weights.loops();
  const Weights::Numbers& w = weights.numbers();
  const int type = loops.pair(bi, bj), seen = Loops::reversed(type);
  if (type == 0) return;
  in.stem[at] = weights.multi_stem(type, before_i, behind_j);
  if (!loops.closes(type)) return;
  in.interior[at] = w.mismatch_interior[seen][behind_j][before_i];
  in.interior_1n[at] = w.mismatch_interior_1n[seen][behind_j][before_i];
  in.interior_23[at] = w.mismatch_interior_23[seen][behind_j][before_i];
  in.end[at] = weights.end(type);
}

double bulge_one(const Weights& weights, Base bj, Base bq, Base bi, Base bp) {
  const Loops& loops = weights.loops();
  const int outer = loops.pair(bi, bj), inner = loops.pair(bq, bp);
  if (outer == 0 || inner == 0 || !loops.closes(outer) || !loops.closes(inner)) return 0;
  return weights.numbers().bulge[1] * weights.numbers().stack[outer][inner];
}

std::int64_t strips_of(std::int64_t n) { return (n + kStripRows - 1) / kStripRows; }
std::int64_t tiles_of(std::int64_t n) { return (n + kTileColumns - 1) / kTileColumns; }

}  // namespace

std::unique_ptr<SumTables> make_sum_tables(const Weights& weights) {
  const Loops& loops = weights.loops();
  const Weights::Numbers& w = weights.numbers();
  auto t = std::make_unique_for_overwrite<SumTables>();
  t->outer = {}, t->inner = {};
  for (std::size_t k = 0; k < kQuads; ++k) {
    const auto [first, second, third, fourth] = kLetters4[k];
    put_outer(weights, k, first, second, third, fourth, t->outer);
    put_inner(weights, k, first, second, third, fourth, t->inner);
    t->bulge_one[k] = bulge_one(weights, first, second, third, fourth);
  }
  put_small<3, 3>(loops, t->one_one, [&](int outer, int inner, const auto& l, const auto& r) {
    return w.int11[outer][inner][l[1]][r[1]];
  });
  put_small<4, 3>(loops, t->one_two, [&](int outer, int inner, const auto& l, const auto& r) {
    return w.int21[outer][inner][l[1]][r[2]][r[1]];
  });
  put_small<3, 4>(loops, t->two_one, [&](int outer, int inner, const auto& l, const auto& r) {
    return w.int21[inner][outer][r[1]][l[1]][l[2]];
  });
  put_small<4, 4>(loops, t->two_two, [&](int outer, int inner, const auto& l, const auto& r) {
    return w.int22[outer][inner][l[1]][l[2]][r[2]][r[1]];
  });
  put_special_hairpins(w, -1., *t);  // weights are positive
  for (Base i = 0; i < kBases; ++i) {
    t->pairs_with[i] = 0;
    for (Base j = 0; j < kBases; ++j) {
      const int type = loops.pair(i, j);
      if (type != 0) t->pairs_with[i] |= 1U << j;
      t->hairpin_of_3[i * kBases + j] =
          type != 0 && loops.closes(type) ? w.hairpin[3] * weights.end(type) : 0;
      for (int before = 0; before <= kBases; ++before)
        for (int behind = 0; behind <= kBases; ++behind)
          t->exterior[i][j][before][behind] =
              type == 0
                  ? 0
                  : weights.exterior_stem(type, before < kBases ? before : -1, behind < kBases ? behind : -1);
    }
  }
  t->base_power[0] = 1;
  for (int k = 1; k <= kStripRows; ++k) t->base_power[k] = t->base_power[k - 1] * w.multi_base;
  return t;
}

std::vector<double> make_sum_hairpins(const Weights& weights, std::int64_t longest) {
  std::vector<double> all(static_cast<std::size_t>(longest + 1));
  for (std::size_t size = 0; size < all.size(); ++size)
    all[size] = weights.hairpin_of(static_cast<std::int64_t>(size));
  return all;
}

void SumLayout::add(std::int64_t n, bool turns) {
  const auto number = static_cast<std::int32_t>(sequences.size());
  const std::int64_t strips = strips_of(n), tiles = tiles_of(n);
  sequences.push_back({codes, cells, turns ? turned : -1, exponents, columns, flags, end_exponents,
                       static_cast<std::int32_t>(n), static_cast<std::int32_t>(strips),
                       static_cast<std::int32_t>(tiles)});
  for (std::int32_t strip = 0; strip < strips; ++strip) tasks.push_back({number, strip});
  codes += n + 2;
  cells += panel_cells(n);
  if (turns) turned += turned_cells(n);
  exponents += strips * tiles;
  columns += n + 1;
  flags += strips;
  end_exponents += n / kStripRows + 1;
  longest = std::max(longest, n);
}

std::uint64_t sum_bytes_on_gpu(std::int64_t n, bool probabilities, bool turns) {
  const auto length = static_cast<std::uint64_t>(n);
  const auto strips = static_cast<std::uint64_t>(strips_of(n)),
             tiles = static_cast<std::uint64_t>(tiles_of(n));
  constexpr std::uint64_t kBase = 1 + sizeof(Mark) + sizeof(HandedSums) + 3 * sizeof(double);
  constexpr std::uint64_t kStrip = sizeof(Task) + sizeof(ReadStrip) + 4 * 4 + 8 + 8;
  return (probabilities ? 4 : 3) * sizeof(double) * static_cast<std::uint64_t>(panel_cells(n)) +
         (turns ? (probabilities ? 2 : 1) * sizeof(double) * static_cast<std::uint64_t>(turned_cells(n))
                : 0) +
         kBase * (length + 2) + 4 * strips * tiles + kStrip * (strips + 1) + sizeof(SumSequence);
}

}  // namespace warploom::fold::gpu
