#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "command.hpp"
#include "warploom/core/parse.hpp"
#include "warploom/json/json.hpp"
#include "warploom/ptx/launch.hpp"
#include "warploom/ptx/module.hpp"

/// What the verbs of the command line tool share. A verb is one file, NAME.cpp, which defines
/// NAME_verb(); it is declared below, named in ../CMakeLists.txt and listed in verbs.cpp.
namespace warploom::tool {

/// What a verb returns. Exceptions give the rest: BadInput, NoDevice and OutOfMemory give kBadInput,
/// Interrupted kInterrupted, anything else kInternal; main prints their message to stderr.
enum ExitCode : int { kDone = 0, kFinding = 1, kBadInput = 2, kInternal = 3, kInterrupted = 130 };

struct Verb {
  std::string_view name;
  /// What it does, as one says it to somebody: "List the processors". No full stop.
  std::string_view summary;
  /// Whole command lines, at least one; after them remarks, a paragraph a line, which begin with a capital.
  std::string_view example;
  /// Declares positionals and options, each with its unit; --help, -v, -q and --log-level are there already.
  /// Returns what runs after parsing. Options live in what it captures:
  ///   auto path = std::make_shared<std::string>();
  ///   command.add("FILE", path.get(), "PTX to read, '-' for standard input").required();
  ///   return [path] { print(read_input(*path)); return kDone; };
  std::function<int()> (*add)(Command& command) = nullptr;
};

Verb devices_verb();
Verb reuse_verb();
Verb wrap_verb();
Verb check_verb();
Verb occupancy_verb();
Verb sim_verb();
Verb denoise_verb();
Verb segment_verb();
Verb register_verb();
Verb dp_verb();
Verb fold_verb();
Verb table_verb();
Verb search_verb();
Verb tile_verb();
Verb cohort_verb();
Verb bids_denoise_verb();
Verb example_verb();
Verb help_verb();
Verb completion_verb();
Verb man_verb();

/// Those that an executable has, in the order of --help: verbs.cpp lists all of them, verbs_compiler.cpp
/// those that the build itself needs.
std::vector<Verb> verbs();

/// A file's bytes, or standard input's for "-". Throws as read_file.
std::string read_input(const std::string& path);
/// For messages: the path, or "<stdin>" for "-".
std::string input_name(const std::string& path);
/// To standard output. Does nothing once the reader has closed its end, so that `warploom ... | head`
/// still writes its files and returns its own exit code. @throws BadInput (disk full)
void print(std::string_view text);
/// To standard error. What cannot be written is lost: a full disk under a log does not stop the work.
void print_error(std::string_view text);
/// A remark of a verb that succeeded, to standard error; nothing with -q.
void remark(std::string_view text);
/// A result for other programs: its first keys are `schema`, as "warploom.dp/1", `version` and `command`, as
/// "dp chain". Indented, with a final line feed.
std::string json_text(const Json& result);
/// The same to standard output.
void print_json(const Json& result);
/// Which verb runs on this thread: "dp chain".
void set_command_path(std::string path);
/// Makes sure that everything printed has arrived. main calls it last. @throws BadInput (disk full)
void finish_output();

/// The parts of "a,b,c"; of "" one empty part.
std::vector<std::string> split(std::string_view text, char separator);
using ptx::parse_block;

/// A kernel's name in the PTX, from that name, from its C++ name with or without the parameters, or from a
/// part of its C++ declaration that only it has; from nothing, if there is one kernel.
/// @throws BadInput naming the nearest and the kernels there are
std::string kernel_name(const ptx::Module& module, const std::string& asked);

/// "227 KiB", "139.8 GiB": exact below 1 MiB if a multiple of 1 KiB, else bytes or one decimal.
std::string byte_text(std::uint64_t bytes);
/// Text for a terminal: '?' for control characters, of which names in files may have any, but line feeds and
/// tabs.
std::string without_controls(std::string text);
/// A message in which words of hundreds of letters are cut to about 60, without_controls().
std::string without_long_words(std::string_view message);
/// The candidate most like a mistyped word, or empty if none is close: one slip in three letters, or the rest
/// of a word that was begun. Dashes in front do not count.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace warploom::tool
