#pragma once

#include <cstddef>
#include <cstdint>

namespace warploom::sim {

inline constexpr unsigned kLanes = 32;
/// A bit a lane.
using Mask = std::uint32_t;
inline constexpr Mask kAllLanes = 0xffffffffu;

/// Where an operand is read: so many bytes into the warp's registers, or into the program's constants.
struct Source {
  std::uint32_t offset : 31 = 0;
  std::uint32_t constant : 1 = 0;
};

inline Source in_registers(std::uint32_t offset) { return {offset & 0x7fffffffu, 0}; }
inline Source in_constants(std::uint32_t offset) { return {offset & 0x7fffffffu, 1}; }

/// A value of 128 bits.
struct Wide {
  std::uint64_t low, high;
};

/// Registers of one warp. A register of n bytes takes 32 n bytes, one value a lane, in lane order, aligned to
/// 64 bytes; 8-bit registers are kept as 16-bit ones. A predicate is one Mask. Constants look the same.
struct Registers {
  std::byte* base[2] = {nullptr, nullptr};  ///< registers, constants

  template <typename T>
  const T* read(Source source) const {
    return reinterpret_cast<const T*>(base[source.constant] + source.offset);
  }
  template <typename T>
  T* write(std::uint32_t offset) const {
    return reinterpret_cast<T*>(base[0] + offset);
  }
  Mask& predicate(std::uint32_t offset) const { return *reinterpret_cast<Mask*>(base[0] + offset); }
  Mask predicate(Source source) const {
    return *reinterpret_cast<const Mask*>(base[source.constant] + source.offset);
  }
};

struct Step;
/// Executes one instruction for the lanes of `lanes` (never empty); no other lane's registers change.
using Handler = void (*)(Registers& registers, const Step& step, Mask lanes);

inline constexpr std::uint32_t kNoSlot = 0xffffffffu;

/// One decoded instruction.
struct Step {
  Handler run = nullptr;
  std::uint32_t guard = kNoSlot;  ///< offset of @p, or kNoSlot
  bool guard_negated = false;
  bool added = false;  ///< the decoder's own: no instruction of the kernel's
  /// Bit i: source i (a is 0) is a predicate written with '!'.
  std::uint8_t negated = 0;
  std::uint16_t flags = 0;         ///< the handler's own
  std::uint32_t destination = 0;   ///< of `_`: a register nobody reads
  std::uint32_t second = kNoSlot;  ///< of d|p and p|q; of .cc: the carry (read and written)
  Source a, b, c, d;
  std::uint32_t extra = 0;        ///< the handler's own: an index into a table of the program
  std::uint32_t instruction = 0;  ///< ptx::Function::instructions
  std::int64_t immediate = 0;     ///< the handler's own: displacement, jump target, lop3's table
  std::uint32_t function = 0;     ///< ptx::Module::functions
};

}  // namespace warploom::sim
