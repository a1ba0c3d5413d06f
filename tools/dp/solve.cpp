#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>

#include "cli/verb.hpp"
#include "dp/problem.hpp"
#include "dp/saturating.hpp"
#include "problem.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"
#include "warploom/core/memory.hpp"
#include "warploom/core/npy.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/dp/chain.hpp"

namespace warploom::tool {
namespace {

struct Settings : DpSettings {
  std::string input, save;
  dp::Optimum optimum = dp::Optimum::minimum;
};

/// A square table [n, n], as float64 or int64. Whole numbers may be infinite: then they are
/// kUnreachable<int64>.
struct Input {
  std::string name;
  bool whole = false;
  std::vector<std::int64_t> integers;
  std::vector<double> reals;
  std::vector<unsigned> lines;  ///< of a text
  std::int64_t leaves = 0;

  /// "t.csv:3: column 2" or "t.npy[2, 1]"
  std::string place(std::int64_t i, std::int64_t j) const {
    if (lines.empty()) return fmt::format("{}[{}, {}]", name, i, j);
    return fmt::format("{}:{}: column {}", name, lines[static_cast<std::size_t>(i)], j + 1);
  }
};

template <class Element, class Value>
std::vector<Value> converted(const NpyArray& array) {
  std::vector<Value> values(array.count());
  for (std::size_t k = 0; k < values.size(); ++k) {
    if (k % (1 << 20) == 0) check_interrupt();
    Element element;
    std::memcpy(&element, array.data.data() + k * sizeof element, sizeof element);
    values[k] = static_cast<Value>(element);
  }
  return values;
}

Input from_npy(std::string_view bytes, const std::string& name) {
  const NpyArray array = parse_npy(bytes, name);
  Input input{.name = name, .whole = true, .integers = {}, .reals = {}, .lines = {}, .leaves = 0};
  if (array.shape.size() != 2 || array.shape[0] != array.shape[1])
    throw BadInput(fmt::format(
        "{}: an array of {} axes{}; a square table has two that are equally long", name, array.shape.size(),
        array.shape.size() == 2 ? fmt::format(", {} x {}", array.shape[0], array.shape[1]) : ""));
  if (array.shape[0] == 0) throw BadInput(fmt::format("{}: the table is empty", name));
  input.leaves = static_cast<std::int64_t>(array.shape[0]);
  const std::string& type = array.dtype;
  if (type == "i1")
    input.integers = converted<std::int8_t, std::int64_t>(array);
  else if (type == "i2")
    input.integers = converted<std::int16_t, std::int64_t>(array);
  else if (type == "i4")
    input.integers = converted<std::int32_t, std::int64_t>(array);
  else if (type == "i8")
    input.integers = converted<std::int64_t, std::int64_t>(array);
  else if (type == "u1")
    input.integers = converted<std::uint8_t, std::int64_t>(array);
  else if (type == "u2")
    input.integers = converted<std::uint16_t, std::int64_t>(array);
  else if (type == "u4")
    input.integers = converted<std::uint32_t, std::int64_t>(array);
  else if (type == "f4")
    input.reals = converted<float, double>(array);
  else if (type == "f8")
    input.reals = converted<double, double>(array);
  else
    throw BadInput(
        fmt::format("{}: elements of type {}; tables are i1, i2, i4, i8, u1, u2, u4, f4 or f8", name, type));
  input.whole = type[0] != 'f';
  return input;
}

Input from_text(std::string_view text, const std::string& name) {
  Input input{.name = name, .whole = false, .integers = {}, .reals = {}, .lines = {}, .leaves = 0};
  const auto take = [&]<class T>(io::Table<T> table, std::vector<T>& values) {
    if (table.rows != table.columns)
      throw BadInput(fmt::format("{}: {} rows of {} numbers; the table must be square", name, table.rows,
                                 table.columns));
    input.leaves = table.rows;
    input.lines = std::move(table.lines);
    values = std::move(table.values);
  };
  auto reals = io::parse_table<double>(text, name);
  input.whole = reals.whole && std::ranges::none_of(reals.values, [](double v) { return std::isnan(v); });
  if (input.whole) {
    reals = {};
    take(io::parse_table<std::int64_t>(text, name, dp::kUnreachable<std::int64_t>), input.integers);
  } else {
    take(std::move(reals), input.reals);
  }
  return input;
}

Input read_table(const std::string& path) {
  // As large as an array for which there is memory.
  const std::string bytes = path == "-" ? read_input(path) : read_file(path, available_memory());
  const std::string name = input_name(path);
  return bytes.starts_with("\x93NUMPY") ? from_npy(bytes, name) : from_text(bytes, name);
}

/// The type asked for or that suits. @throws BadInput (the cells may leave it)
dp::ValueType choose_type(const Input& input, dp::ValueType asked) {
  using enum dp::ValueType;
  if (asked == float32 || asked == float64) return asked;
  if (!input.whole) {
    if (asked == best) return float64;
    throw BadInput(
        fmt::format("{}: its numbers have fractions or are NaN; --type {} is for tables written in whole "
                    "numbers (and inf)",
                    input.name, name(asked)));
  }
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  std::int64_t leaf = 0, weight = 0;
  for (std::int64_t i = 0; i < input.leaves; ++i) {
    check_interrupt();
    for (std::int64_t j = i; j < input.leaves; ++j) {
      const std::int64_t value = input.integers[static_cast<std::size_t>(i * input.leaves + j)];
      const std::int64_t magnitude = value < -kMost ? kMost : std::abs(value);
      if (magnitude == dp::kUnreachable<std::int64_t>) continue;
      std::int64_t& most = i == j ? leaf : weight;
      most = std::max(most, magnitude);
    }
  }
  const std::int64_t bound = dp::saturating_add(dp::saturating_multiply(input.leaves, leaf),
                                                dp::saturating_multiply(input.leaves - 1, weight));
  return dp::choose_value_type(asked, bound, fmt::format("{}: cells", input.name));
}

/// A value of the table in another type; what has no solution stays without.
template <dp::Value T>
T value_of(const Input& input, std::int64_t i, std::int64_t j, dp::Optimum optimum) {
  const auto at = static_cast<std::size_t>(i * input.leaves + j);
  const T unreachable = optimum == dp::Optimum::minimum ? dp::kUnreachable<T> : -dp::kUnreachable<T>;
  if (input.whole) {
    const std::int64_t value = input.integers[at], none = dp::kUnreachable<std::int64_t>;
    if (value == (optimum == dp::Optimum::minimum ? none : -none)) return unreachable;
    if (value == none || value == -none)
      throw BadInput(fmt::format("{}: {} makes every optimum infinite; of a {} what has no solution is {}",
                                 input.place(i, j), value > 0 ? "inf" : "-inf",
                                 optimum == dp::Optimum::minimum ? "minimum" : "maximum",
                                 optimum == dp::Optimum::minimum ? "inf" : "-inf"));
    return static_cast<T>(value);
  }
  const double value = input.reals[at];
  if (value == (optimum == dp::Optimum::minimum ? HUGE_VAL : -HUGE_VAL)) return unreachable;
  const T narrowed = static_cast<T>(value);
  if constexpr (std::floating_point<T>)
    if (!std::isfinite(narrowed))
      throw BadInput(fmt::format("{}: {} {}", input.place(i, j), value,
                                 std::isfinite(value)
                                     ? "is beyond float32's range; use --type float64"
                                     : "is no cost; what has no solution is inf, of a maximum -inf"));
  return narrowed;
}

template <dp::Value T>
dp::Problem<T> problem_of(const Input& input, dp::Optimum optimum) {
  const std::int64_t n = input.leaves;
  require_memory(dp::Triangle<T>::bytes(n + 1), fmt::format("{}: the weights of {} leaves", input.name, n));
  dp::Problem<T> problem;
  problem.optimum = optimum;
  problem.cell_weight = dp::Triangle<T>(n + 1, T(0));
  for (std::int64_t i = 0; i < n; ++i) {
    check_interrupt();
    problem.leaves.push_back(value_of<T>(input, i, i, optimum));
    for (std::int64_t j = i + 1; j < n; ++j)
      problem.cell_weight(i, j + 1) = value_of<T>(input, i, j, optimum);
  }
  return problem;
}

template <class T>
constexpr const char* kDtype = std::same_as<T, std::int32_t>   ? "i4"
                               : std::same_as<T, std::int64_t> ? "i8"
                               : std::same_as<T, float>        ? "f4"
                                                               : "f8";

/// The whole of m over the leaves, 0 below its diagonal.
template <dp::Value T>
std::string table_file(const dp::Solution<T>& solution) {
  const auto n = static_cast<std::uint64_t>(solution.points() - 1);
  require_memory(2 * n * n * sizeof(T), "the square table");
  NpyArray array{.dtype = kDtype<T>, .shape = {n, n}, .data = std::vector<std::byte>(n * n * sizeof(T))};
  const dp::Triangle<T> table = solution.table();
  for (std::uint64_t i = 0; i < n; ++i) {
    check_interrupt();
    for (std::uint64_t j = i; j < n; ++j) {
      const T value = table(static_cast<std::int64_t>(i), static_cast<std::int64_t>(j) + 1);
      std::memcpy(array.data.data() + (i * n + j) * sizeof(T), &value, sizeof(T));
    }
  }
  return format_npy(array);
}

template <dp::Value T>
int solve_as(const Settings& s, DpRun& run, Input input, dp::ValueType type) {
  dp::Problem<T> problem = problem_of<T>(input, s.optimum);
  const std::int64_t n = input.leaves;
  if constexpr (std::floating_point<T>)  // of integers choose_type() has seen to it
    if (const long double bound = dp::magnitude_bound(problem); bound > std::numeric_limits<T>::max() / 2)
      throw BadInput(fmt::format(
          "{}: cells may reach {:.4g}, beyond {}'s range; {}", input.name, bound, name(type),
          type == dp::ValueType::float32 ? "use float64"
                                         : "divide the numbers by a constant, or write inf for no solution"));
  input = {};
  const dp::Solution<T> solution = dp::solve(problem, s.solve);
  const std::vector<dp::Split> splits = solution.trace();
  const bool solved = std::abs(solution.optimum()) != dp::kUnreachable<T>;
  if (!s.save.empty()) run.write(s.save, table_file(solution));

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
  Input input = read_table(s.input);
  const dp::ValueType type = choose_type(input, s.type);
  return dp::with_value_type(
      type, [&](auto tag) { return solve_as<typename decltype(tag)::type>(s, run, std::move(input), type); });
}

std::function<int()> add(Command& command) {
  auto s = std::make_shared<Settings>();
  command
      .add("TABLE", &s->input,
           "Square table w of n leaves, as .npy or text: w(i,i) is the value of leaf i, m[i,i]; "
           "w(i,j), i < j, is "
           "added once for the interval from leaf i to leaf j. inf (of a maximum -inf): no solution. "
           "What stands "
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
      "int32, int64, float32, float64, or auto: of whole numbers the smaller integer that holds every "
      "cell, else float64 [auto]");
  add_dp_options(command, *s);
  return [s] { return run(*s); };
}

}  // namespace

Verb dp_solve() {
  return {"solve", "m[i,j] = w(i,j) + best over i <= k < j of m[i,k] + m[k+1,j] for a table of your own",
          "warploom dp solve costs.csv --optimum max --save-table m.npy\n"
          "Prints the optimum and its tree over leaves 0 to n-1. JSON: splits lists [i, k, j]: leaves i to "
          "j-1 are "
          "split before leaf k.",
          &add};
}

}  // namespace warploom::tool
