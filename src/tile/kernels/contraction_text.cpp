// The CUDA of a contraction.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "tile/c/simplify.hpp"
#include "tile/kernels/contraction.hpp"

namespace warploom::tile {
namespace {

using Plan = ContractionPlan;

class ContractionPrinter {
 public:
  ContractionPrinter(const KernelRequest& request, const Plan& plan)
      : plan_(plan),
        found_(plan.found),
        names_{request.nest, request.parallel, {}, nullptr},
        in_memory_(names_) {
    choose_names();
    names_.instead = [this](const Expression& e) {
      const auto own = own_.find(e.text);
      const bool variable = e.kind == Expression::Kind::element || e.kind == Expression::Kind::name;
      return variable && own != own_.end() ? own->second : std::string();
    };
  }

  std::string print(const std::string& kernel, const std::vector<std::string>& parameters,
                    const std::vector<std::string>& written) {
    heading();
    text_.open(kernel_signature(
        {in_memory_, kernel, parameters, written, plan_.shape.threads(), plan_.shape.blocks_per_sm}));
    for (std::size_t o = 0; o < plan_.operands.size(); ++o) {
      const Plan::Operand& operand = plan_.operands[o];
      text_.line("__shared__ __align__(16) {} {}[{}][{}][{}];  // {}", c_name(operand.shape.type), tile_[o],
                 Plan::stages, plan_.depth, plan_.tile(operand.side) + Plan::padding,
                 plan_.shown(operand.element));
    }
    place_block();
    place_thread();
    depth_range();
    text_.line();
    text_.line("{} {}[{}][{}] = {{}};", c_name(plan_.type), sum_, plan_.shape.thread_rows,
               plan_.shape.thread_columns);
    if (found_.keeps_order)
      for_each_element([this] {
        statements(found_.before);
        text_.line("{} = {};", sum_element(), text(found_.update.target));
      });
    for (const Node& outer : found_.outer)
      text_.open("for (int {0} = {1}; {0} < {2}; ++{0})", outer.iterator, text(outer.first),
                 text(end_of(outer)));
    text_.line();
    loader();
    text_.line();
    loop_over_depth();
    for (std::size_t n = 0; n < found_.outer.size(); ++n) text_.close();
    text_.line();
    for_each_element([this] {
      if (found_.keeps_order) {
        text_.line("{} = {};", text(found_.update.target), sum_element());
      } else {
        statements(found_.before);
        Node update = found_.update;
        update.value = Expression::name(sum_element());
        if (found_.scale != Expression::integer(1))
          update.value = Expression::binary("*", found_.scale, update.value);
        statements({update});
      }
      statements(found_.after);
      for (const Privatised& variable : found_.private_variables)
        if (variable.last_value) keep_last(variable);
    });
    text_.close();
    return text_.text();
  }

 private:
  const Node& depth() const { return found_.depth; }
  std::string text(const Expression& expression) const { return cuda_text(names_, expression); }
  std::string sum_element() const { return fmt::format("{}[{}][{}]", sum_, x_, y_); }
  void statements(const std::vector<Node>& nodes) {
    for (const Node& node : nodes) text_.tree(cuda_tree(names_, node));
  }

  void choose_names() {
    FreshNames name(in_memory_);
    for (const int side : {Plan::rows, Plan::columns}) {
      origin_[side] = name(plan_.iterator(side) + "0");
      last_[side] = name(plan_.iterator(side) + "_last");
    }
    origin_depth_ = name(depth().iterator + "0");
    first_depth_ = name(depth().iterator + "_first");
    end_depth_ = name(depth().iterator + "_end");
    for (std::string* local :
         {&row_, &column_, &lane_, &warp_, &stage_, &from_, &load_, &sum_, &x_, &y_, &step_})
      *local = name(*local);
    for (const Plan::Operand& operand : plan_.operands) {
      const std::string base = operand.element.text + (operand.side == Plan::rows ? "_row" : "_column");
      tile_.push_back(name(base + "s"));
      part_.push_back(name(base));
    }
    for (const Privatised& variable : found_.private_variables)  // memory has the name itself if it is needed
      own_[variable.variable] = variable.last_value ? name("own_" + variable.variable) : variable.variable;
  }

  void heading() {
    std::vector<std::string> loops;
    for (const Node& outer : found_.outer) loops.push_back(outer.iterator);
    loops.push_back(depth().iterator);
    text_.line("/// {} {} {} over {}. A block computes {} {} x {} {}, a thread {} x {} of them.",
               plan_.shown(found_.update.target), found_.update.op, to_text(found_.update.value),
               fmt::join(loops, ", "), plan_.tile(Plan::rows), plan_.iterator(Plan::rows),
               plan_.tile(Plan::columns), plan_.iterator(Plan::columns), plan_.shape.thread_rows,
               plan_.shape.thread_columns);
  }

  // ---- what is whose ----

  /// The block's iteration of the grid loops, its first row and column; blocks that have none end.
  void place_block() {
    std::string rest = "blockIdx.z";
    for (std::size_t g = found_.grid.size(); g-- > 0;) {
      const Node& node = found_.grid[g];
      const std::string trips = "(" + text(trip_count(node)) + ")";
      const std::string index = g > 0 ? fmt::format("{} % {}", rest, trips) : rest;
      text_.line("const int {} = {};", node.iterator,
                 from_first(node.first, "static_cast<int>(" + index + ")"));
      rest += " / " + trips;
    }
    const auto origin = [this](int side) {
      const std::string index =
          fmt::format("static_cast<int>(blockIdx.{}) * {}", plan_.axis[side], plan_.tile(side));
      return fmt::format("{} = {}", origin_[side], from_first(*plan_.box[side].least, index));
    };
    text_.line("const int {}, {};", origin(Plan::rows), origin(Plan::columns));
    for (const int side : {Plan::rows, Plan::columns})
      if (std::ranges::any_of(found_.grid, [&](const Node& node) {
            return depends_on(*plan_.box[side].most, node.iterator);
          }))
        text_.line("if ({} > {}) return;", origin_[side], text(*plan_.box[side].most));
    if (plan_.is_triangular()) end_outside_of_triangle();
  }
  std::string from_first(const Expression& first, const std::string& index) const {
    return first == Expression::integer(0) ? index : fmt::format("{} + {}", text(first), index);
  }

  void end_outside_of_triangle() {
    // What the inner loop reaches over the outer's part in this block.
    const int outer = plan_.outer_side, inner = 1 - outer;
    const Expression begin = Expression::name(origin_[outer]);
    const Bounds reach =
        bounds_of(plan_.loop(inner), {{plan_.iterator(outer), {begin, plus(begin, plan_.tile(outer) - 1)}}});
    const std::string outside =
        depends_on(plan_.loop(inner).limit, plan_.iterator(outer))
            ? fmt::format("{} > {}", origin_[inner], text(*reach.most))
            : fmt::format("{} < {}", text(plus(Expression::name(origin_[inner]), plan_.tile(inner) - 1)),
                          text(*reach.least));
    text_.line("if ({}) return;  // nothing of the block is in the triangle", outside);
  }

  void place_thread() {
    const TileShape& shape = plan_.shape;
    text_.line("const int {0} = threadIdx.x % 32, {1} = threadIdx.x / 32;", lane_, warp_);
    std::string of_rows, of_columns;  // the warp's part
    if (shape.warps_down > 1)
      of_rows = fmt::format("{}{} * {} + ", warp_,
                            shape.warps_across > 1 ? fmt::format(" / {}", shape.warps_across) : "",
                            TileShape::kLanesDown * shape.thread_rows);
    if (shape.warps_across > 1)
      of_columns = fmt::format("{} % {} * {} + ", warp_, shape.warps_across,
                               TileShape::kLanesAcross * shape.thread_columns);
    text_.line("const int {} = {}{} / {} * {};  // the thread's first in the tile", row_, of_rows, lane_,
               TileShape::kLanesAcross, plan_.group);
    text_.line("const int {} = {}{} % {} * {};", column_, of_columns, lane_, TileShape::kLanesAcross,
               plan_.group);
  }
  /// The place in the tile of the thread's x-th row or y-th column.
  std::string within_tile(int side) const {
    const int lanes = side == Plan::rows ? TileShape::kLanesDown : TileShape::kLanesAcross;
    return fmt::format("{0} + {1} / {2} * {3} + {1} % {2}", side == Plan::rows ? row_ : column_,
                       side == Plan::rows ? x_ : y_, plan_.group, lanes * plan_.group);
  }

  /// Where the depth begins and ends for the block: what any of its rows and columns needs.
  void depth_range() {
    std::map<std::string, Bounds> block;
    for (const int side : {Plan::rows, Plan::columns}) {
      const std::string& iterator = plan_.iterator(side);
      if (!depends_on(depth().first, iterator) && !depends_on(depth().limit, iterator)) continue;
      const Expression begin = Expression::name(origin_[side]);
      text_.line("const int {} = min({}, {});", last_[side], text(plus(begin, plan_.tile(side) - 1)),
                 text(*plan_.box[side].most));
      block[iterator] = {begin, Expression::name(last_[side])};
    }
    const Bounds range = bounds_of(depth(), block);
    const auto named = [&](const std::string& name, const Expression& of_loop, const Expression& of_block) {
      if (of_loop == of_block) return text(of_loop);
      text_.line("const int {} = {};", name, text(of_block));
      return name;
    };
    first_ = named(first_depth_, depth().first, *range.least);
    end_ = named(end_depth_, end_of(depth()), block.empty() ? end_of(depth()) : plus(*range.most, 1));
  }

  // ---- from global to shared memory ----

  /// A function that starts the copies of one set of tiles.
  void loader() {
    text_.line("// What {0} <= {1} < {0} + {2} needs is on its way to shared memory; zeros beyond the edges.",
               origin_depth_, depth().iterator, plan_.depth);
    text_.open("const auto {} = [&](int {}, int {})", load_, stage_, origin_depth_);
    for (std::size_t o = 0; o < plan_.operands.size(); ++o) copies(plan_.operands[o], tile_[o]);
    text_.close("};");
  }

  void copies(const Plan::Operand& operand, const std::string& tile) {
    const std::string &i = plan_.iterator(operand.side), &k = depth().iterator, &i0 = origin_[operand.side];
    const int lanes = operand.copying_lanes, others = plan_.shape.threads() / lanes;
    const bool down = operand.along_depth;
    text_.open("");
    text_.line("const int {} = {} + threadIdx.x {} {}, {} = {} + threadIdx.x {} {};", i, i0, down ? "/" : "%",
               lanes, k, origin_depth_, down ? "%" : "/", lanes);
    text_.line("const {}* {} = &{};", c_name(operand.shape.type), from_, text(operand.element));
    unroll(y_, plan_.depth, down ? lanes : others);
    unroll(x_, plan_.tile(operand.side), down ? others : lanes);
    text_.line("copy_or_zero(&{}[{}][{} - {} + {}][{} - {} + {}], {} + {} + {},", tile, stage_, k,
               origin_depth_, y_, i, i0, x_, from_, distance(operand, i, x_), distance(operand, k, y_));
    text_.line("             {});", fmt::join(inside(operand), " && "));
    for (int scope = 0; scope < 3; ++scope) text_.close();
  }
  void unroll(const std::string& name, int end, int step) {
    text_.line("#pragma unroll");
    text_.open("for (int {0} = 0; {0} < {1}; {2})", name, end,
               step == 1 ? "++" + name : fmt::format("{} += {}", name, step));
  }

  /// How far `count` iterations of a loop are in memory.
  std::string distance(const Plan::Operand& operand, const std::string& loop,
                       const std::string& count) const {
    Expression total = Expression::integer(0);
    for (std::size_t d = 0; d < operand.element.operands.size(); ++d) {
      const std::optional<AffineIn> subscript = affine_in(operand.element.operands[d], {loop});
      if (!subscript->coefficients.contains(loop)) continue;
      Expression size = Expression::integer(subscript->coefficients.at(loop));
      for (std::size_t e = d + 1; e < operand.shape.extents.size(); ++e)
        size = Expression::binary("*", size, operand.shape.extents[e]);
      total = Expression::binary("+", total, size);
    }
    total = simplified(total);
    if (total == Expression::integer(1)) return count;
    return text(Expression::binary("*", Expression::name("static_cast<std::int64_t>(" + count + ")"), total));
  }

  /// Conditions under which an element is used at all.
  std::vector<std::string> inside(const Plan::Operand& operand) const {
    const std::string& i = plan_.iterator(operand.side);
    const Expression here = Expression::binary("+", Expression::name(i), Expression::name(x_));
    const std::string i_text = text(here), k_text = fmt::format("{} + {}", depth().iterator, y_);
    const auto at_i = [&](const Expression& e) { return text(substitute(e, {{i, here}})); };
    std::vector<std::string> conditions = {
        fmt::format("{} < {}", i_text, text(plus(*plan_.box[operand.side].most, 1)))};
    if (operand.side == plan_.outer_side &&
        plan_.is_triangular()) {  // rows without columns are no part of the loops
      const Node& inner = plan_.loop(1 - operand.side);
      const Bounds trips = bounds_over(trip_count(inner), {{i, plan_.box[operand.side]}});
      const bool never_empty =
          trips.least && trips.least->kind == Expression::Kind::integer && trips.least->value > 0;
      if (!never_empty) conditions.push_back(fmt::format("{} < {}", at_i(inner.first), at_i(end_of(inner))));
    }
    if (depends_on(depth().first, i))
      conditions.push_back(fmt::format("{} >= {}", k_text, at_i(depth().first)));
    conditions.push_back(
        fmt::format("{} < {}", k_text, depends_on(depth().limit, i) ? at_i(end_of(depth())) : end_));
    return conditions;
  }

  // ---- the sum ----

  void loop_over_depth() {
    text_.line("{}(0, {});", load_, first_);
    text_.open("for (int {0} = {1}, {2} = 0; {0} < {3}; {0} += {4}, {2} ^= 1)", origin_depth_, first_, stage_,
               end_, plan_.depth);
    text_.line("wait_for_copies();");
    text_.line("__syncthreads();  // this stage's tiles are whole, and nobody reads the other's any more");
    text_.line("if ({0} + {1} < {2}) {3}({4} ^ 1, {0} + {1});", origin_depth_, plan_.depth, end_, load_,
               stage_);
    unroll(step_, plan_.depth, 1);
    for (std::size_t o = 0; o < plan_.operands.size(); ++o) {
      const Plan::Operand& operand = plan_.operands[o];
      const int count = plan_.thread_part(operand.side);
      text_.line("{} {}[{}];", c_name(operand.shape.type), part_[o], count);
      text_.line("#pragma unroll");
      text_.line("for (int {0} = 0; {0} < {1}; ++{0}) {2}[{0}] = {3}[{4}][{5}][{6}];",
                 operand.side == Plan::rows ? x_ : y_, count, part_[o], tile_[o], stage_, step_,
                 within_tile(operand.side));
    }
    CudaNames in_parts = names_;
    in_parts.instead = [this](const Expression& e) {
      for (std::size_t o = 0; o < plan_.operands.size(); ++o)
        if (plan_.operands[o].element == e)
          return fmt::format("{}[{}]", part_[o], plan_.operands[o].side == Plan::rows ? x_ : y_);
      return std::string();
    };
    unroll(x_, plan_.shape.thread_rows, 1);
    unroll(y_, plan_.shape.thread_columns, 1);
    for (const Node& term : found_.terms)
      text_.line("{} {} {};", sum_element(), term.op, cuda_text(in_parts, term.value));
    for (int scope = 0; scope < 4; ++scope) text_.close();
    if (!found_.outer.empty()) text_.line("__syncthreads();  // before these tiles are loaded again");
  }

  /// For every row and column of the thread that the loops run through.
  template <typename Work>
  void for_each_element(const Work& work) {
    unroll(x_, plan_.shape.thread_rows, 1);
    unroll(y_, plan_.shape.thread_columns, 1);
    std::vector<std::string> conditions;
    for (const int side : {Plan::rows, Plan::columns})
      text_.line("const int {} = {} + {};", plan_.iterator(side), origin_[side], within_tile(side));
    for (const int side : {plan_.outer_side, 1 - plan_.outer_side}) {
      const Node& loop = plan_.loop(side);
      if (depends_on(loop.first, plan_.iterator(1 - side)))
        conditions.push_back(fmt::format("{} >= {}", loop.iterator, text(loop.first)));
      conditions.push_back(fmt::format("{} < {}", loop.iterator, text(end_of(loop))));
    }
    text_.open("if ({})", fmt::join(conditions, " && "));
    for (const Privatised& variable : found_.private_variables)
      text_.line("{} {};", c_name(shape_of(in_memory_, variable.variable).type), own_.at(variable.variable));
    work();
    for (int scope = 0; scope < 3; ++scope) text_.close();
  }

  /// The last iteration's copy is the variable's value afterwards.
  void keep_last(const Privatised& variable) {
    std::vector<std::string> conditions;
    const auto is_last = [&](const Node& loop) {
      if (std::ranges::find(variable.loops, loop.iterator) != variable.loops.end())
        conditions.push_back(fmt::format("{} == {}", loop.iterator, text(plus(end_of(loop), -1))));
    };
    for (const Node& loop : found_.grid) is_last(loop);
    for (const int side : {Plan::rows, Plan::columns}) is_last(plan_.loop(side));
    text_.line("if ({}) {} = {};", fmt::join(conditions, " && "),
               cuda_text(in_memory_, element_of(variable.variable)), own_.at(variable.variable));
  }
  /// The variable as the statements name it.
  Expression element_of(const std::string& variable) const {
    Expression found;
    const auto visit = [&](const auto& self, const Expression& e) -> void {
      const bool names_it = e.kind == Expression::Kind::element || e.kind == Expression::Kind::name;
      if (names_it && e.text == variable) found = e;
      for (const Expression& operand : e.operands) self(self, operand);
    };
    visit(visit, found_.update.target);
    for (const auto* list : {&found_.before, &found_.after})
      for (const Node& statement : *list) visit(visit, statement.target), visit(visit, statement.value);
    return found;
  }

  const Plan& plan_;
  const Contraction& found_;
  CudaNames names_;            ///< private variables are the thread's
  const CudaNames in_memory_;  ///< all variables are in memory
  std::map<std::string, std::string> own_;
  std::array<std::string, 2> origin_, last_;
  std::string origin_depth_, first_depth_, end_depth_, first_, end_;
  std::string row_ = "row", column_ = "column", lane_ = "lane", warp_ = "warp", stage_ = "stage",
              from_ = "from", load_ = "load", sum_ = "sum", x_ = "x", y_ = "y", step_ = "step";
  std::vector<std::string> tile_, part_;  ///< of each operand: its shared tile, the thread's part of a line
  TextWriter text_;
};

}  // namespace

std::string contraction_text(const KernelRequest& request, const ContractionPlan& plan,
                             const std::vector<std::string>& parameters,
                             const std::vector<std::string>& written) {
  return ContractionPrinter(request, plan).print(request.name, parameters, written);
}

}  // namespace warploom::tile
