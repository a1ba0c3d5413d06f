#pragma once

#include "sim/block.hpp"

namespace warploom::sim {

/// Where the lanes of one memory instruction point, checked.
struct Pointers {
  ptx::Space space = ptx::Space::none;  ///< shared, global, local, param: of these lanes
  Mask lanes = 0;
  std::uint64_t address[kLanes];  ///< in that space
  std::byte* at[kLanes];
  Block* block = nullptr;  ///< Space::shared: whose, if not the warp's own
  bool written = false;    ///< Space::shared: somebody wrote every byte; false: perhaps not
  bool whole = false;      ///< Space::shared: between first and last byte lie neither gaps nor mbarriers
};
inline Block& owner(const Warp& warp, const Pointers& to) {
  return to.block != nullptr ? *to.block : *warp.block;
}

/// Addresses of a step: its base a (unless fixed) and immediate.
void addresses(const Warp& warp, const Step& step, const MemoryForm& form, std::uint64_t (&address)[kLanes]);
/// Resolves `lanes` of the addresses, `bytes` each that must be a multiple of `align`. Of a generic address,
/// the lanes in one space with the first of them; call again with the rest. False: a finding ended the
/// kernel.
bool resolve(Warp& warp, const Step& step, ptx::Space space, const std::uint64_t (&address)[kLanes],
             Mask lanes, std::uint32_t bytes, std::uint32_t align, bool write, Pointers& to);
/// Lanes of whose shared bytes, from the `first` on, nobody wrote one.
Mask unwritten(const Warp& warp, const Pointers& to, std::uint32_t bytes, std::uint32_t first = 0);
void mark_written(Warp& warp, const Pointers& to, std::uint32_t bytes, bool written = true,
                  std::uint32_t first = 0);
/// Tells the race detector, and lets others run if the schedule is to.
void note_access(Warp& warp, const Step& step, const MemoryForm& form, const Pointers& to, Access::Kind kind,
                 Mask silent = 0);
/// A finding if the address is made of what nobody wrote.
bool poisoned_address(Warp& warp, const Step& step, const MemoryForm& form, Mask lanes);
/// A finding that ends the kernel.
void fault(Warp& warp, const Step& step, FindingKind kind, unsigned lane, std::string what,
           std::string where);
std::string describe(const Warp& warp, ptx::Space space, std::uint64_t address);
std::string_view space_name(ptx::Space space);

// Bytes that other CPU threads may read and write at the same time: each element at once, in no order.
template <typename T>
T load_relaxed(const std::byte* from) {
  return __atomic_load_n(reinterpret_cast<const T*>(from), __ATOMIC_RELAXED);
}
template <typename T>
void store_relaxed(std::byte* to, T value) {
  __atomic_store_n(reinterpret_cast<T*>(to), value, __ATOMIC_RELAXED);
}

}  // namespace warploom::sim
