#pragma once

/// Walking through a chain of lines (chain.hpp): what an operation is, and what it sees before it changes
/// anything.
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
///   kGrows         whether chains are split while they are used. If so, there are as well (chain_split.hpp):
///   std::uint32_t level()                        bits of a key's spread that choose its chain by now
///   LineIndex home(base, chain)                  the home line of a chain
///   std::uint32_t spread(Word key)               the bits, of which the lowest counts first
///   void grow_if_due()                           called after a line was appended: may raise the level

#include "warploom/table/line.hpp"
#include "warploom/table/operation.hpp"

namespace warploom::table {

/// What one walk through a chain saw of a key.
struct Scan {
  Header home;     ///< of the first line, read before all else
  Tail home_tail;  ///< read after the first line's slots (not on a GPU)
  /// Where the key is: a live slot of that line, or kNoLine.
  LineIndex line = kNoLine;
  int slot = 0;
  Header header;  ///< of that line, read before all that follows the walk
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
  LineIndex home = 0;  ///< of the chain that has the key, as it seemed last where chains are split
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
  /// Where chains are split: the key's chain before any split and the bits that choose among its descendants,
  /// which the caller sets; the level at which `home` has the key (kNoLevel: not looked for yet), and the
  /// least level at which this operation still begins a split, so that it tries each once. Without
  /// initializers, for a constant of this size is written by one long instruction (`rep stos`).
  static constexpr std::uint32_t kNoLevel = Tail::kMostLevel + 1;
  LineIndex base;
  std::uint32_t spread;
  std::uint32_t level = kNoLevel, least_split = 0;
  bool guessed = false;  ///< whether nobody looked if home is a chain of that level

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
    scan.header = header;
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
    const Tail tail{memory.load_acquire(line, kTailWord)};
    if (ordinal == 0) scan.home_tail = tail;
    line = tail.next();
  }
  return scan;
}

}  // namespace warploom::table
