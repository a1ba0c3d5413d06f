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

/// What a .npy file says of the array that follows.
struct NpyHeader {
  std::string dtype = {};                 ///< as NpyArray's
  std::vector<std::uint64_t> shape = {};  ///< as NpyArray's
  bool fortran_order = false;             ///< the first axis varies fastest
  bool big_endian = false;                ///< of elements of more than a byte
  std::uint64_t element_bytes = 0;
  std::uint64_t data_begin = 0;  ///< the elements' first byte in the file; they are the rest of it
};

/// Reads the header of .npy of format 1.0 to 3.0, so that elements may be read in pieces. `begin` is what the
/// file begins with, `size` the bytes of all of it, `name` for messages.
/// @throws BadInput naming the file and what is wrong with it: as parse_npy; a header longer than `begin`
NpyHeader parse_npy_header(std::string_view begin, std::uint64_t size, const std::string& name);

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
