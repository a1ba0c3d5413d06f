#pragma once

/// What a line of the table is: 128 bytes, which a GPU reads as fast as any part of them, and the only memory
/// that the table consists of. Sixteen 64-bit words:
///
///   word 0      header: the slots' states, the pending insertion and the version, changed by CAS alone
///   word 1      tail: the next line of the chain (low half), the pins and the level (high half)
///   words 2..   slots: 14 of one word (32-bit key, low half, and 32-bit value) or 7 of two words (key,
///   value)
///
/// docs/design/0006-table.md says why, and proves what the operations of chain.hpp do with it.

#include <cstdint>

#include "warploom/core/host_device.hpp"

namespace warploom::table {

using Word = std::uint64_t;
using LineIndex = std::uint32_t;

inline constexpr int kLineWords = 16;
inline constexpr int kLineBytes = 128;
inline constexpr int kHeaderWord = 0;
inline constexpr int kTailWord = 1;
/// Line 0 is the first home line, so the end of a chain has a number of its own.
inline constexpr LineIndex kNoLine = 0xFFFFFFFF;

/// free -> claimed by one insertion, which writes the pair -> live: the pair is in the table -> free. So that
/// a slot is claimed by setting one bit, which does no harm where another was faster: claimed and live have
/// it.
enum class SlotState : std::uint32_t { free = 0, claimed = 1, live = 3 };

/// The first word of a line. `pending` and the version as a count of insertions matter in a chain's home line
/// (the first one); the version of another line counts what became live in that line.
struct Header {
  Word bits = 0;

  static constexpr int kMostSlots = 14;
  static constexpr int kPendingShift = 28;  ///< 16 bits: ordinal of a line in the chain * 16 + slot; 0: none
  static constexpr int kVersionShift = 44;  ///< 20 bits
  static constexpr std::uint32_t kVersionMask = 0xFFFFF;
  /// A chain has at most this many lines after the first: what `pending` can name.
  static constexpr std::uint32_t kMostOrdinal = 4095;

  WARPLOOM_HOST_DEVICE constexpr SlotState state(int slot) const {
    return static_cast<SlotState>((bits >> (2 * slot)) & 3);
  }
  WARPLOOM_HOST_DEVICE constexpr bool live(int slot) const { return state(slot) == SlotState::live; }
  WARPLOOM_HOST_DEVICE constexpr Header with(int slot, SlotState state) const {
    return {(bits & ~(Word{3} << (2 * slot))) | (static_cast<Word>(state) << (2 * slot))};
  }
  WARPLOOM_HOST_DEVICE constexpr std::uint32_t version() const {
    return static_cast<std::uint32_t>(bits >> kVersionShift);
  }
  WARPLOOM_HOST_DEVICE constexpr Header with_next_version() const {
    return {bits + (Word{1} << kVersionShift)};  // wraps at the top of the word
  }
  WARPLOOM_HOST_DEVICE constexpr std::uint32_t pending() const {
    return static_cast<std::uint32_t>(bits >> kPendingShift) & 0xFFFF;
  }
  WARPLOOM_HOST_DEVICE constexpr Header with_pending(std::uint32_t ordinal, int slot) const {
    return {(bits & ~(Word{0xFFFF} << kPendingShift)) |
            (Word{ordinal * 16 + static_cast<std::uint32_t>(slot)} << kPendingShift)};
  }
  WARPLOOM_HOST_DEVICE constexpr Header without_pending() const { return with_pending(0, 0); }

  /// No insertion is pending in a home line, so there ordinal 0 tells of a split (chain_split.hpp): its pairs
  /// stay as they are until it is over. In the other lines of the chain the same.
  WARPLOOM_HOST_DEVICE constexpr bool frozen() const { return pending() != 0 && pending() < 16; }
  WARPLOOM_HOST_DEVICE constexpr Header with_frozen(std::uint32_t level) const {
    return with_pending(0, 1 + static_cast<int>(level & 1)).with_next_version();
  }
  /// Of a split of a chain of an even level or an odd one
  WARPLOOM_HOST_DEVICE constexpr std::uint32_t frozen_parity() const { return pending() - 1; }

  /// The low bit of every slot's state: bit 2 s is set where slot s is live (claimed, free).
  static constexpr Word kLowBits = 0x5555555;
  WARPLOOM_HOST_DEVICE constexpr Word live_slots() const { return (bits >> 1) & kLowBits; }
  WARPLOOM_HOST_DEVICE constexpr Word claimed_slots() const { return bits & ~(bits >> 1) & kLowBits; }
  WARPLOOM_HOST_DEVICE constexpr Word free_slots() const { return ~bits & kLowBits; }

  friend constexpr bool operator==(const Header&, const Header&) = default;
};

/// The second word of a line.
struct Tail {
  Word bits = 0;

  static constexpr Word kOnePin = Word{1} << 32;

  static constexpr int kLevelShift = 59;
  static constexpr std::uint32_t kMostLevel = 31;

  /// The next line of the chain, or kNoLine
  WARPLOOM_HOST_DEVICE constexpr LineIndex next() const { return ~static_cast<LineIndex>(bits); }
  WARPLOOM_HOST_DEVICE constexpr std::uint32_t pins() const {
    return static_cast<std::uint32_t>(bits >> 32) & 0x7FFFFFF;
  }
  /// Of a home line in a map that grows: how many bits of the spread of its keys are known, see
  /// chain_split.hpp.
  WARPLOOM_HOST_DEVICE constexpr std::uint32_t level() const {
    return static_cast<std::uint32_t>(bits >> kLevelShift);
  }
  WARPLOOM_HOST_DEVICE constexpr Tail with_level(std::uint32_t level) const {
    return {(bits & ~(~Word{0} << kLevelShift)) | Word{level} << kLevelShift};
  }
  /// Stored inverted, so that a line of zeros is empty and the last of its chain.
  WARPLOOM_HOST_DEVICE constexpr Tail with_next(LineIndex line) const {
    return {(bits & ~Word{0xFFFFFFFF}) | static_cast<LineIndex>(~line)};
  }
};

/// Pairs of a 32-bit key and a 32-bit value, each one word.
struct NarrowSlots {
  static constexpr int kSlots = 14;
  static constexpr bool kWide = false;
  WARPLOOM_HOST_DEVICE static constexpr int key_word(int slot) { return 2 + slot; }
  WARPLOOM_HOST_DEVICE static constexpr bool holds(Word word, Word key) {
    return static_cast<std::uint32_t>(word) == static_cast<std::uint32_t>(key);
  }
};

/// Pairs of two words: keys and values of which one at least has 64 bits.
struct WideSlots {
  static constexpr int kSlots = 7;
  static constexpr bool kWide = true;
  WARPLOOM_HOST_DEVICE static constexpr int key_word(int slot) { return 2 + 2 * slot; }
  WARPLOOM_HOST_DEVICE static constexpr bool holds(Word word, Word key) { return word == key; }
};

/// Bits of every slot a line of this kind has, as Header's masks have them
template <class Slots>
inline constexpr Word kSlotMask = Header::kLowBits >> (2 * (Header::kMostSlots - Slots::kSlots));

}  // namespace warploom::table
