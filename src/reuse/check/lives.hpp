#pragma once

#include <string>
#include <vector>

#include "reuse/check/uniformity.hpp"

/// The conditions of the soundness contract for objects whose bytes overlap.
namespace warploom::reuse::checking {

/// Just before an instruction, what an object holds is never read again.
struct DeadPoint {
  std::uint32_t instruction = 0, object = 0;
  std::string proof;
  bool assumes_initialised = false;  ///< holds only if the kernel reads no uninitialised shared memory
};

/// A load that may find another object's data.
struct Clobbered {
  std::uint32_t pair = 0;    ///< Kernel::pairs
  std::uint32_t object = 0;  ///< that was overwritten
  std::uint32_t load = 0;    ///< instruction
  bool operator==(const Clobbered&) const = default;
};

/// What groups do behind their instructions. Adds an access at each wait that ends one; tells of accesses
/// that overlap what is still under way, and of threads that leave meanwhile. Before everything else here.
std::vector<std::string> follow_groups(Kernel& k);
/// Condition 1: paths that store A, store B, load A, with no dead point of A between. What memory holds when
/// the kernel starts is undefined.
std::vector<Clobbered> find_clobbered(const Kernel& k, const std::vector<DeadPoint>& dead);
/// Condition 2: paths free of barriers between accesses of both; a text for each pair.
std::vector<std::string> find_unseparated(const Kernel& k);
/// Condition 3: accesses of both in the region of a divergent branch.
std::vector<std::string> find_divergent_pairs(const Kernel& k, const Uniformity& uniformity);
/// Added barriers that not all threads reach together.
std::vector<std::string> find_bad_barriers(const Kernel& k, const Uniformity& uniformity);
/// Of each pair the lines of the barriers at which an access of it is pending, "12, 40 (added)".
std::vector<std::string> separating_barriers(const Kernel& k);

/// Blocks of the heads of loops to whose iterations all data of the object is private.
std::vector<std::uint32_t> private_loop_heads(const Kernel& k, const Uniformity& uniformity,
                                              std::uint32_t object);
/// Points from which on every byte that a load may read was stored after the point, for Kernel::block
/// threads.
std::vector<DeadPoint> covered_points(const Kernel& k, const Uniformity& uniformity, std::uint32_t object);

}  // namespace warploom::reuse::checking
