#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "sim/matrix_form.hpp"
#include "sim/step.hpp"

namespace warploom::sim {

struct Warp;

/// wgmma.mma_async: D = A B + D of four warps, of which each makes 16 of the 64 rows.
struct WarpgroupForm {
  Element factor = Element::f16, second = Element::f16, result = Element::f32;  ///< of A, B and D
  std::uint16_t n = 0, k = 0;                       ///< k: elements of a row of B, of bits eight at a time
  std::uint16_t kept = 0;                           ///< of a row of A: k, or half of it where A is sparse
  std::vector<Source> a;                            ///< registers; empty: Step::a is a descriptor
  std::vector<std::uint32_t> d;                     ///< registers
  bool transposed_a = false, transposed_b = false;  ///< m, or n, runs along a row of shared memory
  bool negated_a = false, negated_b = false, saturate = false;
  bool single_bits = false;  ///< A and B, whose products are counts of common bits
  Source metadata;           ///< of a sparse A
  std::uint8_t selector = 0;

  bool sparse() const { return kept != k; }
};

/// The products that a warp has begun and not waited for. They are computed when they are issued; their
/// factors in shared memory are read once more, for the race detector, when they are waited for, and until
/// then their results are what nobody wrote.
struct WarpgroupProducts {
  struct Product {
    const Step* step = nullptr;
    std::vector<std::uint32_t> read;  ///< 16 bytes each, in the block's shared memory
  };
  struct Group {
    std::vector<Product> products;
    bool committed = false;
  };
  std::vector<Group> groups;  ///< oldest first
  /// Lanes in which the result will be of what nobody wrote, by register as in Program::uses.
  std::unordered_map<std::uint32_t, Mask> undefined;
  bool fenced = false;  ///< by wgmma.fence
  using Values = std::array<std::uint32_t, kLanes>;
  /// Registers of sums, by offset, as the last fence or product left them; those of the last product in
  /// order. A register that has neither value was written since, and needs a fence. Compilers move sums to
  /// other registers between products.
  std::unordered_map<std::uint32_t, Values> held;
  std::vector<Values> last_sums;
  /// All registers at the last fence, of programs that have factors in registers: compilers move these too.
  std::vector<std::byte> at_fence;
  // wgmma.wait_group, which the four warps pass together.
  std::uint32_t waits = 0;  ///< begun
  bool waiting = false;     ///< at the last of them
};

}  // namespace warploom::sim
