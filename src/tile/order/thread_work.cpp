// When a loop has enough to do for several threads.
#include "tile/order/thread_work.hpp"

#include <algorithm>
#include <optional>

#include "tile/c/mentions.hpp"
#include "tile/c/simplify.hpp"

namespace warploom::tile {
namespace {

/// Runs of statements: the product of a number and of functions of sizes and of loops outside.
struct Work {
  std::int64_t number = 1;
  std::vector<Expression> factors;
};

/// The operands of max(max(a, b), c), or the expression itself.
std::vector<Expression> operands_of(const Expression& e, std::string_view call) {
  if (e.kind != Expression::Kind::call || e.text != call) return {e};
  std::vector<Expression> all;
  for (const Expression& operand : e.operands)
    for (Expression& inner : operands_of(operand, call)) all.push_back(std::move(inner));
  return all;
}

/// Sums and products, and nothing that a reader of the directive would have to work out.
bool is_plain(const Expression& e) {
  using Kind = Expression::Kind;
  if (e.kind == Kind::integer || e.kind == Kind::name) return true;
  const bool sums =
      e.kind == Kind::unary || (e.kind == Kind::binary && (e.text == "+" || e.text == "-" || e.text == "*"));
  return sums && std::ranges::all_of(e.operands, is_plain);
}

class Counter {
 public:
  std::optional<Work> count(const Node& node) {
    switch (node.kind) {
      case Node::Kind::assignment:
        return Work{};
      case Node::Kind::loop:
        return count_loop(node);
      default:
        return heaviest(node.children);
    }
  }

 private:
  std::optional<Work> heaviest(const std::vector<Node>& nodes) {
    Work most{.number = 0, .factors = {}};
    for (const Node& node : nodes) {
      const std::optional<Work> work = count(node);
      if (!work) return std::nullopt;
      if (std::pair(work->factors.size(), work->number) > std::pair(most.factors.size(), most.number))
        most = *work;
    }
    return most;
  }

  std::optional<Work> count_loop(const Node& loop) {
    counted_.push_back(&loop);
    std::optional<Work> work = heaviest(loop.children);
    counted_.pop_back();
    if (!work) return work;
    const bool rises = loop.step > 0;
    const std::int64_t closed = loop.comparison == "<=" || loop.comparison == ">=" ? 1 : 0;
    const std::vector<Expression> ends = operands_of(rises ? loop.limit : loop.first, "min"),
                                  begins = operands_of(rises ? loop.first : loop.limit, "max");
    std::optional<std::int64_t> least;
    for (const Expression& end : ends)
      for (const Expression& begin : begins)
        if (const Expression apart = difference(end, begin); apart.kind == Expression::Kind::integer)
          least = std::min(least.value_or(apart.value), apart.value);
    if (least) {
      if (runs_through_counted_strip(loop)) return work;
      work->number *= std::clamp<std::int64_t>(*least + closed, 1, 1 << 20);
      work->number = std::min<std::int64_t>(work->number, 1 << 30);
      return work;
    }
    if (ends.size() > 1 || begins.size() > 1) return std::nullopt;
    const Expression extent = at_middle(plus(difference(ends[0], begins[0]), closed));
    if (extent.kind == Expression::Kind::integer) return work;
    if (!is_halved_sum(extent)) return std::nullopt;
    work->factors.insert(work->factors.begin(), extent);
    return work;
  }

  /// The strip's loop has them all.
  bool runs_through_counted_strip(const Node& loop) const {
    return std::ranges::any_of(counted_, [&](const Node* outer) {
      return outer->step > 1 && mentions(loop.first, outer->iterator);
    });
  }

  /// Of loops inside, whose bounds may follow those outside: as long as they are half-way.
  Expression at_middle(Expression extent) const {
    for (auto loop = counted_.rbegin(); loop != counted_.rend(); ++loop) {
      if (!mentions(extent, (*loop)->iterator)) continue;
      const Expression both = sum((*loop)->first, (*loop)->limit);
      extent = simplified(substitute(
          std::move(extent), {{(*loop)->iterator, Expression::binary("/", both, Expression::integer(2))}}));
    }
    return extent;
  }

  static bool is_halved_sum(const Expression& e) {
    if (e.kind == Expression::Kind::binary && e.text == "/") return is_plain(e.operands[0]);
    const bool sums = e.kind == Expression::Kind::binary && (e.text == "+" || e.text == "-" || e.text == "*");
    if (sums || e.kind == Expression::Kind::unary) return std::ranges::all_of(e.operands, is_halved_sum);
    return is_plain(e);
  }

  std::vector<const Node*> counted_;
};

}  // namespace

void bound_shared_work(Node& loop) {
  const std::optional<Work> work = Counter().count(loop);
  if (!work || work->number > kLeastSharedWork) return;
  if (work->factors.empty()) {
    loop.parallel = false;
    loop.reductions.clear();
    return;
  }
  Expression all = work->factors.front();
  if (work->factors.size() > 1) {
    Expression wide;
    wide.kind = Expression::Kind::cast;
    wide.text = "long";
    wide.operands = {std::move(all)};
    all = std::move(wide);
    for (std::size_t k = 1; k < work->factors.size(); ++k)
      all = Expression::binary("*", std::move(all), work->factors[k]);
  }
  loop.condition =
      Expression::binary(">", std::move(all), Expression::integer(kLeastSharedWork / work->number));
}

}  // namespace warploom::tile
