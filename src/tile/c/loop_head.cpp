#include "tile/c/loop_head.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "tile/c/mentions.hpp"
#include "tile/c/simplify.hpp"
#include "warploom/core/error.hpp"

namespace warploom::tile {
namespace {

using Kind = Expression::Kind;

bool is_named(const Expression& e, const std::string& name) { return e.kind == Kind::name && e.text == name; }

std::optional<std::int64_t> number_of(const Expression& e) {
  try {
    return value_of(e, {});
  } catch (const BadInput&) {
    return std::nullopt;
  }
}

/// i + c, c + i and i - c on one side of a comparison: the other side, with c moved there.
/// @return nothing if this side is no such sum
std::optional<Expression> other_side(const Expression& side, const Expression& other,
                                     const std::string& iterator) {
  if (is_named(side, iterator)) return other;
  if (side.kind != Kind::binary || (side.text != "+" && side.text != "-")) return std::nullopt;
  const bool first = is_named(side.operands[0], iterator);
  if (!first && (side.text == "-" || !is_named(side.operands[1], iterator))) return std::nullopt;
  const Expression& rest = side.operands[first ? 1 : 0];
  if (mentions(rest, iterator)) return std::nullopt;
  Expression moved = side.text == "+" ? difference(other, rest) : sum(other, rest);
  moved.at = other.at;
  return moved;
}

/// "<" for what stands on the other side of ">".
std::string turned(std::string sign) {
  if (sign[0] == '<' || sign[0] == '>') sign[0] = sign[0] == '<' ? '>' : '<';
  return sign;
}

}  // namespace

std::optional<HeadRefusal> set_step(const std::string& op, const Expression& value, Node& loop) {
  const HeadRefusal no_step{"step of for",
                            "the loop variable has to change by a constant: i++, i += 2, i = i - 1"};
  const Expression* by = &value;
  bool minus = op == "-=";
  if (op == "=") {
    if (value.kind != Kind::binary || (value.text != "+" && value.text != "-")) return no_step;
    minus = value.text == "-";
    const bool first = is_named(value.operands[0], loop.iterator);
    if (!first && (minus || !is_named(value.operands[1], loop.iterator))) return no_step;
    by = &value.operands[first ? 1 : 0];
  } else if (op != "+=" && op != "-=") {
    return no_step;
  }
  const auto number = number_of(*by);
  if (!number || *number == std::numeric_limits<std::int64_t>::min())
    return HeadRefusal{"step " + to_text(*by), "it has to be a constant"};
  if (*number == 0) return HeadRefusal{"step 0", "the loop would run for ever"};
  loop.step = minus ? -*number : *number;
  return std::nullopt;
}

std::optional<HeadRefusal> set_limit(const Expression& condition, Node& loop) {
  // i < a && i < b: the least of the limits.
  std::vector<const Expression*> parts{&condition};
  while (parts.back()->kind == Kind::binary && parts.back()->text == "&&") {
    const Expression* both = parts.back();
    parts.back() = &both->operands[1];
    parts.push_back(&both->operands[0]);
  }
  loop.comparison.clear();
  for (const Expression* part : parts) {
    const auto refused = [&](std::string why) {
      return HeadRefusal{"loop condition " + to_text(*part), std::move(why)};
    };
    const bool compares = part->kind == Kind::binary &&
                          (part->text.find_first_of("<>") == 0 || part->text == "!=") && part->text != "<<" &&
                          part->text != ">>";
    if (!compares) return refused("it has to compare the loop variable by <, <=, >, >= or !=");
    std::optional<Expression> limit = other_side(part->operands[0], part->operands[1], loop.iterator);
    std::string sign = part->text;
    if (!limit) {
      limit = other_side(part->operands[1], part->operands[0], loop.iterator);
      sign = turned(sign);
    }
    if (!limit) return refused("it has to compare the loop variable by <, <=, >, >= or !=");
    if (mentions(*limit, loop.iterator)) return refused("the limit depends on the loop's own variable");
    if (sign == "!=") {
      if (loop.step != 1 && loop.step != -1)
        return refused(fmt::format("by steps of {} the loop may run past it; compare by < or >", loop.step));
      sign = loop.step > 0 ? "<" : ">";
    }
    if (loop.comparison.empty()) {
      loop.comparison = sign;
      loop.limit = std::move(*limit);
    } else if (loop.comparison == sign) {
      const Position at = limit->at;
      loop.limit =
          Expression::call(sign[0] == '<' ? "min" : "max", {std::move(*limit), std::move(loop.limit)});
      loop.limit.at = at;
    } else {
      return HeadRefusal{"loop condition " + to_text(condition),
                         "its parts have to compare by the same operator"};
    }
  }
  return std::nullopt;
}

std::optional<HeadRefusal> check_direction(const Node& loop) {
  if ((loop.comparison[0] == '<') == (loop.step > 0)) return std::nullopt;
  return HeadRefusal{fmt::format("step {} towards {}", loop.step, loop.comparison),
                     "the loop would run for ever or never"};
}

}  // namespace warploom::tile
