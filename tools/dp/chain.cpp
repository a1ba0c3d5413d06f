#include "warploom/dp/chain.hpp"

#include <fmt/format.h>

#include <memory>

#include "cli/verb.hpp"
#include "problem.hpp"
#include "warploom/core/error.hpp"

namespace warploom::tool {
namespace {

struct Settings : DpSettings {
  std::vector<std::string> words;
  std::string file, matrices;
};

/// Dimensions of the chain from those of each matrix.
class Shapes {
 public:
  /// @param where  "A2", or with the place in a file
  void add(std::int64_t rows, std::int64_t columns, const std::string& where) {
    if (!dimensions_.empty() && rows != dimensions_.back())
      throw BadInput(
          fmt::format("{} is {} x {}, but the matrix before it has {} columns: they cannot be multiplied",
                      where, rows, columns, dimensions_.back()));
    if (dimensions_.empty()) dimensions_.push_back(rows);
    dimensions_.push_back(columns);
  }
  std::vector<std::int64_t> dimensions() && { return std::move(dimensions_); }

 private:
  std::vector<std::int64_t> dimensions_;
};

std::int64_t whole(std::string_view text, const std::string& word) {
  std::int64_t value = 0;
  if (!parse_whole(text, value))
    throw BadInput(fmt::format("'{}' is no dimension: a whole number below 2^63, or ROWSxCOLUMNS", word));
  return value;
}

std::vector<std::int64_t> from_words(const std::vector<std::string>& words) {
  std::vector<std::int64_t> numbers;
  Shapes shapes;
  std::size_t shaped = 0;
  for (const std::string& word : words) {
    const std::size_t cross = word.find('x');
    if (cross == word.npos) {
      numbers.push_back(whole(word, word));
      continue;
    }
    shapes.add(whole(std::string_view(word).substr(0, cross), word),
               whole(std::string_view(word).substr(cross + 1), word), fmt::format("A{}", ++shaped));
  }
  if (shaped > 0 && !numbers.empty())
    throw BadInput("dimensions are numbers, or each is a ROWSxCOLUMNS; here are both");
  return shaped > 0 ? std::move(shapes).dimensions() : numbers;
}

std::vector<std::int64_t> from_matrices(const std::string& path) {
  const std::string name = input_name(path);
  const auto table = io::parse_table<std::int64_t>(read_input(path), name);
  if (table.columns != 2)
    throw BadInput(fmt::format("{}: {} columns; each matrix has a row of two numbers, its rows and columns",
                               name, table.columns));
  Shapes shapes;
  for (std::int64_t k = 0; k < table.rows; ++k)
    shapes.add(table(k, 0), table(k, 1),
               fmt::format("{}:{}: A{}", name, table.lines[static_cast<std::size_t>(k)], k + 1));
  return std::move(shapes).dimensions();
}

std::vector<std::int64_t> read_dimensions(const Settings& s) {
  if (!s.words.empty() + !s.file.empty() + !s.matrices.empty() != 1)
    throw BadInput("say the dimensions once: as arguments, with --file or with --matrices");
  if (!s.words.empty()) return from_words(s.words);
  if (!s.matrices.empty()) return from_matrices(s.matrices);
  return io::parse_list<std::int64_t>(read_input(s.file), input_name(s.file)).values;
}

int run(Settings& s) {
  DpRun run(s);
  const std::vector<std::int64_t> dimensions = read_dimensions(s);
  const dp::ChainOrder order = dp::chain_order(dimensions, {.solve = s.solve, .type = s.type});
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
  command.add("DIMENSION", &s->words,
              "n + 1 dimensions d of n matrices, matrix k is d[k-1] x d[k]; or n times ROWSxCOLUMNS. "
              "Whole numbers, 1 or more");
  command.add("--file FILE", &s->file,
              "The n + 1 dimensions from a text, in as many lines as one likes; '-' for standard input");
  command.add(
      "--matrices FILE", &s->matrices,
      "Shapes from a table of two columns, a line ROWS COLUMNS for each matrix; '-' for standard input");
  add_type_option(
      command, s->type,
      "int32, int64, float32, float64 (which round large costs), or auto, the smaller integer that "
      "holds the cost [auto]");
  add_dp_options(command, *s);
  return [s] { return run(*s); };
}

}  // namespace

Verb dp_chain() {
  return {"chain", "The order of multiplying a chain of matrices that needs the fewest multiplications",
          "warploom dp chain 30 35 15 5 10 20 25\n"
          "  warploom dp chain 30x35 35x15 15x5 --json\n"
          "Prints the cost, in multiplications of numbers, and the order. JSON: products lists the first "
          "matrix, the "
          "last of the left factor and the last of each product, counted from 1.",
          &add};
}

}  // namespace warploom::tool
