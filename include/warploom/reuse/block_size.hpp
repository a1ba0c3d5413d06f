#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace warploom::reuse {

using BlockShape = std::array<std::uint32_t, 3>;  ///< [threads] along x, y, z

/// Where a number in a report comes from.
enum class Origin { unknown, given, required_threads, maximal_threads, ptxas, declared, recorded };
/// "--block", ".reqntid", ".maxntid", "ptxas", ...: words for the report.
std::string_view name(Origin origin);

/// How a kernel is launched, as recorded or written down: it says whether rewriting pays. Where nothing is
/// won without, and all launches of the kernel have one block size, a proof may use that; the kernel then
/// takes no other (.reqntid).
struct Launch {
  std::string kernel = {};           ///< by its name in the PTX
  BlockShape block = {1, 1, 1};      ///< 1 to 1,024 threads in all
  std::uint64_t shared_dynamic = 0;  ///< [bytes a block]
};

}  // namespace warploom::reuse
