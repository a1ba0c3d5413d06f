// Time tiles whose rows stream through registers.
//
// A warp owns a tile: some rows of 32 times a few columns, less what the steps of a launch reach. It walks
// down the rows once. When a row comes from memory, each statement of each step has what it needs for one
// more row, so many rows further up as statements before it reach down. Of each array, as each step leaves
// it, the few newest rows are in registers, with the columns of the lanes beside, which shuffles bring: no
// barrier.
//
// Tiles that touch what loops leave out, and all in the last launch, are `kCareful`: where a statement does
// not run the element keeps its value, which is in a register as well, so a select takes the place of a
// branch. An array that steps overwrite before they read it is loaded there only, and stored by the last
// launch.
//
// What makes it right is said in shared_time_tiles.cpp.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "tile/c/simplify.hpp"
#include "tile/kernels/pointwise.hpp"
#include "tile/kernels/streamed_plan.hpp"
#include "tile/kernels/time_tiles.hpp"

namespace warploom::tile {
namespace {

using Kind = Expression::Kind;
using Source = StreamedLine::Source;

/// Rows that loads run ahead, and rows of one turn of the loop, so that what is in registers need not move.
constexpr int kAhead = 3;
/// Bands of rows: tiles of 20 rows, or higher ones where 128 bands, or 4096 tiles, are there without.
constexpr int kFewestRows = 20, kBands = 128, kTiles = 4096;

Expression number(std::int64_t value) { return Expression::integer(value); }

/// How tiles lie in the arrays: strips of columns, cut into bands of rows. Careful tiles take longer, so the
/// first and the last band are half as high as the others, and so are all tiles of the first and of the last
/// strip.
struct Geometry {
  Expression strips, halves, bands;

  explicit Geometry(const StreamedTiles& plan) {
    const int halo = (plan.halo_lanes(plan.left) + plan.halo_lanes(plan.right)) * plan.columns;
    strips = Expression::call(
        "max", {number(1), ceil_quotient(plus(plan.found->extents[1], -halo), plan.useful_columns())});
    halves = Expression::call("min", {strips, number(2)});
    const Expression enough =
        Expression::call("max", {number(kBands), Expression::binary("/", number(kTiles), strips)});
    bands = plus(Expression::call("min", {ceil_quotient(plan.found->extents[0], kFewestRows), enough}), 1);
  }
};

class StreamedTileWriter {
 public:
  StreamedTileWriter(const KernelRequest& request, const CudaNames& names, const StreamedTiles& plan)
      : request_(request), names_(names), plan_(plan), found_(*plan.found), geometry_(plan), fresh_(names_) {
    type_ = shape_of(names, found_.arrays[0]).type;
    for (const StreamedLine& line : plan_.lines) {
      kept_.push_back(fresh_(line.array + (is_last(line) ? "_rows" : "_rows_before")));
      if (line.source == Source::none || line.source == Source::border || line.writer < 0) continue;
      next_[line.array] = fresh_(line.array + "_next");
      names_.temporaries.push_back({next_[line.array], type_, found_.extents, {}, true});
    }
    for (const char* name : {"strip", "first_row", "end_row", "first_column", "at", "c", "step", "lane",
                             "row", "value", "stores", "row_runs", "turn"})
      own_[name] = fresh_(name);
  }

  KernelGroup group() {
    Kernel pass = pass_kernel();
    return in_turn(request_, names_, found_, {std::move(pass), plan_.steps, next_});
  }

 private:
  bool is_last(const StreamedLine& line) const { return &plan_.line_of(line.array) == &line; }
  const std::string& own(const std::string& name) const { return own_.at(name); }
  std::string extent(std::size_t d) const { return cuda_text(names_, found_.extents[d]); }
  std::string type() const { return std::string(c_name(type_)); }

  Kernel pass_kernel() {
    Kernel kernel;
    kernel.name = request_.name;
    kernel.pattern = kStreamedTimeTiles;
    kernel.statements = statements_of({request_.tree});
    kernel.grid = kernel.block = {number(1), number(1), number(1)};
    kernel.block[0] = number(32);
    kernel.grid[0] =
        Expression::binary("*", Expression::binary("+", geometry_.strips, geometry_.halves), geometry_.bands);
    kernel.tree = steps_of_launch(request_, found_, plan_.steps, own("step"));
    KernelRequest inside = request_;
    inside.host_loops.push_back(found_.steps.iterator);
    std::vector<Expression> more = found_.extents;
    more.push_back(found_.end);
    kernel.parameters = kernel_parameters(inside, names_, {kernel.tree}, more, {}).all;
    std::vector<std::string> written;
    for (const std::string& array : found_.written)
      written.push_back(next_.contains(array) ? next_.at(array) : array);
    for (const auto& [array, next] : next_) kernel.parameters.push_back(next);
    KernelSignature signature{names_, kernel.name + "_tile", kernel.parameters, written, 0, 0};
    signature.before = "template <bool kCareful>\n__device__ inline void";
    for (const char* name : {"strip", "first_row", "end_row"}) signature.parameters.push_back(own(name));
    text_ = {};
    text_.open(kernel_signature(signature));
    write_tile();
    text_.close_to(0);
    text_.line();
    text_.open(
        kernel_signature({names_, kernel.name, kernel.parameters, written, 32, size_of(type_) > 4 ? 8 : 16}));
    write_choice(kernel);
    text_.close_to(0);
    kernel.text = text_.text();
    describe(kernel);
    return kernel;
  }

  /// Which tile the warp has, and whether it touches what a loop leaves out.
  void write_choice(const Kernel& kernel) {
    const std::string strips = fresh_("strips"), halves = fresh_("halves"), bands = fresh_("bands"),
                      rows = fresh_("rows"), x = fresh_("x"), careful = fresh_("careful");
    const std::string &strip = own("strip"), &first = own("first_row"), &end = own("end_row");
    const auto text = [&](const Expression& e) { return cuda_text(names_, e); };
    text_.line("const int {0} = {1}, {2} = min({0}, 2), {3} = blockIdx.x % ({0} + {2});", strips,
               text(geometry_.strips), halves, x);
    text_.line("const int {0} = {1}, {2} = ({3} + {0} - 2) / ({0} - 1);", bands, text(geometry_.bands), rows,
               extent(0));
    text_.line("const int {0} = {1} < 2 * {2} ? {1} / 2 * ({3} - 1) : {1} - {2} - 1;", strip, x, halves,
               strips);
    text_.line("int {0} = blockIdx.x / ({1} + {2}) * {3} - {3} / 2, {4} = {0} + {3};", first, strips, halves,
               rows, end);
    text_.line("if ({0} < 2 * {1} && {0} % 2 == 0) {2} -= {3} / 2;", x, halves, end, rows);
    text_.line("if ({0} < 2 * {1} && {0} % 2 == 1) {2} += {3} - {3} / 2;", x, halves, first, rows);
    text_.line("{0} = max({0}, 0);", first);
    text_.line("{0} = min({0}, {1});", end, extent(0));
    text_.line("if ({} >= {} || {} <= 0) return;", first, end, extent(1));
    std::vector<std::string> outside = {
        fmt::format("{} + {} >= {}", found_.steps.iterator, plan_.steps, text(found_.end))};
    const std::string column = fmt::format("{} * {}", strip, plan_.useful_columns());
    const auto add = [&](std::string condition) {
      if (std::ranges::find(outside, condition) == outside.end()) outside.push_back(std::move(condition));
    };
    for (const StencilStage& stage : found_.stages)
      for (int d = 0; d < 2; ++d) {
        const std::string from = d == 0 ? fmt::format("{} - {}", first, plan_.steps * plan_.up) : column,
                          to = d == 0 ? fmt::format("{} + {}", end, plan_.steps * plan_.down)
                                      : fmt::format("{} + {}", column, 32 * plan_.columns),
                          least = text(stage.loops[d].least), limit = text(stage.loops[d].end);
        if (stage.line == d) add(fmt::format("({} < {} && {} > {})", from, limit, to, least));
        if (stage.line >= 0) continue;
        add(fmt::format("{} < {}", from, least));
        add(fmt::format("{} > {}", to, limit));
      }
    text_.line("const bool {} = {};", careful, fmt::join(outside, " || "));
    std::vector<std::string> arguments = kernel.parameters;
    arguments.insert(arguments.end(), {strip, first, end});
    text_.line("if ({})", careful);
    text_.line("  {}_tile<true>({});", kernel.name, fmt::join(arguments, ", "));
    text_.line("else");
    text_.line("  {}_tile<false>({});", kernel.name, fmt::join(arguments, ", "));
  }

  void write_tile() {
    text_.line("constexpr int kSteps = {}, kColumns = {};", plan_.steps, plan_.columns);
    text_.line("const int {} = threadIdx.x % 32, {} = {} * {} + {} * kColumns;", own("lane"),
               own("first_column"), own("strip"), plan_.useful_columns(), own("lane"));
    for (std::size_t l = 0; l < plan_.lines.size(); ++l) {
      const StreamedLine& line = plan_.lines[l];
      const bool still = line.writer < 0;
      const std::string rows = still && plan_.lag > 0
                                   ? fmt::format("{} + (kSteps - 1) * {}", line.rows, plan_.lag)
                                   : fmt::to_string(line.rows);
      const std::string beside =
          line.left + line.right > 0 ? fmt::format(" + {}", line.left + line.right) : "";
      text_.line("{} {}{}[{}][kColumns{}] = {{}};", type(), kept_[l], still ? "" : "[kSteps + 1]", rows,
                 beside);
    }
    write_columns();
    for (std::size_t l = 0; l < plan_.lines.size(); ++l) write_load(l);
    const int most_ahead = ahead(true), ahead_inside = ahead(false);
    const std::string above =
        fmt::format("{}", most_ahead == ahead_inside
                              ? fmt::to_string(plan_.steps * plan_.up + most_ahead)
                              : fmt::format("(kCareful ? {} : {})", plan_.steps * plan_.up + most_ahead,
                                            plan_.steps * plan_.up + ahead_inside));
    const std::string start = fresh_("start");
    text_.line("const int {} = max({} - {}, {});", start, own("first_row"), above, -most_ahead);
    for (std::size_t l = 0; l < plan_.lines.size(); ++l) write_first_loads(l, start);
    text_.open("for (int {0} = {1}; {0} < {2} + {3}; {0} += {4})", own("turn"), start, own("end_row"),
               plan_.steps * plan_.lag, kAhead);
    text_.line("#pragma unroll");
    text_.open("for (int {0} = {1}; {0} < {1} + {2}; ++{0})", own("at"), own("turn"), kAhead);
    for (std::size_t l = 0; l < plan_.lines.size(); ++l) write_new_row(l);
    text_.line("#pragma unroll");
    text_.open("for (int {0} = 0; {0} < kSteps; ++{0})", own("step"));
    for (std::size_t s = 0; s < plan_.statements.size(); ++s) write_statement(static_cast<int>(s));
    text_.close();
    for (const StreamedLine& line : plan_.lines)
      if (line.writer >= 0 && is_last(line)) write_store(line);
    for (std::size_t l = 0; l < plan_.lines.size(); ++l) {
      const StreamedLine& line = plan_.lines[l];
      if (line.writer < 0) {
        if (line.rows > 1 || plan_.lag > 0) text_.line("grow_older({});", kept_[l]);
        continue;
      }
      if (line.rows == 1) continue;
      text_.line("#pragma unroll");
      text_.line("for (int {0} = 0; {0} <= kSteps; ++{0}) grow_older({1}[{0}]);", own("step"), kept_[l]);
    }
    text_.close();
    text_.close();
  }

  /// Whether a lane's columns are good at the end, and in which columns stages run.
  void write_columns() {
    const int left = plan_.halo_lanes(plan_.left), right = plan_.halo_lanes(plan_.right);
    text_.line("const bool {0} = ({1} >= {2} || {3} == 0) && ({1} < {4} || {3} + 1 == {5});", own("stores"),
               own("lane"), left, own("strip"), 32 - right, cuda_text(names_, geometry_.strips));
    for (const StencilStage& stage : found_.stages) {
      const std::string condition = runs(stage.loops[1]);
      if (!column_runs_.contains(condition)) {
        const std::string name = column_runs_[condition] = fresh_("column_runs");
        text_.line("bool {}[kColumns];", name);
        text_.line("#pragma unroll");
        text_.open("for (int {0} = 0; {0} < kColumns; ++{0})", own("c"));
        text_.line("const int {} = {} + {};", stage.loops[1].loop.iterator, own("first_column"), own("c"));
        text_.line("{}[{}] = {};", name, own("c"), condition);
        text_.close();
      }
    }
  }
  std::string column_runs(const StencilStage& stage) const {
    return fmt::format("{}[{}]", column_runs_.at(runs(stage.loops[1])), own("c"));
  }

  /// Of arrays that are loaded, the most rows that one is before the others.
  int ahead(bool careful) const {
    int most = 0;
    for (const StreamedLine& line : plan_.lines)
      if (line.source == Source::memory || (careful && line.source == Source::border))
        most = std::max(most, line.ahead);
    return most;
  }

  std::string loader(std::size_t l) const { return "load_" + kept_[l]; }
  std::string coming(std::size_t l) const { return kept_[l] + "_to_come"; }

  /// A function that loads a lane's columns of a row. Beyond the array it is any element, for nobody reads
  /// it.
  void write_load(std::size_t l) {
    const StreamedLine& line = plan_.lines[l];
    if (line.source == Source::none) return;
    const StencilStage& stage = line.writer < 0 ? found_.stages[0] : *plan_.statements[line.writer].stage;
    const std::string &i = stage.loops[0].loop.iterator, &j = stage.loops[1].loop.iterator, &c = own("c");
    const std::string element =
        cuda_text(names_, Expression::element(line.array, {Expression::name(i), Expression::name(j)}));
    text_.open("const auto {} = [&](int {}, {} (&{})[kColumns])", loader(l), i, type(), own("row"));
    text_.line("{0} = min(max({0}, 0), {1} - 1);", i, extent(0));
    if (line.source == Source::border)
      text_.line("const bool {} = {};", own("row_runs"), runs(stage.loops[0]));
    text_.line("#pragma unroll");
    text_.open("for (int {0} = 0; {0} < kColumns; ++{0})", c);
    text_.line("const int {0} = kCareful ? min({1} + {2}, {3} - 1) : {1} + {2};", j, own("first_column"), c,
               extent(1));
    if (line.source == Source::border)
      text_.line("if (!({} && {})) {}[{}] = {};", own("row_runs"), runs(stage.loops[1]), own("row"), c,
                 element);
    else
      text_.line("{}[{}] = {};", own("row"), c, element);
    text_.close();
    text_.close("};");
  }

  void write_first_loads(std::size_t l, const std::string& start) {
    const StreamedLine& line = plan_.lines[l];
    if (line.source == Source::none) return;
    text_.line("{} {}[{}][kColumns] = {{}};", type(), coming(l), kAhead);
    if (line.source == Source::border) text_.open("if (kCareful)");
    for (int k = 0; k < kAhead; ++k)
      text_.line("{}({}, {}[{}]);", loader(l), shifted(start, line.ahead + k), coming(l), k);
    if (line.source == Source::border) text_.close();
  }

  static std::string shifted(const std::string& name, int by) {
    return by == 0 ? name : fmt::format("{} {} {}", name, by > 0 ? '+' : '-', std::abs(by));
  }

  /// The row that steps begin with.
  void write_new_row(std::size_t l) {
    const StreamedLine& line = plan_.lines[l];
    if (line.source == Source::none) return;
    const std::string& c = own("c");
    const std::string row = kept_[l] + (line.writer < 0 ? "[0]" : "[0][0]");
    if (line.source == Source::border) text_.open("if (kCareful)");
    text_.line("#pragma unroll");
    text_.open("for (int {0} = 0; {0} < kColumns; ++{0})", c);
    text_.line("{}[{}] = {}[0][{}];", row, shifted(c, line.left), coming(l), c);
    for (int k = 1; k < kAhead; ++k) text_.line("{0}[{1}][{2}] = {0}[{3}][{2}];", coming(l), k - 1, c, k);
    text_.close();
    text_.line("{}({}, {}[{}]);", loader(l), shifted(own("at"), line.ahead + kAhead), coming(l), kAhead - 1);
    write_beside(line, row);
    if (line.source == Source::border) text_.close();
  }

  void write_beside(const StreamedLine& line, const std::string& row) {
    if (line.left + line.right > 0) text_.line("take_from_beside<{}, {}>({});", line.left, line.right, row);
  }

  /// Whether an iterator's value is one of the loop's.
  std::string runs(const ThreadLoop& loop) const {
    const Expression at = Expression::name(loop.loop.iterator);
    return cuda_text(names_, Expression::binary("&&", Expression::binary(">=", at, loop.least),
                                                Expression::binary("<", at, loop.end)));
  }

  /// The value that a statement leaves. If it is a product it is rounded here: else a compiler may make one
  /// operation of it and of the sum of the next stage, which gives other values than memory between them.
  Expression stored(Expression value) const {
    if (value.kind == Kind::conditional)
      for (std::size_t k : {1, 2}) value.operands[k] = stored(std::move(value.operands[k]));
    else if (value.kind == Kind::unary)
      value.operands[0] = stored(std::move(value.operands[0]));
    else if (value.kind == Kind::binary && value.text == "*" && type_of(names_, value) == type_ &&
             type_ != ScalarType::int32)
      return Expression::call(type_ == ScalarType::float32 ? "__fmul_rn" : "__dmul_rn",
                              std::move(value.operands));
    return value;
  }

  /// So many rows more than the steps before reach: "2 * step + 1".
  std::string rows_of_steps(int more) const {
    const Expression rows = Expression::binary("*", number(plan_.lag), Expression::name(own("step")));
    return to_text(plus(rows, more));
  }

  /// A row that a statement reads: "A_rows[step][1]".
  std::string row_text(const StreamedRow& row) const {
    const std::string& step = own("step");
    if (plan_.lines[row.line].writer < 0)
      return fmt::format("{}[{}]", kept_[row.line], rows_of_steps(row.age));
    return fmt::format("{}[{}][{}]", kept_[row.line], row.this_step ? step + " + 1" : step, row.age);
  }

  void write_statement(int s) {
    const StreamedStatement& statement = plan_.statements[s];
    const StencilStage& stage = *statement.stage;
    const Node& assignment = *statement.assignment;
    const StreamedLine& line = plan_.lines[statement.line];
    const std::string &i = stage.loops[0].loop.iterator, &j = stage.loops[1].loop.iterator, &c = own("c"),
                      &step = own("step");
    CudaNames in_rows = names_;
    in_rows.instead = [&](const Expression& e) -> std::string {
      if (e == Expression::name(found_.steps.iterator)) return fmt::format("({} + {})", e.text, step);
      if (e.kind != Kind::element || !is_neighbour(e, stage)) return "";
      const auto [down, right] = apart(e, stage);
      const StreamedRow row = plan_.row(e.text, s, down);
      return fmt::format("{}[{}]", row_text(row), shifted(c, plan_.lines[row.line].left + right));
    };
    const Expression value =
        stored(assignment.op == "="
                   ? assignment.value
                   : Expression::binary(assignment.op.substr(0, 1), assignment.target, assignment.value));

    const std::string row = fmt::format("{}[{} + 1][0]", kept_[statement.line], step);
    const std::string &result = own("value"), &row_runs = own("row_runs");
    text_.open("");
    text_.line("[[maybe_unused]] const int {} = {} - ({});", i, own("at"), rows_of_steps(statement.lag));
    text_.line("const bool {} = {} && {} + {} < {};", row_runs, runs(stage.loops[0]), found_.steps.iterator,
               step, cuda_text(names_, found_.end));
    text_.line("#pragma unroll");
    text_.open("for (int {0} = 0; {0} < kColumns; ++{0})", c);
    text_.line("[[maybe_unused]] const int {} = {} + {};", j, own("first_column"), c);
    // What all iterations read is there only if one of them runs.
    const bool eager = std::ranges::all_of(mentions({assignment}), [&](const Mention& m) {
      return m.element.kind != Kind::element || is_neighbour(m.element, stage);
    });
    if (eager) text_.line("const {} {} = {};", type(), result, cuda_text(in_rows, value));
    // Tiles that are not careful have all of a stage, or nothing of a row or column.
    text_.line("{}[{}] = {} ({} && {}) ? {} : {};", row, shifted(c, line.left),
               stage.line < 0 ? "!kCareful ||" : "kCareful &&", row_runs, column_runs(stage),
               eager ? result : fmt::format("{}({})", type(), cuda_text(in_rows, value)),
               cuda_text(in_rows, assignment.target));
    text_.close();
    if (line.left + line.right > 0) {
      if (line.within_step)
        write_beside(line, row);
      else {
        text_.line("if ({} + 1 < kSteps)", step);
        text_.line("  take_from_beside<{}, {}>({});", line.left, line.right, row);
      }
    }
    text_.close();
  }

  void write_store(const StreamedLine& line) {
    const StreamedStatement& writer = plan_.statements[line.writer];
    const StencilStage& stage = *writer.stage;
    const std::string &i = stage.loops[0].loop.iterator, &j = stage.loops[1].loop.iterator, &c = own("c");
    const bool in_place = line.source == Source::border;
    text_.open("");
    text_.line("const int {} = {};", i, shifted(own("at"), -((plan_.steps - 1) * plan_.lag + writer.lag)));
    const std::string good =
        fmt::format("{0} && {1} >= {2} && {1} < {3}", own("stores"), i, own("first_row"), own("end_row"));
    if (in_place)
      text_.open("if (kCareful && {} + kSteps >= {} && {} && {})", found_.steps.iterator,
                 cuda_text(names_, found_.end), runs(stage.loops[0]), good);
    else
      text_.open("if ({})", good);
    text_.line("#pragma unroll");
    text_.open("for (int {0} = 0; {0} < kColumns; ++{0})", c);
    text_.line("const int {} = {} + {};", j, own("first_column"), c);
    const std::string to = in_place ? line.array : next_.at(line.array);
    text_.line("if ({}) {} = {}[kSteps][0][{}];",
               in_place ? column_runs(stage) : fmt::format("!kCareful || {} < {}", j, extent(1)),
               cuda_text(names_, Expression::element(to, {Expression::name(i), Expression::name(j)})),
               kept_[static_cast<std::size_t>(&line - plan_.lines.data())], shifted(c, line.left));
    text_.close();
    text_.close();
    text_.close();
  }

  void describe(Kernel& kernel) const {
    const std::string& t = found_.steps.iterator;
    std::vector<std::string> next, overwritten;
    for (const StreamedLine& line : plan_.lines) {
      if (line.source == Source::border) overwritten.push_back(line.array);
      if (next_.contains(line.array) && is_last(line)) next.push_back(line.array);
    }
    const double wide = 32. * plan_.columns / plan_.useful_columns();
    kernel.reasons = {
        fmt::format(
            "{} steps of {} a launch, in registers: a warp walks down a strip of {} columns, {} a lane, and "
            "{} rows behind a row that it loads the row leaves that the last step makes",
            plan_.steps, t, 32 * plan_.columns, plan_.columns, plan_.steps * plan_.lag),
        fmt::format(
            "columns of neighbours come from the lanes beside, without a barrier; {} of the columns and the "
            "rows above and below a tile are computed by several warps: {:.2g} times the work and more, for "
            "{:.2g} times the memory traffic",
            32 * plan_.columns - plan_.useful_columns(), wide, wide / plan_.steps),
        "what the loops leave out keeps its value by a select; tiles that touch it are apart, those at the sides "
        "half as high",
        fmt::format(
            "what is good goes to copies of {}, since other warps still read them; the next launch goes the "
            "other way",
            fmt::join(next, ", "))};
    if (!overwritten.empty())
      kernel.reasons.push_back(
          fmt::format("steps overwrite {} before they read it: only the last launch stores it",
                      fmt::join(overwritten, ", ")));
    const std::vector<Mention> all = mentions(kernel.tree.children);
    for (const std::string& array : found_.arrays) {
      const auto uses = std::ranges::count_if(all, [&](const Mention& m) { return m.element.text == array; });
      Placement placement;
      placement.array = array;
      placement.space = Space::registers;
      placement.bytes = static_cast<std::uint64_t>(size_of(type_) * plan_.elements) / found_.arrays.size();
      placement.reason = fmt::format(
          "rows stay until the last statement has read them: each element is used {} times "
          "in each of {} steps",
          uses, plan_.steps);
      kernel.placements.push_back(std::move(placement));
    }
  }

  const KernelRequest& request_;
  CudaNames names_;
  const StreamedTiles& plan_;
  const StencilSteps& found_;
  const Geometry geometry_;
  FreshNames fresh_;
  TextWriter text_;
  ScalarType type_ = ScalarType::float32;
  std::vector<std::string> kept_;  ///< of lines
  std::map<std::string, std::string> next_, own_, column_runs_;
};

}  // namespace

std::optional<KernelGroup> streamed_time_tiles(const KernelRequest& request, const StencilSteps& found) {
  const CudaNames names{request.nest, request.parallel, {}, nullptr};
  const std::optional<StreamedTiles> plan = plan_streamed_tiles(names, found);
  if (!plan) return std::nullopt;
  return StreamedTileWriter(request, names, *plan).group();
}

}  // namespace warploom::tile
