#include "warploom/dp/polygon.hpp"

#include <fmt/format.h>

#include <iterator>
#include <memory>
#include <utility>

#include "cli/verb.hpp"
#include "problem.hpp"
#include "warploom/dp/read.hpp"

namespace warploom::tool {
namespace {

struct Settings : DpSettings {
  std::string input, svg;
};

std::string as_text(const dp::Triangulation& t) {
  std::string out =
      fmt::format("{} vertices{}: diagonals {}, sides {}, perimeters {}\ntriangles\n", t.triangles.size() + 2,
                  t.convex ? " (convex)" : "", t.weight, t.perimeter, t.perimeters());
  for (const auto& [i, k, j] : t.triangles) fmt::format_to(std::back_inserter(out), "{} {} {}\n", i, k, j);
  return out;
}

int run(Settings& s) {
  DpRun run(s);
  run.add("--svg", s.svg, ".svg");
  NumberText text = read_numbers(s.input);
  text.number = [](std::string_view, std::size_t vertex) { return 2 * vertex; };
  const std::vector<dp::Point> points = dp::parse_points(text.text, text.file);
  dp::Triangulation t;
  with_lines({std::move(text)}, [&] { t = dp::triangulate(points, {.solve = s.solve, .type = s.type}); });
  if (!s.svg.empty()) run.write(s.svg, dp::triangulation_svg(points, t));
  return run.finish(as_text(t),
                    {{"problem", "polygon"},
                     {"vertices", points.size()},
                     {"convex", t.convex},
                     {"type", name(t.type)},
                     {"weight", t.weight},
                     {"perimeter", t.perimeter},
                     {"perimeters", t.perimeters()},
                     {"triangles", t.triangles},
                     {"diagonals", t.diagonals}},
                    t.report);
}

std::function<int()> add(Command& command) {
  auto s = std::make_shared<Settings>();
  command
      .add(
          "POINTS", &s->input,
          "Table of two columns, x and y of each vertex, in order along the boundary, either way round, the first not "
          "repeated; '-' for standard input")
      .required();
  command.add("--svg FILE", &s->svg, "Picture to write: the polygon with its diagonals (.svg)");
  add_type_option(command, s->type, "float64, float32 or auto [auto: float64]");
  add_dp_options(command, *s);
  return [s] { return run(*s); };
}

}  // namespace

Verb dp_polygon() {
  return {
      "polygon", "Find the triangulation of a simple polygon whose diagonals are shortest together",
      "warploom dp polygon points.csv --svg triangles.svg\n"
      "Prints lengths, in the unit of the points, and the vertices of each triangle, counted from 0. It is "
      "also the triangulation with the least sum of the triangles' perimeters.",
      &add};
}

}  // namespace warploom::tool
