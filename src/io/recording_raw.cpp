#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>
#include <utility>

#include "io/recording_readers.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/npy.hpp"

namespace warploom::io {
namespace {

static_assert(std::endian::native == std::endian::little, "samples are read as they lie in the file");

/// Rows of stored numbers, channel by channel.
class Columns {
 public:
  /// @throws BadInput (as wanted_channels; as many columns as samples would be, if axes were exchanged)
  Columns(std::uint64_t columns, std::uint64_t rows, const RecordingOptions& options, const std::string& file)
      : columns_(columns) {
    constexpr std::uint64_t kMostColumns = 1 << 16;
    if (columns > kMostColumns)
      throw BadInput(fmt::format(
          "{}: {} samples of {} channels, of which {} are the limit; [samples, channels] is wanted, so perhaps a.T.copy() in NumPy",
          file, rows, columns, kMostColumns));
    wanted_ = wanted_channels(std::vector<std::string>(columns), options, file);
    recording_.channels.resize(wanted_.size());
    for (Channel& channel : recording_.channels) channel.samples.resize(rows);
    set_rate(recording_, 0, options, file);
  }

  /// Takes the next rows. @param bytes  whole rows of T; @param swapped  of the other byte order
  template <class T>
  void take(std::string_view bytes, bool swapped = false) {
    const std::uint64_t rows = bytes.size() / (sizeof(T) * columns_);
    for (std::size_t k = 0; k < wanted_.size(); ++k)
      copy<T>(bytes.data() + wanted_[k] * sizeof(T), columns_, rows, swapped, k, row_);
    row_ += rows;
  }

  /// The same of a file that has one column after the other. @param elements  of the file before these bytes
  template <class T>
  void take_of_columns(std::string_view bytes, bool swapped, std::uint64_t elements) {
    const std::uint64_t count = bytes.size() / sizeof(T), rows = recording_.channels[0].samples.size();
    for (std::size_t k = 0; k < wanted_.size(); ++k) {
      const std::uint64_t column = wanted_[k] * rows;
      const std::uint64_t first = std::max(column, elements),
                          last = std::min(column + rows, elements + count);
      if (first < last)
        copy<T>(bytes.data() + (first - elements) * sizeof(T), 1, last - first, swapped, k, first - column);
    }
  }

  Recording recording() { return std::move(recording_); }

 private:
  /// @param from  every `step`-th of which is a sample; @param channel  of the recording; @param at  its
  /// first
  template <class T>
  void copy(const char* from, std::uint64_t step, std::uint64_t rows, bool swapped, std::size_t channel,
            std::uint64_t at) {
    float* const to = recording_.channels[channel].samples.data() + at;
    for (std::uint64_t row = 0; row < rows; ++row, from += step * sizeof(T)) {
      char bytes[sizeof(T)];
      std::memcpy(bytes, from, sizeof(T));
      if (swapped) std::reverse(bytes, bytes + sizeof(T));
      T value;
      std::memcpy(&value, bytes, sizeof(T));
      to[row] = to_sample(static_cast<double>(value));
    }
  }

  const std::uint64_t columns_;
  std::uint64_t row_ = 0;
  std::vector<std::size_t> wanted_;
  Recording recording_;
};

}  // namespace

template <class T>
Recording read_raw(ByteSource& source, const RecordingOptions& options) {
  const auto columns = static_cast<std::uint64_t>(std::max(options.channels, 1));
  const std::uint64_t row = columns * sizeof(T);
  if (source.size() == 0 || source.size() % row != 0)
    throw BadInput(fmt::format(
        "{}: {} bytes are not a number of samples of {} channel{} of {} bytes; check the number of channels and the format",
        source.name(), source.size(), columns, columns == 1 ? "" : "s", sizeof(T)));
  Columns samples(columns, source.size() / row, options, source.name());
  const std::uint64_t piece = std::max<std::uint64_t>(1, (1 << 20) / row) * row;
  for (std::uint64_t at = 0; at < source.size(); at += piece)
    samples.template take<T>(source.view(at, std::min(piece, source.size() - at)));
  return samples.recording();
}
template Recording read_raw<float>(ByteSource&, const RecordingOptions&);
template Recording read_raw<double>(ByteSource&, const RecordingOptions&);

Recording read_npy_recording(ByteSource& source, const RecordingOptions& options) {
  constexpr std::uint64_t kPiece = 1 << 20;  // a longer header is refused
  const NpyHeader array =
      parse_npy_header(source.view(0, std::min(source.size(), kPiece)), source.size(), source.name());
  if (array.shape.empty() || array.shape.size() > 2)
    throw BadInput(fmt::format("{}: an array of {} axes; [samples] or [samples, channels] is wanted",
                               source.name(), array.shape.size()));
  const std::uint64_t columns = array.shape.size() == 2 ? array.shape[1] : 1, each = array.element_bytes;
  if (array.data_begin == source.size())
    throw BadInput(fmt::format("{}: an array without elements", source.name()));
  Columns samples(columns, array.shape[0], options, source.name());
  const bool by_columns = array.fortran_order && columns > 1;
  const auto take = [&]<class T>(std::string_view dtype, T) {
    if (array.dtype != dtype) return false;
    const std::uint64_t whole = by_columns ? each : columns * each;
    const std::uint64_t piece = std::max<std::uint64_t>(1, kPiece / whole) * whole;
    for (std::uint64_t at = array.data_begin; at < source.size(); at += piece) {
      const std::string_view bytes = source.view(at, std::min(piece, source.size() - at));
      if (by_columns)
        samples.take_of_columns<T>(bytes, array.big_endian, (at - array.data_begin) / each);
      else
        samples.take<T>(bytes, array.big_endian);
    }
    return true;
  };
  const bool taken = take("f4", float{}) || take("f8", double{}) || take("i1", std::int8_t{}) ||
                     take("i2", std::int16_t{}) || take("i4", std::int32_t{}) || take("i8", std::int64_t{}) ||
                     take("u1", std::uint8_t{}) || take("u2", std::uint16_t{}) ||
                     take("u4", std::uint32_t{}) || take("u8", std::uint64_t{});
  if (!taken)
    throw BadInput(fmt::format(
        "{}: its elements are {}; f4, f8 and whole numbers are read; convert it with a.astype('f4') in NumPy",
        source.name(), array.dtype));
  return samples.recording();
}

}  // namespace warploom::io
