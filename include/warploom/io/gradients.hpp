#pragma once

#include <array>
#include <filesystem>
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

/// The diffusion weighting of every volume of a series.
struct Gradients {
  std::vector<double> b = {};                          ///< [s/mm^2], >= 0
  std::vector<std::array<double, 3>> directions = {};  ///< unit vectors; 0 where b is 0
  Frame frame = Frame::fsl;
};

/// FSL: b-values in one row or column, directions in three rows, or a row each (dipy); three rows of three
/// are taken as FSL's. Frame fsl. Numbers may be separated by commas; '#' begins a comment. A direction is
/// missing if it is not finite or its length is at most 0.05; that is allowed where b is at most `b0_limit`,
/// and gives 0. Others are normalised; where the length is not 1 within 5 %, its square scales b (as MRtrix
/// does).
/// @param b0_limit  [s/mm^2], of b as it stands in the file
/// @throws BadInput (not numbers, counts that differ from `volumes`, negative b, a direction missing where b
///         is above the limit); messages name file, line and the counts
Gradients read_fsl_gradients(const std::filesystem::path& bval, const std::filesystem::path& bvec,
                             std::int64_t volumes, double b0_limit = 50);

/// MRtrix: a row x y z b a volume; frame scanner. Rules and errors as those of read_fsl_gradients.
Gradients read_mrtrix_gradients(const std::filesystem::path& path, std::int64_t volumes,
                                double b0_limit = 50);

}  // namespace warploom::io
