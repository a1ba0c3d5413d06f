#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "warploom/io/nifti.hpp"

namespace warploom::io {

inline constexpr std::size_t kMaxNiftiHeaderBytes = 540;

/// Calls use(value) with a zero of the type; of a complex one with that of a part.
template <typename Use>
decltype(auto) with_stored_type(NiftiType type, Use&& use) {
  switch (type) {
    case NiftiType::uint8:
      return use(std::uint8_t{});
    case NiftiType::int8:
      return use(std::int8_t{});
    case NiftiType::uint16:
      return use(std::uint16_t{});
    case NiftiType::int16:
      return use(std::int16_t{});
    case NiftiType::uint32:
      return use(std::uint32_t{});
    case NiftiType::int32:
      return use(std::int32_t{});
    case NiftiType::uint64:
      return use(std::uint64_t{});
    case NiftiType::int64:
      return use(std::int64_t{});
    case NiftiType::float64:
    case NiftiType::complex128:
      return use(double{});
    case NiftiType::float32:
    case NiftiType::complex64:
      break;
  }
  return use(float{});
}

/// Stored numbers an element.
inline std::size_t parts_of(NiftiType type) { return is_complex(type) ? 2 : 1; }

/// Where a file's elements lie and how they become values.
struct NiftiLayout {
  std::uint64_t offset = 0, elements = 0, bytes = 0;
  bool swapped = false;  ///< in the other byte order than this machine's
  double slope = 1, intercept = 0;
};

/// Where an image's elements are.
enum class NiftiData { same_file, other_file };

/// Fills all of `image` but the data from the first bytes of a file, kMaxNiftiHeaderBytes or all there are.
/// @throws BadInput
NiftiLayout parse_nifti_header(std::string_view head, const std::string& name, Nifti& image,
                               NiftiNumbers numbers, NiftiData data = NiftiData::same_file);

/// Header and empty extension: what stands before the elements in a file of this machine's byte order.
/// @throws BadInput (what NIfTI cannot say, or read_nifti would refuse)
std::string format_nifti_header(const Nifti& image, const std::string& name);

}  // namespace warploom::io
