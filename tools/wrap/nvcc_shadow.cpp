#include "nvcc_shadow.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <system_error>

#include "warploom/core/file.hpp"
#include "warploom/core/log.hpp"
#include "warploom/core/parse.hpp"

namespace warploom::tool {
namespace {

namespace fs = std::filesystem;

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != text.npos; at += by.size())
    text.replace(at, what.size(), by);
  return text;
}

/// For sh: 'it'\''s'
std::string quoted(const std::string& word) { return "'" + replaced(word, "'", "'\\''") + "'"; }

fs::path directory_of(const fs::path& program) {
  return program.has_parent_path() ? program.parent_path() : fs::path(".");
}

/// Links to everything in a directory but one name.
void link_all(const fs::path& from, const fs::path& to, std::string_view except) {
  for (const fs::directory_entry& entry : fs::directory_iterator(from))
    if (entry.path().filename() != except) fs::create_symlink(entry.path(), to / entry.path().filename());
}

/// A sub-program of nvcc that calls us. `program` is a shell word.
void write_script(const fs::path& path, std::string_view tool, const fs::path& shadow,
                  const std::string& program) {
  const std::string warploom = fs::read_symlink("/proc/self/exe").string();
  const bool verbose = log_enabled(LogLevel::info);
  write_file_atomically(
      path, fmt::format("#!/bin/sh\nexec {} wrap{} --tool {} --shadow {} {} \"$@\"\n", quoted(warploom),
                        verbose ? " -v" : "", tool, quoted(shadow.string()), program));
  fs::permissions(path, fs::perms::owner_all);
}

/// Like ln -sf for a link that other processes may be making too.
void link_once(const fs::path& target, const fs::path& link) {
  std::error_code error;
  fs::create_symlink(target, link, error);
  if (error && error != std::errc::file_exists) throw fs::filesystem_error("link", link, error);
}

}  // namespace

std::string ShadowToolkit::missing_part(const fs::path& nvcc) {
  const fs::path directory = directory_of(nvcc);
  for (const char* part : {"nvcc.profile", "ptxas", "fatbinary", "../nvvm/bin/cicc"}) {
    std::error_code ignored;
    if (!fs::exists(directory / part, ignored))
      return fmt::format("{} is not beside {}: call the nvcc in the CUDA toolkit's bin directory",
                         (directory / part).string(), nvcc.string());
  }
  return "";
}

ShadowToolkit::ShadowToolkit(const fs::path& nvcc, const std::string& cache_key) {
  const fs::path real = directory_of(nvcc), shadow = path();
  const fs::path bin = shadow / "top/bin", tools = shadow / "tools";
  for (const fs::path& directory : {bin, tools, shadow / "later", shadow / "rewritten"})
    fs::create_directories(directory);
  // Links need absolute paths; the profile keeps the path as nvcc was called by, which shows in the
  // names of included headers.
  link_all(fs::absolute(real / ".."), shadow / "top", real.filename().string());
  if (real.filename() != "bin") fs::remove(shadow / "top" / real.filename());
  link_all(fs::absolute(real), bin, "nvcc.profile");

  std::string profile = read_file(real / "nvcc.profile");
  const bool names_cicc = profile.find("CICC_PATH") != profile.npos;  // else cicc is looked up in PATH
  profile = replaced(std::move(profile), "$(_HERE_)", real.string());
  profile += fmt::format("\nWARPLOOM_CICC_PATH = {}\nCICC_PATH = {}\nPATH += {}:\n",
                         names_cicc ? "$(CICC_PATH)" : "$(TOP)/$(_NVVM_BRANCH_)/bin", tools.string(),
                         tools.string());
  write_file_atomically(bin / "nvcc.profile", profile);
  write_script(tools / "cicc", "cicc", shadow, "\"$WARPLOOM_CICC_PATH/cicc\"");
  for (const char* tool : {"ptxas", "fatbinary"})
    write_script(shadow / "later" / tool, tool, shadow, quoted(fs::absolute(real / tool).string()));
  write_file_atomically(cache_key_file(), cache_key);
}

fs::path RewrittenFiles::record(const fs::path& ptx) const {
  return shadow_ / "rewritten" / fmt::format("{:016x}", std::hash<std::string>{}(fs::weakly_canonical(ptx)));
}

void RewrittenFiles::replace(const File& file, const std::string& original,
                             const std::string& rewritten) const {
  const fs::path to = record(file.ptx);
  fs::create_directories(to);
  write_file_atomically(to / "path", fs::weakly_canonical(file.ptx).string());
  write_file_atomically(to / "source", file.source);
  write_file_atomically(to / "kernels", std::to_string(file.kernels));
  write_file_atomically(to / "original", original);
  for (const char* tool : {"ptxas", "fatbinary"})
    link_once(shadow_ / "later" / tool, shadow_ / "tools" / tool);
  write_file_atomically(file.ptx, rewritten);
}

void RewrittenFiles::restore(const fs::path& ptx) const {
  const fs::path from = record(ptx);
  write_file_atomically(ptx, read_file(from / "original"));
  write_file_atomically(from / "restored", "");
  mark_assembled(ptx);  // as far as it concerns us
}

bool RewrittenFiles::contains(const fs::path& ptx) const {
  std::error_code ignored;
  return fs::exists(record(ptx) / "original", ignored);
}

std::string RewrittenFiles::source(const fs::path& ptx) const { return read_file(record(ptx) / "source"); }

void RewrittenFiles::mark_assembled(const fs::path& ptx) const {
  write_file_atomically(record(ptx) / "assembled", "");
}

std::vector<fs::path> RewrittenFiles::not_assembled() const {
  std::vector<fs::path> out;
  for (const fs::directory_entry& entry : fs::directory_iterator(shadow_ / "rewritten"))
    if (!fs::exists(entry.path() / "assembled")) {
      const fs::path ptx = read_file(entry.path() / "path");
      if (fs::exists(ptx)) out.push_back(ptx);
    }
  return out;
}

std::map<std::string, int> RewrittenFiles::kept() const {
  std::map<std::string, int> out;
  for (const fs::directory_entry& entry : fs::directory_iterator(shadow_ / "rewritten")) {
    if (fs::exists(entry.path() / "restored") || !fs::exists(entry.path() / "original")) continue;
    int kernels = 0;
    parse_whole(read_file(entry.path() / "kernels"), kernels);
    int& most = out[read_file(entry.path() / "source")];
    most = std::max(most, kernels);
  }
  return out;
}

}  // namespace warploom::tool
