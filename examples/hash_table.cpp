// How many different words a text on standard input has, and how many of them occur once: a table from the
// words' hashes to their counts, worked on in batches by a GPU or a CPU.
//
// With CMake: find_package(warploom REQUIRED), target_link_libraries(... PRIVATE warploom::table).

#include "warploom/table/hash_table.hpp"

#include <cstdint>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

int main() {
  using namespace warploom::table;
  std::vector<std::uint64_t> words;
  for (std::string word; std::cin >> word;) words.push_back(std::hash<std::string>()(word));

  HashTable<std::uint64_t, std::uint32_t> counts({.capacity = words.size() + 1});
  const std::vector<std::uint32_t> ones(words.size(), 1);
  counts.run(Operation::add, words, ones, {}, {});  // fetch_add: inserts 1, or adds it
  std::cout << words.size() << " words, " << counts.size() << " different\n";

  // What each word of the text finds: all at once, in the text's order.
  std::vector<std::uint32_t> found(words.size());
  counts.run(Operation::find, words, {}, {}, found);
  std::vector<Operation> operations;
  for (const std::uint32_t count : found)
    operations.push_back(count == 1 ? Operation::erase : Operation::find);
  const BatchReport report = counts.run(operations, words, {}, {}, {});
  std::cout << report.tally.erased << " of them once\n";
}
