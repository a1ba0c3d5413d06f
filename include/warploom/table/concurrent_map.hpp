#pragma once

/// The table for threads of your own on a CPU: a map from integers to integers that any number of threads use
/// at once, without locks. Batches from host memory, on a CPU or a GPU: hash_table.hpp.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <type_traits>
#include <vector>

#include "warploom/core/error.hpp"
#include "warploom/core/run.hpp"
#include "warploom/table/chain.hpp"
#include "warploom/table/cpu_chain.hpp"
#include "warploom/table/cpu_lines.hpp"
#include "warploom/table/hash.hpp"
#include "warploom/table/hash_table.hpp"

namespace warploom::table {

struct MapOptions {
  /// Of home lines and appended ones together; 0: no limit but memory. Beyond it insertions end as
  /// Outcome::full.
  std::uint64_t most_bytes = 0;
  bool grows = true;  ///< makes more home lines when chains become long
};

/// What a batch did.
struct BatchCounts {
  Tally tally;
  std::uint64_t retries = 0;  ///< walks through a chain that another operation made void
};

/// Home lines for that many pairs at the default load: 9 pairs a line of 14, 4 pairs a line of 7. One more
/// than there may be, at most.
template <class Key, class Value>
constexpr std::uint64_t chains_for(std::uint64_t pairs) {
  constexpr std::uint64_t kLoad = sizeof(Key) == 4 && sizeof(Value) == 4 ? 9 : 4;
  return std::min(pairs / kLoad, CpuLines::kMostHomes) + 1;
}

/// Placement of one table and with Hash::mix, in fewer instructions: a processor that waits for one find's
/// line begins the next one only if it holds the instructions of both.
struct MixPlacement {
  std::uint32_t buckets = 1;

  constexpr std::uint32_t home(std::uint64_t key) const {
    return scaled(static_cast<std::uint32_t>(mix(key) >> 32), buckets);
  }
  constexpr std::uint64_t chains() const { return buckets; }
};

/// The same placement with at least that many chains.
inline MixPlacement grown(MixPlacement, std::uint64_t chains) { return {static_cast<std::uint32_t>(chains)}; }
inline Placement grown(Placement placement, std::uint64_t chains) {
  placement.buckets = static_cast<std::uint32_t>((chains + placement.tables - 1) / placement.tables);
  return placement;
}

/// What of a ConcurrentMap does not depend on how keys are placed. The functions here are for quiet moments,
/// when no other call on the map is under way, but for run(), size(), chains() and bytes().
template <class Key, class Value>
class ConcurrentChains {
 public:
  WARPLOOM_TABLE_REQUIRE_WORDS(Key, Value);
  using Slots = std::conditional_t<sizeof(Key) == 4 && sizeof(Value) == 4, NarrowSlots, WideSlots>;
  /// A value of 32 bits with a word of its own stands in the upper half: additions wrap as its own would, and
  /// words have its order.
  static constexpr int kValueShift = Slots::kWide && sizeof(Value) == 4 ? 32 : 0;

  ConcurrentChains(const ConcurrentChains&) = delete;
  ConcurrentChains& operator=(const ConcurrentChains&) = delete;

  /// Runs a batch on several threads, with the lines of operations to come fetched ahead. All spans have the
  /// same length or, where nothing is wanted of them, none; see HashTable::run. The operations of a batch are
  /// concurrent with each other and with other threads' operations.
  /// @throws BadInput (lengths differ), Interrupted (operations done so far stay done)
  BatchCounts run(std::span<const Operation> operations, std::span<const Key> keys,
                  std::span<const Value> operands, std::span<Outcome> outcomes, std::span<Value> values,
                  const Run& as = {});
  /// The same with one operation for all.
  BatchCounts run(Operation operation, std::span<const Key> keys, std::span<const Value> operands,
                  std::span<Outcome> outcomes, std::span<Value> values, const Run& as = {});

  /// Pairs; while operations are under way, the sum of the chains' sizes at some moments of the call, so that
  /// pairs which a split moves meanwhile may count twice or not at all. Cost: reads all headers, and no
  /// operation has to count.
  std::uint64_t size() const;
  /// Calls visit(key, value) for all pairs, in no particular order. @throws BadInput (an empty function)
  void for_each(const std::function<void(Key, Value)>& visit) const;
  void export_pairs(std::vector<Key>& keys, std::vector<Value>& values) const;
  /// @param tables  into which the chains are divided evenly, those of PH[n]: for Statistics::pairs_per_table
  Statistics statistics(std::uint32_t tables = 1) const;
  /// Home lines; some of them are used only when a key that belongs there is asked for.
  std::uint64_t chains() const { return lines_.homes(); }
  std::uint64_t bytes() const;  ///< of memory for lines, home and other

  /// Moves pairs out of appended lines where home lines have room, and gives back lines not needed any more.
  void trim();
  void clear();

 protected:
  ConcurrentChains(const MapOptions& options, std::uint64_t chains);
  ConcurrentChains(ConcurrentChains&&) noexcept = default;
  ConcurrentChains& operator=(ConcurrentChains&&) noexcept = default;
  ~ConcurrentChains() = default;

  /// places[i] = that of keys[i]
  using Places = std::function<void(std::span<const Key> keys, Place* places)>;
  /// Moves all pairs into that many home lines. @throws OutOfMemory; nothing has changed then
  void rehash(std::uint64_t chains, const Places& find);
  virtual void find_places(std::span<const Key> keys, Place* places) const = 0;

  CpuLines lines_;
  MapOptions options_;

 private:
  struct Batch;
  BatchCounts run(const Batch& batch);
  void run_piece(const Batch& batch, std::uint64_t begin, std::uint64_t end, BatchCounts& counts) const;
};

/// A map of pairs: every value of Key and of Value may be used. All threads may call the functions of this
/// class at any time, but for reserve(), moves, and those of ConcurrentChains that say so; each call is
/// linearizable and lock-free (but for the operating system, when memory is asked for).
///
/// The map grows while it is used: when chains have become long the number of home lines is doubled, and
/// whoever next meets a chain splits it, or helps a split that is under way. No call does more than the
/// splits of the chain that it needs. An insertion ends as full, and has changed nothing, only if memory is
/// exhausted or the limit of MapOptions reached (or, in a map that does not grow, its chain has 4,096 lines).
///
/// for_each(), export_pairs(), statistics(), trim(), clear() and reserve() are for quiet moments. A map that
/// was moved from may be assigned to or destroyed, and nothing else.
///
/// @tparam Placer  MixPlacement, Placement, or a class of your own with chains() and home(key), which
///   is less.
///   The map can grow if a function grown(placer, chains) beside it gives one with as many chains.
/// @note A line has 128 bytes for 14 pairs of 4 + 4 bytes or 7 others. Expected cost of a call: one line from
///       memory and, if it changes the set of keys, one atomic operation (erase) or two (insert) on it.
template <class Key, class Value, class Placer = MixPlacement>
class ConcurrentMap final : public ConcurrentChains<Key, Value> {
 public:
  using typename ConcurrentChains<Key, Value>::Slots;
  using ConcurrentChains<Key, Value>::kValueShift;

  struct Result {
    Outcome outcome;
    Value value;  ///< with found and updated
  };

  /// @param pairs  to make room for at the default load
  /// @throws BadInput (no chains, or more than CpuLines::kMostHomes), OutOfMemory
  explicit ConcurrentMap(std::uint64_t pairs = std::uint64_t{1} << 16, const MapOptions& options = {})
      : ConcurrentMap(grown(Placer{}, chains_for<Key, Value>(pairs)), options) {}
  explicit ConcurrentMap(const Placer& placer, const MapOptions& options = {})
      : ConcurrentChains<Key, Value>({options.most_bytes, options.grows && kCanGrow}, placer.chains()),
        placer_(placer) {
    if constexpr (std::is_same_v<Placer, Placement>) placer_.key_bytes = sizeof(Key);
  }

  Result find(Key key) const {
#if defined(WARPLOOM_TABLE_VECTORS)
    const Place place = place_of(placer_, key);
    const std::uint32_t level = this->lines_.level();
    const Word* const home = this->lines_.home_words(place.base, low_bits(place.spread, level));
    const FoundAtHome find = find_at_home<Slots>(home, key, level);
    if (find.known) [[likely]]
      return {static_cast<Outcome>(find.there), static_cast<Value>(find.value >> kValueShift)};
#endif
    return carry_out(Operation::find, key, 0);
  }
  bool contains(Key key) const { return find(key).outcome == Outcome::found; }
  Result insert(Key key, Value value) { return perform(Operation::insert, key, value); }
  Result insert_or_assign(Key key, Value value) { return perform(Operation::assign, key, value); }
  /// The next three insert the operand where the key is absent.
  Result fetch_add(Key key, Value operand) { return perform(Operation::add, key, operand); }
  Result fetch_min(Key key, Value operand) { return perform(Operation::min, key, operand); }
  Result fetch_max(Key key, Value operand) { return perform(Operation::max, key, operand); }
  bool erase(Key key) { return perform(Operation::erase, key, 0).outcome == Outcome::erased; }
  Result perform(Operation operation, Key key, Value operand) { return carry_out(operation, key, operand); }

  /// Puts function(value) in the place of the value of a key that is there, at one moment; `function` may be
  /// called several times, and does nothing but compute; what it throws is thrown on, and nothing has
  /// changed. @return updated, with the value before, or absent
  template <class Function>
  Result update(Key key, const Function& function) {
    const auto change = [&](Word value) {
      return Word{static_cast<Value>(function(static_cast<Value>(value >> kValueShift)))} << kValueShift;
    };
    return result(change_value<Slots>(this->lines_, place_of(placer_, key), key, change));
  }
  /// Assigns `desired` if the key's value is `expected`. @return updated; found, with the value that is
  /// there; or absent
  Result compare_exchange(Key key, Value expected, Value desired) {
    Result done = update(key, [&](Value value) { return value == expected ? desired : value; });
    if (done.outcome == Outcome::updated && done.value != expected) done.outcome = Outcome::found;
    return done;
  }

  const Placer& placer() const { return placer_; }

  /// Makes room for `pairs` pairs at the default load, if the placer can. Never shrinks. For quiet moments.
  /// @throws OutOfMemory; nothing has changed then
  void reserve(std::uint64_t pairs) {
    if constexpr (kCanGrow) {
      const std::uint64_t chains = chains_for<Key, Value>(pairs);
      if (chains <= this->chains()) return;
      const Placer placer = grown(placer_, chains);
      this->rehash(placer.chains(), places_of(placer));
      placer_ = placer;
    }
  }

 private:
  static constexpr bool kCanGrow = requires(Placer placer) { grown(placer, std::uint64_t{}); };

  [[gnu::noinline]] Result carry_out(Operation operation, Key key, Value operand) const {
    return result(table::carry_out<Slots>(this->lines_, place_of(placer_, key), operation, key,
                                          Word{operand} << kValueShift));
  }
  static Result result(const Answer& answer) {
    return {answer.outcome, static_cast<Value>(answer.value >> kValueShift)};
  }
  static Place place_of(const Placer& placer, Key key) {
    return {static_cast<LineIndex>(placer.home(key)), CpuLines::spread(key)};
  }
  static auto places_of(const Placer& placer) {
    return [&placer](std::span<const Key> keys, Place* places) {
      for (const Key key : keys) *places++ = place_of(placer, key);
    };
  }
  void find_places(std::span<const Key> keys, Place* places) const override {
    places_of(placer_)(keys, places);
  }

  Placer placer_;
};

extern template class ConcurrentChains<std::uint32_t, std::uint32_t>;
extern template class ConcurrentChains<std::uint32_t, std::uint64_t>;
extern template class ConcurrentChains<std::uint64_t, std::uint32_t>;
extern template class ConcurrentChains<std::uint64_t, std::uint64_t>;

}  // namespace warploom::table
