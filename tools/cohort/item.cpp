#include "item.hpp"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <system_error>
#include <utility>

#include "warploom/core/error.hpp"

namespace warploom::tool {
namespace fs = std::filesystem;
namespace {

/// "a/scan.nii.gz" -> "a/scan"
std::string without_endings(const fs::path& path) {
  fs::path bare = path;
  if (bare.extension() == ".gz" || bare.extension() == ".bz2") bare.replace_extension();
  if (bare.stem() != bare.filename()) bare.replace_extension();
  return bare.string();
}

/// What gzip's last four bytes say, which is right below 4 GiB and of one member; else the file's size.
std::uint64_t unpacked_bytes(const fs::path& path, std::uint64_t bytes) {
  if (path.extension() != ".gz" || bytes < 18) return bytes;
  std::ifstream file(path, std::ios::binary);
  std::array<unsigned char, 4> end{};
  file.seekg(-4, std::ios::end);
  if (!file.read(reinterpret_cast<char*>(end.data()), end.size())) return bytes;
  const std::uint64_t says = end[0] | end[1] << 8 | end[2] << 16 | std::uint64_t{end[3]} << 24;
  return std::max(bytes, says);
}

CohortItem item_of(const fs::path& input, const fs::path& name) {
  std::error_code error;
  const std::uint64_t bytes = fs::file_size(input, error);
  CohortItem item{.name = without_endings(name), .input = input};
  if (!error) item.bytes = bytes, item.unpacked = unpacked_bytes(input, bytes);
  return item;
}

void add_folder(const fs::path& folder, const std::string& match, std::vector<CohortItem>& items) {
  std::error_code error;
  fs::recursive_directory_iterator at(folder, error), end;
  if (error) throw BadInput(fmt::format("cannot read the folder {}: {}", folder.string(), error.message()));
  while (at != end) {
    const std::string name = at->path().filename().string();
    const bool hidden = name.starts_with('.');
    if (at->is_directory(error)) {
      if (hidden) at.disable_recursion_pending();
    } else if (!hidden && (match.empty() || fnmatch(match.c_str(), name.c_str(), 0) == 0) &&
               at->is_regular_file(error)) {
      items.push_back(item_of(at->path(), at->path().lexically_relative(folder)));
    }
    const fs::path where = at->path();
    at.increment(error);
    if (error)
      throw BadInput(fmt::format("cannot read the folder of {}: {}", where.string(), error.message()));
  }
}

constexpr std::array<std::string_view, 4> kBraces = {"{}", "{base}", "{name}", "{out}"};

std::string replaced(std::string word, std::string_view what, const std::string& by) {
  for (std::size_t at = 0; (at = word.find(what, at)) != word.npos; at += by.size())
    word.replace(at, what.size(), by);
  return word;
}

}  // namespace

std::vector<CohortItem> find_items(const std::vector<std::string>& inputs, const std::string& match) {
  std::vector<CohortItem> items;
  for (const std::string& input : inputs) {
    std::error_code error;
    if (fs::is_directory(input, error))
      add_folder(input, match, items);
    else if (fs::exists(input, error))
      items.push_back(item_of(input, fs::path(input).filename()));
    else
      throw BadInput(fmt::format("{}: there is no such file or folder", input));
  }
  if (items.empty())
    throw BadInput(match.empty() ? fmt::format("no files in {}", inputs.front())
                                 : fmt::format("no file in {} matches --match {}", inputs.front(), match));
  std::map<std::string, const CohortItem*> named;
  for (const CohortItem& item : items)
    if (const auto [there, is_new] = named.emplace(item.name, &item); !is_new)
      throw BadInput(
          fmt::format("{} and {} would both be called {}; give --match, or name folders that hold them apart",
                      there->second->input.string(), item.input.string(), item.name));
  largest_first(items);
  return items;
}

void measure(CohortItem& item) {
  CohortItem measured = item_of(item.input, item.name);
  item.bytes = measured.bytes, item.unpacked = measured.unpacked;
}

void largest_first(std::vector<CohortItem>& items) {
  std::ranges::sort(items, [](const CohortItem& a, const CohortItem& b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.name < b.name;
  });
}

CohortCommand::CohortCommand(std::vector<std::string> words, fs::path folder,
                             const std::vector<std::string>& further)
    : words_(std::move(words)), folder_(std::move(folder)) {
  if (words_.empty())
    throw BadInput(
        "say what to run of each input behind --, as in: warploom cohort scans -o masks -- segment {} -o {out}.nii.gz");
  bool takes_input = false;
  for (const std::string& word : words_) {
    takes_input = takes_input || word.find("{}") != word.npos || word.find("{base}") != word.npos;
    for (std::size_t at = 0; (at = word.find('{', at)) != word.npos; ++at) {
      const std::size_t end = word.find('}', at);
      const std::string_view brace = std::string_view(word).substr(at, end == word.npos ? end : end - at + 1);
      if (std::ranges::find(kBraces, brace) == kBraces.end() &&
          std::ranges::none_of(further, [&](const std::string& one) { return brace == "{" + one + "}"; }))
        throw BadInput(
            fmt::format("'{}' in '{}': the braces are {{}} (the input), {{base}} (without its endings), "
                        "{{name}} and {{out}} (where its results go)",
                        brace, word));
    }
  }
  if (!takes_input)
    throw BadInput(
        fmt::format("'{}' does not name the input: put {{}} where it belongs", fmt::join(words_, " ")));
}

std::vector<std::string> CohortCommand::of(const CohortItem& item) const {
  std::vector<std::string> words = words_;
  for (std::string& word : words) {
    word = replaced(word, "{out}", (folder_ / item.name).string());
    word = replaced(word, "{name}", item.name);
    word = replaced(word, "{base}", without_endings(item.input));
    for (const auto& [brace, value] : item.values) word = replaced(word, "{" + brace + "}", value);
    word = replaced(word, "{}", item.input.string());
  }
  return words;
}

std::vector<fs::path> CohortCommand::inputs_of(const CohortItem& item) const {
  std::vector<fs::path> files{item.input};
  const std::vector<std::string> words = of(item);
  for (std::size_t k = 1; k < words.size(); ++k) {
    if (words_[k].find("{out}") != std::string::npos) continue;
    const std::size_t equals = words[k].starts_with("--") ? words[k].find('=') : std::string::npos;
    const fs::path file = equals == std::string::npos ? words[k] : words[k].substr(equals + 1);
    std::error_code error;
    if (fs::is_regular_file(file, error) && std::ranges::find(files, file) == files.end())
      files.push_back(file);
  }
  return files;
}

bool CohortCommand::names_outputs() const {
  return std::ranges::any_of(words_, [](const std::string& word) {
    return word.find("{out}") != word.npos || word.find("{name}") != word.npos;
  });
}

}  // namespace warploom::tool
