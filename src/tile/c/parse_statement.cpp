#include <fmt/format.h>

#include <algorithm>

#include "tile/c/loop_head.hpp"
#include "tile/c/parser.hpp"

namespace warploom::tile {

void Parser::statement(std::vector<Node>& out) {
  const std::size_t begin = at_;
  const int depth = depth_;
  const std::size_t scopes = scopes_.size();
  const std::size_t block_end = block_end_;
  if (++depth_ > kDeepest) fail(here(), fmt::format("nested deeper than {}", kDeepest));
  try {
    statement_within(out);
  } catch (const Refused& refused) {
    region_.refusals.push_back(refused.refusal);
    scopes_.resize(scopes);
    block_end_ = block_end;
    at_ = end_of_statement(begin);
  }
  depth_ = depth;
}

void Parser::statement_within(std::vector<Node>& out) {
  const Token& token = here();
  if (take(";")) return;
  if (token.is("{")) return block(out);
  if (token.kind == Token::Kind::scop || token.kind == Token::Kind::endscop)
    fail(token, token.text + " within a statement");
  if (token.is_name("for")) return loop(out);
  if (token.is_name("if")) return branch(out);
  if (token.is_name("while") || token.is_name("do"))
    refuse(token, token.text + " loop", "the number of iterations is not known before it runs");
  if (token.is_name("else")) fail(token, "'else' without 'if'");
  jump(token);
  if (starts_declaration()) return local_declaration(out);
  if (token.is("(") && next().is_name("void") && next(2).is(")")) {  // (void)unused;
    at_ = end_of_statement(at_);
    return;
  }
  expressions(out);
}

void Parser::jump(const Token& token) {
  const bool label = token.kind == Token::Kind::identifier && next().is(":");
  if (token.is_name("switch")) refuse(token, "switch", "which statements run depends on data; write if");
  if (token.is_name("goto") || token.is_name("break") || token.is_name("continue") || token.is_name("return"))
    refuse(token, token.text, "a loop's iterations have to be known from its head");
  if (token.is_name("asm") || token.is_name("__asm__"))
    refuse(token, token.text, "assembly is not in the subset");
  if (label || token.is_name("case") || token.is_name("default"))
    refuse(token, "label", "jumps are not in the subset");
}

void Parser::block(std::vector<Node>& out) {
  const std::size_t end = match_[at_];
  const std::size_t outer_end = block_end_;
  block_end_ = end;
  ++at_;
  enter_scope();
  while (at_ < end) statement(out);
  leave_scope();
  block_end_ = outer_end;
  expect("}", "at the end of a block");
}

void Parser::loop(std::vector<Node>& out) {
  Node node;
  node.kind = Node::Kind::loop;
  node.at = here().at;
  ++at_;
  expect("(", "after 'for'");
  enter_scope();
  if (here().is(";")) refuse(here(), "for without a first value", "write for (int i = 0; i < n; i++)");
  Symbol* symbol = nullptr;
  const bool declares = starts_declaration();
  Specifiers s;
  if (declares) s = specifiers();
  const Token& name = here();
  if (name.kind != Token::Kind::identifier || !next().is("="))
    refuse(name, "first part of for", "it has to give the loop variable its first value, as in int i = 0");
  if (declares) {
    s.symbol.at = name.at;
  } else {
    symbol = find(name.text);
    if (!symbol) refuse(name, "name " + name.text, "it is not declared");
    if (!symbol->loop.empty())
      refuse(name, "assignment to loop variable " + name.text, "only the head of its loop may change it");
  }
  const Symbol& variable = declares ? s.symbol : *symbol;
  if (!variable.integer || variable.is_array || variable.value)
    refuse(name, "loop variable " + name.text, "it has to be a variable of an integer type");
  if (!variable.unsupported.empty()) refuse(name, name.text, variable.unsupported);
  at_ += 2;
  node.first = index("first value").expression;
  if (here().is(",")) refuse(here(), "second part before ';' in for", "one loop variable a loop");
  expect(";", "after a loop's first value");

  const std::string own = fresh_name(name.text, true);
  if (declares) symbol = declare(name.text, s.symbol);
  symbol->loop = own;
  used_[own] = Use::loop;
  running_.insert(own);
  struct Leave {  // also where the loop is refused
    Parser& parser;
    Symbol& symbol;
    Node* outer;
    ~Leave() {
      parser.running_.erase(symbol.loop);
      parser.body_of_ = outer;
      symbol.loop.clear();
    }
  } leave{*this, *symbol, body_of_};
  body_of_ = &node;
  node.iterator = own;
  const Token& condition_at = here();
  if (condition_at.is(";"))
    refuse(condition_at, "for without a condition", "the number of iterations is not known before it runs");
  const Expression condition = index("loop condition").expression;
  expect(";", "after a loop's condition");
  const Token& step = here();
  loop_step(node, name.text);
  expect(")", "after a loop's step");
  const auto refuse_if = [](const Token& at, const std::optional<HeadRefusal>& bad) {
    if (bad) refuse(at, bad->construct, bad->why);
  };
  refuse_if(condition_at, set_limit(condition, node));
  refuse_if(step, check_direction(node));
  if (node.step < 0 && symbol->is_unsigned)
    refuse(name, "decreasing loop over an unsigned variable", "it wraps around below 0; make it int");
  statement(node.children);
  leave_scope();
  out.push_back(std::move(node));
}

void Parser::loop_step(Node& node, const std::string& source_name) {
  const Token& at = here();
  if (at.is(")")) refuse(at, "for without a step", "the loop variable has to change by a constant");
  const auto is_variable = [&](const Token& token) { return token.is_name(source_name); };
  if ((at.is("++") || at.is("--")) && is_variable(next())) {
    node.step = at.is("++") ? 1 : -1;
    at_ += 2;
  } else if (is_variable(at) && (next().is("++") || next().is("--"))) {
    node.step = next().is("++") ? 1 : -1;
    at_ += 2;
  } else if (is_variable(at) && (next().is("+=") || next().is("-=") || next().is("="))) {
    const Token& op = next();
    at_ += 2;
    if (const auto bad = set_step(op.text, index("step").expression, node))
      refuse(at, bad->construct, bad->why);
  } else {
    const auto bad = set_step("", Expression::integer(0), node);
    refuse(at, bad->construct, bad->why);
  }
  if (here().is(",")) refuse(here(), "second step of for", "one loop variable a loop");
}

void Parser::branch(std::vector<Node>& out) {
  Node node;
  node.kind = Node::Kind::branch;
  node.at = here().at;
  ++at_;
  expect("(", "after 'if'");
  Operand condition = expression();
  expect(")", "after a condition");
  node.condition = std::move(condition.expression);
  const auto part = [&] {
    enter_scope();
    node.children.emplace_back();
    node.children.back().at = here().at;
    statement(node.children.back().children);
    leave_scope();
  };
  part();
  if (take_name("else")) part();
  out.push_back(std::move(node));
}

void Parser::expressions(std::vector<Node>& out) {
  do {
    assignment(out);
  } while (take(","));
  expect(";", "after a statement");
}

void Parser::assignment(std::vector<Node>& out) {
  struct Part {
    Expression target;
    std::string op;
    Position at;
  };
  std::vector<Part> parts;  // a = b = c
  static const std::set<std::string, std::less<>> operators{"=", "+=", "-=", "*=", "/="};
  while (true) {
    const Token& token = here();
    const bool before = token.is("++") || token.is("--");
    if (before) ++at_;
    const std::size_t begin = at_;
    const Symbol* symbol = here().kind == Token::Kind::identifier ? find(here().text) : nullptr;
    if (symbol && !symbol->loop.empty() && (before || next().kind == Token::Kind::punctuator) &&
        (before || operators.count(next().text) || next().is("++") || next().is("--")))
      refuse(token, "assignment to loop variable " + here().text, "only the head of its loop may change it");
    Expression value = before ? unary().expression : conditional().expression;
    const bool after = here().is("++") || here().is("--");
    const bool variable =
        value.kind == Expression::Kind::element ||
        (value.kind == Expression::Kind::name && !is_size(*find(tokens_[begin].text), tokens_[begin].text));
    if (before || after) {
      if (!variable || (before && after)) refuse(token, "++ or -- of " + to_text(value), "it is no variable");
      const bool up = before ? token.is("++") : here().is("++");
      if (after) ++at_;
      if (!parts.empty())
        refuse(token, "++ or -- within an expression", "write it as a statement of its own");
      return assign(std::move(value), up ? "+=" : "-=", Expression::integer(1), token.at, out);
    }
    if (here().kind == Token::Kind::punctuator && operators.count(here().text)) {
      if (!variable) refuse(token, "assignment to " + to_text(value), "it is no variable");
      parts.push_back({std::move(value), here().text, token.at});
      ++at_;
      continue;
    }
    for (const char* unknown : {"%=", "&=", "|=", "^=", "<<=", ">>="})
      if (here().is(unknown))
        refuse(here(), fmt::format("operator '{}'", unknown), "only = += -= *= /= are in the subset");
    if (parts.empty()) {
      if (!here().is(";") && !here().is(",")) fail_expected("an assignment");
      refuse(token, "statement without effect", "an assignment was expected");
    }
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
      Expression copy = part->target;
      assign(std::move(part->target), part->op, std::move(value), part->at, out);
      value = std::move(copy);
    }
    return;
  }
}

void Parser::assign(Expression target, const std::string& op, Expression value, Position at,
                    std::vector<Node>& out) {
  Node node;
  node.kind = Node::Kind::assignment;
  node.at = at;
  node.statement = region_.statements++;
  node.op = op;
  node.target = std::move(target);
  node.value = std::move(value);
  out.push_back(std::move(node));
}

std::size_t Parser::end_of_statement(std::size_t begin) const {
  enum class Open { branch, do_loop };
  std::vector<Open> open;
  std::size_t at = begin;
  while (true) {
    const Token& token = tokens_[at];
    const Token& follower = tokens_[std::min(at + 1, tokens_.size() - 1)];
    const bool head =
        token.is_name("for") || token.is_name("while") || token.is_name("switch") || token.is_name("if");
    if (head && follower.is("(")) {
      if (token.is_name("if")) open.push_back(Open::branch);
      at = match_[at + 1] + 1;
      continue;
    }
    if (token.is_name("do")) {
      open.push_back(Open::do_loop);
      ++at;
      continue;
    }
    if (token.kind == Token::Kind::identifier && follower.is(":")) {  // a label, default
      at += 2;
      continue;
    }
    if (token.is("{")) {
      at = match_[at] + 1;
    } else {
      while (!tokens_[at].is(";")) {
        const Token& inner = tokens_[at];
        if (inner.is("}") || inner.is(")") || inner.is("]") || inner.kind == Token::Kind::end ||
            inner.kind == Token::Kind::scop || inner.kind == Token::Kind::endscop)
          fail(inner, "expected ';'");
        at = match_[at] > at ? match_[at] + 1 : at + 1;
      }
      ++at;
    }
    while (true) {  // that was a whole statement: what it stands in may end with it
      if (open.empty()) return at;
      const Open innermost = open.back();
      open.pop_back();
      if (innermost == Open::branch && tokens_[at].is_name("else")) {
        ++at;
        break;
      }
      if (innermost == Open::do_loop) {
        if (!tokens_[at].is_name("while") || !tokens_[at + 1].is("("))
          fail(tokens_[at], "expected 'while' after 'do'");
        at = match_[at + 1] + 1;
        if (!tokens_[at].is(";")) fail(tokens_[at], "expected ';'");
        ++at;
      }
    }
  }
}

}  // namespace warploom::tile
