#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>

#include "warploom/core/error.hpp"
#include "warploom/core/memory.hpp"

/// Checks that doors of several modules need. Each costs a comparison.
namespace warploom {

/// An enumeration may hold any number of its type. @throws BadInput
/// @param what  "the solver"
template <class Enumeration>
[[noreturn]] void refuse_enumerator(Enumeration value, std::string_view what) {
  throw BadInput(std::string(what) + " has the value " + std::to_string(static_cast<long long>(value)) +
                 ", which is none of its enumerators");
}

/// words[value].
/// @throws BadInput (a number that is none of its enumerators)
template <class Enumeration, class Words>
constexpr decltype(auto) at_enumerator(const Words& words, Enumeration value, std::string_view what) {
  const auto index = static_cast<std::size_t>(value);
  if (index >= std::size(words)) refuse_enumerator(value, what);
  return words[index];
}

/// Before memory is asked for in a size that a caller gave: what is too much is refused before it is touched.
/// Small requests cost nothing, since the system is asked about large ones only.
/// @throws OutOfMemory (more than there is)
inline void require_memory_for(std::uint64_t elements, std::uint64_t bytes_each, std::string_view what) {
  constexpr std::uint64_t kLarge = std::uint64_t{1} << 28, kMost = ~std::uint64_t{0};
  const std::uint64_t bytes = elements > kMost / bytes_each ? kMost : elements * bytes_each;
  if (bytes >= kLarge) require_memory(bytes, what);
}

/// What an object holds. @throws BadInput (nothing: it was moved from)
template <class State>
State& held(const std::unique_ptr<State>& state, std::string_view what) {
  if (state == nullptr)
    throw BadInput(std::string(what) + " was moved from: it can be assigned to and destroyed, no more");
  return *state;
}

}  // namespace warploom
