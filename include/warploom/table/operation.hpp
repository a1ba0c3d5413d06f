#pragma once

/// What one asks of the table and what it answers, the same on every device.

#include <cstdint>
#include <string_view>
#include <type_traits>

namespace warploom::table {

/// What keys and values may be. `unsigned long long` is neither where std::uint64_t is `unsigned long`.
template <class T>
inline constexpr bool kIsWord = std::is_same_v<T, std::uint32_t> || std::is_same_v<T, std::uint64_t>;
#define WARPLOOM_TABLE_REQUIRE_WORDS(Key, Value)                                                    \
  static_assert(kIsWord<Key> && kIsWord<Value>,                                                     \
                "keys and values are std::uint32_t or std::uint64_t; convert other integers, also " \
                "those that have the same size, as unsigned long long has")

/// One operation on one key. All are linearizable: each takes effect at one moment between its call and its
/// return; the operations of a batch are concurrent, so that those on the same key happen in some order.
enum class Operation : std::uint8_t {
  find,    ///< found (with the value) or absent
  insert,  ///< inserted, or found (with the value that is there, which stays)
  erase,   ///< erased or absent
  assign,  ///< insert_or_assign: inserted, or updated (with the value before)
  add,     ///< fetch_add: updated (with the value before the addition, which wraps), or inserted with the
           ///< operand
  min,     ///< the same with the lesser of the values, as unsigned integers
  max,     ///< the same with the greater
};
inline constexpr int kOperations = 7;

enum class Outcome : std::uint8_t {
  absent,
  found,
  inserted,
  erased,
  updated,
  full,     ///< an insertion found no room: nothing was changed. Grow and ask again
  invalid,  ///< not one of Operation's values: nothing was changed
};

std::string_view name(Operation operation);
std::string_view name(Outcome outcome);

/// Counts of outcomes of a batch. inserted - erased is the change of the number of pairs.
struct Tally {
  std::uint64_t inserted = 0;
  std::uint64_t erased = 0;
  std::uint64_t full = 0;
};

}  // namespace warploom::table
