#include "warploom/dp/chain.hpp"

#include <fmt/format.h>

#include <memory>

#include "cli/verb.hpp"
#include "problem.hpp"
#include "warploom/core/error.hpp"
#include "warploom/dp/read.hpp"
#include "warploom/io/table.hpp"

namespace warploom::tool {
namespace {

struct Settings : DpSettings {
  std::vector<std::string> words;
  std::string file, matrices;
};

/// @param texts  gets the file that they come from, if they do
std::vector<std::int64_t> read_dimensions(const Settings& s, std::vector<NumberText>& texts) {
  if (!s.words.empty() + !s.file.empty() + !s.matrices.empty() != 1)
    throw BadInput("say the dimensions once: as arguments, with --file or with --matrices");
  if (!s.words.empty()) return dp::parse_dimensions(s.words);
  const bool shapes = !s.matrices.empty();
  NumberText& text = texts.emplace_back(read_numbers(shapes ? s.matrices : s.file));
  text.number = [shapes](std::string_view, std::size_t k) { return shapes && k > 0 ? 2 * k - 1 : k; };
  if (shapes) return dp::parse_shapes(text.text, text.file);
  return io::parse_list<std::int64_t>(text.text, text.file).values;
}

int run(Settings& s) {
  DpRun run(s);
  std::vector<NumberText> texts;
  const std::vector<std::int64_t> dimensions = read_dimensions(s, texts);
  dp::ChainOrder order;
  with_lines(texts, [&] { order = dp::chain_order(dimensions, {.solve = s.solve, .type = s.type}); });
  Json products = Json::array();
  for (const dp::Split& split : order.splits) products.push_back({split.i + 1, split.k, split.j});
  return run.finish(
      fmt::format("{} matrices: {} multiplications (left to right: {})\n{}\n", dimensions.size() - 1,
                  dp::text(order.cost), dp::text(order.left_to_right), order.parenthesisation),
      {{"problem", "chain"},
       {"matrices", dimensions.size() - 1},
       {"type", name(order.type)},
       {"cost", as_json(order.cost)},
       {"left_to_right", as_json(order.left_to_right)},
       {"parenthesisation", order.parenthesisation},
       {"products", std::move(products)}},
      order.report);
}

std::function<int()> add(Command& command) {
  auto s = std::make_shared<Settings>();
  command.add(
      "DIMENSION", &s->words,
      "n + 1 dimensions d of n matrices, matrix k is d[k-1] x d[k]; or n times ROWSxCOLUMNS. Whole numbers, 1 or more");
  command.add("--file FILE", &s->file,
              "The n + 1 dimensions from a text, in as many lines as one likes; '-' for standard input");
  command.add(
      "--matrices FILE", &s->matrices,
      "Shapes from a table of two columns, a line ROWS COLUMNS for each matrix; '-' for standard input");
  add_type_option(
      command, s->type,
      "int32, int64, float32, float64 (which round large costs), or auto, the smaller integer that holds the cost [auto]");
  add_dp_options(command, *s);
  return [s] { return run(*s); };
}

}  // namespace

Verb dp_chain() {
  return {
      "chain", "Find the order of multiplying a chain of matrices that needs the fewest multiplications",
      "warploom dp chain 30 35 15 5 10 20 25\n"
      "  warploom dp chain 30x35 35x15 15x5 --json\n"
      "Prints the cost, in multiplications of numbers, and the order. JSON: products lists the first matrix, the "
      "last of the left factor and the last of each product, counted from 1.",
      &add};
}

}  // namespace warploom::tool
