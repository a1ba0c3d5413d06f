// Several steps of stencils in one pass over memory.
//
// A block copies a tile of every array to shared memory, with a halo as wide as what the steps of a launch
// reach, and takes these steps there, a barrier after each stage. Elements near the tile's border become
// wrong, one reach more with each stage: they are the halo, which neighbouring blocks compute rightly. What
// is good is stored to copies of the arrays, for other blocks still read the arrays themselves; the next
// launch goes the other way round.
//
// Every iteration of a stage is computed from the same values as in the order of the source, only more than
// once: the trees within a step are parallel, a stage reads elements at constant distances, and what it
// writes only at its own.
#include "tile/kernels/time_tiles.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "tile/c/simplify.hpp"
#include "tile/kernels/pointwise.hpp"

namespace warploom::tile {
namespace {

using Kind = Expression::Kind;

class TimeTileWriter {
 public:
  TimeTileWriter(const KernelRequest& request, const CudaNames& names, const TimeTiles& found)
      : request_(request), names_(names), found_(found), fresh_(names_) {
    for (const std::string& array : found.arrays) tiles_[array] = fresh_(array + "_tile");
    for (const std::string& array : found.written) {
      next_[array] = fresh_(array + "_next");
      names_.temporaries.push_back({next_[array], shape_of(names, array).type, found.extents, {}, true});
    }
    y_ = fresh_("y");
    x_ = fresh_("x");
  }

  KernelGroup group() {
    KernelGroup group;
    group.temporaries = names_.temporaries;
    Kernel there = pass_kernel();
    Kernel back = there;
    back.text.clear();
    back.placements.clear();
    back.reasons = {"the same kernel, from the copies back to the arrays"};
    for (std::string& parameter : back.parameters)
      for (const auto& [array, next] : next_)
        if (parameter == array || parameter == next) {
          parameter = parameter == array ? next : array;
          break;
        }
    group.kernels = {std::move(there), std::move(back), last_kernel()};
    const Expression t = Expression::name(found_.steps.iterator), two = Expression::integer(2),
                     steps = Expression::integer(found_.steps_a_launch);
    const auto is_odd = [&](const Expression& e, std::int64_t odd) {
      return Expression::binary("==", Expression::binary("%", e, two), Expression::integer(odd));
    };
    Node launch;
    launch.kind = Node::Kind::branch;
    launch.condition = is_odd(Expression::binary("/", difference(t, found_.first), steps), 0);
    launch.children = {block_of(launch_of(0)), block_of(launch_of(1))};
    Node loop = found_.steps;
    loop.step = found_.steps_a_launch;
    loop.children = {launch};
    Node last;
    last.kind = Node::Kind::branch;
    last.condition = is_odd(ceil_quotient(difference(found_.end, found_.first), found_.steps_a_launch), 1);
    last.children = {block_of(launch_of(2))};
    group.host.children = {loop, last};
    return group;
  }

 private:
  static Node block_of(Node node) {
    Node block;
    block.children = {std::move(node)};
    return block;
  }
  std::size_t dimensions() const { return found_.tile.size(); }
  std::string extent(std::size_t d) const { return cuda_text(names_, found_.extents[d]); }
  /// "[y][x]"
  std::string place(const std::string& y, const std::string& x) const {
    return dimensions() == 1 ? fmt::format("[{}]", x) : fmt::format("[{}][{}]", y, x);
  }
  Expression element(const std::string& array, const std::vector<std::string>& at) const {
    std::vector<Expression> subscripts;
    for (const std::string& one : at) subscripts.push_back(Expression::name(one));
    return Expression::element(array, subscripts);
  }

  Kernel pass_kernel() {
    Kernel kernel;
    kernel.name = request_.name;
    kernel.pattern = "time tiles";
    kernel.statements = statements_of({request_.tree});
    kernel.grid = kernel.block = {Expression::integer(1), Expression::integer(1), Expression::integer(1)};
    kernel.block[0] = Expression::integer(kThreadsOfTimeTile);
    for (std::size_t d = 0; d < dimensions(); ++d)
      kernel.grid[dimensions() - 1 - d] = ceil_quotient(found_.extents[d], found_.good(d));
    Node tree = found_.steps;  // what a launch runs
    tree.iterator = fresh_("step");
    tree.comparison = "<";
    tree.first = Expression::name(found_.steps.iterator);
    tree.limit = Expression::call("min", {plus(tree.first, found_.steps_a_launch), found_.end});
    tree.children = request_.tree.children;
    kernel.tree = tree;
    KernelRequest inside = request_;
    inside.host_loops.push_back(found_.steps.iterator);
    std::vector<Expression> more = found_.extents;
    more.push_back(found_.end);
    kernel.parameters = kernel_parameters(inside, names_, {tree}, more, {}).all;
    std::vector<std::string> written;
    for (const std::string& array : found_.written) written.push_back(next_.at(array));
    kernel.parameters.insert(kernel.parameters.end(), written.begin(), written.end());
    text_ = {};
    text_.open(kernel_signature({names_, kernel.name, kernel.parameters, written, kThreadsOfTimeTile, 0}));
    write_body(tree);
    text_.close_to(0);
    kernel.text = text_.text();
    describe(kernel);
    return kernel;
  }

  void write_body(const Node& tree) {
    const std::string type(c_name(shape_of(names_, found_.arrays[0]).type));
    for (const std::string& array : found_.arrays)
      text_.line("__shared__ {} {}{};", type, tiles_.at(array),
                 dimensions() == 1 ? fmt::format("[{}]", found_.tile[0])
                                   : fmt::format("[{}][{}]", found_.tile[0], found_.tile[1]));
    for (std::size_t d = 0; d < dimensions(); ++d) {
      base_.push_back(fresh_(fmt::format("first_{}", found_.stages[0].loops[d].loop.iterator)));
      text_.line("const int {} = blockIdx.{} * {} - {};", base_[d], d + 1 == dimensions() ? 'x' : 'y',
                 found_.good(d), found_.halo);
    }
    copy(0, found_.tile, [&](const std::vector<std::string>& at, const std::string& in_tile) {
      std::vector<std::string> inside;
      for (std::size_t d = 0; d < dimensions(); ++d)
        inside.push_back(fmt::format("{0} >= 0 && {0} < {1}", at[d], extent(d)));
      for (const std::string& array : found_.arrays)
        text_.line("{}{} = {} ? {} : {}(0);", tiles_.at(array), in_tile, fmt::join(inside, " && "),
                   cuda_text(names_, element(array, at)), type);
    });
    text_.line("__syncthreads();");
    const std::string &step = tree.iterator, column = fresh_("column"), row = fresh_("row");
    const std::int64_t wide = found_.tile.back() - 2 * found_.ring;
    if (dimensions() == 1)
      text_.line("const int {} = threadIdx.x;", column);
    else
      text_.line("const int {} = threadIdx.x % {}, {} = threadIdx.x / {} * {};", column, wide, row, wide,
                 found_.rows);
    text_.open("for (int {0} = {1}; {0} < {2}; ++{0})", step, cuda_text(names_, tree.first),
               cuda_text(names_, tree.limit));
    for (const StencilStage& stage : found_.stages) {
      write_stage(stage, row, column, type);
      text_.line("__syncthreads();");
    }
    text_.close();
    std::vector<std::int64_t> good;
    for (std::size_t d = 0; d < dimensions(); ++d) good.push_back(found_.good(d));
    copy(found_.halo, good, [&](const std::vector<std::string>& at, const std::string& in_tile) {
      std::vector<std::string> inside;
      for (std::size_t d = 0; d < dimensions(); ++d)
        inside.push_back(fmt::format("{} < {}", at[d], extent(d)));
      text_.open("if ({})", fmt::join(inside, " && "));
      for (const std::string& array : found_.written)
        text_.line("{} = {}{};", cuda_text(names_, element(next_.at(array), at)), tiles_.at(array), in_tile);
      text_.close();
    });
  }

  /// All threads over a part of the tile; `each` is given the element's subscripts and its place in the tile.
  template <typename Each>
  void copy(std::int64_t from, const std::vector<std::int64_t>& extents, const Each& each) {
    std::int64_t count = 1;
    for (const std::int64_t extent : extents) count *= extent;
    text_.open("for (int {0} = threadIdx.x; {0} < {1}; {0} += {2})", at_, count, kThreadsOfTimeTile);
    const std::string start = from == 0 ? "" : fmt::format("{} + ", from);
    if (dimensions() == 1)
      text_.line("const int {} = {}{};", x_, start, at_);
    else
      text_.line("const int {} = {}{} / {}, {} = {}{} % {};", y_, start, at_, extents[1], x_, start, at_,
                 extents[1]);
    std::vector<std::string> names;
    for (std::size_t d = 0; d < dimensions(); ++d) {
      names.push_back(found_.stages[0].loops[d].loop.iterator);
      text_.line("const int {} = {} + {};", names.back(), base_[d], d + 1 == dimensions() ? x_ : y_);
    }
    each(names, place(y_, x_));
    text_.close();
  }

  /// Whole columns of a thread's rows without a condition, so that loads are shared between neighbours; only
  /// the stores ask whether the iteration is there.
  void write_stage(const StencilStage& stage, const std::string& row, const std::string& column,
                   const std::string& type) {
    text_.line("#pragma unroll");
    text_.open("for (int {0} = 0; {0} < {1}; ++{0})", q_, found_.rows);
    if (dimensions() == 1)
      text_.line("const int {} = {} + {} + {} * {};", x_, found_.ring, column, kThreadsOfTimeTile, q_);
    else
      text_.line("const int {} = {} + {} + {}, {} = {} + {};", y_, found_.ring, row, q_, x_, found_.ring,
                 column);
    std::vector<std::string> inside;
    for (std::size_t d = 0; d < dimensions(); ++d) {
      const ThreadLoop& loop = stage.loops[d];
      text_.line("const int {} = {} + {};", loop.loop.iterator, base_[d], d + 1 == dimensions() ? x_ : y_);
      const Expression at = Expression::name(loop.loop.iterator);
      inside.push_back(cuda_text(names_, Expression::binary("&&", Expression::binary(">=", at, loop.least),
                                                            Expression::binary("<", at, loop.end))));
    }
    CudaNames in_tile = names_;
    in_tile.instead = [&](const Expression& e) -> std::string {
      if (e.kind != Kind::element) return "";
      std::vector<std::string> at;
      for (std::size_t d = 0; d < dimensions(); ++d) {
        const std::int64_t apart =
            difference(e.operands[d], Expression::name(stage.loops[d].loop.iterator)).value;
        const std::string& here = d + 1 == dimensions() ? x_ : y_;
        at.push_back(apart == 0 ? here
                                : fmt::format("{} {} {}", here, apart > 0 ? '+' : '-', std::abs(apart)));
      }
      return tiles_.at(e.text) + place(at.front(), at.back());
    };
    for (const Node& statement : stage.statements) {
      const Expression value = statement.op == "=" ? statement.value
                                                   : Expression::binary(statement.op.substr(0, 1),
                                                                        statement.target, statement.value);
      text_.open("");
      text_.line("const {} {} = {};", type, value_, cuda_text(in_tile, value));
      text_.line("if ({}) {}{} = {};", fmt::join(inside, " && "), tiles_.at(statement.target.text),
                 place(y_, x_), value_);
      text_.close();
    }
    text_.close();
  }

  /// After an odd number of launches: what was computed is in the copies.
  Kernel last_kernel() {
    Kernel kernel;
    kernel.name = request_.name + "_back";
    kernel.pattern = "copy back";
    kernel.grid = kernel.block = {Expression::integer(1), Expression::integer(1), Expression::integer(1)};
    kernel.block[0] = Expression::integer(kThreadsOfTimeTile);
    Expression count = Expression::integer(1);
    for (const Expression& extent : found_.extents)
      count = simplified(Expression::binary("*", count, extent));
    kernel.grid[0] = Expression::call(
        "min", {ceil_quotient(found_.extents.back(), kThreadsOfTimeTile), Expression::integer(1 << 20)});
    if (dimensions() == 2)
      kernel.grid[1] = Expression::call("min", {found_.extents[0], Expression::integer(65535)});
    std::vector<std::string> used;
    for (const std::string& array : found_.written) {
      kernel.parameters.insert(kernel.parameters.end(), {array, next_.at(array)});
      used.push_back(array);
    }
    Node none;
    KernelRequest inside = request_;
    for (const std::string& name : kernel_parameters(inside, names_, {none}, found_.extents, {}).all)
      kernel.parameters.push_back(name);
    text_ = {};
    text_.open(kernel_signature({names_, kernel.name, kernel.parameters, used, kThreadsOfTimeTile, 0}));
    std::vector<std::string> at;
    for (std::size_t d = 0; d < dimensions(); ++d) at.push_back(found_.stages[0].loops[d].loop.iterator);
    if (dimensions() == 2)
      text_.open("for (int {0} = blockIdx.y; {0} < {1}; {0} += gridDim.y)", at[0], extent(0));
    text_.open("for (int {0} = blockIdx.x * {1} + threadIdx.x; {0} < {2}; {0} += {1} * gridDim.x)", at.back(),
               kThreadsOfTimeTile, extent(dimensions() - 1));
    for (const std::string& array : found_.written)
      text_.line("{} = {};", cuda_text(names_, element(array, at)),
                 cuda_text(names_, element(next_.at(array), at)));
    text_.close_to(0);
    kernel.text = text_.text();
    kernel.reasons = {"after an odd number of launches what was computed is in the copies"};
    return kernel;
  }

  void describe(Kernel& kernel) const {
    const std::string& t = found_.steps.iterator;
    std::vector<std::int64_t> good;
    double fraction = 1;
    for (std::size_t d = 0; d < dimensions(); ++d) {
      good.push_back(found_.good(d));
      fraction *= static_cast<double>(found_.good(d)) / static_cast<double>(found_.tile[d]);
    }
    kernel.reasons = {
        fmt::format(
            "{} steps of {} a launch, in shared memory: a block copies {} elements of each array, and stores {}",
            found_.steps_a_launch, t, fmt::join(found_.tile, " x "), fmt::join(good, " x ")),
        fmt::format(
            "the {} at each border become wrong meanwhile; neighbouring blocks compute them as well: {:.2g} "
            "times the work, for {:.2g} times the memory traffic",
            found_.halo, 1 / fraction, 1 / fraction / found_.steps_a_launch),
        fmt::format(
            "what is good goes to {}, since other blocks still read {}; the next launch goes the other way",
            fmt::join(next_names(), ", "), fmt::join(found_.written, ", "))};
    const std::vector<Mention> all = mentions(kernel.tree.children);
    for (const std::string& array : found_.arrays) {
      const auto uses = std::ranges::count_if(all, [&](const Mention& m) { return m.element.text == array; });
      Placement placement;
      placement.array = array;
      placement.space = Space::shared;
      placement.bytes = static_cast<std::uint64_t>(found_.elements() * size_of(shape_of(names_, array).type));
      placement.reuse_in_block = static_cast<double>(uses * found_.steps_a_launch) * fraction;
      placement.reason = fmt::format("each element that is copied is used {} times in each of {} steps", uses,
                                     found_.steps_a_launch);
      kernel.placements.push_back(std::move(placement));
    }
  }
  std::vector<std::string> next_names() const {
    std::vector<std::string> names;
    for (const std::string& array : found_.written) names.push_back(next_.at(array));
    return names;
  }

  const KernelRequest& request_;
  CudaNames names_;
  const TimeTiles& found_;
  FreshNames fresh_;
  TextWriter text_;
  std::map<std::string, std::string> tiles_, next_;
  std::vector<std::string> base_;
  std::string x_, y_, at_ = fresh_("at"), q_ = fresh_("q"), value_ = fresh_("value");
};

}  // namespace

std::optional<KernelGroup> time_tiles(const KernelRequest& request) {
  const CudaNames names{request.nest, request.parallel, {}, nullptr};
  const std::optional<TimeTiles> found = match_time_tiles(request, names);
  if (!found) return std::nullopt;
  return TimeTileWriter(request, names, *found).group();
}

}  // namespace warploom::tile
