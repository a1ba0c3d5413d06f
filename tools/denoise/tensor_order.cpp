#include "tensor_order.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "warploom/core/error.hpp"
#include "warploom/core/threads.hpp"

namespace warploom::tool {
namespace {

constexpr int kElements = 6;
constexpr std::array<const char*, kElements> kNames{"xx", "xy", "xz", "yy", "yz", "zz"};
constexpr std::array kOrders{TensorOrder::fsl, TensorOrder::mrtrix, TensorOrder::nifti};

/// Which of kNames stands k-th in a file.
std::array<std::size_t, kElements> elements(TensorOrder order) {
  switch (order) {
    case TensorOrder::mrtrix:
      return {0, 3, 5, 1, 2, 4};
    case TensorOrder::nifti:
      return {0, 1, 3, 2, 4, 5};
    case TensorOrder::fsl:
      break;
  }
  return {0, 1, 2, 3, 4, 5};
}

/// intent_name of a file of this order [at most 15 characters].
std::string mark(TensorOrder order) { return fmt::format("tensor {}", name(order)); }

/// Plane `from[k]` becomes plane k, times `factor`.
void permute(std::vector<float>& data, const std::array<std::size_t, kElements>& from, float factor) {
  const bool same = std::ranges::is_sorted(from);
  if (same && factor == 1) return;
  constexpr std::int64_t kPiece = 1 << 15;
  const auto voxels = static_cast<std::int64_t>(data.size() / kElements);
  parallel_for((voxels + kPiece - 1) / kPiece, [&](std::int64_t piece) {
    const std::int64_t begin = piece * kPiece, end = std::min(voxels, begin + kPiece);
    if (same) {
      for (std::int64_t k = 0; k < kElements; ++k)
        for (std::int64_t v = begin; v < end; ++v) data[static_cast<std::size_t>(k * voxels + v)] *= factor;
      return;
    }
    for (std::int64_t v = begin; v < end; ++v) {
      std::array<float, kElements> tensor;
      for (std::size_t k = 0; k < kElements; ++k)
        tensor[k] = data[from[k] * static_cast<std::size_t>(voxels) + static_cast<std::size_t>(v)];
      for (std::size_t k = 0; k < kElements; ++k)
        data[k * static_cast<std::size_t>(voxels) + static_cast<std::size_t>(v)] = tensor[k] * factor;
    }
  });
}

}  // namespace

TensorOrder parse_tensor_order(std::string_view option, std::string_view text) {
  for (const TensorOrder order : kOrders)
    if (text == name(order)) return order;
  throw BadInput(
      fmt::format("{}: '{}' is none of fsl (xx xy xz yy yz zz), mrtrix (xx yy zz xy xz yz) and "
                  "nifti (xx xy yy xz yz zz)",
                  option, text));
}

std::string_view name(TensorOrder order) {
  switch (order) {
    case TensorOrder::mrtrix:
      return "mrtrix";
    case TensorOrder::nifti:
      return "nifti";
    case TensorOrder::fsl:
      break;
  }
  return "fsl";
}

std::string elements_text(TensorOrder order) {
  std::string text;
  for (const std::size_t element : elements(order))
    text += fmt::format("{}{}", text.empty() ? "" : " ", kNames[element]);
  return text;
}

io::Frame usual_frame(TensorOrder order) {
  switch (order) {
    case TensorOrder::mrtrix:
      return io::Frame::scanner;
    case TensorOrder::nifti:
      return io::Frame::image;
    case TensorOrder::fsl:
      break;
  }
  return io::Frame::fsl;
}

TensorOrder order_of(const io::Nifti& image, std::optional<TensorOrder> given, const std::string& path) {
  if (given) return *given;
  if (image.shape.size() == 5 && image.intent == 1005) return TensorOrder::nifti;
  for (const TensorOrder order : kOrders)
    if (image.intent_name == mark(order)) return order;
  throw BadInput(fmt::format(
      "{}: six volumes, and the header does not say in which order the elements stand{}; give --order fsl "
      "(xx xy xz yy yz zz: dtifit, dipy's upper triangle), mrtrix (xx yy zz xy xz yz: dwi2tensor) or nifti "
      "(xx xy yy xz yz zz: ANTs)",
      path, image.description.empty() ? "" : fmt::format(" (its description is '{}')", image.description)));
}

void mark_order(io::Nifti& image, TensorOrder order, const std::vector<std::int64_t>& shape) {
  image.shape = shape;
  if (order == TensorOrder::nifti) image.shape.push_back(1);
  image.shape.push_back(kElements);
  image.intent = order == TensorOrder::nifti ? 1005 : 0;
  image.intent_name = mark(order);
}

void from_order(std::vector<float>& data, TensorOrder order, float factor) {
  std::array<std::size_t, kElements> inverse{};
  const auto file = elements(order);
  for (std::size_t k = 0; k < kElements; ++k) inverse[file[k]] = k;
  permute(data, inverse, factor);
}

void to_order(std::vector<float>& data, TensorOrder order, float factor) {
  permute(data, elements(order), factor);
}

}  // namespace warploom::tool
