// Clang as a process: what it is asked, and what goes wrong.
#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>

#include "tile/clang/preamble.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"
#include "warploom/core/process.hpp"
#include "warploom/json/json.hpp"
#include "warploom/tile/clang.hpp"

namespace warploom::tile {
namespace {

namespace fs = std::filesystem;

constexpr int kNewest = 21, kOldest = 14;  // versions whose names are tried
constexpr const char* kInstall =
    "install Clang (Debian and Ubuntu: apt-get install clang), or say where one is with --clang PATH";

/// The errors of what a compiler says, the first ones.
std::string errors_of(const std::string& output) {
  std::string text;
  int lines = 0;
  for (std::size_t begin = 0; begin < output.size() && lines < 5;) {
    const std::size_t end = std::min(output.find('\n', begin), output.size());
    const std::string line = output.substr(begin, end - begin);
    begin = end + 1;
    if (line.find("error:") == line.npos) continue;
    text += "\n" + line;
    ++lines;
  }
  return text.empty() ? "\n" + output.substr(0, 1000) : text;
}

/// A command line as a shell splits it.
std::vector<std::string> split_command(const std::string& command) {
  std::vector<std::string> words;
  std::string word;
  bool any = false;
  char quote = 0;
  for (std::size_t i = 0; i < command.size(); ++i) {
    const char c = command[i];
    if (quote ? c == quote : c == '"' || c == '\'') {
      quote = quote ? 0 : c;
      any = true;
    } else if (c == '\\' && quote != '\'' && i + 1 < command.size()) {
      word += command[++i];
      any = true;
    } else if (c == ' ' && !quote) {
      if (any) words.push_back(word);
      word.clear();
      any = false;
    } else {
      word += c;
      any = true;
    }
  }
  if (any) words.push_back(word);
  return words;
}

/// Without what names outputs, and without what would change what is read: with OpenMP a loop of the source
/// becomes a function of its own.
std::vector<std::string> flags_of(const std::vector<std::string>& words) {
  std::vector<std::string> flags;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "-o" || word == "-MF" || word == "-MT" || word == "-MQ") {
      ++i;
      continue;
    }
    const bool out = word == "-c" || word == "-S" || word == "-E" || word == "-MD" || word == "-MMD" ||
                     word == "-M" || word == "-MM" || word.starts_with("-fopenmp") ||
                     word.starts_with("-Werror") || word.starts_with("-fsanitize");
    if (!out) flags.push_back(word);
  }
  return flags;
}

bool is_cpp(const fs::path& path) {
  const std::string end = path.extension().string();
  return end == ".cc" || end == ".cpp" || end == ".cxx" || end == ".C";
}

/// Empty where the compiler will say what is wrong with the file.
std::string read_source_text(const fs::path& file) {
  try {
    return read_file(file);
  } catch (const BadInput&) {
    return {};
  }
}

fs::path absolute(const fs::path& path, const fs::path& directory) {
  return (path.is_absolute() || directory.empty() ? path : directory / path).lexically_normal();
}

}  // namespace

fs::path find_clang(const ClangOptions& options) {
  if (!options.compiler.empty()) return find_program(options.compiler).value_or("");
  if (const auto found = find_program("clang")) return *found;
  for (int version = kNewest; version >= kOldest; --version)
    if (const auto found = find_program(fmt::format("clang-{}", version))) return *found;
  return {};
}

std::vector<Region> read_with_clang(const fs::path& file, const SourceOptions& source,
                                    const ClangOptions& options) {
  const std::string name = file.string();
  const fs::path compiler = find_clang(options);
  if (compiler.empty())
    throw BadInput(options.compiler.empty()
                       ? fmt::format("{}: there is no Clang to read it with; {}", name, kInstall)
                       : fmt::format("{} is no program that can be started; {}", options.compiler, kInstall));
  const TemporaryDirectory place;
  const fs::path dump = place.path() / "tree.json";
  Words words{compiler.string()};
  for (std::string& flag : flags_of(options.flags)) words.push_back(std::move(flag));
  if (!options.directory.empty()) words.push_back("-working-directory=" + options.directory.string());
  for (const std::string& folder : source.include_folders) words.push_back("-I" + folder);
  for (const auto& [macro, text] : source.macros) words.push_back(fmt::format("-D{}={}", macro, text));
  for (const char* word : {"-w", "-fno-color-diagnostics", "-Qunused-arguments"}) words.emplace_back(word);
  std::string path = options.directory.empty() ? name : absolute(fs::absolute(file), {}).string();
  if (path.starts_with("-")) path = "./" + path;
  const auto ask = [&](const Words& more) {
    Words all = words;
    all.insert(all.end(), more.begin(), more.end());
    all.insert(all.end(), {"-fsyntax-only", "-Xclang", "-ast-dump=json", path});
    return ask_program(all, options.time_limit, "", dump);
  };
  Words headers =
      is_cpp(file) ? precompiled_preamble(words, read_source_text(file), place.path(), options) : Words{};
  if (headers.empty()) headers = precompiled_intrinsics(words, path, is_cpp(file), place.path(), options);
  Answer answer = ask(headers);
  if (!headers.empty() && answer.failure.empty() && answer.status != 0) answer = ask({});
  if (!answer.failure.empty())
    throw BadInput(fmt::format("{}: {} could not read it: {}", name, compiler.string(), answer.failure));
  if (WIFSIGNALED(answer.status))
    throw BadInput(fmt::format("{}: {} was ended by signal {} while it read it", name, compiler.string(),
                               WTERMSIG(answer.status)));
  if (WEXITSTATUS(answer.status) != 0)
    throw BadInput(
        fmt::format("{}: {} does not accept it; give its flags after --, or -p DIR with a "
                    "compile_commands.json:{}",
                    name, compiler.string(), errors_of(answer.output)));
  std::vector<Region> regions = read_syntax_tree(read_file(dump, kMaxFileBytes), name, source);
  // What it includes comes after what it is.
  std::ranges::stable_partition(regions, [&](const Region& region) { return region.file == path; });
  return regions;
}

ClangOptions compile_command(const fs::path& directory, const fs::path& file) {
  const fs::path path = directory / "compile_commands.json";
  Json commands;
  try {
    commands = Json::parse(read_file(path));
  } catch (const BadInput& error) {
    throw BadInput(fmt::format("{}: {}", path.string(), error.what()));
  }
  std::error_code error;
  const fs::path wanted = fs::weakly_canonical(file, error);
  for (const Json& command : commands.elements()) {
    const fs::path where = command.at("directory").get<std::string>();
    const std::string named = command.at("file").get<std::string>();
    if (fs::weakly_canonical(absolute(named, where), error) != wanted) continue;
    std::vector<std::string> words = command.contains("arguments")
                                         ? command.at("arguments").get<std::vector<std::string>>()
                                         : split_command(command.at("command").get<std::string>());
    if (!words.empty()) words.erase(words.begin());
    std::erase_if(words, [&](const std::string& word) {
      return word == named ||
             (!word.starts_with("-") && fs::weakly_canonical(absolute(word, where), error) == wanted);
    });
    ClangOptions options;
    options.flags = flags_of(words);
    options.directory = where;
    return options;
  }
  throw BadInput(fmt::format("{} does not name {}; give the flags after --", path.string(), file.string()));
}

}  // namespace warploom::tile
