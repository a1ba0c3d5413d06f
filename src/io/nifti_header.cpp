#include "io/nifti_header.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nifti1.h>
#include <nifti2.h>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "warploom/core/error.hpp"

// A file is: the header (348 bytes of NIfTI-1, 540 of NIfTI-2), four bytes that say whether extensions
// follow, the extensions, and at vox_offset the elements. The structures of libnifti's headers give the
// layout; their fields have the same names and meanings in both versions, so that templates read and write
// both. Source: nifti1.h and nifti2.h, whose comments are the standard.

namespace warploom::io {
namespace {

static_assert(sizeof(nifti_1_header) == 348 && sizeof(nifti_2_header) == kMaxNiftiHeaderBytes);

constexpr std::size_t kExtensionFlag = 4;
constexpr int kLargestCode = std::numeric_limits<std::int16_t>::max();  // of sform and qform in NIfTI-1
constexpr std::string_view kMagic1{"n+1\0", 4}, kMagic2{"n+2\0\r\n\032\n", 8};
constexpr std::string_view kPair1{"ni1\0", 4}, kPair2{"ni2\0\r\n\032\n", 8};

struct StoredType {
  const char* name;
  int code;
  NiftiType type;
};
constexpr StoredType kTypes[] = {
    {"uint8", NIFTI_TYPE_UINT8, NiftiType::uint8},
    {"int8", NIFTI_TYPE_INT8, NiftiType::int8},
    {"uint16", NIFTI_TYPE_UINT16, NiftiType::uint16},
    {"int16", NIFTI_TYPE_INT16, NiftiType::int16},
    {"uint32", NIFTI_TYPE_UINT32, NiftiType::uint32},
    {"int32", NIFTI_TYPE_INT32, NiftiType::int32},
    {"uint64", NIFTI_TYPE_UINT64, NiftiType::uint64},
    {"int64", NIFTI_TYPE_INT64, NiftiType::int64},
    {"float32", NIFTI_TYPE_FLOAT32, NiftiType::float32},
    {"float64", NIFTI_TYPE_FLOAT64, NiftiType::float64},
    {"complex64", NIFTI_TYPE_COMPLEX64, NiftiType::complex64},
    {"complex128", NIFTI_TYPE_COMPLEX128, NiftiType::complex128},
};
constexpr std::pair<int, const char*> kOtherTypes[] = {
    {DT_UNKNOWN, "none"},          {DT_BINARY, "binary, a bit a voxel"},  {NIFTI_TYPE_RGB24, "RGB24"},
    {NIFTI_TYPE_RGBA32, "RGBA32"}, {NIFTI_TYPE_COMPLEX256, "complex256"}, {NIFTI_TYPE_FLOAT128, "float128"},
};

template <typename Value>
Value swapped_bytes(Value value) {
  char* bytes = reinterpret_cast<char*>(&value);
  std::reverse(bytes, bytes + sizeof value);
  return value;
}

std::size_t bytes_of(NiftiType type) {
  return parts_of(type) * with_stored_type(type, [](auto zero) { return sizeof zero; });
}

/// Nothing above 2^60, so that bytes do not overflow either. Extents are 1 or more.
std::optional<std::uint64_t> product(const std::vector<std::int64_t>& extents) {
  std::uint64_t product = 1;
  for (const std::int64_t extent : extents) {
    if (product > (std::uint64_t{1} << 60) / static_cast<std::uint64_t>(extent)) return std::nullopt;
    product *= static_cast<std::uint64_t>(extent);
  }
  return product;
}

template <std::size_t N>
std::string text_of(const char (&field)[N]) {
  return {field, std::find(field, field + N, '\0')};
}

template <std::size_t N>
void set_text(char (&field)[N], const std::string& text) {
  std::copy_n(text.data(), std::min(N - 1, text.size()), field);
}

bool invertible(const Affine& affine) {
  double lengths = 1, translation = 0;
  for (std::size_t column = 0; column < 3; ++column)
    lengths *= std::hypot(affine[0][column], affine[1][column], affine[2][column]);
  for (const auto& row : affine) translation += row[3];
  // The volume of the voxel by that of a box of the same edges. NaN is not above.
  const double volume = std::abs(determinant(affine));
  return volume > 1e-6 * lengths && std::isfinite(volume) && std::isfinite(translation);
}

/// But for the rounding of single precision.
bool alike(const Affine& a, const Affine& b) {
  double largest = 0, apart = 0;
  for (std::size_t row = 0; row < 3; ++row)
    for (std::size_t column = 0; column < 4; ++column) {
      largest = std::max(largest, std::abs(b[row][column]));
      apart = std::max(apart, std::abs(a[row][column] - b[row][column]));
    }
  return apart <= 1e-5 * largest;
}

std::string rows_text(const Affine& affine) {
  return fmt::format("{}, {}, {}", affine[0], affine[1], affine[2]);
}

/// The rotation that unit quaternion a, b, c, d is, its columns scaled by `spacing`, the last one by
/// the sign of qfac as well.
Affine quaternion_affine(double b, double c, double d, double qfac, const std::array<double, 3>& spacing,
                         const std::array<double, 3>& offset) {
  double a = 1 - (b * b + c * c + d * d);
  if (a < 1e-7) {  // half a turn: what is left of a is rounding
    const double length = std::sqrt(b * b + c * c + d * d);
    a = 0, b /= length, c /= length, d /= length;
  } else {
    a = std::sqrt(a);
  }
  Affine affine{{{a * a + b * b - c * c - d * d, 2 * (b * c - a * d), 2 * (b * d + a * c)},
                 {2 * (b * c + a * d), a * a + c * c - b * b - d * d, 2 * (c * d - a * b)},
                 {2 * (b * d - a * c), 2 * (c * d + a * b), a * a + d * d - c * c - b * b}}};
  for (int row = 0; row < 3; ++row) {
    for (int column = 0; column < 3; ++column) affine[row][column] *= spacing[column];
    if (qfac < 0) affine[row][2] = -affine[row][2];
    affine[row][3] = offset[row];
  }
  return affine;
}

/// Reads fields of one version's structure.
template <typename Raw>
class NiftiHeaderReader {
 public:
  NiftiHeaderReader(const Raw& raw, bool swapped, NiftiNumbers numbers, NiftiData data,
                    const std::string& name)
      : raw_(raw),
        swapped_(swapped),
        numbers_(numbers),
        least_offset_(data == NiftiData::other_file ? 0 : sizeof(Raw) + kExtensionFlag),
        name_(name) {}

  NiftiLayout read(Nifti& image) const {
    NiftiLayout layout{.swapped = swapped_};
    image.nifti2 = std::same_as<Raw, nifti_2_header>;
    image.intent = static_cast<int>(get(raw_.intent_code));
    image.intent_parameters = {get(raw_.intent_p1), get(raw_.intent_p2), get(raw_.intent_p3)};
    image.intent_name = text_of(raw_.intent_name);
    image.description = text_of(raw_.descrip);
    image.type = type();
    read_shape(image, layout);
    read_geometry(image);
    read_scaling(layout);

    const auto offset = static_cast<double>(get(raw_.vox_offset));
    if (!(offset >= least_offset_ && offset < 0x1p62 && offset == std::floor(offset)))
      fail("vox_offset is {}; data {} begin at byte {} or later", offset,
           least_offset_ > 0 ? "of a single file" : "in a file of their own", least_offset_);
    layout.offset = static_cast<std::uint64_t>(get(raw_.vox_offset));
    return layout;
  }

 private:
  template <typename... Values>
  [[noreturn]] void fail(fmt::format_string<Values...> text, Values&&... values) const {
    throw BadInput(fmt::format("{}: {}", name_, fmt::format(text, std::forward<Values>(values)...)));
  }
  template <typename Value>
  Value get(Value value) const {
    return swapped_ ? swapped_bytes(value) : value;
  }

  NiftiType type() const {
    const int code = get(raw_.datatype), bits = get(raw_.bitpix);
    for (const auto& [other, label] : kOtherTypes)
      if (code == other)
        fail("its data type is {} (code {}), which is not read; convert it to float32", label, code);
    for (const StoredType& known : kTypes) {
      if (code != known.code) continue;
      if (is_complex(known.type) && numbers_ == NiftiNumbers::real)
        fail(
            "its data type is {} (code {}): complex numbers, where real ones are needed; write their "
            "magnitude, or one part, to a file and give that",
            known.name, code);
      const auto want = static_cast<int>(8 * bytes_of(known.type));
      if (bits != want) fail("bitpix is {}, but its data type {} has {} bits", bits, known.name, want);
      return known.type;
    }
    fail("data type code {} is unknown", code);
  }

  void read_shape(Nifti& image, NiftiLayout& layout) const {
    const auto axes = static_cast<std::int64_t>(get(raw_.dim[0]));
    if (axes < 1 || axes > 7) fail("dim[0], the number of axes, is {}; it must be 1 to 7", axes);
    for (std::int64_t axis = 1; axis <= axes; ++axis) {
      const auto extent = static_cast<std::int64_t>(get(raw_.dim[axis]));
      if (extent < 1) fail("dim[{}] is {}; an extent must be 1 or more", axis, extent);
      image.shape.push_back(extent);
    }
    const auto elements = product(image.shape);
    if (!elements) fail("extents {} are more than 2^60 elements", fmt::join(image.shape, " x "));
    layout.elements = *elements;
    layout.bytes = *elements * bytes_of(image.type);
  }

  /// Millimetres in the file's unit of length; what is not said, or unknown, is taken for millimetres.
  double unit() const {
    switch (XYZT_TO_SPACE(get(raw_.xyzt_units))) {
      case NIFTI_UNITS_METER:
        return 1000;
      case NIFTI_UNITS_MICRON:
        return 0.001;
      default:
        return 1;
    }
  }

  void read_geometry(Nifti& image) const {
    const double mm = unit();
    for (std::size_t axis = 0; axis < 3; ++axis) {
      // Writers of two-dimensional images leave the third spacing out.
      const bool flat = axis >= image.shape.size() || image.shape[axis] == 1;
      const auto value = static_cast<double>(get(raw_.pixdim[axis + 1]));
      if (value > 0 && std::isfinite(value))
        image.spacing[axis] = value * mm;
      else if (flat)
        image.spacing[axis] = mm;
      else
        fail("pixdim[{}], a voxel's size, is {}; it must be above 0", axis + 1, value);
    }

    const char* matrix = "spacing (pixdim)";
    if (get(raw_.sform_code) > 0) {
      matrix = "sform";
      for (std::size_t column = 0; column < 4; ++column) {
        image.affine[0][column] = get(raw_.srow_x[column]) * mm;
        image.affine[1][column] = get(raw_.srow_y[column]) * mm;
        image.affine[2][column] = get(raw_.srow_z[column]) * mm;
      }
    } else if (get(raw_.qform_code) > 0) {
      matrix = "qform";
      image.affine = quaternion_affine(
          get(raw_.quatern_b), get(raw_.quatern_c), get(raw_.quatern_d), get(raw_.pixdim[0]), image.spacing,
          {get(raw_.qoffset_x) * mm, get(raw_.qoffset_y) * mm, get(raw_.qoffset_z) * mm});
    } else {
      image.affine = unplaced_affine(image.shape, image.spacing);
    }
    image.sform_code = std::clamp(static_cast<int>(get(raw_.sform_code)), 0, kLargestCode);
    image.qform_code = std::clamp(static_cast<int>(get(raw_.qform_code)), 0, kLargestCode);
    if (!invertible(image.affine))
      fail("its {} cannot be inverted, so voxels have no place: {}", matrix, rows_text(image.affine));
  }

  void read_scaling(NiftiLayout& layout) const {
    const double slope = get(raw_.scl_slope), intercept = get(raw_.scl_inter);
    if (slope == 0 || std::isnan(slope)) return;  // nibabel writes NaN for none
    if (!std::isfinite(slope) || !std::isfinite(intercept))
      fail("scl_slope is {} and scl_inter {}; they must be finite", slope, intercept);
    layout.slope = slope;
    layout.intercept = intercept;
  }

  const Raw& raw_;
  bool swapped_;
  NiftiNumbers numbers_;
  double least_offset_;
  const std::string& name_;
};

template <typename Raw>
NiftiLayout read_header(std::string_view head, bool swapped, NiftiNumbers numbers, NiftiData data,
                        const std::string& name, std::string_view single, std::string_view pair,
                        Nifti& image) {
  if (head.size() < sizeof(Raw))
    throw BadInput(fmt::format("{}: cut off in the header: {} bytes of {}", name, head.size(), sizeof(Raw)));
  Raw raw;
  std::memcpy(&raw, head.data(), sizeof raw);
  const std::string_view magic(raw.magic, sizeof raw.magic);
  const bool elsewhere = data == NiftiData::other_file;
  if (magic == pair && !elsewhere)
    throw BadInput(
        fmt::format("{}: the header of an image in two files; its data are in another one. Give such "
                    "an image by a name that ends in .hdr or .img",
                    name));
  if (magic == single && elsewhere)
    throw BadInput(fmt::format(
        "{}: the header says that its data are in the same file; let its name end in .nii", name));
  if (magic != (elsewhere ? pair : single) && sizeof raw == sizeof(nifti_1_header))
    throw BadInput(
        fmt::format("{}: not NIfTI: its header is like Analyze 7.5's, without NIfTI's magic 'n+1'", name));
  if (magic != (elsewhere ? pair : single))
    throw BadInput(fmt::format("{}: not NIfTI: a header of 540 bytes without NIfTI-2's magic 'n+2'", name));
  return NiftiHeaderReader<Raw>(raw, swapped, numbers, data, name).read(image);
}

/// Sets the quaternion if it is wanted and the affine is a rotation, perhaps with a reflection, of the
/// spacing.
template <typename Raw>
void set_qform(Raw& raw, const Nifti& image) {
  if (image.qform_code == 0) return;
  std::array<std::array<double, 3>, 3> r{};
  const double sign = determinant(image.affine) < 0 ? -1 : 1;
  for (std::size_t row = 0; row < 3; ++row)
    for (std::size_t column = 0; column < 3; ++column)
      r[row][column] = image.affine[row][column] / image.spacing[column] * (column == 2 ? sign : 1);
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j) {
      const double dot = r[0][i] * r[0][j] + r[1][i] * r[1][j] + r[2][i] * r[2][j];
      if (std::abs(dot - (i == j)) > 1e-5) return;
    }
  // The largest of the four components comes first, since the others are divided by it.
  const double trace = r[0][0] + r[1][1] + r[2][2];
  std::array<double, 4> squares{1 + trace, 1 + 2 * r[0][0] - trace, 1 + 2 * r[1][1] - trace,
                                1 + 2 * r[2][2] - trace};
  const auto largest = std::ranges::max_element(squares) - squares.begin();
  const double twice = std::sqrt(squares[static_cast<std::size_t>(largest)]);               // 2 |component|
  const double sums[3] = {r[1][0] + r[0][1], r[2][0] + r[0][2], r[2][1] + r[1][2]};         // 4bc, 4bd, 4cd
  const double differences[3] = {r[2][1] - r[1][2], r[0][2] - r[2][0], r[1][0] - r[0][1]};  // 4ab, 4ac, 4ad
  std::array<double, 4> q{};
  switch (largest) {
    case 0:
      q = {twice * twice, differences[0], differences[1], differences[2]};
      break;
    case 1:
      q = {differences[0], twice * twice, sums[0], sums[1]};
      break;
    case 2:
      q = {differences[1], sums[0], twice * twice, sums[2]};
      break;
    default:
      q = {differences[2], sums[1], sums[2], twice * twice};
  }
  const double scale = (q[0] < 0 ? -1 : 1) / (2 * twice);  // -q is the same rotation
  using Real = decltype(raw.quatern_b);
  raw.qform_code = static_cast<decltype(raw.qform_code)>(image.qform_code);
  raw.pixdim[0] = static_cast<Real>(sign);
  raw.quatern_b = static_cast<Real>(q[1] * scale);
  raw.quatern_c = static_cast<Real>(q[2] * scale);
  raw.quatern_d = static_cast<Real>(q[3] * scale);
  raw.qoffset_x = static_cast<Real>(image.affine[0][3]);
  raw.qoffset_y = static_cast<Real>(image.affine[1][3]);
  raw.qoffset_z = static_cast<Real>(image.affine[2][3]);
}

template <typename Raw>
std::string format_header(const Nifti& image, std::string_view magic, const std::string& name) {
  using Real = decltype(Raw{}.scl_slope);
  using Extent = std::remove_reference_t<decltype(Raw{}.dim[0])>;
  Raw raw{};
  raw.sizeof_hdr = sizeof raw;
  std::ranges::copy(magic, raw.magic);
  raw.vox_offset = sizeof raw + kExtensionFlag;
  raw.scl_slope = 1;
  raw.xyzt_units = NIFTI_UNITS_MM;
  raw.intent_code = static_cast<decltype(raw.intent_code)>(image.intent);
  raw.intent_p1 = static_cast<Real>(image.intent_parameters[0]);
  raw.intent_p2 = static_cast<Real>(image.intent_parameters[1]);
  raw.intent_p3 = static_cast<Real>(image.intent_parameters[2]);
  set_text(raw.intent_name, image.intent_name);
  set_text(raw.descrip, image.description);
  for (const StoredType& known : kTypes)
    if (known.type == image.type) raw.datatype = static_cast<std::int16_t>(known.code);
  raw.bitpix = static_cast<std::int16_t>(8 * bytes_of(image.type));

  std::ranges::fill(raw.dim, Extent{1});
  std::ranges::fill(raw.pixdim, Real{1});
  raw.dim[0] = static_cast<Extent>(image.shape.size());
  for (std::size_t k = 0; k < image.shape.size(); ++k) raw.dim[k + 1] = static_cast<Extent>(image.shape[k]);
  for (std::size_t k = 0; k < 3; ++k) raw.pixdim[k + 1] = static_cast<Real>(image.spacing[k]);
  raw.sform_code = static_cast<decltype(raw.sform_code)>(image.sform_code);
  for (std::size_t k = 0; k < 4 && image.sform_code != 0; ++k) {
    raw.srow_x[k] = static_cast<Real>(image.affine[0][k]);
    raw.srow_y[k] = static_cast<Real>(image.affine[1][k]);
    raw.srow_z[k] = static_cast<Real>(image.affine[2][k]);
  }
  set_qform(raw, image);
  if (raw.sform_code == 0 && raw.qform_code == 0 &&
      !alike(image.affine, unplaced_affine(image.shape, image.spacing)))
    throw BadInput(
        fmt::format("{}: a file with an sform code of {} and a qform code of {} cannot hold the affine {}; "
                    "set `sform_code` to 1",
                    name, image.sform_code, image.qform_code, rows_text(image.affine)));

  std::string bytes(sizeof raw + kExtensionFlag, '\0');
  std::memcpy(bytes.data(), &raw, sizeof raw);
  return bytes;
}

}  // namespace

NiftiLayout parse_nifti_header(std::string_view head, const std::string& name, Nifti& image,
                               NiftiNumbers numbers, NiftiData data) {
  std::int32_t bytes = 0;
  if (head.size() >= sizeof bytes) std::memcpy(&bytes, head.data(), sizeof bytes);
  for (const bool swapped : {false, true}) {
    const std::int32_t size = swapped ? swapped_bytes(bytes) : bytes;
    if (size == sizeof(nifti_1_header))
      return read_header<nifti_1_header>(head, swapped, numbers, data, name, kMagic1, kPair1, image);
    if (size == sizeof(nifti_2_header))
      return read_header<nifti_2_header>(head, swapped, numbers, data, name, kMagic2, kPair2, image);
  }
  throw BadInput(fmt::format(
      "{}: not NIfTI: it begins with neither 348 (NIfTI-1) nor 540 (NIfTI-2), in either byte order", name));
}

std::string format_nifti_header(const Nifti& image, const std::string& name) {
  const auto fail = [&](const std::string& what) { throw BadInput(fmt::format("{}: {}", name, what)); };
  if (image.shape.empty() || image.shape.size() > 7)
    fail(fmt::format("an image of {} axes; NIfTI has 1 to 7", image.shape.size()));
  if (std::ranges::none_of(kTypes, [&](const auto& known) { return known.type == image.type; }))
    fail(
        fmt::format("its type is number {} of NiftiType, which has none such", static_cast<int>(image.type)));
  if (std::ranges::min(image.shape) < 1)
    fail(fmt::format("extents {}: each must be 1 or more", fmt::join(image.shape, " x ")));
  const bool complex = is_complex(image.type);
  const std::size_t elements = complex ? image.complex_data.size() : image.data.size();
  if (product(image.shape) != elements || !(complex ? image.data.empty() : image.complex_data.empty()))
    fail(fmt::format("extents {} do not fit {} elements of data and {} complex ones",
                     fmt::join(image.shape, " x "), image.data.size(), image.complex_data.size()));
  for (const double size : image.spacing)
    if (!(size > 0 && std::isfinite(size)))
      fail(fmt::format("spacing {} mm; each must be above 0", fmt::join(image.spacing, " x ")));
  if (!invertible(image.affine))
    fail(fmt::format("the affine cannot be inverted: {}", rows_text(image.affine)));

  for (const int code : {image.sform_code, image.qform_code})
    if (code < 0 || code > kLargestCode)
      fail(fmt::format("a code of {} for sform or qform; it must be 0 to {}", code, kLargestCode));

  constexpr int kLargest = std::numeric_limits<std::int16_t>::max();
  const bool large = std::ranges::max(image.shape) > kLargest || image.intent > kLargest || image.intent < 0;
  return image.nifti2 || large ? format_header<nifti_2_header>(image, kMagic2, name)
                               : format_header<nifti_1_header>(image, kMagic1, name);
}

}  // namespace warploom::io
