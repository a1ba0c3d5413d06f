// The kernel that goes through whole rows for both sums.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "tile/kernels/matrix_vector_both.hpp"
#include "tile/kernels/pointwise.hpp"
#include "tile/kernels/sequential_code.hpp"

namespace warploom::tile {
namespace {

class OnePassText {
 public:
  explicit OnePassText(const OnePass& pass)
      : pass_(pass),
        names_(pass.rows.names),
        i_(pass.rows.chain.loops.front()),
        j_(pass.columns.sum.chain.loops.front()),
        i_name_(i_.loop.iterator),
        j_name_(j_.loop.iterator) {
    names_.temporaries = pass.columns.memory;
  }

  Kernel kernel() {
    Kernel kernel;
    kernel.name = pass_.rows.kernel;
    kernel.pattern = "row and column reduction";
    kernel.grid = {pass_.columns.count, Expression::integer(1), Expression::integer(1)};
    kernel.block = {Expression::integer(kOnePassThreads), Expression::integer(1), Expression::integer(1)};
    const Node tree = everything();
    kernel.statements = statements_of({tree});
    const KernelParameters parameters = kernel_parameters(
        pass_.rows.request, names_, {tree}, {i_.least, i_.end, j_.least, j_.end}, pass_.rows.copies);
    kernel.parameters = parameters.all;
    kernel.text = device_function(parameters) + "\n" + dispatching(parameters);
    describe(kernel, tree);
    return kernel;
  }

 private:
  const SumLoop& row_loop() const { return pass_.rows.part.loop; }
  const Sum& column_sum() const { return pass_.columns.sum.part.loop.sums.front(); }
  Expression column_count() const { return j_.count(); }

  /// All that the kernel reads and writes.
  Node everything() const {
    Node columns = j_.loop;
    for (const Sum& sum : row_loop().sums) columns.children.push_back(add_to(sum, sum.value));
    Node part = add_to(column_sum(), column_sum().value);
    part.op = "=";
    part.target = element_of_part(pass_.columns.sum, pass_.columns.memory.front(), i_name_);
    columns.children.push_back(part);
    Node tree = i_.loop;
    tree.children = with_loop(pass_.rows.part, {columns});
    return tree;
  }

  void unrolled(const std::string& name, const std::string& count) {
    writer_.line("#pragma unroll");
    writer_.open("for (int {0} = 0; {0} < {1}; ++{0})", name, count);
  }
  /// The thread's column with this number, if there is one; or any thread's.
  void open_column(bool for_each_thread) {
    unrolled(column_, columns_);
    if (for_each_thread) {
      writer_.line("const int {} = {};", j_name_,
                   first_value(names_, j_, fmt::format("{} * {} + threadIdx.x", kOnePassThreads, column_)));
      writer_.open("if ({} < {})", j_name_, cuda_text(names_, j_.end));
    } else {
      writer_.open("if ({} * {} < {})", kOnePassThreads, column_, cuda_text(names_, column_count()));
    }
  }
  /// The row with this number, or the last there is.
  void open_row() {
    unrolled(row_, rows_);
    writer_.line("const int {} = {} == 1 ? {} : min({} + {}, {} - 1);", i_name_, rows_, i0_, i0_, row_,
                 range_.end);
  }
  void close(int levels) {
    while (levels-- > 0) writer_.close();
  }

  std::string device_function(const KernelParameters& parameters) {
    columns_ = fresh_("columns"), rows_ = fresh_("rows"), column_ = fresh_("column"), row_ = fresh_("row");
    i0_ = fresh_(i_name_ + "0");
    const std::string here = fresh_(pass_.stream.text + "_here"), next = fresh_(pass_.stream.text + "_next"),
                      read = fresh_("read"), total_of_columns = fresh_(column_sum().target.text + "_sum");
    std::vector<std::string> sums, warps, totals, results;
    for (const Sum& sum : row_loop().sums) {
      sums.push_back(fresh_(sum.target.text + "_sum"));
      warps.push_back(fresh_(sum.target.text + "_warps"));
      totals.push_back(fresh_(sum.target.text + "_total"));
    }
    for (const Expression& result : pass_.row_results) results.push_back(fresh_(result.text + "_row"));
    const std::string stream_type = c_name(shape_of(names_, pass_.stream.text).type).data();

    std::string signature =
        kernel_signature({names_, pass_.rows.kernel + "_rows", parameters.all, parameters.written, 0, 0});
    signature.replace(0, signature.find(pass_.rows.kernel),
                      fmt::format("template <int {}, int {}>\n__device__ void\n", columns_, rows_));
    writer_.open(signature);
    for (std::size_t s = 0; s < sums.size(); ++s)
      writer_.line("__shared__ {} {}[{}][32];", c_name(row_loop().sums[s].type), warps[s], rows_);
    for (std::size_t s = 0; s < results.size(); ++s)
      writer_.line("__shared__ {} {}[{}];", c_name(type_of(names_, pass_.row_results[s])), results[s], rows_);
    range_ = write_row_range(writer_, names_, 'x', i_.least, i_.end, fresh_);
    writer_.line("{} {}[{}] = {{}};", c_name(column_sum().type), total_of_columns, columns_);
    writer_.line("{} {}[{}][{}];", stream_type, next, rows_, columns_);
    writer_.open("const auto {} = [&](int {})", read, i0_);
    open_column(true);
    open_row();
    writer_.line("{}[{}][{}] = {};", next, row_, column_, cuda_text(names_, pass_.stream));
    close(3);
    writer_.close("};");
    writer_.line("if ({0} < {1}) {2}({0});", range_.first, range_.end, read);

    writer_.open("for (int {0} = {1}; {0} < {2}; {0} += {3})", i0_, range_.first, range_.end, rows_);
    for (std::size_t s = 0; s < sums.size(); ++s)
      writer_.line("{} {}[{}] = {{}};", c_name(row_loop().sums[s].type), sums[s], rows_);
    writer_.line("{} {}[{}][{}];", stream_type, here, rows_, columns_);
    CudaNames row_values = names_, column_values = names_;
    row_values.instead = [&](const Expression& e) -> std::string {
      return e == pass_.stream ? fmt::format("{}[{}][{}]", here, row_, column_) : "";
    };
    column_values.instead = [&](const Expression& e) -> std::string {
      for (std::size_t s = 0; s < results.size(); ++s)
        if (e == pass_.row_results[s]) return fmt::format("{}[{}]", results[s], row_);
      return row_values.instead(e);
    };
    open_column(true);
    const bool names_row = std::ranges::any_of(
        row_loop().sums, [&](const Sum& sum) { return names_outside(sum.value, pass_.stream, i_name_); });
    if (names_row)
      open_row();
    else
      unrolled(row_, rows_);
    writer_.line("{}[{}][{}] = {}[{}][{}];", here, row_, column_, next, row_, column_);
    for (std::size_t s = 0; s < sums.size(); ++s)
      writer_.line("{}[{}] += {};", sums[s], row_, cuda_text(row_values, row_loop().sums[s].value));
    close(3);
    writer_.line("if ({0} + {1} < {2}) {3}({0} + {1});  // on its way while these are summed", i0_, rows_,
                 range_.end, read);
    unrolled(row_, rows_);
    for (std::size_t s = 0; s < sums.size(); ++s) {
      writer_.line("{0}[{1}] = warp_sum({0}[{1}]);", sums[s], row_);
      writer_.line("if (threadIdx.x % 32 == 0) {}[{}][threadIdx.x / 32] = {}[{}];", warps[s], row_, sums[s],
                   row_);
    }
    writer_.close();
    writer_.line("__syncthreads();");
    writer_.line("// A warp for each row.");
    writer_.open("if (threadIdx.x < 32 * {})", rows_);
    writer_.line("const int {} = threadIdx.x / 32, {} = {} + {};", row_, i_name_, i0_, row_);
    for (std::size_t s = 0; s < sums.size(); ++s)
      writer_.line("const {} {} = warp_sum({}[{}][threadIdx.x % 32]);", c_name(row_loop().sums[s].type),
                   totals[s], warps[s], row_);
    writer_.open("if (threadIdx.x % 32 == 0 && {} < {})", i_name_, range_.end);
    declare(writer_, pass_.rows.copies);
    CudaNames with_copies = names_;
    with_copies.instead = [&](const Expression& e) -> std::string {
      if (e.kind == Expression::Kind::name && fresh_.contains(e.text)) return e.text;
      return pass_.rows.copies.instead(e);
    };
    write_statements(writer_, with_copies, with_totals(pass_.rows.part, totals, pass_.row_conditions));
    for (std::size_t s = 0; s < results.size(); ++s)
      writer_.line("{}[{}] = {};", results[s], row_, cuda_text(names_, pass_.row_results[s]));
    close(2);
    writer_.line("__syncthreads();");
    open_column(false);
    unrolled(row_, rows_);
    writer_.line("const int {} = {} + {};", i_name_, i0_, row_);
    writer_.line("if ({} == 1 || {} < {}) {}[{}] += {};", rows_, i_name_, range_.end, total_of_columns,
                 column_, cuda_text(column_values, column_sum().value));
    close(4);
    open_column(true);
    writer_.line(
        "{} = {}[{}];",
        cuda_text(names_, element_of_part(pass_.columns.sum, pass_.columns.memory.front(), "blockIdx.x")),
        total_of_columns, column_);
    close(3);
    return writer_.text();
  }

  std::string dispatching(const KernelParameters& parameters) const {
    TextWriter writer;
    writer.open(kernel_signature(
        {names_, pass_.rows.kernel, parameters.all, parameters.written, kOnePassThreads, 0}));
    const int element_bytes = std::max(size_of(column_sum().type), size_of(type_of(names_, pass_.stream)));
    for (const OnePassShape& shape : kOnePassShapes) {
      const int columns = shape.columns * 4 / element_bytes;
      const std::string call = fmt::format("{}_rows<{}, {}>({});", pass_.rows.kernel, columns, shape.rows,
                                           fmt::join(parameters.all, ", "));
      if (&shape != &kOnePassShapes.back()) {
        writer.line("if ({} <= {}) return {}", cuda_text(names_, column_count()), kOnePassThreads * columns,
                    call);
      } else {
        writer.line(call);
      }
    }
    writer.close();
    return writer.text();
  }

  void describe(Kernel& kernel, const Node& tree) const {
    kernel.placements =
        memory_placements(names_, {tree}, j_name_, "", {kOnePassThreads, 1, 1}, pass_.rows.copies);
    const auto in_registers = [&](const Sum& sum, int count, const std::string& how) {
      std::erase_if(kernel.placements, [&](const Placement& p) { return p.array == sum.target.text; });
      kernel.placements.push_back({sum.target.text, Space::registers, to_text(sum.target) + how,
                                   static_cast<std::uint64_t>(count * size_of(sum.type)), 0, 0, 1});
    };
    for (const Sum& sum : row_loop().sums)
      in_registers(
          sum, 1,
          fmt::format(
              " is summed in a register of each of {} threads, then over the block through shared memory",
              kOnePassThreads));
    const Sum& sum = column_sum();
    in_registers(sum, kOnePassShapes.back().columns * 4 / size_of(sum.type),
                 fmt::format(" of all columns is summed in registers of {} threads", kOnePassThreads));
    kernel.reasons = {
        fmt::format("sums along {} and along {} read the same elements, which come from memory once: a block "
                    "has whole rows, and keeps one in registers until it is added to the columns' sums",
                    j_name_, i_name_),
        pass_.row_results.empty()
            ? fmt::format("neither reads what the other writes: {} and {}",
                          to_text(row_loop().sums.front().target), to_text(column_sum().target))
            : fmt::format("the columns' sums read {} of their own row, which is complete by then",
                          to_text(pass_.row_results.front())),
        fmt::format(
            "{} split over one block for each multiprocessor; the next rows are on their way while these are summed",
            i_name_),
        "the blocks' sums of columns go to memory and are added in a fixed order: results are the same in every run"};
  }

  const OnePass& pass_;
  CudaNames names_;
  const ThreadLoop &i_, &j_;
  const std::string i_name_, j_name_;
  FreshNames fresh_{pass_.rows.names};
  std::string columns_, rows_, column_, row_, i0_;
  RowRange range_;
  TextWriter writer_;
};

}  // namespace

int most_columns(int element_bytes) {
  return kOnePassThreads * kOnePassShapes.back().columns * 4 / element_bytes;
}

Kernel one_pass_kernel(const OnePass& pass) { return OnePassText(pass).kernel(); }

}  // namespace warploom::tile
