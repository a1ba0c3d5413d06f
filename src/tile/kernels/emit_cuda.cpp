// The whole .cu file around the kernels of a program.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "tile/c/wellformed.hpp"
#include "tile/kernels/cuda_text.hpp"
#include "tile/kernels/out_of_core.hpp"

namespace warploom::tile {
namespace {

class Emitter {
 public:
  Emitter(const Nest& nest, const GpuProgram& program, std::uint64_t memory_cap)
      : region_(nest.region()),
        program_(program),
        memory_cap_(memory_cap),
        names_{nest, no_snapshots_, {}, nullptr} {
    find_written();
    find_constants();
  }

  /// Why what is where, as comments.
  std::string heading() {
    out_ =
        fmt::format("// {}() of {} for a GPU, written by `warploom tile`.\n", region_.function, file_name());
    for (const std::string& reason : program_.reasons) comment(reason);
    for (const Kernel* kernel : all_kernels()) {
      if (kernel->text.empty()) continue;
      out_ += fmt::format("//\n// {}: {}\n", kernel->name, kernel->pattern);
      for (const std::string& reason : kernel->reasons) comment(reason);
      for (const Placement& placement : kernel->placements)
        comment(fmt::format("{} in {}: {}", placement.array, name(placement.space), placement.reason));
    }
    return std::move(out_);
  }
  std::string constants() const {
    std::string text;
    for (const auto& [symbol, constant] : constants_)
      text += fmt::format("__constant__ {} {}[{}];\n", c_name(constant.type), symbol, constant.elements);
    return text;
  }
  std::string kernels() const {
    std::string text;
    for (const Kernel* kernel : all_kernels())
      if (!kernel->text.empty()) text += kernel->text + (kernel->text.ends_with('\n') ? "\n" : "\n\n");
    return text;
  }
  std::string entries() {
    return device_function() + "\n" + (program_.out_of_core ? panel_entry() : host_function());
  }

 private:
  /// Those for panels, too.
  std::vector<const Kernel*> all_kernels() const {
    std::vector<const Kernel*> all;
    const auto append = [&](const std::vector<Kernel>& kernels) {
      for (const Kernel& kernel : kernels) all.push_back(&kernel);
    };
    append(program_.kernels);
    if (const auto& panels = program_.out_of_core)
      for (const auto* kernels : {&panels->before, &panels->update, &panels->after}) append(*kernels);
    return all;
  }

  /// "//   ..." lines of at most 110 columns.
  void comment(const std::string& sentence) {
    std::string line = "//   ";
    std::size_t from = 0;
    while (from < sentence.size()) {
      std::size_t to = sentence.find(' ', from);
      if (to == std::string::npos) to = sentence.size();
      const std::string word = sentence.substr(from, to - from);
      if (line.size() + word.size() > 109 && line.find_first_not_of("/ ") != std::string::npos) {
        out_ += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
        line = "//     ";
      }
      line += word + " ";
      from = to + 1;
    }
    out_ += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }

  std::string file_name() const { return region_.file.substr(region_.file.find_last_of('/') + 1); }

  void find_written() {
    const auto visit = [this](auto&& self, const Node& node) -> void {
      if (node.kind == Node::Kind::assignment) written_.insert(node.target.text);
      for (const Node& child : node.children) self(self, child);
    };
    visit(visit, region_.body);
  }

  void find_constants() {
    for (const Kernel* kernel : all_kernels())
      for (const ConstantCopy& constant : kernel->constants) constants_[constant.symbol] = constant;
  }

  bool is_parameter(const std::string& name) const {
    return std::ranges::find(region_.parameters, name) != region_.parameters.end();
  }

  std::string parameter(const std::string& name) const {
    const Variable* variable = find_variable(region_, name);
    if (!variable) return "int " + name;
    if (variable->extents.empty() && !variable->is_result)
      return fmt::format("{} {}", c_name(variable->type), name);
    return fmt::format("{}{}* {}", written_.count(name) ? "" : "const ", c_name(variable->type), name);
  }

  std::string parameters() const {
    std::vector<std::string> all;
    for (const std::string& name : region_.parameters) all.push_back(parameter(name));
    return fmt::format("{}", fmt::join(all, ", "));
  }

  std::string count_of(const std::vector<Expression>& extents) const {
    std::string text;
    for (const Expression& extent : extents) {
      const Expression one =
          Expression::binary("*", extent, Expression::name("q"));  // parenthesised as a factor
      std::string factor = to_text(one);
      factor.resize(factor.size() - 4);
      text += (text.empty() ? "static_cast<std::size_t>(" : " * ") +
              (text.empty() ? to_text(extent) + ")" : factor);
    }
    return text.empty() ? "1" : text;
  }

  std::string bytes_of(ScalarType type, const std::vector<Expression>& extents) const {
    return fmt::format("{} * sizeof({})", count_of(extents), c_name(type));
  }

  /// What lives in device memory for the time of a call only.
  std::vector<Temporary> own_memory() const {
    std::vector<Temporary> all = program_.temporaries;
    std::set<std::string> used;
    for (const Kernel& kernel : program_.kernels)
      used.insert(kernel.parameters.begin(), kernel.parameters.end());
    for (const Variable& variable : region_.variables) {
      const bool in_memory = !variable.extents.empty() || written_.count(variable.name);
      const bool scalar_parameter =
          is_parameter(variable.name) && variable.extents.empty() && !variable.is_result;
      if (in_memory && (!is_parameter(variable.name) || scalar_parameter) && used.count(variable.name))
        all.push_back({variable.name, variable.type, variable.extents, {}});
    }
    return all;
  }

  /// Partial sums are small and wanted at every call; copies of whole arrays are not kept.
  bool is_kept(const Temporary& t) const {
    return t.copy_of.empty() && !t.whole_array && !find_variable(region_, t.name);
  }

  std::string device_function() {
    TextWriter text;
    const std::vector<Temporary> own = own_memory();
    text.line("/// On device pointers. Returns at once; the work is done when `stream` is.");
    text.open("extern \"C\" cudaError_t {}_device({}{}cudaStream_t stream)", region_.function, parameters(),
              region_.parameters.empty() ? "" : ", ");
    for (const Temporary& t : own) {
      const std::string pointer = pointer_of(t);
      text.line("{}* {} = nullptr;", c_name(t.type), pointer);
    }
    const bool pool = std::ranges::any_of(own, [&](const Temporary& t) { return is_kept(t); });
    if (pool) text.line("cudaMemPool_t pool = nullptr;");
    if (!own.empty()) text.line("cudaError_t status = {};", pool ? "kept_pool(&pool)" : "cudaSuccess");
    for (const Temporary& t : own)
      text.line("if (status == cudaSuccess) status = {}(&{}, {}, {}stream);",
                is_kept(t) ? "cudaMallocFromPoolAsync" : "cudaMallocAsync", pointer_of(t),
                bytes_of(t.type, t.extents), is_kept(t) ? "pool, " : "");
    if (!own.empty()) text.open("if (status == cudaSuccess)");
    for (const Temporary& t : own) {
      if (!t.copy_of.empty())
        text.line("cudaMemcpyAsync({}, {}, {}, cudaMemcpyDeviceToDevice, stream);", t.name, t.copy_of,
                  bytes_of(t.type, t.extents));
      else if (is_parameter(t.name))
        text.line("cudaMemcpyAsync({}, &{}, sizeof({}), cudaMemcpyHostToDevice, stream);", pointer_of(t),
                  t.name, t.name);
    }
    for (const auto& [symbol, constant] : constants_)
      if (constant.first.empty()) fill_constant(constant, fmt::to_string(constant.elements), text);
    host(program_.host, text);
    if (!own.empty()) {
      text.line("status = cudaGetLastError();");
      text.close();
      for (const Temporary& t : own) text.line("if ({0}) cudaFreeAsync({0}, stream);", pointer_of(t));
      text.line("return status;");
    } else {
      text.line("return cudaGetLastError();");
    }
    text.close();
    return text.text();
  }

  /// A scalar that the kernels assign is a value in the signature and a pointer on the device.
  std::string pointer_of(const Temporary& t) const {
    return t.extents.empty() && is_parameter(t.name) ? "device_" + t.name : t.name;
  }

  std::string argument(const std::string& name) const {
    const Variable* variable = find_variable(region_, name);
    const bool scalar = variable && variable->extents.empty() && !variable->is_result;
    return scalar && written_.count(name) && is_parameter(name) ? "device_" + name : name;
  }

  std::string dim3_text(const std::array<Expression, 3>& extents) const {
    std::vector<std::string> parts;
    std::size_t last = 3;
    while (last > 1 && extents[last - 1] == Expression::integer(1)) --last;
    for (std::size_t d = 0; d < last; ++d) parts.push_back(to_text(cuda_expression(names_, extents[d])));
    return parts.size() == 1 ? parts[0] : fmt::format("dim3({})", fmt::join(parts, ", "));
  }

  void host(const Node& node, TextWriter& text) const {
    switch (node.kind) {
      case Node::Kind::block:
        for (const Node& child : node.children) host(child, text);
        break;
      case Node::Kind::loop: {
        Node empty = node;
        empty.children.clear();
        std::string head = to_text(cuda_tree(names_, empty));
        text.open(head.substr(0, head.find(" {")));
        for (const Node& child : node.children) host(child, text);
        text.close();
        break;
      }
      case Node::Kind::branch:
        text.open("if ({})", to_text(cuda_expression(names_, node.condition)));
        host(node.children[0], text);
        if (node.children.size() > 1) {
          text.close();
          text.open("else");
          host(node.children[1], text);
        }
        text.close();
        break;
      case Node::Kind::launch:
        launch(program_.kernels[node.statement], false, text);
        break;
      case Node::Kind::assignment:
        break;
    }
  }

  static void fill_constant(const ConstantCopy& constant, const std::string& elements, TextWriter& text) {
    text.line("cudaMemcpyToSymbolAsync({}, {}, {} * sizeof({}), 0, cudaMemcpyDeviceToDevice, stream);",
              constant.symbol, constant.array + (constant.first.empty() ? "" : " + " + constant.first),
              elements, c_name(constant.type));
  }

  /// @param panels  arrays are "device_A", which the panel begins
  void launch(const Kernel& kernel, bool panels, TextWriter& text) const {
    std::vector<std::string> arguments;
    for (const std::string& name : kernel.parameters) {
      const Variable* variable = find_variable(region_, name);
      arguments.push_back(panels && variable && !variable->extents.empty() ? "device_" + name
                                                                           : argument(name));
    }
    const std::string call =
        fmt::format("{}<<<{}, {}, 0, stream>>>({});", kernel.name, dim3_text(kernel.grid),
                    dim3_text(kernel.block), fmt::join(arguments, ", "));
    for (const ConstantCopy& constant : kernel.constants) {
      if (constant.first.empty()) continue;
      const Expression& all = find_variable(region_, constant.array)->extents.front();
      const Expression rest = Expression::binary("-", all, Expression::name(constant.first));
      fill_constant(constant, fmt::format("std::min({}, {})", constant.elements, to_text(rest)), text);
    }
    // A grid without blocks is an error to CUDA, and nothing to do to us.
    std::vector<std::string> guards;
    for (const Expression& extent : kernel.grid)
      if (extent.kind != Expression::Kind::integer)
        guards.push_back(
            to_text(Expression::binary(">", cuda_expression(names_, extent), Expression::integer(0))));
    if (guards.empty())
      text.line(call);
    else {
      text.line("if ({})", fmt::join(guards, " && "));
      text.line("  " + call);
    }
  }

  std::string host_function() const {
    TextWriter text;
    text.line("/// On host pointers, as the source has it.");
    text.open("extern \"C\" cudaError_t {}({})", region_.function, parameters());
    std::vector<const Variable*> arrays;
    std::vector<std::string> arguments;
    for (const std::string& name : region_.parameters) {
      const Variable* variable = find_variable(region_, name);
      const bool array = variable && (!variable->extents.empty() || variable->is_result);
      if (array) arrays.push_back(variable);
      arguments.push_back(array ? "device_" + name : name);
    }
    for (const Variable* v : arrays) text.line("{}* device_{} = nullptr;", c_name(v->type), v->name);
    text.line("cudaError_t status = cudaSuccess;");
    if (memory_cap_ > 0) require_memory(text);
    for (const Variable* v : arrays)
      text.line("if (status == cudaSuccess) status = cudaMalloc(&device_{}, {});", v->name,
                bytes_of(v->type, v->extents));
    for (const Variable* v : arrays)
      text.line(
          "if (status == cudaSuccess) status = cudaMemcpy(device_{0}, {0}, {1}, cudaMemcpyHostToDevice);",
          v->name, bytes_of(v->type, v->extents));
    arguments.push_back("nullptr");
    text.line("if (status == cudaSuccess) status = {}_device({});", region_.function,
              fmt::join(arguments, ", "));
    for (const Variable* v : arrays)
      if (written_.count(v->name))
        text.line(
            "if (status == cudaSuccess) status = cudaMemcpy({0}, device_{0}, {1}, cudaMemcpyDeviceToHost);",
            v->name, bytes_of(v->type, v->extents));
    for (const Variable* v : arrays) text.line("cudaFree(device_{});", v->name);
    text.line("return status;");
    text.close();
    return text.text();
  }

  /// All arrays are on the device at once, and the cap has to suffice.
  void require_memory(TextWriter& text) const {
    text.line("std::size_t bytes = 0;");
    for (const std::string& name : region_.parameters)
      if (const Variable* v = find_variable(region_, name); v && (!v->extents.empty() || v->is_result))
        text.line("bytes += {};", bytes_of(v->type, v->extents));
    for (const Temporary& t : own_memory()) text.line("bytes += {};", bytes_of(t.type, t.extents));
    text.line("if (bytes > {}u) return cudaErrorMemoryAllocation;", memory_cap_);
  }

  std::string panel_entry() const {
    return panel_function({names_, *program_.out_of_core, memory_cap_, parameters(), written_, constants_,
                           [this](const Kernel& kernel, TextWriter& text) { launch(kernel, true, text); }});
  }

  const Region& region_;
  const GpuProgram& program_;
  const std::uint64_t memory_cap_;
  const ParallelNest no_snapshots_;
  CudaNames names_;
  std::set<std::string> written_;
  std::map<std::string, ConstantCopy> constants_;  ///< by symbol
  std::string out_;
};

}  // namespace

std::string emit_cuda(const std::vector<CudaPart>& parts, const GpuOptions& options) {
  std::string headings, constants, code;
  bool panels = false;
  for (const CudaPart& part : parts) {
    check(part.nest, part.program);
    Emitter emitter(part.nest, part.program, options.memory_cap);
    headings += (headings.empty() ? "" : "//\n") + emitter.heading();
    constants += emitter.constants();
    code += (code.empty() ? "" : "\n") + emitter.kernels() + emitter.entries();
    panels = panels || part.program.out_of_core;
  }
  std::string text =
      headings + "#include <cuda_runtime.h>\n\n#include <algorithm>\n#include <cmath>\n#include <cstdint>\n";
  if (code.find("kept_pool") != std::string::npos) text += "#include <map>\n#include <mutex>\n";
  if (panels) text += "#include <type_traits>\n";
  text += "\n" + cuda_helpers(code) + constants;
  if (!constants.empty()) text += "\n";
  if (panels) text += fmt::format("\n{}\n", panel_helpers());
  return text + code;
}

std::string emit_cuda(const Nest& nest, const GpuProgram& program, const GpuOptions& options) {
  return emit_cuda({{nest, program}}, options);
}

}  // namespace warploom::tile
