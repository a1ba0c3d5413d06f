#pragma once

/// Growth while others work: a chain is split into itself and a child, without locks, by helping. The proof
/// is in docs/design/0006-table.md, section 7.
///
/// A map has as many base chains as it began with. The descendants of one are numbered; a key is in number
/// (spread of the key, its low `level` bits) of its base, where each descendant has a level of its own, kept
/// in the tail of its home line. A split of chain c at level L makes it and its child, c + 2^L, chains of
/// level L + 1. A home line of level 0 which is not the base's is no chain yet.
///
///   freeze  the home header, then those of the other lines: no pair of the chain changes any more. Where a
///           pin is left its owner may still change a value, so the split is refused, and nobody waits
///   copy    the child's pairs into slots claimed in the child's home line and, if they are too few, into
///           lines that nobody else knows. Every thread that helps makes a copy of its own
///   decide  the child's tail, by one CAS: whose copy it is, or that the split is refused
///   settle  the chosen slots are live, the child is of level L + 1
///   thaw    the chain is of level L + 1, and its lines lose the pairs that the child has; home line last
///
/// Every step can be done by anyone, any number of times, and has no effect when it comes late.

#include "warploom/table/chain_insert.hpp"

namespace warploom::table {

constexpr std::uint32_t low_bits(std::uint32_t bits, std::uint32_t count) {
  return bits & ((std::uint32_t{1} << count) - 1);
}

/// What the tail of a home line that is no chain yet says of the parent's split.
struct Decision {
  Tail tail;

  // The bits of pins, which there are none of. In a choice, bit 32 + 2 s is set for each slot s.
  static constexpr Word kChosen = Word{2} << 32, kRefused = Word{8} << 32;
  static constexpr int kSlotsShift = 32, kVersionShift = 36;

  static constexpr Tail choice(Word slots, LineIndex next) {
    return Tail{kChosen | slots << kSlotsShift}.with_next(next);
  }
  static constexpr Tail refusal(Header frozen) {
    return {kRefused | Word{frozen.version()} << kVersionShift};
  }
  constexpr bool chosen() const { return tail.level() == 0 && (tail.bits & kChosen) != 0; }
  constexpr Word slots() const { return (tail.bits >> kSlotsShift) & Header::kLowBits; }
  /// Of an earlier split that was refused, nothing is left but the refusal.
  constexpr bool open(Header frozen) const {
    return tail.level() == 0 && !chosen() && tail.bits != refusal(frozen).bits;
  }
};

/// One thread's part in the split that the frozen header of a home line tells of.
template <class Slots, class Memory>
class Split {
 public:
  Split(Memory& memory, LineIndex home, Header frozen)
      : memory_(memory), home_(home), frozen_(frozen), home_tail_(tail(home)) {
    const std::uint32_t level = home_tail_.level();
    level_ = (level & 1) == frozen.frozen_parity() ? level : level - 1;
    child_ = memory.home(home, std::uint32_t{1} << level_);
  }

  /// Afterwards the split is over, done or refused.
  void carry_out() {
    if (over()) return;  // else level_ and child_ are right, and the child's line is there
    decision_ = {tail(child_)};
    if (over()) return;  // and if not, this is from before the decision
    home_leaving_ = leaving(home_, frozen_);
    if (decision_.open(frozen_) && !(freeze() && copy())) decide(Decision::refusal(frozen_));
    const bool done = settle();
    const Tail now = done ? raise_level() : tail(home_);
    for (LineIndex line = now.next(); line != kNoLine; line = tail(line).next())
      if (!thaw(line, done)) return;
    thaw_home(done);
  }

 private:
  Tail tail(LineIndex line) const { return {memory_.load_acquire(line, kTailWord)}; }
  bool is(Header now) const {
    return now.pending() == frozen_.pending() && now.version() == frozen_.version();
  }
  bool over() const { return !is(Header{memory_.load_acquire(home_, kHeaderWord)}); }

  bool undecided() const { return tail(child_).bits == decision_.tail.bits; }

  /// Live slots whose pairs go to the child
  Word leaving(LineIndex line, Header header) const {
    Word slots = 0;
    for (Word live = header.live_slots(); live != 0; live &= live - 1) {
      Word key = memory_.load_acquire(line, Slots::key_word(first_slot(live)));
      if constexpr (!Slots::kWide) key = static_cast<std::uint32_t>(key);
      if ((memory_.spread(key) >> level_ & 1) != 0) slots |= live & -live;
    }
    return slots;
  }
  /// Calls visit(line, slots) for the lines of the chain, as they are while nothing is decided, as long as it
  /// gives true.
  template <class Visit>
  bool for_leaving(const Visit& visit) const {
    if (!visit(home_, home_leaving_)) return false;
    for (LineIndex line = home_tail_.next(); line != kNoLine; line = tail(line).next())
      if (!visit(line, leaving(line, Header{memory_.load_acquire(line, kHeaderWord)}))) return false;
    return true;
  }

  /// @return whether no pair changes any more
  bool freeze() {
    // Who pins a line from here on sees that it is frozen: its tail is read later than its header.
    if (home_tail_.pins() != 0) return false;
    for (LineIndex line = home_tail_.next(); line != kNoLine;) {
      Word header = memory_.load_acquire(line, kHeaderWord);
      while (!Header{header}.frozen()) {
        // Read after the header: a line that is thawed already is not frozen again, for thawing changed it.
        if (!undecided()) return false;
        if (memory_.compare_exchange(line, kHeaderWord, header, Header{header}.with_frozen(level_).bits))
          break;
      }
      const Tail seen = tail(line);
      if (seen.pins() != 0) return false;
      line = seen.next();
    }
    return true;
  }

  /// @return false: there is no memory
  bool copy() {
    const Word claimed = claim();
    LineIndex to = child_, more = kNoLine;  // where to copy; the last of the lines that nobody else knows
    Word free = claimed;
    const bool room = for_leaving([&](LineIndex line, Word slots) {
      for (; slots != 0; slots &= slots - 1) {
        if (free == 0) {
          to = memory_.allocate();
          if (to == kNoLine) return false;
          memory_.store(to, kTailWord, Tail{}.with_next(more).bits);
          more = to;
          free = kSlotMask<Slots>;
        }
        const int from = Slots::key_word(first_slot(slots)), at = Slots::key_word(first_slot(free));
        for (int word = 0; word < (Slots::kWide ? 2 : 1); ++word)
          memory_.store(to, at + word, memory_.load_acquire(line, from + word));
        free &= free - 1;
        if (to != child_) memory_.store(to, kHeaderWord, 3 * (kSlotMask<Slots> & ~free));
      }
      return true;
    });
    if (room && decide(Decision::choice(claimed, more))) return true;
    if (claimed != 0) memory_.fetch_add(child_, kHeaderWord, -claimed);
    while (more != kNoLine) {
      const LineIndex line = more;
      more = tail(line).next();
      memory_.release(line);
    }
    return room;
  }

  /// Slots of the child's home line for the pairs that it gets, or as many as are free.
  Word claim() {
    std::uint32_t count = 0;
    for_leaving([&](LineIndex, Word slots) {
      count += count_slots(slots);
      return true;
    });
    Word header = 0;
    for (;;) {
      Word slots = 0, free = Header{header}.free_slots() & kSlotMask<Slots>;
      for (; count_slots(slots) < count && free != 0; free &= free - 1) slots |= free & -free;
      if (slots == 0) return 0;
      if (!memory_.compare_exchange(child_, kHeaderWord, header, header | slots)) continue;
      // A slot of a line that is a chain by now may be pinned, which this copy is too late to look at.
      if (undecided()) return slots;
      memory_.fetch_add(child_, kHeaderWord, -slots);
      return 0;
    }
  }

  /// @return whether it was this thread that did
  bool decide(Tail decision) {
    const bool done = memory_.compare_exchange(child_, kTailWord, decision_.tail.bits, decision.bits);
    if (done) decision_ = {decision};
    return done;
  }

  /// @return whether the child is a chain
  bool settle() {
    if (!decision_.chosen()) return decision_.tail.level() != 0;
    Word header = decision_.slots();
    while (Header{header}.version() == 0 &&
           !memory_.compare_exchange(child_, kHeaderWord, header,
                                     Header{header | 3 * decision_.slots()}.with_next_version().bits)) {
    }
    decide(Tail{}.with_next(decision_.tail.next()).with_level(level_ + 1));
    return true;
  }

  Tail raise_level() {
    Word now = home_tail_.bits;
    while (Tail{now}.level() == level_) {
      const Tail raised = Tail{now}.with_level(level_ + 1);
      if (memory_.compare_exchange(home_, kTailWord, now, raised.bits)) return raised;
    }
    return {now};
  }

  static Word thawed(Header header, Word gone) {
    return Header{header.bits & ~(3 * gone)}.without_pending().with_next_version().bits;
  }
  /// @return false: the split is over
  bool thaw(LineIndex line, bool done) const {
    Word header = memory_.load_acquire(line, kHeaderWord);
    for (;;) {
      const Header now{header};
      const Word gone = done && now.frozen() ? leaving(line, now) : 0;
      if (over()) return false;
      if (memory_.compare_exchange(line, kHeaderWord, header, thawed(now, gone))) return true;
    }
  }
  void thaw_home(bool done) {
    const Word gone = done ? home_leaving_ : 0;
    Word header = frozen_.bits;
    while (is(Header{header}) &&
           !memory_.compare_exchange(home_, kHeaderWord, header, thawed(Header{header}, gone))) {
    }
  }

  Memory& memory_;
  const LineIndex home_;
  const Header frozen_;
  const Tail home_tail_;
  std::uint32_t level_;
  LineIndex child_;
  Decision decision_;  ///< what the child's tail was last known to be
  Word home_leaving_ = 0;
};

}  // namespace warploom::table
