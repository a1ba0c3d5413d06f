#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reuse/analysis/kernel.hpp"
#include "warploom/ptx/ranges.hpp"

namespace warploom::reuse {

/// Of addresses that are known modulo 2^32: numbers so near to an array name it alone.
inline constexpr std::int64_t kNear = std::int64_t{1} << 31;

enum class Divide {
  static_arrays,  ///< arrays with storage of their own
  dynamic_array,  ///< the one extern array; all others keep their storage
  by_launch,      ///< the same where the launch decides where its parts lie (carving.hpp)
};

/// Divides arrays of which every access is proved to stay in one of several ranges of bytes that do not
/// overlap: each range becomes an object. Ranges that overlap, or of which that is not proved, are one.
/// Accesses, markers and comparisons name the new objects afterwards; SharedUse::points_into does not.
/// @return false if no array was divided
bool divide_into_parts(Kernel& kernel, ptx::AddressRanges& ranges, Divide what);

/// The first access that every thread or thread (0, 0, 0) comes to, whatever the launch, and of which none is
/// inside its array; looked for among those displaced by more than the array has bytes, or by less than none.
std::optional<Reason> find_overrun(const Kernel& kernel, ptx::AddressRanges& ranges);

/// "tile[0..4,096)" of a part, in the report; its variable's name otherwise.
std::string part_name(const Object& object, const std::string& array);

}  // namespace warploom::reuse
