#pragma once

/// The operations of chain.hpp on a CPU: the keys of a line are compared all at once, by the vector
/// instructions that every x86-64 has.

#include <bit>
#include <cstdint>
#include <exception>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#include "warploom/core/sanitizers.hpp"
#include "warploom/table/chain.hpp"
#include "warploom/table/cpu_lines.hpp"

namespace warploom::table {

#if defined(__x86_64__)
#define WARPLOOM_TABLE_VECTORS 1

/// Bit 2 s is set for every slot s whose word holds the key, live or not. Processors read each aligned word
/// of a vector at once, which is all that is needed; the language has no name for that, so ThreadSanitizer
/// must not look.
template <class Slots>
#if WARPLOOM_THREAD_SANITIZER
__attribute__((no_sanitize("thread"), noinline))
#endif
inline Word
matching_slots(const Word* line, Word key) {
  const auto* vectors = reinterpret_cast<const __m128i*>(line);
  if constexpr (Slots::kWide) {
    const __m128i wanted = _mm_set1_epi64x(static_cast<long long>(key));
    // Of two slots: bits of four halves of keys. The eighth slot is none; its key is that of the seventh.
    const auto two = [&](int slot, int other) __attribute__((always_inline)) {
      const __m128i keys =
          _mm_unpacklo_epi64(_mm_load_si128(vectors + 1 + slot), _mm_load_si128(vectors + 1 + other));
      return _mm_cmpeq_epi32(keys, wanted);
    };
    const __m128i first = _mm_packs_epi32(two(0, 1), two(2, 3)),
                  second = _mm_packs_epi32(two(4, 5), two(6, 6));
    const auto halves = static_cast<Word>(_mm_movemask_epi8(_mm_packs_epi16(first, second)));
    return halves & (halves >> 1) & kSlotMask<Slots>;
  } else {
    const __m128i wanted = _mm_set1_epi32(static_cast<int>(key));
    // Of the four slots of two vectors: all ones where the low half, the key, is the one wanted.
    const auto four = [&](int vector, int next) __attribute__((always_inline)) {
      const __m128 keys = _mm_shuffle_ps(_mm_castsi128_ps(_mm_load_si128(vectors + vector)),
                                         _mm_castsi128_ps(_mm_load_si128(vectors + next)), 0x88);
      return _mm_cmpeq_epi32(_mm_castps_si128(keys), wanted);
    };
    const auto low = static_cast<Word>(_mm_movemask_epi8(_mm_packs_epi32(four(1, 2), four(3, 4))));
    const auto high = static_cast<Word>(_mm_movemask_epi8(_mm_packs_epi32(four(5, 6), four(7, 7))));
    return (low | high << 16) & kSlotMask<Slots>;
  }
}
#endif

/// What scan_chain() of chain.hpp gives.
template <class Slots>
Scan scan_lines(const OneThreadsLines& lines, const Attempt& attempt) {
#if defined(WARPLOOM_TABLE_VECTORS)
  Scan scan;
  LineIndex line = attempt.home;
  for (std::uint32_t ordinal = 0; line != kNoLine; ++ordinal) {
    const Word* const words = lines.words(line);
    const Header header{load_acquire(words + kHeaderWord)};
    if (!observe<Slots>(scan, attempt, line, ordinal, header, matching_slots<Slots>(words, attempt.key)))
      break;
    const Tail tail{load_acquire(words + kTailWord)};
    if (ordinal == 0) scan.home_tail = tail;
    line = tail.next();
  }
  return scan;
#else
  return scan_chain<Slots>(lines, attempt);
#endif
}

struct Answer {
  Outcome outcome = Outcome::invalid;
  Word value = 0;             ///< with found and updated
  std::uint64_t retries = 0;  ///< walks that another operation made void
};

#if defined(WARPLOOM_TABLE_VECTORS)
struct FoundAtHome {
  bool known;  ///< or the whole chain has to be walked through
  bool there;
  Word value;  ///< 0 if the key is not there
};

/// A find that needs the home line only and meets no change of it, nearly all: in few instructions and
/// without a branch on whether the key is there, which no processor can predict. So it goes on with what
/// comes after the find, to the next one perhaps, while the line is on its way.
/// @param words  the home line of the key's chain at that level of the map
template <class Slots>
[[gnu::always_inline]] inline FoundAtHome find_at_home(const Word* words, Word key, std::uint32_t level) {
  const Header header{load_acquire(words + kHeaderWord)};
  const Tail tail{load_acquire(words + kTailWord)};
  const Word found = matching_slots<Slots>(words, key) & header.live_slots();
  // Twice the slot's number; of the last slot where there is none.
  const auto twice = static_cast<std::size_t>(std::countr_zero(found | Word{1} << (2 * Slots::kSlots - 2)));
  // x86-64 reads in this order: header, slots, value, header. No other version, hence always this pair.
  const Word value =
      Slots::kWide ? load_acquire(words + 3 + twice) : load_acquire(words + 2 + twice / 2) >> 32;
  if (load_acquire(words + kHeaderWord) != header.bits) [[unlikely]]
    return {};
  // Where it is of another level, the key may be in another chain.
  if ((header.pending() | static_cast<LineIndex>(tail.bits) | (tail.level() ^ level)) != 0 && found == 0)
      [[unlikely]]
    return {};
  return {true, found != 0, found != 0 ? value : 0};
}
#endif

/// What chain a key belongs to, whatever the level: Attempt's base and spread.
struct Place {
  LineIndex base = 0;
  std::uint32_t spread = 0;
};

inline Attempt attempt_at(Place place, Operation operation, Word key, Word operand) {
  Attempt attempt;
  attempt.operation = operation;
  attempt.home = attempt.base = place.base;
  attempt.spread = place.spread;
  attempt.key = key;
  attempt.operand = operand;
  return attempt;
}

/// The whole of an operation, without calls but for what is rare: a processor that waits for a line goes on
/// to the next operation's only if it holds the instructions between.
template <class Slots>
[[gnu::flatten]] Answer carry_out(const CpuLines& lines, Place place, Operation operation, Word key,
                                  Word operand) {
  Answer answer;
  if (static_cast<int>(operation) >= kOperations) return answer;
#if defined(WARPLOOM_TABLE_VECTORS)
  if (operation == Operation::find) {
    const std::uint32_t level = lines.level();
    const Word* const home = lines.home_words(place.base, low_bits(place.spread, level));
    const FoundAtHome find = find_at_home<Slots>(home, key, level);
    if (find.known) [[likely]]
      return {find.there ? Outcome::found : Outcome::absent, find.value};
  }
#endif
  Attempt attempt = attempt_at(place, operation, key, operand);
  const OneThreadsLines mine(lines);
  while (!locate<Slots>(mine, attempt) || !advance<Slots>(mine, attempt, scan_lines<Slots>(mine, attempt)))
    ++answer.retries;
  answer.outcome = attempt.outcome;
  answer.value = attempt.value;
  return answer;
}

/// Gives the value of a key that is there to `change`, as a word, and puts what it gives in the value's
/// place, at one moment. `change` may be called several times. @return updated, with the value before, or
/// absent
template <class Slots, class Change>
Answer change_value(const CpuLines& all, Place place, Word key, const Change& change) {
  const OneThreadsLines lines(all);
  Attempt attempt = attempt_at(place, Operation::find, key, 0);
  std::exception_ptr thrown;  // by `change`, under a pin that must not stay
  for (bool done = false; !done;) {
    if (!locate<Slots>(lines, attempt)) continue;
    const Scan scan = scan_lines<Slots>(lines, attempt);
    if (scan.line == kNoLine) {
      done = advance<Slots>(lines, attempt, scan);
    } else if (!chain_steps::must_stay<Slots>(lines, attempt, {lines.load_acquire(scan.line, kHeaderWord)})) {
      done = chain_steps::change_in_place<Slots>(
          lines, attempt, scan.line, scan.slot, [&](LineIndex line, int word) {
            constexpr int kShift = chain_steps::kValueShift<Slots>;
            Word before = lines.load_acquire(line, word);
            const Word key_bits = Slots::kWide ? 0 : key;
            try {
              while (!lines.compare_exchange(line, word, before,
                                             key_bits | change(before >> kShift) << kShift)) {
              }
            } catch (...) {
              thrown = std::current_exception();
            }
            return before;
          });
      if (thrown) std::rethrow_exception(thrown);
    }
  }
  return {attempt.outcome, attempt.value, 0};
}

}  // namespace warploom::table
