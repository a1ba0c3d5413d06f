#pragma once

// To be included after chain.hpp, or after a mutant of it: makes of what is in there something to check.

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "table/model_checker.hpp"
#include "table/quiet_lines.hpp"

namespace warploom::table {
namespace {

/// A type of this file's own, so that the functions of mutants are different functions.
struct ReplayedMemory : model::Memory {
  using model::Memory::Memory;
};

/// Lines so short that chains grow, and that slots are used again at once.
template <int kCount, bool kTwoWords>
struct ShortSlots {
  static constexpr int kSlots = kCount;
  static constexpr bool kWide = kTwoWords;
  static constexpr int key_word(int slot) { return 2 + slot * (kWide ? 2 : 1); }
  static constexpr bool holds(Word word, Word key) {
    return kWide ? word == key : static_cast<std::uint32_t>(word) == static_cast<std::uint32_t>(key);
  }
};

template <class Slots>
constexpr int kStride = Slots::key_word(Slots::kSlots);

/// Each key at most once, each line in one chain or in the pool, and what read_quiet_lines() sees.
template <class Slots, int kLevels>
std::string inspect(const model::Words& memory_at_end, const model::Program& program,
                    std::uint32_t free_lines, model::Pairs& pairs) {
  model::Words memory = memory_at_end;
  const auto homes = static_cast<std::uint32_t>(program.homes) << kLevels;
  const int lines = static_cast<int>(homes) + program.pool;
  // Home lines that are no chains yet may tell of a split that was refused.
  const auto tail = [&](LineIndex home) { return Tail{memory[home * kStride<Slots> + kTailWord]}; };
  for (LineIndex home = program.homes; home < homes; ++home)
    if (tail(home).level() == 0) {
      if (memory[home * kStride<Slots>] != 0 || tail(home).next() != kNoLine || Decision{tail(home)}.chosen())
        return "a line that is no chain is not empty";
      memory[home * kStride<Slots> + kTailWord] = 0;
    }
  std::vector<bool> used;
  std::string wrong;
  const std::string damage =
      read_quiet_lines<Slots>(std::span(memory).first(lines * kStride<Slots>), kStride<Slots>, homes, used,
                              [&](LineIndex home, Word key, Word value) {
                                const auto base = static_cast<LineIndex>(key % program.homes);
                                const auto number = low_bits(model::spread_of(key), tail(home).level());
                                if (key >= pairs.size() || base + number * program.homes != home)
                                  wrong = "a pair of no key";
                                else if (std::exchange(pairs[key], value))
                                  wrong = "a key is in the table twice";
                              });
  for (int line = 0; line < lines && damage.empty(); ++line)
    if (used[line] == ((free_lines >> line & 1) != 0)) wrong = "a line is in no place or in two";
  return damage.empty() ? wrong : damage;
}

template <class Slots, int kLevels = 0>
constexpr model::Variant variant_of(bool (*step)(std::span<const Word>, Attempt&)) {
  return {kStride<Slots>, kLevels, step, [](model::Words&, const model::Program&) {},
          inspect<Slots, kLevels>};
}

template <class Slots>
bool model_step(std::span<const Word> answers, Attempt& attempt) {
  ReplayedMemory memory(answers);
  return advance<Slots>(memory, attempt, scan_chain<Slots>(memory, attempt));
}

template <int kSlots, bool kWide = false>
constexpr model::Variant kVariant =
    variant_of<ShortSlots<kSlots, kWide>>(model_step<ShortSlots<kSlots, kWide>>);

/// A map of one base chain, which doubles its home lines `kLevels` times, whenever a line was appended.
template <int kLevels>
struct GrowingMemory : ReplayedMemory {
  using ReplayedMemory::ReplayedMemory;
  static constexpr bool kGrows = true;
  std::uint32_t level() { return static_cast<std::uint32_t>(load(model::kLevelLine, 0)); }
  static LineIndex home(LineIndex base, std::uint32_t chain) {
    return chain >> kLevels != 0 ? model::kNowhere : base + chain;
  }
  static std::uint32_t spread(Word key) { return model::spread_of(key); }
  void grow_if_due() {
    Word before = load(model::kLevelLine, 0);
    if (before < kLevels) compare_exchange(model::kLevelLine, 0, before, before + 1);
  }
};

template <class Slots, int kLevels>
bool growing_step(std::span<const Word> answers, Attempt& attempt) {
  GrowingMemory<kLevels> memory(answers);
  return locate<Slots>(memory, attempt) &&
         advance<Slots>(memory, attempt, scan_chain<Slots>(memory, attempt));
}

template <int kSlots, int kLevels = 1, bool kWide = false>
constexpr model::Variant kGrowing =
    variant_of<ShortSlots<kSlots, kWide>, kLevels>(growing_step<ShortSlots<kSlots, kWide>, kLevels>);

struct Look {
  Header header;
  Tail tail;
  Word matches = 0;
};

/// A line read by several lanes at once, whose words come in no order: in one of three here.
enum class Order { header_first, tail_first, slots_first };

template <class Slots, Order kOrder>
Look look(ReplayedMemory& memory, LineIndex line, Word key) {
  Look seen;
  const auto header = [&] { seen.header = {memory.load(line, kHeaderWord)}; };
  const auto tail = [&] { seen.tail = {memory.load(line, kTailWord)}; };
  const auto slots = [&] {
    for (int slot = 0; slot < Slots::kSlots; ++slot)
      if (Slots::holds(memory.load(line, Slots::key_word(slot)), key)) seen.matches |= Word{1} << (2 * slot);
  };
  switch (kOrder) {
    case Order::header_first:
      header(), tail(), slots();
      break;
    case Order::tail_first:
      tail(), header(), slots();
      break;
    case Order::slots_first:
      slots(), tail(), header();
  }
  return seen;
}

/// The walk of src/table/batch.cu. @tparam kOrdered  whether it reads the home line again where that is
/// needed
template <class Slots, Order kOrder, bool kOrdered>
bool tile_step(std::span<const Word> answers, Attempt& attempt) {
  ReplayedMemory memory(answers);
  Scan scan;
  Header first;
  LineIndex line = attempt.home;
  for (std::uint32_t ordinal = 0;; ++ordinal) {
    if (kOrdered && ordinal == 0 && attempt.inserts()) first = Header{memory.load_acquire(line, kHeaderWord)};
    const Look seen = look<Slots, kOrder>(memory, line, attempt.key);
    const LineIndex next = seen.tail.next();
    if (ordinal == 0 && !(kOrdered && attempt.inserts())) {
      first = seen.header;
      if (kOrdered && next != kNoLine && (seen.matches & seen.header.live_slots()) == 0)
        first = Header{memory.load_acquire(line, kHeaderWord)};
    }
    if (!observe<Slots>(scan, attempt, line, ordinal, seen.header, seen.matches) || next == kNoLine) break;
    line = next;
  }
  scan.home = first;
  return advance<Slots>(memory, attempt, scan);
}

template <int kSlots, Order kOrder, bool kOrdered = true>
constexpr model::Variant kTileVariant =
    variant_of<ShortSlots<kSlots, false>>(tile_step<ShortSlots<kSlots, false>, kOrder, kOrdered>);

}  // namespace
}  // namespace warploom::table
