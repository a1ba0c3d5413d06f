#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>

#include "core/doors.hpp"
#include "tile/c/mentions.hpp"
#include "tile/c/wellformed.hpp"
#include "warploom/tile/source.hpp"

namespace warploom::tile {

namespace {
// Of launches that are printed the number alone is.
constexpr std::size_t kMostKernels = std::numeric_limits<int>::max();
}  // namespace

const Variable* find_variable(const Region& region, std::string_view name) {
  const auto found =
      std::ranges::find_if(region.variables, [&](const Variable& v) { return v.name == name; });
  return found == region.variables.end() ? nullptr : &*found;
}

std::string to_text(const std::string& file, const Refusal& refusal) {
  return fmt::format("{}:{}:{}: {}: {}", file, refusal.at.line, refusal.at.column, refusal.construct,
                     refusal.why);
}

namespace {

// How tightly an expression holds together; C's levels, of those that the subset has.
enum Level {
  kConditional = 1,
  kOr,
  kAnd,
  kBitOr,
  kBitXor,
  kBitAnd,
  kEqual,
  kRelation,
  kShift,
  kSum,
  kProduct,
  kUnary,
  kPrimary
};

int level_of_operator(std::string_view op) {
  if (op == "||") return kOr;
  if (op == "&&") return kAnd;
  if (op == "|") return kBitOr;
  if (op == "^") return kBitXor;
  if (op == "&") return kBitAnd;
  if (op == "==" || op == "!=") return kEqual;
  if (op == "<<" || op == ">>") return kShift;
  if (op == "+" || op == "-") return kSum;
  if (op == "*" || op == "/" || op == "%") return kProduct;
  return kRelation;
}

int level(const Expression& e) {
  switch (e.kind) {
    case Expression::Kind::integer:
      return e.value < 0 ? kUnary : kPrimary;
    case Expression::Kind::real:
      return e.text.starts_with('-') ? kUnary : kPrimary;
    case Expression::Kind::unary:
    case Expression::Kind::cast:
      return kUnary;
    case Expression::Kind::binary:
      return level_of_operator(e.text);
    case Expression::Kind::conditional:
      return kConditional;
    case Expression::Kind::name:
    case Expression::Kind::element:
    case Expression::Kind::call:
      break;
  }
  return kPrimary;
}

void print(std::string& out, const Expression& e);

void print_within(std::string& out, const Expression& e, int least_level) {
  const bool parentheses = level(e) < least_level;
  if (parentheses) out += '(';
  print(out, e);
  if (parentheses) out += ')';
}

void print(std::string& out, const Expression& e) {
  const auto& operands = e.operands;
  switch (e.kind) {
    case Expression::Kind::integer:
      out += std::to_string(e.value);
      break;
    case Expression::Kind::real:
    case Expression::Kind::name:
      out += e.text;
      break;
    case Expression::Kind::element:
      out += e.text;
      for (const Expression& subscript : operands) {
        out += '[';
        print(out, subscript);
        out += ']';
      }
      break;
    case Expression::Kind::unary:
      out += e.text;
      print_within(out, operands[0], kPrimary);  // "-(-x)", never "--x"
      break;
    case Expression::Kind::binary: {
      const int own = level(e);
      // Operators of bits have levels that nobody knows by heart.
      const bool bits = own == kBitOr || own == kBitXor || own == kBitAnd || own == kShift;
      print_within(out, operands[0], bits && operands[0].text != e.text ? kUnary : own);
      out += ' ' + e.text + ' ';
      print_within(out, operands[1], bits ? kUnary : own + 1);
      break;
    }
    case Expression::Kind::conditional:
      print_within(out, operands[0], kConditional + 1);
      out += " ? ";
      print(out, operands[1]);
      out += " : ";
      print(out, operands[2]);
      break;
    case Expression::Kind::call:
      out += e.text + '(';
      for (std::size_t i = 0; i < operands.size(); ++i) {
        if (i > 0) out += ", ";
        print(out, operands[i]);
      }
      out += ')';
      break;
    case Expression::Kind::cast:
      out += '(' + e.text + ')';
      print_within(out, operands[0], kUnary);
      break;
  }
}

/// Whether it is the variable's first value: "t = ..." without t in it.
bool starts(const Node& node, const std::string& variable) {
  return node.kind == Node::Kind::assignment && node.op == "=" && node.target == Expression::name(variable) &&
         !mentions(node.value, variable);
}

class Printer {
 public:
  Printer(std::string (*before_loop)(const Node&), std::string_view iterator_type, const Region* region)
      : before_loop_(before_loop), iterator_type_(iterator_type), region_(region) {}

  void node(const Node& n, int indentation) {
    const std::string margin(static_cast<std::size_t>(2 * indentation), ' ');
    switch (n.kind) {
      case Node::Kind::block:
        for (const Node& child : n.children) {
          if (child.constants.empty() || child.condition.kind == Expression::Kind::binary) {
            node(child, indentation);
            continue;
          }
          out += margin + "{\n";
          node(child, indentation + 1);
          out += margin + "}\n";
        }
        break;
      case Node::Kind::loop:
        if (!n.constants.empty()) return with_constants(n, indentation);
        before(n, margin);
        out += margin + head(n);
        loop_body(n, indentation);
        break;
      case Node::Kind::branch:
        branch(n, indentation, margin);
        break;
      case Node::Kind::assignment:
        out += margin + (&n == declaring_ ? type_of(n.target.text) : "") + to_text(n.target) + ' ' + n.op +
               ' ' + to_text(n.value) + ";\n";
        break;
      case Node::Kind::launch:
        out += margin + fmt::format("launch({});\n", n.statement);
        break;
    }
  }

  std::string out;

 private:
  /// Reads nothing where the loop would not. Without a condition it needs braces around.
  void with_constants(Node n, int indentation) {
    const bool may_run = n.condition.kind == Expression::Kind::binary;
    std::string margin(static_cast<std::size_t>(2 * indentation), ' ');
    if (may_run) {
      out += margin + "if (" + to_text(n.condition) + ") {\n";
      margin += "  ";
    }
    constexpr std::size_t kLine = 100;
    std::string line, type;
    for (const auto& [name, element] : n.constants) {
      const std::string text = name + " = " + to_text(element),
                        its_type = region_ ? type_of(element.text) : "__auto_type ";
      if (its_type == type && line.size() + text.size() + 2 < kLine) {
        line += ", " + text;
        continue;
      }
      if (!line.empty()) out += line + ";\n";
      line = margin + "const " + its_type + text;
      type = region_ ? its_type : "";  // of several in one declaration it has to be one
    }
    out += line + ";\n";
    n.constants.clear();
    node(n, indentation + may_run);
    if (may_run) out += std::string(static_cast<std::size_t>(2 * indentation), ' ') + "}\n";
  }

  void before(const Node& n, const std::string& margin) {
    std::string text = before_loop_ ? before_loop_(n) : "";
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
      out += margin + text.substr(begin, end - begin);
      begin = end;
    }
  }

  std::string head(const Node& n) const {
    const std::string step =
        n.step == 1    ? n.iterator + "++"
        : n.step == -1 ? n.iterator + "--"
        : n.step > 0   ? fmt::format("{} += {}", n.iterator, n.step)
                       : fmt::format("{} -= {}", n.iterator, 0 - static_cast<std::uint64_t>(n.step));
    std::string limit;
    print_within(limit, n.limit, kRelation + 1);
    return fmt::format("for ({5} {0} = {1}; {0} {2} {3}; {4})", n.iterator, to_text(n.first), n.comparison,
                       limit, step, iterator_type_);
  }

  std::string type_of(const std::string& variable) const {
    return std::string(c_name(find_variable(*region_, variable)->type)) + ' ';
  }

  /// A local is declared by the assignment that is its first mention, else at the head.
  void loop_body(const Node& n, int indentation) {
    const bool declares = region_ && !n.locals.empty();
    if (!declares)
      return body(n.children, indentation,
                  n.children.size() == 1 && n.children[0].kind != Node::Kind::branch &&
                      n.children[0].kind != Node::Kind::block && n.children[0].constants.empty());
    const std::string margin(static_cast<std::size_t>(2 * indentation + 2), ' ');
    std::map<const Node*, std::string> first;
    out += " {\n";
    for (const std::string& local : n.locals) {
      const auto mention =
          std::ranges::find_if(n.children, [&](const Node& child) { return mentions(child, local); });
      if (mention != n.children.end() && starts(*mention, local)) {
        first[&*mention] = local;
        continue;
      }
      out += margin + type_of(local) + local;
      for (const Expression& extent : find_variable(*region_, local)->extents)
        out += '[' + to_text(extent) + ']';
      out += ";\n";
    }
    for (const Node& child : n.children) {
      declaring_ = first.count(&child) ? &child : nullptr;
      node(child, indentation + 1);
    }
    out += margin.substr(2) + "}\n";
  }

  void branch(const Node& n, int indentation, const std::string& margin) {
    out += margin + "if (" + to_text(n.condition) + ')';
    // Only a lone assignment goes without braces: anything else could take over the `else`.
    const auto lone = [](const Node& block) {
      return block.children.size() == 1 && block.children[0].kind == Node::Kind::assignment;
    };
    const bool braces = !lone(n.children[0]) || (n.children.size() > 1 && !lone(n.children[1]));
    if (n.children.size() == 1) return body(n.children[0].children, indentation, !braces);
    body(n.children[0].children, indentation, !braces,
         braces ? " " : std::string(static_cast<std::size_t>(2 * indentation), ' '));
    out += "else";
    const std::vector<Node>& otherwise = n.children[1].children;
    if (otherwise.size() == 1 && otherwise[0].kind == Node::Kind::branch) {
      out += ' ';
      return branch(otherwise[0], indentation, "");
    }
    body(otherwise, indentation, !braces);
  }

  /// What a head is followed by; `end` comes after the closing brace, or instead of it.
  void body(const std::vector<Node>& children, int indentation, bool bare, const std::string& end = "\n") {
    out += bare ? "\n" : " {\n";
    for (const Node& child : children) node(child, indentation + 1);
    if (!bare) out += std::string(static_cast<std::size_t>(2 * indentation), ' ') + '}' + end;
    if (bare && end != "\n") out += end;
  }

  std::string (*before_loop_)(const Node&);
  std::string_view iterator_type_;
  const Region* region_;
  const Node* declaring_ = nullptr;
};

}  // namespace

std::string to_text(const Expression& expression) {
  check(expression);
  std::string out;
  print(out, expression);
  return out;
}

std::string to_text(const Node& node, int indentation, std::string (*before_loop)(const Node& loop),
                    std::string_view iterator_type, const Region* region) {
  constexpr int kDeepest = 10'000;
  if (indentation < 0 || indentation > kDeepest)
    throw BadInput(fmt::format("an indentation of {} levels; from 0 to {}", indentation, kDeepest));
  check(node, kMostKernels);
  if (region) check_locals(*region, node);
  Printer printer(before_loop, iterator_type, region);
  printer.node(node, indentation);
  return std::move(printer.out);
}

}  // namespace warploom::tile
