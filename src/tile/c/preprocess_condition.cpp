#include <fmt/format.h>

#include <stdexcept>

#include "tile/c/preprocess.hpp"
#include "warploom/core/error.hpp"

namespace warploom::tile {
namespace {

/// Precedence climbing over integers. What is not evaluated (`0 && 1 / 0`) is parsed all the same.
class Condition {
 public:
  Condition(const std::vector<Token>& tokens, const std::string& file_name)
      : tokens_(tokens), file_name_(file_name) {}

  bool run() {
    const std::int64_t value = conditional(true);
    if (here().kind != Token::Kind::end) fail("expected an operator");
    return value != 0;
  }

 private:
  const Token& here() const { return tokens_[at_]; }
  bool take(std::string_view punctuator) {
    if (!here().is(punctuator)) return false;
    ++at_;
    return true;
  }
  [[noreturn]] void fail(const std::string& what) const {
    const Token& token = here();
    throw ParseError(
        {file_name_, token.at.line, token.at.column},
        fmt::format("#if: {}, found {}", what,
                    token.kind == Token::Kind::end ? "the end of the line" : '\'' + token.text + '\''));
  }

  std::int64_t conditional(bool evaluated) {
    if (++depth_ > 200) fail("nested deeper than 200");
    const std::int64_t condition = binary(0, evaluated);
    std::int64_t value = condition;
    if (take("?")) {
      const std::int64_t yes = conditional(evaluated && condition != 0);
      if (!take(":")) fail("expected ':'");
      const std::int64_t no = conditional(evaluated && condition == 0);
      value = condition != 0 ? yes : no;
    }
    --depth_;
    return value;
  }

  static int level(const Token& token) {
    if (token.kind != Token::Kind::punctuator) return -1;
    static const std::map<std::string, int, std::less<>> levels{
        {"||", 0}, {"&&", 1}, {"|", 2},  {"^", 3},  {"&", 4}, {"==", 5}, {"!=", 5}, {"<", 6}, {"<=", 6},
        {">", 6},  {">=", 6}, {"<<", 7}, {">>", 7}, {"+", 8}, {"-", 8},  {"*", 9},  {"/", 9}, {"%", 9}};
    const auto found = levels.find(token.text);
    return found == levels.end() ? -1 : found->second;
  }

  std::int64_t binary(int least, bool evaluated) {
    std::int64_t left = unary(evaluated);
    for (int own = level(here()); own >= least; own = level(here())) {
      const std::string& op = here().text;
      const std::size_t op_at = at_++;
      const bool needed = evaluated && !(op == "&&" && left == 0) && !(op == "||" && left != 0);
      const std::int64_t right = binary(own + 1, needed);
      if (needed && (op == "/" || op == "%") && right == 0) {
        at_ = op_at;
        fail("division by zero");
      }
      left = needed ? apply(op, left, right) : (op == "||" && left != 0);
    }
    return left;
  }

  /// Wraps around at 64 bits, as preprocessors do.
  static std::int64_t apply(const std::string& op, std::int64_t left, std::int64_t right) {
    const auto a = static_cast<std::uint64_t>(left), b = static_cast<std::uint64_t>(right);
    const auto wrapped = [](std::uint64_t bits) { return static_cast<std::int64_t>(bits); };
    if (op == "||") return left != 0 || right != 0;
    if (op == "&&") return left != 0 && right != 0;
    if (op == "|") return wrapped(a | b);
    if (op == "^") return wrapped(a ^ b);
    if (op == "&") return wrapped(a & b);
    if (op == "==") return left == right;
    if (op == "!=") return left != right;
    if (op == "<") return left < right;
    if (op == "<=") return left <= right;
    if (op == ">") return left > right;
    if (op == ">=") return left >= right;
    if (op == "<<") return wrapped(b < 64 ? a << b : 0);
    if (op == ">>") return left >> (b < 64 ? b : 63);
    if (op == "+") return wrapped(a + b);
    if (op == "-") return wrapped(a - b);
    if (op == "*") return wrapped(a * b);
    if (right == -1) return op == "/" ? wrapped(0 - a) : 0;  // the one quotient that can overflow
    if (right == 0) return 0;                                // of a part that is not evaluated
    return op == "/" ? left / right : left % right;
  }

  std::int64_t unary(bool evaluated) {
    if (++depth_ > 200) fail("nested deeper than 200");
    const std::int64_t value = unary_within(evaluated);
    --depth_;
    return value;
  }

  std::int64_t unary_within(bool evaluated) {
    if (take("!")) return unary(evaluated) == 0;
    if (take("~")) return ~unary(evaluated);
    if (take("+")) return unary(evaluated);
    if (take("-")) return static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(unary(evaluated)));
    if (take("(")) {
      const std::int64_t value = conditional(evaluated);
      if (!take(")")) fail("expected ')'");
      return value;
    }
    std::int64_t value = 0;
    if (here().kind == Token::Kind::number) {
      try {
        if (!parse_integer(here().text, false, value)) fail("expected an integer");
      } catch (const std::out_of_range&) {
        fail("expected an integer of at most 64 bits");
      }
    } else if (here().kind == Token::Kind::character && here().text.size() == 3) {
      value = here().text[1];
    } else if (here().kind != Token::Kind::identifier) {
      fail("expected a value");
    }
    ++at_;
    return value;
  }

  const std::vector<Token>& tokens_;
  const std::string& file_name_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

bool evaluate_condition(const std::vector<Token>& tokens, const std::string& file_name) {
  return Condition(tokens, file_name).run();
}

}  // namespace warploom::tile
