#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace warploom {

/// One array as NumPy's numpy.save() writes it and numpy.load() reads it.
struct NpyArray {
  std::string dtype = {};                 ///< of one element: b1, i1 i2 i4 i8, u1 u2 u4 u8, f2 f4 f8
  std::vector<std::uint64_t> shape = {};  ///< elements along each axis; empty: one value without axes
  std::vector<std::byte> data = {};  ///< elements in C order (the last axis varies fastest), little endian

  /// Elements: the product of `shape`. @throws BadInput (more than 2^64 - 1)
  std::uint64_t count() const;
};

/// Reads .npy of format 1.0 to 3.0, in C or Fortran order, little or big endian. `name` is for messages.
/// @throws BadInput naming the file and what is wrong with it: no .npy, a header that is cut off or
///         malformed, another type, more or fewer bytes than the shape asks for
NpyArray parse_npy(std::string_view content, const std::string& name);

/// As numpy.save() would write it, byte for byte. @throws BadInput (unknown dtype, shape and data disagree)
std::string format_npy(const NpyArray& array);

/// @throws as read_file and parse_npy
NpyArray read_npy(const std::filesystem::path& path);
/// @throws as format_npy and write_file_atomically
void write_npy(const std::filesystem::path& path, const NpyArray& array);

}  // namespace warploom
