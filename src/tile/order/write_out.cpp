#include "tile/order/write_out.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "tile/c/simplify.hpp"
#include "tile/order/join_sums.hpp"

namespace warploom::tile {
namespace {

/// The operands of max(max(a, b), c), or the expression itself.
std::vector<Expression> operands_of(const Expression& e, std::string_view call) {
  if (e.kind != Expression::Kind::call || e.text != call) return {e};
  std::vector<Expression> all;
  for (const Expression& operand : e.operands)
    for (Expression& inner : operands_of(operand, call)) all.push_back(std::move(inner));
  return all;
}

Expression extreme(const char* call, const std::vector<Expression>& of) {
  Expression result = of.front();
  for (std::size_t k = 1; k < of.size(); ++k) result = Expression::call(call, {result, of[k]});
  return result;
}

/// When a jammed loop's strip is full.
struct FullStrip {
  Expression begin;
  std::vector<std::pair<Expression, Expression>> in_order;  ///< then of all of these the first is no greater
};

std::optional<FullStrip> full_strip(const Node& loop) {
  if (loop.strip < 1 || loop.comparison != "<" || loop.step != 1) return std::nullopt;
  const std::vector<Expression> firsts = operands_of(loop.first, "max"),
                                limits = operands_of(loop.limit, "min");
  for (const Expression& begin : firsts)
    for (const Expression& end : limits) {
      if (!(difference(end, begin) == Expression::integer(loop.strip))) continue;
      FullStrip strip{begin, {}};
      for (const Expression& first : firsts)
        if (!(first == begin)) strip.in_order.emplace_back(first, begin);
      for (const Expression& limit : limits)
        if (!(limit == end)) strip.in_order.emplace_back(end, limit);
      return strip;
    }
  return std::nullopt;
}

/// When all strips within a loop are full.
struct Conditions {
  std::vector<Expression> before;    ///< whatever the loop's iteration
  std::vector<Expression> from, to;  ///< and its iterations from all of these on, up to before all of those
  std::vector<Expression> within;    ///< what its bounds do not say
};

void add(const Expression& lesser, const Expression& greater, const std::string& around, Conditions& full) {
  const Expression iterator = Expression::name(around), apart = difference(greater, lesser);
  std::vector<Expression>* list = &full.before;
  Expression what = Expression::binary("<=", lesser, greater);
  if (names(apart, around)) {
    list = &full.within;
    if (const Expression rest = difference(apart, iterator); !names(rest, around)) {
      list = &full.from;  // iterator + rest >= 0
      what = difference(Expression::integer(0), rest);
    } else if (const Expression other = sum(apart, iterator); !names(other, around)) {
      list = &full.to;  // other - iterator >= 0
      what = plus(other, 1);
    }
  }
  if (std::ranges::find(*list, what) == list->end()) list->push_back(std::move(what));
}

/// The ends of the strips around, by iterator: what holds at them holds between, since bounds rise or fall
/// with an iterator.
using Ends = std::map<std::string, std::array<Expression, 2>>;

bool has_remainder(const Expression& e) {
  return (e.kind == Expression::Kind::binary && e.text == "%") ||
         std::ranges::any_of(e.operands, has_remainder);
}

/// @return false where a part of it is no strip, or what is asked neither rises nor falls
bool collect(const Node& node, const std::string& around, Ends ends, Conditions& full) {
  if (node.kind == Node::Kind::assignment) return true;
  const auto strip = node.kind == Node::Kind::loop ? full_strip(node) : std::nullopt;
  if (!strip) return false;
  std::vector<std::pair<Expression, Expression>> conditions = strip->in_order;
  for (const auto& [iterator, both] : ends) {
    if (names(strip->begin, iterator)) return false;
    std::vector<std::pair<Expression, Expression>> at_ends;
    for (const auto& [lesser, greater] : conditions) {
      if (!names(lesser, iterator) && !names(greater, iterator)) {
        at_ends.emplace_back(lesser, greater);
        continue;
      }
      if (has_remainder(lesser) || has_remainder(greater)) return false;
      for (const Expression& end : both)
        at_ends.emplace_back(simplified(substitute(lesser, {{iterator, end}})),
                             simplified(substitute(greater, {{iterator, end}})));
    }
    conditions = std::move(at_ends);
  }
  for (const auto& [lesser, greater] : conditions) add(lesser, greater, around, full);
  ends[node.iterator] = {strip->begin, plus(strip->begin, node.strip - 1)};
  return std::ranges::all_of(node.children,
                             [&](const Node& child) { return collect(child, around, ends, full); });
}

void write_out(const Node& node, std::map<std::string, Expression> at, std::vector<Node>& to) {
  if (node.kind == Node::Kind::assignment) {
    Node assignment = node;
    assignment.target = with_simple_subscripts(substitute(std::move(assignment.target), at));
    assignment.value = with_simple_subscripts(substitute(std::move(assignment.value), at));
    to.push_back(std::move(assignment));
    return;
  }
  const Expression begin = substitute(full_strip(node)->begin, at);
  for (std::int64_t k = 0; k < node.strip; ++k) {
    at[node.iterator] = plus(begin, k);
    for (const Node& child : node.children) write_out(child, at, to);
  }
}

Expression all_of(const std::vector<Expression>& conditions) {
  Expression all = conditions.front();
  for (std::size_t k = 1; k < conditions.size(); ++k) all = Expression::binary("&&", all, conditions[k]);
  return all;
}

Node block(std::vector<Node> children) {
  Node node;
  node.children = std::move(children);
  return node;
}

Node choice(Expression condition, Node then, Node otherwise) {
  Node branch;
  branch.kind = Node::Kind::branch;
  branch.condition = std::move(condition);
  branch.children.push_back(std::move(then));
  branch.children.push_back(std::move(otherwise));
  return branch;
}

/// The loop from the greatest of these on, up to before the least of those.
Node part(Node loop, const std::vector<Expression>& from, const std::vector<Expression>& to) {
  loop.first = extreme("max", from);
  loop.limit = extreme("min", to);
  return loop;
}

std::vector<Expression> with(const Expression& one, std::vector<Expression> others) {
  others.insert(others.begin(), one);
  return others;
}

/// What a loop around strips becomes; nothing where it stays.
std::optional<std::vector<Node>> written(const Node& loop, const Nest& nest) {
  const bool rises = loop.comparison == "<" && loop.step == 1,
             falls = loop.comparison == ">" && loop.step == -1;
  if (loop.kind != Node::Kind::loop || loop.strip > 0 || !(rises || falls)) return std::nullopt;
  const auto is_strip = [](const Node& child) { return child.kind == Node::Kind::loop && child.strip > 0; };
  Conditions full;
  if (std::ranges::none_of(loop.children, is_strip) ||
      !std::ranges::all_of(loop.children,
                           [&](const Node& child) { return collect(child, loop.iterator, {}, full); }))
    return std::nullopt;
  if (falls && !(full.from.empty() && full.to.empty())) return std::nullopt;  // would be cut
  Node fast = loop;
  fast.children.clear();
  for (const Node& child : loop.children) write_out(child, {}, fast.children);
  join_sums(fast, nest);
  if (!full.within.empty()) {
    Node either = choice(all_of(full.within), block(std::move(fast.children)), block(loop.children));
    fast.children = {std::move(either)};
  }
  const std::vector<Expression> starts = with(loop.first, full.from);
  std::vector<Node> parts;
  if (!full.from.empty()) parts.push_back(part(loop, {loop.first}, {loop.limit, extreme("max", full.from)}));
  parts.push_back(part(std::move(fast), starts, with(loop.limit, full.to)));
  if (!full.to.empty())  // never again what the first part did
    parts.push_back(part(loop, with(extreme("min", full.to), starts), {loop.limit}));
  if (full.before.empty()) return parts;
  return std::vector<Node>{choice(all_of(full.before), block(std::move(parts)), block({loop}))};
}

}  // namespace

void write_out_strips(Node& node, const Nest& nest) {
  std::vector<Node> children;
  for (Node& child : node.children) {
    if (auto instead = written(child, nest)) {
      for (Node& one : *instead) children.push_back(std::move(one));
    } else {
      write_out_strips(child, nest);
      children.push_back(std::move(child));
    }
  }
  node.children = std::move(children);
}

}  // namespace warploom::tile
