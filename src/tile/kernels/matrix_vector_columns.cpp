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

/// The box of rows that some column has.
struct RowBox {
  Expression least, end, count;
  std::vector<Expression> guards;  ///< where it depends on the column
};
std::optional<RowBox> row_box(const ThreadLoop& x, const Node& rows) {
  const Expression last = plus(x.end, -1);
  const Bounds bounds = bounds_of(rows, {{x.loop.iterator, {x.least, last}}});
  if (!bounds.least || !bounds.most) return std::nullopt;
  RowBox box{*bounds.least, plus(*bounds.most, 1), {}, {}};
  box.count = difference(box.end, box.least);
  const Expression row = Expression::name(rows.iterator);
  if (depends_on(rows.first, x.loop.iterator))
    box.guards.push_back(Expression::binary(">=", row, rows.first));
  if (depends_on(rows.limit, x.loop.iterator))
    box.guards.push_back(Expression::binary(rows.comparison, row, rows.limit));
  return box;
}

/// How many blocks share the rows, and memory for what they leave.
struct Parts {
  Expression count;
  std::vector<Temporary> memory;
};
/// Nothing where it is not known how much the host's loops ask for at most.
std::optional<Parts> parts_of(const SumRequest& column, const ThreadLoop& x, const RowBox& box,
                              std::int64_t blocks) {
  const KernelRequest& request = column.request;
  const auto count = [&](const Expression& least_blocks_x, const Expression& most_rows) {
    const Expression columns = Expression::call("max", {number(1), least_blocks_x});
    return Expression::call(
        "max", {number(1), Expression::call("min", {Expression::binary("/", number(blocks), columns),
                                                    ceil_quotient(most_rows, kLeastRows)})});
  };
  const auto changes = [&](const Expression& e) {
    return std::ranges::any_of(request.host_loops,
                               [&](const std::string& name) { return depends_on(e, name); });
  };
  const auto host = host_bounds(request);
  const auto most_columns = bounds_over(x.count(), host).most, most_rows = bounds_over(box.count, host).most;
  if (!most_columns || !most_rows || changes(*most_columns) || changes(*most_rows)) return std::nullopt;
  const Expression parts = count(ceil_quotient(x.count(), kColumns), box.count);
  const Expression most_parts = changes(parts) ? count(number(1), *most_rows) : parts;
  return Parts{parts, memory_of_parts(column, most_parts, *most_columns)};
}

/// Whether a sum reads a variable of the thread's own: the second kernel has that, this one has not.
bool reads_private(const SumRequest& column) {
  Node values;
  for (const Sum& sum : column.part.loop.sums) values.children.push_back(add_to(sum, sum.value));
  const auto is_target = [&](const Expression& e) {
    return std::ranges::any_of(column.part.loop.sums, [&](const Sum& sum) { return sum.target == e; });
  };
  const std::vector<Mention> all = mentions({values});
  return std::ranges::any_of(all, [&](const Mention& m) {
    return !m.is_write && !column.copies.instead(m.element).empty() && !is_target(m.element);
  });
}

/// What the kernel does, its sums as elements of the parts.
Node tree_of(const SumRequest& column, const ThreadLoop& x, const Parts& parts) {
  const SumLoop& loop = column.part.loop;
  Node stores;
  for (std::size_t s = 0; s < loop.sums.size(); ++s) {
    Node store = add_to(loop.sums[s], loop.sums[s].value);
    store.op = "=";
    store.target = element_of_part(column, parts.memory[s], x.loop.iterator);
    stores.children.push_back(store);
  }
  return under(loop.loops, stores);
}

std::string text_of(const KernelSignature& signature, const SumRequest& column, const RowBox& box,
                    const Parts& parts) {
  const CudaNames& names = signature.names;
  const SumLoop& loop = column.part.loop;
  const ThreadLoop& x = column.chain.loops.front();
  FreshNames fresh(column.names);
  const SumNames own = name_sums(loop, "_rows", fresh);
  TextWriter writer;
  writer.open(kernel_signature(signature));
  for (std::size_t s = 0; s < loop.sums.size(); ++s)
    writer.line("__shared__ {} {}[{}][{}];", c_name(loop.sums[s].type), own.shared[s], kRows, kColumns);
  writer.line("const int {} = {};", x.loop.iterator,
              first_value(names, x, fmt::format("blockIdx.x * {} + threadIdx.x", kColumns)));
  const RowRange range = write_row_range(writer, names, 'y', box.least, box.end, fresh);
  for (std::size_t s = 0; s < loop.sums.size(); ++s)
    writer.line("{} {} = 0;", c_name(loop.sums[s].type), own.sums[s]);
  const Expression inside = Expression::binary("<", Expression::name(x.loop.iterator), x.end);
  std::vector<Expression> guards = x.guards;
  guards.push_back(inside);
  writer.open("if ({})", cuda_text(names, all_of(guards)));
  if (loop.loops.size() == 1) writer.line("#pragma unroll {}", unroll(loop));
  writer.open("for (int {0} = {1} + threadIdx.y; {0} < {2}; {0} += {3})", loop.loops.front().iterator,
              range.first, range.end, kRows);
  if (!box.guards.empty()) writer.open("if ({})", cuda_text(names, all_of(box.guards)));
  for (std::size_t l = 1; l < loop.loops.size(); ++l) writer.open(loop_header(names, loop.loops[l]));
  for (std::size_t s = 0; s < loop.sums.size(); ++s)
    writer.line("{} += {};", own.sums[s], cuda_text(names, loop.sums[s].value));
  writer.close_to(1);
  meet_in_shared(writer, own, kRows, cuda_text(names, inside));
  for (std::size_t s = 0; s < loop.sums.size(); ++s)
    writer.line("{} = {};", cuda_text(names, element_of_part(column, parts.memory[s], "blockIdx.y")),
                own.sums[s]);
  writer.close_to(0);
  return writer.text();
}

}  // namespace

RowRange write_row_range(TextWriter& writer, const CudaNames& names, char dimension, const Expression& least,
                         const Expression& end, FreshNames& fresh) {
  const std::string per_block = fresh("rows_per_block");
  RowRange range;
  range.first = fresh("first_row");
  range.end = fresh("end_row");
  const Expression blocks = Expression::name(fmt::format("static_cast<int>(gridDim.{})", dimension));
  const Expression rounded =
      Expression::binary("-", Expression::binary("+", difference(end, least), blocks), number(1));
  writer.line("const int {} = {};", per_block, cuda_text(names, Expression::binary("/", rounded, blocks)));
  writer.line("const int {} = {}static_cast<int>(blockIdx.{}) * {};", range.first,
              least == number(0) ? "" : cuda_text(names, least) + " + ", dimension, per_block);
  writer.line("const int {} = min({} + {}, {});", range.end, range.first, per_block, cuda_text(names, end));
  return range;
}

std::optional<KernelGroup> column_sums(const SumRequest& column) {
  const SumLoop& loop = column.part.loop;
  const ThreadLoop& x = column.chain.loops.front();
  const Node& rows = loop.loops.front();
  const auto conditions = runs(column.chain, column.part);
  const std::int64_t multiprocessors = device_rates(column.request.options.architecture).multiprocessors;
  if (!conditions || rows.step != 1 || x.step != 1 || reads_private(column)) return std::nullopt;
  const std::optional<RowBox> box = row_box(x, rows);
  if (!box) return std::nullopt;
  const std::optional<Parts> parts = parts_of(column, x, *box, kBlocksPerMultiprocessor * multiprocessors);
  if (!parts) return std::nullopt;

  CudaNames names = column.names;
  names.temporaries = parts->memory;
  const std::string &i = rows.iterator, &j = x.loop.iterator;
  const Node tree = tree_of(column, x, *parts);
  Kernel kernel;
  kernel.name = column.kernel;
  kernel.pattern = "column reduction";
  kernel.statements = statements_of({tree});
  const KernelParameters parameters = kernel_parameters(column.request, names, {under({x.loop}, tree)},
                                                        {x.least, x.end, box->least, box->end}, {});
  kernel.parameters = parameters.all;
  kernel.grid = {ceil_quotient(x.count(), kColumns), parts->count, number(1)};
  kernel.block = {number(kColumns), number(kRows), number(1)};
  kernel.text = text_of({names, kernel.name, parameters.all, parameters.written, kColumns * kRows, 0}, column,
                        *box, *parts);
  kernel.placements = memory_placements(names, {tree}, j, i, {kColumns, kRows, 1}, {});
  for (const Sum& sum : loop.sums)
    kernel.placements.push_back(
        {sum.target.text, Space::shared,
         fmt::format(
             "the sums of the block's {} rows of threads meet there; a row has a bank for each of {} columns",
             kRows, kColumns),
         static_cast<std::uint64_t>(kRows * kColumns * size_of(sum.type)), 0, 0, 1});
  kernel.reasons = {
      fmt::format("{} along threads: it runs through contiguous memory, {} does not", j, i),
      fmt::format(
          "{} split over blocks, {} for each of {} multiprocessors, and over {} rows of threads: the columns alone are too few threads",
          i, kBlocksPerMultiprocessor, multiprocessors, kRows),
      "partial sums go to memory and are added in a fixed order: results are the same in every run"};
  return KernelGroup{{std::move(kernel), add_parts({column, parts->memory, parts->count, *conditions})},
                     parts->memory};
}

}  // namespace warploom::tile
