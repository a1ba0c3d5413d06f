#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <utility>

#include "cli/verb.hpp"
#include "problem.hpp"
#include "warploom/core/file.hpp"
#include "warploom/core/memory.hpp"
#include "warploom/dp/chain.hpp"
#include "warploom/dp/user_table.hpp"

namespace warploom::tool {
namespace {

struct Settings : DpSettings {
  std::string input, save;
  dp::Optimum optimum = dp::Optimum::minimum;
};

dp::UserTable read_table(const std::string& path) {
  // As large as an array for which there is memory.
  const std::string bytes = path == "-" ? read_input(path) : read_file(path, available_memory());
  return dp::parse_user_table(bytes, input_name(path));
}

template <dp::Value T>
int solve_as(const Settings& s, DpRun& run, dp::UserTable input, dp::ValueType type) {
  const dp::Problem<T> problem = dp::problem_of<T>(input, s.optimum);
  const std::int64_t n = input.leaves;
  input = {};
  const dp::Solution<T> solution = dp::solve(problem, s.solve);
  const std::vector<dp::Split> splits = solution.trace();
  const bool solved = std::abs(solution.optimum()) != dp::kUnreachable<T>;
  if (!s.save.empty()) run.write(s.save, dp::format_table(solution));

  const std::string tree = solved ? dp::parenthesisation(splits, n, "", 0) : "";
  const std::string text = solved ? fmt::format("{}\n{}\n", solution.optimum(), tree) : "no solution\n";
  Json list = Json::array();
  for (const dp::Split& split : splits) list.push_back({split.i, split.k, split.j});
  return run.finish(text,
                    {{"problem", "solve"},
                     {"leaves", n},
                     {"objective", name(s.optimum)},
                     {"type", name(type)},
                     {"optimum", solved ? Json(solution.optimum()) : Json()},
                     {"tree", tree},
                     {"splits", std::move(list)}},
                    solution.report());
}

int run(Settings& s) {
  DpRun run(s);
  run.add("--save-table", s.save, ".npy");
  dp::UserTable input = read_table(s.input);
  const dp::ValueType type = dp::choose_value_type(input, s.type);
  return dp::with_value_type(
      type, [&](auto tag) { return solve_as<typename decltype(tag)::type>(s, run, std::move(input), type); });
}

std::function<int()> add(Command& command) {
  auto s = std::make_shared<Settings>();
  command
      .add(
          "TABLE", &s->input,
          "Square table w of n leaves, as .npy or text: w(i,i) is the value of leaf i, m[i,i]; w(i,j), i < j, is "
          "added once for the interval from leaf i to leaf j. inf (of a maximum -inf): no solution. What stands "
          "below the diagonal is not used. '-' for standard input")
      .required();
  command.add(
      "--optimum WHICH", [s](const std::string& text) { s->optimum = dp::parse_optimum(text); },
      "Which is the best: min or max [min]");
  command.add(
      "--save-table FILE", &s->save,
      "All of m to write, as a square .npy; 0 below the diagonal, 2^30-1 or 2^62-1 for inf in integers");
  add_type_option(
      command, s->type,
      "int32, int64, float32, float64, or auto: of whole numbers the smaller integer that holds every cell, else float64 [auto]");
  add_dp_options(command, *s);
  return [s] { return run(*s); };
}

}  // namespace

Verb dp_solve() {
  return {
      "solve", "Solve m[i,j] = w(i,j) + best over i <= k < j of m[i,k] + m[k+1,j] for a table of your own",
      "warploom dp solve costs.csv --optimum max --save-table m.npy\n"
      "Prints the optimum and its tree over leaves 0 to n-1. JSON: splits lists [i, k, j]: leaves i to j-1 are split before leaf k.",
      &add};
}

}  // namespace warploom::tool
