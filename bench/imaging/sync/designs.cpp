#include "imaging/sync/designs.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

namespace warploom::bench::sync {
namespace {

using Extent = Kernel::Extent;

int over(int count, int part) { return (count + part - 1) / part; }

std::shared_ptr<const Kernel> kernel(const std::string& module, const std::string& entry) {
  return std::make_shared<const Kernel>(module_path(module), entry);
}

std::string sides(int side) { return std::to_string(side) + "x" + std::to_string(side); }
std::string suffix(Stencil stencil, Padding padding = Padding::own) {
  return std::string(stencil == Stencil::centred ? "_centred" : "") +
         (padding == Padding::halo ? "_halo" : "");
}

template <class... Arguments>
void launch(const Kernel& kernel, Extent grid, Extent block, Arguments... arguments) {
  void* addresses[] = {&arguments...};
  kernel.launch(grid, block, addresses);
}

class GlobalSync : public Design {
 public:
  GlobalSync(const Problem& problem, int side, Stencil stencil, const std::string& module)
      : Design(problem),
        voxels_(problem.voxels()),
        tiles_{over(problem.nx, side), over(problem.ny, side), problem.nz},
        tensor_(6 * std::size_t(voxels_)),
        p_(6 * std::size_t(voxels_)),
        partial_(6 * std::size_t(tiles_.count())),
        weights_(6) {
    const Extent square{side, side}, line{256}, points{over(voxels_, line.x)};
    const auto add = [&](const std::string& name, const std::string& entry, int threads, int calls,
                         auto use) {
      parts_.push_back({name, kernel(module, entry), threads, calls, {}});
      const Kernel& k = *parts_.back().kernel;
      parts_.back().launch = [this, &k, calls, use] {
        for (int c = 0; c < calls; ++c) use(k, c);
      };
    };
    add("LLT", "llt", line.x, 1, [=, this](const Kernel& k, int) {
      launch(k, points, line, current_->address(), tensor_.address(), voxels_);
    });
    add("TVnorm", "tv_norm_" + sides(side), square.count(), 6, [=, this](const Kernel& k, int c) {
      launch(k, tiles_, square, channel(tensor_, c), partial_.address() + sizeof(float) * c * tiles_.count(),
             problem_.nx, problem_.ny, problem_.nz, problem_.spacing[0], problem_.spacing[1],
             problem_.spacing[2]);
    });
    const Extent reduction{512};
    add("Reduction", "reduction", reduction.x, 1, [=, this](const Kernel& k, int) {
      launch(k, {}, reduction, partial_.address(), weights_.address(), tiles_.count());
    });
    const Extent overlapping{over(problem.nx, side - 2), over(problem.ny, side - 2), problem.nz};
    add("P", "p_" + sides(side) + suffix(stencil), square.count(), 6, [=, this](const Kernel& k, int c) {
      launch(k, overlapping, square, channel(tensor_, c), weights_.address() + sizeof(float) * c,
             channel(p_, c), problem_.nx, problem_.ny, problem_.nz, problem_.spacing[0], problem_.spacing[1],
             problem_.spacing[2]);
    });
    add("Solver", "solver", line.x, 6, [=, this](const Kernel& k, int element) {
      launch(k, points, line, current_->address(), tensor_.address(), noisy_.address(), p_.address(),
             next_->address(), voxels_, element, problem_.lambda, problem_.step);
    });
  }

 private:
  CUdeviceptr channel(const Floats& image, int c) const {
    return image.address() + sizeof(float) * c * static_cast<std::size_t>(voxels_);
  }

  int voxels_;
  Extent tiles_;
  Floats tensor_, p_, partial_, weights_;
};

/// The secondary designs: one kernel an iteration.
class Independent : public Design {
 public:
  Independent(const Problem& problem, const std::string& module, const std::string& entry, int side,
              Extent grid, std::size_t scratch_floats)
      : Design(problem), scratch_(std::max<std::size_t>(scratch_floats, 1)) {
    const Extent block{side, side};
    parts_.push_back({"Solver", kernel(module, entry), block.count(), 1, {}});
    const Kernel& k = *parts_.back().kernel;
    parts_.back().launch = [this, &k, grid, block] {
      // un_sync takes no scratch: the last address is then not looked at.
      launch(k, grid, block, current_->address(), noisy_.address(), next_->address(), problem_.nx,
             problem_.ny, problem_.nz, problem_.spacing[0], problem_.spacing[1], problem_.spacing[2],
             problem_.lambda, problem_.step, scratch_.address());
    };
  }

 private:
  Floats scratch_;
};

}  // namespace

Design::Design(const Problem& problem)
    : problem_(problem), noisy_(problem.noisy), factors_{Floats(problem.factor), Floats(problem.factor)} {}

void Design::iterate() {
  for (const Part& part : parts_) part.launch();
  std::swap(current_, next_);
}

std::string module_path(const std::string& stem) {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / "gpu-imaging-sync" /
         (stem + ".cubin");
}

std::unique_ptr<Design> global_sync(const Problem& problem, int side, Stencil stencil,
                                    const std::string& module) {
  return std::make_unique<GlobalSync>(problem, side, stencil, module);
}

namespace {

std::unique_ptr<Design> make_thread_sync(const Problem& problem, int side, const std::string& variant) {
  const Extent grid{over(problem.nx, side), over(problem.ny, side), problem.nz};
  // ThreadSync::kScratch of thread_sync.cu: 13 arrays of a padded layer, and one for a sum
  const std::size_t scratch = 13 * 3 * (side + 2) * (side + 2) + side * side;
  return std::make_unique<Independent>(problem, "thread_sync", "thread_sync_" + sides(side) + variant, side,
                                       grid, scratch * grid.count());
}

std::unique_ptr<Design> make_un_sync(const Problem& problem, int side, const std::string& variant) {
  const Extent grid{over(problem.nx, 2 * side), over(problem.ny, 2 * side), over(problem.nz, 2)};
  return std::make_unique<Independent>(problem, "un_sync", "un_sync" + variant, side, grid, 0);
}

}  // namespace

std::unique_ptr<Design> thread_sync(const Problem& problem, int side, Stencil stencil, Padding padding) {
  return make_thread_sync(problem, side, suffix(stencil, padding));
}

std::unique_ptr<Design> un_sync(const Problem& problem, int side, Stencil stencil, Padding padding) {
  return make_un_sync(problem, side, suffix(stencil, padding));
}

std::unique_ptr<Design> thread_sync_only_p(const Problem& problem, int side) {
  return make_thread_sync(problem, side, "_only_p");
}

std::unique_ptr<Design> un_sync_only_p(const Problem& problem, int side) {
  return make_un_sync(problem, side, "_only_p");
}

}  // namespace warploom::bench::sync
