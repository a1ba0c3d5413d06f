#include "landmarks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "cli/byte_size.hpp"
#include "cli/verb.hpp"
#include "warploom/core/error.hpp"

namespace warploom::tool {
namespace {

using namespace registration;

struct Summary {
  double mean, median, largest;
  explicit Summary(std::vector<double> values) {
    std::ranges::sort(values);
    const std::size_t n = values.size();
    mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(n);
    median = (values[(n - 1) / 2] + values[n / 2]) / 2;
    largest = values.back();
  }
};

std::vector<double> distances(const std::vector<Point>& a, const std::vector<Point>& b) {
  std::vector<double> out;
  for (std::size_t i = 0; i < a.size(); ++i)
    out.push_back(std::hypot(a[i][0] - b[i][0], a[i][1] - b[i][1], a[i][2] - b[i][2]));
  return out;
}

}  // namespace

LandmarkTables read_landmarks(const std::string& fixed, const std::string& moving, PointAxes axes,
                              std::uint64_t max_memory) {
  LandmarkTables out{parse_points(read_input(fixed, max_memory), input_name(fixed), axes).points,
                     parse_points(read_input(moving, max_memory), input_name(moving), axes).points};
  if (out.fixed.size() != out.moving.size())
    throw BadInput(
        fmt::format("{} has {} points and {} has {}; row for row they are the same places in both images",
                    input_name(fixed), out.fixed.size(), input_name(moving), out.moving.size()));
  return out;
}

Landmarks measure_landmarks(const LandmarkTables& tables, const Affine& affine, const TransformChain& map) {
  Landmarks out{distances(tables.fixed, tables.moving), {}, {}};
  std::vector<Point> there = tables.fixed;
  for (Point& p : there) p = map_point(affine, p);
  out.affine = distances(there, tables.moving);
  there = tables.fixed;
  map_points(map, there);
  out.after = distances(there, tables.moving);
  return out;
}

Json as_json(const Landmarks& l) {
  const auto summary = [](const std::vector<double>& values) {
    const Summary s(values);
    return Json{{"mean", s.mean}, {"median", s.median}, {"largest", s.largest}};
  };
  Json points = Json::array();
  for (std::size_t i = 0; i < l.before.size(); ++i)
    points.push_back({{"before", l.before[i]}, {"affine", l.affine[i]}, {"after", l.after[i]}});
  return {{"before", summary(l.before)},
          {"affine", summary(l.affine)},
          {"after", summary(l.after)},
          {"points", std::move(points)}};
}

std::string as_text(const Landmarks& l) {
  const Summary before(l.before), affine(l.affine), after(l.after);
  std::string text = fmt::format(
      "  points      {}: {:.2f} mm off before, {:.2f} mm after the affine map, {:.2f} mm in the end (median {:.2f} mm, at most {:.2f} mm)\n",
      l.before.size(), before.mean, affine.mean, after.mean, after.median, after.largest);
  for (std::size_t i = 0; i < l.before.size(); ++i)
    text += fmt::format("  point {:<5} {:.2f} mm, {:.2f} mm, {:.2f} mm\n", i + 1, l.before[i], l.affine[i],
                        l.after[i]);
  return text;
}

}  // namespace warploom::tool
