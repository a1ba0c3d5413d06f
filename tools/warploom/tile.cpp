#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "output_files.hpp"
#include "tile_options.hpp"
#include "tile_verify.hpp"
#include "verb.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"
#include "warploom/core/log.hpp"

namespace warploom::tool {
namespace {

using loops::Nest;
using loops::PagePart;

/// One nest and what was made of it.
struct Work {
  Nest nest;
  loops::Explanation explanation;
  std::string c, cuda;
  std::optional<loops::GpuProgram> program;
  std::vector<loops::Cost> costs;
  std::optional<Verification> verification;
};

bool wants_gpu(const TileOptions& options) {
  return !options.cuda.empty() || options.verify || !options.html.empty();
}

/// All sizes, where each is one number.
std::optional<std::map<std::string, std::int64_t>> known_sizes(const Nest& nest) {
  std::map<std::string, std::int64_t> sizes;
  for (const loops::SizeRange& range : nest.sizes())
    if (range.least && range.least == range.most) sizes[range.name] = *range.least;
  if (sizes.size() < nest.region().sizes.size()) return std::nullopt;
  return sizes;
}

Work work_on(Nest nest, const TileOptions& options) {
  Work work{std::move(nest), {}, {}, {}, {}, {}, {}};
  const std::vector<loops::Step> steps = options.automatic ? loops::steps_for_cpu(work.nest) : options.steps;
  if (options.explain || options.json || !options.html.empty())
    work.explanation = loops::explain(work.nest, {.tile = options.footprint, .steps = steps});
  const loops::Schedule schedule = loops::transform(work.nest, steps);
  if (!options.c.empty() || !options.html.empty()) work.c = loops::emit_c(work.nest, schedule.code());
  if (wants_gpu(options)) {
    // Steps that a person asked for are kept as they are; without any, loops are ordered for threads.
    const loops::ParallelNest parallel = options.steps.empty()
                                             ? loops::parallelise(work.nest)
                                             : loops::ParallelNest{work.nest, schedule.code(), {}, {}, {}};
    work.program = loops::map_to_gpu(work.nest, parallel, options.gpu);
    work.cuda = loops::emit_cuda(work.nest, *work.program, options.gpu);
    if (const auto sizes = known_sizes(work.nest))
      work.costs = loops::cost(work.nest, *work.program, options.gpu, *sizes);
  }
  if (options.verify)
    work.verification = verify(work.nest, *work.program, work.cuda, options.gpu.architecture);
  return work;
}

struct Nests {
  std::string source;
  std::vector<Nest> inside;
  std::vector<std::string> refusals;  ///< complete messages
};

/// Refuses what no function has: most likely a slip.
void check_names(std::string_view option, const std::string& name, const std::set<std::string>& known,
                 const std::string& file) {
  if (known.contains(name)) return;
  throw BadInput(fmt::format("{} {}=...: {} has no such name; there are {}", option, name, file,
                             fmt::join(known, ", ")));
}

/// What is known of the sizes of this region; other functions of the file may have others.
std::vector<loops::SizeRange> sizes_of(const loops::Region& region, const TileOptions& options) {
  std::vector<loops::SizeRange> sizes;
  for (const loops::SizeRange& range : options.sizes)
    if (std::ranges::count(region.sizes, range.name) > 0) sizes.push_back(range);
  return sizes;
}

/// The nests of the file that lie in the subset; what is outside does not stop the others.
Nests read_nests(const TileOptions& options) {
  Nests nests{read_input(options.path), {}, {}};
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (nests.source.starts_with(byte_order_mark)) nests.source.erase(0, byte_order_mark.size());
  const std::string file = input_name(options.path);
  std::set<std::string> sizes, loop_names;
  for (loops::Region& region : loops::read_source(nests.source, file, options.source)) {
    sizes.insert(region.sizes.begin(), region.sizes.end());
    try {
      std::vector<loops::SizeRange> known = sizes_of(region, options);
      nests.inside.push_back(Nest::analyse(std::move(region), std::move(known)));
    } catch (const BadInput& error) {
      nests.refusals.emplace_back(error.what());
    }
  }
  if (nests.inside.empty() && nests.refusals.empty())
    throw BadInput(fmt::format("{}: no function has loops", file));
  if (nests.inside.empty()) throw BadInput(fmt::format("{}", fmt::join(nests.refusals, "\n")));
  for (const Nest& nest : nests.inside)
    for (const loops::Statement& statement : nest.statements())
      loop_names.insert(statement.loops.begin(), statement.loops.end());
  for (const loops::SizeRange& range : options.sizes) check_names("--size", range.name, sizes, file);
  for (const auto& [loop, extent] : options.footprint) check_names("--footprint", loop, loop_names, file);
  return nests;
}

std::vector<Work> work_on_all(const Nests& nests, const TileOptions& options) {
  std::vector<Work> all;
  for (const Nest& nest : nests.inside) {
    try {
      all.push_back(work_on(nest, options));
    } catch (const BadInput& error) {
      if (nests.inside.size() == 1 || options.steps.empty()) throw;
      throw BadInput(
          fmt::format("{}; steps are taken in every function: --function NAME chooses one", error.what()));
    }
  }
  return all;
}

void print_results(const std::vector<Work>& all, const TileOptions& options) {
  if (options.json) {
    auto entries = nlohmann::ordered_json::array();
    for (const Work& work : all) {
      entries.push_back(nlohmann::ordered_json::parse(loops::to_json(work.nest, work.explanation)));
      if (work.verification)
        entries.back()["verification"] = {{"good", work.verification->good},
                                          {"text", work.verification->text}};
    }
    return print_json({{"file", input_name(options.path)}, {"nests", entries}});
  }
  for (const Work& work : all) {
    if (options.explain) print(loops::to_text(work.nest, work.explanation));
    if (work.verification) print(work.verification->text);
  }
}

/// Whether a helper function begins with this line.
bool begins_helper(std::string_view line) {
  for (const std::string_view start : {"inline ", "static inline ", "struct Panel", "template <typename T>",
                                       "__device__ inline ", "__host__ __device__ inline "})
    if (line.starts_with(start)) return true;
  return false;
}

/// The functions one after the other; what they include and the helpers that they share stand once.
std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  std::set<std::string> there;
  for (const std::string& text : texts) {
    if (!all.empty()) all += '\n';
    std::string part;  // an #include, or a helper with the comment before it
    bool in_helper = false;
    for (const std::string& line :
         split(std::string_view(text).substr(0, text.find_last_not_of('\n') + 1), '\n')) {
      part += line + '\n';
      in_helper |= begins_helper(line);
      if (in_helper ? !line.starts_with('}') && !(begins_helper(line) && line.ends_with("}"))
                    : line.starts_with("///"))
        continue;
      if (!(in_helper || line.starts_with("#include")) || there.insert(part).second) all += part;
      part.clear();
      in_helper = false;
    }
    all += part;
  }
  return all;
}

/// Files appear all together or not at all.
class Outputs {
 public:
  /// Refuses at once what cannot be written, before the work.
  explicit Outputs(const TileOptions& options) : options_(options) {
    for (const std::string& path : {options.c, options.cuda, options.html}) {
      if (path.empty() || path == "-") continue;
      files_.add(path, true);
      std::error_code error;
      if (std::filesystem::equivalent(path, options.path, error))
        throw BadInput(
            fmt::format("{} is the source, which would be lost; name another file for the output", path));
    }
  }

  void write(const std::vector<Work>& all, const std::string& source) {
    std::vector<std::string> c, cuda;
    std::vector<PagePart> parts;
    for (const Work& work : all) {
      c.push_back(work.c);
      cuda.push_back(work.cuda);
      if (!options_.html.empty())
        parts.push_back({work.nest, work.explanation, work.c, work.cuda, work.program, work.costs});
    }
    put(options_.c, joined(c));
    put(options_.cuda, joined(cuda));
    if (!options_.html.empty()) put(options_.html, loops::to_html(input_name(options_.path), parts, source));
    files_.commit();
  }

 private:
  void put(const std::string& path, const std::string& text) {
    if (path.empty()) return;
    if (path == "-") return print(text);
    files_.write(path, [&](const std::filesystem::path& staged) { write_file_atomically(staged, text); });
  }

  const TileOptions& options_;
  OutputFiles files_;
};

int run(const TileOptions& options) {
  Outputs outputs(options);
  const Nests nests = read_nests(options);
  for (const std::string& refusal : nests.refusals) log(LogLevel::warning, refusal);
  const std::vector<Work> all = work_on_all(nests, options);
  print_results(all, options);
  outputs.write(all, nests.source);
  const bool verified = std::ranges::all_of(
      all, [](const Work& work) { return !work.verification || work.verification->good; });
  return nests.refusals.empty() && verified ? kDone : kFinding;
}

std::function<int()> add(CLI::App& app) {
  return [read = add_tile_options(app)] { return run(read()); };
}

}  // namespace

Verb tile_verb() {
  return {
      "tile", "explain reuse in loop nests, prove what is legal, write tiled C and CUDA",
      "warploom tile examples/tile/lecture/matmul.c --explain\n"
      "  warploom tile examples/tile/lecture/matmul.c --auto --c matmul_tiled.c --cuda matmul.cu\n"
      "Steps (--permute, --tile, --strip-mine, --skew) are taken in the order of the command line, in every "
      "function;\n"
      "with S1: before its text, as S1:i=32, a step is taken around statement S1 only. What would break a "
      "dependence is refused, with a witness.",
      add};
}

}  // namespace warploom::tool
