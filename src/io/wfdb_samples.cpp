#include "io/wfdb_samples.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "warploom/core/error.hpp"

namespace warploom::io {
namespace {

std::uint32_t byte(std::string_view bytes, std::size_t at) { return static_cast<unsigned char>(bytes[at]); }

/// A number of the low `bits` bits of a word.
std::int32_t signed_of(std::uint32_t word, int bits) {
  return static_cast<std::int32_t>(word << (32 - bits)) >> (32 - bits);
}

/// Sample k of those that the bytes hold.
template <int format>
std::int32_t sample(std::string_view bytes, std::size_t k) {
  if constexpr (format == 8) return signed_of(byte(bytes, k), 8);  // less the sample before
  if constexpr (format == 80) return static_cast<std::int32_t>(byte(bytes, k)) - 128;
  if constexpr (format == 16) return signed_of(byte(bytes, 2 * k) | byte(bytes, 2 * k + 1) << 8, 16);
  if constexpr (format == 61) return signed_of(byte(bytes, 2 * k + 1) | byte(bytes, 2 * k) << 8, 16);
  if constexpr (format == 160)
    return static_cast<std::int32_t>(byte(bytes, 2 * k) | byte(bytes, 2 * k + 1) << 8) - 32768;
  if constexpr (format == 24)
    return signed_of(byte(bytes, 3 * k) | byte(bytes, 3 * k + 1) << 8 | byte(bytes, 3 * k + 2) << 16, 24);
  if constexpr (format == 32)
    return signed_of(byte(bytes, 4 * k) | byte(bytes, 4 * k + 1) << 8 | byte(bytes, 4 * k + 2) << 16 |
                         byte(bytes, 4 * k + 3) << 24,
                     32);
  if constexpr (format ==
                212) {  // two samples in three bytes: the second byte holds the upper four bits of both
    const std::size_t pair = k / 2 * 3;
    const std::uint32_t upper = byte(bytes, pair + 1);
    return k % 2 == 0 ? signed_of(byte(bytes, pair) | (upper & 0x0f) << 8, 12)
                      : signed_of(byte(bytes, pair + 2) | (upper & 0xf0) << 4, 12);
  }
  if constexpr (format == 310 || format == 311) {  // three samples of ten bits in two words of two bytes
    const auto word = [&](std::size_t number) {
      const std::size_t at = k / 3 * 4 + 2 * number;
      return at < bytes.size() ? byte(bytes, at) | byte(bytes, at + 1) << 8 : 0;
    };
    if constexpr (format == 311) return signed_of((word(0) | word(1) << 16) >> (10 * (k % 3)), 10);
    // Two of bits 1 to 10 of a word; the third has the upper five of the first word, then of the second.
    if (k % 3 < 2) return signed_of(word(k % 3) >> 1, 10);
    return signed_of(word(0) >> 11 | (word(1) >> 11) << 5, 10);
  }
}

/// Bytes of the first `samples` samples.
std::uint64_t bytes_of(int format, std::uint64_t samples) {
  if (format == 212) return samples / 2 * 3 + samples % 2 * 2;
  if (format == 310 || format == 311) return samples / 3 * 4 + samples % 3 * 2;
  return samples * (format == 8 || format == 80 ? 1 : format == 24 ? 3 : format == 32 ? 4 : 2);
}

template <int format>
void decode(std::string_view bytes, std::span<std::int32_t> samples) {
  for (std::size_t k = 0; k < samples.size(); ++k) samples[k] = sample<format>(bytes, k);
}

}  // namespace

std::int32_t wfdb_invalid(int format, const std::string& file) {
  switch (format) {
    case 8:  // none: differences
      return std::numeric_limits<std::int32_t>::min();
    case 80:
      return -(1 << 7);
    case 310:
    case 311:
      return -(1 << 9);
    case 212:
      return -(1 << 11);
    case 16:
    case 61:
    case 160:
      return -(1 << 15);
    case 24:
      return -(1 << 23);
    case 32:
      return std::numeric_limits<std::int32_t>::min();
    case 508:
    case 516:
    case 524:
      throw BadInput(fmt::format(
          "{}: a signal of format {}, which is FLAC and is not read: write the record anew in format {} "
          "(in Python: wfdb.rdrecord, then wfdb.wrsamp with fmt)",
          file, format, format == 524 ? 24 : 16));
    default:
      throw BadInput(fmt::format(
          "{}: a signal of format {}; 8, 16, 24, 32, 61, 80, 160, 212, 310 and 311 are read", file, format));
  }
}

std::uint64_t wfdb_samples(int format, std::uint64_t bytes) {
  if (format == 212) return bytes / 3 * 2 + (bytes % 3 == 2 ? 1 : 0);
  if (format == 310 || format == 311) return bytes / 4 * 3 + bytes % 4 / 2;
  return bytes / bytes_of(format, 1);
}

void read_wfdb_samples(ByteSource& source, int format, std::uint64_t offset, std::uint64_t count,
                       std::uint64_t frame,
                       const std::function<void(std::uint64_t, std::span<const std::int32_t>)>& take) {
  // Six times a number of frames, so that no pair of format 212 is divided, nor three of 310 and 311.
  const std::uint64_t piece = std::max<std::uint64_t>(1, (1 << 14) / frame) * 6 * frame;
  std::vector<std::int32_t> samples;
  for (std::uint64_t first = 0; first < count; first += piece) {
    samples.resize(std::min(piece, count - first));
    const std::string_view bytes =
        source.view(offset + bytes_of(format, first), bytes_of(format, samples.size()));
    switch (format) {
      case 8:
        decode<8>(bytes, samples);
        break;
      case 310:
        decode<310>(bytes, samples);
        break;
      case 311:
        decode<311>(bytes, samples);
        break;
      case 80:
        decode<80>(bytes, samples);
        break;
      case 212:
        decode<212>(bytes, samples);
        break;
      case 16:
        decode<16>(bytes, samples);
        break;
      case 61:
        decode<61>(bytes, samples);
        break;
      case 160:
        decode<160>(bytes, samples);
        break;
      case 24:
        decode<24>(bytes, samples);
        break;
      default:
        decode<32>(bytes, samples);
    }
    take(first, samples);
  }
}

}  // namespace warploom::io
