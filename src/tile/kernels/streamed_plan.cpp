// What a warp keeps of the arrays: lags of statements, ages of rows, and how many steps fit.
#include "tile/kernels/streamed_plan.hpp"

#include <algorithm>

#include "tile/c/simplify.hpp"
#include "warploom/core/error.hpp"

namespace warploom::tile {
namespace {

using Kind = Expression::Kind;

/// Of rows, that a lane keeps: with more, registers of 4 bytes for 16 warps do not suffice (8 warps of 8
/// bytes).
constexpr int kMostElements = 48;
/// Rows and columns that steps of a launch reach: more are not worth their halo.
constexpr int kFarthest = 8;

template <typename Visit>
void for_each_neighbour(const Expression& e, const StencilStage& stage, const Visit& visit) {
  if (e.kind == Kind::element) {
    if (is_neighbour(e, stage)) visit(e);
    return;
  }
  for (const Expression& operand : e.operands) for_each_neighbour(operand, stage, visit);
}

class Planner {
 public:
  explicit Planner(const StencilSteps& found) { plan_.found = &found; }

  void run() {
    for (const StencilStage& stage : plan_.found->stages) add_stage(stage);
    add_lines();
    for (std::size_t s = 0; s < plan_.statements.size(); ++s) add_uses(static_cast<int>(s));
    for (StreamedLine& line : plan_.lines) find_source(line);
  }
  /// Still arrays are kept until the last step of a launch reads them.
  bool fits(int steps) {
    plan_.steps = steps;
    plan_.elements = 0;
    for (const StreamedLine& line : plan_.lines) {
      if (std::max(line.left, line.right) > plan_.columns) return false;
      const int more = line.writer < 0 ? (steps - 1) * plan_.lag : 0, times = line.writer < 0 ? 1 : steps;
      plan_.elements += times * ((line.rows - 1 + more) * plan_.columns +
                                 (line.oldest_beside + more) * (line.left + line.right));
    }
    return plan_.elements <= kMostElements && 2 * plan_.useful_columns() >= 32 * plan_.columns;
  }
  /// Steps that do not reach farther than what is worth it.
  int most_steps() const {
    const int farthest = std::max({plan_.up, plan_.down, plan_.left, plan_.right});
    return farthest == 0 ? 0 : kFarthest / farthest;
  }
  StreamedTiles plan() && { return std::move(plan_); }

 private:
  void add_stage(const StencilStage& stage) {
    int up = 0, down = 0, left = 0, right = 0;
    for (const Node& statement : stage.statements)
      for_each_neighbour(statement.value, stage, [&](const Expression& e) {
        const auto [rows, columns] = apart(e, stage);
        up = std::max(up, -rows);
        down = std::max(down, rows);
        left = std::max(left, -columns);
        right = std::max(right, columns);
      });
    plan_.up += up;
    plan_.down += down;
    plan_.left += left;
    plan_.right += right;
    plan_.lag = plan_.down;
    for (const Node& statement : stage.statements)
      plan_.statements.push_back({&stage, &statement, 0, plan_.lag});
  }

  void add_lines() {
    for (std::size_t s = 0; s < plan_.statements.size(); ++s) {
      plan_.statements[s].line = static_cast<int>(plan_.lines.size());
      StreamedLine line;
      line.array = plan_.statements[s].assignment->target.text;
      line.writer = static_cast<int>(s);
      plan_.lines.push_back(std::move(line));
    }
    for (const std::string& array : plan_.found->arrays) {
      if (std::ranges::find(plan_.found->written, array) != plan_.found->written.end()) continue;
      StreamedLine line;
      line.array = array;
      plan_.lines.push_back(std::move(line));
    }
  }

  void add_uses(int s) {
    const StreamedStatement& statement = plan_.statements[s];
    const auto use = [&](const Expression& e) {
      const auto [rows, columns] = apart(e, *statement.stage);
      const StreamedRow row = plan_.row(e.text, s, rows);
      StreamedLine& line = plan_.lines[row.line];
      line.rows = std::max(line.rows, row.age + 1);
      line.left = std::max(line.left, -columns);
      line.right = std::max(line.right, columns);
      if (columns == 0) return;
      line.oldest_beside = std::max(line.oldest_beside, row.age);
      line.within_step = line.within_step || row.this_step;
    };
    for_each_neighbour(statement.assignment->value, *statement.stage, use);
    use(statement.assignment->target);
  }

  void find_source(StreamedLine& line) const {
    if (line.writer < 0) {
      line.source = StreamedLine::Source::memory;
      return;
    }
    if (&plan_.line_of(line.array) != &line) return;
    line.ahead = plan_.lag - plan_.statements[line.writer].lag;
    bool only_writer = plan_.statements[line.writer].stage->line < 0, read_before = false;
    for (std::size_t s = 0; s < plan_.statements.size(); ++s) {
      const Node& assignment = *plan_.statements[s].assignment;
      const bool writes = assignment.target.text == line.array;
      only_writer = only_writer && (!writes || static_cast<int>(s) == line.writer);
      if (static_cast<int>(s) > line.writer) continue;
      read_before = read_before || (writes && assignment.op != "=");
      for_each_neighbour(assignment.value, *plan_.statements[s].stage,
                         [&](const Expression& e) { read_before = read_before || e.text == line.array; });
    }
    line.source = only_writer && !read_before ? StreamedLine::Source::border : StreamedLine::Source::memory;
  }

  StreamedTiles plan_;
};

}  // namespace

std::array<int, 2> apart(const Expression& element, const StencilStage& stage) {
  std::array<int, 2> result = {};
  for (std::size_t d = 0; d < 2; ++d)
    result[d] = static_cast<int>(
        difference(element.operands[d], Expression::name(stage.loops[d].loop.iterator)).value);
  return result;
}

const StreamedLine& StreamedTiles::line_of(const std::string& array) const {
  for (auto line = lines.rbegin(); line != lines.rend(); ++line)
    if (line->array == array) return *line;
  throw Internal("an array without rows: " + array);
}

StreamedRow StreamedTiles::row(const std::string& array, int statement, int further) const {
  const int behind = statements[statement].lag - further;
  StreamedRow row{static_cast<int>(&line_of(array) - lines.data()), false, behind};
  if (lines[row.line].writer < 0) return row;
  for (int s = statement - 1; s >= 0 && !row.this_step; --s)
    if (statements[s].assignment->target.text == array) row = {statements[s].line, true, behind};
  row.age = behind - statements[lines[row.line].writer].lag + (row.this_step ? 0 : lag);
  return row;
}

std::optional<StreamedTiles> plan_streamed_tiles(const CudaNames& names, const StencilSteps& found) {
  if (found.extents.size() != 2) return std::nullopt;
  const ScalarType type = shape_of(names, found.arrays[0]).type;
  if (type != ScalarType::float32 && type != ScalarType::float64 && type != ScalarType::int32)
    return std::nullopt;
  Planner planner(found);
  planner.run();
  // A launch of one stage is what pointwise kernels do.
  const int stages = static_cast<int>(found.stages.size());
  for (int steps = planner.most_steps(); steps > 0 && steps * stages > 1; --steps)
    if (planner.fits(steps)) return std::move(planner).plan();
  return std::nullopt;
}

}  // namespace warploom::tile
