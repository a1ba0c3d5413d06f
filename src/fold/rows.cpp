#include "fold/rows.hpp"

#include "core/vectors.hpp"

namespace warploom::fold::WARPLOOM_INSTRUCTION_SET {
namespace {

using namespace warploom::WARPLOOM_INSTRUCTION_SET;
using Vector = warploom::WARPLOOM_INSTRUCTION_SET::Vector<std::int32_t>;
constexpr int kLanes = warploom::WARPLOOM_INSTRUCTION_SET::kLanes<std::int32_t>;
constexpr int kVectors = kStep / kLanes;
static_assert(kStep % kLanes == 0 && kBlock % kStep == 0 && kRows % kBlock == 0);
static_assert(kWidth >= kRows + kHalo + 2 * kStep && kWidth / 16 % 2 == 1);

inline Vector all(std::int32_t value) { return Vector{} + value; }
/// What has a part that is no loop is none: kNone again.
inline Vector whole(const Vector& v) { return v < kNone / 2 ? v : all(kNone); }
inline std::int32_t whole(std::int32_t v) { return v < kNone / 2 ? v : kNone; }

/// Of column j in a Triangle (fill.hpp).
inline std::int64_t offset(std::int64_t j) { return j * (j + 1) / 2; }

/// Where the columns before j lie: back[d] is that of j - d.
struct Back {
  const std::int32_t* at[kColumns];
  template <int kAligned>
  Back(const Ring<kAligned>& ring, std::int64_t j) {
    for (int d = 0; d < kColumns; ++d) at[d] = ring[(j - d) & (kColumns - 1)];
  }
  const std::int32_t* operator[](int d) const { return at[d]; }
};
static_assert((kColumns & (kColumns - 1)) == 0);

using Step = Vector[kVectors];

/// Interior loops whose energy is a sum of what the outer pair, the inner pair and the sizes add, of kStep
/// rows from r on.
struct Sums {
  Step bulge, one_n, generic, two_three;
};

[[gnu::always_inline]] inline void sums(const LoopConstants& loops, Recent& recent, const Back& end,
                                        const Back& one_n, const Back& interior, const Back& two_three, int r,
                                        Sums& best) {
  for (int v = 0; v < kVectors; ++v) best.bulge[v] = best.one_n[v] = best.generic[v] = all(kNone);
  for (int u = 2; u <= kMaxLoop; ++u) {
    const std::int32_t *left = end[1] + r + 1 + u, *right = end[1 + u] + r + 1, bulge = loops.bulge[u];
    for (int v = 0; v < kVectors; ++v)
      best.bulge[v] =
          lesser(best.bulge[v], lesser(load(left + v * kLanes), load(right + v * kLanes)) + bulge);
  }
  for (int u = 4; u <= kMaxLoop; ++u) {
    const std::int32_t *left = one_n[2] + r + u, *right = one_n[u] + r + 2, energy = loops.one_n[u];
    for (int v = 0; v < kVectors; ++v)
      best.one_n[v] =
          lesser(best.one_n[v], lesser(load(left + v * kLanes), load(right + v * kLanes)) + energy);
  }
  // In place: u from above, so that u - 2 is still that of column j - 1.
  for (int u = kMaxLoop; u >= 4; --u) {
    const std::int32_t *left = interior[3] + r + u - 1, *right = interior[u - 1] + r + 3;
    const std::int32_t *carried = recent.generic[u - 2] + r + 1, asymmetry = loops.asymmetry[u - 4],
                       energy = loops.interior[u];
    for (int v = 0; v < kVectors; ++v) {
      Vector g = lesser(load(left + v * kLanes), load(right + v * kLanes)) + asymmetry;
      if (u >= 6) {
        g = lesser(g, load(carried + v * kLanes));
        best.generic[v] = lesser(best.generic[v], g + energy);
      }
      store(recent.generic[u] + r + v * kLanes, g);
    }
  }
  for (int v = 0; v < kVectors; ++v)
    best.two_three[v] =
        lesser(load(two_three[3] + r + 4 + v * kLanes), load(two_three[4] + r + 3 + v * kLanes)) +
        loops.two_three;
}

/// best[r] becomes at most prefix[r] + table[r] + energy, of rows r < end.
inline void add_stem(const std::int32_t* prefix, const std::int32_t* table, std::int32_t energy,
                     std::int64_t end, std::int32_t* best) {
  std::int64_t r = 0;
  for (; r + kLanes <= end; r += kLanes) {
    const Vector m = load(prefix + r), sum = m + load(table + r) + energy;
    store(best + r, lesser(load(best + r), m < kNone / 2 ? sum : all(kNone)));
  }
  for (; r < end; ++r)
    if (prefix[r] < kNone / 2) best[r] = lesser(best[r], prefix[r] + table[r] + energy);
}

/// Multiloops that (i, j) closes with unpaired bases that count for it, or stacked on a stem.
void dangling_closings(const Strip& strip, const Recent& recent, const Column& column, int end,
                       std::int32_t* c) {
  const std::uint8_t* code = column.codes + column.j;
  const Dangling::Closing& closing = strip.dangling->closing[code[0] * kBases + code[-1]];
  for (int r = 0; r < end; r += kLanes) {
    Vector best = load(recent.m2 + r + 2) + load(closing.behind + r);
    best = lesser(best, load(recent.m2_before + r + 1) + load(closing.before + r));
    best = lesser(best, load(recent.m2_before + r + 2) + load(closing.both + r));
    store(c + r, lesser(load(c + r), best));
  }
  if (column.coaxial == nullptr) return;
  for (int r = 0; r < end; r += kLanes) store(c + r, lesser(load(c + r), load(column.coaxial + r)));
  for (int n = 0; n < column.joint_count; ++n) {
    const Joint& joint = column.joints[n];
    const std::int64_t rows = joint.k - 5 - strip.first;
    add_stem(column.matrix + offset(joint.k - 1) + 1, strip.dangling->is_pair[code[0]][joint.outer],
             joint.energy, rows < end ? rows : end, c);
  }
}

/// C of a strip's rows in column j. @param end  rows from it on are too near to j
void pairs(const Strip& strip, const SmallLoops& small, const LoopConstants& loops, Recent& recent,
           const Column& column, int end, std::int32_t* c) {
  const std::int64_t j = column.j;
  const std::uint8_t* code = column.codes + j;
  const int b0 = code[0], b1 = code[-1], b2 = j > 1 ? code[-2] : 0, b3 = j > 2 ? code[-3] : 0;
  const Outside& outside = strip.outside[b0 * kBases + b1];
  const std::int32_t* bulge_right = strip.outside[b0 * kBases + b2].bulge_right;
  const Back before(recent.c, j), ends(recent.end, j), interior(recent.interior, j),
      one_n(recent.interior_1n, j), two_three(recent.interior_23, j);
  Rows stacked;
  for (int step = 0; step < end; step += kStep) {
    Sums sum;
    sums(loops, recent, ends, one_n, interior, two_three, step, sum);
    for (int v = 0; v < kVectors; ++v) {
      const int r = step + v * kLanes;
      Vector best = sum.bulge[v] + load(strip.end_outside[b0] + r);
      best = lesser(best, sum.one_n[v] + load(outside.interior_1n + r));
      best = lesser(best, sum.generic[v] + load(outside.interior + r));
      best = lesser(best, sum.two_three[v] + load(outside.interior_23 + r));
      best = lesser(best, load(before[1] + r + 2) + load(outside.bulge_left + r));
      best = lesser(best, load(before[2] + r + 1) + load(bulge_right + r));
      best = lesser(best, load(column.hairpins + r) + load(outside.hairpin + r));
      best = lesser(best, load(recent.m2 + r + 1) + load(outside.closing + r));
      Vector stack =
          load((loops.lonely_pairs ? before[1] : recent.unrestricted) + r + 1) + load(outside.stack + r);
      if (column.stack_extra != nullptr) stack += load(column.stack_extra + r) + column.column_stack_extra;
      store(stacked + r, stack);
      store(c + r, lesser(best, stack));
    }
  }
  if (strip.dangling != nullptr) dangling_closings(strip, recent, column, end, c);
  // Loops that a table has whole, of rows that pair with b_j.
  const std::int32_t* one_one = small.one_one[(b0 * 5 + b1) * 5 + b2];
  const std::int32_t* one_two = small.one_two[((b0 * 5 + b1) * 5 + b2) * 5 + b3];
  const std::int32_t* two_one = small.two_one[(b0 * 5 + b1) * 5 + b2];
  const std::int32_t* two_two = small.two_two[((b0 * 5 + b1) * 5 + b2) * 5 + b3];
  for (int k = 0; k < strip.pairings[b0]; ++k) {
    const int r = strip.pairing[b0][k];
    if (r >= end) break;
    const int triple = strip.triple[r], quad = strip.quad[r];
    const std::int32_t a = lesser(before[2][r + 2] + one_one[triple], before[3][r + 2] + one_two[triple]);
    const std::int32_t b = lesser(before[2][r + 3] + two_one[quad], before[3][r + 3] + two_two[quad]);
    c[r] = lesser(c[r], lesser(a, b));
  }
  for (int size = 3; size <= 6; ++size) {
    const std::int64_t r = j - size - 1 - strip.first;
    if (r >= 0 && r < end) c[r] = lesser(c[r], column.small_hairpins[size - 3]);
  }
  if (column.quadruplexes != nullptr)
    for (int r = 0; r < end; ++r) c[r] = lesser(c[r], column.quadruplexes->around[r]);
  for (int r = 0; r < end; r += kLanes) {
    Vector pair = whole(load(c + r));
    const Vector extra = column.extra == nullptr ? Vector{} : load(column.extra + r);
    pair = pair < kNone / 2 ? pair + extra : all(kNone);
    if (column.marks != nullptr) pair = load(column.marks + r) == column.mark ? pair : all(kNone);
    if (!loops.lonely_pairs) {  // a pair stands where it stacks on the next
      const Vector stack = load(stacked + r) + extra;
      store(recent.unrestricted + r, pair);
      pair = pair < kNone / 2 ? whole(stack) : pair;
    }
    store(c + r, pair);
  }
  for (std::int64_t r = 0; r < column.first_in_span - strip.first && r < end; ++r) {
    c[r] = kNone;
    recent.unrestricted[r] = kNone;
  }
}

/// The least over candidates k of M(i, k - 1) + energy, of kBlock rows from r on.
inline void try_candidates(const Column& column, const Candidate* candidates, int count, int r,
                           Vector (&best)[kBlock / kLanes]) {
  for (int n = 0; n < count; ++n) {
    const std::int32_t* m = column.matrix + offset(candidates[n].k - 1) + r;
    for (int v = 0; v < kBlock / kLanes; ++v) {
      // Where there is no M, energy would make it look like some.
      const Vector prefix = load(m + v * kLanes);
      const Vector sum = prefix + candidates[n].energy;
      best[v] = lesser(best[v], prefix < kNone / 2 ? sum : all(kNone));
    }
  }
}

/// Stems of the strip that stack on one of `stems`, which begins behind them.
inline void try_near(const Strip& strip, const LoopConstants& loops, const Column& column, const Near* stems,
                     int count, std::int32_t* best) {
  for (int n = 0; n < count; ++n) {
    const Near& stem = stems[n];
    const NearList& before = column.own_near[stem.k - 1];
    for (int b = 0; b < before.count; ++b) {
      const Near& first = before.stems[b];
      std::int32_t& row = best[first.k - strip.first];
      row = lesser(row, first.energy + stem.energy + loops.coaxial_stems[first.seen][stem.seen]);
    }
  }
}

/// M and M2 of a strip's rows in column j, from the last rows to the first. @param stem  C as a stem of a
/// multiloop; becomes the best of what ends in a stem at j and is no sum of two M
void multiloops(const Strip& strip, const LoopConstants& loops, Recent& recent, const Column& column, int end,
                std::int32_t* stem, Filled& out) {
  std::int32_t below = column.m_above;  // M(i + 1, j)
  const std::int32_t b = loops.multi_base;
  const std::uint8_t* seen = strip.seen[column.codes[column.j]];
  const bool coaxial = loops.coaxial;
  if (coaxial) try_near(strip, loops, column, column.near.stems, column.near.count, stem);
  for (int block = (end - 1) / kBlock * kBlock; block >= 0; block -= kBlock) {
    Vector best[kBlock / kLanes];
    for (int v = 0; v < kBlock / kLanes; ++v) best[v] = load(recent.m2 + block + v * kLanes) + b;
    try_candidates(column, column.candidates, column.count, block, best);
    try_candidates(column, out.candidates, out.count, block, best);
    std::int32_t m2[kBlock], least[kBlock];  // without stems at i, and what M(i + 1, j) gives
    for (int v = 0; v < kBlock / kLanes; ++v) {
      const Vector here = whole(best[v]);
      store(m2 + v * kLanes, here);
      store(least + v * kLanes, lesser(here, load(recent.m + block + v * kLanes) + b));
    }
    for (int r = block + kBlock - 1; r >= block; --r) {
      std::int32_t m = lesser(least[r - block], below + b);
      if (stem[r] < m) {
        m = stem[r];
        const std::int64_t k = strip.first + r;
        out.candidates[out.count++] = {static_cast<std::int32_t>(k), m};
        const std::int32_t* prefix =
            column.matrix + offset(k - 1);  // ends three bases after a stem begins at least
        for (int row = block; row < r - 4; ++row)
          if (prefix[row] < kNone / 2) {
            m2[row - block] = lesser(m2[row - block], prefix[row] + m);
            least[row - block] = lesser(least[row - block], prefix[row] + m);
          }
      }
      below = m;  // kNone at most; less than its half away from it where it is none
      m = whole(m);
      if (coaxial && out.c[r] < kNone / 2 && out.c[r] - m < loops.coaxial_gain[seen[r]]) {
        const std::int64_t k = strip.first + r;
        Near& near = out.near[out.near_count++];
        near = {static_cast<std::int32_t>(k), out.c[r], seen[r]};
        try_near(strip, loops, column, &near, 1, stem);
      }
      recent.m2[r] = m2[r - block];
      recent.m[r] = out.m[r] = m;
    }
  }
}

void column(const Strip& strip, const SmallLoops& small, const LoopConstants& loops, Recent& recent,
            const Column& column, Filled& out) {
  const std::int64_t j = column.j;
  const std::int64_t far = j - 3 - strip.first;  // rows from it on are too near
  const int end = static_cast<int>(far < strip.rows ? far : strip.rows);
  for (int r = 0; r < strip.rows; r += kLanes) store(out.c + r, all(kNone)), store(out.m + r, all(kNone));
  out.count = out.near_count = 0;
  if (end <= 0) return;
  pairs(strip, small, loops, recent, column, end, out.c);
  const int b0 = column.codes[j];
  const Inside& inside = strip.inside[b0 * kBases + column.codes[j + 1]];
  const int slot = static_cast<int>(j & (kColumns - 1));
  Rows stem;
  for (int r = 0; r < strip.rows; r += kLanes) {
    const Vector c = load(out.c + r);
    store(recent.c[slot] + r, c);
    store(recent.interior[slot] + r, whole(c + load(inside.interior + r)));
    store(recent.interior_1n[slot] + r, whole(c + load(inside.interior_1n + r)));
    store(recent.interior_23[slot] + r, whole(c + load(inside.interior_23 + r)));
    store(recent.end[slot] + r, whole(c + load(strip.end_inside[b0] + r)));
    store(stem + r, whole(c + load(inside.stem + r)));
  }
  if (strip.dangling != nullptr) {
    const Dangling::Stem& here = strip.dangling->stem[b0 * kBases + column.codes[j + 1]];
    const Dangling::Stem& before = strip.dangling->stem[column.codes[j - 1] * kBases + b0];
    const std::int32_t *c = recent.c[slot], *c_before = recent.c[(j - 1) & (kColumns - 1)];
    for (int r = 0; r < strip.rows; r += kLanes) {
      Vector best = load(c + r + 1) + load(here.before + r);
      best = lesser(best, load(c_before + r) + load(before.behind + r));
      best = lesser(best, load(c_before + r + 1) + load(before.both + r));
      store(stem + r, lesser(load(stem + r), whole(best)));
    }
    for (int r = 0; r < kWidth; r += kLanes) store(recent.m2_before + r, load(recent.m2 + r));
  }
  if (column.quadruplexes != nullptr)
    for (int r = 0; r < end; ++r) stem[r] = lesser(stem[r], column.quadruplexes->stems[r]);
  multiloops(strip, loops, recent, column, end, stem, out);
}

std::int32_t best_end(const std::int32_t* f, const std::int32_t* c, const std::int32_t* ends,
                      std::int64_t count) {
  Vector best = all(kNone);
  std::int64_t k = 0;
  for (; k + kLanes <= count; k += kLanes) {
    const Vector pair = load(c + k), sum = pair + load(f + k) + load(ends + k);
    best = lesser(best, pair < kNone / 2 ? sum : all(kNone));
  }
  std::int32_t least = kNone;
  for (int lane = 0; lane < kLanes; ++lane) least = lesser(least, best[lane]);
  for (; k < count; ++k)
    if (c[k] < kNone / 2) least = lesser(least, c[k] + f[k] + ends[k]);
  return least;
}

}  // namespace

extern const RowKernels row_kernels;
const RowKernels row_kernels = {&column, &best_end};

}  // namespace warploom::fold::WARPLOOM_INSTRUCTION_SET
