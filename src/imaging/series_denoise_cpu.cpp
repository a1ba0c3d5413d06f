#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include "core/instruction_sets.hpp"
#include "imaging/patch_lanes.hpp"
#include "imaging/series_denoise_backend.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/core/threads.hpp"

namespace warploom::imaging {
namespace {

constexpr std::size_t kAlignment = 64;
struct AlignedDelete {
  void operator()(std::byte* memory) const { ::operator delete (memory, std::align_val_t{kAlignment}); }
};
struct Free {
  void operator()(float* memory) const { std::free(memory); }
};
using Workspace = std::unique_ptr<std::byte, AlignedDelete>;

/// One is taken for a piece of work and put back: as many are made as threads work at once.
class Workspaces {
 public:
  explicit Workspaces(std::size_t bytes) : bytes_(bytes) {}
  Workspace take() {
    const std::lock_guard lock(mutex_);
    if (free_.empty())
      return Workspace(static_cast<std::byte*>(::operator new (bytes_, std::align_val_t{kAlignment})));
    Workspace workspace = std::move(free_.back());
    free_.pop_back();
    return workspace;
  }
  void put_back(Workspace workspace) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(workspace));
  }

 private:
  std::size_t bytes_;
  std::mutex mutex_;
  std::vector<Workspace> free_;
};

class PatchRows {
 public:
  PatchRows(const SeriesProblem& problem, float* denoised, PatchResults& results)
      : problem_(problem),
        x_(problem.axes[0]),
        y_(problem.axes[1]),
        z_(problem.axes[2]),
        denoised_(denoised),
        results_(results),
        lanes_problem_(describe(problem)),
        code_(WARPLOOM_PICK(patch_code)(lanes_problem_, problem.precision == Precision::float64)),
        workspaces_(code_.workspace_bytes) {}

  /// The patches that begin at (., y, z), from left to right, as many at a time as there are lanes.
  void denoise(int y, int z) {
    const std::size_t row = (static_cast<std::size_t>(z) * y_.patches() + y) * x_.patches();
    const std::uint8_t* const wanted = problem_.wanted.data() + row;
    const auto begin = wanted, end = wanted + x_.patches();
    Workspace workspace = workspaces_.take();
    for (auto at = std::find(begin, end, 1); at != end; at = std::find(at, end, 1)) {
      const int x = static_cast<int>(at - begin);
      const int lanes = std::min(code_.lanes, x_.patches() - x);
      denoise_batch(x, y, z, lanes, row + static_cast<std::size_t>(x), workspace.get());
      at += lanes;
    }
    workspaces_.put_back(std::move(workspace));
  }

 private:
  static PatchProblem describe(const SeriesProblem& problem) {
    PatchProblem out;
    out.series = problem.series;
    out.nx = problem.axes[0].voxels;
    out.plane = out.nx * problem.axes[1].voxels;
    out.channel = problem.voxels();
    out.channels = problem.channels;
    out.complex = problem.complex;
    out.scale = problem.scale;
    for (std::size_t a = 0; a < 3; ++a) out.extent[a] = problem.axes[a].extent;
    out.reflectors = problem.reflectors.u.data();
    out.reflector_factors = problem.reflectors.factor.data();
    out.reflector_count = problem.reflectors.count();
    out.spectrum = problem.spectrum();
    out.inverse_larger = problem.inverse_larger();
    out.inverse_width = problem.inverse_width.data();
    return out;
  }

  void denoise_batch(int x, int y, int z, int lanes, std::size_t patch, std::byte* workspace) {
    const auto all = static_cast<std::size_t>(code_.lanes);
    std::vector<double> variance(all);
    std::vector<int> rank(all);
    std::vector<std::uint8_t> wanted(all);
    std::copy_n(problem_.wanted.data() + patch, lanes, wanted.data());
    PatchTask task;
    task.x = x, task.y = y, task.z = z;
    task.lanes = lanes;
    task.wanted = wanted.data();
    task.variance = variance.data();
    task.rank = rank.data();
    std::vector<PatchColumn> columns;
    std::vector<float> values;
    if (problem_.output == PatchOutput::centre) {
      columns = columns_of(x, y, z, lanes);
      values.resize(columns.size() * all * static_cast<std::size_t>(problem_.channels));
      task.columns = columns.data();
      task.column_count = static_cast<int>(columns.size());
      task.denoised = values.data();
    } else {
      values.resize(static_cast<std::size_t>(code_.strip_width) * y_.extent * z_.extent * problem_.channels);
      task.sum = values.data();
    }
    if (!code_.solve(lanes_problem_, task, workspace))
      throw Internal("the eigenvalues of a patch did not converge");
    for (int k = 0; k < lanes; ++k)
      if (wanted[static_cast<std::size_t>(k)] != 0) {
        results_.variance[patch + static_cast<std::size_t>(k)] =
            static_cast<float>(variance[static_cast<std::size_t>(k)]);
        results_.rank[patch + static_cast<std::size_t>(k)] =
            static_cast<std::int16_t>(rank[static_cast<std::size_t>(k)]);
      }
    if (problem_.output == PatchOutput::centre)
      scatter(task);
    else
      add(task);
  }

  /// The columns that any of the patches needs: the middle, at the edges of the grid those beyond it, too.
  std::vector<PatchColumn> columns_of(int x, int y, int z, int lanes) const {
    std::vector<PatchColumn> columns;
    const int last = x + lanes - 1;
    // Those of the first patch that lie before the middle, of the last that lie behind it.
    const int first_dx = x_.begin(x) - x, last_dx = x_.end(last) - last;
    for (int vz = z_.begin(z); vz < z_.end(z); ++vz)
      for (int vy = y_.begin(y); vy < y_.end(y); ++vy)
        for (int dx = std::min(first_dx, x_.extent / 2); dx < std::max(last_dx, x_.extent / 2 + 1); ++dx)
          columns.push_back({dx, (vz - z) * y_.extent + vy - y});
    return columns;
  }

  void scatter(const PatchTask& task) const {
    const float* values = task.denoised;
    for (int number = 0; number < task.column_count; ++number) {
      const PatchColumn column = task.columns[number];
      const std::int64_t vy = task.y + column.row % y_.extent, vz = task.z + column.row / y_.extent;
      for (int c = 0; c < problem_.channels; ++c, values += code_.lanes) {
        float* const to = denoised_ + c * lanes_problem_.channel + vz * lanes_problem_.plane +
                          vy * lanes_problem_.nx + task.x + column.x;
        for (int k = 0; k < task.lanes; ++k) {
          const int b = static_cast<int>(task.x) + k, voxel = b + column.x;
          if (task.wanted[k] != 0 && voxel >= x_.begin(b) && voxel < x_.end(b)) to[k] = values[k];
        }
      }
    }
  }

  void add(const PatchTask& task) const {
    const float* from = task.sum;
    const int width = task.lanes + x_.extent - 1;
    for (int c = 0; c < problem_.channels; ++c)
      for (int dz = 0; dz < z_.extent; ++dz)
        for (int dy = 0; dy < y_.extent; ++dy, from += code_.strip_width) {
          float* const to = denoised_ + c * lanes_problem_.channel + (task.z + dz) * lanes_problem_.plane +
                            (task.y + dy) * lanes_problem_.nx + task.x;
          for (int k = 0; k < width; ++k) to[k] += from[k];
        }
  }

  const SeriesProblem& problem_;
  PatchAxis x_, y_, z_;
  float* denoised_;
  PatchResults& results_;
  PatchProblem lanes_problem_;
  PatchCode code_;
  Workspaces workspaces_;
};

/// The sums over patches, by the series' reflectors from the last one: once a voxel instead of once a patch.
void turn_back(const SeriesProblem& problem, float* sums) {
  constexpr std::int64_t kPart = 512;
  const std::int64_t voxels = problem.voxels(), n = problem.channels;
  parallel_for((voxels + kPart - 1) / kPart, [&](std::int64_t part) {
    const std::int64_t begin = part * kPart, count = std::min(kPart, voxels - begin);
    double share[kPart];
    for (std::int64_t k = problem.reflectors.count(); k-- > 0;) {
      const float* const u = problem.reflectors.u.data() + k * n;
      std::fill_n(share, count, 0.0);
      for (std::int64_t c = 0; c < n; ++c)
        for (std::int64_t v = 0; v < count; ++v)
          share[v] += static_cast<double>(u[c]) * static_cast<double>(sums[c * voxels + begin + v]);
      const double factor = static_cast<double>(problem.reflectors.factor[static_cast<std::size_t>(k)]);
      for (std::int64_t c = 0; c < n; ++c)
        for (std::int64_t v = 0; v < count; ++v) {
          float& value = sums[c * voxels + begin + v];
          value =
              static_cast<float>(static_cast<double>(value) - factor * static_cast<double>(u[c]) * share[v]);
        }
    }
  });
}

}  // namespace

PatchResults denoise_patches_cpu(const SeriesProblem& problem, PatchReceiver& receiver) {
  const auto start = std::chrono::steady_clock::now();
  const std::size_t values =
      static_cast<std::size_t>(problem.voxels()) * static_cast<std::size_t>(problem.channels);
  constexpr std::size_t kPart = 1 << 16;
  const auto in_parts = [&](const auto& body) {
    parallel_for(static_cast<std::int64_t>((values + kPart - 1) / kPart), [&](std::int64_t part) {
      const std::size_t begin = static_cast<std::size_t>(part) * kPart;
      body(begin, std::min(kPart, values - begin));
    });
  };
  float* denoised = problem.scratch;
  std::unique_ptr<float, Free> own;
  if (denoised == nullptr) {
    // Zeros that nobody writes: the pages come when the threads touch them.
    own.reset(static_cast<float*>(std::calloc(values, sizeof(float))));
    if (own == nullptr) throw std::bad_alloc();
    denoised = own.get();
  } else if (!problem.scratch_is_zero) {
    in_parts([&](std::size_t begin, std::size_t count) { std::fill_n(denoised + begin, count, 0.0F); });
  }
  PatchResults results;
  results.variance.resize(problem.wanted.size());
  results.rank.resize(problem.wanted.size());
  PatchRows rows(problem, denoised, results);
  const PatchAxis &y = problem.axes[1], &z = problem.axes[2];
  Progress progress("denoising the series", static_cast<std::uint64_t>(y.patches()) * z.patches(),
                    "rows of patches");
  if (problem.output == PatchOutput::centre) {
    parallel_for(std::int64_t{y.patches()} * z.patches(), [&](std::int64_t row) {
      rows.denoise(static_cast<int>(row % y.patches()), static_cast<int>(row / y.patches()));
      progress.advance();
    });
  } else {
    // Patches of a tile add to voxels up to an extent beyond it. Tiles at least so large, every other one
    // along both axes at a time, do not meet; so the order of additions does not depend on the threads.
    const int ty = std::max(4, y.extent - 1), tz = std::max(4, z.extent - 1);
    const int tiles_y = (y.patches() + ty - 1) / ty, tiles_z = (z.patches() + tz - 1) / tz;
    for (int colour = 0; colour < 4; ++colour) {
      const int first_y = colour % 2, first_z = colour / 2;
      const int count_y = (tiles_y - first_y + 1) / 2, count_z = (tiles_z - first_z + 1) / 2;
      if (count_y <= 0 || count_z <= 0) continue;
      parallel_for(std::int64_t{count_y} * count_z, [&](std::int64_t tile) {
        const int y0 = (static_cast<int>(tile % count_y) * 2 + first_y) * ty;
        const int z0 = (static_cast<int>(tile / count_y) * 2 + first_z) * tz;
        for (int bz = z0; bz < std::min(z0 + tz, z.patches()); ++bz)
          for (int by = y0; by < std::min(y0 + ty, y.patches()); ++by) {
            rows.denoise(by, bz);
            progress.advance();
          }
      });
    }
  }
  if (problem.output == PatchOutput::average) turn_back(problem, denoised);
  receiver.maps(results);
  in_parts([&](std::size_t begin, std::size_t count) { receiver.values(begin, denoised + begin, count); });
  results.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return results;
}

}  // namespace warploom::imaging
