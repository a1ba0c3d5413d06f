// Time tiles in shared memory.
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
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "tile/c/simplify.hpp"
#include "tile/kernels/pointwise.hpp"
#include "tile/kernels/time_tiles.hpp"

namespace warploom::tile {
namespace {

using Kind = Expression::Kind;

constexpr int kThreads = 256;

struct SharedTiles : StencilSteps {
  int steps_a_launch = 0;
  std::vector<std::int64_t> tile;  ///< elements of a tile along each subscript, halo included
  std::int64_t ring = 0;           ///< of elements around it that are read only
  std::int64_t halo = 0;           ///< of elements at each side that are wrong after so many steps
  int rows = 0;                    ///< neighbouring ones, or in one dimension elements, of a thread

  std::int64_t good(std::size_t dimension) const { return tile[dimension] - 2 * halo; }
  std::int64_t elements() const { return tile.size() == 1 ? tile[0] : tile[0] * tile[1]; }

  /// As many steps as leave at least half of a tile good, in shared memory that a kernel has without asking.
  bool choose(int element_bytes) {
    std::int64_t step = 0;
    for (const StencilStage& stage : stages) {
      const std::int64_t reach = *std::ranges::max_element(stage.reach);
      step += reach;
      ring = std::max(ring, reach);
    }
    if (step == 0) return false;
    const std::int64_t bytes = static_cast<std::int64_t>(arrays.size()) * element_bytes;
    const bool flat = extents.size() == 1;
    std::vector<std::vector<std::int64_t>> shapes = {{64, 64}, {48, 64}, {32, 64}, {32, 32}};
    if (flat) shapes = {{1024}, {512}};
    for (const std::vector<std::int64_t>& updated : shapes) {
      tile = updated;
      for (std::int64_t& extent : tile) extent += 2 * ring;
      if (elements() * bytes > kSharedBytes) continue;
      for (steps_a_launch = flat ? 32 : 8; steps_a_launch > 0; --steps_a_launch) {
        halo = steps_a_launch * step;
        std::int64_t all_good = 1;
        for (std::size_t d = 0; d < tile.size(); ++d) all_good *= std::max<std::int64_t>(0, good(d));
        if (2 * all_good >= elements()) break;
      }
      rows = static_cast<int>(flat ? updated[0] / kThreads : updated[0] * updated[1] / kThreads);
      return steps_a_launch * static_cast<int>(stages.size()) > 1;
    }
    return false;
  }
};

class SharedTileWriter {
 public:
  SharedTileWriter(const KernelRequest& request, const CudaNames& names, const SharedTiles& found)
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
    Kernel pass = pass_kernel();
    return in_turn(request_, names_, found_, {std::move(pass), found_.steps_a_launch, next_});
  }

 private:
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
    kernel.pattern = kSharedTimeTiles;
    kernel.statements = statements_of({request_.tree});
    kernel.grid = kernel.block = {Expression::integer(1), Expression::integer(1), Expression::integer(1)};
    kernel.block[0] = Expression::integer(kThreads);
    for (std::size_t d = 0; d < dimensions(); ++d)
      kernel.grid[dimensions() - 1 - d] = ceil_quotient(found_.extents[d], found_.good(d));
    const Node tree = steps_of_launch(request_, found_, found_.steps_a_launch, fresh_("step"));
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
    text_.open(kernel_signature({names_, kernel.name, kernel.parameters, written, kThreads, 0}));
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
    text_.open("for (int {0} = threadIdx.x; {0} < {1}; {0} += {2})", at_, count, kThreads);
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
      text_.line("const int {} = {} + {} + {} * {};", x_, found_.ring, column, kThreads, q_);
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
  const SharedTiles& found_;
  FreshNames fresh_;
  TextWriter text_;
  std::map<std::string, std::string> tiles_, next_;
  std::vector<std::string> base_;
  std::string x_, y_, at_ = fresh_("at"), q_ = fresh_("q"), value_ = fresh_("value");
};

}  // namespace

std::optional<KernelGroup> shared_time_tiles(const KernelRequest& request, const StencilSteps& found) {
  if (!found.only_neighbours) return std::nullopt;
  const CudaNames names{request.nest, request.parallel, {}, nullptr};
  SharedTiles tiles{found, 0, {}, 0, 0, 0};
  if (!tiles.choose(size_of(shape_of(names, found.arrays[0]).type))) return std::nullopt;
  return SharedTileWriter(request, names, tiles).group();
}

}  // namespace warploom::tile
