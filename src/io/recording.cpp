#include "warploom/io/recording.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <new>
#include <stdexcept>
#include <system_error>

#include "io/printable.hpp"
#include "io/recording_readers.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/parse.hpp"

namespace warploom::io {
namespace {

namespace fs = std::filesystem;

/// Which reader is meant: RecordingOptions::format, or by the ending of its name; empty: none.
std::string form_of(const fs::path& path, const RecordingOptions& options) {
  const fs::path plain = path.extension() == ".gz" ? path.stem() : path;
  const std::string ending = lower(plain.extension().string());
  const struct {
    std::string_view form;
    std::vector<std::string_view> endings;
  } forms[] = {{"csv", {".csv", ".tsv", ".txt"}},
               {"npy", {".npy"}},
               {"f32", {".f32", ".raw"}},
               {"f64", {".f64"}},
               {"ts", {".ts"}},
               {"edf", {".edf", ".bdf"}},
               {"c3d", {".c3d"}},
               {"mat", {".mat"}},
               {"wfdb", {".hea", ".dat"}}};
  for (const auto& [form, endings] : forms)
    if (options.format.empty() ? std::ranges::find(endings, ending) != endings.end() : options.format == form)
      return std::string(form);
  return "";
}

std::string known_form(const fs::path& path, const RecordingOptions& options) {
  if (std::string form = form_of(path, options); !form.empty()) return form;
  constexpr std::string_view kForms = "csv, npy, f32, f64, ts, edf, c3d, mat, wfdb";
  if (!options.format.empty())
    throw BadInput(fmt::format("format '{}' is unknown; there are {}", printable(options.format), kForms));
  throw BadInput(fmt::format(
      "{}: the ending of its name tells no format: .csv, .tsv, .txt, .npy, .f32, .raw, .f64, .ts, .edf, .bdf, "
      ".c3d, .mat, .hea or .dat does, perhaps with .gz behind it; or name the format: {}",
      path.string(), kForms));
}

fs::path wfdb_header_of(fs::path path) {
  if (path.extension() == ".dat") path.replace_extension(".hea");
  return path.extension() == ".hea" ? path : path += ".hea";
}

Recording read(const fs::path& path, const std::string& form, const RecordingOptions& options) {
  if (form == "wfdb") return read_wfdb(wfdb_header_of(path), options);
  ByteSource source(path);
  if (form == "npy") return read_npy_recording(source, options);
  if (form == "f32") return read_raw<float>(source, options);
  if (form == "f64") return read_raw<double>(source, options);
  if (form == "ts") return read_ts(source, options);
  if (form == "edf") return read_edf(source, options);
  if (form == "c3d") return read_c3d(source, options);
  if (form == "mat") return read_mat(source, options);
  return read_text(source, options);
}

void check_options(const RecordingOptions& options) {
  if (options.rate && !(*options.rate > 0 && std::isfinite(*options.rate)))
    throw BadInput(fmt::format("rate {} Hz; it must be above 0 and finite", *options.rate));
  if (!(options.time_unit >= 0 && std::isfinite(options.time_unit)))
    throw BadInput(fmt::format("time unit {} s; it must be above 0 and finite", options.time_unit));
  if (options.channels < 0)
    throw BadInput(fmt::format("{} channels of raw samples; there must be 1 or more", options.channels));
}

bool is_recording(const fs::path& path) {
  if (lower(path.extension().string()) == ".dat")
    return !fs::exists(fs::path(path).replace_extension(".hea"));
  return !form_of(path, {}).empty();
}

std::vector<fs::path> recordings_of(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    if (at->is_regular_file(error) && is_recording(at->path())) files.push_back(at->path());
  if (error) throw BadInput(fmt::format("cannot read the folder {}: {}", folder.string(), error.message()));
  if (files.empty())
    throw BadInput(fmt::format(
        "{}: the folder holds no recording: no .csv .tsv .txt .npy .f32 .raw .f64 .ts .edf .bdf .c3d .mat .hea or .dat",
        folder.string()));
  std::ranges::sort(files);
  return files;
}

}  // namespace

double Recording::seconds() const {
  double longest = 0;
  for (const Channel& channel : channels)
    longest = std::max(longest, static_cast<double>(channel.samples.size()) / channel.rate);
  return longest;
}

SeriesPath series_path(const fs::path& path) {
  const std::string text = path.string();
  const std::size_t hash = text.rfind('#');
  std::int32_t series = 0;
  std::error_code error;
  if (hash == text.npos || !parse_whole(std::string_view(text).substr(hash + 1), series) || series < 1 ||
      fs::exists(path, error))
    return {path, 0};
  return {text.substr(0, hash), series};
}

std::vector<fs::path> series_of(const fs::path& file) {
  ByteSource source(file);
  std::vector<fs::path> paths;
  for (std::int32_t series = 1, all = count_series(source); series <= all; ++series)
    paths.push_back(file.string() + "#" + std::to_string(series));
  return paths;
}

std::vector<fs::path> recording_parts(const fs::path& path, const RecordingOptions& options) {
  const fs::path file = series_path(path).file;
  if (form_of(file, options) != "wfdb") return {file};
  return wfdb_files(wfdb_header_of(file));
}

Recording read_recording(const fs::path& path, const RecordingOptions& given) {
  const auto [file, series] = series_path(path);
  RecordingOptions options = given;
  if (series > 0) options.series = series;
  check_options(options);
  try {
    const std::string form = known_form(file, options);
    if (series > 0 && form != "ts")
      throw BadInput(fmt::format("{}: only .ts files hold several series, and {} is none", path.string(),
                                 file.string()));
    Recording recording = read(file, form, options);
    recording.name = path.filename().string();
    std::ranges::stable_sort(recording.annotations, {}, &Annotation::onset);
    return recording;
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {
  }
  throw OutOfMemory(fmt::format("{}: the recording does not fit into memory; fewer channels may be selected",
                                path.string()));
}

std::vector<RecordingFile> list_recordings(std::span<const std::string> files_and_folders,
                                           const RecordingOptions& reading) {
  std::vector<RecordingFile> recordings;
  std::error_code error;
  const auto add = [&](const fs::path& file) {
    if (reading.series != kAllSeries || !holds_series(file, reading))
      return recordings.push_back({file, recording_stem(file)});
    const std::vector<fs::path> all = series_of(file);
    if (all.empty()) throw BadInput(fmt::format("{}: it holds no series", file.string()));
    for (const fs::path& path : all) recordings.push_back({path, recording_stem(path)});
  };
  for (const std::string& named : files_and_folders) {
    if (fs::is_directory(named, error)) {
      for (const fs::path& path : recordings_of(named)) add(path);
      continue;
    }
    const fs::path file = recording_file(named);
    if (!fs::exists(series_path(file).file, error))
      throw BadInput(fmt::format("cannot read {}: {}", named.empty() ? "''" : named,
                                 error ? error.message() : "there is no such file"));
    add(file);
  }
  std::map<std::string, int> count;
  for (const RecordingFile& recording : recordings) ++count[recording.name];
  for (RecordingFile& recording : recordings)  // sub1/walk.csv and sub2/walk.csv
    if (count[recording.name] > 1 && recording.path.has_parent_path())
      recording.name = fs::absolute(recording.path).parent_path().filename().string() + "_" + recording.name;
  std::map<std::string, fs::path> seen;
  for (const RecordingFile& recording : recordings)
    if (const auto [other, added] = seen.emplace(recording.name, recording.path); !added)
      throw BadInput(fmt::format("{} and {} would both be reported as '{}': search them one after the other",
                                 other->second.string(), recording.path.string(), recording.name));
  return recordings;
}

fs::path recording_file(const std::string& name) {
  std::error_code error;
  const fs::path path = name, header = fs::path(path).replace_extension(".hea");
  if (path.extension() == ".dat" && fs::exists(header, error)) return header;
  if (!name.empty() && !fs::exists(path, error) && fs::exists(name + ".hea", error)) return name + ".hea";
  return path;
}

std::string recording_stem(const fs::path& path) {
  const auto [file, series] = series_path(path);
  fs::path name = file.filename();
  if (name.extension() == ".gz") name = name.stem();
  return name.stem().string() + (series > 0 ? fmt::format("_{}", series) : "");
}

bool holds_series(const fs::path& path, const RecordingOptions& reading) {
  return form_of(path, reading) == "ts";
}

void check_missing(double missing, double held, const std::string& file) {
  const double limit = std::max(64 * held, static_cast<double>(1 << 26));
  if (missing <= limit) return;
  throw BadInput(fmt::format(
      "{}: {:.0f} samples are missing in its gaps, all channels together, where it holds {:.0f}; the limit is "
      "{:.0f}; check the unit of its times, select fewer channels, or split the recording at its gaps",
      file, missing, held, limit));
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

std::string quoted_list(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 20;
  std::string text;
  for (std::size_t k = 0; k < std::min(names.size(), kMost); ++k)
    text += fmt::format("{}'{}'", k == 0 ? "" : ", ", names[k]);
  return names.size() > kMost ? text + ", ..." : text;
}

namespace {

/// "2-4", unless a channel has that name, as 2, 3 and 4.
std::vector<std::string> with_ranges(const std::vector<std::string>& words,
                                     const std::vector<std::string>& names, const std::string& file) {
  std::vector<std::string> all;
  for (const std::string& word : words) {
    const std::size_t dash = word.find('-');
    std::size_t first = 0, last = 0;
    if (dash == word.npos || std::ranges::count(names, word) > 0 ||
        !parse_whole(std::string_view(word).substr(0, dash), first) ||
        !parse_whole(std::string_view(word).substr(dash + 1), last)) {
      all.push_back(word);
      continue;
    }
    if (first < 1 || last < first || last > names.size())
      throw BadInput(fmt::format("{}: channels {}: the file has {}, from 1; a range is FIRST-LAST, as 1-{}",
                                 file, word, names.size(), names.size()));
    for (std::size_t number = first; number <= last; ++number) all.push_back(std::to_string(number));
  }
  return all;
}

}  // namespace

std::vector<std::size_t> wanted_channels(const std::vector<std::string>& names,
                                         const RecordingOptions& options, const std::string& file) {
  std::vector<std::size_t> wanted;
  if (options.select.empty()) {
    for (std::size_t k = 0; k < names.size(); ++k) wanted.push_back(k);
    return wanted;
  }
  for (const std::string& word : with_ranges(options.select, names, file)) {
    const auto named = std::ranges::count(names, word);
    std::size_t number = 0;
    if (named > 1)
      throw BadInput(
          fmt::format("{}: {} channels have the name '{}'; select by number, from 1", file, named, word));
    if (named == 1)
      number = static_cast<std::size_t>(std::ranges::find(names, word) - names.begin()) + 1;
    else if (!parse_whole(word, number) || number < 1 || number > names.size())
      throw BadInput(
          fmt::format("{}: no channel '{}'; it has {}: {}", file, word, names.size(), quoted_list(names)));
    if (std::ranges::count(wanted, number - 1) > 0)
      throw BadInput(fmt::format("{}: channel {} is selected twice", file, number));
    wanted.push_back(number - 1);
  }
  return wanted;
}

void set_rate(Recording& recording, double rate, const RecordingOptions& options, const std::string& file) {
  constexpr double kTolerance = 1e-3;  // rates made of rounded times are no closer
  if (options.rate && rate > 0 && std::abs(rate - *options.rate) > kTolerance * rate)
    throw BadInput(fmt::format("{}: its rate is {:.6g} Hz, not {:.6g}; leave the rate out, or resample", file,
                               rate, *options.rate));
  if (options.rate) rate = *options.rate;
  if (!std::isfinite(rate)) throw BadInput(fmt::format("{}: its times are too close for a rate", file));
  recording.timed = rate > 0;
  for (Channel& channel : recording.channels) channel.rate = rate > 0 ? rate : 1;
}

}  // namespace warploom::io
