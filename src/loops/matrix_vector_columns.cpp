// Columns: threads along them, rows split over blocks, whose sums a second kernel adds.
#include <fmt/format.h>

#include <algorithm>

#include "access_cost.hpp"
#include "matrix_vector.hpp"
#include "pointwise.hpp"
#include "sequential_code.hpp"
#include "simplify.hpp"

namespace warploom::loops {
namespace {

/// H200, fp32, n x n, GB/s of 4800 with the second kernel: 32 columns x 8 rows of threads a block and eight
/// rows unrolled 4131 at n = 16384, four 4009; four columns a thread 3777.
constexpr int kColumns = 32, kRows = 8, kBlocksPerMultiprocessor = 8;
constexpr int kCombineThreads = 64;
constexpr std::int64_t kLeastRows = 64;  // of a block

Expression number(std::int64_t value) { return Expression::integer(value); }

/// What is not more than `value` for any values of the host's loops.
std::optional<Expression> most(const Expression& value, const std::map<std::string, Bounds>& host) {
  return bounds_over(value, host).most;
}

}  // namespace

std::optional<KernelGroup> column_sums(const SumRequest& column) {
  const KernelRequest& request = column.request;
  const SumLoop& loop = column.part.loop;
  const ThreadLoop& x = column.chain.loops.front();
  const Node& rows = loop.loops.front();
  const auto conditions = runs(column.chain, column.part);
  if (!conditions || rows.step != 1 || x.step != 1) return std::nullopt;
  const auto is_private = [&](const Mention& m) { return !column.copies.instead(m.element).empty(); };
  Node values;
  for (const Sum& sum : loop.sums) {
    values.children.push_back(add_to(sum, "0"));
    values.children.back().value = sum.value;
  }
  for (const Mention& mention : mentions({values}))
    if (!mention.is_write && is_private(mention) &&
        std::none_of(loop.sums.begin(), loop.sums.end(),
                     [&](const Sum& s) { return s.target == mention.element; }))
      return std::nullopt;  // the second kernel's registers

  // The box of rows; where it depends on the column, a guard.
  const Bounds box =
      bounds_of(rows, {{x.loop.iterator, {x.least, simplified(Expression::binary("-", x.end, number(1)))}}});
  if (!box.least || !box.most) return std::nullopt;
  const Expression row_end = simplified(Expression::binary("+", *box.most, number(1)));
  const Expression row_count = simplified(Expression::binary("-", row_end, *box.least));
  std::vector<Expression> row_guards;
  if (depends_on(rows.first, x.loop.iterator))
    row_guards.push_back(Expression::binary(">=", Expression::name(rows.iterator), rows.first));
  if (depends_on(rows.limit, x.loop.iterator))
    row_guards.push_back(Expression::binary(rows.comparison, Expression::name(rows.iterator), rows.limit));

  const Expression blocks_x = ceil_quotient(x.count(), kColumns);
  const std::int64_t blocks =
      kBlocksPerMultiprocessor * device_rates(request.options.architecture).multiprocessors;
  const auto parts_of = [&](const Expression& least_blocks_x, const Expression& most_rows) {
    const Expression columns = Expression::call("max", {number(1), least_blocks_x});
    return Expression::call(
        "max", {number(1), Expression::call("min", {Expression::binary("/", number(blocks), columns),
                                                    ceil_quotient(most_rows, kLeastRows)})});
  };
  const Expression parts = parts_of(blocks_x, row_count);
  // Memory for what the host's loops ask for at most.
  const auto host = host_bounds(request);
  const auto columns_most = most(x.count(), host), rows_most = most(row_count, host);
  if (!columns_most || !rows_most) return std::nullopt;
  for (const std::string& name : request.host_loops)
    if (depends_on(*columns_most, name) || depends_on(*rows_most, name)) return std::nullopt;
  const bool fixed = std::none_of(request.host_loops.begin(), request.host_loops.end(),
                                  [&](const std::string& name) { return depends_on(parts, name); });
  const Expression parts_most = fixed ? parts : parts_of(number(1), *rows_most);

  CudaNames names = column.names;
  std::set<std::string> taken;
  const auto fresh = [&](const std::string& base) {
    const std::string name = free_name(column.names, base, taken);
    taken.insert(name);
    return name;
  };
  KernelGroup group;
  std::vector<std::string> sums, partials, shared;
  for (const Sum& sum : loop.sums) {
    sums.push_back(fresh(sum.target.text + "_sum"));
    shared.push_back(fresh(sum.target.text + "_rows"));
    partials.push_back(
        free_name(column.names, fmt::format("{}_{}_parts", column.kernel, sum.target.text), taken));
    group.temporaries.push_back({partials.back(), sum.type, {parts_most, *columns_most}, ""});
  }
  names.temporaries = group.temporaries;
  const std::string from = fresh("first_row"), to = fresh("end_row"), per_block = fresh("rows_per_block"),
                    part = fresh("part");
  const std::string& i = rows.iterator;
  const std::string& j = x.loop.iterator;
  const auto element_of_partial = [&](std::size_t s, const std::string& which) {
    const Expression column_index = simplified(Expression::binary("-", Expression::name(j), x.least));
    return Expression::element(partials[s], {Expression::name(which), column_index});
  };

  // The first kernel.
  Kernel kernel;
  kernel.name = column.kernel;
  kernel.pattern = "column reduction";
  Node inner;
  for (std::size_t s = 0; s < loop.sums.size(); ++s) {
    Node store = add_to(loop.sums[s], "0");
    store.op = "=";
    store.target = element_of_partial(s, j);
    store.value = loop.sums[s].value;
    inner.children.push_back(store);
  }
  for (auto l = loop.loops.rbegin(); l != loop.loops.rend(); ++l) {
    Node node = *l;
    node.children = {inner};
    inner = node;
  }
  const auto under_chain = [&](std::vector<Node> nodes) {
    Node node = x.loop;
    node.children = std::move(nodes);
    return node;
  };
  kernel.statements = statements_of({inner});
  KernelParameters parameters =
      kernel_parameters(request, names, {under_chain({inner})}, {x.least, x.end, *box.least, row_end}, {});
  kernel.parameters = parameters.all;
  kernel.grid = {blocks_x, parts, number(1)};
  kernel.block = {number(kColumns), number(kRows), number(1)};
  {
    TextWriter writer;
    writer.open(
        kernel_signature({names, kernel.name, kernel.parameters, parameters.written, kColumns * kRows, 0}));
    for (std::size_t s = 0; s < sums.size(); ++s)
      writer.line(
          fmt::format("__shared__ {} {}[{}][{}];", c_name(loop.sums[s].type), shared[s], kRows, kColumns));
    writer.line(fmt::format("const int {} = {};", j,
                            first_value(names, x, fmt::format("blockIdx.x * {} + threadIdx.x", kColumns))));
    const Expression blocks_y = Expression::name("static_cast<int>(gridDim.y)");
    const Expression rounded =
        Expression::binary("-", Expression::binary("+", row_count, blocks_y), number(1));
    writer.line(fmt::format("const int {} = {};", per_block,
                            cuda_text(names, Expression::binary("/", rounded, blocks_y))));
    const std::string block_start = fmt::format("static_cast<int>(blockIdx.y) * {}", per_block);
    writer.line(fmt::format("const int {} = {}{};", from,
                            *box.least == number(0) ? "" : cuda_text(names, *box.least) + " + ",
                            block_start));
    writer.line(
        fmt::format("const int {} = min({} + {}, {});", to, from, per_block, cuda_text(names, row_end)));
    for (std::size_t s = 0; s < sums.size(); ++s)
      writer.line(fmt::format("{} {} = 0;", c_name(loop.sums[s].type), sums[s]));
    std::vector<Expression> guards = x.guards;
    const Expression inside = Expression::binary("<", Expression::name(j), x.end);
    guards.push_back(inside);
    writer.open(fmt::format("if ({})", cuda_text(names, all_of(guards))));
    if (loop.loops.size() == 1) writer.line(fmt::format("#pragma unroll {}", unroll(loop)));
    writer.open(fmt::format("for (int {0} = {1} + threadIdx.y; {0} < {2}; {0} += {3})", i, from, to, kRows));
    int open = 2;
    if (!row_guards.empty()) {
      writer.open(fmt::format("if ({})", cuda_text(names, all_of(row_guards))));
      ++open;
    }
    for (std::size_t l = 1; l < loop.loops.size(); ++l) {
      writer.open(loop_header(names, loop.loops[l]));
      ++open;
    }
    for (std::size_t s = 0; s < sums.size(); ++s)
      writer.line(fmt::format("{} += {};", sums[s], cuda_text(names, loop.sums[s].value)));
    while (open-- > 0) writer.close();
    for (std::size_t s = 0; s < sums.size(); ++s)
      writer.line(fmt::format("{}[threadIdx.y][threadIdx.x] = {};", shared[s], sums[s]));
    writer.line("__syncthreads();");
    writer.open(fmt::format("if (threadIdx.y == 0 && {})", cuda_text(names, inside)));
    writer.open(fmt::format("for (int row = 1; row < {}; ++row)", kRows));
    for (std::size_t s = 0; s < sums.size(); ++s)
      writer.line(fmt::format("{} += {}[row][threadIdx.x];", sums[s], shared[s]));
    writer.close();
    for (std::size_t s = 0; s < sums.size(); ++s)
      writer.line(fmt::format("{} = {};", cuda_text(names, element_of_partial(s, "blockIdx.y")), sums[s]));
    writer.close();
    writer.close();
    kernel.text = writer.text();
  }
  kernel.placements = memory_placements(names, {inner}, j, i, {kColumns, kRows, 1}, {});
  for (std::size_t s = 0; s < loop.sums.size(); ++s)
    kernel.placements.push_back(
        {loop.sums[s].target.text, Space::shared,
         fmt::format(
             "the sums of the block's {} rows of threads meet there; a row has a bank for each of {} columns",
             kRows, kColumns),
         static_cast<std::uint64_t>(kRows * kColumns * size_of(loop.sums[s].type)), 0, 0, 1});
  kernel.reasons = {
      fmt::format("{} along threads: it runs through contiguous memory, {} does not", j, i),
      fmt::format("{} split over blocks, {} for each of {} multiprocessors, and over {} rows of threads: the "
                  "columns alone are too few threads",
                  i, kBlocksPerMultiprocessor, blocks / kBlocksPerMultiprocessor, kRows),
      "partial sums go to memory and are added in a fixed order: results are the same in every run"};
  group.kernels.push_back(std::move(kernel));

  // The second.
  Kernel combine;
  combine.name = column.kernel + "_combine";
  combine.pattern = "sum of parts";
  const std::vector<Node> last = with_totals(column.part.before, column.part, sums, *conditions);
  combine.statements = statements_of(last);
  std::vector<Node> reads = column.part.before;  // with the partial sums in place of the registers
  for (std::size_t s = 0; s < sums.size(); ++s) {
    reads.push_back(add_to(loop.sums[s], sums[s]));
    reads.back().value = element_of_partial(s, j);
  }
  reads.insert(reads.end(), column.part.after.begin(), column.part.after.end());
  std::vector<Expression> bounds = {x.least, x.end, parts};
  bounds.insert(bounds.end(), conditions->begin(), conditions->end());
  parameters = kernel_parameters(request, names, {under_chain(reads)}, bounds, column.copies);
  combine.parameters = parameters.all;
  combine.grid = {ceil_quotient(x.count(), kCombineThreads), number(1), number(1)};
  combine.block = {number(kCombineThreads), number(1), number(1)};
  {
    names.instead = [&](const Expression& e) -> std::string {
      if (e.kind == Expression::Kind::name && taken.contains(e.text)) return e.text;
      return column.copies.instead(e);
    };
    TextWriter writer;
    writer.open(
        kernel_signature({names, combine.name, combine.parameters, parameters.written, kCombineThreads, 0}));
    writer.line(
        fmt::format("const int {} = {};", j,
                    first_value(names, x, fmt::format("blockIdx.x * {} + threadIdx.x", kCombineThreads))));
    std::vector<Expression> guards = x.guards;
    guards.push_back(Expression::binary("<", Expression::name(j), x.end));
    writer.open(fmt::format("if ({})", cuda_text(names, all_of(guards))));
    writer.line(fmt::format("const int parts = {};  // blocks along y of {}", cuda_text(names, parts),
                            column.kernel));
    for (std::size_t s = 0; s < sums.size(); ++s)
      writer.line(fmt::format("{} {} = 0;", c_name(loop.sums[s].type), sums[s]));
    writer.open(fmt::format("for (int {0} = 0; {0} < parts; ++{0})", part));
    for (std::size_t s = 0; s < sums.size(); ++s)
      writer.line(fmt::format("{} += {};", sums[s], cuda_text(names, element_of_partial(s, part))));
    writer.close();
    declare(writer, column.copies);
    write_statements(writer, names, last);
    writer.close();
    writer.close();
    combine.text = writer.text();
  }
  combine.placements = memory_placements(names, reads, j, "", {kCombineThreads, 1, 1}, column.copies);
  combine.reasons = {fmt::format("a thread for each {}", j)};
  group.kernels.push_back(std::move(combine));
  return group;
}

}  // namespace warploom::loops
