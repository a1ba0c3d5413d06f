#pragma once

/// How keys lie in the chains of a table: how bad a hash is for them.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "../json_records.hpp"

namespace warploom::table {

/// @param placer  as hash.hpp has it
/// @return the fields "chains", "chains_used", "longest_chain" and "chain_of_a_key": how many pairs there are
/// in
///         the chain that a key is in, on average over the keys; of Poisson's distribution 1 + their load
template <class Key, class Placer>
std::string collisions(const std::vector<Key>& keys, const Placer& placer) {
  std::vector<std::uint32_t> pairs(placer.chains());
  for (const Key key : keys) ++pairs[placer.home(key)];
  double squares = 0;
  for (const std::uint32_t count : pairs) squares += static_cast<double>(count) * count;
  return "\"chains\": " + std::to_string(pairs.size()) + ", \"chains_used\": " +
         std::to_string(pairs.size() - static_cast<std::size_t>(std::ranges::count(pairs, 0u))) +
         ", \"longest_chain\": " + std::to_string(std::ranges::max(pairs)) +
         ", \"chain_of_a_key\": " + json_number(squares / static_cast<double>(keys.size()));
}

}  // namespace warploom::table
