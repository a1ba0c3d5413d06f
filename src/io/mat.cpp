#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <utility>

#include "io/hdf5.hpp"
#include "io/mat_arrays.hpp"
#include "io/printable.hpp"
#include "io/recording_readers.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"
#include "warploom/core/log.hpp"

namespace warploom::io {

std::size_t bytes_of_type(std::uint32_t type) {
  switch (type) {
    case 1:
    case 2:
      return 1;
    case 3:
    case 4:
      return 2;
    case 5:
    case 6:
    case 7:
      return 4;
    case 9:
    case 12:
    case 13:
      return 8;
    default:
      return 0;
  }
}

namespace {

template <class T>
double stored(const char* at, bool swapped) {
  std::array<char, sizeof(T)> bytes;
  std::memcpy(bytes.data(), at, sizeof(T));
  if (swapped) std::ranges::reverse(bytes);
  return static_cast<double>(std::bit_cast<T>(bytes));
}

/// "acc" of "data.acc".
std::string last_name(const MatArray& array) {
  return lower(std::string_view(array.name)
                   .substr(array.name.rfind('.') == std::string::npos ? 0 : array.name.rfind('.') + 1));
}

class MatReader {
 public:
  MatReader(const MatContent& mat, const RecordingOptions& options, const std::string& file)
      : mat_(mat), options_(options), file_(file) {}

  Recording read() {
    choose_length();
    const MatArray* const time = find_time();
    const MatArray* const labels = find_labels();
    std::vector<std::string> names, left_out;
    for (const MatArray& array : mat_.arrays) {
      if (&array == time || &array == labels || array.count() < 2) continue;
      if (array.rows != length_ && array.columns != length_) {
        left_out.push_back(fmt::format("{} ({} x {})", printable(array.name), array.rows, array.columns));
        continue;
      }
      const bool by_columns = array.rows == length_;
      const std::uint64_t channels = by_columns ? array.columns : array.rows;
      constexpr std::uint64_t kMostChannels = 1 << 16;
      if (columns_.size() + channels > kMostChannels)
        throw BadInput(
            fmt::format("{}: more than {} channels of {} samples; are rows and columns exchanged in '{}'?",
                        file_, kMostChannels, length_, printable(array.name)));
      for (std::uint64_t c = 0; c < channels; ++c) {
        columns_.push_back({&array, by_columns ? c * length_ : c, by_columns ? 1 : array.rows});
        names.push_back(channels == 1 ? array.name : fmt::format("{}.{}", array.name, c + 1));
      }
    }
    if (columns_.empty()) throw BadInput(fmt::format("{}: no array of numbers but time and labels", file_));
    if (!left_out.empty())
      log(LogLevel::warning,
          fmt::format("{}: channels are the arrays of {} samples; left out {}: {}", file_, length_,
                      left_out.size() == 1 ? "is" : "are",
                      fmt::join(std::span(left_out).first(std::min<std::size_t>(left_out.size(), 6)), ", ")));
    Recording recording;
    for (const std::size_t k : wanted_channels(names, options_, file_)) {
      Channel& channel = recording.channels.emplace_back();
      channel.name = names[k];
      channel.samples.resize(length_);
      const auto& [array, first, step] = columns_[k];
      for (std::uint64_t row = 0; row < length_; ++row)
        channel.samples[row] = to_sample(array->number(first + row * step));
    }
    set_rate(recording, time != nullptr ? rate_of(*time) : said_rate(), options_, file_);
    if (labels != nullptr) add_runs(*labels, recording);
    return recording;
  }

 private:
  struct Column {
    const MatArray* array;
    std::uint64_t first, step;  // elements
  };

  /// The length that most numbers belong to.
  void choose_length() {
    std::map<std::uint64_t, std::uint64_t> numbers;
    for (const MatArray& array : mat_.arrays)
      if (array.length() > 1) numbers[array.length()] += array.count();
    if (numbers.empty())
      throw BadInput(
          fmt::format("{}: it holds no array of numbers; complex, sparse and text ones, tables and objects "
                      "are not read",
                      file_));
    length_ = std::ranges::max_element(numbers, {}, [](const auto& of) { return of.second; })->first;
  }

  const MatArray* named(const std::string& name, const char* what) const {
    for (const MatArray& array : mat_.arrays)
      if ((array.name == name || last_name(array) == lower(name)) && array.is_vector() &&
          array.length() == length_)
        return &array;
    throw BadInput(
        fmt::format("{}: no vector '{}' of {} elements for {}", file_, printable(name), length_, what));
  }

  const MatArray* find_time() const {
    if (options_.time_column == "none") return nullptr;
    if (!options_.time_column.empty()) return named(options_.time_column, "the time");
    for (const MatArray& array : mat_.arrays) {
      const std::string name = last_name(array);
      if (array.is_vector() && array.length() == length_ &&
          (name == "time" || name == "t" || name == "timestamp" || name == "timestamps"))
        return &array;
    }
    return nullptr;
  }
  const MatArray* find_labels() const {
    if (options_.label_column.empty() || options_.label_column == "none") return nullptr;
    return named(options_.label_column, "labels");
  }

  /// [Hz]; 0: not said.
  double said_rate() const {
    const MatArray* said = nullptr;
    for (const MatArray& array : mat_.arrays) {
      const std::string name = last_name(array);
      const bool is_rate = name == "fs" || name == "srate" || name == "rate" || name == "samplerate" ||
                           name == "sample_rate" || name == "samplingrate" || name == "sampling_rate" ||
                           name == "fsample";
      if (!is_rate || array.count() != 1 || !(array.number(0) > 0) || !std::isfinite(array.number(0)))
        continue;
      if (said != nullptr && said->number(0) != array.number(0) && !options_.rate)
        throw BadInput(fmt::format("{}: {} is {} and {} is {}; give the rate, or save what belongs together",
                                   file_, printable(said->name), said->number(0), printable(array.name),
                                   array.number(0)));
      if (said == nullptr) said = &array;
    }
    return said == nullptr || options_.rate ? 0 : said->number(0);
  }

  double rate_of(const MatArray& time) const {
    std::vector<double> steps;
    for (std::uint64_t k = 1; k < length_; ++k) steps.push_back(time.number(k) - time.number(k - 1));
    std::vector<double> sorted = steps;
    for (const double step : steps)
      if (!std::isfinite(step))
        throw BadInput(fmt::format("{}: {} holds what is no number", file_, printable(time.name)));
    std::ranges::nth_element(sorted, sorted.begin() + std::ssize(sorted) / 2);
    const double median = sorted[sorted.size() / 2];
    for (std::size_t k = 0; k < steps.size(); ++k)
      if (!(steps[k] > 0.5 * median && steps[k] < 1.5 * median))
        throw BadInput(fmt::format(
            "{}: element {} of {} is {:g} after the one before, where {:g} is the usual step; samples "
            "must be evenly spaced (time column 'none' and a rate leave it out)",
            file_, k + 2, printable(time.name), steps[k], median));
    double unit = options_.time_unit;
    if (unit == 0) {
      unit = median >= 2 ? 1e-3 : 1;
      if (unit < 1)
        log(LogLevel::warning,
            fmt::format("{}: {} grows by {:g}; it is taken for milliseconds (a time unit may be given)",
                        file_, printable(time.name), median));
    }
    const double rate =
        static_cast<double>(length_ - 1) / ((time.number(length_ - 1) - time.number(0)) * unit);
    const double whole = std::round(rate);
    return std::abs(whole / rate - 1) <= 1e-4 &&
                   std::abs(whole / rate - 1) * static_cast<double>(length_) <= 1
               ? whole
               : rate;
  }

  void add_runs(const MatArray& labels, Recording& recording) const {
    const double rate = recording.channels[0].rate;
    for (std::uint64_t begin = 0, end = 0; begin < length_; begin = end) {
      for (end = begin + 1; end < length_ && labels.number(end) == labels.number(begin);) ++end;
      if (std::isfinite(labels.number(begin)))
        recording.annotations.push_back({static_cast<double>(begin) / rate,
                                         static_cast<double>(end - begin) / rate,
                                         fmt::format("{}", labels.number(begin))});
    }
  }

  const MatContent& mat_;
  const RecordingOptions& options_;
  const std::string& file_;
  std::uint64_t length_ = 0;
  std::vector<Column> columns_;
};

}  // namespace

double MatArray::number(std::uint64_t index) const {
  const char* at = bytes.data() + index * bytes_of_type(type);
  switch (type) {
    case 1:
      return stored<std::int8_t>(at, swapped);
    case 2:
      return stored<std::uint8_t>(at, swapped);
    case 3:
      return stored<std::int16_t>(at, swapped);
    case 4:
      return stored<std::uint16_t>(at, swapped);
    case 5:
      return stored<std::int32_t>(at, swapped);
    case 6:
      return stored<std::uint32_t>(at, swapped);
    case 7:
      return stored<float>(at, swapped);
    case 9:
      return stored<double>(at, swapped);
    case 12:
      return stored<std::int64_t>(at, swapped);
    default:
      return stored<std::uint64_t>(at, swapped);
  }
}

void MatContent::add(MatArray array, const std::string& file) {
  constexpr std::size_t kMostArrays = 100'000;
  if (arrays.size() == kMostArrays)
    throw BadInput(fmt::format("{}: it holds more than {} arrays; save fewer of them", file, kMostArrays));
  arrays.push_back(std::move(array));
}

void MatContent::hold(std::uint64_t bytes, const std::string& file) {
  held += bytes;
  if (held > kMaxFileBytes)
    throw BadInput(fmt::format("{}: its variables have more than {} bytes, the limit; save fewer of them",
                               file, kMaxFileBytes));
}

Recording read_mat(ByteSource& source, const RecordingOptions& options) {
  const std::string_view bytes = source.all();
  const std::size_t hdf5 = hdf5_begin(bytes);
  const MatContent mat =
      hdf5 == bytes.npos ? read_mat5(bytes, source.name()) : read_mat73(bytes, hdf5, source.name());
  return MatReader(mat, options, source.name()).read();
}

}  // namespace warploom::io
