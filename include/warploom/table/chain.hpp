#pragma once

/// The operations on one chain of lines, for any number of threads at once, without locks. A chain is a home
/// line and the lines that were appended to it; which chain a key belongs to is the caller's affair
/// (hash.hpp).
///
/// `Memory` is described in chain_walk.hpp. The proof is in docs/design/0006-table.md, whose names of steps
/// (claim, publish, finish) are used here.

#include "warploom/table/chain_locate.hpp"

namespace warploom::table {

namespace chain_steps {

/// Where the value stands in its word
template <class Slots>
inline constexpr int kValueShift = Slots::kWide ? 0 : 32;

/// Changes the value of a live pair in place by change(line, word), which gives the word before. Between pin
/// and unpin the slot can be erased but not claimed again nor moved, so the value that is changed is never
/// another key's. @return whether the key was there
template <class Slots, class Memory, class Change>
WARPLOOM_HOST_DEVICE bool change_in_place(Memory& memory, Attempt& attempt, LineIndex line, int slot,
                                          Change change) {
  memory.fetch_add_relaxed(line, kTailWord, Tail::kOnePin);
  // Changes nothing, and so takes its place among the changes of the header: a claim (or a split) that comes
  // later sees the pin, one that came before is seen.
  const Header header{memory.fetch_or(line, kHeaderWord, 0)};
  const int key_word = Slots::key_word(slot);
  const bool there = header.live(slot) && !(Memory::kGrows && header.frozen()) &&
                     Slots::holds(memory.load_acquire(line, key_word), attempt.key);
  if (there) {
    const Word before = change(line, key_word + (Slots::kWide ? 1 : 0));
    attempt.outcome = Outcome::updated;
    attempt.value = (before >> kValueShift<Slots>)&attempt.value_mask;
  }
  memory.fetch_add(line, kTailWord, -Tail::kOnePin);
  return there;
}

template <class Slots, class Memory>
WARPLOOM_HOST_DEVICE bool update(Memory& memory, Attempt& attempt, LineIndex line, int slot) {
  return change_in_place<Slots>(memory, attempt, line, slot, [&](LineIndex, int word) {
    constexpr int kShift = kValueShift<Slots>;
    const Word key = Slots::kWide ? 0 : attempt.key;
    if (attempt.operation == Operation::add)
      return memory.fetch_add_relaxed(line, word, attempt.operand << kShift);
    if (attempt.operation == Operation::assign)
      return memory.exchange(line, word, key | (attempt.operand << kShift));
    Word before = memory.load(line, word);
    for (;;) {
      const Word value = (before >> kShift) & attempt.value_mask;
      const bool keeps =
          attempt.operation == Operation::min ? value <= attempt.operand : value >= attempt.operand;
      // A value that stays is written as well: the operation takes effect where the value is read.
      const Word after = keeps ? before : key | (attempt.operand << kShift);
      if (memory.compare_exchange_acquire(line, word, before, after)) return before;
    }
  });
}

/// Whether pairs of this line must not be changed: a split keeps it as it is, with which this helps, or the
/// chain is not what locate() took it for.
template <class Slots, class Memory>
WARPLOOM_HOST_DEVICE bool must_stay(Memory& memory, const Attempt& attempt, Header header) {
  if constexpr (Memory::kGrows) {
    if (header.frozen()) help<Slots>(memory, attempt.home, {memory.load_acquire(attempt.home, kHeaderWord)});
    return header.frozen() || Tail{memory.load_acquire(attempt.home, kTailWord)}.level() != attempt.level;
  } else {
    return false;
  }
}

/// The key was seen in a live slot of a line, where both words were read in any order.
/// @param header  of the line, as the walk read it: before all that is read here
/// @return false: it is not there any more, walk again
template <class Slots, class Memory>
WARPLOOM_HOST_DEVICE bool at_key(Memory& memory, Attempt& attempt, LineIndex line, int slot, Header header) {
  const int key_word = Slots::key_word(slot);
  // Read after the header, the key is that of the live pair for as long as version and state do not change.
  const Word word = memory.load_acquire(line, key_word);
  if (!Slots::holds(word, attempt.key)) return false;
  const auto same = [&](Header now) { return now.version() == header.version() && now.live(slot); };
  const bool changes = attempt.operation != Operation::find && attempt.operation != Operation::insert;
  if (changes && must_stay<Slots>(memory, attempt, header)) return false;
  switch (attempt.operation) {
    case Operation::find:
    case Operation::insert: {
      const Word value =
          Slots::kWide ? memory.load_acquire(line, key_word + 1) : static_cast<Word>(word >> 32);
      if (!same(Header{memory.load(line, kHeaderWord)})) return false;
      attempt.outcome = Outcome::found;
      attempt.value = value & attempt.value_mask;
      return true;
    }
    case Operation::erase: {
      Word expected = header.bits;
      do {
        if (memory.compare_exchange_acquire(line, kHeaderWord, expected,
                                            Header{expected}.with(slot, SlotState::free).bits)) {
          attempt.outcome = Outcome::erased;
          return true;
        }
      } while (same(Header{expected}));
      return false;
    }
    default:
      return update<Slots>(memory, attempt, line, slot);
  }
}

/// Whether the chain was not what locate() took it for, or is no more: so the key may be in another one.
template <class Memory>
WARPLOOM_HOST_DEVICE bool moved(Memory& memory, const Attempt& attempt, const Scan& scan) {
  if constexpr (Memory::kGrows) {
    // A home line of version 0 may have become a chain between the reading of its header and of its tail.
    if (scan.home_tail.level() != attempt.level || (attempt.guessed && scan.home.version() == 0)) return true;
    // The last line of several was read after that.
    return scan.last_ordinal != 0 &&
           Tail{memory.load_acquire(attempt.home, kTailWord)}.level() != attempt.level;
  } else {
    return false;
  }
}

}  // namespace chain_steps

/// Does what can be done for the attempt after a walk. @return whether it is complete; if not, walk again
template <class Slots, class Memory>
WARPLOOM_HOST_DEVICE bool advance(Memory& memory, Attempt& attempt, const Scan& scan) {
  bool done = false;
  Header home = scan.home;
  if (scan.line != kNoLine) {
    done = chain_steps::at_key<Slots>(memory, attempt, scan.line, scan.slot, scan.header);
  } else if (scan.home.pending() != 0) {
    if constexpr (Memory::kGrows)
      chain_steps::help<Slots>(memory, attempt.home, scan.home);
    else
      finish(memory, attempt.home, scan.home);
  } else if (chain_steps::moved(memory, attempt, scan)) {
    // locate() finds where to
  } else if (!attempt.inserts()) {
    attempt.outcome = Outcome::absent;
    done = true;
  } else if (attempt.claim_line != kNoLine || chain_steps::claim<Slots>(memory, attempt, scan, home)) {
    done = chain_steps::publish<Slots>(memory, attempt, scan.home, home);
  } else {
    done = attempt.outcome == Outcome::full;
  }
  if (done && attempt.claim_line != kNoLine) chain_steps::give_back(memory, attempt);
  return done;
}

/// The whole of an operation. Lock-free; expected cost two reads of a line and, for a change, one CAS (erase)
/// or two (insert).
template <class Slots, class Memory>
WARPLOOM_HOST_DEVICE void run(Memory& memory, Attempt& attempt) {
  for (bool done = false; !done;) {
    if constexpr (Memory::kGrows)
      if (!locate<Slots>(memory, attempt)) continue;
    done = advance<Slots>(memory, attempt, scan_chain<Slots>(memory, attempt));
  }
}

}  // namespace warploom::table
