#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "core/cuda/memory.hpp"
#include "imaging/known_noise_kernels.hpp"
#include "imaging/residual_backend.hpp"
#include "warploom/core/error.hpp"

namespace warploom::imaging {
namespace {

void allocate(DeviceArena& arena, std::string_view work) {
  if (const std::uint64_t free = device_memory().free; arena.bytes() > free)
    throw OutOfMemory(std::string(work) + " needs " + std::to_string(arena.bytes()) +
                      " bytes of the GPU's memory, " + std::to_string(free) +
                      " are free; `device` cpu does without");
  arena.allocate();
}

template <class Values>
void upload(PinnedPair& copies, typename Values::value_type* to, const Values& from) {
  copies.upload(to, from.data(), from.size() * sizeof(*to));
}

}  // namespace

void correct_noise_bias_cuda(Image& noise, const Image& series, const std::array<int, 3>& extent,
                             double usual) {
  const auto voxels = static_cast<std::uint64_t>(series.grid.voxels());
  DeviceArena arena;
  const auto values = arena.add<float>(series.data.size()), measured = arena.add<float>(voxels),
             corrected = arena.add<float>(voxels), table = arena.add<RicianMoments>(kRicianEntries);
  std::uint64_t variance = arena.add<double>(voxels), other = arena.add<double>(voxels);
  allocate(arena, "correcting a noise map");
  const CudaStream stream = make_stream();
  const WaitAtEnd wait(stream.get());
  PinnedPair copies(stream.get(), 4 << 20);
  upload(copies, arena.at<float>(values), series.data);
  upload(copies, arena.at<float>(measured), noise.data);
  upload(copies, arena.at<float>(corrected), noise.data);
  copies.upload(arena.at<RicianMoments>(table), rician_table(), kRicianEntries * sizeof(RicianMoments));
  const auto count = static_cast<std::int64_t>(voxels);
  const std::int64_t extents[3] = {series.grid.nx, series.grid.ny, series.grid.nz};
  for (int turn = 0; turn < 3; ++turn) {
    cuda_check(
        launch_mean_variance(arena.at<float>(values), arena.at<float>(corrected), usual, series.channels,
                             count, arena.at<RicianMoments>(table), arena.at<double>(variance), stream.get()),
        "launching the variance of magnitudes");
    std::int64_t step = 1;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      cuda_check(launch_box_means(arena.at<double>(variance), arena.at<double>(other), count, extents[axis],
                                  step, extent[axis] / 2, stream.get()),
                 "launching means over patches");
      std::swap(variance, other);
      step *= extents[axis];
    }
    cuda_check(launch_divide_noise(arena.at<float>(measured), arena.at<double>(variance),
                                   arena.at<float>(corrected), count, stream.get()),
               "launching the noise's correction");
  }
  copies.download(
      arena.at<float>(corrected), voxels,
      [&](std::uint64_t begin, const float* from, std::uint64_t part) {
        std::copy_n(from, part, noise.data.begin() + static_cast<std::ptrdiff_t>(begin));
      },
      false);  // what was replaced cannot be taken back
}

std::array<PairSums, 3> residual_pairs_cuda(const ResidualProblem& problem) {
  const auto& [series, noise, tensor, s0, mask, design] = problem;
  const auto voxels = static_cast<std::uint64_t>(series.grid.voxels());
  const auto blocks = static_cast<std::uint64_t>(residual_blocks(series.grid.voxels()));
  DeviceArena arena;
  const auto floats = [&](std::uint64_t count) { return arena.add<float>(count); };
  const auto measured = floats(series.data.size()), sigma = floats(voxels), fitted = floats(6 * voxels),
             amplitude = floats(voxels), rest = floats(series.data.size()), removed = floats(6 * voxels);
  const auto inside = arena.add<std::uint8_t>(voxels), group = arena.add<std::uint8_t>(voxels);
  const auto rows = arena.add<Unknowns>(design.rows.size()), table = arena.add<RicianMoments>(kRicianEntries),
             sums = arena.add<PairSums>(3 * blocks);
  allocate(arena, "looking for structure in a residual");
  const CudaStream stream = make_stream();
  const WaitAtEnd wait(stream.get());
  PinnedPair copies(stream.get(), 4 << 20);
  upload(copies, arena.at<float>(measured), series.data);
  upload(copies, arena.at<float>(sigma), noise.data);
  upload(copies, arena.at<float>(fitted), tensor.data);
  upload(copies, arena.at<float>(amplitude), s0.data);
  upload(copies, arena.at<Unknowns>(rows), design.rows);
  copies.upload(arena.at<RicianMoments>(table), rician_table(), kRicianEntries * sizeof(RicianMoments));
  if (mask.empty())
    cuda_check(cudaMemsetAsync(arena.at<std::uint8_t>(inside), 1, voxels, stream.get()), "cudaMemsetAsync");
  else
    upload(copies, arena.at<std::uint8_t>(inside), mask);
  const ResidualBuffers buffers{.nx = series.grid.nx,
                                .ny = series.grid.ny,
                                .nz = series.grid.nz,
                                .volumes = series.channels,
                                .largest_b = design.largest_b,
                                .series = arena.at<float>(measured),
                                .noise = arena.at<float>(sigma),
                                .tensor = arena.at<float>(fitted),
                                .s0 = arena.at<float>(amplitude),
                                .mask = arena.at<std::uint8_t>(inside),
                                .rows = arena.at<Unknowns>(rows),
                                .table = arena.at<RicianMoments>(table),
                                .rest = arena.at<float>(rest),
                                .removed = arena.at<float>(removed),
                                .group = arena.at<std::uint8_t>(group),
                                .sums = arena.at<PairSums>(sums)};
  cuda_check(launch_residual(buffers, stream.get()), "launching the residual's products");
  std::vector<PairSums> parts(3 * blocks);
  // As words: the pieces of a download end between elements of whose size they are a multiple.
  static_assert(sizeof(PairSums) % sizeof(std::uint64_t) == 0);
  copies.download(reinterpret_cast<const std::uint64_t*>(buffers.sums),
                  parts.size() * sizeof(PairSums) / sizeof(std::uint64_t),
                  [&](std::uint64_t begin, const std::uint64_t* from, std::uint64_t count) {
                    std::memcpy(reinterpret_cast<std::byte*>(parts.data()) + begin * sizeof *from, from,
                                count * sizeof *from);
                  });
  std::array<PairSums, 3> result;
  for (std::size_t k = 0; k < parts.size(); ++k) result[k % 3].add(parts[k]);
  return result;
}

}  // namespace warploom::imaging
