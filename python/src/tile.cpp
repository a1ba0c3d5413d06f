#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <utility>

#include "module.hpp"
#include "warploom/core/error.hpp"
#include "warploom/tile/explain.hpp"
#include "warploom/tile/index_range.hpp"
#include "warploom/tile/parallelise.hpp"

namespace warploom::python {
namespace {

/// A step by its kind, the loops it names and its numbers.
using StepWords = std::tuple<std::string, std::vector<std::string>, std::vector<std::int64_t>>;

tile::Step step_of(const StepWords& words) {
  const auto& [kind, loops, numbers] = words;
  const auto need = [&, &kind = kind](bool fine, const char* form) {
    if (!fine) throw BadInput("steps: " + kind + " is written " + form);
  };
  std::vector<std::pair<std::string, std::int64_t>> sizes;
  for (std::size_t k = 0; k < std::min(loops.size(), numbers.size()); ++k)
    sizes.emplace_back(loops[k], numbers[k]);
  if (kind == "permute") return tile::Permute{.order = loops};
  if (kind == "tile")
    return need(!sizes.empty() && loops.size() == numbers.size(), "tile(i=32, j=32)"),
           tile::Tile{.sizes = sizes};
  if (kind == "jam")
    return need(!sizes.empty() && loops.size() == numbers.size(), "jam(i=4)"), tile::Jam{.sizes = sizes};
  if (kind == "strip_mine") {
    need(loops.size() == 1 && numbers.size() == 1, "strip_mine(i=32)");
    return tile::StripMine{.loop = loops[0], .size = numbers[0]};
  }
  need(kind == "skew" && loops.size() == 2 && numbers.size() == 1, "skew('j', 1, 'i')");
  return tile::Skew{.loop = loops[0], .factor = numbers[0], .by = loops[1]};
}

std::vector<tile::Step> steps_of(const std::vector<StepWords>& all) {
  std::vector<tile::Step> steps;
  for (const StepWords& words : all) steps.push_back(step_of(words));
  return steps;
}

std::vector<tile::Nest> nests_of(const std::string& source, const std::string& file) {
  std::vector<tile::Nest> nests;
  for (tile::Region& region : tile::read_source(source, file, {}))
    nests.push_back(tile::Nest::analyse(std::move(region)));
  return nests;
}

/// Of each nest: its function, the text for people, JSON.
auto explain(const std::string& source, const std::string& file, const std::vector<StepWords>& steps,
             const Asked& asked) {
  return run_asked(asked, Length::long_, [&](const Run& run) {
    const RunScope scope(run);
    std::vector<std::tuple<std::string, std::string, std::string>> all;
    for (const tile::Nest& nest : nests_of(source, file)) {
      const tile::Explanation made = tile::explain(nest, {.steps = steps_of(steps)});
      all.emplace_back(nest.region().function, tile::to_text(nest, made), tile::to_json(nest, made));
    }
    return all;
  });
}

std::string c(const std::string& source, const std::string& file, const std::vector<StepWords>& steps,
              const Asked& asked) {
  return run_asked(asked, Length::long_, [&](const Run& run) {
    const RunScope scope(run);
    const std::vector<tile::Nest> nests = nests_of(source, file);
    std::vector<tile::Node> codes;
    for (const tile::Nest& nest : nests)
      codes.push_back(tile::transform(nest, steps_of(steps), false).code(tile::Reassociate::integers));
    std::vector<tile::CPart> parts;  // references
    for (std::size_t k = 0; k < nests.size(); ++k) parts.push_back({nests[k], codes[k]});
    return tile::emit_c(parts);
  });
}

std::string cuda(const std::string& source, const std::string& file, const std::vector<StepWords>& steps,
                 const Asked& asked) {
  return run_asked(asked, Length::long_, [&](const Run& run) {
    const RunScope scope(run);
    const tile::GpuOptions options;
    const std::vector<tile::Nest> nests = nests_of(source, file);
    std::vector<tile::GpuProgram> programs;
    for (const tile::Nest& nest : nests) {
      // Without steps loops are ordered for threads.
      const tile::ParallelNest parallel =
          steps.empty() ? tile::parallelise(nest)
                        : tile::parallelise(tile::transform(nest, steps_of(steps), false));
      tile::check_index_range(parallel.nest, parallel.code, tile::Emitted::cuda);
      programs.push_back(tile::map_to_gpu(nest, parallel, options));
    }
    std::vector<tile::CudaPart> parts;  // references
    for (std::size_t k = 0; k < nests.size(); ++k) parts.push_back({nests[k], programs[k]});
    return tile::emit_cuda(parts, options);
  });
}

}  // namespace

void bind_tile(nb::module_& module) {
  module.def("tile_explain", &explain);
  module.def("tile_c", &c);
  module.def("tile_cuda", &cuda);
}

}  // namespace warploom::python
