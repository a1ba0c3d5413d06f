// Intervals of the integers in a tree, against the type that emitted text gives them.
#include "warploom/tile/index_range.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "core/doors.hpp"
#include "tile/c/predicate.hpp"
#include "tile/c/wellformed.hpp"
#include "tile/sets/access_relations.hpp"

namespace warploom::tile {
namespace {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();
constexpr double kIntMost = std::numeric_limits<int>::max();
// What the last tile or the last stride of a grid adds before it is compared with the end.
constexpr double kBeyondLastTile = 1 << 20;

struct Interval {
  double least = -kUnbounded, most = kUnbounded;
};

double product(double a, double b) { return a == 0 || b == 0 ? 0 : a * b; }

/// The least and the most of an operation at the ends of its operands.
template <typename Operation>
Interval at_ends(const Interval& a, const Interval& b, const Operation& operation) {
  const auto all = {operation(a.least, b.least), operation(a.least, b.most), operation(a.most, b.least),
                    operation(a.most, b.most)};
  return {std::min(all), std::max(all)};
}

/// Whether a number in it does not fit int.
bool is_wide(const Expression& e) {
  if (e.kind == Expression::Kind::integer && std::abs(static_cast<double>(e.value)) > kIntMost) return true;
  return std::ranges::any_of(e.operands, is_wide);
}
bool has_wide_bounds(const Node& node) {
  return (node.kind == Node::Kind::loop && (is_wide(node.first) || is_wide(node.limit))) ||
         std::ranges::any_of(node.children, has_wide_bounds);
}

class Check {
 public:
  Check(const Nest& nest, Emitted as)
      : nest_(nest),
        region_(nest.region()),
        as_(as),
        wide_(as == Emitted::c && counts_with_long(region_)),
        most_(wide_ ? static_cast<double>(std::numeric_limits<std::int64_t>::max()) : kIntMost),
        loop_most_(as == Emitted::cuda ? most_ - kBeyondLastTile : most_) {}

  void run(const Node& code) {
    for (const SizeRange& range : nest_.sizes())
      values_[range.name] = {range.least ? static_cast<double>(*range.least) : -kUnbounded,
                             range.most ? static_cast<double>(*range.most) : kUnbounded};
    for (const std::string& size : region_.sizes) check_size(size);
    for (const Variable& variable : region_.variables)
      for (const Expression& extent : variable.extents)
        value(extent, {variable.at, "extent of array '" + variable.name + "'"});
    visit(code);
  }

 private:
  /// What is looked at, for messages.
  struct Place {
    Position at;
    std::string what;
  };

  [[noreturn]] void fail(const Place& place, double value, double most, const std::string& advice) const {
    const std::string type = wide_ && most > kIntMost ? "long" : "int";
    refuse(
        region_, place.at, place.what,
        fmt::format("it may reach {:.0f}, and the {} that is written counts with {}, here up to {:.0f}; {}",
                    value, as_ == Emitted::c ? "C" : "CUDA", type, most, advice));
  }

  void check_size(const std::string& size) const {
    const SizeDeclaration& declared = region_.size_declarations.at(size);
    const auto known = values_.find(size);
    const Interval range = known == values_.end() ? Interval{} : known->second;
    const double largest = range.most < kUnbounded ? range.most : range.least;
    const Place place{declared.at, fmt::format("size '{}'", size)};
    const std::string smaller = fmt::format("allow smaller ones, as `size` {}=..1000000000", size);
    const double most = declared.wider_than_int ? loop_most_ : std::min(loop_most_, kIntMost);
    if (largest < kUnbounded && largest > most)
      fail(place, largest, most,
           as_ == Emitted::c && !declared.wider_than_int ? smaller + ", or declare it as long" : smaller);
    if (as_ == Emitted::cuda && declared.wider_than_int && range.most == kUnbounded)
      refuse(region_, declared.at, place.what,
             fmt::format("its type {} has values that the int of the CUDA that is written cannot hold; say "
                         "how large it may be, as `size` {}=..{:.0f}",
                         declared.type, size, loop_most_));
  }

  Interval checked(const Interval& interval, const Place& place, double most) const {
    const double worst = interval.most < kUnbounded && interval.most > most            ? interval.most
                         : interval.least > -kUnbounded && interval.least < -most_ - 1 ? interval.least
                                                                                       : 0;
    if (worst != 0)
      fail(place, worst, worst > 0 ? most : -most_ - 1,
           region_.sizes.empty() ? "make the nest's numbers smaller" : "allow smaller sizes (`size`)");
    return interval;
  }

  /// Of an integer expression, every part of which has to fit.
  Interval value(const Expression& e, const Place& place) const {
    return checked(unchecked(e, place), place, most_);
  }

  Interval unchecked(const Expression& e, const Place& place) const {
    using Kind = Expression::Kind;
    const auto operand = [&](std::size_t i) { return value(e.operands[i], place); };
    if (e.kind == Kind::integer) return {static_cast<double>(e.value), static_cast<double>(e.value)};
    if (e.kind == Kind::name) {
      const auto found = values_.find(e.text);
      return found == values_.end() ? Interval{} : found->second;
    }
    if (e.kind == Kind::element) {
      subscripts(e, place.at);
      return {};
    }
    if (e.kind == Kind::conditional) {
      operand(0);
      const Interval a = operand(1), b = operand(2);
      return {std::min(a.least, b.least), std::max(a.most, b.most)};
    }
    if (e.operands.size() != 2) {
      for (std::size_t i = 0; i < e.operands.size(); ++i) operand(i);
      if (e.operands.empty()) return {};
      const Interval a = operand(0);
      return e.text == "-" ? Interval{-a.most, -a.least} : e.kind == Kind::call ? Interval{} : a;
    }
    const Interval a = operand(0), b = operand(1);
    if (e.text == "+") return {a.least + b.least, a.most + b.most};
    if (e.text == "-") return {a.least - b.most, a.most - b.least};
    if (e.text == "*") return at_ends(a, b, product);
    if (e.text == "min") return {std::min(a.least, b.least), std::min(a.most, b.most)};
    if (e.text == "max") return {std::max(a.least, b.least), std::max(a.most, b.most)};
    if (e.text == "/" || e.text == "floord")
      return b.least >= 1
                 ? at_ends(a, b, [](double x, double y) { return std::isinf(y) ? 0 : std::floor(x / y); })
                 : Interval{};
    return {};  // remainders and comparisons fit where their operands do
  }

  void subscripts(const Expression& element, Position near) const {
    for (const Expression& subscript : element.operands)
      value(subscript,
            {element.at.line > 0 ? element.at : near, fmt::format("subscript of '{}'", to_text(element))});
  }

  /// Elements that a value names; the rest of it is the nest's own arithmetic.
  void elements(const Expression& e, Position near) const {
    if (e.kind == Expression::Kind::element) return subscripts(e, near);
    for (const Expression& operand : e.operands) elements(operand, near);
  }

  void visit(const Node& node) {
    const Position at = place_of(node);
    if (node.kind == Node::Kind::loop) return visit_loop(node, at);
    if (node.kind == Node::Kind::branch && reads_data(region_, node.condition))
      elements(node.condition, at);
    else if (node.kind == Node::Kind::branch)
      value(node.condition, {at, "condition"});
    if (node.kind == Node::Kind::assignment) {
      elements(node.target, at);
      elements(node.value, at);
    }
    for (const Node& child : node.children) visit(child);
  }

  void visit_loop(const Node& node, Position at) {
    const Place place{at, fmt::format("loop '{}'", node.iterator)};
    const Interval first = value(node.first, place), limit = value(node.limit, place);
    const double step = static_cast<double>(node.step), included = node.comparison.size() == 2 ? 1 : 0;
    // Where it runs, and the value that ends it.
    const Interval runs = step > 0 ? Interval{first.least, limit.most - 1 + included}
                                   : Interval{limit.least + 1 - included, first.most};
    if (runs.least > runs.most) return;
    checked(step > 0 ? Interval{runs.least, runs.most + step} : Interval{runs.least + step, runs.most}, place,
            loop_most_);
    values_[node.iterator] = runs;
    for (const Node& child : node.children) visit(child);
    values_.erase(node.iterator);
  }

  /// Loops of a schedule have no place of their own: that of the source's loop, else of a statement within.
  Position place_of(const Node& node) const {
    if (node.at.line > 0) return node.at;
    if (const Node* loop = source_loop(region_.body, node.iterator)) return loop->at;
    const Node* within = &node;
    while (within->kind != Node::Kind::assignment && !within->children.empty())
      within = &within->children.front();
    const auto statement = static_cast<std::size_t>(within->statement);
    return statement < nest_.statements().size() ? nest_.statements()[statement].assignment.at : region_.at;
  }

  static const Node* source_loop(const Node& node, const std::string& iterator) {
    if (node.kind == Node::Kind::loop && node.iterator == iterator) return &node;
    for (const Node& child : node.children)
      if (const Node* loop = source_loop(child, iterator)) return loop;
    return nullptr;
  }

  const Nest& nest_;
  const Region& region_;
  const Emitted as_;
  const bool wide_;
  const double most_, loop_most_;
  std::map<std::string, Interval> values_;
};

}  // namespace

bool counts_with_long(const Region& region) {
  return std::ranges::any_of(region.size_declarations,
                             [](const auto& size) { return size.second.wider_than_int; }) ||
         std::ranges::any_of(
             region.variables,
             [](const Variable& variable) { return std::ranges::any_of(variable.extents, is_wide); }) ||
         has_wide_bounds(region.body);
}

void check_index_range(const Nest& nest, const Node& code, Emitted as) {
  at_enumerator(std::array{"c", "cuda"}, as, "what is emitted");
  check(code);
  Check(nest, as).run(code);
}

}  // namespace warploom::tile
