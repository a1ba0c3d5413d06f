// Columns: threads along them, rows split over blocks, whose sums a second kernel adds.
#include <fmt/format.h>

#include <algorithm>

#include "tile/c/simplify.hpp"
#include "tile/kernels/access_cost.hpp"
#include "tile/kernels/matrix_vector.hpp"
#include "tile/kernels/pointwise.hpp"
#include "tile/kernels/sequential_code.hpp"

namespace warploom::tile {
namespace {

/// H200, fp32, n x n, GB/s of 4800 with the second kernel: 32 columns x 8 rows of threads a block and eight
/// rows unrolled 4131 at n = 16384, four 4009; four columns a thread 3777.
constexpr int kColumns = 32, kRows = 8, kBlocksPerMultiprocessor = 8;
constexpr std::int64_t kLeastRows = 64;  // of a block

Expression number(std::int64_t value) { return Expression::integer(value); }

/// What is not more than `value` for any values of the host's loops.
std::optional<Expression> most(const Expression& value, const std::map<std::string, Bounds>& host) {
  return bounds_over(value, host).most;
}

}  // namespace

RowRange write_row_range(TextWriter& writer, const CudaNames& names, char dimension, const Expression& least,
                         const Expression& end, const std::function<std::string(const std::string&)>& fresh) {
  const std::string per_block = fresh("rows_per_block");
  const RowRange range{fresh("first_row"), fresh("end_row")};
  const Expression blocks = Expression::name(fmt::format("static_cast<int>(gridDim.{})", dimension));
  const Expression rounded = Expression::binary(
      "-", Expression::binary("+", simplified(Expression::binary("-", end, least)), blocks), number(1));
  writer.line(fmt::format("const int {} = {};", per_block,
                          cuda_text(names, Expression::binary("/", rounded, blocks))));
  writer.line(fmt::format("const int {} = {}static_cast<int>(blockIdx.{}) * {};", range.first,
                          least == number(0) ? "" : cuda_text(names, least) + " + ", dimension, per_block));
  writer.line(fmt::format("const int {} = min({} + {}, {});", range.end, range.first, per_block,
                          cuda_text(names, end)));
  return range;
}

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
  std::vector<std::string> sums, shared;
  for (const Sum& sum : loop.sums) {
    sums.push_back(fresh(sum.target.text + "_sum"));
    shared.push_back(fresh(sum.target.text + "_rows"));
  }
  names.temporaries = group.temporaries = memory_of_parts(column, parts_most, *columns_most);
  const std::string& i = rows.iterator;
  const std::string& j = x.loop.iterator;

  Kernel kernel;
  kernel.name = column.kernel;
  kernel.pattern = "column reduction";
  Node inner;
  for (std::size_t s = 0; s < loop.sums.size(); ++s) {
    Node store = add_to(loop.sums[s], "0");
    store.op = "=";
    store.target = element_of_part(column, group.temporaries[s], j);
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
    const RowRange range = write_row_range(writer, names, 'y', *box.least, row_end, fresh);
    for (std::size_t s = 0; s < sums.size(); ++s)
      writer.line(fmt::format("{} {} = 0;", c_name(loop.sums[s].type), sums[s]));
    std::vector<Expression> guards = x.guards;
    const Expression inside = Expression::binary("<", Expression::name(j), x.end);
    guards.push_back(inside);
    writer.open(fmt::format("if ({})", cuda_text(names, all_of(guards))));
    if (loop.loops.size() == 1) writer.line(fmt::format("#pragma unroll {}", unroll(loop)));
    writer.open(fmt::format("for (int {0} = {1} + threadIdx.y; {0} < {2}; {0} += {3})", i, range.first,
                            range.end, kRows));
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
    meet_in_shared(writer, sums, shared, kRows, cuda_text(names, inside));
    for (std::size_t s = 0; s < sums.size(); ++s)
      writer.line(fmt::format("{} = {};",
                              cuda_text(names, element_of_part(column, group.temporaries[s], "blockIdx.y")),
                              sums[s]));
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

  group.kernels.push_back(add_parts({column, group.temporaries, parts, *conditions}));
  return group;
}

}  // namespace warploom::tile
