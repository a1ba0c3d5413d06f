#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "warploom/imaging/image.hpp"
#include "warploom/io/gradients.hpp"
#include "warploom/io/nifti.hpp"

/// In which order a file holds the six elements of a symmetric tensor, and in which frame they are.
namespace warploom::imaging {

enum class TensorOrder {
  fsl,     ///< [X,Y,Z,6]: xx xy xz yy yz zz (FSL; dipy's upper triangle), that of a TensorImage
  mrtrix,  ///< [X,Y,Z,6]: xx yy zz xy xz yz
  nifti,   ///< [X,Y,Z,1,6], intent 1005: the lower triangle row by row, xx xy yy xz yz zz (ANTs, DTI-TK)
};
/// @throws BadInput naming the text and the three
TensorOrder parse_tensor_order(std::string_view text);
std::string_view name(TensorOrder order);
/// "xx xy xz yy yz zz"
std::string elements_text(TensorOrder order);

/// The frame in which the programs that use an order express their tensors: fsl, scanner, image.
io::Frame usual_frame(TensorOrder order);

/// The order of a tensor image: the one that is given, else nifti where there are five axes and intent 1005,
/// else the mark that mark_order() left. `path` is for messages.
/// @throws BadInput (the header does not tell: FSL's and MRtrix's files look alike)
TensorOrder order_of(const io::Nifti& image, std::optional<TensorOrder> given, const std::string& path);

/// Shape, intent and name of the file of a tensor image in this order.
void mark_order(io::Nifti& file, TensorOrder order, const Grid& grid);

/// The elements from a file's order to xx xy xz yy yz zz, times `factor`, in place. All threads.
/// @throws BadInput (not six channels, data of another length than the grid needs)
void from_order(TensorImage& tensors, TensorOrder order, float factor);
/// And back.
void to_order(TensorImage& tensors, TensorOrder order, float factor);

/// `wanted` where its axes are those of the image but for their order and signs; else, in an oblique image,
/// the image's own. @throws BadInput (an affine that cannot be inverted), as the two below
io::Frame axis_aligned(io::Frame wanted, const io::Affine& affine);

/// The tensors, expressed in one frame, in another: rotate_tensors(), unless the two frames are the same.
/// @throws BadInput as rotate_tensors()
void change_frame(TensorImage& tensors, io::Frame from, io::Frame to, const io::Affine& affine);

/// The directions along the axes of another frame.
void change_frame(io::Gradients& gradients, io::Frame to, const io::Affine& affine);

}  // namespace warploom::imaging
