// Programs by chance with scalars in bodies, sums, conditions on data, indirect and flat arrays: what is
// called legal computes what the source does, in whatever order the parallel loops run. Of orders that are
// legal a quarter becomes loops, which takes most of the time; the others run iteration by iteration.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <random>

#include "iterations_in_order.hpp"
#include "parallel_order.hpp"
#include "warploom/core/error.hpp"

namespace warploom::tile {
namespace {

/// Texts of functions over A[12][12], B[12], F[70] (used flat), X[12] (indices), s: ints, so that results are
/// exact. No subscript leaves its array.
class Maker {
 public:
  explicit Maker(std::mt19937& random) : random_(random) {}

  std::string make() {
    text_ =
        "void f(int n, int A[12][12], int B[12], int F[70], const int X[12], int C[n]) {\n  int u = 1, v = 2;\n";
    depth_limit_ = pick(1, 3);
    for (int loops = pick(1, 2); loops > 0; --loops) loop(0);
    if (chance(60)) text_ += "  B[11] = u;\n";
    if (chance(30)) text_ += "  B[10] = v;\n";
    return text_ + "}\n";
  }

 private:
  int pick(int least, int most) { return std::uniform_int_distribution<int>(least, most)(random_); }
  bool chance(int percent) { return pick(1, 100) <= percent; }
  template <class... Options>
  std::string one_of(const Options&... options) {
    const std::vector<std::string> all{options...};
    return all[static_cast<std::size_t>(pick(0, static_cast<int>(all.size()) - 1))];
  }
  void line(const std::string& text) { text_ += std::string(2 * indentation_, ' ') + text + "\n"; }

  std::string loop_name(int depth) { return std::string(1, "ijk"[depth]); }
  std::string iterator() { return depth_ == 0 ? std::to_string(pick(0, 3)) : loop_name(pick(0, depth_ - 1)); }

  /// 0 .. 11, for iterators 0 .. 4.
  std::string subscript() {
    if (chance(10)) return std::to_string(pick(0, 11));
    if (chance(15)) return "X[" + iterator() + "]";  // 1 .. 8
    const std::string i = iterator();
    if (chance(20)) return i + " + " + iterator();
    if (chance(5)) return one_of(i + " / 2", i + " % 3");
    return chance(50) ? i : i + " + " + std::to_string(pick(1, 3));
  }

  std::string array() {
    switch (pick(0, 5)) {
      case 0:
      case 1:
        return "A[" + subscript() + "][" + subscript() + "]";
      case 2:
        return "F[" + iterator() + " * 6 + " + iterator() + "]";
      case 3:
        return depth_ > 0 ? "C[" + iterator() + "]" : "B[0]";
      default:
        return "B[" + subscript() + "]";
    }
  }
  std::string scalar() {
    std::vector<std::string> names = locals_;
    names.insert(names.end(), {"u", "v"});
    return names[static_cast<std::size_t>(pick(0, static_cast<int>(names.size()) - 1))];
  }
  std::string read() { return chance(45) ? scalar() : array(); }
  std::string value() {
    std::string text = "(" + std::to_string(pick(1, 9));
    for (int reads = pick(0, 2); reads > 0; --reads)
      text += " + " + std::to_string(pick(2, 5)) + " * " + read();
    if (depth_ > 0) text += " + " + iterator();
    return text + ") % 101";
  }
  std::string condition() {
    return read() + one_of(" > ", " < ", " >= ") + one_of(std::string("4"), read(), std::string("50"));
  }

  void statement() {
    switch (pick(0, 9)) {
      case 0:
        return line(scalar() + " += " + value() + ";");
      case 1:
      case 2:
        return line(scalar() + " = " + value() + ";");
      case 3: {
        const std::string m = scalar(), x = array();
        return line(one_of("if (" + x + " > " + m + ") " + m + " = " + x + ";",
                           m + " = " + m + " < " + x + " ? " + m + " : " + x + ";"));
      }
      case 4:
        return line(array() + " += " + value() + ";");
      default:
        return line(array() + " = " + value() + ";");
    }
  }

  void branch() {
    line("if (" + condition() + ") {");
    ++indentation_;
    for (int count = pick(1, 2); count > 0; --count) statement();
    --indentation_;
    if (chance(40)) {
      line("} else {");
      ++indentation_;
      statement();
      --indentation_;
    }
    line("}");
  }

  void declaration() {
    const std::string name = "t" + std::to_string(++declared_);
    if (chance(80)) {
      line("int " + name + " = " + value() + ";");
    } else {
      line("int " + name + ";");
      line("if (" + condition() + ") " + name + " = " + value() + "; else " + name + " = " + value() + ";");
    }
    locals_.push_back(name);
  }

  void loop(int depth) {
    const std::string i = loop_name(depth);
    const std::string limit = depth > 0 && chance(15) ? loop_name(depth - 1) + " + 1" : "n";
    line("for (int " + i + " = 0; " + i + " < " + limit + "; " + i + "++) {");
    const std::vector<std::string> outer = locals_;
    ++indentation_;
    depth_ = depth + 1;
    if (chance(45)) declaration();
    if (depth + 1 < depth_limit_) {
      if (chance(40)) statement();
      loop(depth + 1);
      if (chance(40)) statement();
    } else {
      for (int count = pick(1, 3); count > 0; --count) chance(25) ? branch() : statement();
    }
    locals_ = outer;
    depth_ = depth;
    --indentation_;
    line("}");
  }

  std::mt19937& random_;
  std::string text_;
  std::vector<std::string> locals_;
  int indentation_ = 1, depth_ = 0, depth_limit_ = 1, declared_ = 0;
};

struct Counts {
  long programs = 0, legal = 0, illegal = 0, loops = 0, parallel_loops = 0, refused = 0;
};

bool holds_parallel_loop(const Node& node) {
  return (node.kind == Node::Kind::loop && node.parallel) ||
         std::ranges::any_of(node.children, holds_parallel_loop);
}

class Check {
 public:
  Check(std::mt19937& random, Counts& counts, const std::string& text, Nest nest)
      : random_(random), counts_(counts), text_(text), nest_(std::move(nest)) {}

  void run() {
    ++counts_.programs;
    const std::map<std::string, std::int64_t> sizes{{"n", pick(1, 5)}};
    start_ = make_memory(nest_.region(), sizes, random_());
    Memory source = start_;
    const Region region = region_of(text_);
    Memory unchanged = make_memory(region, sizes, 1);
    for (auto& [name, values] : unchanged.arrays) values = start_.arrays.at(name);
    interpret(region, region.body, unchanged);  // as it was read, before anything was done to it
    expected_ = unchanged.arrays;
    expect_same(nest_.region().body, "the source");
    iterations_.emplace(nest_, sizes);
    check_order(Schedule::of_source(nest_), "its loops");
    for (int k = 0; k < 4 && !testing::Test::HasFatalFailure(); ++k) check(random_steps());
    if (pick(0, 3) == 0) check_parallelised(sizes);
  }

 private:
  int pick(int least, int most) { return std::uniform_int_distribution<int>(least, most)(random_); }

  std::vector<Step> random_steps() {
    std::vector<std::string> loops{"i", "j", "k"};
    std::shuffle(loops.begin(), loops.end(), random_);
    loops.resize(static_cast<std::size_t>(pick(1, 3)));
    std::vector<Step> steps;
    if (pick(0, 4) == 0) steps.push_back(Skew{"j", pick(1, 2), "i"});
    const int kind = pick(0, 4);
    if (kind < 2) {
      Tile tile;
      for (const std::string& loop : loops) tile.sizes.emplace_back(loop, pick(1, 3));
      steps.push_back(tile);
    } else if (kind < 4) {
      steps.push_back(Permute{loops});
    }
    if (kind == 4 || pick(0, 4) == 0) steps.push_back(Jam{{{loops.front(), pick(2, 3)}}});
    return steps;
  }

  void check(const std::vector<Step>& steps) {
    std::string what;
    for (const Step& step : steps) what += tile::to_text(step) + "; ";
    Schedule schedule = Schedule::of_source(nest_);
    try {
      for (const Step& step : steps) schedule = schedule.then(step);
    } catch (const BadInput&) {
      return;  // there is no such loop
    }
    if (!schedule.verdict().legal) {
      ++counts_.illegal;
      return;
    }
    ++counts_.legal;
    check_order(schedule, what);
  }

  void check_order(const Schedule& schedule, const std::string& what) {
    Memory memory = start_;
    const Node iterations = iterations_->of(schedule);
    interpret(nest_.region(), iterations, memory);
    compare(memory, iterations, what);
    if (testing::Test::HasFatalFailure() || pick(0, 3) > 0) return;
    const Node code = schedule.code();
    ++counts_.loops;
    counts_.parallel_loops += holds_parallel_loop(code);
    expect_same(code, what);
    if (testing::Test::HasFatalFailure() || !holds_parallel_loop(code) || pick(0, 3) > 0) return;
    ParallelNest parallel = parallelise(schedule);
    ASSERT_EQ(privates_missing(parallel), "") << text_ << what;
  }

  /// Two iterations of a parallel loop that touch one element which is not private.
  std::string privates_missing(const ParallelNest& parallel) const {
    return is_indirect() ? "" : first_race(parallel, start_.sizes);
  }
  bool is_indirect() const { return text_.find("[X[") != std::string::npos; }

  void check_parallelised(const std::map<std::string, std::int64_t>& sizes) {
    const ParallelNest parallel = parallelise(nest_);
    for (const Order order : {Order::as_written, Order::backwards, Order::odd_first}) {
      Memory memory = copy_snapshots(start_, parallel);
      for (const Variable& variable : parallel.nest.region().variables)
        if (variable.extents.empty()) memory.scalars.try_emplace(variable.name, 3);
      interpret(parallel.nest.region(), reordered(parallel.code, order), memory);
      bool last_values = false;
      for (const Privatised& copy : parallel.privatised) last_values = last_values || copy.last_value;
      if (order == Order::as_written || !last_values) compare(memory, parallel.code, "for threads");
    }
    if (!is_indirect()) {
      ASSERT_EQ(first_race(parallel, sizes), "") << text_ << tile::to_text(parallel.code);
    }
  }

  void expect_same(const Node& code, const std::string& what) {
    for (const Order order : {Order::as_written, Order::backwards, Order::odd_first}) {
      Memory memory = start_;
      interpret(nest_.region(), reordered(code, order), memory);
      compare(memory, code, what);
      if (testing::Test::HasFatalFailure()) return;
    }
  }

  void compare(const Memory& memory, const Node& code, const std::string& what) const {
    for (const auto& [name, values] : expected_)
      ASSERT_EQ(memory.arrays.at(name), values)
          << what << " changes " << name << "; n = " << start_.sizes.at("n") << "\n"
          << text_ << "becomes\n"
          << tile::to_text(code, 0, nullptr, "int", &nest_.region());
  }

  std::mt19937& random_;
  Counts& counts_;
  std::string text_;
  Nest nest_;
  Memory start_;
  std::optional<IterationsInOrder> iterations_ = {};
  std::map<std::string, std::vector<double>> expected_;
};

long from_environment(const char* name, long otherwise) {
  const char* text = std::getenv(name);
  return text ? std::atol(text) : otherwise;
}

/// WARPLOOM_PROGRAMS: how many instead of 15, and counts are printed. WARPLOOM_NEST_SEED: which.
TEST(RandomPrograms, WhatIsLegalComputesTheSame) {
  std::mt19937 random(static_cast<unsigned>(from_environment("WARPLOOM_NEST_SEED", 1)));
  Counts counts;
  const long programs = from_environment("WARPLOOM_PROGRAMS", 15);
  for (long k = 0; k < programs && !HasFatalFailure(); ++k) {
    const std::string text = Maker(random).make();
    Nest nest;
    try {
      nest = nest_of(text);
    } catch (const BadInput&) {  // a condition that is known lets only iterations run that leave an array
      ++counts.refused;
      continue;
    }
    try {
      Check(random, counts, text, std::move(nest)).run();
    } catch (const std::exception& error) {
      FAIL() << error.what() << "\n" << text;
    }
  }
  if (std::getenv("WARPLOOM_PROGRAMS"))
    std::cout << counts.programs << " programs: " << counts.legal << " orders legal, " << counts.loops
              << " written as loops (" << counts.parallel_loops << " with parallel ones), " << counts.illegal
              << " illegal\n";
  EXPECT_LE(counts.refused, 1 + programs / 20);
  EXPECT_GT(counts.legal, programs / 4);
  EXPECT_GT(counts.illegal, programs / 2);
  EXPECT_GT(counts.loops, programs / 10);
  EXPECT_GT(counts.parallel_loops, programs / 40);
}

}  // namespace
}  // namespace warploom::tile
