// Any bytes are an image whose fields agree, or are refused.

#include <cmath>

#include "fuzz/require.hpp"
#include "warploom/core/error.hpp"
#include "warploom/io/nifti.hpp"

using warploom::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace io = warploom::io;
  try {
    const io::Nifti image = io::parse_nifti({reinterpret_cast<const char*>(data), size}, "fuzz.nii", 1 << 22);
    require(!image.shape.empty() && image.shape.size() <= 7, "the number of axes");
    for (const std::int64_t extent : image.shape) require(extent >= 1, "an extent below 1");
    require(static_cast<std::size_t>(image.elements()) == image.data.size(), "shape and data disagree");
    for (const double spacing : image.spacing)
      require(spacing > 0 && std::isfinite(spacing), "a bad spacing");
    require(std::isfinite(io::determinant(image.affine)) && io::determinant(image.affine) != 0,
            "a bad affine");
  } catch (const warploom::BadInput&) {
  }
  return 0;
}
