#include "warploom/dp/search_tree.hpp"

#include <fmt/format.h>

#include <iterator>
#include <memory>

#include "cli/verb.hpp"
#include "problem.hpp"
#include "warploom/dp/read.hpp"

namespace warploom::tool {
namespace {

struct Settings : DpSettings {
  std::string first, second;
};

dp::AnyFrequencies read_frequencies(const Settings& s) {
  const std::string name = input_name(s.first);
  if (s.second.empty()) return dp::parse_frequencies(read_input(s.first), name);
  return dp::parse_frequencies(read_input(s.first), name, read_input(s.second), input_name(s.second));
}

std::string as_text(const dp::SearchTree& tree) {
  std::string out = fmt::format("{} keys: cost {}, root {}, height {}\n", tree.nodes.size(),
                                dp::text(tree.cost), tree.root, tree.level_keys.size());
  out += "key  left  right  depth\n";
  for (std::size_t k = 0; k < tree.nodes.size(); ++k)
    fmt::format_to(std::back_inserter(out), "{:3}  {:4}  {:5}  {:5}\n", k + 1, tree.nodes[k].left,
                   tree.nodes[k].right, tree.nodes[k].depth);
  return out;
}

Json as_json(const dp::SearchTree& tree) {
  Json nodes = Json::array();
  for (std::size_t k = 0; k < tree.nodes.size(); ++k)
    nodes.push_back({{"key", k + 1},
                     {"left", tree.nodes[k].left},
                     {"right", tree.nodes[k].right},
                     {"depth", tree.nodes[k].depth}});
  return {
      {"problem", "search-tree"},         {"keys", tree.nodes.size()},          {"type", name(tree.type)},
      {"cost", tool::as_json(tree.cost)}, {"total", tool::as_json(tree.total)}, {"root", tree.root},
      {"height", tree.level_keys.size()}, {"level_keys", tree.level_keys},      {"nodes", std::move(nodes)}};
}

int run(Settings& s) {
  DpRun run(s);
  const dp::SearchTreeOptions options{.solve = s.solve, .type = s.type};
  const dp::SearchTree tree =
      std::visit([&](const auto& f) { return dp::search_tree(f.p, f.q, options); }, read_frequencies(s));
  return run.finish(as_text(tree), as_json(tree), tree.report);
}

std::function<int()> add(Command& command) {
  auto s = std::make_shared<Settings>();
  command
      .add(
          "P", &s->first,
          "How often each of n keys is looked for, in their order: a file of n numbers; without Q, a table of "
          "n + 1 rows p_k q_k, k = 0 to n, with 0 or nan as p_0. '-' for standard input")
      .required();
  command.add(
      "Q", &s->second,
      "How often what lies before, between and after the keys is looked for: a file of n + 1 numbers");
  add_type_option(
      command, s->type,
      "int32, int64, float32, float64, or auto: of integers the smaller that holds the cost, else float64 [auto]");
  add_dp_options(command, *s);
  return [s] { return run(*s); };
}

}  // namespace

Verb dp_search_tree() {
  return {
      "search-tree", "The binary search tree of least expected cost",
      "warploom dp search-tree p.txt q.txt --json\n"
      "  printf 'p,q\\n0,.05\\n.15,.1\\n.1,.05\\n' | warploom dp search-tree -\n"
      "Numbers are probabilities or counts, 0 or more; whole numbers are exact. The cost is the sum of "
      "each times the nodes its search visits, the gap it ends in included. Keys are counted from 1; child 0 is a gap. The root's depth is 0.",
      &add};
}

}  // namespace warploom::tool
