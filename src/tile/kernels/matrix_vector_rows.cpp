// Rows: a block for each iteration of the parallel loops.
#include <fmt/format.h>

#include <algorithm>

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

/// The part as its first thread has it. What a private variable holds before the loop is the same in all
/// threads, which compute it each for themselves (`everyone`); memory is the first one's.
struct Shares {
  std::vector<Node> everyone;
  SumPart first_thread;
};
/// Nothing where private variables need what the first thread writes.
std::optional<Shares> shares_of(const SumRequest& row) {
  Shares shares{{}, row.part};
  shares.first_thread.before.clear();
  for (const Node& node : row.part.before)
    (row.copies.instead(node.target).empty() ? shares.first_thread.before : shares.everyone).push_back(node);
  for (const Mention& mention : mentions(shares.everyone))
    for (const Node& node : shares.first_thread.before)
      if (mention.element.text == node.target.text) return std::nullopt;
  return shares;
}

class RowText {
 public:
  /// @param names  with private variables in registers
  RowText(const SumRequest& row, const CudaNames& names, std::size_t lane, const Shares& shares,
          const std::vector<Expression>& runs)
      : row_(row), names_(names), loop_(row.part.loop), lane_(lane), shares_(shares), runs_(runs) {
    FreshNames fresh(row.names);
    own_ = name_sums(loop_, "_parts", fresh);
  }

  std::string text(const Kernel& kernel, const std::vector<std::string>& written) {
    writer_.open(kernel_signature({names_, kernel.name, kernel.parameters, written, kThreads, 0}));
    for (std::size_t s = 0; s < own_.sums.size(); ++s)
      writer_.line("__shared__ {} {}[{}];", c_name(loop_.sums[s].type), own_.shared[s], kThreads / 32);
    open_iterations();
    declare(writer_, row_.copies);
    write_statements(writer_, names_, shares_.everyone);
    sum();
    store();
    if (row_.chain.loops.size() > 1)
      writer_.line("__syncthreads();  // before the shared parts are used again");
    writer_.close_to(0);
    return writer_.text();
  }

 private:
  /// Those of the chain that the block has: of the outermost loop, along x, one; of others, of which a grid
  /// may have fewer, perhaps several.
  void open_iterations() {
    for (std::size_t l = 0; l < row_.chain.loops.size(); ++l) {
      const ThreadLoop& loop = row_.chain.loops[l];
      const char dimension = static_cast<char>('x' + static_cast<int>(l));
      const std::string& iterator = loop.loop.iterator;
      const std::string first = first_value(names_, loop, fmt::format("blockIdx.{}", dimension));
      if (l == 0)
        writer_.line("const int {} = {};", iterator, first);
      else
        writer_.open("for (int {0} = {1}; {2}; {0} += {3}gridDim.{4})", iterator, first,
                     cuda_text(names_, Expression::binary("<", Expression::name(iterator), loop.end)),
                     loop.step == 1 ? "" : fmt::format("{} * ", loop.step), dimension);
    }
    const std::vector<Expression> guards = row_.chain.guards();
    if (!guards.empty())  // the same for all threads of the block: barriers within are met by all
      writer_.open("if ({})", cuda_text(names_, all_of(guards)));
  }

  void sum() {
    for (std::size_t s = 0; s < own_.sums.size(); ++s)
      writer_.line("{} {} = 0;", c_name(loop_.sums[s].type), own_.sums[s]);
    const int level = writer_.level();
    for (std::size_t l = 0; l < loop_.loops.size(); ++l) {
      if (l + 1 == loop_.loops.size()) writer_.line("#pragma unroll {}", unroll(loop_));
      writer_.open(l == lane_ ? spread(loop_.loops[l]) : loop_header(names_, loop_.loops[l]));
    }
    for (std::size_t s = 0; s < own_.sums.size(); ++s)
      writer_.line("{} += {};", own_.sums[s], cuda_text(names_, loop_.sums[s].value));
    writer_.close_to(level);
    for (std::size_t s = 0; s < own_.sums.size(); ++s)
      writer_.line("{0} = block_sum({0}, {1});", own_.sums[s], own_.shared[s]);
  }
  /// The loop's header, its iterations one after the other given to the block's threads.
  std::string spread(Node loop) const {
    const bool up = loop.step > 0;
    const std::string factor =
        loop.step == 1 || loop.step == -1 ? "" : fmt::format("{} * ", up ? loop.step : -loop.step);
    loop.first = up && loop.first == Expression::integer(0)
                     ? Expression::name(factor + "threadIdx.x")
                     : Expression::binary(up ? "+" : "-", cuda_expression(names_, loop.first),
                                          Expression::name(factor + "(int)threadIdx.x"));
    loop.limit = cuda_expression(names_, loop.limit);
    loop.step *= kThreads;
    CudaNames verbatim = names_;
    verbatim.instead = [](const Expression& e) { return e.kind == Expression::Kind::name ? e.text : ""; };
    return loop_header(verbatim, loop);
  }

  void store() {
    const std::vector<Node> last = with_totals(shares_.first_thread, own_.sums, runs_);
    if (last.size() == 1 && runs_.empty())
      return writer_.line("if (threadIdx.x == 0) {} += {};", cuda_text(names_, loop_.sums[0].target),
                          own_.sums[0]);
    CudaNames with_sums = names_;
    with_sums.instead = [&](const Expression& e) {
      const bool is_sum =
          e.kind == Expression::Kind::name && std::ranges::find(own_.sums, e.text) != own_.sums.end();
      return is_sum ? e.text : row_.copies.instead(e);
    };
    writer_.open("if (threadIdx.x == 0)");
    write_statements(writer_, with_sums, last);
    writer_.close();
  }

  const SumRequest& row_;
  const CudaNames& names_;
  const SumLoop& loop_;
  const std::size_t lane_;
  const Shares& shares_;
  const std::vector<Expression>& runs_;
  SumNames own_;
  TextWriter writer_;
};

std::vector<Placement> placements(const SumRequest& row, const CudaNames& names, const Node& sums,
                                  const std::string& along) {
  std::vector<Placement> all = memory_placements(names, {sums}, along, "", {kThreads, 1, 1}, row.copies);
  for (const Sum& sum : row.part.loop.sums) {
    std::erase_if(all, [&](const Placement& p) { return p.array == sum.target.text; });
    all.push_back(
        {sum.target.text, Space::registers,
         fmt::format(
             "{} is summed in a register of each of {} threads, then over the block through shared memory",
             to_text(sum.target), kThreads),
         static_cast<std::uint64_t>(size_of(sum.type)), 0, 0, 1});
  }
  return all;
}

std::vector<std::string> reasons(const SumRequest& row, const std::string& along) {
  std::vector<std::string> all = {fmt::format(
      "{} along the threads of a block: it runs through contiguous memory; each thread has {} loads under way",
      along, unroll(row.part.loop))};
  if (row.chain.loops.empty()) all.push_back("no parallel loop around the sum: one block");
  for (const ThreadLoop& l : row.chain.loops)
    all.push_back(fmt::format("a block for each {}", l.loop.iterator));
  all.push_back(
      "the sum's order differs from the source's (--keep-order forbids that); it is the same in every run");
  return all;
}

}  // namespace

std::optional<KernelGroup> row_sums(const SumRequest& row, std::size_t lane) {
  const auto conditions = runs(row.chain, row.part);
  const std::optional<Shares> shares = shares_of(row);
  if (!conditions || !shares) return std::nullopt;
  const SumLoop& loop = row.part.loop;
  const Expression one = Expression::integer(1);
  Kernel kernel;
  kernel.name = row.kernel;
  kernel.pattern = "row reduction";
  kernel.grid = {one, one, one};
  kernel.block = {Expression::integer(kThreads), one, one};

  Node sums, part;
  for (const Sum& sum : loop.sums) sums.children.push_back(add_to(sum, sum.value));
  sums = under(loop.loops, sums);
  part.children = with_loop(row.part, {sums});
  std::vector<Node> chain;
  for (std::size_t l = 0; l < row.chain.loops.size(); ++l) {
    const ThreadLoop& thread_loop = row.chain.loops[l];
    const Expression count = thread_loop.count();
    kernel.grid[l] = l == 0 ? count : Expression::call("min", {count, Expression::integer(kMostBlocks)});
    chain.push_back(thread_loop.loop);
  }
  const Node tree = under(chain, part);
  CudaNames names = row.names;
  names.instead = [&](const Expression& e) { return row.copies.instead(e); };
  const KernelParameters parameters =
      kernel_parameters(row.request, names, {tree}, row.chain.bounds(), row.copies);
  kernel.statements = statements_of({tree});
  kernel.parameters = parameters.all;
  kernel.text = RowText(row, names, lane, *shares, *conditions).text(kernel, parameters.written);
  kernel.placements = placements(row, names, sums, loop.loops[lane].iterator);
  kernel.reasons = reasons(row, loop.loops[lane].iterator);
  return KernelGroup{{std::move(kernel)}};
}

}  // namespace warploom::tile
