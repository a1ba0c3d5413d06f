#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "warploom/core/error.hpp"
#include "warploom/core/ranks.hpp"

/// What is said to other ranks is plain bytes: they run the same program on the same kind of machine.
namespace warploom {

template <class T>
requires std::is_trivially_copyable_v<T>
void put_bytes(std::string& text, std::span<const T> values) {
  text.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
}
template <class T>
requires std::is_trivially_copyable_v<T>
void put_bytes(std::string& text, const T& value) { put_bytes(text, std::span(&value, 1)); }

/// Takes what was put away from the begin of a text.
template <class T>
requires std::is_trivially_copyable_v<T>
void take_bytes(std::string_view& text, std::span<T> values) {
  if (text.size() < values.size_bytes()) throw Internal("a message of another rank is too short");
  if (!values.empty()) std::memcpy(values.data(), text.data(), values.size_bytes());
  text.remove_prefix(values.size_bytes());
}
template <class T>
requires std::is_trivially_copyable_v<T> T take_bytes(std::string_view& text) {
  T value;
  take_bytes(text, std::span(&value, 1));
  return value;
}

/// What each rank says, by rank.
inline std::vector<std::string> said_by_all(Ranks& ranks, const std::string& said) {
  return ranks.exchange(std::vector<std::string>(ranks.count(), said));
}

inline std::uint64_t sum_over(Ranks& ranks, std::uint64_t value) {
  std::string mine;
  put_bytes(mine, value);
  std::uint64_t sum = 0;
  for (const std::string& said : said_by_all(ranks, mine)) {
    std::string_view rest = said;
    sum += take_bytes<std::uint64_t>(rest);
  }
  return sum;
}

/// Throws on all ranks where one says something else than rank 0.
/// @param what  "the files", say
inline void require_same(Ranks& ranks, const std::string& said, std::string_view what) {
  const std::vector<std::string> all = said_by_all(ranks, said);
  for (std::size_t rank = 1; rank < all.size(); ++rank)
    if (all[rank] != all[0])
      throw BadInput(fmt::format(
          "rank {} has not what rank 0 has of {}; all ranks are given the same command, and see the same files",
          rank, what));
}

}  // namespace warploom
