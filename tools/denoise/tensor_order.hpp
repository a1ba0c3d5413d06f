#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "warploom/io/gradients.hpp"
#include "warploom/io/nifti.hpp"

/// In which order a file holds the six elements of a symmetric tensor, and in which frame.
namespace warploom::tool {

enum class TensorOrder {
  fsl,     ///< [X,Y,Z,6]: xx xy xz yy yz zz (FSL; dipy's upper triangle)
  mrtrix,  ///< [X,Y,Z,6]: xx yy zz xy xz yz
  nifti,   ///< [X,Y,Z,1,6], intent 1005: the lower triangle row by row, xx xy yy xz yz zz (ANTs, DTI-TK)
};
/// @throws BadInput naming `option`, the text and the three
TensorOrder parse_tensor_order(std::string_view option, std::string_view text);
std::string_view name(TensorOrder order);
/// "xx xy xz yy yz zz"
std::string elements_text(TensorOrder order);

/// The frame in which the programs that use an order express their tensors: fsl, scanner, image.
io::Frame usual_frame(TensorOrder order);

/// The order of a tensor image: what the user said, else intent 1005 with five axes, else the mark that
/// mark_order() left. `path` is for messages.
/// @throws BadInput (the header does not tell: FSL's and MRtrix's files look alike)
TensorOrder order_of(const io::Nifti& image, std::optional<TensorOrder> given, const std::string& path);

/// Shape, intent and name of a tensor image of this order; `shape` is the grid's, three extents.
void mark_order(io::Nifti& image, TensorOrder order, const std::vector<std::int64_t>& shape);

/// Planar elements [6, voxels] of a file to xx xy xz yy yz zz, times `factor`, in place.
void from_order(std::vector<float>& elements, TensorOrder order, float factor);
/// And back.
void to_order(std::vector<float>& elements, TensorOrder order, float factor);

}  // namespace warploom::tool
