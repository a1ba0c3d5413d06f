#pragma once

/// Which chain has a key, where chains are split while they are used (chain_split.hpp).

#include <bit>

#include "warploom/table/chain_split.hpp"

namespace warploom::table {

namespace chain_steps {

/// Completes what the header of a home line tells of, an insertion or a split.
template <class Slots, class Memory>
[[gnu::noinline]] void help(Memory& memory, LineIndex home_line, Header home) {
  if (home.frozen())
    Split<Slots, Memory>(memory, home_line, home).carry_out();
  else if (home.pending() != 0)
    finish(memory, home_line, home);
}

template <class Memory>
LineIndex descendant(const Memory& memory, const Attempt& attempt, std::uint32_t level) {
  return memory.home(attempt.base, low_bits(attempt.spread, level));
}

/// Begins a split of a chain at `level`, if nothing is in the way, or helps with what is.
template <class Slots, class Memory>
[[gnu::noinline]] void split(Memory& memory, LineIndex home, std::uint32_t level) {
  Word header = memory.load_acquire(home, kHeaderWord);
  const Tail tail{memory.load_acquire(home, kTailWord)};
  if (Header{header}.pending() == 0) {
    if (tail.level() != level || tail.pins() != 0) return;
    const Header frozen = Header{header}.with_frozen(level);
    if (memory.compare_exchange(home, kHeaderWord, header, frozen.bits)) header = frozen.bits;
  }
  help<Slots>(memory, home, Header{header});
}

}  // namespace chain_steps

/// Finds the chain of the attempt's key, and splits it where the map has more chains than it knows of. At
/// first this is a guess: nearly all chains are of the map's level, and a look at the line before the walk
/// would only delay it.
/// @return whether attempt.home has the key if it is of attempt.level; otherwise look again
template <class Slots, class Memory>
bool locate(Memory& memory, Attempt& attempt) {
  const std::uint32_t most = memory.level();
  if (attempt.level == Attempt::kNoLevel) {
    attempt.level = most;
    attempt.guessed = true;
    attempt.home = chain_steps::descendant(memory, attempt, most);
    return true;
  }
  std::uint32_t chain = low_bits(attempt.spread, most);
  for (;; chain ^= std::bit_floor(chain)) {
    const LineIndex home = memory.home(attempt.base, chain);
    const std::uint32_t level = Tail{memory.load_acquire(home, kTailWord)}.level();
    if (low_bits(attempt.spread, level) != chain) {
      if (chain == 0) return false;  // it was split since the map's level was read
      continue;
    }
    if (level < most && level >= attempt.least_split) {
      attempt.least_split = level + 1;
      chain_steps::split<Slots>(memory, home, level);
      return false;
    }
    attempt.level = level;
    attempt.guessed = false;
    if (home != attempt.home) {
      if (attempt.claim_line != kNoLine) chain_steps::give_back(memory, attempt);
      attempt.home = home;
      attempt.first_ordinal = 0;
    }
    return true;
  }
}

}  // namespace warploom::table
