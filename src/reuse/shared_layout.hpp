#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "warploom/ptx/module.hpp"

namespace warploom::reuse {

/// The static shared memory of a kernel as ptxas 13 lays it out: arrays that are used, of the kernel, of the
/// module, of the functions it reaches, then the functions' unused ones; dynamic memory begins after them.
class SharedLayout {
 public:
  SharedLayout(const ptx::Module& module, const ptx::Function& kernel);

  /// [bytes] from the first array to where dynamic memory begins.
  std::uint64_t bytes() const { return bytes_with({}, 0); }
  /// The same with a pool at the front in place of the variables `pooled` (ascending).
  std::uint64_t bytes_with(std::span<const std::uint32_t> pooled, std::uint64_t pool_bytes) const;
  /// The kernel, or a function it reaches, uses unsized `extern` shared memory.
  bool dynamic() const { return dynamic_; }

 private:
  struct Array {
    std::uint32_t variable;
    std::uint64_t bytes, alignment;
  };
  std::vector<Array> arrays_;  ///< in order; the unsized ones, whose alignment counts, are last
  bool dynamic_ = false;
};

}  // namespace warploom::reuse
