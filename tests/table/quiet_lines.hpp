#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "warploom/table/line.hpp"

namespace warploom::table {

/// Reads the chains of a table that nobody uses: lines of `stride` words, home lines first. Calls visit(home,
/// key, value) for the pairs. @param used  [lines], becomes true for those in chains
/// @return what is wrong: a line in two places, a slot claimed, an insertion pending, a pin left; or nothing
template <class Slots, class Visit>
std::string read_quiet_lines(std::span<const Word> words, int stride, std::uint32_t homes,
                             std::vector<bool>& used, const Visit& visit) {
  used.assign(words.size() / stride, false);
  for (LineIndex home = 0; home < homes; ++home) {
    for (LineIndex line = home; line != kNoLine;) {
      if (line >= used.size()) return "there is no line " + std::to_string(line);
      if (used[line]) return "line " + std::to_string(line) + " is in two places";
      used[line] = true;
      const std::span<const Word> at = words.subspan(std::size_t{line} * stride, stride);
      const Header header{at[kHeaderWord]};
      const Tail tail{at[kTailWord]};
      if (header.claimed_slots() != 0) return "a slot of line " + std::to_string(line) + " stays claimed";
      if (header.pending() != 0) return "an insertion into line " + std::to_string(line) + " stays pending";
      if (tail.pins() != 0) return "line " + std::to_string(line) + " stays pinned";
      for (int slot = 0; slot < Slots::kSlots; ++slot) {
        if (!header.live(slot)) continue;
        const Word first = at[Slots::key_word(slot)];
        if constexpr (Slots::kWide) {
          visit(home, first, at[Slots::key_word(slot) + 1]);
        } else {
          visit(home, Word{static_cast<std::uint32_t>(first)}, first >> 32);
        }
      }
      line = tail.next();
    }
  }
  return {};
}

}  // namespace warploom::table
