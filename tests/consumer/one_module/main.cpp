// Counts words with a map that threads may share.

#include <cstdint>
#include <cstdio>
#include <vector>
#include <warploom/config.hpp>
#include <warploom/core/version.hpp>
#include <warploom/table/hash_table.hpp>

int main() {
  using namespace warploom::table;
  const std::vector<std::uint64_t> words = {7, 3, 7, 7};
  const std::vector<std::uint32_t> ones(words.size(), 1);
  HashTable<std::uint64_t, std::uint32_t> counts({.capacity = words.size()});
  counts.run(Operation::add, words, ones, {}, {});
  std::vector<std::uint32_t> found(words.size());
  counts.run(Operation::find, words, {}, {}, found);
  std::printf("7 came %u times\n", found[0]);
  return found == std::vector<std::uint32_t>{3, 1, 3, 3} && warploom::version() == WARPLOOM_VERSION ? 0 : 1;
}
