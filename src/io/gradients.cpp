#include "warploom/io/gradients.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include "core/doors.hpp"
#include "io/printable.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"
#include "warploom/core/parse.hpp"

namespace warploom::io {
namespace {

using Matrix = std::array<std::array<double, 3>, 3>;

constexpr std::pair<Frame, std::string_view> kFrames[] = {
    {Frame::image, "image"}, {Frame::fsl, "fsl"}, {Frame::scanner, "scanner"}};
constexpr std::pair<BValueScaling, std::string_view> kScalings[] = {
    {BValueScaling::automatic, "auto"}, {BValueScaling::yes, "yes"}, {BValueScaling::no, "no"}};
constexpr double kLengthTolerance = 0.01;

double dot(const std::array<double, 3>& a, const std::array<double, 3>& b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

std::array<double, 3> cross(const std::array<double, 3>& a, const std::array<double, 3>& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

/// The orthonormal factor of the polar decomposition, which is the nearest orthonormal matrix, by Newton's
/// iteration X <- (X + X^-T) / 2. Source: Higham, SIAM J. Sci. Stat. Comput. 7(4), 1986.
Matrix nearest_orthonormal(Matrix x) {
  for (int iteration = 0; iteration < 100; ++iteration) {
    // The rows of X^-T, times the determinant, are the cross products of the rows of X.
    const Matrix cofactors{cross(x[1], x[2]), cross(x[2], x[0]), cross(x[0], x[1])};
    const double det = dot(x[0], cofactors[0]);
    double change = 0;
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t j = 0; j < 3; ++j) {
        const double next = (x[i][j] + cofactors[i][j] / det) / 2;
        change = std::max(change, std::abs(next - x[i][j]));
        x[i][j] = next;
      }
    if (change < 1e-15) break;
  }
  return x;
}

/// Takes a vector of the frame to the scanner's axes.
Matrix to_scanner(Frame frame, const Affine& affine) {
  if (frame == Frame::scanner) return {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
  Matrix directions{};
  for (std::size_t column = 0; column < 3; ++column) {
    const double length = std::hypot(affine[0][column], affine[1][column], affine[2][column]);
    for (std::size_t row = 0; row < 3; ++row) directions[row][column] = affine[row][column] / length;
  }
  directions = nearest_orthonormal(directions);
  if (frame == Frame::fsl && determinant(affine) > 0)
    for (auto& row : directions) row[0] = -row[0];
  return directions;
}

struct Row {
  unsigned line;
  std::vector<double> values;
};

/// Rows and where they are from: "dwi.bvec:2", or of numbers in memory "bvecs[1]".
struct Table {
  std::string name;
  std::vector<Row> rows;
  bool is_file = true;
  std::string place(const Row& row) const {
    return is_file ? fmt::format("{}:{}", name, row.line) : fmt::format("{}[{}]", name, row.line - 1);
  }
};

/// Numbers separated by blanks or commas, in lines; empty lines and what follows '#' are skipped.
std::vector<Row> read_table(const std::filesystem::path& path) {
  const std::string content = read_file(path);
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  constexpr std::string_view kBlank = " \t\r,";
  std::vector<Row> rows;
  unsigned number = 0;
  std::string_view rest = content;
  if (rest.starts_with(kByteOrderMark)) rest.remove_prefix(kByteOrderMark.size());
  while (!rest.empty()) {
    ++number;
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, std::min(rest.find('#'), end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    Row row{number, {}};
    for (std::size_t at = line.find_first_not_of(kBlank); at != line.npos;) {
      const std::size_t stop = std::min(line.find_first_of(kBlank, at), line.size());
      const std::string_view word = line.substr(at, stop - at);
      double value = 0;
      if (!parse_whole(word.substr(word.starts_with('+') ? 1 : 0), value))
        throw ParseError({path.string(), number, static_cast<unsigned>(at + 1)},
                         fmt::format("'{}' is no number", printable(word)));
      row.values.push_back(value);
      at = line.find_first_not_of(kBlank, stop);
    }
    if (!row.values.empty()) rows.push_back(std::move(row));
  }
  return rows;
}

void require_columns(const Table& table, std::size_t columns) {
  for (const Row& row : table.rows)
    if (row.values.size() != columns)
      throw BadInput(fmt::format("{}: {} numbers in this row; {} are expected", table.place(row),
                                 row.values.size(), columns));
}

bool all_have(const std::vector<Row>& rows, std::size_t columns) {
  return std::ranges::all_of(rows, [&](const Row& row) { return row.values.size() == columns; });
}
/// Three rows, or rows of three: what a file of directions looks like.
bool are_directions(const std::vector<Row>& rows) {
  return rows.size() > 1 && ((rows.size() == 3 && rows[0].values.size() > 1) || all_have(rows, 3));
}
/// One row or one column: what a file of b-values looks like.
bool are_single(const std::vector<Row>& rows) { return rows.size() == 1 || all_have(rows, 1); }

/// Where a volume's b-value and direction stand, for messages.
struct Place {
  std::string b, direction;
};

/// Volumes as they are read, before it is known what the lengths of their directions mean.
struct RawGradients {
  Gradients gradients;
  std::vector<double> lengths = {};  ///< 0: missing
};

/// Adds a volume and applies the rules for what is missing.
void add(RawGradients& raw, double b, std::array<double, 3> direction, double b0_limit, const Place& place) {
  const std::size_t volume = raw.lengths.size();
  const double length = std::sqrt(dot(direction, direction));
  const bool missing = !(length > 0.05 && std::isfinite(length));
  if (missing && b > b0_limit)
    throw BadInput(fmt::format(
        "{}: volume {} has b = {} s/mm^2 but no direction ({} {} {}); it may be missing up to b = {}",
        place.direction, volume, b, direction[0], direction[1], direction[2], b0_limit));
  if (!(b >= 0 && std::isfinite(b)))
    throw BadInput(fmt::format("{}: b = {} of volume {}; it must be 0 or more", place.b, b, volume));
  for (double& component : direction) component = missing || b == 0 ? 0 : component / length;
  raw.gradients.b.push_back(b);
  raw.gradients.directions.push_back(direction);
  raw.lengths.push_back(missing ? 0 : length);
}

Gradients finished(RawGradients raw, double b0_limit, BValueScaling scaling) {
  Gradients& gradients = raw.gradients;
  double shortest = std::numeric_limits<double>::infinity(), longest = 0;
  for (std::size_t v = 0; v < raw.lengths.size(); ++v)
    if (raw.lengths[v] > 0 && gradients.b[v] > b0_limit) {
      shortest = std::min(shortest, raw.lengths[v]);
      longest = std::max(longest, raw.lengths[v]);
    }
  if (longest == 0) return std::move(gradients);
  gradients.lengths = {shortest, longest};
  const bool differ = longest - shortest > kLengthTolerance * longest;
  name(scaling);  // is there such a scaling?
  gradients.b_scaled = scaling == BValueScaling::yes || (scaling == BValueScaling::automatic && differ &&
                                                         !remark_on_lengths(gradients).empty());
  if (!gradients.b_scaled) return std::move(gradients);
  for (std::size_t v = 0; v < raw.lengths.size(); ++v)
    if (raw.lengths[v] > 0) gradients.b[v] *= raw.lengths[v] * raw.lengths[v];
  return std::move(gradients);
}

}  // namespace

Frame parse_frame(std::string_view text) {
  for (const auto& [frame, label] : kFrames)
    if (label == text) return frame;
  throw BadInput(fmt::format("frame '{}' is unknown; it is image, fsl or scanner", text));
}

BValueScaling parse_bvalue_scaling(std::string_view text) {
  for (const auto& [scaling, label] : kScalings)
    if (label == text) return scaling;
  throw BadInput(fmt::format("'{}' is none of auto, yes, no", text));
}

std::string_view name(BValueScaling scaling) {
  return at_enumerator(kScalings, scaling, "the scaling of b-values").second;
}

std::string remark_on_lengths(const Gradients& gradients) {
  const auto [shortest, longest] = gradients.lengths;
  if (std::max(std::abs(shortest - 1), std::abs(longest - 1)) <= kLengthTolerance) return "";
  return fmt::format(
      "directions have lengths of {:.3g} to {:.3g}, not 1; {}", shortest, longest,
      gradients.b_scaled ? "b-values were scaled by their squares" : "b-values were kept as they are");
}

std::string_view name(Frame frame) { return at_enumerator(kFrames, frame, "the frame").second; }

std::array<std::array<double, 3>, 3> frame_change(Frame from, Frame to, const Affine& affine) {
  if (const double det = determinant(affine); !std::isfinite(det) || det == 0)
    throw BadInput(fmt::format("the affine's determinant is {}: it gives no directions", det));
  name(from), name(to);  // are there such frames?
  const Matrix begin = to_scanner(from, affine), end = to_scanner(to, affine);
  Matrix change{};
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j)
      for (std::size_t k = 0; k < 3; ++k)
        change[i][j] += end[k][i] * begin[k][j];  // end's inverse is its transpose
  return change;
}

namespace {

Gradients fsl_gradients(const Table& b, const Table& directions, std::int64_t volumes, double b0_limit,
                        BValueScaling scaling) {
  const auto count = static_cast<std::size_t>(volumes);
  const std::vector<Row>&values = b.rows, &vectors = directions.rows;
  if (are_directions(values) && are_single(vectors))
    throw BadInput(fmt::format("{} holds directions and {} holds b-values: they are swapped; exchange them",
                               b.name, directions.name));
  const bool column = values.size() > 1;
  if (column) require_columns(b, 1);
  const std::size_t found = column ? values.size() : values.empty() ? 0 : values.front().values.size();
  if (found != count)
    throw BadInput(fmt::format("{}: {} b-values, but the image has {} volumes", b.name, found, volumes));

  // Three rows of three are FSL's own form.
  const bool row_each = vectors.size() == count && count != 3;
  if (!row_each && vectors.size() != 3)
    throw BadInput(fmt::format("{}: {} rows; {} volumes need 3 rows of {} numbers, or {} rows of 3",
                               directions.name, vectors.size(), volumes, volumes, volumes));
  require_columns(directions, row_each ? 3 : count);

  RawGradients raw{.gradients = {.frame = Frame::fsl}};
  for (std::size_t v = 0; v < count; ++v) {
    const Row& of_b = values[column ? v : 0];
    const auto component = [&](std::size_t k) {
      return row_each ? vectors[v].values[k] : vectors[k].values[v];
    };
    add(raw, of_b.values[column ? 0 : v], {component(0), component(1), component(2)}, b0_limit,
        {b.place(of_b), row_each ? directions.place(vectors[v]) : directions.name});
  }
  return finished(std::move(raw), b0_limit, scaling);
}

Table rows_of(std::string name, std::span<const double> values, std::size_t rows) {
  Table table{.name = std::move(name), .rows = {}, .is_file = false};
  for (std::size_t row = 0; row < rows; ++row) {
    const auto part = values.subspan(row * (values.size() / rows), values.size() / rows);
    table.rows.push_back({static_cast<unsigned>(row + 1), {part.begin(), part.end()}});
  }
  return table;
}

}  // namespace

Gradients read_fsl_gradients(const std::filesystem::path& bval, const std::filesystem::path& bvec,
                             std::int64_t volumes, double b0_limit, BValueScaling scaling) {
  return fsl_gradients({bval.string(), read_table(bval)}, {bvec.string(), read_table(bvec)}, volumes,
                       b0_limit, scaling);
}

Gradients fsl_gradients(const GradientTable& table, std::int64_t volumes, double b0_limit,
                        BValueScaling scaling) {
  const std::size_t numbers = table.directions.size();
  if (table.rows < 1 || static_cast<std::uint64_t>(table.rows) > numbers ||
      numbers % static_cast<std::size_t>(table.rows) != 0)
    throw BadInput(fmt::format("bvecs: {} numbers are not {} rows", numbers, table.rows));
  return fsl_gradients(rows_of("bvals", table.b, table.b.size()),
                       rows_of("bvecs", table.directions, static_cast<std::size_t>(table.rows)), volumes,
                       b0_limit, scaling);
}

Gradients read_mrtrix_gradients(const std::filesystem::path& path, std::int64_t volumes, double b0_limit,
                                BValueScaling scaling) {
  const Table table{path.string(), read_table(path)};
  const std::vector<Row>& rows = table.rows;
  require_columns(table, 4);
  if (rows.size() != static_cast<std::size_t>(volumes))
    throw BadInput(
        fmt::format("{}: {} rows, but the image has {} volumes", path.string(), rows.size(), volumes));
  RawGradients raw{.gradients = {.frame = Frame::scanner}};
  for (const auto& [line, values] : rows) {
    const std::string place = fmt::format("{}:{}", path.string(), line);
    add(raw, values[3], {values[0], values[1], values[2]}, b0_limit, {place, place});
  }
  return finished(std::move(raw), b0_limit, scaling);
}

}  // namespace warploom::io
