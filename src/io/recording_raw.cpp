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

  /// Takes the next rows. @param bytes  whole rows of T
  template <class T>
  void take(std::string_view bytes) {
    const std::size_t rows = bytes.size() / (sizeof(T) * columns_);
    for (std::size_t k = 0; k < wanted_.size(); ++k) {
      const char* from = bytes.data() + wanted_[k] * sizeof(T);
      float* to = recording_.channels[k].samples.data() + row_;
      for (std::size_t row = 0; row < rows; ++row, from += columns_ * sizeof(T)) {
        T value;
        std::memcpy(&value, from, sizeof value);
        to[row] = to_sample(static_cast<double>(value));
      }
    }
    row_ += rows;
  }

  Recording recording() { return std::move(recording_); }

 private:
  const std::size_t columns_;
  std::size_t row_ = 0;
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
  const NpyArray array = parse_npy(source.all(), source.name());
  if (array.shape.empty() || array.shape.size() > 2)
    throw BadInput(fmt::format("{}: an array of {} axes; [samples] or [samples, channels] is wanted",
                               source.name(), array.shape.size()));
  const std::uint64_t columns = array.shape.size() == 2 ? array.shape[1] : 1;
  if (array.data.empty()) throw BadInput(fmt::format("{}: an array without elements", source.name()));
  Columns samples(columns, array.shape[0], options, source.name());
  const std::string_view bytes(reinterpret_cast<const char*>(array.data.data()), array.data.size());
  const auto take = [&]<class T>(std::string_view dtype, T) {
    if (array.dtype == dtype) samples.take<T>(bytes);
    return array.dtype == dtype;
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
