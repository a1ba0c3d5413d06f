// Rows: a block for each iteration of the parallel loops.
#include <fmt/format.h>

#include <algorithm>

#include "tile/c/simplify.hpp"
#include "tile/kernels/matrix_vector.hpp"
#include "tile/kernels/pointwise.hpp"
#include "tile/kernels/sequential_code.hpp"

namespace warploom::tile {
namespace {

/// H200, one matrix of fp32, n x n, GB/s of 4800: 256 threads a row and eight loads unrolled 4445 at n =
/// 16384, 1076 at 1000; a warp a row 4230 and 914; 128 threads 4347 and 962. Loads of 16 bytes give no more
/// (4337, 1101), and need aligned rows.
constexpr int kThreads = 256;
constexpr std::int64_t kMostBlocks = 65535;  // along y and z

}  // namespace

std::optional<KernelGroup> row_sums(const SumRequest& row, std::size_t lane) {
  const KernelRequest& request = row.request;
  const SumLoop& loop = row.part.loop;
  const auto conditions = runs(row.chain, row.part);
  if (!conditions) return std::nullopt;
  CudaNames names = row.names;
  names.instead = [&](const Expression& e) { return row.copies.instead(e); };

  // What a private variable holds before the loop is the same in all threads; memory is the first thread's.
  std::vector<Node> everyone, first_thread;
  for (const Node& node : row.part.before)
    (row.copies.instead(node.target).empty() ? first_thread : everyone).push_back(node);
  for (const Mention& mention : mentions(everyone))
    for (const Node& node : first_thread)
      if (mention.element.text == node.target.text) return std::nullopt;

  std::set<std::string> taken;
  const auto fresh = [&](const std::string& base) {
    const std::string name = free_name(names, base, taken);
    taken.insert(name);
    return name;
  };
  std::vector<std::string> sums, parts;
  for (const Sum& sum : loop.sums) {
    sums.push_back(fresh(sum.target.text + "_sum"));
    parts.push_back(fresh(sum.target.text + "_parts"));
  }

  Kernel kernel;
  kernel.name = row.kernel;
  kernel.pattern = "row reduction";
  const auto one = Expression::integer(1);
  kernel.grid = {one, one, one};
  kernel.block = {Expression::integer(kThreads), one, one};
  Node tree;  // all that the kernel does, for its parameters
  tree.children = row.part.before;
  Node inner;
  for (const Sum& sum : loop.sums) inner.children.push_back(add_to(sum, "0"));
  for (std::size_t s = 0; s < loop.sums.size(); ++s) inner.children[s].value = loop.sums[s].value;
  for (auto l = loop.loops.rbegin(); l != loop.loops.rend(); ++l) {
    Node node = *l;
    node.children = {inner};
    inner = node;
  }
  tree.children.push_back(inner);
  tree.children.insert(tree.children.end(), row.part.after.begin(), row.part.after.end());
  kernel.statements = statements_of({tree});
  std::vector<Expression> bounds;
  Node whole = tree;
  for (auto l = row.chain.loops.rbegin(); l != row.chain.loops.rend(); ++l) {
    bounds.insert(bounds.end(), {l->least, l->end});
    Node node = l->loop;
    node.children = {whole};
    whole = node;
  }
  const KernelParameters parameters = kernel_parameters(request, names, {whole}, bounds, row.copies);
  kernel.parameters = parameters.all;

  TextWriter writer;
  writer.open(kernel_signature({names, kernel.name, kernel.parameters, parameters.written, kThreads, 0}));
  for (std::size_t s = 0; s < sums.size(); ++s)
    writer.line(fmt::format("__shared__ {} {}[{}];", c_name(loop.sums[s].type), parts[s], kThreads / 32));
  // The outermost loop along x, which alone may have more than 65535 blocks.
  std::vector<Expression> guards;
  int open = 0;
  for (std::size_t l = 0; l < row.chain.loops.size(); ++l) {
    const ThreadLoop& thread_loop = row.chain.loops[l];
    const char dimension = static_cast<char>('x' + static_cast<int>(l));
    const std::string& iterator = thread_loop.loop.iterator;
    const Expression count = thread_loop.count();
    const std::string first = first_value(names, thread_loop, fmt::format("blockIdx.{}", dimension));
    guards.insert(guards.end(), thread_loop.guards.begin(), thread_loop.guards.end());
    if (l == 0) {
      kernel.grid[0] = count;
      writer.line(fmt::format("const int {} = {};", iterator, first));
      continue;
    }
    kernel.grid[l] = Expression::call("min", {count, Expression::integer(kMostBlocks)});
    writer.open(
        fmt::format("for (int {0} = {1}; {2}; {0} += {3}gridDim.{4})", iterator, first,
                    cuda_text(names, Expression::binary("<", Expression::name(iterator), thread_loop.end)),
                    thread_loop.step == 1 ? "" : fmt::format("{} * ", thread_loop.step), dimension));
    ++open;
  }
  if (!guards.empty()) {  // the same for all threads of the block: barriers within are met by all
    writer.open(fmt::format("if ({})", cuda_text(names, all_of(guards))));
    ++open;
  }
  declare(writer, row.copies);
  write_statements(writer, names, everyone);
  for (std::size_t s = 0; s < sums.size(); ++s)
    writer.line(fmt::format("{} {} = 0;", c_name(loop.sums[s].type), sums[s]));
  for (std::size_t l = 0; l < loop.loops.size(); ++l) {
    const Node& node = loop.loops[l];
    if (l + 1 == loop.loops.size()) writer.line(fmt::format("#pragma unroll {}", unroll(loop)));
    if (l != lane) {
      writer.open(loop_header(names, node));
      continue;
    }
    Node spread = node;
    const std::int64_t step = node.step < 0 ? -node.step : node.step;
    const std::string offset = step == 1 ? "threadIdx.x" : fmt::format("{} * threadIdx.x", step);
    const Expression start =
        node.first == Expression::integer(0) && node.step > 0
            ? Expression::name(offset)
            : Expression::binary(
                  node.step > 0 ? "+" : "-", cuda_expression(names, node.first),
                  Expression::name(offset == "threadIdx.x" ? "(int)threadIdx.x"
                                                           : fmt::format("{} * (int)threadIdx.x", step)));
    spread.first = start;
    spread.step = node.step * kThreads;
    spread.limit = cuda_expression(names, node.limit);
    CudaNames verbatim = names;
    verbatim.instead = [](const Expression& e) { return e.kind == Expression::Kind::name ? e.text : ""; };
    writer.open(loop_header(verbatim, spread));
  }
  for (std::size_t s = 0; s < sums.size(); ++s)
    writer.line(fmt::format("{} += {};", sums[s], cuda_text(names, loop.sums[s].value)));
  for (std::size_t l = 0; l < loop.loops.size(); ++l) writer.close();
  for (std::size_t s = 0; s < sums.size(); ++s)
    writer.line(fmt::format("{0} = block_sum({0}, {1});", sums[s], parts[s]));
  const std::vector<Node> last = with_totals(first_thread, row.part, sums, *conditions);
  CudaNames verbatim = names;
  verbatim.instead = [&](const Expression& e) -> std::string {
    if (e.kind == Expression::Kind::name && std::find(sums.begin(), sums.end(), e.text) != sums.end())
      return e.text;
    return row.copies.instead(e);
  };
  if (last.size() == 1 && conditions->empty()) {
    writer.line(
        fmt::format("if (threadIdx.x == 0) {} += {};", cuda_text(names, loop.sums[0].target), sums[0]));
  } else {
    writer.open("if (threadIdx.x == 0)");
    write_statements(writer, verbatim, last);
    writer.close();
  }
  if (row.chain.loops.size() > 1) writer.line("__syncthreads();  // before the shared parts are used again");
  while (open-- > 0) writer.close();
  writer.close();
  kernel.text = writer.text();

  const std::string& along = loop.loops[lane].iterator;
  kernel.placements = memory_placements(names, {inner}, along, "", {kThreads, 1, 1}, row.copies);
  for (const Sum& sum : loop.sums) {
    auto& placements = kernel.placements;
    std::erase_if(placements, [&](const Placement& p) { return p.array == sum.target.text; });
    placements.push_back(
        {sum.target.text, Space::registers,
         fmt::format(
             "{} is summed in a register of each of {} threads, then over the block through shared memory",
             to_text(sum.target), kThreads),
         static_cast<std::uint64_t>(size_of(sum.type)), 0, 0, 1});
  }
  kernel.reasons.push_back(
      fmt::format("{} along the threads of a block: it runs through contiguous memory; each thread has {} "
                  "loads under way",
                  along, unroll(loop)));
  if (row.chain.loops.empty()) kernel.reasons.push_back("no parallel loop around the sum: one block");
  for (const ThreadLoop& l : row.chain.loops)
    kernel.reasons.push_back(fmt::format("a block for each {}", l.loop.iterator));
  kernel.reasons.push_back(
      "the sum's order differs from the source's (--keep-order forbids that); it is the same in every run");
  KernelGroup group;
  group.kernels.push_back(std::move(kernel));
  return group;
}

}  // namespace warploom::tile
