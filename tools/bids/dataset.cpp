#include "dataset.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <system_error>

#include "cli/verb.hpp"
#include "warploom/core/error.hpp"

namespace warploom::tool {
namespace fs = std::filesystem;
namespace {

/// Sorted, so that runs are alike.
std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    entries.push_back(at->path());
  if (error) throw BadInput(fmt::format("cannot read the folder {}: {}", folder.string(), error.message()));
  std::ranges::sort(entries);
  return entries;
}

/// Folders "sub-*" with the labels asked for, or all.
std::vector<fs::path> folders_of(const fs::path& above, const std::string& kind,
                                 const std::vector<std::string>& asked) {
  std::vector<fs::path> folders;
  std::set<std::string> missing;
  for (const std::string& label : asked) missing.insert(label.starts_with(kind) ? label : kind + label);
  const std::set<std::string> wanted = missing;
  for (const fs::path& folder : entries_of(above)) {
    const std::string name = folder.filename().string();
    std::error_code error;
    if (!name.starts_with(kind) || !fs::is_directory(folder, error) ||
        (!wanted.empty() && !wanted.contains(name)))
      continue;
    missing.erase(name);
    folders.push_back(folder);
  }
  if (kind == "sub-" && !missing.empty())
    throw BadInput(fmt::format("{}: there is no {}", above.string(), fmt::join(missing, ", no ")));
  return folders;
}

void add_series(const fs::path& folder, std::vector<BidsFile>& found) {
  std::error_code error;
  if (!fs::is_directory(folder / "dwi", error)) return;
  for (const fs::path& path : entries_of(folder / "dwi"))
    if (std::optional<BidsFile> file = parse_bids_name(path);
        file && file->suffix == "dwi" && (file->ending == ".nii.gz" || file->ending == ".nii"))
      found.push_back(std::move(*file));
}

}  // namespace

std::optional<BidsFile> parse_bids_name(const fs::path& path) {
  const std::string name = path.filename().string();
  const std::size_t dot = name.find('.');
  if (dot == name.npos || dot == 0) return std::nullopt;
  BidsFile file{.path = path, .entities = {}, .suffix = {}, .ending = name.substr(dot)};
  const std::vector<std::string> parts = split(std::string_view(name).substr(0, dot), '_');
  for (std::size_t k = 0; k + 1 < parts.size(); ++k) {
    const std::size_t dash = parts[k].find('-');
    if (dash == std::string::npos || dash == 0) return std::nullopt;
    file.entities[parts[k].substr(0, dash)] = parts[k].substr(dash + 1);
  }
  file.suffix = parts.back();
  if (file.suffix.find('-') != std::string::npos) return std::nullopt;
  return file;
}

std::vector<BidsFile> diffusion_series(const fs::path& dataset, const BidsChoice& choice) {
  std::error_code error;
  if (!fs::is_directory(dataset, error))
    throw BadInput(fmt::format("{} is no folder; name a BIDS data set", dataset.string()));
  std::vector<BidsFile> found;
  bool has_sessions = false;
  for (const fs::path& participant : folders_of(dataset, "sub-", choice.participants)) {
    if (choice.sessions.empty()) add_series(participant, found);
    for (const fs::path& session : folders_of(participant, "ses-", choice.sessions)) {
      has_sessions = true;
      add_series(session, found);
    }
  }
  if (!found.empty()) return found;
  if (!choice.sessions.empty() && !has_sessions)
    throw BadInput(fmt::format("{}: no participant has a session {}", dataset.string(),
                               fmt::join(choice.sessions, " or ")));
  throw BadInput(
      fmt::format("{}: there is no diffusion series, sub-*/[ses-*/]dwi/*_dwi.nii.gz", dataset.string()));
}

fs::path inherited(const fs::path& dataset, const BidsFile& image, const std::string& ending) {
  for (fs::path folder = image.path.parent_path();; folder = folder.parent_path()) {
    std::vector<BidsFile> here;
    for (const fs::path& path : entries_of(folder)) {
      std::optional<BidsFile> file = parse_bids_name(path);
      if (!file || file->ending != ending || file->suffix != image.suffix) continue;
      const bool applies = std::ranges::all_of(file->entities, [&](const auto& entity) {
        const auto there = image.entities.find(entity.first);
        return there != image.entities.end() && there->second == entity.second;
      });
      if (applies) here.push_back(std::move(*file));
    }
    std::ranges::stable_sort(here, std::ranges::greater{},
                             [](const BidsFile& file) { return file.entities.size(); });
    if (here.size() > 1 && here[0].entities.size() == here[1].entities.size())
      throw BadInput(fmt::format("{} and {} both describe {}; BIDS allows one in a folder",
                                 here[0].path.string(), here[1].path.string(), image.path.string()));
    if (!here.empty()) return here.front().path;
    if (folder == dataset || folder == folder.parent_path()) return {};
  }
}

}  // namespace warploom::tool
