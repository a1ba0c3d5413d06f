#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>

#include "cli/output_files.hpp"
#include "cli/verb.hpp"
#include "options.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"
#include "warploom/core/log.hpp"
#include "warploom/core/run.hpp"
#include "warploom/json/json.hpp"
#include "warploom/tile/index_range.hpp"
#include "warploom/tile/verify.hpp"

namespace warploom::tool {
namespace {

using tile::Nest;
using tile::PagePart;
using Clock = std::chrono::steady_clock;

/// One nest and what was made of it.
struct Work {
  Nest nest;
  tile::Explanation explanation;
  Nest c_nest;         ///< for a CPU: as `nest`, or with copies of operands before it
  tile::Node code;     ///< of `c_nest` after the steps
  bool stays = false;  ///< --auto found nothing that pays on a CPU
  std::optional<tile::GpuPlan> gpu;
  std::string no_gpu;  ///< why there is none, where that is no error
  std::optional<tile::Verification> verification;
};

/// All sizes, where each is one number.
std::optional<std::map<std::string, std::int64_t>> known_sizes(const Nest& nest) {
  std::map<std::string, std::int64_t> sizes;
  for (const tile::SizeRange& range : nest.sizes())
    if (range.least && range.least == range.most) sizes[range.name] = *range.least;
  if (sizes.size() < nest.region().sizes.size()) return std::nullopt;
  return sizes;
}

tile::GpuPlan plan_for_gpu(const Nest& nest, const tile::Schedule& schedule, const TileOptions& options) {
  // Without steps loops are ordered for threads.
  const tile::ParallelNest parallel =
      options.steps.empty() ? tile::parallelise(nest) : tile::parallelise(schedule);
  tile::check_index_range(parallel.nest, parallel.code, tile::Emitted::cuda);
  tile::GpuPlan plan{tile::map_to_gpu(nest, parallel, options.gpu), options.gpu, {}};
  if (const auto sizes = known_sizes(nest)) plan.costs = tile::cost(nest, plan.program, options.gpu, *sizes);
  return plan;
}

std::string cuda_of(const Work& work) {
  return tile::emit_cuda(work.nest, work.gpu->program, work.gpu->options);
}

bool holds_parallel_loop(const tile::Node& node) {
  return node.parallel || std::ranges::any_of(node.children, holds_parallel_loop);
}

/// @param until  when --verify has to end
Work work_on(Nest nest, const TileOptions& options, Clock::time_point until) {
  Work work{std::move(nest), {}, {}, {}, false, {}, {}, {}};
  work.c_nest = work.nest;
  std::vector<tile::Step> steps = options.steps;
  if (options.automatic) {
    tile::CpuPlan plan = tile::plan_for_cpu(work.nest);
    work.c_nest = std::move(plan.nest);
    steps = std::move(plan.steps);
  }
  if (options.explains())  // steps of copies mean nothing to the source's nest
    work.explanation =
        tile::explain(work.nest, {.tile = options.footprint,
                                  .steps = work.c_nest.statements().size() == work.nest.statements().size()
                                               ? steps
                                               : std::vector<tile::Step>()});
  const tile::Schedule schedule = tile::transform(work.c_nest, steps, options.reassociate);
  if (options.emits_c()) {
    work.code =
        schedule.code(options.reassociate ? tile::Reassociate::everything : tile::Reassociate::integers);
    work.stays = options.automatic && steps.empty() && !holds_parallel_loop(work.code) &&
                 work.c_nest.statements().size() == work.nest.statements().size();
  }
  if (options.emits_cuda()) {
    work.gpu = plan_for_gpu(work.nest, schedule, options);
  } else if (options.explains()) {
    try {
      work.gpu = plan_for_gpu(work.nest, schedule, options);
    } catch (const BadInput& error) {  // all else holds
      work.no_gpu = error.what();
    }
  }
  if (options.verify) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
    work.verification = tile::verify(work.nest, work.gpu->program, cuda_of(work), options.gpu,
                                     std::max(left, std::chrono::milliseconds(0)));
  }
  return work;
}

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

struct Nests {
  std::string source;     ///< without `mark`
  std::string_view mark;  ///< of the byte order, as some editors write it
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
std::vector<tile::SizeRange> sizes_of(const tile::Region& region, const TileOptions& options) {
  std::vector<tile::SizeRange> sizes;
  for (const tile::SizeRange& range : options.sizes)
    if (std::ranges::count(region.sizes, range.name) > 0) sizes.push_back(range);
  return sizes;
}

/// Regions that lie in the subset as nests, of the others why not.
void analyse(std::vector<tile::Region> regions, const TileOptions& options, Nests& nests,
             std::set<std::string>& sizes) {
  for (tile::Region& region : regions) {
    sizes.insert(region.sizes.begin(), region.sizes.end());
    try {
      std::vector<tile::SizeRange> known = sizes_of(region, options);
      nests.inside.push_back(Nest::analyse(std::move(region), std::move(known)));
    } catch (const BadInput& error) {
      nests.refusals.emplace_back(error.what());
    }
  }
}

bool is_cpp(const std::string& path) {
  const std::string end = std::filesystem::path(path).extension().string();
  return end == ".cc" || end == ".cpp" || end == ".cxx" || end == ".C" || end == ".hpp" || end == ".hh";
}

void read_through_clang(const TileOptions& options, Nests& nests, std::set<std::string>& sizes) {
  if (options.path == "-")
    throw BadInput(
        "standard input is read by our own reader alone: Clang needs the FILE that headers are beside");
  tile::ClangOptions clang = options.clang;
  if (!options.database.empty()) {
    tile::ClangOptions command = tile::compile_command(options.database, options.path);
    clang.directory = command.directory;
    clang.flags.insert(clang.flags.begin(), command.flags.begin(), command.flags.end());
  }
  analyse(tile::read_with_clang(options.path, options.source, clang), options, nests, sizes);
}

/// Our own reader first, which needs no compiler; what it refuses Clang may know.
void read_by_either(const TileOptions& options, Nests& nests, std::set<std::string>& sizes) {
  const std::string file = input_name(options.path);
  const bool has_clang = options.path != "-" && !tile::find_clang(options.clang).empty();
  const std::string hint =
      "Clang reads more of C than our own reader, and there is none here: install it (Debian and Ubuntu: apt-get "
      "install clang)";
  std::string failure;
  try {
    analyse(tile::read_source(nests.source, file, options.source), options, nests, sizes);
    if (nests.refusals.empty()) return;
  } catch (const BadInput& error) {
    failure = error.what();
    if (!has_clang) throw BadInput(options.path == "-" ? failure : failure + "\n" + hint);
  }
  if (!has_clang) {
    log(LogLevel::info, hint);
    return;
  }
  Nests more{nests.source, nests.mark, {}, {}};
  std::set<std::string> more_sizes;
  try {
    read_through_clang(options, more, more_sizes);
  } catch (const BadInput& error) {
    if (!failure.empty()) throw BadInput(failure + "\n" + error.what());
    log(LogLevel::warning, error.what());
    return;
  }
  // The compiler forgets the outermost extents of parameters: unless it finds more, our own reader's nests
  // are better.
  if (failure.empty() && more.inside.size() <= nests.inside.size()) return;
  nests = std::move(more);
  sizes = std::move(more_sizes);
}

/// The nests of the file that lie in the subset; what is outside does not stop the others.
Nests read_nests(const TileOptions& options) {
  Nests nests{read_input(options.path), {}, {}, {}};
  if (nests.source.starts_with(kByteOrderMark)) {
    nests.source.erase(0, kByteOrderMark.size());
    nests.mark = kByteOrderMark;
  }
  const std::string file = input_name(options.path);
  std::set<std::string> sizes, loop_names;
  if (options.front_end == "clang" || (options.front_end == "auto" && is_cpp(options.path)))
    read_through_clang(options, nests, sizes);
  else if (options.front_end == "own")
    analyse(tile::read_source(nests.source, file, options.source), options, nests, sizes);
  else
    read_by_either(options, nests, sizes);
  if (nests.inside.empty() && nests.refusals.empty())
    throw BadInput(fmt::format("{}: no function has loops", file));
  if (nests.inside.empty()) throw BadInput(fmt::format("{}", fmt::join(nests.refusals, "\n")));
  for (const Nest& nest : nests.inside)
    for (const tile::Statement& statement : nest.statements())
      loop_names.insert(statement.loops.begin(), statement.loops.end());
  for (const tile::SizeRange& range : options.sizes) check_names("--size", range.name, sizes, file);
  for (const auto& [loop, extent] : options.footprint) check_names("--footprint", loop, loop_names, file);
  return nests;
}

std::vector<Work> work_on_all(const Nests& nests, TileOptions options) {
  options.gpu.constant_bytes /= nests.inside.size();  // they share a file, and so a module's
  const Clock::time_point until = Clock::now() + options.time_limit;
  std::vector<Work> all;
  for (const Nest& nest : nests.inside) {
    try {
      all.push_back(work_on(nest, options, until));
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
    auto entries = Json::array();
    for (const Work& work : all) {
      Json& entry = entries.push_back(Json::parse(tile::to_json(work.nest, work.explanation)));
      Json& gpu = entry["gpu"];
      if (work.gpu)
        gpu = Json::parse(tile::to_json(work.nest, *work.gpu));
      else
        gpu["refused"] = work.no_gpu;
      if (work.verification)
        entry["verification"] = {{"good", work.verification->good},
                                 {"complete", work.verification->complete},
                                 {"compared", work.verification->compared},
                                 {"text", work.verification->text}};
    }
    return print_json({{"file", input_name(options.path)}, {"nests", entries}});
  }
  for (const Work& work : all) {
    if (options.explain) {
      if (&work != &all.front()) print("\n");
      print(tile::to_text(work.nest, work.explanation));
      print(work.gpu ? tile::to_text(work.nest, *work.gpu)
                     : "\nOn a GPU: not written\n  " + work.no_gpu + '\n');
    }
    if (work.verification) print(work.verification->text);
  }
}

/// The C of all functions in one file.
std::string c_of(const std::vector<Work>& all, const TileOptions& options) {
  std::vector<tile::CPart> parts;
  for (const Work& work : all) parts.push_back({work.c_nest, work.code});
  return tile::emit_c(parts, {.checks_on_entry = options.check_entry});
}

/// The source with its nests replaced; those for which there is nothing better stay as their author wrote
/// them. @param kept  set to how many that Clang read cannot be replaced where they stand
std::string replaced(const std::vector<Work>& all, const Nests& nests, const std::string& path,
                     std::size_t& kept) {
  std::vector<tile::CPart> parts;
  for (const Work& work : all) {
    if (!work.stays) {
      const tile::CPart part{work.c_nest, work.code};
      if (work.nest.region().text.end > 0) {
        try {
          std::error_code error;
          if (!std::filesystem::equivalent(work.nest.region().file, path, error))
            throw BadInput(fmt::format("{}:{}: {}: cannot be replaced: it stands in a file that {} includes",
                                       work.nest.region().file, work.nest.region().at.line,
                                       work.nest.region().function, path));
          tile::replace_in_source(nests.source, {part});
        } catch (const BadInput& error) {
          log(LogLevel::warning, error.what());
          ++kept;
          continue;
        }
      }
      parts.push_back(part);
      continue;
    }
    log(LogLevel::info,
        fmt::format("{}:{}: {} stays as it is: no order of its loops is known to be faster",
                    work.nest.region().file, work.nest.region().at.line, work.nest.region().function));
  }
  return std::string(nests.mark) + tile::replace_in_source(nests.source, parts);
}

/// The CUDA of all functions in one file.
std::string cuda_of(const std::vector<Work>& all, const tile::GpuOptions& options) {
  std::vector<tile::CudaPart> parts;
  for (const Work& work : all) parts.push_back({work.nest, work.gpu->program});
  return tile::emit_cuda(parts, options);
}

/// Files appear all together or not at all.
class Outputs {
 public:
  /// Refuses at once what cannot be written, before the work.
  explicit Outputs(const TileOptions& options) : options_(options) {
    for (const std::string& path : {options.c, options.cuda, options.html}) {
      if (path.empty() || path == "-") continue;
      std::error_code error;
      if (std::filesystem::equivalent(path, options.path, error))
        throw BadInput(
            fmt::format("{} is the source, which would be lost; name another file for the output", path));
      files_.add(path, options.force);
    }
    if (options.in_place) files_.add(options.path, options.force);
  }

  void write(const std::vector<Work>& all, const Nests& nests) {
    if (!options_.c.empty()) put(options_.c, c_of(all, options_));
    if (options_.in_place) put(options_.path, replaced(all, nests, options_.path, kept_));
    if (!options_.cuda.empty()) put(options_.cuda, cuda_of(all, options_.gpu));
    if (!options_.html.empty()) {
      std::vector<PagePart> parts;
      for (const Work& work : all)
        parts.push_back(
            {work.nest, work.explanation, tile::emit_c(work.c_nest, work.code), cuda_of(work), work.gpu});
      put(options_.html, tile::to_html(input_name(options_.path), parts, nests.source));
    }
    files_.commit();
  }
  /// Nests that were to be replaced and were not.
  std::size_t kept() const { return kept_; }

 private:
  void put(const std::string& path, const std::string& text) {
    if (path == "-") return print(text);
    files_.write(path, [&](const std::filesystem::path& staged) { write_file_atomically(staged, text); });
  }

  const TileOptions& options_;
  OutputFiles files_;
  std::size_t kept_ = 0;
};

int run(const TileOptions& options) {
  Run where;
  where.threads = options.threads;
  const RunScope scope(where);
  Outputs outputs(options);
  const Nests nests = read_nests(options);
  for (const std::string& refusal : nests.refusals) log(LogLevel::warning, refusal);
  const std::vector<Work> all = work_on_all(nests, options);
  print_results(all, options);
  outputs.write(all, nests);
  const bool verified = std::ranges::all_of(all, [](const Work& work) {
    return !work.verification || (work.verification->good && work.verification->compared > 0);
  });
  return nests.refusals.empty() && verified && outputs.kept() == 0 ? kDone : kFinding;
}

std::function<int()> add(Command& command) {
  return [read = add_tile_options(command)] { return run(read()); };
}

}  // namespace

Verb tile_verb() {
  return {
      "tile", "Explain reuse in loop nests, prove what is legal, and write tiled C and CUDA",
      "warploom tile examples/tile/lecture/matmul.c --explain\n"
      "  warploom tile examples/tile/lecture/matmul.c --auto --c matmul_tiled.c --cuda matmul.cu\n"
      "Steps (--permute, --tile, --strip-mine, --skew, --jam, --time-tile) are taken in the order of the command line, in every function;\n"
      "with S1: before its text, as S1:i=32, a step is taken around statement S1 only. What would break a dependence is refused, with a witness.",
      add};
}

}  // namespace warploom::tool
