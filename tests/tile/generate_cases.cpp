// Writes, for C files with one nest each, what tests and benchmarks compile: the nests as they are in
// source.c, with doubles in double.c, the C that was made of them in cpu.c and the CUDA in cuda_0.cu..., each
// nest behind a function of one signature, and a table of them all in cases.cpp. Few units of many nests,
// since most of what nvcc takes for one are headers.
//   generate_cases OUT_DIR TABLE CUDA_UNITS FILE.c...
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"
#include "warploom/tile/gpu.hpp"

namespace warploom::tile {
namespace {

/// `sizes[0], (float)scalars[0], (float*)arrays[0], ...`
std::string arguments(const Region& region) {
  std::vector<std::string> all;
  int sizes = 0, scalars = 0, arrays = 0;
  for (const std::string& name : region.parameters) {
    const Variable* variable = find_variable(region, name);
    if (!variable)
      all.push_back(fmt::format("sizes[{}]", sizes++));
    else if (variable->extents.empty())
      all.push_back(fmt::format("({})scalars[{}]", c_name(variable->type), scalars++));
    else
      all.push_back(fmt::format("({}*)arrays[{}]", c_name(variable->type), arrays++));
  }
  return fmt::format("{}", fmt::join(all, ", "));
}

/// In C an array of arrays takes a void* as it is.
std::string c_arguments(const Region& region) {
  std::string text = arguments(region);
  for (const std::string_view cast : {"(float*)", "(double*)", "(int*)"})
    for (std::size_t at; (at = text.find(cast)) != text.npos;) text.erase(at, cast.size());
  return text;
}

constexpr std::string_view call_parameters = "(const int* sizes, const double* scalars, void** arrays)";

/// A nest of a unit of many: the names that all emitted C may define are its own.
std::string c_piece(const Region& region, std::string_view kind, std::string_view text) {
  std::string define, undefine;
  for (const std::string_view name : {std::string_view(region.function), std::string_view("min"),
                                      std::string_view("max"), std::string_view("floord")}) {
    define += fmt::format("#define {0} {1}_{2}_{0}\n", name, region.function, kind);
    undefine += fmt::format("#undef {}\n", name);
  }
  return fmt::format(
      "{0}{1}\nint {2}_{3}_call{4} {{\n  (void)sizes, (void)scalars, (void)arrays;\n  {2}({5});\n  return "
      "0;\n}}\n{6}\n",
      define, text, region.function, kind, call_parameters, c_arguments(region), undefine);
}

/// The same for CUDA: a namespace of its own, before which stands what it includes.
std::string cuda_piece(const Region& region, const std::string& program) {
  std::string includes;
  for (std::size_t at = 0; (at = program.find("#include <", at)) != program.npos;) {
    const std::size_t end = program.find('\n', at) + 1;
    includes += program.substr(at, end - at);
    at = end;
  }
  return fmt::format(
      "{0}namespace of_{1} {{\n{2}\nextern \"C\" int {1}_cuda_call{3} {{\n  return "
      "{1}_device({4}{5}nullptr);\n}}\n}}\n\n",
      includes, region.function, program, call_parameters, arguments(region),
      region.parameters.empty() ? "" : ", ");
}

struct Units {
  std::string source, cpu;
  std::string precise =
      "#include <math.h>\n#define float double\n#define sqrtf sqrt\n#define expf exp\n#define powf pow\n";
  std::vector<std::string> cuda;
  std::string declarations, rows;  // of the table
};

void add(const std::filesystem::path& file, std::size_t place, Units& units) {
  const std::string text = read_file(file);
  std::vector<Region> regions = read_source(text, file.filename().string(), {});
  if (regions.size() != 1)
    throw BadInput(fmt::format("{}: {} nests, wanted one", file.string(), regions.size()));
  const Nest nest = Nest::analyse(regions.front());
  const Region& region = nest.region();

  units.source += c_piece(region, "source", text);
  // The same in double precision: how far may floats be from the truth?
  units.precise += c_piece(region, "double", text);
  const CpuPlan plan = plan_for_cpu(nest);
  units.cpu += c_piece(region, "cpu", emit_c(plan.nest, transform(plan.nest, plan.steps).code()));
  std::vector<std::string_view> calls{"source", "double", "cpu"};
  if (!units.cuda.empty()) {
    const GpuOptions options;
    const ParallelNest parallel = parallelise(nest);
    units.cuda[place % units.cuda.size()] +=
        cuda_piece(region, emit_cuda(nest, map_to_gpu(nest, parallel, options), options));
    calls.push_back("cuda");
  }
  units.rows += fmt::format("    {{\"{0}\", R\"c({1})c\"", region.function, text);
  for (const std::string_view kind : calls) {
    units.declarations += fmt::format("int {}_{}_call{};\n", region.function, kind, call_parameters);
    units.rows += fmt::format(", {}_{}_call", region.function, kind);
  }
  units.rows += units.cuda.empty() ? ", nullptr},\n" : "},\n";
}

int run(int count, char** words) {
  if (count < 4) throw BadInput("usage: generate_cases OUT_DIR TABLE CUDA_UNITS FILE.c...");
  const std::filesystem::path out = words[1];
  Units units;
  units.cuda.resize(std::stoul(words[3]));
  for (int k = 4; k < count; ++k) add(words[k], static_cast<std::size_t>(k - 4), units);
  write_file_atomically(out / "source.c", units.source);
  write_file_atomically(out / "double.c", units.precise);
  write_file_atomically(out / "cpu.c", units.cpu);
  for (std::size_t k = 0; k < units.cuda.size(); ++k)
    write_file_atomically(out / fmt::format("cuda_{}.cu", k), units.cuda[k]);
  write_file_atomically(
      out / "cases.cpp",
      fmt::format("#include \"tile/cases.hpp\"\n\nextern \"C\" {{\n{}}}\n\nnamespace warploom::tile {{\n\n"
                  "const std::vector<Case>& {}() {{\n  static const std::vector<Case> all{{\n{}  }};\n"
                  "  return all;\n}}\n\n}}  // namespace warploom::tile\n",
                  units.declarations, words[2], units.rows));
  return 0;
}

}  // namespace
}  // namespace warploom::tile

int main(int count, char** words) {
  try {
    return warploom::tile::run(count, words);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "generate_cases: %s\n", error.what());
    return 1;
  }
}
