#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "imaging/sync/problem.hpp"
#include "reuse/gpu_driver.hpp"

/// The dissertation's three designs on a GPU: which kernels an iteration launches, with what.
namespace warploom::bench::sync {

/// What pads a region of a secondary design: its own border, or the neighbours' values of the iteration
/// before.
enum class Padding { own, halo };

/// An iteration of one design, its images in the GPU's memory.
class Design {
 public:
  struct Part {
    std::string name;  ///< as Table 10 has it
    std::shared_ptr<const Kernel> kernel;
    int threads;                   ///< of a block
    int calls;                     ///< an iteration
    std::function<void()> launch;  ///< all calls of an iteration
  };

  explicit Design(const Problem& problem);
  virtual ~Design() = default;
  Design(const Design&) = delete;

  const std::vector<Part>& parts() const { return parts_; }
  /// Launches an iteration; does not wait for it.
  void iterate();
  /// L after what was launched.
  std::vector<float> factor() const { return current_->read(); }

 protected:
  std::vector<Part> parts_;
  Problem problem_;  // launches take its scalars by address
  Floats noisy_, factors_[2];
  Floats *current_ = &factors_[0], *next_ = &factors_[1];
};

/// Modules that the build leaves in gpu-imaging-sync/ beside the running program.
std::string module_path(const std::string& stem);

/// @param side    threads along a block's sides, 8 or 16
/// @param module  "global_sync", or "global_sync.rewritten": the same after `warploom reuse --when always`
std::unique_ptr<Design> global_sync(const Problem&, int side, Stencil,
                                    const std::string& module = "global_sync");
std::unique_ptr<Design> thread_sync(const Problem&, int side, Stencil, Padding = Padding::own);
std::unique_ptr<Design> un_sync(const Problem&, int side, Stencil, Padding = Padding::own);
/// The same two, as printed and with their own padding, but ending where P is computed.
std::unique_ptr<Design> thread_sync_only_p(const Problem&, int side);
std::unique_ptr<Design> un_sync_only_p(const Problem&, int side);

}  // namespace warploom::bench::sync
