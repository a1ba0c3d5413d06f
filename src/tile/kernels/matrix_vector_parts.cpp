// Sums that blocks have taken in parts, added in a fixed order.
#include <fmt/format.h>

#include "tile/c/simplify.hpp"
#include "tile/kernels/matrix_vector.hpp"
#include "tile/kernels/pointwise.hpp"
#include "tile/kernels/sequential_code.hpp"

namespace warploom::tile {
namespace {

/// Threads of a block: parts are split over its rows, so that many loads are under way where the sums are
/// few. H200: 264 parts of 2200 sums take 4.2 us, of 16384 sums 5.6 us.
constexpr int kSumsOfBlock = 32, kThreadsOfSum = 8;

/// What a block does for 32 of the sums.
void write_addition(TextWriter& writer, const SumsInParts& parts) {
  const SumRequest& sum = parts.sum;
  const ThreadLoop& x = sum.chain.loops.front();
  FreshNames fresh(sum.names);
  CudaNames names = sum.names;
  names.temporaries = parts.memory;
  names.instead = [&](const Expression& e) -> std::string {
    if (e.kind == Expression::Kind::name && fresh.contains(e.text)) return e.text;
    return sum.copies.instead(e);
  };
  const std::string part = fresh("part"), end = fresh("parts");
  const SumNames own = name_sums(sum.part.loop, "_rows", fresh);
  for (std::size_t s = 0; s < own.sums.size(); ++s) {
    const std::string_view type = c_name(sum.part.loop.sums[s].type);
    writer.line("__shared__ {} {}[{}][{}];", type, own.shared[s], kThreadsOfSum, kSumsOfBlock);
    writer.line("{} {} = 0;", type, own.sums[s]);
  }
  writer.line("const int {} = {};", x.loop.iterator,
              first_value(names, x, fmt::format("blockIdx.x * {} + threadIdx.x", kSumsOfBlock)));
  writer.line("const int {} = {};", end, cuda_text(sum.names, parts.count));
  std::vector<Expression> guards = x.guards;
  guards.push_back(Expression::binary("<", Expression::name(x.loop.iterator), x.end));
  const std::string inside = cuda_text(names, all_of(guards));
  writer.open("if ({})", inside);
  writer.line("#pragma unroll 8");
  writer.open("for (int {0} = threadIdx.y; {0} < {1}; {0} += {2})", part, end, kThreadsOfSum);
  for (std::size_t s = 0; s < own.sums.size(); ++s)
    writer.line("{} += {};", own.sums[s], cuda_text(names, element_of_part(sum, parts.memory[s], part)));
  writer.close();
  writer.close();
  meet_in_shared(writer, own, kThreadsOfSum, inside);
  declare(writer, sum.copies);
  write_statements(writer, names, with_totals(sum.part, own.sums, parts.conditions));
  writer.close();
}

/// All that it reads and writes, under the loop over the sums.
Node tree_of(const SumsInParts& parts) {
  const SumPart& part = parts.sum.part;
  Node tree = parts.sum.chain.loops.front().loop;
  std::vector<Node> additions;
  for (std::size_t s = 0; s < part.loop.sums.size(); ++s)
    additions.push_back(
        add_to(part.loop.sums[s], element_of_part(parts.sum, parts.memory[s], tree.iterator)));
  tree.children = with_loop(part, additions);
  return tree;
}

}  // namespace

std::vector<Temporary> memory_of_parts(const SumRequest& sum, const Expression& count,
                                       const Expression& sums) {
  // A loop that begins above 0 may have fewer than no iterations.
  const Expression zero = Expression::integer(0);
  const bool never_negative = sum.chain.loops.front().least == zero;
  const Expression extent = never_negative ? sums : Expression::call("max", {zero, sums});
  std::vector<Temporary> memory;
  for (const Sum& one : sum.part.loop.sums) {
    const std::string name = free_name(sum.names, fmt::format("{}_{}_parts", sum.kernel, one.target.text));
    memory.push_back({name, one.type, {count, extent}, ""});
  }
  return memory;
}

Expression element_of_part(const SumRequest& sum, const Temporary& memory, const std::string& part) {
  const ThreadLoop& x = sum.chain.loops.front();
  const Expression at = Expression::name(x.loop.iterator);
  return Expression::element(memory.name, {Expression::name(part), difference(at, x.least)});
}

SumNames name_sums(const SumLoop& loop, const std::string& shared, FreshNames& fresh) {
  SumNames names;
  for (const Sum& sum : loop.sums) {
    names.sums.push_back(fresh(sum.target.text + "_sum"));
    names.shared.push_back(fresh(sum.target.text + shared));
  }
  return names;
}

void meet_in_shared(TextWriter& writer, const SumNames& names, int rows, const std::string& condition) {
  for (std::size_t s = 0; s < names.sums.size(); ++s)
    writer.line("{}[threadIdx.y][threadIdx.x] = {};", names.shared[s], names.sums[s]);
  writer.line("__syncthreads();");
  writer.open("if (threadIdx.y == 0 && {})", condition);
  writer.open("for (int row = 1; row < {}; ++row)", rows);
  for (std::size_t s = 0; s < names.sums.size(); ++s)
    writer.line("{} += {}[row][threadIdx.x];", names.sums[s], names.shared[s]);
  writer.close();
}

Kernel add_parts(const SumsInParts& parts) {
  const SumRequest& sum = parts.sum;
  const ThreadLoop& x = sum.chain.loops.front();
  Kernel kernel;
  kernel.name = sum.kernel + "_combine";
  kernel.pattern = "sum of parts";
  kernel.grid = {ceil_quotient(x.count(), kSumsOfBlock), Expression::integer(1), Expression::integer(1)};
  kernel.block = {Expression::integer(kSumsOfBlock), Expression::integer(kThreadsOfSum),
                  Expression::integer(1)};
  CudaNames names = sum.names;
  names.temporaries = parts.memory;
  const Node tree = tree_of(parts);
  kernel.statements = statements_of({tree});
  std::vector<Expression> bounds = {x.least, x.end, parts.count};
  bounds.insert(bounds.end(), parts.conditions.begin(), parts.conditions.end());
  const KernelParameters parameters = kernel_parameters(sum.request, names, {tree}, bounds, sum.copies);
  kernel.parameters = parameters.all;
  TextWriter writer;
  writer.open(kernel_signature(
      {names, kernel.name, kernel.parameters, parameters.written, kSumsOfBlock * kThreadsOfSum, 0}));
  write_addition(writer, parts);
  writer.close();
  kernel.text = writer.text();
  kernel.placements =
      memory_placements(names, {tree}, x.loop.iterator, "", {kSumsOfBlock, kThreadsOfSum, 1}, sum.copies);
  kernel.reasons = {
      fmt::format("{} threads for each {}, which share the parts", kThreadsOfSum, x.loop.iterator)};
  return kernel;
}

}  // namespace warploom::tile
