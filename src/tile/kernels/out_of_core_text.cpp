// The host's entry of an out-of-core program: panels through two buffers each, three streams.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "tile/kernels/out_of_core.hpp"

namespace warploom::tile {
namespace {

/// Elements of the array that have the first `from` subscripts in common: "(std::size_t)nj * nk".
std::string count_of(const Variable& array, std::size_t from) {
  Expression count;
  count.kind = Expression::Kind::cast;
  count.text = "std::size_t";
  if (from == array.extents.size()) return "1";
  count.operands = {array.extents[from]};
  for (std::size_t d = from + 1; d < array.extents.size(); ++d)
    count = Expression::binary("*", count, array.extents[d]);
  return to_text(count);
}

class SlabWriter {
 public:
  explicit SlabWriter(const PanelFunction& function)
      : function_(function), region_(function.names.nest.region()), plan_(function.plan) {
    levels_.push_back({plan_.outer, "outer"});
    if (plan_.inner) levels_.push_back({*plan_.inner, "inner"});
    for (const std::string& array : plan_.resident) resident_.push_back({array, "0", "0", "1"});
  }

  std::string run() {
    text_.line(
        "/// On host pointers, as the source has it. Arrays that do not fit pass through the device in "
        "panels of");
    text_.line("/// rows: the next ones are copied while kernels work on these.");
    text_.open("extern \"C\" cudaError_t {}({})", region_.function, function_.parameters);
    divide();
    allocate();
    copy("load", resident_);
    for (const auto& [symbol, constant] : function_.constants)
      text_.line(
          "check(cudaMemcpyToSymbolAsync({}, {}, {} * sizeof({}), 0, cudaMemcpyHostToDevice, streams.load));",
          symbol, constant.array, constant.elements, c_name(constant.type));
    define_pointers(resident_);
    if (plan_.inner) text_.line("int {}_panel = 0;  // goes on: buffers take turns", plan_.inner->iterator);
    text_.line("int {}_panel = 0;", plan_.outer.iterator);
    outer();
    copy("store", written(resident_));
    text_.line("check(cudaDeviceSynchronize());");
    text_.line("return status;");
    text_.close();
    return text_.text();
  }

 private:
  struct Level {
    const PanelLoop& loop;
    std::string name;  ///< in PanelRows and PanelStreams
  };
  /// Rows [first, limit) of an array and a buffer; an array that is there as a whole is one row.
  struct Part {
    std::string array, buffer, first, limit;
  };

  std::vector<Part> parts(const PanelLoop& loop) const {
    std::vector<Part> all;
    for (const std::string& array : loop.arrays)
      all.push_back({array, loop.iterator + "_buffer", loop.first, loop.limit});
    return all;
  }
  std::vector<Part> written(std::vector<Part> all) const {
    std::erase_if(all, [&](const Part& part) { return !function_.written.contains(part.array); });
    return all;
  }

  std::string host_text(const Expression& expression) const { return cuda_text(function_.names, expression); }
  static std::string bytes_of_rows(const std::vector<std::string>& arrays) {
    std::vector<std::string> bytes;
    for (const std::string& array : arrays) bytes.push_back(array + "_panels.row_bytes()");
    return bytes.empty() ? "0" : fmt::format("{}", fmt::join(bytes, " + "));
  }

  void declare(const std::vector<std::string>& arrays, std::size_t from) {
    for (const std::string& array : arrays) {
      const Variable& variable = *find_variable(region_, array);
      text_.line("PanelArray<{0}{1}> {2}_panels({2}, {3});",
                 function_.written.contains(array) ? "" : "const ", c_name(variable.type), array,
                 count_of(variable, from));
    }
  }

  void divide() {
    for (const Level& level : levels_)
      text_.line("const int {0}_begin = {1}, {0}_end = std::max<int>({0}_begin, {2});", level.loop.iterator,
                 host_text(level.loop.begin), host_text(level.loop.end));
    declare(plan_.resident, 0);
    for (const Level& level : levels_) declare(level.loop.arrays, 1);
    std::string call = "panel_rows(bytes";
    std::vector<std::string> none;
    for (const Level& level : levels_) {
      call +=
          fmt::format(", {0}_end - {0}_begin, {1}", level.loop.iterator, bytes_of_rows(level.loop.arrays));
      none.push_back(fmt::format("(rows.{0} == 0 && {1}_begin < {1}_end)", level.name, level.loop.iterator));
    }
    if (!plan_.inner) call += ", 0, 0";
    text_.line("std::size_t bytes = {}u;", function_.memory_cap);
    if (!resident_.empty()) {
      text_.line("const std::size_t resident = {};", bytes_of_rows(plan_.resident));
      text_.line("if (resident > bytes) return cudaErrorMemoryAllocation;");
      text_.line("bytes -= resident;");
    }
    text_.line("const PanelRows rows = {});", call);
    text_.line("if ({}) return cudaErrorMemoryAllocation;", fmt::join(none, " || "));
  }

  void allocate() {
    text_.line("cudaError_t status = cudaSuccess;");
    text_.open("const auto check = [&status](cudaError_t result)");
    text_.line("if (status == cudaSuccess) status = result;");
    text_.close("};");
    text_.line("PanelStreams streams;");
    text_.line("check(streams.create());");
    for (const std::string& array : plan_.resident)
      text_.line("check({}_panels.allocate(1, 1, 0, 1));", array);
    for (const Level& level : levels_)
      for (const std::string& array : level.loop.arrays)
        text_.line("check({0}_panels.allocate(rows.{1}, rows.{1}_buffers, {2}_begin, {2}_end));", array,
                   level.name, level.loop.iterator);
    text_.line("if (status != cudaSuccess) return status;");
    text_.line("const cudaStream_t stream = streams.work;");
  }

  void copy(std::string_view direction, const std::vector<Part>& all) {
    for (const Part& part : all)
      text_.line("check({0}_panels.{1}({2}, {3}, {4}, streams.{1}));", part.array, direction, part.buffer,
                 part.first, part.limit);
  }
  void define_pointers(const std::vector<Part>& all) {
    for (const Part& part : all)
      text_.line("auto* const device_{0} = {0}_panels.device({1}, {2});", part.array, part.buffer,
                 part.first);
  }
  void record(const Level& level, std::string_view event, std::string_view stream) {
    text_.line("check(cudaEventRecord(streams.{}_{}[{}_buffer], streams.{}));", level.name, event,
               level.loop.iterator, stream);
  }
  void wait(const Level& level, std::string_view event, std::string_view stream) {
    text_.line("check(cudaStreamWaitEvent(streams.{}, streams.{}_{}[{}_buffer], 0));", stream, level.name,
               event, level.loop.iterator);
  }
  void launch(const std::vector<Kernel>& kernels) {
    for (const Kernel& kernel : kernels) function_.launch(kernel, text_);
  }

  void open(const Level& level) {
    const PanelLoop& loop = level.loop;
    text_.open("for (int {0} = {2}_begin, {1}; {0} < {2}_end; {0} = {1}, ++{2}_panel)", loop.first,
               loop.limit, loop.iterator);
    text_.line("{1} = {0} + std::min(rows.{2}, {3}_end - {0});", loop.first, loop.limit, level.name,
               loop.iterator);
    text_.line("const int {0}_buffer = {0}_panel % rows.{1}_buffers;", loop.iterator, level.name);
  }
  void load(const Level& level) {
    wait(level, "free", "load");
    copy("load", parts(level.loop));
    record(level, "full", "load");
    wait(level, "full", "work");
  }

  void outer() {
    const Level& level = levels_.front();
    open(level);
    load(level);
    define_pointers(parts(level.loop));
    launch(plan_.before);
    if (plan_.inner)
      inner();
    else
      launch(plan_.update);
    launch(plan_.after);
    text_.line("check(cudaGetLastError());");
    record(level, "done", "work");
    wait(level, "done", "store");
    copy("store", written(parts(level.loop)));
    record(level, "free", "store");
    text_.close();
  }

  void inner() {
    const Level& level = levels_.back();
    open(level);
    text_.open("if ({}_panel == 0 || rows.inner_buffers > 1)", level.loop.iterator);
    load(level);
    text_.close();
    define_pointers(parts(level.loop));
    launch(plan_.update);
    record(level, "free", "work");
    text_.close();
  }

  const PanelFunction& function_;
  const Region& region_;
  const OutOfCore& plan_;
  std::vector<Level> levels_;
  std::vector<Part> resident_;
  TextWriter text_;
};

}  // namespace

std::string panel_function(const PanelFunction& function) { return SlabWriter(function).run(); }

std::string_view panel_helpers() {
  return R"(/// How many rows the device holds at a time, in one buffer or in two: one is used while the other is filled.
struct PanelRows {
  int outer = 0, inner = 0;  ///< 0: not one fits
  int outer_buffers = 1, inner_buffers = 1;
};

/// All rows if they fit, else as many as fit twice: whole tiles of 128 if it can be.
inline int rows_that_fit(std::size_t bytes, std::size_t row_bytes, int rows) {
  if (rows * row_bytes <= bytes) return rows;
  const auto twice = static_cast<int>(bytes / (2 * row_bytes));
  return twice < 128 ? twice : twice / 128 * 128;
}

/// Divides memory between panels of the outer loop and of the inner. Each outer panel needs all inner ones, one
/// after the other: the larger it is the less is copied, so it gets what the inner ones leave.
inline PanelRows panel_rows(std::size_t bytes, int outer, std::size_t outer_row_bytes, int inner,
                            std::size_t inner_row_bytes) {
  PanelRows rows{outer, inner};
  const std::size_t all_inner = inner * inner_row_bytes;
  if (outer * outer_row_bytes + all_inner <= bytes) return rows;
  rows.inner = rows_that_fit(all_inner <= bytes / 2 ? all_inner : bytes / 4, inner_row_bytes, inner);
  rows.inner_buffers = rows.inner < inner ? 2 : 1;
  rows.outer = rows_that_fit(bytes - inner_row_bytes * rows.inner * rows.inner_buffers, outer_row_bytes, outer);
  rows.outer_buffers = rows.outer < outer ? 2 : 1;
  return rows;
}

/// An array of the host, of which the device holds a panel of rows or two.
template <typename T>
class PanelArray {
 public:
  /// @param row  elements of a row
  PanelArray(T* host, std::size_t row) : host_(host), row_(row) {}
  PanelArray(const PanelArray&) = delete;
  PanelArray& operator=(const PanelArray&) = delete;
  ~PanelArray() {
    cudaFree(device_);
    if (page_locked_) cudaHostUnregister(page_locked_);
  }

  std::size_t row_bytes() const { return row_ * sizeof(T); }

  /// Copies run beside kernels only from page-locked memory. Where locking fails (it is locked already, or cannot
  /// be) all goes on, at worst without that.
  /// @param first, limit  rows of the array that panels will hold
  cudaError_t allocate(int rows, int buffers, int first, int limit) {
    panel_ = rows * row_;
    void* const begin = const_cast<std::remove_const_t<T>*>(host_) + first * row_;
    if (buffers > 1 && cudaHostRegister(begin, (limit - first) * row_bytes(), cudaHostRegisterDefault) == cudaSuccess)
      page_locked_ = begin;
    cudaGetLastError();
    return cudaMalloc(&device_, buffers * panel_ * sizeof(T));
  }
  cudaError_t load(int buffer, int first, int limit, cudaStream_t stream) {
    return cudaMemcpyAsync(device_ + buffer * panel_, host_ + first * row_, (limit - first) * row_bytes(),
                           cudaMemcpyHostToDevice, stream);
  }
  cudaError_t store(int buffer, int first, int limit, cudaStream_t stream) {
    return cudaMemcpyAsync(host_ + first * row_, device_ + buffer * panel_, (limit - first) * row_bytes(),
                           cudaMemcpyDeviceToHost, stream);
  }
  /// Where row 0 would be if the rows before `first`, which the buffer begins with, were there.
  T* device(int buffer, int first) const {
    return device_ + static_cast<std::ptrdiff_t>(buffer * panel_) - static_cast<std::ptrdiff_t>(first * row_);
  }

 private:
  T* host_;
  std::size_t row_, panel_ = 0;
  std::remove_const_t<T>* device_ = nullptr;
  void* page_locked_ = nullptr;
};

/// Copies to the device, kernels and copies back run beside one another; events say when a buffer may be used.
struct PanelStreams {
  cudaStream_t load = nullptr, work = nullptr, store = nullptr;
  cudaEvent_t outer_full[2] = {}, outer_done[2] = {}, outer_free[2] = {}, inner_full[2] = {}, inner_free[2] = {};

  PanelStreams() = default;
  PanelStreams(const PanelStreams&) = delete;
  PanelStreams& operator=(const PanelStreams&) = delete;
  ~PanelStreams() {
    for (cudaEvent_t* pair : {outer_full, outer_done, outer_free, inner_full, inner_free})
      for (int b = 0; b < 2; ++b)
        if (pair[b]) cudaEventDestroy(pair[b]);
    for (cudaStream_t stream : {load, work, store})
      if (stream) cudaStreamDestroy(stream);
  }
  cudaError_t create() {
    cudaError_t status = cudaSuccess;
    for (cudaStream_t* stream : {&load, &work, &store})
      if (status == cudaSuccess) status = cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking);
    for (cudaEvent_t* pair : {outer_full, outer_done, outer_free, inner_full, inner_free})
      for (int b = 0; b < 2; ++b)
        if (status == cudaSuccess) status = cudaEventCreateWithFlags(&pair[b], cudaEventDisableTiming);
    return status;
  }
};
)";
}

}  // namespace warploom::tile
