#include "tile/clang/preamble.hpp"

#include <fstream>

#include "warploom/core/file.hpp"
#include "warploom/core/process.hpp"

namespace warploom::tile {
namespace {

namespace fs = std::filesystem;

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  return text;
}

/// Past comments, to what begins a line.
std::string_view without_comment(std::string_view line, bool& in_comment) {
  while (true) {
    if (in_comment) {
      const std::size_t end = line.find("*/");
      if (end == line.npos) return {};
      in_comment = false;
      line = line.substr(end + 2);
    }
    line = without_blanks(line);
    if (line.starts_with("//")) return {};
    if (!line.starts_with("/*")) return line;
    in_comment = true;
    line = line.substr(2);
  }
}

}  // namespace

std::string system_preamble(std::string_view source) {
  bool in_comment = false, continued = false;
  int open = 0;
  std::size_t end = 0;  // of what is taken
  for (std::size_t at = 0; at < source.size();) {
    const std::size_t stop = std::min(source.find('\n', at), source.size());
    std::string_view line = source.substr(at, stop - at);
    at = stop + 1;
    if (line.ends_with('\r')) line.remove_suffix(1);
    const bool goes_on = line.ends_with('\\');
    if (!continued && !(line = without_comment(line, in_comment)).empty()) {
      if (line[0] != '#') break;
      line = without_blanks(line.substr(1));
      if (line.starts_with("if")) ++open;
      if (line.starts_with("endif")) --open;
      if (line.starts_with("include")) {
        if (!without_blanks(line.substr(7)).starts_with('<')) break;
        if (open == 0) end = std::min(at, source.size());
      }
      if (line.starts_with("pragma once")) break;
    }
    continued = goes_on;
  }
  return std::string(source.substr(0, end));
}

std::vector<std::string> precompiled_preamble(const std::vector<std::string>& compiler,
                                              std::string_view source, const fs::path& place,
                                              const ClangOptions& options) {
  // Flags that name a language or headers of their own.
  for (const std::string& flag : options.flags)
    if (flag.starts_with("-x") || flag.starts_with("-include")) return {};
  const std::string preamble = system_preamble(source);
  if (preamble.empty()) return {};
  const fs::path header = place / "preamble.hpp", result = place / "preamble.pch", users = place / "users.d";
  std::ofstream(header) << preamble;
  std::vector<std::string> words = compiler;
  for (const std::string& word :
       {std::string("-x"), std::string("c++-header"), std::string("-MMD"), std::string("-MF"), users.string(),
        header.string(), std::string("-o"), result.string()})
    words.push_back(word);
  const Answer answer = ask_program(words, options.time_limit);
  if (!answer.failure.empty() || answer.status != 0 || !fs::exists(result) || !fs::exists(users)) return {};
  // Users' headers have loops that are to be read.
  std::string named = read_file(users);
  if (const std::size_t own = named.find(header.string()); own != named.npos)
    named = named.substr(own + header.string().size());
  if (named.find_first_not_of(" \n\\") != named.npos) return {};
  return {"-include-pch", result.string()};
}

std::vector<std::string> precompiled_intrinsics(const std::vector<std::string>& compiler,
                                                const std::string& path, bool is_cpp, const fs::path& place,
                                                const ClangOptions& options) {
  for (const std::string& flag : options.flags)
    if (flag.starts_with("-x") || flag.starts_with("-include")) return {};
  const fs::path used = place / "used.d";
  const auto ask = [&](std::vector<std::string> more) {
    more.insert(more.begin(), compiler.begin(), compiler.end());
    const Answer answer = ask_program(more, options.time_limit);
    return answer.failure.empty() && answer.status == 0;
  };
  if (!ask({"-M", "-MF", used.string(), path}) || !fs::exists(used)) return {};
  const std::string named = read_file(used);
  // What the compiler's own header includes besides would be read before the file says what it wants of it.
  std::string text = "#define __MM_MALLOC_H 1\n";
  bool any = false;
  for (const char* header : {"immintrin.h", "x86intrin.h", "arm_neon.h", "arm_sve.h"})
    if (named.find(std::string("/") + header) != named.npos) {
      text += std::string("#include <") + header + ">\n";
      any = true;
    }
  if (!any) return {};
  const fs::path header = place / "intrinsics.h", result = place / "intrinsics.pch";
  std::ofstream(header) << text << "#undef __MM_MALLOC_H\n";
  if (!ask({"-x", is_cpp ? "c++-header" : "c-header", header.string(), "-o", result.string()})) return {};
  // Whoever relied on what is left out reads it without.
  return {"-include-pch", result.string(), "-Werror=implicit-function-declaration"};
}

}  // namespace warploom::tile
