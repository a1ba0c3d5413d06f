// Writes, for C files with one nest each, what tests and benchmarks compile: the nest as it is, the C and the
// CUDA that were made of it, each behind a function of one signature, and a table of them all.
//   generate_cases OUT_DIR TABLE [--no-cuda] FILE.c...
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <filesystem>

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

std::string c_call(const Region& region, std::string_view kind) {
  return fmt::format(
      "int {0}_{1}_call{2} {{\n  (void)sizes, (void)scalars, (void)arrays;\n  {0}_{1}({3});\n  return 0;\n}}\n",
      region.function, kind, call_parameters, c_arguments(region));
}

struct Table {
  std::string declarations, rows;
};

void generate(const std::filesystem::path& file, const std::filesystem::path& out, bool with_cuda,
              Table& table) {
  const std::string text = read_file(file);
  std::vector<Region> regions = read_source(text, file.filename().string(), {});
  if (regions.size() != 1)
    throw BadInput(fmt::format("{}: {} nests, wanted one", file.string(), regions.size()));
  const Nest nest = Nest::analyse(regions.front());
  const Region& region = nest.region();
  const std::string stem = file.stem().string();

  const std::string source =
      fmt::format("#define {0} {0}_source\n{1}\n{2}", region.function, text, c_call(region, "source"));
  write_file_atomically(out / (stem + ".source.c"), source);
  // The same in double precision: how far may floats be from the truth?
  write_file_atomically(
      out / (stem + ".double.c"),
      fmt::format("#include <math.h>\n#define float double\n#define sqrtf sqrt\n#define expf exp\n"
                  "#define powf pow\n#define {0} {0}_double\n{1}\n{2}",
                  region.function, text, c_call(region, "double")));
  const std::string transformed = emit_c(nest, transform(nest, steps_for_cpu(nest)).code());
  write_file_atomically(out / (stem + ".cpu.c"), fmt::format("#define {0} {0}_cpu\n{1}\n{2}", region.function,
                                                             transformed, c_call(region, "cpu")));
  table.declarations +=
      fmt::format("int {0}_source_call{1};\nint {0}_double_call{1};\nint {0}_cpu_call{1};\n", region.function,
                  call_parameters);
  std::string cuda = "nullptr";
  if (with_cuda) {
    const GpuOptions options;
    const ParallelNest parallel = parallelise(nest);
    const std::string program = emit_cuda(nest, map_to_gpu(nest, parallel, options), options);
    write_file_atomically(
        out / (stem + ".cu"),
        fmt::format("{0}\nextern \"C\" int {1}_cuda_call{2} {{\n  return {1}_device({3}{4}nullptr);\n}}\n",
                    program, region.function, call_parameters, arguments(region),
                    region.parameters.empty() ? "" : ", "));
    table.declarations += fmt::format("int {0}_cuda_call{1};\n", region.function, call_parameters);
    cuda = region.function + "_cuda_call";
  }
  table.rows +=
      fmt::format("    {{\"{0}\", R\"c({1})c\", {0}_source_call, {0}_double_call, {0}_cpu_call, {2}}},\n",
                  region.function, text, cuda);
}

int run(int count, char** words) {
  std::filesystem::path out;
  std::string_view name;
  bool with_cuda = true;
  Table table;
  for (int k = 1; k < count; ++k) {
    const std::string_view word = words[k];
    if (out.empty())
      out = word;
    else if (name.empty())
      name = word;
    else if (word == "--no-cuda")
      with_cuda = false;
    else
      generate(word, out, with_cuda, table);
  }
  write_file_atomically(
      out / "cases.cpp",
      fmt::format("#include \"tile/cases.hpp\"\n\nextern \"C\" {{\n{}}}\n\nnamespace warploom::tile {{\n\n"
                  "const std::vector<Case>& {}() {{\n  static const std::vector<Case> all{{\n{}  }};\n"
                  "  return all;\n}}\n\n}}  // namespace warploom::tile\n",
                  table.declarations, name, table.rows));
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
