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

/// A table of rows p_k q_k, or p_1 to p_n and q_0 to q_n in files of their own.
std::vector<NumberText> read_texts(const Settings& s) {
  std::vector<NumberText> texts{read_numbers(s.first)};
  if (s.second.empty()) {
    texts[0].number = [](std::string_view name, std::size_t k) { return 2 * k + (name == "q" ? 1 : 0); };
    return texts;
  }
  using Found = std::optional<std::size_t>;
  texts.push_back(read_numbers(s.second));
  texts[0].number = [](std::string_view name, std::size_t k) { return name == "p" ? Found(k - 1) : Found(); };
  texts[1].number = [](std::string_view name, std::size_t k) { return name == "q" ? Found(k) : Found(); };
  return texts;
}

dp::AnyFrequencies frequencies_of(const std::vector<NumberText>& texts) {
  if (texts.size() == 1) return dp::parse_frequencies(texts[0].text, texts[0].file);
  return dp::parse_frequencies(texts[0].text, texts[0].file, texts[1].text, texts[1].file);
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
  const std::vector<NumberText> texts = read_texts(s);
  const dp::AnyFrequencies frequencies = frequencies_of(texts);
  dp::SearchTree tree;
  with_lines(texts, [&] {
    tree = std::visit([&](const auto& f) { return dp::search_tree(f.p, f.q, options); }, frequencies);
  });
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
      "search-tree", "Find the binary search tree of least expected cost",
      "warploom dp search-tree p.txt q.txt --json\n"
      "  printf 'p,q\\n0,.05\\n.15,.1\\n.1,.05\\n' | warploom dp search-tree -\n"
      "Numbers are probabilities or counts, 0 or more; whole numbers are exact. The cost is the sum of "
      "each times the nodes its search visits, the gap it ends in included. Keys are counted from 1; child 0 is a gap. The root's depth is 0.",
      &add};
}

}  // namespace warploom::tool
