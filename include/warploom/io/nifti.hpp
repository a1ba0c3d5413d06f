#pragma once

#include <array>
#include <complex>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace warploom::io {

/// Rows of the matrix that takes a voxel index (i, j, k, 1) to millimetres in the scanner: +x to the
/// patient's right, +y to the front, +z to the head.
using Affine = std::array<std::array<double, 4>, 3>;
/// Of its 3x3 part [mm^3].
double determinant(const Affine& affine);

/// How elements are stored in a file. complex64 and complex128 are two float32 or float64 an element.
enum class NiftiType {
  uint8,
  int8,
  uint16,
  int16,
  uint32,
  int32,
  uint64,
  int64,
  float32,
  float64,
  complex64,
  complex128
};
/// @return false of no enumerator, too
bool is_complex(NiftiType type);

/// Which images a reader takes.
enum class NiftiNumbers {
  real,             ///< complex ones are an error
  real_or_complex,  ///< those too, in Nifti::complex_data
};

/// One NIfTI image.
struct Nifti {
  std::vector<std::int64_t> shape = {};    ///< 1 to 7 extents, the first runs fastest; trailing ones kept
  std::array<double, 3> spacing{1, 1, 1};  ///< [mm], > 0
  Affine affine{{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}};
  /// What the affine leads to: 0 not stored, 1 the scanner, 2 another image, 3 Talairach, 4 MNI. If both are
  /// 0, nobody knows where the image lies, and the affine is unplaced_affine().
  int sform_code = 1, qform_code = 1;
  int intent = 0;  ///< NIFTI_INTENT code; 1005: symmetric matrix, 1007: vector
  std::array<double, 3>
      intent_parameters{};  ///< intent_p1 to intent_p3; of 1005 the first is 3, the matrix's size
  std::string intent_name = {}, description = {};
  NiftiType type = NiftiType::float32;  ///< as stored; what write_nifti() stores
  bool nifti2 = false;
  std::vector<float> data = {};  ///< slope and intercept applied; integers above 2^24 are rounded
  /// Of a complex type, for which `data` is empty; slope and intercept are of both parts, as NIfTI has it.
  std::vector<std::complex<float>> complex_data = {};

  /// What `data`, or `complex_data`, is to hold: the product of `shape`. @throws BadInput (a negative extent,
  /// more than 2^63 - 1)
  std::int64_t elements() const;
};

/// That of a file that does not say where its image lies, as nibabel has it: x runs to the patient's left (as
/// FSL assumes, too) and the middle of the image is at 0. @param shape  the first three extents count
Affine unplaced_affine(const std::vector<std::int64_t>& shape, const std::array<double, 3>& spacing);

/// Reads .nii and .nii.gz (by content, not by name), NIfTI-1 and -2, either byte order, and an image in two
/// files, .hdr and .img, gzip or not, by the path of either.
/// @param max_bytes  of memory, at most, or what is available if that is less. What the header asks for is
///                   compared with it before anything is allocated; of a gzip stream no more is unpacked than
///                   the header says and 1 MiB of padding
/// @throws BadInput naming the file and what is wrong: missing, truncated (of the gzip stream or the data),
///         not NIfTI, one of two files missing, extents or type or affine that make no sense, complex numbers
///         unless `numbers` takes them; OutOfMemory
/// @note The affine is the sform, else the qform, else unplaced_affine(), in mm whatever the file's unit.
///       One that cannot be inverted is an error. Along an axis of one voxel the spacing may be missing; it
///       is 1 then. A slope of 0 or NaN is none. Extensions are skipped.
Nifti read_nifti(const std::filesystem::path& path, std::uint64_t max_bytes = std::uint64_t{1} << 38,
                 NiftiNumbers numbers = NiftiNumbers::real);

/// The same from a single file's bytes, gzip or not. `name` is for messages.
Nifti parse_nifti(std::string_view bytes, const std::string& name,
                  std::uint64_t max_bytes = std::uint64_t{1} << 38,
                  NiftiNumbers numbers = NiftiNumbers::real);

struct NiftiWriteOptions {
  int compression = 1;  ///< of .nii.gz: 1 (fast) to 12 (small)
};
/// Writes .nii, or .nii.gz by the name's end, as a whole or not at all; NIfTI-2 if asked for or if an extent
/// needs it. Integer types are rounded and clamped, without slope. Compression takes all threads.
/// @throws BadInput (shape and data disagree, both kinds of data, more than 7 extents, another ending, codes
/// of 0 for an affine
///         that is not unplaced_affine(), as write_file_atomically)
void write_nifti(const std::filesystem::path& path, const Nifti& image,
                 const NiftiWriteOptions& options = {});

}  // namespace warploom::io
