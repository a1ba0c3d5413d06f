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
  bool grows = true;  ///< run() makes more home lines when chains become long
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

/// What of a ConcurrentMap does not depend on how keys are placed. The functions here are for one caller
/// while no other call on the map is under way, but for size().
template <class Key, class Value>
class ConcurrentChains {
 public:
  static_assert(std::is_same_v<Key, std::uint32_t> || std::is_same_v<Key, std::uint64_t>);
  static_assert(std::is_same_v<Value, std::uint32_t> || std::is_same_v<Value, std::uint64_t>);
  using Slots = std::conditional_t<sizeof(Key) == 4 && sizeof(Value) == 4, NarrowSlots, WideSlots>;
  /// A value of 32 bits with a word of its own stands in the upper half: additions wrap as its own would, and
  /// words have its order.
  static constexpr int kValueShift = Slots::kWide && sizeof(Value) == 4 ? 32 : 0;

  ConcurrentChains(const ConcurrentChains&) = delete;
  ConcurrentChains& operator=(const ConcurrentChains&) = delete;

  /// Runs a batch on several threads, with the lines of operations to come fetched ahead. All spans have the
  /// same length or, where nothing is wanted of them, none; see HashTable::run. Grows as MapOptions say, and
  /// repeats then what found no room.
  /// @throws BadInput (lengths differ), Interrupted (operations done so far stay done)
  BatchCounts run(std::span<const Operation> operations, std::span<const Key> keys,
                  std::span<const Value> operands, std::span<Outcome> outcomes, std::span<Value> values,
                  const Run& as = {});
  /// The same with one operation for all.
  BatchCounts run(Operation operation, std::span<const Key> keys, std::span<const Value> operands,
                  std::span<Outcome> outcomes, std::span<Value> values, const Run& as = {});

  /// Pairs; while operations are under way, the sum of the chains' sizes at some moments of the call.
  /// Cost: reads all headers, and no operation has to count.
  std::uint64_t size() const;
  /// Calls visit(key, value) for all pairs, in no particular order.
  void for_each(const std::function<void(Key, Value)>& visit) const;
  void export_pairs(std::vector<Key>& keys, std::vector<Value>& values) const;
  /// @param tables  into which the chains are divided evenly, those of PH[n]: for Statistics::pairs_per_table
  Statistics statistics(std::uint32_t tables = 1) const;
  std::uint64_t chains() const { return lines_.homes(); }
  std::uint64_t bytes() const;  ///< of memory for lines, home and other

  /// Moves pairs out of appended lines where home lines have room, and gives back lines not needed any more.
  void trim();
  void clear();

 protected:
  ConcurrentChains(const MapOptions& options, std::uint64_t chains);
  ~ConcurrentChains() = default;

  /// homes[i] = the chain of keys[i]
  using Homes = std::function<void(std::span<const Key> keys, LineIndex* homes)>;
  /// Moves all pairs into that many home lines. @throws OutOfMemory; nothing has changed then
  void rehash(std::uint64_t chains, const Homes& homes);
  virtual void find_homes(std::span<const Key> keys, LineIndex* homes) const = 0;
  /// @return whether there are more chains than before: not if the placer cannot or memory does not suffice
  virtual bool try_reserve(std::uint64_t pairs) = 0;

  CpuLines lines_;
  MapOptions options_;

 private:
  struct Batch;
  struct Work;
  BatchCounts run(const Batch& batch);
  void run_part(const Batch& batch, Work& work);
  void run_piece(const Batch& batch, std::uint64_t begin, std::uint64_t end, Work& work) const;
  void relieve();
  void mark_growth();

  /// Appended lines at which chains are too long
  std::uint64_t growth_mark_ = 0;
};

/// A map of pairs: every value of Key and of Value may be used. All threads may call the functions of this
/// class at any time, but for reserve() and those of ConcurrentChains; each call is linearizable and
/// lock-free (but for the operating system, when memory for appended lines is asked for). An insertion ends
/// as full, and has changed nothing, only if memory is exhausted or the limit reached.
///
/// Chains become longer as pairs come: reserve() before, or at moments of your own, makes more of them.
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
      : ConcurrentChains<Key, Value>(options, placer.chains()), placer_(placer) {
    if constexpr (std::is_same_v<Placer, Placement>) placer_.key_bytes = sizeof(Key);
  }

  Result find(Key key) const {
#if defined(WARPLOOM_TABLE_VECTORS)
    const LineIndex home = placer_.home(key);
    const FoundAtHome find = find_at_home<Slots>(this->lines_.home(home), key);
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

  const Placer& placer() const { return placer_; }

  /// Makes room for `pairs` pairs at the default load, if the placer can. Never shrinks. For one caller while
  /// no other call is under way. @throws OutOfMemory; nothing has changed then
  void reserve(std::uint64_t pairs) {
    if constexpr (requires { grown(placer_, pairs); }) {
      const std::uint64_t chains = chains_for<Key, Value>(pairs);
      if (chains <= placer_.chains()) return;
      const Placer placer = grown(placer_, chains);
      this->rehash(placer.chains(), homes_of(placer));
      placer_ = placer;
    }
  }

 private:
  [[gnu::noinline]] Result carry_out(Operation operation, Key key, Value operand) const {
    const Answer answer = table::carry_out<Slots>(this->lines_, placer_.home(key), operation, key,
                                                  Word{operand} << kValueShift);
    return {answer.outcome, static_cast<Value>(answer.value >> kValueShift)};
  }
  static auto homes_of(const Placer& placer) {
    return [&placer](std::span<const Key> keys, LineIndex* homes) {
      for (const Key key : keys) *homes++ = placer.home(key);
    };
  }
  void find_homes(std::span<const Key> keys, LineIndex* homes) const override {
    homes_of(placer_)(keys, homes);
  }
  bool try_reserve(std::uint64_t pairs) override {
    const std::uint64_t before = placer_.chains();
    try {
      reserve(pairs);
    } catch (const Error&) {  // no memory, or more chains than there may be
    }
    return placer_.chains() > before;
  }

  Placer placer_;
};

extern template class ConcurrentChains<std::uint32_t, std::uint32_t>;
extern template class ConcurrentChains<std::uint32_t, std::uint64_t>;
extern template class ConcurrentChains<std::uint64_t, std::uint32_t>;
extern template class ConcurrentChains<std::uint64_t, std::uint64_t>;

}  // namespace warploom::table
