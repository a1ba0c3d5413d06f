#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "tile/c/parser.hpp"
#include "warploom/core/error.hpp"

namespace warploom::tile {
namespace {

std::string described(const Token& token) {
  if (token.kind == Token::Kind::end) return "the end of the file";
  std::string text;
  for (const char c : token.text.substr(0, 40)) {
    const auto byte = static_cast<unsigned char>(c);
    text += byte < 32 || byte >= 127 ? fmt::format("\\x{:02x}", byte) : std::string(1, c);
  }
  return '\'' + text + '\'';
}

}  // namespace

void Parser::fail(const Token& at, const std::string& what) const {
  throw ParseError({files_[at.file], at.at.line, at.at.column}, what);
}

void Parser::fail_expected(const std::string& what) const {
  fail(here(), fmt::format("expected {}, found {}", what, described(here())));
}

void Parser::refuse(const Token& at, std::string construct, std::string why) {
  throw Refused{{at.at, std::move(construct), std::move(why)}};
}

bool Parser::take(std::string_view punctuator) {
  if (!here().is(punctuator)) return false;
  ++at_;
  return true;
}

bool Parser::take_name(std::string_view name) {
  if (!here().is_name(name)) return false;
  ++at_;
  return true;
}

void Parser::expect(std::string_view punctuator, std::string_view where) {
  if (!take(punctuator)) fail_expected(fmt::format("'{}' {}", punctuator, where));
}

Symbol* Parser::find(const std::string& name) {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope)
    if (const auto found = scope->find(name); found != scope->end()) return found->second;
  return nullptr;
}

bool Parser::assigned_between(const std::string& name, std::size_t begin, std::size_t end) const {
  const auto found = assignments_.find(name);
  if (found == assignments_.end()) return false;
  const auto first = std::lower_bound(found->second.begin(), found->second.end(), begin);
  return first != found->second.end() && *first < end;
}

bool Parser::is_size(const Symbol& symbol, const std::string& name) const {
  if (!symbol.integer || symbol.is_array || !symbol.from_outside) return false;
  return !in_region_ || (!iterators_.count(name) && !assigned_between(name, region_begin_, region_end_));
}

bool Parser::is_result(const Symbol& symbol, const std::string& name) const {
  if (!symbol.from_outside || symbol.is_array || !assigned_between(name, region_begin_, region_end_))
    return false;
  const auto parameter = scopes_.size() > 1 ? scopes_[1].find(name) : Scope::const_iterator();
  return !whole_function_ || scopes_.size() < 2 || parameter == scopes_[1].end() ||
         parameter->second != &symbol;
}

void Parser::returned(const Token& name) {
  Symbol* symbol = find(name.text);
  if (!symbol) refuse(name, "name " + name.text, "it is not declared");
  if (symbol->is_array || symbol->value || !symbol->type || !symbol->unsupported.empty() ||
      !symbol->loop.empty() || is_size(*symbol, name.text))
    refuse(name, "return of " + name.text,
           "what a function returns has to be a scalar that its loops assign");
  const std::string& own = name_in_region(*symbol, name.text);
  const auto variable = std::ranges::find(region_.variables, own, &Variable::name);
  variable->is_parameter = variable->is_result = true;
  // What has a value before goes in and out through a pointer.
  if (whole_function_ && !symbol->from_outside && result_type_ == variable->type) region_.returned = own;
  if (std::ranges::find(region_.parameters, own) == region_.parameters.end())
    region_.parameters.push_back(own);
}

std::string Parser::fresh_name(const std::string& name, bool loop) {
  const auto free = [&](const std::string& candidate) {
    const auto found = used_.find(candidate);
    if (found == used_.end()) return true;
    return loop && found->second == Use::loop && !running_.count(candidate);
  };
  const Symbol* shadowed = find(name);
  const bool shadows = shadowed && shadowed->from_outside && !iterators_.count(name);
  if (free(name) && !shadows) return name;
  for (int number = 2;; ++number) {
    const std::string candidate = fmt::format("{}_{}", name, number);
    if (free(candidate) && !mentions_.count(candidate) && !find(candidate)) return candidate;
  }
}

/// The sizes in an outer array's extent are sizes of the region too.
void Parser::name_extents(const Symbol& symbol, const std::string& name, const Expression& extent) {
  for (const Expression& operand : extent.operands) name_extents(symbol, name, operand);
  if (extent.kind != Expression::Kind::name || extent.text.empty()) return;
  Symbol* size = nullptr;
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend() && !size; ++scope)
    if (const auto found = scope->find(extent.text); found != scope->end() && found->second->from_outside)
      size = found->second;
  if (!size || !is_size(*size, extent.text))
    throw Refused{
        {symbol.at, "extent " + extent.text + " of " + name, "it is no size: the region changes it"}};
  name_in_region(*size, extent.text);
}

const std::string& Parser::name_in_region(Symbol& symbol, const std::string& name) {
  if (!in_region_) return name;  // an extent: looked up again where its array is used
  if (symbol.from_outside && !named_.count(&symbol))
    for (const Expression& extent : symbol.extents) name_extents(symbol, name, extent);
  const auto [entry, fresh] = named_.try_emplace(&symbol);
  if (!fresh) return entry->second;
  const bool taken = used_.count(name) > 0;
  entry->second = taken || !symbol.from_outside ? fresh_name(name, false) : name;
  used_[entry->second] = Use::other;
  if (is_size(symbol, name)) {
    region_.sizes.push_back(entry->second);
    region_.size_declarations[entry->second] = {symbol.type_name, symbol.wider_than_int, symbol.at};
  } else {
    Variable variable;
    variable.name = entry->second;
    variable.type = *symbol.type;
    variable.extents = symbol.extents;
    variable.is_parameter = symbol.from_outside;
    variable.is_constant = symbol.is_const;
    variable.is_result = is_result(symbol, name);
    variable.is_flat = symbol.extents.size() == 1 && symbol.extents[0] == Expression::name("");
    variable.at = symbol.at;
    region_.variables.push_back(std::move(variable));
    if (symbol.home) symbol.home->locals.push_back(entry->second);
  }
  if (symbol.from_outside) region_.parameters.push_back(entry->second);
  return entry->second;
}

Parser::Parser(Preprocessed source, const SourceOptions& options)
    : options_(options), files_(std::move(source.files)), tokens_(std::move(source.tokens)) {
  match_brackets();
  any_scop_ = std::ranges::any_of(tokens_, [](const Token& t) { return t.kind == Token::Kind::scop; });
}

void Parser::match_brackets() {
  match_.assign(tokens_.size(), 0);
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    const Token& token = tokens_[i];
    match_[i] = i;
    if (token.kind == Token::Kind::other) fail(token, described(token) + " is no token of C");
    if (token.is("(") || token.is("[") || token.is("{")) open.push_back(i);
    if (!token.is(")") && !token.is("]") && !token.is("}")) continue;
    const char partner = token.is(")") ? '(' : token.is("]") ? '[' : '{';
    if (open.empty()) fail(token, fmt::format("'{}' without '{}'", token.text, partner));
    if (tokens_[open.back()].text[0] != partner) {
      const Token& other = tokens_[open.back()];
      fail(token,
           fmt::format("'{}' does not close the '{}' of line {}", token.text, other.text, other.at.line));
    }
    match_[i] = open.back();
    match_[open.back()] = i;
    open.pop_back();
  }
  if (!open.empty()) fail(tokens_[open.back()], fmt::format("'{}' is not closed", tokens_[open.back()].text));
}

std::vector<Region> Parser::run() {
  enter_scope();
  while (here().kind != Token::Kind::end) external_declaration();
  if (!options_.function.empty() && !found_function_)
    throw BadInput(fmt::format("{}: has no function {}; {}", files_[0], options_.function,
                               functions_.empty()
                                   ? "none is defined there"
                                   : fmt::format("there are {}", fmt::join(functions_, ", "))));
  return std::move(regions_);
}

void Parser::external_declaration() {
  if (here().kind == Token::Kind::scop || here().kind == Token::Kind::endscop)
    fail(here(), here().text + " outside of a function");
  if (take(";")) return;
  if (here().is_name("extern") && next().kind == Token::Kind::string) {
    at_ += 2;
    if (here().is("{")) ++open_linkage_, ++at_;
    return;
  }
  if (here().is("}") && open_linkage_ > 0) {
    --open_linkage_;
    ++at_;
    return;
  }
  const std::size_t begin = at_;
  Specifiers s;
  try {
    s = specifiers();
  } catch (const Refused& refused) {
    fail(tokens_[begin], refused.refusal.construct + ": " + refused.refusal.why);
  }
  if (at_ > begin && take(";")) return;
  const bool plain_function = here().kind == Token::Kind::identifier && next().is("(");  // main() {
  if (at_ == begin && !plain_function) fail_expected("a declaration");
  do {
    Declarator d = declarator(s, true);
    if (d.name.kind != Token::Kind::identifier) fail_expected("a name");
    if (d.parameters > 0 && here().is("{")) return function(d);
    if (s.is_typedef) {
      Specifiers alias = s;
      alias.is_typedef = false;
      alias.symbol = d.symbol;
      if (d.symbol.is_array || d.parameters > 0 || !d.symbol.unsupported.empty())
        alias.symbol.unsupported = "its type " + d.name.text + " is no scalar type";
      alias.symbol.is_array = false;
      alias.symbol.extents.clear();
      typedefs_[d.name.text] = std::move(alias);
    } else if (d.parameters == 0) {
      d.symbol.from_outside = true;
      Symbol* symbol = declare(d.name.text, d.symbol);
      if (take("=")) global_initialiser(*symbol);
    }
  } while (take(","));
  expect(";", "after a declaration");
}

void Parser::function(const Declarator& declarator) {
  const std::string& name = declarator.name.text;
  functions_.insert(name);
  const std::size_t open = at_, close = match_[open];
  const bool wanted = options_.function.empty() || options_.function == name;
  found_function_ = found_function_ || (wanted && !options_.function.empty());
  if (wanted) {
    enter_scope();
    try {
      parameters(declarator.parameters);
    } catch (const Refused& refused) {
      fail(tokens_[declarator.parameters], refused.refusal.construct + ": " + refused.refusal.why);
    }
    result_type_ = declarator.symbol.is_array ? std::nullopt : declarator.symbol.type;
    regions_of(name, declarator.parameters, open);
    leave_scope();
  }
  at_ = close + 1;
}

void Parser::regions_of(const std::string& name, std::size_t parameters, std::size_t open) {
  const std::size_t close = match_[open];
  std::vector<std::size_t> marks;
  bool loops = false;
  for (std::size_t i = open; i < close; ++i) {
    const Token& token = tokens_[i];
    if (token.kind == Token::Kind::scop || token.kind == Token::Kind::endscop) marks.push_back(i);
    loops = loops || token.is_name("for") || token.is_name("while") || token.is_name("do");
  }
  if (marks.empty() && (!loops || (any_scop_ && options_.function.empty()))) return;
  survey(parameters, close);
  if (marks.empty()) {
    const std::size_t name_index = parameters - 1;
    whole_function_ = true;
    regions_.push_back(region(name, tokens_[name_index], open + 1, close));
    whole_function_ = false;
    // What the function gives back stays.
    std::size_t last = close;
    for (std::size_t i = open; i < close; ++i)
      if (tokens_[i].is_name("return") && end_of_statement(i) == close) last = i;
    if (tokens_[open].file == 0 && tokens_[last].file == 0) {
      regions_.back().first = {tokens_[open].at.line, tokens_[open].at.column + 1};
      regions_.back().last = tokens_[last].at;
    }
    return;
  }
  for (std::size_t m = 0; m < marks.size(); m += 2) {
    const Token& begin = tokens_[marks[m]];
    if (begin.kind != Token::Kind::scop) fail(begin, "#pragma endscop without #pragma scop");
    if (m + 1 == marks.size() || tokens_[marks[m + 1]].kind == Token::Kind::scop)
      fail(begin, "#pragma scop without #pragma endscop in the same function");
    const std::size_t scopes = scopes_.size();
    region_begin_ = marks[m] + 1;
    region_end_ = marks[m + 1];
    declare_before(open, marks[m]);
    regions_.push_back(region(name, begin, marks[m] + 1, marks[m + 1]));
    scopes_.resize(scopes);
    const Token& end = tokens_[marks[m + 1]];
    if (begin.file == 0 && end.file == 0) {
      regions_.back().first = {begin.at.line + 1, 1};
      regions_.back().last = {end.at.line, 1};
    }
  }
}

/// Where the function's names stand, and where they may get a value.
void Parser::survey(std::size_t begin, std::size_t end) {
  mentions_.clear();
  assignments_.clear();
  body_begin_ = begin;
  body_end_ = end;
  static const std::set<std::string, std::less<>> after{"=",  "+=", "-=", "*=", "/=",  "%=", "++",
                                                        "--", "&=", "|=", "^=", "<<=", ">>="};
  std::string own;  // the variable that a loop's head declares, until that head ends
  std::size_t head_end = 0;
  for (std::size_t i = begin; i < end; ++i) {
    const Token& token = tokens_[i];
    if (token.kind != Token::Kind::identifier) continue;
    mentions_[token.text].push_back(i);
    if (token.text == "for" && tokens_[i + 1].is("(")) {
      head_end = match_[i + 1];
      std::size_t name = i + 2;
      while (tokens_[name + 1].kind == Token::Kind::identifier) ++name;
      own = name > i + 2 ? tokens_[name].text : "";
    }
    if (i < head_end && token.text == own) continue;
    const Token& left = tokens_[i - 1];
    const Token& right = tokens_[i + 1];
    if (left.kind == Token::Kind::identifier && !left.is_name("else") && !left.is_name("do"))
      continue;  // int n = 1
    if ((right.kind == Token::Kind::punctuator && after.count(right.text)) || left.is("++") ||
        left.is("--") || left.is("&"))
      assignments_[token.text].push_back(i);
  }
}

/// Declarations in the blocks around a region, which begin before it. What else stands there is not read.
void Parser::declare_before(std::size_t begin, std::size_t region) {
  at_ = begin;
  bool statement_start = false;
  while (at_ < region) {
    const Token& token = here();
    if (token.is("{")) {
      if (match_[at_] < region) {
        at_ = match_[at_] + 1;
      } else {
        enter_scope();
        ++at_;
      }
      statement_start = true;
      continue;
    }
    if (token.is_name("for") && next().is("(") && match_[at_ + 1] < region) {
      enter_scope();  // left with the region
      at_ += 2;
      statement_start = true;
      continue;
    }
    if (statement_start && starts_declaration() && !token.is_name("typedef")) {
      const std::size_t start = at_;
      try {
        const Specifiers s = specifiers();
        do {
          Declarator d = declarator(s, true);
          if (d.name.kind != Token::Kind::identifier || d.parameters > 0) break;
          declare_outside(std::move(d), s.is_static);
        } while (take(","));
      } catch (const Refused&) {
      } catch (const ParseError&) {  // nothing of it is needed, or the region says what is missing
      }
      at_ = std::max(at_, start + 1);
    }
    statement_start = here().is(";") || here().is("}");
    if (here().is("{") || at_ >= region) continue;
    ++at_;
  }
}

Region Parser::region(const std::string& function, const Token& at, std::size_t begin, std::size_t end) {
  region_ = Region{};
  region_.file = files_[at.file];
  region_.function = function;
  region_.at = at.at;
  region_begin_ = begin;
  region_end_ = block_end_ = end;
  in_region_ = true;
  iterators_.clear();
  used_.clear();
  running_.clear();
  body_of_ = nullptr;
  named_.clear();
  for (std::size_t i = begin; i + 3 < end; ++i)
    if (tokens_[i].is_name("for") && tokens_[i + 1].is("(") && tokens_[i + 3].is("="))
      iterators_.insert(tokens_[i + 2].text);

  // The function's parameters come first, in their order, used or not: they are its signature.
  std::vector<std::pair<std::size_t, std::string>> order;
  for (const auto& [name, symbol] : scopes_[1]) {
    const bool value = symbol->type || (symbol->integer && !symbol->is_array);
    if (!symbol->from_outside || !symbol->unsupported.empty() || !value || iterators_.count(name)) continue;
    if (!symbol->type && !is_size(*symbol, name)) continue;
    const auto& places = mentions_[name];
    if (!places.empty() && places[0] < match_[body_begin_]) order.emplace_back(places[0], name);
  }
  std::ranges::sort(order);
  for (const auto& [place, name] : order) {
    try {
      name_in_region(*scopes_[1].at(name), name);
    } catch (const Refused&) {  // again where it is used
    }
  }

  at_ = begin;
  enter_scope();
  while (at_ < end) {
    const Token& token = here();
    const bool last = token.is_name("return") && end_of_statement(at_) == end;
    if (last && next().kind == Token::Kind::identifier && next(2).is(";")) {
      try {
        returned(next());
      } catch (const Refused& refused) {
        region_.refusals.push_back(refused.refusal);
      }
      at_ = end;
    } else if (last && (next().is(";") || (next().kind == Token::Kind::number && next(2).is(";")))) {
      at_ = end;
    } else {
      statement(region_.body.children);
    }
  }
  leave_scope();
  in_region_ = false;
  if (at_ != end) fail(tokens_[end], "expected the end of a statement");
  return std::move(region_);
}

std::vector<Region> read_source(std::string_view text, const std::string& file,
                                const SourceOptions& options) {
  return Parser(preprocess(text, file, options), options).run();
}

}  // namespace warploom::tile
