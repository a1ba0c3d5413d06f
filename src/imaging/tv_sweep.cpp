// A pass reads x, the x before, and the noisy image, and writes the next x: 96 bytes a voxel of a tensor
// image, which is what bounds its speed; without momentum, in every fourth pass or so, it leaves out the x
// before. Images are packed (InsideRows), each in one stream. So that nothing else leaves the caches, the
// image is cut into pieces, a slab along z times a tile along y, and each is swept plane by plane and row by
// row with two planes of y, one plane of the fluxes along z, and one row of everything else in a scratch
// memory that fits into the second cache. At a piece's lower faces the fluxes of the voxels below are
// computed once more, so pieces do not wait for each other.
//
// What lies outside the mask before the first voxel of a row and behind its last is not touched: in the box
// around a ball, half of it.
//
// Rows leave their sums, which are added afterwards in an order that pieces say, which follow from the grid.
// So a sweep may go over as many planes as suits the threads: one thread goes through all.

#include "imaging/tv_sweep.hpp"

#include <atomic>
#include <cmath>
#include <limits>
#include <utility>

#include "core/instruction_sets.hpp"
#include "warploom/core/threads.hpp"

namespace warploom::imaging {
namespace {

constexpr std::int64_t kLine = 16;  // [floats] of the caches
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

void fill(float* row, std::int64_t begin, std::int64_t end, float value) {
  if (begin < end) std::fill(row + begin, row + end, value);
}

/// What of `wanted` is not in `there`.
void fill_beside(float* row, RowRange there, RowRange wanted, float value) {
  if (there.empty()) return fill(row, wanted.begin, wanted.end, value);
  fill(row, wanted.begin, std::min(wanted.end, there.begin), value);
  fill(row, std::max(wanted.begin, there.end), wanted.end, value);
}

/// Asks for a row that will be needed soon.
void prefetch(const float* row, std::int64_t n) {
  for (std::int64_t i = 0; i < n; i += kLine) __builtin_prefetch(row + i);
}

}  // namespace

const TvRows& rows_of_this_processor() { return *WARPLOOM_PICK(tv_rows); }

TvSweep::TvSweep(const TvProblem& problem, const InsideRows& inside, const float* noisy)
    : problem_(problem),
      inside_(inside),
      noisy_(noisy),
      ny_(problem.grid.ny),
      nz_(problem.grid.nz),
      group_(inside.group()),
      stride_(round_up(problem.grid.nx + 1, 16) +
              16) {  // not a power of two: rows would compete for the same cache lines
  // Three planes in half of a second cache of 1 MiB.
  constexpr std::int64_t kCacheFloats = std::int64_t{128} << 10;
  tile_ = std::clamp<std::int64_t>(kCacheFloats / (3 * group_ * stride_), 8, 64);
  tile_ = std::min(tile_, ny_);
  slab_ = std::min<std::int64_t>(32, nz_);
  tiles_ = (ny_ + tile_ - 1) / tile_;
  slabs_ = (nz_ + slab_ - 1) / slab_;
  const int groups = problem.constants.channels / group_;
  sums_a_row_ = 2 * group_ + 2;
  row_sums_.resize(static_cast<std::size_t>(groups * nz_ * ny_ * sums_a_row_));
  sums_.resize(static_cast<std::size_t>(tiles_ * slabs_ * groups));
}

TvSweep::Scratch TvSweep::make_scratch() const {
  const std::int64_t row = stride_ * group_, plane = (tile_ + 2) * row;
  const std::int64_t count = 2 * plane + tile_ * row + 3 * row + 2 * stride_ + 16;
  Scratch scratch{std::make_unique<HostFloats>(count), {}, {}, {}, {}, {}, {}, {}};
  float* at = scratch.memory->get();
  std::fill_n(at, count, 0.0F);
  const auto take = [&](std::int64_t floats) { return std::exchange(at, at + floats); };
  scratch.planes[0] = take(plane);
  scratch.planes[1] = take(plane);
  scratch.flux_z = take(tile_ * row);
  scratch.flux_y = take(row);
  scratch.move = take(row);
  scratch.next = take(row);
  scratch.spare = take(stride_);
  scratch.flux_x = take(stride_ + 16) + 16;  // there is one before the first
  return scratch;
}

TvSweep::Piece TvSweep::piece(std::int64_t index) const {
  Piece piece{};
  piece.z_begin = index % slabs_ * slab_;
  piece.z_end = std::min(nz_, piece.z_begin + slab_);
  piece.y_begin = index / slabs_ % tiles_ * tile_;
  piece.y_end = std::min(ny_, piece.y_begin + tile_);
  piece.first = static_cast<int>(index / (slabs_ * tiles_)) * group_;
  return piece;
}

TvSums TvSweep::run(const TvPass& pass) {
  const std::int64_t pieces = std::ssize(sums_), columns = pieces / slabs_, wanted = threads();
  // A part of fewer planes would do too much of what lies below it once more.
  constexpr std::int64_t kFewestPlanes = 4, kPartsAThread = 3;
  const std::int64_t parts =
      wanted == 1 ? 1
                  : std::clamp<std::int64_t>((kPartsAThread * wanted + columns - 1) / columns, 1,
                                             std::max<std::int64_t>(1, nz_ / kFewestPlanes));
  const std::int64_t planes = (nz_ + parts - 1) / parts, workers = std::min(wanted, parts * columns);
  while (std::ssize(scratch_) < workers) scratch_.push_back(make_scratch());
  std::atomic<std::int64_t> next = 0;
  parallel_for(workers, [&](std::int64_t worker) {
    for (std::int64_t index; (index = next.fetch_add(1)) < parts * columns;) {
      Piece part = piece(index / parts * slabs_);
      part.z_begin = std::min(nz_, index % parts * planes);
      part.z_end = std::min(nz_, part.z_begin + planes);
      if (part.z_begin < part.z_end) sweep(pass, part, scratch_[static_cast<std::size_t>(worker)]);
    }
    rows_.fence();
  });
  parallel_for(pieces, [&](std::int64_t k) { sums_[static_cast<std::size_t>(k)] = added(piece(k)); });
  TvSums sums;
  for (std::size_t k = 0; k < sums_.size(); ++k) {
    const int first = piece(static_cast<std::int64_t>(k)).first;
    for (int c = 0; c < group_; ++c) sums.tv[first + c] += sums_[k].tv[c];
    sums.fidelity += sums_[k].fidelity;
    sums.mapping += sums_[k].mapping;
    sums.turn += sums_[k].turn;
  }
  return sums;
}

TvSweep::Sums TvSweep::added(const Piece& piece) const {
  Sums sums;
  for (std::int64_t z = piece.z_begin; z < piece.z_end; ++z)
    for (std::int64_t y = piece.y_begin; y < piece.y_end; ++y) {
      if (inside_.at(y, z).empty()) continue;
      const float* const row = &row_sums_[sums_of_row(piece.first, y, z)];
      for (int c = 0; c < group_; ++c) {
        sums.tv[c] += row[c];
        sums.fidelity += problem_.constants.weights[piece.first + c] * row[group_ + c];
      }
      sums.mapping += row[2 * group_];
      sums.turn += row[2 * group_ + 1];
    }
  return sums;
}

void TvSweep::sweep(const TvPass& pass, const Piece& piece, Scratch& scratch) {
  const TvConstants& k = problem_.constants;
  const std::int64_t y_begin = piece.y_begin, y_end = piece.y_end, z_begin = piece.z_begin,
                     z_end = piece.z_end;
  const bool masked = problem_.outside, at_x = pass.before == pass.x;
  const float spacing[3] = {static_cast<float>(k.inverse_spacing[0]),
                            static_cast<float>(k.inverse_spacing[1]),
                            static_cast<float>(k.inverse_spacing[2])};
  const float epsilon = static_cast<float>(k.epsilon), momentum = static_cast<float>(pass.momentum);
  const float fidelity_step = static_cast<float>(pass.step * k.lambda);

  // Rows of an image, and of a plane of y.
  const auto row_of = [&](const float* image, bool planar, std::int64_t y, std::int64_t z) {
    const RowPlace place = planar ? inside_.planar(piece.first, y, z) : inside_.packed(piece.first, y, z);
    return TvRow<const float>{image + place.at, place.stride};
  };
  const auto noisy_row = [&](std::int64_t y, std::int64_t z) {
    return row_of(noisy_ != nullptr ? noisy_ : problem_.noisy, noisy_ == nullptr, y, z);
  };
  const auto in_plane = [&](float* plane, std::int64_t y, int c) {
    return plane + ((y - piece.y_begin + 1) * group_ + c) * stride_;
  };
  const auto fill_row = [&](float* plane, std::int64_t y, std::int64_t z) {
    const RowRange range = inside_.at(y, z), wanted = inside_.looked_at(y, z);
    if (!range.empty()) {
      const TvRow<const float> x = row_of(pass.x, pass.planar, y, z),
                               before = row_of(pass.before, pass.planar, y, z);
      if (pass.descent)
        rows_.square({in_plane(plane, y, 0) + range.begin, stride_}, x, range.size());
      else
        for (int c = 0; c < group_; ++c)
          rows_.extrapolate(in_plane(plane, y, c) + range.begin, x.data + c * x.stride,
                            before.data + c * before.stride, momentum, range.size());
    }
    for (int c = 0; c < group_; ++c) fill_beside(in_plane(plane, y, c), range, wanted, kNaN);
  };
  float *here = scratch.planes[0], *above = scratch.planes[1];
  // flux_y holds the row's below, flux_z the plane's below, each where that was inside; elsewhere they are 0.
  const auto flux = [&](std::int64_t y, std::int64_t z, int c, float* flux_y, float* flux_z,
                        float* divergence) {
    const RowRange range = inside_.at(y, z);
    fill_beside(flux_y, inside_.at(y - 1, z), range, 0);
    fill_beside(flux_z, inside_.at(y, z - 1), range, 0);
    const std::int64_t at = range.begin;
    scratch.flux_x[at - 1] = 0;
    return rows_.flux[masked](in_plane(here, y, c) + at, in_plane(here, std::min(y + 1, ny_ - 1), c) + at,
                              in_plane(above, y, c) + at, spacing, epsilon, scratch.flux_x + at, flux_y + at,
                              flux_z + at, divergence + at, range.size());
  };
  const auto flux_z = [&](std::int64_t y, int c) {
    return scratch.flux_z + ((y - piece.y_begin) * group_ + c) * stride_;
  };
  const std::int64_t y_low = std::max<std::int64_t>(y_begin - 1, 0), y_high = std::min(y_end + 1, ny_);

  for (std::int64_t y = y_low; z_begin > 0 && y < y_high; ++y) fill_row(here, y, z_begin - 1);
  for (std::int64_t y = y_low; y < y_high; ++y) fill_row(z_begin > 0 ? above : here, y, z_begin);
  if (z_begin > 0) {
    for (std::int64_t y = y_begin; y < y_end; ++y)
      for (int c = 0; c < group_ && !inside_.at(y, z_begin - 1).empty(); ++c)
        flux(y, z_begin - 1, c, scratch.flux_y, flux_z(y, c), scratch.move);
    std::swap(here, above);
  }
  for (std::int64_t z = z_begin; z < z_end; ++z) {
    const bool last = z + 1 == nz_;
    float* const other = above;
    if (last) above = here;
    const auto fill_above = [&](std::int64_t y) {
      if (!last) fill_row(above, y, z + 1);
    };
    if (y_low < y_begin) {
      fill_above(y_low);
      for (int c = 0; c < group_ && !inside_.at(y_low, z).empty(); ++c)
        flux(y_low, z, c, scratch.flux_y + c * stride_, scratch.spare, scratch.move);
    }
    for (std::int64_t y = y_begin; y < y_end; ++y) {
      fill_above(y);
      const RowRange range = inside_.at(y, z);
      if (range.empty()) continue;
      const std::int64_t n = range.size(), at = range.begin;
      const std::int64_t y_soon = std::min(y + 1, ny_ - 1), z_soon = std::min(z + 1, nz_ - 1);
      const std::int64_t n_soon = inside_.at(y_soon, z).size(),
                         n_soon_above = inside_.at(y_soon, z_soon).size();
      const TvRow<const float> noisy = noisy_row(y, z), noisy_soon = noisy_row(y_soon, z),
                               x_soon = row_of(pass.x, pass.planar, y_soon, z_soon),
                               before_soon = row_of(pass.before, pass.planar, y_soon, z_soon);
      float* const sums = &row_sums_[sums_of_row(piece.first, y, z)];
      for (int c = 0; c < group_; ++c) {
        prefetch(x_soon.data + c * x_soon.stride, n_soon_above);
        if (!at_x) prefetch(before_soon.data + c * before_soon.stride, n_soon_above);
        prefetch(noisy_soon.data + c * noisy_soon.stride, n_soon);
        float* const move = scratch.move + c * stride_;
        sums[c] = flux(y, z, c, scratch.flux_y + c * stride_, flux_z(y, c), move);
        sums[group_ + c] = rows_.gradient[masked](
            in_plane(here, y, c) + at, noisy.data + c * noisy.stride, scratch.flux_x + at, move + at,
            fidelity_step, static_cast<float>(pass.step * pass.alpha[piece.first + c]), move + at, n);
      }
      const TvRow<const float> point{in_plane(here, y, 0) + at, stride_};
      const TvRow<float> move{scratch.move + at, stride_}, next{scratch.next + at, stride_};
      const auto store = [&] {
        if (pass.next == nullptr) return;
        const RowPlace place = inside_.packed(piece.first, y, z);
        for (int c = 0; c < group_; ++c)
          rows_.store(pass.next + place.at + c * place.stride, next.data + c * stride_, n);
      };
      TvRowSums step;
      if (pass.descent) {
        // The step in L is written; the projected one in D takes its place for the mapping's sum alone.
        rows_.descend(row_of(pass.x, pass.planar, y, z), {move.data, stride_},
                      static_cast<float>(pass.factor), next, n);
        store();
        step = rows_.project[masked](point, move, point, next, n);
      } else {
        const TvRow<const float> x = at_x ? point : row_of(pass.x, pass.planar, y, z);
        step = problem_.tensor ? rows_.project[masked](point, move, x, next, n)
                               : rows_.step[masked](point.data, move.data, x.data, next.data, n);
        store();
      }
      sums[2 * group_] = step.mapping;
      sums[2 * group_ + 1] = step.turn;
    }
    if (y_high > y_end) fill_above(y_end);
    above = here;
    here = other;
  }
}

}  // namespace warploom::imaging
