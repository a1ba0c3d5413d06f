#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace warploom::io {

/// The bytes of a number in either order.
template <typename Number>
std::string number_bytes(Number value, bool big_endian) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  if (big_endian != (std::endian::native == std::endian::big)) std::reverse(bytes.begin(), bytes.end());
  return bytes;
}

/// A NIfTI file written from the tables of the standard, byte offset by byte offset, with no structure of
/// libnifti's. What is given here goes in, sensible or not.
struct NiftiBytes {
  bool nifti2 = false, big_endian = false;
  std::int32_t sizeof_hdr = 0;  ///< 0: what it should be
  std::string magic;            ///< empty: what it should be
  std::array<std::int64_t, 8> dim{3, 2, 1, 1, 1, 1, 1, 1};
  std::array<double, 8> pixdim{1, 1, 1, 1, 1, 1, 1, 1};
  int datatype = 2, bitpix = 8;
  double vox_offset = -1;  ///< -1: right after the header
  double slope = 0, inter = 0;
  int units = 2, qform = 0, sform = 0, intent = 0;
  std::array<double, 3> quatern{}, qoffset{};
  std::array<std::array<double, 4>, 3> srow{};
  std::array<double, 3> intent_p{};
  std::string description, intent_name;
  std::string data{"\x07\x09", 2};

  std::size_t header_size() const { return nifti2 ? 540 : 348; }

  std::string bytes() const {
    std::string out(header_size() + 4, '\0');
    const auto put_text = [&](std::size_t at, const std::string& text) {
      out.replace(at, text.size(), text);
    };
    const auto put = [&](std::size_t at, auto value) { put_text(at, number_bytes(value, big_endian)); };
    // A number as this version stores it.
    const auto real = [&](std::size_t at1, std::size_t at2, double value) {
      nifti2 ? put(at2, value) : put(at1, static_cast<float>(value));
    };
    const auto code = [&](std::size_t at1, std::size_t at2, int value) {
      nifti2 ? put(at2, std::int32_t{value}) : put(at1, static_cast<std::int16_t>(value));
    };
    put(0, sizeof_hdr != 0 ? sizeof_hdr : static_cast<std::int32_t>(header_size()));
    const std::string usual = nifti2 ? std::string("n+2\0\r\n\x1a\n", 8) : std::string("n+1\0", 4);
    put_text(nifti2 ? 4 : 344, magic.empty() ? usual : magic);
    for (std::size_t k = 0; k < 8; ++k) {
      nifti2 ? put(16 + 8 * k, dim[k]) : put(40 + 2 * k, static_cast<std::int16_t>(dim[k]));
      real(76 + 4 * k, 104 + 8 * k, pixdim[k]);
    }
    put(nifti2 ? 12 : 70, static_cast<std::int16_t>(datatype));
    put(nifti2 ? 14 : 72, static_cast<std::int16_t>(bitpix));
    const double offset = vox_offset == -1 ? static_cast<double>(header_size() + 4) : vox_offset;
    nifti2 ? put(168, static_cast<std::int64_t>(offset)) : put(108, static_cast<float>(offset));
    real(112, 176, slope);
    real(116, 184, inter);
    nifti2 ? put(500, std::int32_t{units}) : put(123, static_cast<std::int8_t>(units));
    put_text(nifti2 ? 240 : 148, description);
    code(252, 344, qform);
    code(254, 348, sform);
    for (std::size_t k = 0; k < 3; ++k) {
      real(256 + 4 * k, 352 + 8 * k, quatern[k]);
      real(268 + 4 * k, 376 + 8 * k, qoffset[k]);
      for (std::size_t j = 0; j < 4; ++j) real(280 + 16 * k + 4 * j, 400 + 32 * k + 8 * j, srow[k][j]);
    }
    code(68, 504, intent);
    for (std::size_t k = 0; k < 3; ++k) real(56 + 4 * k, 80 + 8 * k, intent_p[k]);
    put_text(nifti2 ? 508 : 328, intent_name);
    if (offset > static_cast<double>(out.size()))
      out.resize(static_cast<std::size_t>(std::min(offset, 4096.0)), '\x55');
    return out + data;
  }
};

}  // namespace warploom::io
