#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "reuse/analysis/interference.hpp"
#include "reuse/analysis/kernel.hpp"
#include "warploom/ptx/ranges.hpp"

/// Parts of the dynamic array whose places only the launch knows: `smem + n`, `smem + blockDim.x`.
namespace warploom::reuse {

/// Such a part. Where it lies are sums of numbers known at launch, in terms of Carving::ranges().
struct CarvedPart {
  ptx::Linear begin;
  std::vector<ptx::Linear> ends = {};  ///< before each of these; nothing is known of them to each other
  std::uint32_t unit = 1;              ///< it moves by multiples: of its widest access [bytes]
  bool fixed = false;                  ///< an access names the array itself, and has no register to change
};

/// Where the parts go, as formulas of the launch.
struct CarvedPlan {
  std::vector<ptx::Linear> moved;  ///< of each part: by so much, never upwards [bytes]
  std::vector<ptx::Linear> ends;   ///< the greatest of these is the new size [bytes]
  std::uint64_t example_bytes = 0;
};

class Carving {
 public:
  /// Divides the kernel's dynamic array: its parts become objects as divide_into_parts() makes them, whose
  /// numbers are those of the example. nullopt: it has no two such parts, or none that depends on the launch.
  static std::optional<Carving> of(Kernel& kernel);

  /// First fit in the order of the places before, so that a launch that passes as many bytes as before stays
  /// right. Parts that interfere are proved apart, whatever the launch.
  CarvedPlan place(const Interference& interference) const;
  /// Whom each object shares bytes with, unless that is proved not to be.
  std::vector<ObjectSet> overlaps(const CarvedPlan& plan, std::size_t objects) const;

  const std::vector<CarvedPart>& parts() const { return parts_; }
  /// Accesses of which it is not proved that they keep to their part: index into SharedUse::accesses, part.
  const std::vector<std::pair<std::uint32_t, std::uint32_t>>& assumed() const { return assumed_; }
  /// Of Linear's that end at ptx::kOpenEnd: whatever the launch passes.
  static bool is_open(const ptx::Linear& a) { return a.constant > ptx::kOpenEnd / 2; }
  std::uint32_t object(std::size_t part) const { return first_ + static_cast<std::uint32_t>(part); }
  const ptx::AddressRanges& ranges() const { return *ranges_; }
  ptx::Linear end_before() const { return parts_.back().ends[0]; }
  /// A launch of which report and map show the numbers: 256 threads along x, parameters of 256.
  std::int64_t at_example(const ptx::Linear& a) const;
  std::int64_t example_of(std::uint32_t unknown) const;
  /// As C++: `8 * param_1 + 16`.
  std::string text(const ptx::Linear& a) const;
  /// Where a part begins with a plan, as C++.
  std::string place_of(std::size_t part, const CarvedPlan& plan) const;
  /// `block_x`, `param_1`, `param_1_at_8`.
  const std::string& name(std::uint32_t unknown) const { return names_.at(unknown); }

 private:
  /// Whether an end of these, moved, is proved to lie at `at` or before.
  bool before(const std::vector<ptx::Linear>& ends, const ptx::Linear& moved, const ptx::Linear& at) const;
  bool find(const Kernel& kernel, std::uint32_t object);

  std::unique_ptr<ptx::AddressRanges> ranges_;
  std::vector<CarvedPart> parts_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> part_of_, assumed_;  ///< access, part
  std::uint32_t first_ = 0;                                                 ///< object of the first part
  std::map<std::uint32_t, std::string> names_;
};

}  // namespace warploom::reuse
