#include "tile/c/macros.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "warploom/core/error.hpp"

namespace warploom::tile {
namespace {

constexpr int kDeepestMacro = 200;              // macros within macros
constexpr std::int64_t kMostSteps = 2'000'000;  // tokens looked at, against macros that double

bool hides(const std::shared_ptr<const HideSet>& set, const std::string& name) {
  for (const HideSet* s = set.get(); s; s = s->rest.get())
    if (s->name == name) return true;
  return false;
}

std::shared_ptr<const HideSet> with(std::shared_ptr<const HideSet> set, const std::string& name) {
  if (hides(set, name)) return set;
  const int size = set ? set->size + 1 : 1;
  return std::make_shared<const HideSet>(HideSet{name, std::move(set), size});
}

std::shared_ptr<const HideSet> both(const std::shared_ptr<const HideSet>& a,
                                    const std::shared_ptr<const HideSet>& b) {
  std::shared_ptr<const HideSet> common;
  for (const HideSet* s = a.get(); s; s = s->rest.get())
    if (hides(b, s->name)) common = with(common, s->name);
  return common;
}

std::shared_ptr<const HideSet> either(std::shared_ptr<const HideSet> a,
                                      const std::shared_ptr<const HideSet>& b) {
  if (!a) return b;
  for (const HideSet* s = b.get(); s; s = s->rest.get()) a = with(a, s->name);
  return a;
}

/// The text of tokens as it stood, one blank for white space.
std::string spelling(const std::vector<Token>& tokens) {
  std::string text;
  for (const Token& token : tokens) {
    if (token.space_before && !text.empty()) text += ' ';
    text += token.text;
  }
  return text;
}

}  // namespace

void Macros::fail(const Token& at, const std::string& what) const {
  throw ParseError({files_[at.file], at.at.line, at.at.column}, what);
}

void Macros::define(const std::vector<Token>& line) {
  const Token& name = line[0];
  if (name.kind != Token::Kind::identifier || name.text == "defined") fail(name, "#define: expected a name");
  Macro macro;
  std::size_t at = 1;
  if (line[1].is("(") && !line[1].space_before) {
    macro.function_like = true;
    ++at;
    while (!line[at].is(")")) {
      if (macro.variadic) fail(line[at], "#define: expected ')' after '...'");
      if (line[at].is("...")) {
        macro.variadic = true;
        macro.parameters.emplace_back("__VA_ARGS__");
      } else if (line[at].kind == Token::Kind::identifier) {
        macro.parameters.push_back(line[at].text);
      } else {
        fail(line[at], "#define: expected a parameter's name");
      }
      ++at;
      if (!line[at].is(",")) break;
      ++at;
    }
    if (!line[at].is(")")) fail(line[at], "#define: expected ')'");
    ++at;
  }
  macro.body.assign(line.begin() + static_cast<std::ptrdiff_t>(at), line.end() - 1);
  if (!macro.body.empty() && (macro.body.front().is("##") || macro.body.back().is("##")))
    fail(macro.body.front().is("##") ? macro.body.front() : macro.body.back(),
         "#define: '##' needs two neighbours");
  macros_[name.text] = std::move(macro);
}

Macros::Arguments Macros::arguments(const Token& name, const Macro& macro, std::vector<Token>& stack,
                                    Token& closing) const {
  stack.pop_back();  // "("
  Arguments list(1);
  int open = 0;
  while (true) {
    if (stack.empty()) fail(name, fmt::format("arguments of macro {} do not end: expected ')'", name.text));
    Token token = std::move(stack.back());
    stack.pop_back();
    if (token.is(")") && open == 0) {
      closing = std::move(token);
      break;
    }
    open += token.is("(") - token.is(")");
    const bool rest = macro.variadic && list.size() >= macro.parameters.size();
    if (token.is(",") && open == 0 && !rest) {
      list.emplace_back();
    } else {
      list.back().push_back(std::move(token));
    }
  }
  const std::size_t wanted = macro.parameters.size();
  if (macro.variadic && list.size() + 1 == wanted) list.emplace_back();
  if (wanted == 0 && list.size() == 1 && list[0].empty()) list.clear();
  if (list.size() != wanted)
    fail(name, fmt::format("macro {} takes {} arguments, not {}", name.text, wanted, list.size()));
  return list;
}

Token Macros::paste(const Token& left, const Token& right) const {
  if (left.text.empty()) return right;
  if (right.text.empty()) return left;
  const std::string text = left.text + right.text;
  // What would open a comment is no token either.
  std::vector<Token> joined;
  if (!text.starts_with("//") && !text.starts_with("/*"))
    joined = tokenise(text, left.file, files_[left.file]);
  if (joined.size() != 2) fail(left, fmt::format("'##' makes '{}', which is no token", text));
  joined[0].at = left.at;
  joined[0].space_before = left.space_before;
  joined[0].line_start = false;
  joined[0].hidden = both(left.hidden, right.hidden);
  return std::move(joined[0]);
}

std::vector<Token> Macros::replace(const Token& name, const Macro& macro, const Arguments& list) {
  const auto parameter = [&](const Token& token) -> const std::vector<Token>* {
    if (token.kind != Token::Kind::identifier) return nullptr;
    const auto found = std::ranges::find(macro.parameters, token.text);
    return found == macro.parameters.end()
               ? nullptr
               : &list[static_cast<std::size_t>(found - macro.parameters.begin())];
  };
  Token nothing;  // stands where an argument is empty, for '##'
  nothing.kind = Token::Kind::other;
  std::vector<Token> result;
  const auto append = [&](const Token& from, const std::vector<Token>& tokens) {
    result.insert(result.end(), tokens.begin(), tokens.end());
    if (tokens.empty()) result.push_back(nothing);
    const std::size_t first = result.size() - std::max<std::size_t>(tokens.size(), 1);
    result[first].space_before = from.space_before;
  };
  std::map<std::string, std::vector<Token>> expanded;
  const auto& body = macro.body;
  for (std::size_t i = 0; i < body.size(); ++i) {
    const Token& token = body[i];
    const std::vector<Token>* argument = parameter(token);
    if (macro.function_like && token.is("#") && i + 1 < body.size() && parameter(body[i + 1])) {
      Token text = token;
      text.kind = Token::Kind::string;
      text.text = '"';
      for (const char c : spelling(*parameter(body[++i]))) {
        if (c == '"' || c == '\\') text.text += '\\';
        text.text += c;
      }
      text.text += '"';
      result.push_back(std::move(text));
    } else if (token.is("##") && !result.empty()) {
      const Token& next = body[++i];
      const std::vector<Token>* raw = parameter(next);
      const Token left = std::move(result.back());
      result.pop_back();
      append(left, raw ? *raw : std::vector<Token>{next});
      Token& joint = result[result.size() - std::max<std::size_t>(raw ? raw->size() : 1, 1)];
      joint = paste(left, joint);
    } else if (argument && i + 1 < body.size() && body[i + 1].is("##")) {
      append(token, *argument);
    } else if (argument) {
      const auto [entry, fresh] = expanded.try_emplace(token.text);
      if (fresh) expand(*argument, entry->second);
      append(token, entry->second);
    } else {
      result.push_back(token);
    }
    steps_ += 1;
    if (steps_ + static_cast<std::int64_t>(result.size()) > kMostSteps)
      fail(name, fmt::format("macro {} makes more than {} tokens", name.text, kMostSteps));
  }
  std::erase_if(result, [](const Token& token) { return token.text.empty(); });
  return result;
}

void Macros::expand(std::vector<Token> in, std::vector<Token>& out) {
  std::vector<Token> stack = std::move(in);
  std::reverse(stack.begin(), stack.end());
  ++depth_;
  while (!stack.empty()) {
    Token token = std::move(stack.back());
    stack.pop_back();
    if (++steps_ > kMostSteps) fail(token, fmt::format("more than {} tokens after macros", kMostSteps));
    const auto found = token.kind == Token::Kind::identifier ? macros_.find(token.text) : macros_.end();
    const bool call = found != macros_.end() && found->second.function_like;
    if (found == macros_.end() || hides(token.hidden, token.text) ||
        (call && (stack.empty() || !stack.back().is("(")))) {
      out.push_back(std::move(token));
      continue;
    }
    if (depth_ > kDeepestMacro || (token.hidden && token.hidden->size > kDeepestMacro))
      fail(token, fmt::format("macros nested deeper than {}", kDeepestMacro));
    Token closing;
    Arguments list;
    if (call) list = arguments(token, found->second, stack, closing);
    const auto hidden = with(call ? both(token.hidden, closing.hidden) : token.hidden, token.text);
    std::vector<Token> result = replace(token, found->second, list);
    if (!result.empty()) result[0].space_before = token.space_before;
    for (auto next = result.rbegin(); next != result.rend(); ++next) {
      next->hidden = either(next->hidden, hidden);
      next->at = token.at;
      next->file = token.file;
      stack.push_back(std::move(*next));
    }
  }
  --depth_;
}

}  // namespace warploom::tile
