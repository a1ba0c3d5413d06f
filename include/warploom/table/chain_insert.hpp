#pragma once

/// Insertion into a chain (chain.hpp): claim a slot, publish the pair, finish what is pending. The names are
/// those of docs/design/0006-table.md, where the proof is.

#include "warploom/table/chain_walk.hpp"

namespace warploom::table {

/// Completes the insertion that `home` tells of, on behalf of whoever began it: makes its slot live in its
/// own line, then takes it out of the home header.
template <class Memory>
WARPLOOM_HOST_DEVICE void finish(Memory& memory, LineIndex home_line, Header home) {
  const std::uint32_t ordinal = home.pending() / 16;
  const int slot = static_cast<int>(home.pending() % 16);
  const auto over = [&](Header now) {
    return now.pending() != home.pending() || now.version() != home.version();
  };
  LineIndex line = home_line;
  for (std::uint32_t i = 0; i < ordinal; ++i) line = Tail{memory.load_acquire(line, kTailWord)}.next();
  for (;;) {
    // In this order: a header read while the insertion is still pending has its slot claimed by it or live.
    Word header = memory.load_acquire(line, kHeaderWord);
    if (over(Header{memory.load_acquire(home_line, kHeaderWord)})) return;
    if (Header{header}.state(slot) != SlotState::claimed) break;
    if (memory.compare_exchange(line, kHeaderWord, header,
                                Header{header}.with(slot, SlotState::live).with_next_version().bits))
      break;
  }
  Word now = memory.load_acquire(home_line, kHeaderWord);
  while (!over(Header{now}) &&
         !memory.compare_exchange(home_line, kHeaderWord, now, Header{now}.without_pending().bits)) {
  }
}

namespace chain_steps {

template <class Memory>
WARPLOOM_HOST_DEVICE void give_back(Memory& memory, Attempt& attempt) {
  memory.fetch_add(attempt.claim_line, kHeaderWord, -(Word{1} << (2 * attempt.claim_slot)));
  attempt.claim_line = kNoLine;
}

template <class Slots, class Memory>
WARPLOOM_HOST_DEVICE void store_pair(Memory& memory, LineIndex line, int slot, Word key, Word value) {
  if constexpr (Slots::kWide) {
    memory.store(line, Slots::key_word(slot), key);
    memory.store(line, Slots::key_word(slot) + 1, value);
  } else {
    memory.store(line, Slots::key_word(slot), static_cast<std::uint32_t>(key) | (value << 32));
  }
}

/// Makes a free slot this attempt's own. @param home  becomes the home header with the claim, if it is there
template <class Slots, class Memory>
WARPLOOM_HOST_DEVICE bool claim_free(Memory& memory, Attempt& attempt, const Scan& scan, Header& home) {
  const bool at_home = scan.free_ordinal == 0;
  // While an insertion is pending, its slot may have been erased: claimed now, finish() would make it live.
  if (!at_home && Header{memory.load_acquire(attempt.home, kHeaderWord)}.version() != scan.home.version())
    return false;
  Header now = scan.free_header;
  for (Word free; (free = now.free_slots() & kSlotMask<Slots>) != 0;) {
    const Word claimed = memory.choose(free);
    if (at_home) {
      const Header before{memory.fetch_or_acquire(scan.free_line, kHeaderWord, claimed)};
      home = now = {before.bits | claimed};
      if ((before.bits & claimed) != 0) continue;
    } else {
      // Here finish() may be under way: a slot that became live since must not be claimed, see above.
      const bool won =
          memory.compare_exchange_acquire(scan.free_line, kHeaderWord, now.bits, now.bits | claimed);
      if (!won && now.version() != scan.free_header.version()) return false;
      if (!won) continue;
    }
    attempt.claim_line = scan.free_line;
    attempt.claim_ordinal = scan.free_ordinal;
    attempt.claim_slot = first_slot(claimed);
    attempt.claim_header = {now.bits | claimed};
    return true;
  }
  return false;
}

/// Appends a line with the pair in its first slot, claimed. @return false: attempt.outcome is full, or
/// another thread appended one
template <class Slots, class Memory>
WARPLOOM_HOST_DEVICE bool append(Memory& memory, Attempt& attempt, const Scan& scan) {
  if (Tail{memory.load(scan.last, kTailWord)}.next() != kNoLine) return false;
  const LineIndex line = scan.last_ordinal < Header::kMostOrdinal ? memory.allocate() : kNoLine;
  if (line == kNoLine) {
    attempt.outcome = Outcome::full;
    return false;
  }
  attempt.claim_header = Header{}.with(0, SlotState::claimed);
  memory.store(line, kHeaderWord, attempt.claim_header.bits);
  store_pair<Slots>(memory, line, 0, attempt.key, attempt.operand);
  Word tail = memory.load_acquire(scan.last, kTailWord);
  do {
    if (Tail{tail}.next() != kNoLine) {
      memory.release(line);
      return false;
    }
  } while (!memory.compare_exchange(scan.last, kTailWord, tail, Tail{tail}.with_next(line).bits));
  attempt.claim_line = line;
  attempt.claim_ordinal = scan.last_ordinal + 1;
  attempt.claim_slot = 0;
  if constexpr (Memory::kGrows) memory.grow_if_due();
  return true;
}

/// Gets a slot and writes the pair into it. @param home  becomes the home header as it is known to be now
/// @return whether there is a claim; otherwise attempt.outcome is full, or the walk is to be repeated
template <class Slots, class Memory>
WARPLOOM_HOST_DEVICE bool claim(Memory& memory, Attempt& attempt, const Scan& scan, Header& home) {
  if (scan.free_line == kNoLine) {
    if (!scan.busy || attempt.patience >= Memory::kPatience) return append<Slots>(memory, attempt, scan);
    ++attempt.patience;
    return false;
  }
  if (!claim_free<Slots>(memory, attempt, scan, home)) return false;
  for (std::uint32_t waited = 0; Tail{memory.load(scan.free_line, kTailWord)}.pins() != 0; ++waited) {
    if (waited < Memory::kPatience) continue;
    give_back(memory, attempt);
    attempt.first_ordinal = scan.free_ordinal + 1;
    return false;
  }
  memory.fence();  // who sees the new pair sees that the slot is not live
  store_pair<Slots>(memory, attempt.claim_line, attempt.claim_slot, attempt.key, attempt.operand);
  return true;
}

/// finish() by the one who published, who knows where: so nothing is read as long as nobody else is about.
template <class Memory>
WARPLOOM_HOST_DEVICE void finish_own(Memory& memory, const Attempt& attempt, Header home) {
  Word header = attempt.claim_header.bits, expected = home.bits;
  const Header live = Header{header}.with(attempt.claim_slot, SlotState::live).with_next_version();
  if (!memory.compare_exchange_acquire(attempt.claim_line, kHeaderWord, header, live.bits) ||
      !memory.compare_exchange(attempt.home, kHeaderWord, expected, home.without_pending().bits))
    finish(memory, attempt.home, home);
}

/// The moment of an insertion: a change of the home header from a version of which the key was seen absent.
/// @param seen  the home header of the walk, @param home  what it was last known to be
/// @return false: another insertion came before, which may have been of the same key: walk again
template <class Slots, class Memory>
WARPLOOM_HOST_DEVICE bool publish(Memory& memory, Attempt& attempt, Header seen, Header home) {
  const bool at_home = attempt.claim_ordinal == 0;
  Word expected = home.bits;
  memory.fence();  // the pair, or a line appended, before all that may publish it
  for (;;) {
    const Header now{expected};
    if (now.version() != seen.version()) {
      // Where every insertion since is a slot that was not live before, those are all there is to look at.
      const Word fresh = now.live_slots() & ~seen.live_slots();
      if (now.pending() != 0 ||
          count_slots(fresh) != ((now.version() - seen.version()) & Header::kVersionMask))
        return false;
      for (Word slots = fresh; slots != 0; slots &= slots - 1) {
        const Word word = memory.load_acquire(attempt.home, Slots::key_word(first_slot(slots)));
        if (Slots::holds(word, attempt.key)) return false;
      }
      seen = now;
    }
    const Header desired = (at_home ? now.with(attempt.claim_slot, SlotState::live)
                                    : now.with_pending(attempt.claim_ordinal, attempt.claim_slot))
                               .with_next_version();
    if (memory.compare_exchange_acquire(attempt.home, kHeaderWord, expected, desired.bits)) {
      if (!at_home) finish_own(memory, attempt, desired);
      attempt.claim_line = kNoLine;
      attempt.outcome = Outcome::inserted;
      return true;
    }
  }
}

}  // namespace chain_steps

}  // namespace warploom::table
