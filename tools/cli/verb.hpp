#pragma once

#include <CLI/CLI.hpp>
#include <array>
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "warploom/core/device.hpp"
#include "warploom/core/parse.hpp"
#include "warploom/ptx/module.hpp"

/// What the verbs of the command line tool share. A verb is one file, NAME.cpp, which defines
/// NAME_verb(); it is declared below, named in ../CMakeLists.txt and listed in verbs.cpp.
namespace warploom::tool {

/// What a verb returns. Exceptions give the rest: BadInput, NoDevice and OutOfMemory give kBadInput,
/// Interrupted kInterrupted, anything else kInternal; main prints their message to stderr.
enum ExitCode : int { kDone = 0, kFinding = 1, kBadInput = 2, kInternal = 3, kInterrupted = 130 };

struct Verb {
  std::string_view name;
  std::string_view summary;  ///< one line for the list of verbs
  std::string_view example;  ///< at least one whole command line, shown at the end of --help
  /// Declares positionals and options, each with its unit, in a parser that has --help, -v, -q and
  /// --log-level already, and returns what runs after parsing. Options live in what it captures:
  ///   auto path = std::make_shared<std::string>();
  ///   app.add_option("FILE", *path, "PTX to read, '-' for standard input")->required();
  ///   return [path] { print(read_input(*path)); return kDone; };
  /// A verb that hands its remaining arguments to another program calls app.prefix_command().
  std::function<int()> (*add)(CLI::App& app) = nullptr;
};

Verb devices_verb();
Verb reuse_verb();
Verb wrap_verb();
Verb check_verb();
Verb occupancy_verb();
Verb sim_verb();
Verb denoise_verb();
Verb segment_verb();
Verb dp_verb();
Verb table_verb();
Verb search_verb();
Verb tile_verb();

/// Those that an executable has, in the order of --help: verbs.cpp lists all of them, verbs_compiler.cpp
/// those that the build itself needs.
std::vector<Verb> verbs();

/// Declares the verbs of a verb's own, as `chain` of dp, and returns what runs the one that was chosen. What
/// the verb itself has, -v among it, may stand behind them too.
/// @param kind  of them, for the message where none was chosen: "problem"
std::function<int()> add_verbs(CLI::App& app, std::string_view kind, std::span<const Verb> verbs);

/// `--json`: the result for machines, on standard output, instead of text.
void add_json_flag(CLI::App& app, bool& json);
/// `--device`, as parse_devices() takes it, for Run::devices.
void add_device_option(CLI::App& app, std::vector<Device>& devices);

/// A file's bytes, or standard input's for "-". Throws as read_file.
std::string read_input(const std::string& path);
/// For messages: the path, or "<stdin>" for "-".
std::string input_name(const std::string& path);
/// Replaces the file atomically, or prints for "-". Throws as write_file_atomically.
void write_output(const std::string& path, std::string_view content);

/// To standard output. Does nothing once the reader has closed its end, so that `warploom ... | head`
/// still writes its files and returns its own exit code. @throws BadInput (disk full)
void print(std::string_view text);
/// Indented, with a final line feed.
void print_json(const nlohmann::ordered_json& json);
/// Makes sure that everything printed has arrived. main calls it last. @throws BadInput (disk full)
void finish_output();

/// The parts of "a,b,c"; of "" one empty part.
std::vector<std::string> split(std::string_view text, char separator);
/// A block size [threads]: X, X,Y or X,Y,Z. @throws BadInput naming --block, the text and CUDA's limits
std::array<std::uint32_t, 3> parse_block(std::string_view text);

/// A kernel's name in the PTX, from that name, from its C++ name with or without the parameters, or from a
/// part of its C++ declaration that only it has; from nothing, if there is one kernel.
/// @throws BadInput naming the nearest and the kernels there are
std::string kernel_name(const ptx::Module& module, const std::string& asked);

/// "227 KiB", "139.8 GiB": exact below 1 MiB if a multiple of 1 KiB, else bytes or one decimal.
std::string byte_text(std::uint64_t bytes);
/// The candidate most like a mistyped word, or empty if none is close.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace warploom::tool
