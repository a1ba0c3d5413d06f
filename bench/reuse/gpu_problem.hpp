#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gpu_driver.hpp"

/// What the reuse benchmark runs: the kernels of a manifest, on seeded random images of a given size.
namespace warploom::bench {

/// One line of a manifest: space-separated key=value pairs; a line that starts with # is skipped.
///   kernel=NAME     the entry's name
///   family=FAMILY   curvature3d, curvature2d or registration: arguments and reference
///   tile=X,Y,Z      results of a block
///   block=X,Y,Z     its threads
///   VARIANT=PATH    a module that holds the kernel, relative to the manifest; `original` must be there
struct ManifestKernel {
  std::string name, family;
  Kernel::Extent tile, block;
  std::map<std::string, std::string> modules;  ///< variant -> path
};

/// gpu-reuse/manifest beside the running program, where the build puts it.
std::string default_manifest();

/// @throws std::runtime_error naming file, line and key
std::vector<ManifestKernel> read_manifest(const std::string& path);

/// Inputs on the GPU, and the reference's results on the host. The same size and seed give the same problem.
class Problem {
 public:
  static std::unique_ptr<Problem> make(const std::string& family, Kernel::Extent size);
  virtual ~Problem() = default;

  /// One launch; does not wait for it.
  void launch(const Kernel&, const ManifestKernel&) const;
  /// Poisons the outputs, launches, and reads every output element back.
  std::vector<float> run(const Kernel&, const ManifestKernel&);

  /// How far results are from the reference, in units of its error bound: 1 is the limit; a NaN or a
  /// poisoned element counts as infinite.
  double worst_error(const std::vector<float>& results);

 protected:
  struct Reference {
    std::vector<double> value, bound;
  };
  explicit Problem(Kernel::Extent size) : size_(size) {}
  virtual Reference compute_reference() const = 0;

  Kernel::Extent size_;
  std::vector<Floats> outputs_;
  std::vector<void*> arguments_;  // what cuLaunchKernel wants; points into the derived object

 private:
  Reference reference_;  // empty until first needed
};

}  // namespace warploom::bench
