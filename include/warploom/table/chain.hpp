#pragma once

/// The operations on one chain of lines, for any number of threads at once, without locks. A chain is a home
/// line and the lines that were appended to it; which chain a key belongs to is the caller's affair
/// (hash.hpp).
///
/// `Memory` gives access to the lines' words and is what differs between CPU, GPU and the model checker:
///   Word load(line, word)                        orders nothing
///   Word load_acquire(line, word)                comes before all that follows it
///   void store(line, word, Word)                 orders nothing
///   bool compare_exchange(line, word, Word& expected, Word desired)   comes after all that precedes it and
///                                                before all that follows; `expected` is what was there
///   bool compare_exchange_acquire(...)           only the latter
///   void fence()                                 what precedes it comes before the changes that follow
///   Word fetch_or(line, word, Word)              as compare_exchange
///   Word fetch_or_acquire(line, word, Word)      as compare_exchange_acquire
///   Word fetch_add(line, word, Word)             comes after all that precedes it
///   Word fetch_add_relaxed(line, word, Word), exchange(line, word, Word)    order nothing
///   LineIndex allocate()                         a line of zeros that nobody else knows, or kNoLine
///   void release(LineIndex)                      one that nobody else got to know
///   Word choose(Word slots)                      one bit of several: which slot to claim
///   kPatience      a slot that is claimed is soon live or free: so often a walk is repeated before a line is
///                  appended instead
/// The proof is in docs/design/0006-table.md; names of its steps (claim, publish, finish) are used here.

#include "warploom/table/line.hpp"
#include "warploom/table/operation.hpp"

namespace warploom::table {

/// What one walk through a chain saw of a key.
struct Scan {
  Header home;  ///< of the first line, read before all else
  /// Where the key is: a live slot of that line, or kNoLine.
  LineIndex line = kNoLine;
  int slot = 0;
  /// The first line with a slot to claim, or kNoLine.
  LineIndex free_line = kNoLine;
  Header free_header;
  std::uint32_t free_ordinal = 0;
  /// The last line seen, and how many came before it.
  LineIndex last = kNoLine;
  std::uint32_t last_ordinal = 0;
  bool busy = false;  ///< a slot was claimed
};

/// One operation under way; what follows `operand` is its own.
struct Attempt {
  Operation operation = Operation::find;
  LineIndex home = 0;
  Word key = 0;
  Word operand = 0;  ///< the value inserted, assigned or added
  /// 64-bit slots may hold values of 32 bits, whose sums run over into bits that do not count.
  Word value_mask = ~Word{0};
  Outcome outcome = Outcome::absent;
  Word value = 0;  ///< with found and updated
  /// The slot claimed for the pair, which stands in it; kNoLine: none yet.
  LineIndex claim_line = kNoLine;
  std::uint32_t claim_ordinal = 0;
  int claim_slot = 0;
  Header claim_header;              ///< of that line, when the claim was made
  std::uint32_t first_ordinal = 0;  ///< lines before it are pinned, their free slots not to be claimed
  std::uint32_t patience = 0;       ///< how often it waited for another claim rather than append a line

  WARPLOOM_HOST_DEVICE bool inserts() const {
    return operation != Operation::find && operation != Operation::erase;
  }
};

/// The least s whose bit 2 s is set in `slots`, a mask of Header
WARPLOOM_HOST_DEVICE constexpr int first_slot(Word slots) {
#ifdef __CUDA_ARCH__
  return (__ffsll(static_cast<long long>(slots)) - 1) / 2;
#else
  return __builtin_ctzll(slots) / 2;
#endif
}

WARPLOOM_HOST_DEVICE constexpr std::uint32_t count_slots(Word slots) {
#ifdef __CUDA_ARCH__
  return static_cast<std::uint32_t>(__popcll(slots));
#else
  return static_cast<std::uint32_t>(__builtin_popcountll(slots));
#endif
}

/// Takes line number `ordinal` of the chain into the scan. `matches` has bit 2 s for every slot s whose word
/// holds the key, live or not. @return whether the walk goes on to the next line, if there is one
template <class Slots>
WARPLOOM_HOST_DEVICE bool observe(Scan& scan, const Attempt& attempt, LineIndex line, std::uint32_t ordinal,
                                  Header header, Word matches) {
  if (ordinal == 0) scan.home = header;
  if (const Word found = matches & header.live_slots()) {
    scan.line = line;
    scan.slot = first_slot(found);
    return false;
  }
  if (scan.free_line == kNoLine && ordinal >= attempt.first_ordinal &&
      (header.free_slots() & kSlotMask<Slots>) != 0) {
    scan.free_line = line;
    scan.free_header = header;
    scan.free_ordinal = ordinal;
  }
  scan.busy |= (header.claimed_slots() & kSlotMask<Slots>) != 0;
  scan.last = line;
  scan.last_ordinal = ordinal;
  return true;
}

/// Walks through the chain of attempt.home, one word after the other.
template <class Slots, class Memory>
WARPLOOM_HOST_DEVICE Scan scan_chain(Memory& memory, const Attempt& attempt) {
  Scan scan;
  LineIndex line = attempt.home;
  for (std::uint32_t ordinal = 0; line != kNoLine; ++ordinal) {
    const Header header{memory.load_acquire(line, kHeaderWord)};
    Word matches = 0;
    for (Word live = header.live_slots(); live != 0; live &= live - 1) {
      const int slot = first_slot(live);
      if (Slots::holds(memory.load(line, Slots::key_word(slot)), attempt.key)) matches |= live & -live;
    }
    if (!observe<Slots>(scan, attempt, line, ordinal, header, matches)) break;
    line = Tail{memory.load_acquire(line, kTailWord)}.next();
  }
  return scan;
}

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

template <class Slots, class Memory>
WARPLOOM_HOST_DEVICE void store_pair(Memory& memory, LineIndex line, int slot, Word key, Word value) {
  if constexpr (Slots::kWide) {
    memory.store(line, Slots::key_word(slot), key);
    memory.store(line, Slots::key_word(slot) + 1, value);
  } else {
    memory.store(line, Slots::key_word(slot), static_cast<std::uint32_t>(key) | (value << 32));
  }
}

/// Changes the value of a live pair in place. Between pin and unpin the slot can be erased but not claimed
/// again, so the value that is changed is never another key's. @return whether the key was there
template <class Slots, class Memory>
WARPLOOM_HOST_DEVICE bool update(Memory& memory, Attempt& attempt, LineIndex line, int slot) {
  memory.fetch_add_relaxed(line, kTailWord, Tail::kOnePin);
  // Changes nothing, and so takes its place among the changes of the header: a claim that comes later sees
  // the pin, one that came before is seen.
  const Header header{memory.fetch_or(line, kHeaderWord, 0)};
  const int key_word = Slots::key_word(slot);
  const bool there = header.live(slot) && Slots::holds(memory.load_acquire(line, key_word), attempt.key);
  if (there) {
    constexpr int kShift = Slots::kWide ? 0 : 32;
    const int word = key_word + (Slots::kWide ? 1 : 0);
    const Word key = Slots::kWide ? 0 : attempt.key;
    Word before = 0;
    switch (attempt.operation) {
      case Operation::add:
        before = memory.fetch_add_relaxed(line, word, attempt.operand << kShift);
        break;
      case Operation::assign:
        before = memory.exchange(line, word, key | (attempt.operand << kShift));
        break;
      default: {
        before = memory.load(line, word);
        for (;;) {
          const Word value = (before >> kShift) & attempt.value_mask;
          const bool keeps =
              attempt.operation == Operation::min ? value <= attempt.operand : value >= attempt.operand;
          // A value that stays is written as well: the operation takes effect where the value is read.
          const Word after = keeps ? before : key | (attempt.operand << kShift);
          if (memory.compare_exchange_acquire(line, word, before, after)) break;
        }
      }
    }
    attempt.outcome = Outcome::updated;
    attempt.value = (before >> kShift) & attempt.value_mask;
  }
  memory.fetch_add(line, kTailWord, -Tail::kOnePin);
  return there;
}

/// The key was seen in a slot of a line, where both words were read in any order. @return false: it is not
/// there any more, walk again
template <class Slots, class Memory>
WARPLOOM_HOST_DEVICE bool at_key(Memory& memory, Attempt& attempt, LineIndex line, int slot) {
  const int key_word = Slots::key_word(slot);
  const Header header{memory.load_acquire(line, kHeaderWord)};
  if (!header.live(slot)) return false;
  // Read after the header, the key is that of the live pair for as long as version and state do not change.
  const Word word = memory.load_acquire(line, key_word);
  if (!Slots::holds(word, attempt.key)) return false;
  const auto same = [&](Header now) { return now.version() == header.version() && now.live(slot); };
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
  return true;
}

template <class Memory>
WARPLOOM_HOST_DEVICE void give_back(Memory& memory, Attempt& attempt) {
  memory.fetch_add(attempt.claim_line, kHeaderWord, -(Word{1} << (2 * attempt.claim_slot)));
  attempt.claim_line = kNoLine;
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
  for (std::uint32_t waited = 0; Tail{memory.load_acquire(scan.free_line, kTailWord)}.pins() != 0; ++waited) {
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

/// Does what can be done for the attempt after a walk. @return whether it is complete; if not, walk again
template <class Slots, class Memory>
WARPLOOM_HOST_DEVICE bool advance(Memory& memory, Attempt& attempt, const Scan& scan) {
  bool done = false;
  Header home = scan.home;
  if (scan.line != kNoLine) {
    done = chain_steps::at_key<Slots>(memory, attempt, scan.line, scan.slot);
  } else if (scan.home.pending() != 0) {
    finish(memory, attempt.home, scan.home);
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
  while (!advance<Slots>(memory, attempt, scan_chain<Slots>(memory, attempt))) {
  }
}

}  // namespace warploom::table
