#include "output_files.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"

namespace warploom::tool {
namespace fs = std::filesystem;

namespace {

thread_local const OutputRules* rules_of_thread = nullptr;

}  // namespace

OutputRulesScope::OutputRulesScope(const OutputRules& rules)
    : outer_(std::exchange(rules_of_thread, &rules)) {}
OutputRulesScope::~OutputRulesScope() { rules_of_thread = outer_; }

OutputFiles::OutputFiles() : rules_(rules_of_thread) {}

OutputFiles::~OutputFiles() {
  if (committed_) return;
  std::error_code ignored;
  for (const File& file : files_)
    if (!file.in_place) fs::remove(file.staged, ignored);
  for (auto folder = made_.rbegin(); folder != made_.rend(); ++folder) fs::remove(*folder, ignored);
}

void OutputFiles::make_folders(const fs::path& path, const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> missing;
  for (fs::path at = folder; !at.empty() && !fs::exists(at, error) && at != at.parent_path();
       at = at.parent_path())
    missing.push_back(at);
  for (auto one = missing.rbegin(); one != missing.rend(); ++one) {
    if (fs::create_directory(*one, error)) made_.push_back(*one);
    if (error)
      throw BadInput(fmt::format("cannot write {}: the folder {} cannot be made: {}", path.string(),
                                 one->string(), error.message()));
  }
  if (!fs::is_directory(folder, error))
    throw BadInput(
        fmt::format("cannot write {}: {} is no folder; name another", path.string(), folder.string()));
}

void OutputFiles::add(const fs::path& path, bool replace) {
  if (path.empty()) throw BadInput("an output's name is empty; name a file");
  std::error_code error;
  File file{path,
            fs::exists(path, error) ? fs::canonical(path) : fs::absolute(path).lexically_normal(),
            {},
            false,
            false};
  const fs::path directory = file.target.parent_path();
  make_folders(path, directory);
  if (fs::exists(file.target, error)) {
    if (fs::is_directory(file.target, error))
      throw BadInput(fmt::format("cannot write {}: it is a folder; name a file", path.string()));
    file.in_place = !fs::is_regular_file(file.target, error);
    replace = replace || (rules_ != nullptr && rules_->may_replace(file.target));
    if (!replace && !file.in_place)
      throw BadInput(fmt::format("{} exists; give --force to replace it, or another name", path.string()));
    file.replaces = true;
  }
  if (!file.in_place && ::access(directory.c_str(), W_OK | X_OK) != 0)
    throw BadInput(fmt::format("cannot write {}: no permission to write to the folder {}", path.string(),
                               directory.string()));
  if (std::ranges::count(files_, file.target, &File::target) > 0)
    throw BadInput(
        fmt::format("{} is named twice among the outputs; give each a name of its own", path.string()));
  const std::string tag = rules_ == nullptr ? std::to_string(getpid()) : rules_->tag;
  file.staged = file.in_place ? file.target
                              : directory / fmt::format(".{}.{}.{}", tag, files_.size(),
                                                        file.target.filename().string());
  files_.push_back(std::move(file));
}

void OutputFiles::write(const fs::path& path, const std::function<void(const fs::path&)>& writer) const {
  const fs::path& staged = std::ranges::find(files_, path, &File::path)->staged;
  try {
    writer(staged);
  } catch (const BadInput& error) {
    std::string message = error.what();
    if (const std::size_t at = message.find(staged.string()); at != message.npos)
      message.replace(at, staged.string().size(), path.string());
    throw BadInput(message);
  }
}

void OutputFiles::write(const fs::path& path, std::string_view content) const {
  write(path, [&](const fs::path& staged) { write_file_atomically(staged, content); });
}

std::vector<fs::path> OutputFiles::targets() const {
  std::vector<fs::path> all;
  for (const File& file : files_)
    if (!file.in_place) all.push_back(file.target);
  return all;
}

void OutputFiles::commit() {
  if (rules_ != nullptr) rules_->before_commit(targets());
  for (std::size_t k = 0; k < files_.size(); ++k) {
    if (files_[k].in_place) continue;
    std::error_code error, ignored;
    fs::rename(files_[k].staged, files_[k].target, error);
    if (!error) continue;
    for (std::size_t done = 0; done < k; ++done)
      if (!files_[done].replaces) fs::remove(files_[done].target, ignored);
    throw BadInput(fmt::format("cannot write {}: {}", files_[k].path.string(), error.message()));
  }
  committed_ = true;
}

}  // namespace warploom::tool
