#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "warploom/tile/source.hpp"

/// Loop nests of C and C++ as a compiler reads them: Clang, of version 14 or later, runs as a process of its
/// own and prints its syntax tree, which is read here. Nothing of Clang is linked (docs/design/0012).
namespace warploom::tile {

struct ClangOptions {
  /// The compiler: a path, or a name for $PATH. Empty: clang, then clang-21 down to clang-14.
  std::string compiler = {};
  std::vector<std::string> flags = {};   ///< as of the compiler: "-Iinclude", "-std=c++20"
  std::filesystem::path directory = {};  ///< where the flags' relative paths start; empty: here
  std::chrono::milliseconds time_limit = std::chrono::seconds(40);
};

/// The compiler that read_with_clang() would start; empty where there is none.
std::filesystem::path find_clang(const ClangOptions& options = {});

/// Every maximal nest of the functions of a file and of headers that are not the system's, with instances of
/// templates and member functions: loops, or a sequence of statements with loops, of one block. What is
/// outside of the subset is refused for its loop alone, in a region that has refusals and no body; loops
/// within it are read. A nest that is not all of its function is called FUNCTION_lineLINE. Macros, include
/// folders and the function are taken from `source`; #pragma scop is not asked for.
/// @throws BadInput (no compiler; it refuses the file, which is what it says; it dies or takes too long; what
/// it prints cannot be read; no such function)
std::vector<Region> read_with_clang(const std::filesystem::path& file, const SourceOptions& source,
                                    const ClangOptions& options);

/// The same of what `clang -fsyntax-only -Xclang -ast-dump=json` printed.
/// @param name  of the file, for messages
std::vector<Region> read_syntax_tree(std::string_view json, const std::string& name,
                                     const SourceOptions& source = {});

/// The flags and the directory of a file in DIR/compile_commands.json.
/// @throws BadInput (it cannot be read, or does not name the file)
ClangOptions compile_command(const std::filesystem::path& directory, const std::filesystem::path& file);

}  // namespace warploom::tile
