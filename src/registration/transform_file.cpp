#include "warploom/registration/transform_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/doors.hpp"
#include "registration/itk_transform.hpp"
#include "registration/text_numbers.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"
#include "warploom/core/view.hpp"

namespace warploom::registration {
namespace {

constexpr int kVectorIntent = 1007, kFnirtIntent = 2006;

bool is_nifti(std::string_view bytes) {
  if (bytes.starts_with("\x1f\x8b")) return true;
  const auto byte = [&](std::size_t k) {
    return bytes.size() > 3 ? static_cast<unsigned char>(bytes[k]) : 0U;
  };
  const unsigned little = byte(0) | byte(1) << 8 | byte(2) << 16 | byte(3) << 24,
                 big = byte(3) | byte(2) << 8 | byte(1) << 16 | byte(0) << 24;
  return little == 348 || little == 540 || big == 348 || big == 540;
}

/// Four lines of four numbers; the last is 0 0 0 1.
Affine parse_matrix(std::string_view bytes, const std::string& name) {
  std::vector<double> numbers;
  unsigned line = 0;
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const auto row = parse_numbers(bytes.substr(0, end), name, ++line);
    bytes = end == bytes.npos ? "" : bytes.substr(end + 1);
    if (!row.empty() && row.size() != 4)
      throw ParseError({name, line, 1}, fmt::format("expected four numbers, found {}", row.size()));
    numbers.insert(numbers.end(), row.begin(), row.end());
    if (numbers.size() > 16) throw ParseError({name, line, 1}, "expected the end: a matrix has four lines");
  }
  if (numbers.size() != 16)
    throw BadInput(fmt::format("{}: {} lines of four numbers, and a matrix has four; is it truncated?", name,
                               numbers.size() / 4));
  for (std::size_t c = 0; c < 4; ++c)
    if (std::abs(numbers[12 + c] - (c == 3 ? 1 : 0)) > 1e-6 || std::isnan(numbers[12 + c]))
      throw BadInput(fmt::format("{}: the last line is {} {} {} {}; of an affine it is 0 0 0 1", name,
                                 numbers[12], numbers[13], numbers[14], numbers[15]));
  Affine out{};
  for (std::size_t k = 0; k < 12; ++k) out[k / 4][k % 4] = numbers[k];
  check_affine(out, name);
  return out;
}

std::string matrix_text(const Affine& a) {
  std::string text;
  for (const auto& row : a) text += fmt::format("{}\n", fmt::join(row, " "));
  return text + "0 0 0 1\n";
}

void require_finite(const std::vector<float>& values, const std::string& name) {
  if (const auto bad = std::ranges::count_if(values, [](float v) { return !std::isfinite(v); }); bad > 0)
    throw BadInput(fmt::format("{}: {} of {} displacements are not finite", name, bad, values.size()));
}

io::Nifti vectors_file(const DisplacementField& field) {
  const imaging::Grid& grid = field.space.grid;
  return {.shape = {grid.nx, grid.ny, grid.nz, 1, 3},
          .spacing = grid.spacing,
          .affine = field.space.to_world,
          .intent = kVectorIntent,
          .description = "warploom register",
          .data = field.mm};
}

Space space_of(const io::Nifti& file) {
  return {{file.shape[0], file.shape[1], file.shape[2], file.spacing}, file.affine};
}

/// ITK's: what is along x and y of the world has the other sign in LPS.
DisplacementField itk_field(io::Nifti file, const std::string& name) {
  const std::vector<std::int64_t>& shape = file.shape;
  const bool plane = shape.size() == 5 && shape[2] == 1 && shape[4] == 2;
  if (shape.size() != 5 || shape[3] != 1 || (shape[4] != 3 && !plane))
    throw BadInput(fmt::format(
        "{}: the extents {}; a displacement field has [X, Y, Z, 1, 3], in two dimensions [X, Y, 1, 1, 2]",
        name, shape_text(shape)));
  if (file.intent != kVectorIntent)
    throw BadInput(fmt::format(
        "{}: NIfTI intent {}; a displacement field of ITK, ANTs or greedy has {} (vector){}", name,
        file.intent, kVectorIntent, file.intent == kFnirtIntent ? "; one of FSL is named fsl:FILE" : ""));
  DisplacementField field{space_of(file), std::move(file.data)};
  const auto voxels = static_cast<std::size_t>(field.space.grid.voxels());
  if (plane) field.mm.resize(3 * voxels);
  field.check(name);
  require_finite(field.mm, name);
  for (std::size_t k = 0; k < 2 * voxels; ++k) field.mm[k] = -field.mm[k];
  return field;
}

/// FSL's scaled millimetres of a voxel index: from the corner, x to the left where the affine is not
/// reflected.
Affine fsl_coordinates(const Space& space) {
  Affine out{};
  for (std::size_t axis = 0; axis < 3; ++axis) out[axis][axis] = space.grid.spacing[axis];
  if (io::determinant(space.to_world) > 0) {
    out[0][3] = out[0][0] * static_cast<double>(space.grid.nx - 1);
    out[0][0] = -out[0][0];
  }
  return out;
}
Affine world_to_fsl(const Space& space) { return compose(inverse(space.to_world), fsl_coordinates(space)); }

DisplacementField fsl_field(io::Nifti file, const std::string& name, const Space& fixed,
                            const Space& moving) {
  if (file.shape.size() != 4 || file.shape[3] != 3)
    throw BadInput(
        fmt::format("{}: the extents {}; a field of FSL has [X, Y, Z, 3]", name, shape_text(file.shape)));
  if (file.intent != kFnirtIntent && file.intent != 0)
    throw BadInput(fmt::format("{}: NIfTI intent {}; a field of FSL in relative coordinates has {} or 0",
                               name, file.intent, kFnirtIntent));
  DisplacementField field{space_of(file), std::move(file.data)};
  field.check(name);
  require_finite(field.mm, name);
  const Space& own = field.space;
  if (own.grid.nx != fixed.grid.nx || own.grid.ny != fixed.grid.ny || own.grid.nz != fixed.grid.nz)
    throw BadInput(fmt::format(
        "{}: {} x {} x {} voxels, and the reference has {} x {} x {}; a field of FSL lies on its reference",
        name, own.grid.nx, own.grid.ny, own.grid.nz, fixed.grid.nx, fixed.grid.ny, fixed.grid.nz));
  const Affine to_fsl = fsl_coordinates(own), to_moving = inverse(world_to_fsl(moving));
  const imaging::Grid& grid = own.grid;
  const auto voxels = static_cast<std::size_t>(grid.voxels());
  for (std::size_t v = 0; v < voxels; ++v) {
    const auto n = static_cast<std::int64_t>(v);
    const Point index{static_cast<double>(n % grid.nx), static_cast<double>(n / grid.nx % grid.ny),
                      static_cast<double>(n / (grid.nx * grid.ny))};
    Point p = map_point(to_fsl, index);
    for (std::size_t c = 0; c < 3; ++c) p[c] += double(field.mm[c * voxels + v]);
    const Point from = map_point(own.to_world, index), to = map_point(to_moving, p);
    for (std::size_t c = 0; c < 3; ++c) field.mm[c * voxels + v] = static_cast<float>(to[c] - from[c]);
  }
  return field;
}

}  // namespace

TransformChain parse_transform(std::string_view bytes, const std::string& name, std::uint64_t max_bytes) {
  if (bytes.empty()) throw BadInput(fmt::format("{}: the file is empty", name));
  if (bytes.starts_with("\x89HDF"))
    throw BadInput(fmt::format(
        "{}: an HDF5 file; write its parts with ANTs' CompositeTransformUtil --disassemble and name them in their order",
        name));
  if (is_itk_text(bytes)) return chain_of(parse_itk_text(bytes, name), name);
  if (is_nifti(bytes)) {
    TransformChain chain;
    chain.push_back({itk_field(io::parse_nifti(bytes, name, max_bytes), name)});
    return chain;
  }
  if (is_itk_matlab(bytes)) return chain_of(parse_itk_matlab(bytes, name), name);
  return {{parse_matrix(bytes, name)}};
}

TransformChain read_transform(const std::filesystem::path& path, std::uint64_t max_bytes) {
  return parse_transform(read_file(path, max_bytes), path.string(), max_bytes);
}

TransformChain parse_fsl_transform(std::string_view bytes, const std::string& name, const Space& fixed,
                                   const Space& moving, std::uint64_t max_bytes) {
  fixed.check("the fixed image's space");
  moving.check("the moving image's space");
  if (bytes.empty()) throw BadInput(fmt::format("{}: the file is empty", name));
  TransformChain chain;
  if (is_nifti(bytes)) {
    chain.push_back({fsl_field(io::parse_nifti(bytes, name, max_bytes), name, fixed, moving)});
  } else {
    const Affine flirt = parse_matrix(bytes, name);
    chain.push_back({compose(compose(world_to_fsl(fixed), inverse(flirt)), inverse(world_to_fsl(moving)))});
  }
  return chain;
}

void write_affine(const std::filesystem::path& path, const Affine& affine, AffineFormat format) {
  check_affine(affine);
  if (format == AffineFormat::matrix) return write_file_atomically(path, matrix_text(affine));
  if (format != AffineFormat::itk) refuse_enumerator(format, "the format of an affine");
  const ItkTransform transform = itk_transform(affine);
  write_file_atomically(path, path.extension() == ".mat" ? itk_matlab(transform) : itk_text(transform));
}

void write_fsl_affine(const std::filesystem::path& path, const Affine& affine, const Space& fixed,
                      const Space& moving) {
  check_affine(affine);
  fixed.check("the fixed image's space");
  moving.check("the moving image's space");
  const Affine pull = compose(compose(inverse(world_to_fsl(fixed)), affine), world_to_fsl(moving));
  write_file_atomically(path, matrix_text(inverse(pull)));
}

void write_field(const std::filesystem::path& path, const DisplacementField& field) {
  field.check(path.string());
  io::Nifti file = vectors_file(field);
  const auto voxels = file.data.size() / 3;
  for (std::size_t k = 0; k < 2 * voxels; ++k) file.data[k] = -file.data[k];
  const Affine& a = field.space.to_world;
  const bool level = a[2][0] == 0 && a[2][1] == 0 && a[0][2] == 0 && a[1][2] == 0;
  if (field.space.grid.nz == 1 && level &&
      std::all_of(file.data.begin() + static_cast<std::ptrdiff_t>(2 * voxels), file.data.end(),
                  [](float d) { return d == 0; })) {
    file.shape[4] = 2;
    file.data.resize(2 * voxels);
  }
  io::write_nifti(path, file);
}

void write_fsl_field(const std::filesystem::path& path, const DisplacementField& field, const Space& moving) {
  field.check(path.string());
  moving.check("the moving image's space");
  io::Nifti file = vectors_file(field);
  const imaging::Grid& grid = field.space.grid;
  file.shape = {grid.nx, grid.ny, grid.nz, 3};
  file.intent = kFnirtIntent;
  const Affine to_fsl = fsl_coordinates(field.space), moving_fsl = world_to_fsl(moving);
  const auto voxels = static_cast<std::size_t>(grid.voxels());
  for (std::size_t v = 0; v < voxels; ++v) {
    const auto n = static_cast<std::int64_t>(v);
    const Point index{static_cast<double>(n % grid.nx), static_cast<double>(n / grid.nx % grid.ny),
                      static_cast<double>(n / (grid.nx * grid.ny))};
    Point p = map_point(field.space.to_world, index);
    for (std::size_t c = 0; c < 3; ++c) p[c] += double(field.mm[c * voxels + v]);
    const Point from = map_point(to_fsl, index), to = map_point(moving_fsl, p);
    for (std::size_t c = 0; c < 3; ++c) file.data[c * voxels + v] = static_cast<float>(to[c] - from[c]);
  }
  io::write_nifti(path, file);
}

}  // namespace warploom::registration
