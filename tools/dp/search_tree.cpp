#include "warploom/dp/search_tree.hpp"

#include <fmt/format.h>

#include <iterator>
#include <memory>

#include "cli/verb.hpp"
#include "problem.hpp"
#include "warploom/core/error.hpp"

namespace warploom::tool {
namespace {

struct Settings : DpSettings {
  std::string first, second;
};

/// How often keys and gaps are looked for.
struct Frequencies {
  bool whole = false;
  std::vector<std::int64_t> p_integers, q_integers;
  std::vector<double> p_reals, q_reals;
};

std::vector<double> reals(const DpNumbers& numbers) {
  if (!numbers.whole) return numbers.reals.values;
  return {numbers.integers.values.begin(), numbers.integers.values.end()};
}

void require_columns(const DpNumbers& numbers, std::int64_t columns, const std::string& path) {
  if (numbers.columns() != columns && numbers.rows() != 1)
    throw BadInput(fmt::format("{}: {} columns; {} expected", input_name(path), numbers.columns(),
                               columns == 1 ? "one is" : "two are, p and q,"));
}

Frequencies from_two(const Settings& s) {
  const DpNumbers p = read_numbers(s.first), q = read_numbers(s.second);
  require_columns(p, 1, s.first);
  require_columns(q, 1, s.second);
  if (p.whole && q.whole) return {true, p.integers.values, q.integers.values, {}, {}};
  return {false, {}, {}, reals(p), reals(q)};
}

/// Row k holds p_k and q_k; there is no key 0.
template <class T>
void split_columns(const io::Table<T>& table, const std::string& path, std::vector<T>& p, std::vector<T>& q) {
  if (table.columns != 2)
    throw BadInput(fmt::format("{}: {} columns; two are expected, p and q, or P and Q in files of their own",
                               input_name(path), table.columns));
  if (table(0, 0) == table(0, 0) && table(0, 0) != 0)
    throw BadInput(
        fmt::format("{}:{}: p of the first row is {}; it must be 0 or nan, since keys count from 1 and "
                    "that row has q_0 alone",
                    input_name(path), table.lines.front(), table(0, 0)));
  for (std::int64_t k = 0; k < table.rows; ++k) {
    if (k > 0) p.push_back(table(k, 0));
    q.push_back(table(k, 1));
  }
}

Frequencies from_one(const Settings& s) {
  const DpNumbers table = read_numbers(s.first);
  Frequencies f{.whole = table.whole, .p_integers = {}, .q_integers = {}, .p_reals = {}, .q_reals = {}};
  if (f.whole)
    split_columns(table.integers, s.first, f.p_integers, f.q_integers);
  else
    split_columns(table.reals, s.first, f.p_reals, f.q_reals);
  return f;
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
  const Frequencies f = s.second.empty() ? from_one(s) : from_two(s);
  const dp::SearchTreeOptions options{.solve = s.solve, .type = s.type};
  const dp::SearchTree tree = f.whole ? dp::search_tree(f.p_integers, f.q_integers, options)
                                      : dp::search_tree(f.p_reals, f.q_reals, options);
  return run.finish(as_text(tree), as_json(tree), tree.report);
}

std::function<int()> add(Command& command) {
  auto s = std::make_shared<Settings>();
  command
      .add("P", &s->first,
           "How often each of n keys is looked for, in their order: a file of n numbers; without Q, a table "
           "of "
           "n + 1 rows p_k q_k, k = 0 to n, with 0 or nan as p_0. '-' for standard input")
      .required();
  command.add(
      "Q", &s->second,
      "How often what lies before, between and after the keys is looked for: a file of n + 1 numbers");
  add_type_option(
      command, s->type,
      "int32, int64, float32, float64, or auto: of integers the smaller that holds the cost, else float64 "
      "[auto]");
  add_dp_options(command, *s);
  return [s] { return run(*s); };
}

}  // namespace

Verb dp_search_tree() {
  return {"search-tree", "The binary search tree of least expected cost",
          "warploom dp search-tree p.txt q.txt --json\n"
          "  printf 'p,q\\n0,.05\\n.15,.1\\n.1,.05\\n' | warploom dp search-tree -\n"
          "Numbers are probabilities or counts, 0 or more; whole numbers are exact. The cost is the sum of "
          "each times the nodes its search visits, the gap it ends in included. Keys are counted from 1; "
          "child 0 is a gap. The root's depth is 0.",
          &add};
}

}  // namespace warploom::tool
