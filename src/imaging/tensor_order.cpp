#include "warploom/imaging/tensor_order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/doors.hpp"
#include "imaging/voxels.hpp"
#include "warploom/core/error.hpp"
#include "warploom/imaging/maps.hpp"

namespace warploom::imaging {
namespace {

using Matrix = std::array<std::array<double, 3>, 3>;

/// What is known of an order.
struct OrderFacts {
  std::string_view name, elements;
  io::Frame frame;
  std::array<int, kTensorChannels> channels;  ///< which channel of a TensorImage stands k-th in a file
};

const OrderFacts& facts(TensorOrder order) {
  static const std::array<OrderFacts, 3> all{
      {{"fsl", "xx xy xz yy yz zz", io::Frame::fsl, {0, 1, 2, 3, 4, 5}},
       {"mrtrix", "xx yy zz xy xz yz", io::Frame::scanner, {0, 3, 5, 1, 2, 4}},
       {"nifti", "xx xy yy xz yz zz", io::Frame::image, {0, 1, 3, 2, 4, 5}}}};
  return at_enumerator(all, order, "the order of elements");
}

constexpr std::array kOrders{TensorOrder::fsl, TensorOrder::mrtrix, TensorOrder::nifti};

/// intent_name of a file of this order [at most 15 characters].
std::string mark(TensorOrder order) { return fmt::format("tensor {}", name(order)); }

/// Channel `from[k]` becomes channel k, times `factor`.
void permute(TensorImage& tensors, const std::array<int, kTensorChannels>& from, float factor) {
  require_tensor(tensors);
  if (std::ranges::is_sorted(from) && factor == 1) return;
  const std::size_t stride = tensors.data.size() / from.size();
  for_pieces(tensors.grid, [&](std::size_t begin, std::size_t end) {
    for (std::size_t v = begin; v < end; ++v) {
      std::array<float, kTensorChannels> tensor;
      for (std::size_t k = 0; k < tensor.size(); ++k)
        tensor[k] = tensors.data[static_cast<std::size_t>(from[k]) * stride + v];
      for (std::size_t k = 0; k < tensor.size(); ++k) tensors.data[k * stride + v] = tensor[k] * factor;
    }
  });
}

bool all_elements(const Matrix& rotation, auto holds) {
  for (std::size_t r = 0; r < 3; ++r)
    for (std::size_t c = 0; c < 3; ++c)
      if (!holds(rotation[r][c], r == c ? 1.0 : 0.0)) return false;
  return true;
}

}  // namespace

TensorOrder parse_tensor_order(std::string_view text) {
  for (const TensorOrder order : kOrders)
    if (text == name(order)) return order;
  throw BadInput(fmt::format(
      "'{}' is none of fsl (xx xy xz yy yz zz), mrtrix (xx yy zz xy xz yz) and nifti (xx xy yy xz yz zz)",
      text));
}

std::string_view name(TensorOrder order) { return facts(order).name; }
std::string elements_text(TensorOrder order) { return std::string(facts(order).elements); }
io::Frame usual_frame(TensorOrder order) { return facts(order).frame; }

TensorOrder order_of(const io::Nifti& image, std::optional<TensorOrder> given, const std::string& path) {
  if (given) return *given;
  if (image.shape.size() == 5 && image.intent == 1005) return TensorOrder::nifti;
  for (const TensorOrder order : kOrders)
    if (image.intent_name == mark(order)) return order;
  throw BadInput(fmt::format(
      "{}: six volumes, and the header does not say in which order the elements stand{}; give `order` fsl "
      "(xx xy xz yy yz zz: dtifit, dipy's upper triangle), mrtrix (xx yy zz xy xz yz: dwi2tensor) or nifti (xx xy yy xz yz zz: ANTs)",
      path, image.description.empty() ? "" : fmt::format(" (its description is '{}')", image.description)));
}

void mark_order(io::Nifti& file, TensorOrder order, const Grid& grid) {
  file.shape = {grid.nx, grid.ny, grid.nz};
  if (order == TensorOrder::nifti) file.shape.push_back(1);
  file.shape.push_back(kTensorChannels);
  file.intent = order == TensorOrder::nifti ? 1005 : 0;
  file.intent_parameters = {order == TensorOrder::nifti ? 3.0 : 0.0, 0, 0};
  file.intent_name = mark(order);
}

void from_order(TensorImage& tensors, TensorOrder order, float factor) {
  std::array<int, kTensorChannels> inverse{};
  for (int k = 0; k < kTensorChannels; ++k)
    inverse[static_cast<std::size_t>(facts(order).channels[static_cast<std::size_t>(k)])] = k;
  permute(tensors, inverse, factor);
}

void to_order(TensorImage& tensors, TensorOrder order, float factor) {
  permute(tensors, facts(order).channels, factor);
}

io::Frame axis_aligned(io::Frame wanted, const io::Affine& affine) {
  const bool only_permutes =
      all_elements(io::frame_change(io::Frame::image, wanted, affine),
                   [](double x, double) { return std::min(std::abs(x), 1 - std::abs(x)) < 1e-6; });
  return only_permutes ? wanted : io::Frame::image;
}

void change_frame(TensorImage& tensors, io::Frame from, io::Frame to, const io::Affine& affine) {
  require_tensor(tensors);
  const Matrix change = io::frame_change(from, to, affine);
  if (!all_elements(change, [](double x, double same) { return std::abs(x - same) <= 1e-12; }))
    rotate_tensors(tensors, change);
}

void change_frame(io::Gradients& gradients, io::Frame to, const io::Affine& affine) {
  const Matrix turn = io::frame_change(gradients.frame, to, affine);
  for (auto& direction : gradients.directions) {
    const auto g = direction;
    for (std::size_t r = 0; r < 3; ++r)
      direction[r] = turn[r][0] * g[0] + turn[r][1] * g[1] + turn[r][2] * g[2];
  }
  gradients.frame = to;
}

}  // namespace warploom::imaging
