#pragma once

#include <cstdint>
#include <functional>
#include <memory_resource>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "warploom/table/hash_table.hpp"

namespace warploom::tool {

/// Numbers words from 0 on: the same word always has the same number. Exact, whatever the words hash to.
class Dictionary {
 public:
  explicit Dictionary(const table::Options& options);

  /// numbers[k] becomes that of words[k]. In a batch all words are looked up at once.
  void number(std::span<const std::string_view> words, std::span<std::uint64_t> numbers);

  std::string_view word(std::uint64_t number) const { return words_[number]; }
  std::uint64_t size() const { return words_.size(); }

 private:
  void keep(std::string_view word);

  table::HashTable<std::uint64_t, std::uint64_t> table_;  // from a word's hash to its number
  std::pmr::monotonic_buffer_resource letters_;
  std::vector<std::string_view> words_;  // into letters_
};

/// Which part of each line is the word.
struct Column {
  std::string asked;    ///< empty: the whole line; a number from 1, or a name in the first line
  char separator = 0;   ///< 0: what the first line has of tab, comma, semicolon; else blanks
  bool header = false;  ///< the first line is no data
};

/// Calls take(words) for batches of the words of a text, in its order: its lines without their ends, or a
/// field of each. A field in double quotes may hold the separator; blank lines have no fields. Files that are
/// no gzip are read piece by piece, whatever their size.
/// @param path  '-' for standard input
/// @throws BadInput as read_file and gunzip; no such column; ParseError (a line without the field)
void for_each_words(const std::string& path, const Column& column,
                    const std::function<void(std::span<const std::string_view>)>& take);

}  // namespace warploom::tool
