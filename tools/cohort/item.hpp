#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace warploom::tool {

/// One of the many: an input and what is called after it.
struct CohortItem {
  std::string name = {};  ///< its path in the folder that was given, without endings: "sub-01/dwi"
  std::filesystem::path input = {};
  std::map<std::string, std::string> values = {};  ///< of further braces: "bval"
  std::string error = {};                          ///< why it cannot be done; empty: it can
  std::uint64_t bytes = 0;                         ///< of the file
  std::uint64_t unpacked = 0;                      ///< of what it holds, as far as its end tells
};

/// Files, and those under folders whose names match, largest first.
/// @param match  with * and ?, of a file's name: "*.nii.gz"; empty: every file that is not hidden
/// @throws BadInput (there is none, nothing matches, two would have one name)
std::vector<CohortItem> find_items(const std::vector<std::string>& inputs, const std::string& match);

/// Sets bytes and unpacked of an item that was made otherwise.
void measure(CohortItem& item);
void largest_first(std::vector<CohortItem>& items);

/// What is run of each item: a command line of the tool in which {} is the input, {base} the input without
/// its endings, {name} the item's name, {out} the folder of results and the name.
class CohortCommand {
 public:
  /// @param further  braces that all items have a value for
  /// @throws BadInput (it is empty, or knows no such braces)
  CohortCommand(std::vector<std::string> words, std::filesystem::path folder,
                const std::vector<std::string>& further = {});

  const std::vector<std::string>& words() const { return words_; }
  std::vector<std::string> of(const CohortItem& item) const;
  /// Files that an item's command line names and that are there: its input first, then masks, tables and the
  /// like. What lies where results go is none.
  std::vector<std::filesystem::path> inputs_of(const CohortItem& item) const;
  /// Does any word say where results go? If none does, what the verb prints is its result.
  bool names_outputs() const;

 private:
  std::vector<std::string> words_;
  std::filesystem::path folder_;
};

}  // namespace warploom::tool
