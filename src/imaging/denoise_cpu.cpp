// Total variation on the CPU.
//
// One pass reads x, the x before, and the noisy image, and writes the next x: 96 bytes a voxel of a tensor
// image, which is what bounds its speed. So that nothing else leaves the caches, the image is cut into
// pieces, a slab along z times a tile along y, and each is swept plane by plane and row by row with two
// planes of y, one plane of the fluxes along z, and one row of everything else in a scratch memory that fits
// into the second cache. At a piece's lower faces the fluxes of the voxels below are computed once more, so
// pieces do not wait for each other.

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "core/instruction_sets.hpp"
#include "imaging/host_floats.hpp"
#include "imaging/tgv.hpp"
#include "imaging/tv_backend.hpp"
#include "imaging/tv_factor.hpp"
#include "imaging/tv_rows.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/core/threads.hpp"

namespace warploom::imaging {
namespace {

const TvRows& rows_of_this_processor() { return *WARPLOOM_PICK(tv_rows); }

/// Puts memory into large pages where the system has them. With the noisy image alone in small ones a pass
/// took 7 % longer (128^3 and 256^3, one thread). Nothing depends on whether it works.
void use_large_pages(const float* data, std::int64_t count) {
  const auto begin = round_up(static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(data)), kLargePage);
  const auto end =
      static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(data + count)) / kLargePage * kLargePage;
  if (begin >= end) return;
  void* const pages = reinterpret_cast<void*>(begin);
  const std::size_t bytes = static_cast<std::size_t>(end - begin);
  madvise(pages, bytes, MADV_HUGEPAGE);
#if defined(MADV_COLLAPSE)
  madvise(pages, bytes, MADV_COLLAPSE);  // what is in small pages already
#endif
}

/// Asks for a row that will be needed soon. The processor foresees long streams, but a row of each channel
/// after the other is none.
void prefetch(const float* row, std::int64_t n) {
  for (std::int64_t i = 0; i < n; i += 16) __builtin_prefetch(row + i);
}

/// One pass over the image, of Solver::accelerated or Solver::descent.
struct Pass {
  const float* x = nullptr;       // of descent: L
  const float* before = nullptr;  // read by accelerated only
  float* next = nullptr;
  double step = 0, momentum = 0;  // step along the gradient in D
  const double* alpha = nullptr;
  bool descent = false;
  double factor = 0;  // of descent: L's step over D's
};

class Sweep {
 public:
  explicit Sweep(const TvProblem& problem);
  TvSums run(const Pass& pass);

 private:
  struct PieceSums {
    double tv[kTensorChannels] = {};
    double fidelity = 0, mapping = 0, turn = 0;
  };
  // Scratch of one thread: rows of `stride_` floats, those of a voxel's channels one after the other.
  struct Scratch {
    std::unique_ptr<HostFloats> memory;
    float* planes[2];             // [tile + 2 rows, channels]
    float* flux_z;                // [tile rows, channels], of the plane below
    float *flux_y, *move, *next;  // [channels]
    float *flux_x, *spare;        // a row
  };

  void piece(const Pass& pass, std::int64_t index, Scratch& scratch);
  Scratch make_scratch() const;

  const TvProblem& problem_;
  const TvRows& rows_ = rows_of_this_processor();
  std::int64_t nx_, ny_, nz_, voxels_;
  int group_;                 // channels that are worked on together: a tensor's, or one
  std::int64_t stride_;       // of a row in scratch memory
  std::int64_t tile_, slab_;  // a piece's rows and planes
  std::int64_t tiles_, slabs_;
  std::vector<PieceSums> sums_;
  std::vector<Scratch> scratch_;
};

Sweep::Sweep(const TvProblem& problem)
    : problem_(problem),
      nx_(problem.grid.nx),
      ny_(problem.grid.ny),
      nz_(problem.grid.nz),
      voxels_(problem.grid.voxels()),
      group_(problem.tensor ? kTensorChannels : 1),
      stride_(round_up(nx_ + 1, 16) +
              16) {  // not a power of two: rows would compete for the same cache lines
  // Three planes in half of a second cache of 1 MiB.
  constexpr std::int64_t kCacheFloats = std::int64_t{128} << 10;
  tile_ = std::clamp<std::int64_t>(kCacheFloats / (3 * group_ * stride_), 8, 64);
  tile_ = std::min(tile_, ny_);
  slab_ = std::min<std::int64_t>(32, nz_);
  tiles_ = (ny_ + tile_ - 1) / tile_;
  slabs_ = (nz_ + slab_ - 1) / slab_;
  sums_.resize(static_cast<std::size_t>(tiles_ * slabs_ * (problem.constants.channels / group_)));
  for (std::size_t k = 0; k < std::min<std::size_t>(threads(), sums_.size()); ++k)
    scratch_.push_back(make_scratch());
}

Sweep::Scratch Sweep::make_scratch() const {
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
  scratch.flux_x = take(stride_ + 16) + 16;  // the one before the first stays 0
  return scratch;
}

TvSums Sweep::run(const Pass& pass) {
  std::atomic<std::int64_t> next = 0;
  parallel_for(static_cast<std::int64_t>(scratch_.size()), [&](std::int64_t k) {
    for (std::int64_t index; (index = next.fetch_add(1)) < static_cast<std::int64_t>(sums_.size());)
      piece(pass, index, scratch_[static_cast<std::size_t>(k)]);
    rows_.fence();
  });
  TvSums sums;
  for (std::size_t k = 0; k < sums_.size(); ++k) {
    const int first = static_cast<int>(k / static_cast<std::size_t>(tiles_ * slabs_)) * group_;
    for (int c = 0; c < group_; ++c) sums.tv[first + c] += sums_[k].tv[c];
    sums.fidelity += sums_[k].fidelity;
    sums.mapping += sums_[k].mapping;
    sums.turn += sums_[k].turn;
  }
  return sums;
}

void Sweep::piece(const Pass& pass, std::int64_t index, Scratch& scratch) {
  const TvConstants& k = problem_.constants;
  const std::int64_t z_begin = index % slabs_ * slab_, z_end = std::min(nz_, z_begin + slab_);
  const std::int64_t y_begin = index / slabs_ % tiles_ * tile_, y_end = std::min(ny_, y_begin + tile_);
  const int first = static_cast<int>(index / (slabs_ * tiles_)) * group_;  // channel
  const bool masked = problem_.outside;
  const float spacing[3] = {static_cast<float>(k.inverse_spacing[0]),
                            static_cast<float>(k.inverse_spacing[1]),
                            static_cast<float>(k.inverse_spacing[2])};
  const float epsilon = static_cast<float>(k.epsilon), momentum = static_cast<float>(pass.momentum);
  const float fidelity_step = static_cast<float>(pass.step * k.lambda);

  // Rows of the image and of a plane of y.
  const auto offset = [&](int c, std::int64_t y, std::int64_t z) {
    return ((first + c) * nz_ + z) * ny_ * nx_ + y * nx_;
  };
  const auto row = [&](const float* image, std::int64_t y, std::int64_t z) {
    return TvRow<const float>{image + offset(0, y, z), voxels_};
  };
  const auto in_plane = [&](float* plane, std::int64_t y, int c) {
    return plane + ((y - y_begin + 1) * group_ + c) * stride_;
  };
  const auto fill = [&](float* plane, std::int64_t y, std::int64_t z) {
    if (pass.descent) return rows_.square({in_plane(plane, y, 0), stride_}, row(pass.x, y, z), nx_);
    for (int c = 0; c < group_; ++c)
      rows_.extrapolate(in_plane(plane, y, c), pass.x + offset(c, y, z), pass.before + offset(c, y, z),
                        momentum, nx_);
  };
  float *here = scratch.planes[0], *above = scratch.planes[1];
  const auto flux = [&](std::int64_t y, int c, float* flux_y, float* flux_z, float* divergence) {
    return rows_.flux[masked](in_plane(here, y, c), in_plane(here, std::min(y + 1, ny_ - 1), c),
                              in_plane(above, y, c), spacing, epsilon, scratch.flux_x, flux_y, flux_z,
                              divergence, nx_);
  };
  const auto flux_z = [&](std::int64_t y, int c) {
    return scratch.flux_z + ((y - y_begin) * group_ + c) * stride_;
  };
  const std::int64_t y_low = std::max<std::int64_t>(y_begin - 1, 0), y_high = std::min(y_end + 1, ny_);

  PieceSums sums;
  if (z_begin > 0) {
    for (std::int64_t y = y_low; y < y_high; ++y) fill(here, y, z_begin - 1);
    for (std::int64_t y = y_low; y < y_high; ++y) fill(above, y, z_begin);
    for (std::int64_t y = y_begin; y < y_end; ++y)
      for (int c = 0; c < group_; ++c) flux(y, c, scratch.flux_y, flux_z(y, c), scratch.move);
    std::swap(here, above);
  } else {
    std::fill_n(scratch.flux_z, tile_ * group_ * stride_, 0.0F);
    for (std::int64_t y = y_low; y < y_high; ++y) fill(here, y, z_begin);
  }
  for (std::int64_t z = z_begin; z < z_end; ++z) {
    const bool last = z + 1 == nz_;
    float* const other = above;
    if (last) above = here;
    const auto fill_above = [&](std::int64_t y) {
      if (!last) fill(above, y, z + 1);
    };
    std::fill_n(scratch.flux_y, group_ * stride_, 0.0F);
    if (y_low < y_begin) {
      fill_above(y_low);
      for (int c = 0; c < group_; ++c)
        flux(y_low, c, scratch.flux_y + c * stride_, scratch.spare, scratch.move);
    }
    for (std::int64_t y = y_begin; y < y_end; ++y) {
      fill_above(y);
      for (int c = 0; c < group_; ++c) {
        const std::int64_t y_soon = std::min(y + 1, ny_ - 1), z_soon = std::min(z + 1, nz_ - 1);
        prefetch(pass.x + offset(c, y_soon, z_soon), nx_);
        prefetch(pass.before + offset(c, y_soon, z_soon), nx_);
        prefetch(problem_.noisy + offset(c, y_soon, z), nx_);
        float* const move = scratch.move + c * stride_;
        sums.tv[c] += flux(y, c, scratch.flux_y + c * stride_, flux_z(y, c), move);
        sums.fidelity += k.weights[first + c] *
                         rows_.gradient[masked](
                             in_plane(here, y, c), problem_.noisy + offset(c, y, z), scratch.flux_x, move,
                             fidelity_step, static_cast<float>(pass.step * pass.alpha[first + c]), move, nx_);
      }
      const TvRow<const float> point{in_plane(here, y, 0), stride_}, x = row(pass.x, y, z);
      const TvRow<float> move{scratch.move, stride_}, next{scratch.next, stride_};
      TvRowSums step;
      if (pass.descent) {
        // The step in L is written; the projected one in D takes its place for the mapping's sum alone.
        rows_.descend(x, {scratch.move, stride_}, static_cast<float>(pass.factor), next, nx_);
        for (int c = 0; c < group_; ++c)
          rows_.store(pass.next + offset(c, y, z), next.data + c * stride_, nx_);
        step = rows_.project[masked](point, move, point, next, nx_);
      } else {
        step = problem_.tensor ? rows_.project[masked](point, move, x, next, nx_)
                               : rows_.step[masked](point.data, move.data, x.data, next.data, nx_);
        for (int c = 0; c < group_; ++c)
          rows_.store(pass.next + offset(c, y, z), next.data + c * stride_, nx_);
      }
      sums.mapping += step.mapping;
      sums.turn += step.turn;
    }
    if (y_high > y_end) fill_above(y_end);
    above = here;
    here = other;
  }
  sums_[static_cast<std::size_t>(index)] = sums;
}

/// Takes the results of passes: the history, and how long it took.
class Record {
 public:
  bool add(const TvProgress& progress) {
    outcome_.history.push_back({progress.iteration, progress.objective, progress.gap});
    outcome_.converged = progress.converged;
    outcome_.objective = progress.objective;
    outcome_.gap = progress.gap;
    shown_.advance();
    return progress.done;
  }
  TvOutcome finish() {
    outcome_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    return std::move(outcome_);
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  TvOutcome outcome_;
  Progress shown_{"denoising", 0, "iterations"};
};

TvOutcome accelerated(const TvProblem& problem, float* image) {
  const TvConstants& k = problem.constants;
  const std::int64_t values = problem.grid.voxels() * k.channels;
  const HostFloats first(values), second(values);
  Sweep sweep(problem);
  AcceleratedState state;
  float *x = image, *before = image, *next = first.get();
  Record record;
  for (;;) {
    const TvSums sums = sweep.run({.x = x,
                                   .before = before,
                                   .next = next,
                                   .step = state.step,
                                   .momentum = state.momentum,
                                   .alpha = state.alpha});
    advance(state, sums, k);
    // The point that was measured is x: a pass that confirms has no momentum.
    if (record.add(state.progress)) break;
    float* const old = std::exchange(before, x);
    x = next;
    next = old == before ? second.get() : old;
  }
  TvOutcome outcome = record.finish();
  if (x != image) std::copy_n(x, values, image);
  return outcome;
}

TvOutcome descent(const TvProblem& problem, float* image) {
  const HostFloats other(problem.grid.voxels() * kTensorChannels);
  Sweep sweep(problem);
  DescentState state;
  state.fixed = problem.descent_step;
  Record record;
  state.largest = factorise(problem.grid, image);
  float *l = image, *next = other.get();
  for (;;) {
    const TvSums sums = sweep.run({.x = l,
                                   .before = l,
                                   .next = next,
                                   .step = state.probe,
                                   .alpha = state.alpha,
                                   .descent = true,
                                   .factor = state.probe > 0 ? 2 * state.step / state.probe : 0});
    advance(state, sums, problem.constants);
    if (record.add(state.progress)) break;
    std::swap(l, next);
  }
  TvOutcome outcome = record.finish();
  multiply_factors(problem.grid, l);
  if (l != image) std::copy_n(l, problem.grid.voxels() * kTensorChannels, image);
  return outcome;
}

/// The two half passes of Solver::primal_dual. The dual half works on each channel alone, the primal one on
/// all of a tensor's.
class PrimalDual {
 public:
  PrimalDual(const TvProblem& problem, float* dual)
      : problem_(problem), voxels_(problem.grid.voxels()), values_(voxels_ * problem.constants.channels) {
    for (int axis = 0; axis < 3; ++axis) {
      p_[axis] = dual + axis * values_;
      spacing_[axis] = static_cast<float>(problem.constants.inverse_spacing[axis]);
    }
  }

  void dual_half(const float* x, const float* before, const PrimalDualState& state, PrimalDualSums& sums) {
    const Grid& grid = problem_.grid;
    std::vector<double> tv(static_cast<std::size_t>(slabs() * problem_.constants.channels));
    parallel_for(static_cast<std::int64_t>(tv.size()), [&](std::int64_t piece) {
      const std::int64_t c = piece / slabs(), begin = piece % slabs() * kSlab;
      double sum = 0;
      for (std::int64_t z = begin; z < std::min(begin + kSlab, grid.nz); ++z)
        for (std::int64_t y = 0; y < grid.ny; ++y) {
          const std::int64_t at = c * voxels_ + (z * grid.ny + y) * grid.nx;
          const std::int64_t next_y = y + 1 < grid.ny ? at + grid.nx : at,
                             next_z = z + 1 < grid.nz ? at + grid.nx * grid.ny : at;
          const float* const of_x[3] = {x + at, x + next_y, x + next_z};
          const float* const of_before[3] = {before + at, before + next_y, before + next_z};
          sum += rows_.dual[problem_.outside](
              of_x, of_before, static_cast<float>(state.momentum), spacing_, static_cast<float>(state.sigma),
              static_cast<float>(state.alpha[c]), p_[0] + at, p_[1] + at, p_[2] + at, grid.nx);
        }
      tv[static_cast<std::size_t>(piece)] = sum;
    });
    for (std::size_t piece = 0; piece < tv.size(); ++piece)
      sums.tv[piece / static_cast<std::size_t>(slabs())] += tv[piece];
  }

  void primal_half(const float* x, float* next, const PrimalDualState& state, PrimalDualSums& sums) {
    const int group = problem_.tensor ? kTensorChannels : 1;
    std::vector<Sums> parts(static_cast<std::size_t>(slabs() * problem_.constants.channels / group));
    parallel_for(static_cast<std::int64_t>(parts.size()), [&](std::int64_t piece) {
      parts[static_cast<std::size_t>(piece)] = primal_slab(
          x, next, state, static_cast<int>(piece / slabs()) * group, group, piece % slabs() * kSlab);
      rows_.fence();
    });
    for (const Sums& part : parts) {
      sums.fidelity += part.fidelity;
      sums.dual += part.dual;
    }
  }

 private:
  static constexpr std::int64_t kSlab = 8;
  struct Sums {
    double fidelity = 0, dual = 0;
  };

  std::int64_t slabs() const { return (problem_.grid.nz + kSlab - 1) / kSlab; }

  Sums primal_slab(const float* x, float* next, const PrimalDualState& state, int first, int group,
                   std::int64_t begin) const {
    const Grid& grid = problem_.grid;
    const std::int64_t nx = grid.nx, stride = round_up(nx, 16) + 16;
    std::vector<float> scratch(static_cast<std::size_t>((3 * group + 1) * stride));
    float *const divergence = scratch.data(), *const move = divergence + group * stride,
                 *const result = move + group * stride, *const zeros = result + group * stride + 1;
    const double lambda = problem_.constants.lambda, shrink = 1 / (1 + state.tau * lambda);
    const auto project = [&](const float* from, std::int64_t from_stride, const float* to_x,
                             std::int64_t x_stride) {
      return problem_.tensor ? rows_.project[problem_.outside]({from, from_stride}, {move, stride},
                                                               {to_x, x_stride}, {result, stride}, nx)
                             : rows_.step[problem_.outside](from, move, to_x, result, nx);
    };
    Sums sums;
    for (std::int64_t z = begin; z < std::min(begin + kSlab, grid.nz); ++z)
      for (std::int64_t y = 0; y < grid.ny; ++y) {
        const std::int64_t row = first * voxels_ + (z * grid.ny + y) * nx;
        const float* const noisy = problem_.noisy + row;
        const auto move_of = [&](const float* point, int c, double fidelity_step, double flux_step) {
          const std::int64_t at = c * voxels_;
          rows_.gradient[problem_.outside](point + at, noisy + at, zeros, divergence + c * stride,
                                           static_cast<float>(fidelity_step), static_cast<float>(flux_step),
                                           move + c * stride, nx);
        };
        // The minimiser z of the dual objective: since <w - P(w), P(w)> = 0 for a cone, <-z, div p> is
        // lambda <dhat - z, z>.
        for (int c = 0; c < group; ++c) {
          const std::int64_t at = row + c * voxels_;
          rows_.divergence(p_[0] + at, p_[1] + at, y > 0 ? p_[1] + at - nx : zeros, p_[2] + at,
                           z > 0 ? p_[2] + at - nx * grid.ny : zeros, spacing_, divergence + c * stride, nx);
          move_of(noisy, c, 0, 1 / lambda);
        }
        const TvRowSums dual = project(noisy, voxels_, zeros, 0);
        sums.dual += lambda * (dual.turn + 0.5 * dual.mapping);

        for (int c = 0; c < group; ++c) move_of(x + row, c, state.tau * lambda * shrink, state.tau * shrink);
        project(x + row, voxels_, x + row, voxels_);
        for (int c = 0; c < group; ++c) {
          const float* const at = result + c * stride;
          sums.fidelity += problem_.constants.weights[first + c] *
                           rows_.gradient[problem_.outside](at, noisy + c * voxels_, zeros, zeros, 0, 0,
                                                            move + c * stride, nx);
          rows_.store(next + row + c * voxels_, at, nx);
        }
      }
    return sums;
  }

  const TvProblem& problem_;
  const TvRows& rows_ = rows_of_this_processor();
  std::int64_t voxels_, values_;
  float* p_[3];
  float spacing_[3];
};

TvOutcome primal_dual(const TvProblem& problem, float* image) {
  const TvConstants& k = problem.constants;
  const std::int64_t values = problem.grid.voxels() * k.channels;
  constexpr std::int64_t kFront = 16;  // there is a value before the first row
  const HostFloats first(values), second(values), dual(kFront + 3 * values);
  std::fill_n(dual.get(), kFront + 3 * values, 0.0F);
  Record record;
  PrimalDualState state;
  float *x = image, *before = image, *next = first.get();
  const TvSums start = Sweep(problem).run({.x = x, .before = x, .next = next, .alpha = state.alpha});
  begin(state, start.tv, start.fidelity, k);
  PrimalDual halves(problem, dual.get() + kFront);
  for (;;) {
    PrimalDualSums sums;
    halves.dual_half(x, before, state, sums);
    halves.primal_half(x, next, state, sums);
    advance(state, sums, k);
    if (record.add(state.progress)) break;
    float* const old = std::exchange(before, x);
    x = next;
    next = old == before ? second.get() : old;
  }
  TvOutcome outcome = record.finish();
  if (x != image) std::copy_n(x, values, image);
  return outcome;
}

}  // namespace

TvOutcome minimise_cpu(const TvProblem& problem, float* image) {
  if (problem.tgv_ratio > 0) return minimise_tgv_cpu(problem, image);
  const std::int64_t values = problem.grid.voxels() * problem.constants.channels;
  use_large_pages(problem.noisy, values);
  use_large_pages(image, values);
  switch (problem.solver) {
    case Solver::accelerated:
      return accelerated(problem, image);
    case Solver::primal_dual:
      return primal_dual(problem, image);
    case Solver::descent:
      return descent(problem, image);
  }
  throw Internal("a Solver outside its enumeration");
}

}  // namespace warploom::imaging
