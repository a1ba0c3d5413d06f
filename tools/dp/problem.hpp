#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.hpp"
#include "cli/output_files.hpp"
#include "cli/verb.hpp"
#include "mpi/ranks.hpp"
#include "warploom/dp/solve.hpp"
#include "warploom/dp/value_type.hpp"
#include "warploom/json/json.hpp"

/// What the problems of `warploom dp`, verbs of its own, share. A problem is one file, dp_NAME.cpp.
namespace warploom::tool {

Verb dp_chain();
Verb dp_search_tree();
Verb dp_polygon();
Verb dp_nussinov();
Verb dp_solve();

/// Options of every problem.
struct DpSettings {
  dp::Options solve;
  dp::ValueType type = dp::ValueType::best;
  std::string output = "-";
  bool timings = false, json = false, force = false, mpi = false;
};

/// Declares all but --type.
void add_dp_options(Command& command, DpSettings& settings);
/// @param types  those that the problem is for, and what auto means: "int32, int64 or auto: ... [auto]"
void add_type_option(Command& command, dp::ValueType& type, const std::string& types);

/// A run's outputs: made first, so that a bad name is known before the work is done. While it
/// lives, all runs as the options say. Sets options that follow from others.
class DpRun {
 public:
  explicit DpRun(DpSettings& settings);

  /// A file besides -o, named by `option`; nothing of an empty name. Before finish().
  /// @throws BadInput (another ending than ".svg", say)
  void add(std::string_view option, const std::string& path, std::string_view ending);
  void write(const std::string& path, std::string_view content);

  /// Gives all files their names, then prints what is to be printed: the result, if it goes there, and
  /// timings.
  /// @param text   the result for people
  /// @param json   the same for machines, written instead of `text` with --json or to a FILE.json; the report
  /// is
  ///               added
  int finish(const std::string& text, Json json, const dp::Report& report);

 private:
  bool as_json() const;
  const DpSettings& settings_;
  MpiRun mpi_;
  RunScope scope_;
  OutputFiles files_;
};

/// A text of numbers that was read, and which of its numbers a solver means by name[index], as in "q[2]".
struct NumberText {
  std::string file, text;
  std::function<std::optional<std::size_t>(std::string_view name, std::size_t index)> number;
};
/// Reads a file, or standard input.
NumberText read_numbers(const std::string& path);
/// Runs a solver. Where it refuses a value or how many there are, the message begins with the file and the
/// line.
void with_lines(const std::vector<NumberText>& texts, const std::function<void()>& solve);

/// What timings are printed, for people, and everything about how it was solved, for machines.
std::string timings_text(const dp::Report& report);
Json report_json(const dp::Report& report, bool timings);

/// An exact integer, or a number.
Json as_json(const dp::Number& number);

}  // namespace warploom::tool
