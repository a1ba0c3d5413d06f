#include "search/cpu_dtw.hpp"

#include "search/cpu_vector.hpp"

namespace warploom::search::WARPLOOM_INSTRUCTION_SET {
namespace {

constexpr int kRows = kLanes == 16 ? 8 : 4;  // of a matrix that are in registers at once

void interleave_adjacent(const float* samples, const LaneMoments& moments, std::int64_t length,
                         std::int64_t stride, float* to) {
  const Normalizer normalized(moments);
  for (std::int64_t j = 0; j < length; ++j) store(to + j * stride, normalized(load(samples + j)));
}

void interleave(const float* const* samples, const LaneMoments& moments, std::int64_t length,
                std::int64_t stride, float* to) {
  const Normalizer normalized(moments);
  std::int64_t j = 0;
  for (; j + kLanes <= length; j += kLanes) {
    Vector block[kLanes];
    for (int l = 0; l < kLanes; ++l) block[l] = load(samples[l] + j);
    transpose(block);
    for (int k = 0; k < kLanes; ++k) store(to + (j + k) * stride, normalized(block[k]));
  }
  for (; j < length; ++j) {
    Vector x;
    for (int l = 0; l < kLanes; ++l) x[l] = samples[l][j];
    store(to + j * stride, normalized(x));
  }
}

/// Of the last row that was computed: those from which the bound can be reached in some lane lie in [first,
/// end). From column `written` on nothing was computed.
struct Columns {
  std::int64_t first = 0, end = 0, written = 0;
};

inline std::int64_t smaller(std::int64_t a, std::int64_t b) { return a < b ? a : b; }
inline std::int64_t larger(std::int64_t a, std::int64_t b) { return a > b ? a : b; }

/// R rows from row i on of a band that is at least R wide, column by column, so that the row above is read
/// and written once in R rows. Column j of the row above is at row[j + 1], and then that of the last of these
/// rows.
/// @return cells computed of one lane
template <int R, bool kOneChannel>
std::int64_t rows(const Matrices& p, std::int64_t i, Columns& columns) {
  const bool bounded = p.remaining != nullptr;
  const Vector infinity = all(kInfinity), bound = all(p.bound);
  const std::int64_t begin = larger(columns.first, i - p.radius);
  Vector query[R], left[R];  // the query's samples: of one channel
  for (int k = 0; k < R; ++k) {
    query[k] = kOneChannel ? all(p.query[i + k]) : Vector{};
    left[k] = infinity;
  }
  // Of the row above nothing is needed left of the first column, and right of what was computed.
  Vector corner = begin == columns.first ? i == 0 ? Vector{} : infinity : load(p.row + begin * kLanes);
  const auto clear_to = [&](std::int64_t end) {
    for (; columns.written < end; ++columns.written) store(p.row + (columns.written + 1) * kLanes, infinity);
  };
  std::int64_t cells = 0;
  // Column j of rows [kFrom, kTo) of these.
  const auto column = [&]<int kFrom, int kTo>(std::int64_t j) {
    Vector cost[R] = {};  // of several channels
    if constexpr (!kOneChannel)
      for (std::int64_t c = 0; c < p.channels; ++c) {
        const Vector window = load(p.windows + (j * p.channels + c) * kLanes);
        const float* const samples = p.query + i * p.channels + c;
#pragma GCC unroll 8
        for (int k = kFrom; k < kTo; ++k) {
          const Vector difference = samples[k * p.channels] - window;
          cost[k] = difference * difference + cost[k];
        }
      }
    const Vector window = kOneChannel ? load(p.windows + j * kLanes) : Vector{};
    Vector above = infinity, diagonal = corner;
    if constexpr (kFrom == 0)
      corner = above = load(p.row + (j + 1) * kLanes);
    else
      diagonal = left[kFrom - 1];
#pragma GCC unroll 8
    for (int k = kFrom; k < kTo; ++k) {
      const Vector difference = query[k] - window;
      const Vector best = lesser(lesser(left[k], diagonal), above);
      diagonal = left[k];
      above = left[k] = kOneChannel ? difference * difference + best : cost[k] + best;
    }
    if constexpr (kTo == R) store(p.row + (j + 1) * kLanes, above);
    cells += kTo - kFrom;
  };
  const auto can_reach = [&](const Vector& cell, std::int64_t j) {
    return bits(cell + load(p.remaining + (j + 1) * kLanes) <= bound) != 0;
  };

  // At the band's left edge columns have the first rows only, at its right edge the last.
  std::int64_t j = begin;
  const std::int64_t edge = i - p.radius, inner_end = smaller(p.length, i + p.radius + 1);
  if (j < edge + R - 1) clear_to(edge + R - 1);
  for_each<R - 1>([&]<int kColumn>() {
    if (j == edge + kColumn) column.template operator()<0, kColumn + 1>(j++);
  });
  if (!bounded) {
    clear_to(inner_end);
    for (; j < inner_end; ++j) column.template operator()<0, R>(j);
  } else {
    for (const std::int64_t end = smaller(columns.end, inner_end); j < end; ++j)
      column.template operator()<0, R>(j);
    // Nothing comes from above any more: on as long as something comes from the left.
    for (bool some = true; some && j < inner_end;) {
      const std::int64_t end = smaller(j + 4, inner_end);
      clear_to(end);
      for (; j < end; ++j) column.template operator()<0, R>(j);
      Vector least = left[0];
      for (int k = 1; k < R; ++k) least = lesser(least, left[k]);
      some = can_reach(least, j - 1);
    }
  }
  for_each<R - 1>([&]<int kColumn>() {
    if (j == i + p.radius + 1 + kColumn && j < p.length) column.template operator()<kColumn + 1, R>(j++);
  });
  columns.written = j;
  if (bounded) {
    const auto alive = [&](std::int64_t at) { return can_reach(load(p.row + (at + 1) * kLanes), at); };
    columns.first = begin;
    columns.end = j;
    while (columns.first < columns.end && !alive(columns.first)) ++columns.first;
    while (columns.first < columns.end && !alive(columns.end - 1)) --columns.end;
  }
  return cells;
}

/// The diagonal alone.
template <bool kOneChannel>
std::int64_t diagonal(const Matrices& p, float* sums) {
  const std::int64_t channels = kOneChannel ? 1 : p.channels;
  Vector sum{};
  std::int64_t j = 0;
  for (; j < p.length; ++j) {
    for (std::int64_t c = j * channels; c < (j + 1) * channels; ++c) {
      const Vector difference = all(p.query[c]) - load(p.windows + c * kLanes);
      sum = difference * difference + sum;
    }
    if (p.remaining != nullptr && j % 8 == 7 && bits(sum <= all(p.bound)) == 0) break;
  }
  store(sums, sum);
  return smaller(j + 1, p.length) * kLanes;
}

/// As many of the rows from i on as there are, and the band allows, R at a time.
template <int R, bool kOneChannel>
std::int64_t many_rows(const Matrices& p, std::int64_t& i, Columns& columns) {
  std::int64_t cells = 0;
  for (; i + R <= p.length && R <= 2 * p.radius + 1; i += R) {
    cells += rows<R, kOneChannel>(p, i, columns);
    if (p.remaining != nullptr && columns.first == columns.end) {
      i = p.length;  // no lane can reach the bound
      columns.end = 0;
      break;
    }
  }
  return cells;
}

template <bool kOneChannel>
std::int64_t banded(const Matrices& p, float* sums) {
  Columns columns;
  std::int64_t i = 0, cells = 0;
  for_each<kRows>([&]<int kFewer>() { cells += many_rows<kRows - kFewer, kOneChannel>(p, i, columns); });
  store(sums,
        p.remaining == nullptr || columns.end == p.length ? load(p.row + p.length * kLanes) : all(kInfinity));
  return cells * kLanes;
}

std::int64_t matrices(const Matrices& p, float* sums) {
  if (p.radius == 0) return p.channels == 1 ? diagonal<true>(p, sums) : diagonal<false>(p, sums);
  return p.channels == 1 ? banded<true>(p, sums) : banded<false>(p, sums);
}

}  // namespace

extern const CpuDtw cpu_dtw;
const CpuDtw cpu_dtw = {kLanes, interleave_adjacent, interleave, matrices};

}  // namespace warploom::search::WARPLOOM_INSTRUCTION_SET
