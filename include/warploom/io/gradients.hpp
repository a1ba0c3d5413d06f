#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "warploom/io/nifti.hpp"

namespace warploom::io {

/// The axes that directions and tensors are expressed in.
enum class Frame {
  image,    ///< along the voxel indices i, j, k
  fsl,      ///< the same with i reversed where the affine's determinant is positive (FSL's bvec rule)
  scanner,  ///< the affine's millimetres (MRtrix)
};
/// @throws BadInput naming the three
Frame parse_frame(std::string_view text);
std::string_view name(Frame frame);

/// What takes a vector from one frame to another: orthonormal, perhaps a reflection. For an affine with
/// shear, the nearest orthonormal matrix to its normalised columns.
/// @throws BadInput (an affine that cannot be inverted, a frame that is none)
std::array<std::array<double, 3>, 3> frame_change(Frame from, Frame to, const Affine& affine);

/// Whether a direction that is no unit vector scales its b-value by its squared length, as scanners that
/// play several shells with one nominal b mean it.
enum class BValueScaling {
  automatic,  ///< where lengths differ from 1 by more than 1 %, and from each other by more than 1 %
  yes,
  no,
};
/// "auto", "yes", "no"; @throws BadInput naming the three
BValueScaling parse_bvalue_scaling(std::string_view text);
std::string_view name(BValueScaling scaling);

/// The diffusion weighting of every volume of a series.
struct Gradients {
  std::vector<double> b = {};                          ///< [s/mm^2], >= 0
  std::vector<std::array<double, 3>> directions = {};  ///< unit vectors; 0 where b is 0
  Frame frame = Frame::fsl;
  /// The shortest and the longest direction in the file, of volumes above the limit of b = 0.
  std::array<double, 2> lengths{1, 1};
  bool b_scaled = false;  ///< the b-values were scaled by the squared lengths
};

/// What a user should know about the directions' lengths; empty where all are 1 within 1 %.
std::string remark_on_lengths(const Gradients& gradients);

/// FSL: b-values in one row or column, directions in three rows, or a row each (dipy); three rows of three
/// are taken as FSL's. Frame fsl. Numbers may be separated by commas; '#' begins a comment. A direction is
/// missing if it is not finite or its length is at most 0.05; that is allowed where b is at most `b0_limit`,
/// and gives 0. Others are normalised, and `scaling` says what becomes of b. A byte order mark is skipped.
/// @param b0_limit  [s/mm^2], of b as it stands in the file
/// @throws BadInput (not numbers, counts that differ from `volumes`, negative b, a direction missing where b
///         is above the limit); messages name file, line and the counts
Gradients read_fsl_gradients(const std::filesystem::path& bval, const std::filesystem::path& bvec,
                             std::int64_t volumes, double b0_limit = 50,
                             BValueScaling scaling = BValueScaling::automatic);

/// Numbers as the two files have them.
struct GradientTable {
  std::vector<double> b = {};           ///< [volumes]
  std::vector<double> directions = {};  ///< [rows, numbers a row]
  std::int64_t rows = 0;                ///< of `directions`: 3, or one a volume
};
/// The same of numbers in memory, which messages call bvals and bvecs.
/// @throws BadInput as read_fsl_gradients
Gradients fsl_gradients(const GradientTable& table, std::int64_t volumes, double b0_limit = 50,
                        BValueScaling scaling = BValueScaling::automatic);

/// MRtrix: a row x y z b a volume; frame scanner. Rules and errors as those of read_fsl_gradients.
Gradients read_mrtrix_gradients(const std::filesystem::path& path, std::int64_t volumes, double b0_limit = 50,
                                BValueScaling scaling = BValueScaling::automatic);

}  // namespace warploom::io
