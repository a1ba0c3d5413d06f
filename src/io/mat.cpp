#include <fmt/format.h>
#include <fmt/ranges.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <new>
#include <optional>

#include "io/deflate.hpp"
#include "io/printable.hpp"
#include "io/recording_readers.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"
#include "warploom/core/log.hpp"
#include "warploom/core/parse.hpp"

// A MAT file of versions 5 to 7 is: 128 bytes of header, then elements: type, bytes, content, padded to 8. A
// variable is an element of type 14, perhaps compressed in one of type 15; within it stand its class, sizes,
// name and, as elements again, its numbers by columns, or the fields of a structure. Source: MAT-File Format,
// The MathWorks, R2023a.

namespace warploom::io {
namespace {

constexpr std::uint32_t kMatrix = 14, kCompressed = 15;
constexpr std::uint32_t kCell = 1, kStructure = 2, kDouble = 6, kUint64 = 15;  // classes; 6 to 15 are numbers
constexpr int kDeepest = 32;
constexpr std::size_t kMostArrays = 100'000;

/// Numbers by columns, as they are stored.
struct Array {
  std::string name;  // "data.acc", "runs(2).acc", "trials{3}"
  std::uint64_t rows = 0, columns = 0;
  std::uint32_t type = 0;  // of an element
  std::string_view bytes;
  bool swapped = false;

  std::uint64_t count() const { return rows * columns; }
  bool is_vector() const { return rows == 1 || columns == 1; }
  std::uint64_t length() const { return std::max(rows, columns); }
};

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

template <class T>
double stored(const char* at, bool swapped) {
  std::array<char, sizeof(T)> bytes;
  std::memcpy(bytes.data(), at, sizeof(T));
  if (swapped) std::ranges::reverse(bytes);
  return static_cast<double>(std::bit_cast<T>(bytes));
}

double number(const Array& array, std::uint64_t index) {
  const char* at = array.bytes.data() + index * bytes_of_type(array.type);
  switch (array.type) {
    case 1:
      return stored<std::int8_t>(at, array.swapped);
    case 2:
      return stored<std::uint8_t>(at, array.swapped);
    case 3:
      return stored<std::int16_t>(at, array.swapped);
    case 4:
      return stored<std::uint16_t>(at, array.swapped);
    case 5:
      return stored<std::int32_t>(at, array.swapped);
    case 6:
      return stored<std::uint32_t>(at, array.swapped);
    case 7:
      return stored<float>(at, array.swapped);
    case 9:
      return stored<double>(at, array.swapped);
    case 12:
      return stored<std::int64_t>(at, array.swapped);
    default:
      return stored<std::uint64_t>(at, array.swapped);
  }
}

/// The arrays of numbers of a file.
class MatFile {
 public:
  MatFile(std::string_view bytes, const std::string& file) : file_(file) {
    constexpr std::string_view kHdf = "\x89HDF\r\n\x1a\n";
    if (bytes.starts_with(kHdf) || bytes.starts_with("MATLAB 7.3") || bytes.substr(0, 520).ends_with(kHdf))
      throw BadInput(
          fmt::format("{}: saved by MATLAB with -v7.3 (HDF5), which is not read; load it there and "
                      "save(name, ..., '-v7'), or write CSV or NPY",
                      file_));
    if (bytes.size() < 128 || (bytes.substr(126, 2) != "IM" && bytes.substr(126, 2) != "MI"))
      throw BadInput(
          fmt::format("{}: no MAT file of versions 5 to 7: bytes 127 and 128 are not IM or MI; in MATLAB "
                      "save(name, ..., '-v7')",
                      file_));
    swapped_ = bytes.substr(126, 2) == "MI";
    bytes.remove_prefix(128);
    while (!bytes.empty()) {
      const Element element = take(bytes);
      if (element.type == kCompressed) {
        std::string_view content = inflated_.emplace_back(inflated(element.bytes));
        if (const Element inner = take(content); inner.type == kMatrix) add(inner.bytes, "", kDeepest);
      } else if (element.type == kMatrix) {
        add(element.bytes, "", kDeepest);
      }
    }
  }

  const std::vector<Array>& arrays() const { return arrays_; }

 private:
  struct Element {
    std::uint32_t type = 0;
    std::string_view bytes;
  };

  [[noreturn]] void damaged(const std::string& what) const {
    throw BadInput(fmt::format("{}: damaged: {}", file_, what));
  }

  std::uint32_t word(std::string_view bytes, std::size_t at) const {
    return static_cast<std::uint32_t>(stored<std::uint32_t>(bytes.data() + at, swapped_));
  }

  Element take(std::string_view& bytes) const {
    if (bytes.size() < 8) damaged("an element is cut off");
    const std::uint32_t first = word(bytes, 0);
    if (first >> 16 != 0) {  // a small one: type and bytes in a word, four bytes of content
      if (first >> 16 > 4) damaged(fmt::format("a small element of {} bytes; 4 are the most", first >> 16));
      const Element element{first & 0xFFFF, bytes.substr(4, first >> 16)};
      bytes.remove_prefix(8);
      return element;
    }
    const std::uint64_t size = word(bytes, 4);
    if (size > bytes.size() - 8)
      damaged(fmt::format("an element of {} bytes, where {} are left", size, bytes.size() - 8));
    const Element element{first, bytes.substr(8, size)};
    const std::uint64_t padded = first == kCompressed ? size : (size + 7) / 8 * 8;
    bytes.remove_prefix(8 + std::min<std::uint64_t>(padded, bytes.size() - 8));
    return element;
  }

  std::string inflated(std::string_view bytes) {
    z_stream stream{};
    if (inflateInit(&stream) != Z_OK) throw std::bad_alloc();
    const std::unique_ptr<z_stream, decltype(&inflateEnd)> owner(&stream, &inflateEnd);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(bytes.size());
    std::string out;
    int status = Z_OK;
    while (status == Z_OK) {
      const std::size_t before = out.size();
      out.resize(before + std::clamp<std::size_t>(before, 1 << 14, 1 << 24));
      stream.next_out = reinterpret_cast<Bytef*>(out.data() + before);
      stream.avail_out = static_cast<uInt>(out.size() - before);
      status = inflate(&stream, Z_NO_FLUSH);
      out.resize(out.size() - stream.avail_out);
      held_ += out.size() - before;
      if (held_ > kMaxFileBytes)
        throw BadInput(fmt::format("{}: its variables have more than {} bytes, the limit; save fewer of them",
                                   file_, kMaxFileBytes));
    }
    if (status != Z_STREAM_END) damaged("a compressed variable cannot be read");
    return out;
  }

  /// A variable, or a field of one.
  void add(std::string_view bytes, const std::string& path, int deeper) {
    if (bytes.empty()) return;  // an empty cell
    const Element flags = take(bytes);
    if (flags.bytes.size() < 8) damaged("a variable without a class");
    const std::uint32_t kind = word(flags.bytes, 0) & 0xFF;
    constexpr std::uint32_t kComplex = 0x0800;
    if (kind > kUint64 || (word(flags.bytes, 0) & kComplex) != 0)
      return;  // functions and objects; complex numbers
    const Element sizes = take(bytes), name = take(bytes);
    const std::string full = path.empty() ? std::string(name.bytes) : path;
    std::vector<std::uint64_t> extents;
    std::uint64_t count = 1;
    for (std::size_t k = 0; k + 4 <= sizes.bytes.size(); k += 4) {
      extents.push_back(word(sizes.bytes, k));
      if (__builtin_mul_overflow(count, extents.back(), &count))
        damaged("a variable of more than 2^64 elements");
    }
    if (extents.size() < 2) damaged("a variable of fewer than two sizes");
    if (kind == kStructure) return add_fields(bytes, full, count, deeper);
    if (kind == kCell) return add_cells(bytes, full, count, deeper);
    if (kind < kDouble) return;  // text, objects, sparse
    const Element content = take(bytes);
    if (count == 0 || (extents.size() > 2 && std::ranges::any_of(extents.begin() + 2, extents.end(),
                                                                 [](std::uint64_t n) { return n != 1; })))
      return;
    const std::size_t each = bytes_of_type(content.type);
    if (each == 0) damaged(fmt::format("numbers of the unknown type {}", content.type));
    if (content.bytes.size() / each < count)
      damaged(fmt::format("'{}' has {} numbers, and holds {}", printable(full), count,
                          content.bytes.size() / each));
    if (arrays_.size() == kMostArrays)
      throw BadInput(fmt::format("{}: it holds more than {} arrays; save fewer of them", file_, kMostArrays));
    arrays_.push_back({full, extents[0], extents[1], content.type, content.bytes, swapped_});
  }

  void add_inner(std::string_view& bytes, const std::string& path, int deeper) {
    if (deeper == 0) damaged(fmt::format("structures in one another, more than {} deep", kDeepest));
    const Element inner = take(bytes);
    if (inner.type != kMatrix) damaged("a field that is no variable");
    add(inner.bytes, path, deeper - 1);
  }

  void add_fields(std::string_view bytes, const std::string& path, std::uint64_t count, int deeper) {
    const Element length = take(bytes), names = take(bytes);
    const std::uint64_t letters = length.bytes.size() < 4 ? 0 : word(length.bytes, 0);
    if (letters == 0) damaged("a structure whose fields have no names");
    const std::uint64_t fields = names.bytes.size() / letters;
    for (std::uint64_t k = 0; k < count && fields > 0; ++k)
      for (std::uint64_t f = 0; f < fields; ++f) {
        const std::string_view padded = names.bytes.substr(f * letters, letters);
        const std::string one = count == 1 ? path : fmt::format("{}({})", path, k + 1);
        add_inner(bytes, fmt::format("{}.{}", one, padded.substr(0, padded.find('\0'))), deeper);
      }
  }
  void add_cells(std::string_view bytes, const std::string& path, std::uint64_t count, int deeper) {
    for (std::uint64_t k = 0; k < count; ++k) add_inner(bytes, fmt::format("{}{{{}}}", path, k + 1), deeper);
  }

  const std::string& file_;
  bool swapped_ = false;
  std::uint64_t held_ = 0;
  std::deque<std::string> inflated_;
  std::vector<Array> arrays_;
};

/// "acc" of "data.acc".
std::string last_name(const Array& array) {
  return lower(std::string_view(array.name)
                   .substr(array.name.rfind('.') == std::string::npos ? 0 : array.name.rfind('.') + 1));
}

class MatReader {
 public:
  MatReader(const MatFile& mat, const RecordingOptions& options, const std::string& file)
      : mat_(mat), options_(options), file_(file) {}

  Recording read() {
    choose_length();
    const Array* const time = find_time();
    const Array* const labels = find_labels();
    std::vector<std::string> names, left_out;
    for (const Array& array : mat_.arrays()) {
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
        channel.samples[row] = to_sample(number(*array, first + row * step));
    }
    set_rate(recording, time != nullptr ? rate_of(*time) : said_rate(), options_, file_);
    if (labels != nullptr) add_runs(*labels, recording);
    return recording;
  }

 private:
  struct Column {
    const Array* array;
    std::uint64_t first, step;  // elements
  };

  /// The length that most numbers belong to.
  void choose_length() {
    std::map<std::uint64_t, std::uint64_t> numbers;
    for (const Array& array : mat_.arrays())
      if (array.length() > 1) numbers[array.length()] += array.count();
    if (numbers.empty())
      throw BadInput(
          fmt::format("{}: it holds no array of numbers; complex, sparse and text ones, tables and objects "
                      "are not read",
                      file_));
    length_ = std::ranges::max_element(numbers, {}, [](const auto& of) { return of.second; })->first;
  }

  const Array* named(const std::string& name, const char* what) const {
    for (const Array& array : mat_.arrays())
      if ((array.name == name || last_name(array) == lower(name)) && array.is_vector() &&
          array.length() == length_)
        return &array;
    throw BadInput(
        fmt::format("{}: no vector '{}' of {} elements for {}", file_, printable(name), length_, what));
  }

  const Array* find_time() const {
    if (options_.time_column == "none") return nullptr;
    if (!options_.time_column.empty()) return named(options_.time_column, "the time");
    for (const Array& array : mat_.arrays()) {
      const std::string name = last_name(array);
      if (array.is_vector() && array.length() == length_ &&
          (name == "time" || name == "t" || name == "timestamp" || name == "timestamps"))
        return &array;
    }
    return nullptr;
  }
  const Array* find_labels() const {
    if (options_.label_column.empty() || options_.label_column == "none") return nullptr;
    return named(options_.label_column, "labels");
  }

  /// [Hz]; 0: not said.
  double said_rate() const {
    const Array* said = nullptr;
    for (const Array& array : mat_.arrays()) {
      const std::string name = last_name(array);
      const bool is_rate = name == "fs" || name == "srate" || name == "rate" || name == "samplerate" ||
                           name == "sample_rate" || name == "samplingrate" || name == "sampling_rate" ||
                           name == "fsample";
      if (!is_rate || array.count() != 1 || !(number(array, 0) > 0) || !std::isfinite(number(array, 0)))
        continue;
      if (said != nullptr && number(*said, 0) != number(array, 0) && !options_.rate)
        throw BadInput(fmt::format("{}: {} is {} and {} is {}; give the rate, or save what belongs together",
                                   file_, printable(said->name), number(*said, 0), printable(array.name),
                                   number(array, 0)));
      if (said == nullptr) said = &array;
    }
    return said == nullptr || options_.rate ? 0 : number(*said, 0);
  }

  double rate_of(const Array& time) const {
    std::vector<double> steps;
    for (std::uint64_t k = 1; k < length_; ++k) steps.push_back(number(time, k) - number(time, k - 1));
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
        static_cast<double>(length_ - 1) / ((number(time, length_ - 1) - number(time, 0)) * unit);
    const double whole = std::round(rate);
    return std::abs(whole / rate - 1) <= 1e-4 &&
                   std::abs(whole / rate - 1) * static_cast<double>(length_) <= 1
               ? whole
               : rate;
  }

  void add_runs(const Array& labels, Recording& recording) const {
    const double rate = recording.channels[0].rate;
    for (std::uint64_t begin = 0, end = 0; begin < length_; begin = end) {
      for (end = begin + 1; end < length_ && number(labels, end) == number(labels, begin);) ++end;
      if (std::isfinite(number(labels, begin)))
        recording.annotations.push_back({static_cast<double>(begin) / rate,
                                         static_cast<double>(end - begin) / rate,
                                         fmt::format("{}", number(labels, begin))});
    }
  }

  const MatFile& mat_;
  const RecordingOptions& options_;
  const std::string& file_;
  std::uint64_t length_ = 0;
  std::vector<Column> columns_;
};

}  // namespace

Recording read_mat(ByteSource& source, const RecordingOptions& options) {
  const MatFile mat(source.all(), source.name());
  return MatReader(mat, options, source.name()).read();
}

}  // namespace warploom::io
