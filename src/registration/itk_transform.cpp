#include "registration/itk_transform.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "registration/text_numbers.hpp"
#include "warploom/core/error.hpp"

namespace warploom::registration {
namespace {

constexpr std::string_view kMark = "#Insight Transform File";

using Matrix = std::array<std::array<double, 3>, 3>;

/// The kinds that are read, and the numbers that each has.
struct Kind {
  std::string_view name;
  std::size_t dimensions, parameters;
};
constexpr Kind kKinds[] = {{"AffineTransform", 3, 12},      {"MatrixOffsetTransformBase", 3, 12},
                           {"Euler3DTransform", 3, 6},      {"VersorRigid3DTransform", 3, 6},
                           {"VersorTransform", 3, 3},       {"Similarity3DTransform", 3, 7},
                           {"TranslationTransform", 3, 3},  {"IdentityTransform", 3, 0},
                           {"AffineTransform", 2, 6},       {"MatrixOffsetTransformBase", 2, 6},
                           {"Euler2DTransform", 2, 3},      {"Rigid2DTransform", 2, 3},
                           {"Similarity2DTransform", 2, 4}, {"TranslationTransform", 2, 2},
                           {"IdentityTransform", 2, 0}};

std::string_view base_of(std::string_view type) { return type.substr(0, type.find('_')); }

Matrix product(const Matrix& a, const Matrix& b) {
  Matrix out{};
  for (std::size_t r = 0; r < 3; ++r)
    for (std::size_t c = 0; c < 3; ++c)
      for (std::size_t k = 0; k < 3; ++k) out[r][c] += a[r][k] * b[k][c];
  return out;
}

Matrix about_axis(std::size_t axis, double angle) {
  const std::size_t a = (axis + 1) % 3, b = (axis + 2) % 3;
  Matrix out{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
  out[a][a] = out[b][b] = std::cos(angle);
  out[a][b] = -std::sin(angle), out[b][a] = std::sin(angle);
  return out;
}

/// A versor: the vector part of a unit quaternion, whose scalar part is not negative.
Matrix of_versor(const double* v, const std::string& name) {
  const double x = v[0], y = v[1], z = v[2], square = x * x + y * y + z * z;
  if (square > 1 + 1e-9)
    throw BadInput(
        fmt::format("{}: a versor of length {:.6g}; it may be at most 1", name, std::sqrt(square)));
  const double w = std::sqrt(std::max(0.0, 1 - square));
  return {{{1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)},
           {2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)},
           {2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)}}};
}

/// x -> M (x - centre) + centre + shift.
Affine about(const Matrix& m, const Point& centre, const Point& shift) {
  Affine out{};
  for (std::size_t r = 0; r < 3; ++r) {
    out[r][3] = centre[r] + shift[r];
    for (std::size_t c = 0; c < 3; ++c) out[r][c] = m[r][c], out[r][3] -= m[r][c] * centre[c];
  }
  return out;
}

const Kind& kind_of(const ItkTransform& t, const std::string& name) {
  const bool plane = t.type.ends_with("_2_2");
  for (const Kind& kind : kKinds)
    if (kind.name == base_of(t.type) && kind.dimensions == (plane ? 2U : 3U)) return kind;
  throw BadInput(fmt::format(
      "{}: the transform '{}' is not read; affine, Euler, versor, similarity, translation and identity are, and displacement fields as NIfTI",
      name, t.type));
}

Affine in_lps(const ItkTransform& t, const Kind& kind, const std::string& name) {
  const double* p = t.parameters.data();
  const std::size_t n = kind.dimensions;
  const std::string_view base = base_of(t.type);
  Matrix m{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
  Point centre{}, shift{};
  for (std::size_t k = 0; k < std::min(n, t.fixed.size()); ++k) centre[k] = t.fixed[k];
  std::size_t shift_from = 0;
  if (base == "IdentityTransform") return identity_affine();
  if (base == "AffineTransform" || base == "MatrixOffsetTransformBase") {
    for (std::size_t r = 0; r < n; ++r)
      for (std::size_t c = 0; c < n; ++c) m[r][c] = p[r * n + c];
    shift_from = n * n;
  } else if (base == "Euler3DTransform") {
    const Matrix x = about_axis(0, p[0]), y = about_axis(1, p[1]), z = about_axis(2, p[2]);
    const bool zyx = t.fixed.size() > 3 && t.fixed[3] != 0;
    m = zyx ? product(z, product(y, x)) : product(z, product(x, y));
    shift_from = 3;
  } else if (base.starts_with("Versor")) {
    m = of_versor(p, name);
    if (kind.parameters == 3) return about(m, centre, shift);
    shift_from = 3;
  } else if (base == "Similarity3DTransform") {
    m = of_versor(p, name);
    for (auto& row : m)
      for (double& value : row) value *= p[6];
    shift_from = 3;
  } else if (base == "Euler2DTransform" || base == "Rigid2DTransform") {
    m = about_axis(2, p[0]);
    shift_from = 1;
  } else if (base == "Similarity2DTransform") {
    m = about_axis(2, p[1]);
    for (std::size_t r = 0; r < 2; ++r)
      for (std::size_t c = 0; c < 2; ++c) m[r][c] *= p[0];
    shift_from = 2;
  }
  for (std::size_t k = 0; k < n; ++k) shift[k] = p[shift_from + k];
  return about(m, centre, shift);
}

template <class Number>
Number little_endian(std::string_view bytes, std::size_t at) {
  Number out;
  std::memcpy(&out, bytes.data() + at, sizeof out);
  return out;
}

/// One matrix of a MATLAB 4 file: five int32 (type, rows, columns, imaginary, length of the name), the name,
/// values column by column. 0 is double, 10 float, both little-endian.
struct Matlab4Header {
  std::int32_t type, rows, columns, imaginary, name_length;
  bool plausible() const {
    return (type == 0 || type == 10) && imaginary == 0 && rows >= 0 && rows < 1000000 && columns >= 0 &&
           columns < 1000 && name_length > 0 && name_length < 1000;
  }
};

}  // namespace

bool is_itk_text(std::string_view bytes) { return bytes.starts_with(kMark); }

bool is_itk_matlab(std::string_view bytes) {
  return bytes.size() >= sizeof(Matlab4Header) && little_endian<Matlab4Header>(bytes, 0).plausible();
}

std::vector<ItkTransform> parse_itk_text(std::string_view bytes, const std::string& name) {
  std::vector<ItkTransform> out;
  bool whole = true;
  unsigned line_number = 0;
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    std::string_view line = trimmed(bytes.substr(0, end));
    bytes = end == bytes.npos ? "" : bytes.substr(end + 1);
    ++line_number;
    if (line.empty() || line.front() == '#') continue;
    const std::size_t colon = line.find(':');
    const std::string_view key = trimmed(line.substr(0, colon)),
                           value = colon == line.npos ? "" : trimmed(line.substr(colon + 1));
    if (key == "Transform") {
      out.push_back({std::string(value), {}, {}});
      whole = base_of(value) == "CompositeTransform";
    } else if (colon == line.npos || out.empty() || (key != "Parameters" && key != "FixedParameters")) {
      throw ParseError({name, line_number, 1}, "expected 'Transform:', 'Parameters:' or 'FixedParameters:'");
    } else {
      (key == "Parameters" ? out.back().parameters : out.back().fixed) =
          parse_numbers(value, name, line_number);
      whole = whole || key == "FixedParameters";
    }
  }
  if (out.empty() || !whole)
    throw BadInput(fmt::format("{}: ends before its {}; is it truncated?", name,
                               out.empty() ? "first 'Transform:'" : "last 'FixedParameters:'"));
  return out;
}

std::vector<ItkTransform> parse_itk_matlab(std::string_view bytes, const std::string& name) {
  std::vector<ItkTransform> out;
  bool has_fixed = true;
  while (!bytes.empty()) {
    const auto truncated = [&] {
      return BadInput(fmt::format("{}: a MATLAB 4 file that is truncated", name));
    };
    if (bytes.size() < sizeof(Matlab4Header)) throw truncated();
    const auto header = little_endian<Matlab4Header>(bytes, 0);
    if (!header.plausible())
      throw BadInput(fmt::format("{}: a matrix that is none of ITK's: type {}, {} x {}", name, header.type,
                                 header.rows, header.columns));
    const std::size_t count =
                          static_cast<std::size_t>(header.rows) * static_cast<std::size_t>(header.columns),
                      each = header.type == 0 ? 8 : 4,
                      name_length = static_cast<std::size_t>(header.name_length);
    bytes.remove_prefix(sizeof header);
    if (bytes.size() < name_length + count * each) throw truncated();
    std::string called(bytes.substr(0, name_length));
    called.resize(std::strlen(called.c_str()));
    std::vector<double> values(count);
    for (std::size_t k = 0; k < count; ++k)
      values[k] = each == 8 ? little_endian<double>(bytes, name_length + 8 * k)
                            : double(little_endian<float>(bytes, name_length + 4 * k));
    bytes.remove_prefix(name_length + count * each);
    if (called == "fixed" && !out.empty())
      out.back().fixed = values, has_fixed = true;
    else
      out.push_back({called, values, {}}), has_fixed = base_of(called) == "CompositeTransform";
  }
  if (!has_fixed)
    throw BadInput(fmt::format("{}: the matrix 'fixed' is missing; is the file truncated?", name));
  return out;
}

Affine affine_of(const ItkTransform& t, const std::string& name) {
  const Kind& kind = kind_of(t, name);
  if (t.parameters.size() != kind.parameters)
    throw BadInput(fmt::format("{}: {} has {} parameters, and this one {}", name, t.type, kind.parameters,
                               t.parameters.size()));
  const bool centred = kind.name != "IdentityTransform" && kind.name != "TranslationTransform";
  if (centred && t.fixed.size() < kind.dimensions)
    throw BadInput(fmt::format("{}: {} has {} fixed parameters, its centre, and this one {}", name, t.type,
                               kind.dimensions, t.fixed.size()));
  const Affine out = flip_world(in_lps(t, kind, name));
  check_affine(out, name);
  return out;
}

TransformChain chain_of(const std::vector<ItkTransform>& transforms, const std::string& name) {
  TransformChain chain;
  for (auto t = transforms.rbegin(); t != transforms.rend(); ++t)
    if (base_of(t->type) != "CompositeTransform") chain.push_back({affine_of(*t, name)});
  if (chain.empty()) throw BadInput(fmt::format("{}: a composite of no transforms", name));
  return chain;
}

ItkTransform itk_transform(const Affine& affine) {
  const Affine lps = flip_world(affine);
  ItkTransform out{"AffineTransform_double_3_3", {}, {0, 0, 0}};
  for (const auto& row : lps) out.parameters.insert(out.parameters.end(), row.begin(), row.begin() + 3);
  for (const auto& row : lps) out.parameters.push_back(row[3]);
  return out;
}

std::string itk_text(const ItkTransform& t) {
  return fmt::format("{} V1.0\n#Transform 0\nTransform: {}\nParameters: {}\nFixedParameters: {}\n", kMark,
                     t.type, fmt::join(t.parameters, " "), fmt::join(t.fixed, " "));
}

std::string itk_matlab(const ItkTransform& t) {
  std::string out;
  const auto append = [&](std::string_view called, const std::vector<double>& values) {
    const Matlab4Header header{0, static_cast<std::int32_t>(values.size()), 1, 0,
                               static_cast<std::int32_t>(called.size() + 1)};
    out.append(reinterpret_cast<const char*>(&header), sizeof header);
    out.append(called).push_back('\0');
    out.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double));
  };
  append(t.type, t.parameters);
  append("fixed", t.fixed);
  return out;
}

}  // namespace warploom::registration
