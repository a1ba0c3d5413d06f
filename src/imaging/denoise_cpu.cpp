// Total variation on the CPU: the solvers. tv_sweep.cpp has a pass of those that follow the gradient.

#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "imaging/host_floats.hpp"
#include "imaging/tgv.hpp"
#include "imaging/tv_backend.hpp"
#include "imaging/tv_factor.hpp"
#include "imaging/tv_room.hpp"
#include "imaging/tv_sweep.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/core/threads.hpp"

namespace warploom::imaging {
namespace {

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

TvOutcome accelerated(const TvProblem& problem, float* image, TvRoom& room) {
  const InsideRows& inside = room.inside(problem);
  TvSweep sweep(problem, inside, room.noisy(problem));
  AcceleratedState state;
  const float *x = image, *before = image;
  Record record;
  for (std::size_t pass = 0;; ++pass) {
    // Three take turns. The image itself, which is not packed, is never the x before: the first passes have
    // no momentum.
    float* const next = room.point(pass % 3, inside.packed_values());
    const TvSums sums = sweep.run({.x = x,
                                   .before = state.momentum == 0 ? x : before,
                                   .next = next,
                                   .planar = pass == 0,
                                   .step = state.step,
                                   .momentum = state.momentum,
                                   .alpha = state.alpha});
    advance(state, sums, problem.constants);
    // The point that was measured is x: a pass that confirms has no momentum.
    if (record.add(state.progress)) break;
    if (pass == 0 && state.momentum != 0) throw Internal("total variation's second pass has a momentum");
    before = std::exchange(x, next);
  }
  TvOutcome outcome = record.finish();
  if (x != image) inside.unpack(x, image);
  return outcome;
}

TvOutcome descent(const TvProblem& problem, float* image, TvRoom& room) {
  const InsideRows& inside = room.inside(problem);
  TvSweep sweep(problem, inside, room.noisy(problem));
  DescentState state;
  state.fixed = problem.descent_step;
  Record record;
  state.largest = factorise(problem.grid, image);
  const float* l = image;
  for (std::size_t pass = 0;; ++pass) {
    float* const next = room.point(pass % 2, inside.packed_values());
    const TvSums sums = sweep.run({.x = l,
                                   .before = l,
                                   .next = next,
                                   .planar = pass == 0,
                                   .step = state.probe,
                                   .alpha = state.alpha,
                                   .descent = true,
                                   .factor = state.probe > 0 ? 2 * state.step / state.probe : 0});
    advance(state, sums, problem.constants);
    if (record.add(state.progress)) break;
    l = next;
  }
  TvOutcome outcome = record.finish();
  if (l != image) inside.unpack(l, image);
  multiply_factors(problem.grid, image);
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

TvOutcome primal_dual(const TvProblem& problem, float* image, TvRoom& room) {
  const TvConstants& k = problem.constants;
  const std::int64_t values = problem.grid.voxels() * k.channels;
  use_large_pages(problem.noisy, values);
  use_large_pages(image, values);
  constexpr std::int64_t kFront = 16;  // there is a value before the first row
  float *const first = room.point(0, values), *const second = room.point(1, values);
  const HostFloats dual(kFront + 3 * values);
  std::fill_n(dual.get(), kFront + 3 * values, 0.0F);
  Record record;
  PrimalDualState state;
  float *x = image, *before = image, *next = first;
  const TvSums start = TvSweep(problem, InsideRows(problem), nullptr)
                           .run({.x = x, .before = x, .planar = true, .alpha = state.alpha});
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
    next = old == before ? second : old;
  }
  TvOutcome outcome = record.finish();
  if (x != image) std::copy_n(x, values, image);
  return outcome;
}

}  // namespace

TvOutcome minimise_cpu(const TvProblem& problem, float* image) {
  TvRoom room;
  return minimise_cpu(problem, image, room);
}

TvOutcome minimise_cpu(const TvProblem& problem, float* image, TvRoom& room) {
  if (problem.tgv_ratio > 0) return minimise_tgv_cpu(problem, image);
  switch (problem.solver) {
    case Solver::accelerated:
      return accelerated(problem, image, room);
    case Solver::primal_dual:
      return primal_dual(problem, image, room);
    case Solver::descent:
      return descent(problem, image, room);
  }
  throw Internal("a Solver outside its enumeration");
}

}  // namespace warploom::imaging
