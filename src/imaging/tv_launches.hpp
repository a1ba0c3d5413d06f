#pragma once

/// Which launches make up a minimisation on GPUs, and how several devices share them. Nothing here needs
/// CUDA.

#include <cstdint>
#include <vector>

#include "imaging/tv_planes.hpp"
#include "warploom/imaging/denoise.hpp"

namespace warploom::imaging {

/// Images of the size of the input that a solver works on, as host or as device pointers.
struct TvImages {
  float* noisy = nullptr;
  float* points[3] = {};  ///< that x, the x before, and the next x take in turn
  float* p = nullptr;     ///< three in one
};
/// How many those are, and how many of them are points.
int image_count(Solver solver);
int point_count(Solver solver);

struct TvLaunch {
  TvKernel kernel;
  TvPlanes planes;  ///< of whole images, from chunk 0 on; without stride and chunks
};
/// What to launch before the first pass, and in pass k (from 0).
std::vector<TvLaunch> first_launches(Solver solver, const TvImages& images);
std::vector<TvLaunch> pass_launches(Solver solver, const TvImages& images, std::int64_t k);
/// The point that was measured last, when `passes` were made.
float* measured_point(Solver solver, const TvImages& images, std::int64_t passes);

/// Part of an image along z that is a device's: whole chunks, so that each of the partial sums, which are of
/// one chunk, is as if there were one device.
struct TvShare {
  int first_chunk = 0, chunks = 0;
  int first_plane = 0, planes = 0;
};
/// @param devices  at most the chunks of the image
std::vector<TvShare> tv_shares(int nz, int chunk, int devices);

/// What a device's neighbours need of a launch before the next: the planes at its borders, of an image.
struct TvBorders {
  bool to_lower = false, to_upper = false;
};
TvBorders borders_after(TvKernel kernel);

}  // namespace warploom::imaging
