#include "warploom/io/recording.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <stdexcept>

#include "io/printable.hpp"
#include "io/recording_readers.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/parse.hpp"

namespace warploom::io {
namespace {

namespace fs = std::filesystem;

std::string form_of(const fs::path& path, const RecordingOptions& options) {
  const bool named = !options.format.empty();
  const fs::path plain = path.extension() == ".gz" ? path.stem() : path;
  const std::string word = named ? options.format : lower(plain.extension().string());
  const struct {
    std::string_view form;
    std::vector<std::string_view> endings;
  } forms[] = {{"csv", {".csv", ".tsv", ".txt"}},
               {"npy", {".npy"}},
               {"f32", {".f32", ".raw"}},
               {"f64", {".f64"}},
               {"ts", {".ts"}},
               {"edf", {".edf", ".bdf"}},
               {"wfdb", {".hea", ".dat"}}};
  for (const auto& [form, endings] : forms)
    if (named ? word == form : std::ranges::find(endings, word) != endings.end()) return std::string(form);
  constexpr std::string_view kForms = "csv, npy, f32, f64, ts, edf, wfdb";
  if (named) throw BadInput(fmt::format("format '{}' is unknown; there are {}", printable(word), kForms));
  throw BadInput(
      fmt::format("{}: the ending of its name tells no format: .csv, .tsv, .txt, .npy, .f32, .raw, .f64, "
                  ".ts, .edf, .bdf, "
                  ".hea or .dat does, perhaps with .gz behind it; or name the format: {}",
                  path.string(), kForms));
}

Recording read(const fs::path& path, const std::string& form, const RecordingOptions& options) {
  if (form == "wfdb") {
    fs::path header = path;
    if (header.extension() == ".dat") header.replace_extension(".hea");
    return read_wfdb(header.extension() == ".hea" ? header : fs::path(header) += ".hea", options);
  }
  ByteSource source(path);
  if (form == "npy") return read_npy_recording(source, options);
  if (form == "f32") return read_raw<float>(source, options);
  if (form == "f64") return read_raw<double>(source, options);
  if (form == "ts") return read_ts(source, options);
  if (form == "edf") return read_edf(source, options);
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

Recording read_recording(const fs::path& path, const RecordingOptions& given) {
  const auto [file, series] = series_path(path);
  RecordingOptions options = given;
  if (series > 0) options.series = series;
  check_options(options);
  try {
    const std::string form = form_of(file, options);
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

void check_missing(double missing, double held, const std::string& file) {
  const double limit = std::max(64 * held, static_cast<double>(1 << 26));
  if (missing <= limit) return;
  throw BadInput(fmt::format(
      "{}: {:.0f} samples are missing in its gaps, all channels together, where it holds {:.0f}; the limit "
      "is "
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

std::vector<std::size_t> wanted_channels(const std::vector<std::string>& names,
                                         const RecordingOptions& options, const std::string& file) {
  std::vector<std::size_t> wanted;
  if (options.select.empty()) {
    for (std::size_t k = 0; k < names.size(); ++k) wanted.push_back(k);
    return wanted;
  }
  for (const std::string& word : options.select) {
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
