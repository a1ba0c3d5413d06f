#include "imaging/tv_launches.hpp"

#include <algorithm>
#include <string>

#include "warploom/core/error.hpp"

namespace warploom::imaging {

int point_count(Solver solver) { return solver == Solver::accelerated ? 3 : 2; }
int image_count(Solver solver) { return 1 + point_count(solver) + (solver == Solver::primal_dual ? 3 : 0); }

std::vector<TvLaunch> first_launches(Solver solver, const TvImages& images) {
  if (solver != Solver::primal_dual) return {};
  // With all coefficients 0 these only measure, and copy x.
  std::vector<TvLaunch> launches = pass_launches(solver, images, 1);
  launches[0].planes.before = images.points[0];
  launches[1].kernel = TvKernel::primal_begin;
  return launches;
}

std::vector<TvLaunch> pass_launches(Solver solver, const TvImages& images, std::int64_t k) {
  const auto point = [&](std::int64_t index) { return images.points[index % point_count(solver)]; };
  TvPlanes planes;
  planes.noisy = images.noisy;
  planes.p = images.p;
  switch (solver) {
    case Solver::accelerated:
      planes.x = point(k);
      planes.before = point(k + 2);
      planes.next = point(k + 1);
      return {{TvKernel::accelerated, planes}};
    case Solver::descent:
      planes.x = point(k);
      planes.next = point(k + 1);
      return {{TvKernel::descent, planes}};
    case Solver::primal_dual: {
      planes.x = point(k + 1);
      TvPlanes dual = planes;
      dual.before = point(k);
      planes.next = point(k);
      return {{TvKernel::dual, dual}, {TvKernel::primal, planes}};
    }
  }
  throw Internal("a Solver outside its enumeration");
}

float* measured_point(Solver solver, const TvImages& images, std::int64_t passes) {
  return images.points[(solver == Solver::primal_dual ? passes : passes - 1) % point_count(solver)];
}

std::vector<TvShare> tv_shares(int nz, int chunk, int devices) {
  const int chunks = (nz + chunk - 1) / chunk;
  if (devices < 1 || devices > chunks)
    throw Internal("an image of " + std::to_string(chunks) + " chunks for " + std::to_string(devices) +
                   " devices");
  std::vector<TvShare> shares;
  for (int k = 0; k < devices; ++k) {
    const auto first_of = [&](int device) {
      return static_cast<int>(static_cast<std::int64_t>(chunks) * device / devices);
    };
    TvShare share;
    share.first_chunk = first_of(k);
    share.chunks = first_of(k + 1) - share.first_chunk;
    share.first_plane = share.first_chunk * chunk;
    share.planes = std::min(nz, (share.first_chunk + share.chunks) * chunk) - share.first_plane;
    shares.push_back(share);
  }
  return shares;
}

TvBorders borders_after(TvKernel kernel) {
  switch (kernel) {
    case TvKernel::accelerated:
    case TvKernel::descent:
      return {.to_lower = true, .to_upper = true};
    case TvKernel::dual:  // the divergence looks down
      return {.to_upper = true};
    case TvKernel::primal:
    case TvKernel::primal_begin:  // the gradient looks up
      return {.to_lower = true};
  }
  throw Internal("a TvKernel outside its enumeration");
}

}  // namespace warploom::imaging
