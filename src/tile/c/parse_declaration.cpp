#include <fmt/format.h>

#include <algorithm>

#include "tile/c/parser.hpp"

namespace warploom::tile {
namespace {

constexpr std::int64_t kMostInitialised = 4096;

const std::set<std::string, std::less<>> kTypeWords{"void",     "char",  "short",  "int",
                                                    "long",     "float", "double", "signed",
                                                    "unsigned", "_Bool", "bool",   "_Complex"};
const std::set<std::string, std::less<>> kQualifiers{
    "const", "volatile", "restrict", "__restrict", "__restrict__",  "static",    "extern",  "register",
    "auto",  "inline",   "__inline", "__inline__", "__extension__", "_Noreturn", "typedef", "__const"};

const std::set<std::string, std::less<>> kStatementWords{
    "if",   "else",  "for",      "while",  "do",     "switch", "case",  "default",
    "goto", "break", "continue", "return", "sizeof", "struct", "union", "enum"};

bool is_keyword(const std::string& word) {
  return kTypeWords.count(word) || kQualifiers.count(word) || kStatementWords.count(word);
}

/// Types that standard headers define.
const std::map<std::string, std::pair<bool, bool>, std::less<>> kHeaderTypes{
    // is int, is unsigned
    {"size_t", {false, true}},   {"ptrdiff_t", {false, false}}, {"ssize_t", {false, false}},
    {"int32_t", {true, false}},  {"int64_t", {false, false}},   {"uint32_t", {false, true}},
    {"uint64_t", {false, true}}, {"intptr_t", {false, false}}};

int count_nodes(const Expression& e) {
  int count = 1;
  for (const Expression& operand : e.operands) count += count_nodes(operand);
  return count;
}

}  // namespace

bool Parser::starts_type(std::size_t index) const {
  const Token& token = tokens_[index];
  if (token.kind != Token::Kind::identifier) return false;
  if (kTypeWords.count(token.text) || kQualifiers.count(token.text)) return true;
  if (token.text == "struct" || token.text == "union" || token.text == "enum") return true;
  return const_cast<Parser*>(this)->find(token.text) == nullptr &&
         (typedefs_.count(token.text) || kHeaderTypes.count(token.text));
}

bool Parser::starts_declaration() const {
  if (starts_type(at_)) return true;
  if (here().kind != Token::Kind::identifier) return false;
  // A type that no header read here defines: "FILE *f;", "real x;"
  if (next().kind == Token::Kind::identifier) return true;
  const Token& after = next(3);
  return const_cast<Parser*>(this)->find(here().text) == nullptr && next().is("*") &&
         next(2).kind == Token::Kind::identifier && (after.is(";") || after.is("=") || after.is(","));
}

void Parser::skip_attributes() {
  while ((here().is_name("__attribute__") || here().is_name("__asm__") || here().is_name("asm") ||
          here().is_name("_Alignas") || here().is_name("__declspec")) &&
         next().is("("))
    at_ = match_[at_ + 1] + 1;
}

Parser::Specifiers Parser::specifiers() {
  Specifiers s;
  std::set<std::string> words;
  bool named = false;
  while (here().kind == Token::Kind::identifier) {
    const Token& token = here();
    skip_attributes();
    if (&here() != &token) continue;
    if (built_in_specifier(s, words)) {
      ++at_;
    } else if (token.text == "struct" || token.text == "union" || token.text == "enum") {
      const bool integers = token.text == "enum";
      s.symbol.type_name = token.text;
      ++at_;
      if (here().kind == Token::Kind::identifier) s.symbol.type_name += ' ' + tokens_[at_++].text;
      if (integers && here().is("{")) {
        enumeration();
      } else if (here().is("{")) {
        at_ = match_[at_] + 1;
      }
      s.symbol.integer = integers;
      if (!integers) s.symbol.unsupported = "structs are not in the subset";
      named = true;
    } else if (words.empty() && !named) {
      const bool known = typedefs_.count(token.text) > 0;
      if (!known && !kHeaderTypes.count(token.text) && next().kind != Token::Kind::identifier &&
          !next().is("*"))
        break;
      if (known) {
        const Specifiers& alias = typedefs_.at(token.text);
        const bool constant = s.symbol.is_const;
        s.symbol = alias.symbol;
        s.symbol.is_const = s.symbol.is_const || constant;
        s.is_void = alias.is_void;
      } else if (const auto found = kHeaderTypes.find(token.text); found != kHeaderTypes.end()) {
        s.symbol.integer = true;
        s.symbol.is_unsigned = found->second.second;
        if (found->second.first) s.symbol.type = ScalarType::int32;
        s.symbol.wider_than_int = !found->second.first || found->second.second;
      } else {
        s.symbol.unsupported =
            "its type " + token.text + " is not known; include its header or define it as a macro";
      }
      s.symbol.type_name = token.text;
      named = true;
      ++at_;
    } else {
      break;
    }
  }
  if (words.empty()) return s;
  s.symbol.unsupported.clear();  // an unknown word before the type was a macro for the compiler
  s.symbol.type.reset();
  const auto has = [&](const char* word) { return words.count(word) > 0; };
  const bool wide = has("long") || has("short") || has("unsigned") || has("char");
  s.is_void = has("void");
  s.symbol.integer = !has("float") && !has("double") && !s.is_void && !has("_Complex");
  s.symbol.is_unsigned = has("unsigned");
  s.symbol.wider_than_int =
      s.symbol.integer && (has("long") || (has("unsigned") && !has("short") && !has("char")));
  if (has("float")) s.symbol.type = ScalarType::float32;
  if (has("double") && !has("long")) s.symbol.type = ScalarType::float64;
  if (s.symbol.integer && !wide && !has("bool") && !has("_Bool")) s.symbol.type = ScalarType::int32;
  if (words == std::set<std::string>{"char"}) s.symbol.type = ScalarType::character;
  if (has("_Complex")) s.symbol.unsupported = "complex numbers are not in the subset";
  if (has("volatile")) s.symbol.unsupported = "it is volatile";
  return s;
}

bool Parser::built_in_specifier(Specifiers& s, std::set<std::string>& words) {
  const std::string& word = here().text;
  if (kTypeWords.count(word)) {
    s.symbol.type_name = words.empty() || (words.size() == 1 && words.count("volatile"))
                             ? word
                             : s.symbol.type_name + ' ' + word;
    words.insert(word);
    return true;
  }
  if (!kQualifiers.count(word)) return false;
  if (word == "const" || word == "__const") s.symbol.is_const = true;
  if (word == "volatile") s.symbol.unsupported = "it is volatile";
  if (word == "typedef") s.is_typedef = true;
  if (word == "static") s.is_static = true;
  return true;
}

void Parser::enumeration() {
  const std::size_t end = match_[at_];
  ++at_;
  std::int64_t value = 0;
  while (at_ < end) {
    const Token& name = here();
    if (name.kind != Token::Kind::identifier) fail_expected("an enumerator's name");
    ++at_;
    if (take("=")) {
      const Operand given = index("enumerator");
      if (given.expression.kind != Expression::Kind::integer)
        refuse(name, "enumerator " + name.text, "its value has to be an integer literal");
      value = given.expression.value;
    }
    Symbol symbol;
    symbol.integer = true;
    symbol.type = ScalarType::int32;
    symbol.value = Expression::integer(value);
    declare(name.text, std::move(symbol));
    if (__builtin_add_overflow(value, std::int64_t{1}, &value)) fail(name, "enumerator beyond 64 bits");
    if (!take(",") && at_ != end) fail_expected("',' or '}'");
  }
  at_ = end + 1;
}

Parser::Declarator Parser::declarator(const Specifiers& s, bool pointers_are_arrays) {
  Declarator d;
  d.symbol = s.symbol;
  const auto pointers = [&] {
    int count = 0;
    while (true) {
      skip_attributes();
      if (take("*")) {
        ++count;
        d.symbol.is_const = d.symbol.is_const && count == 1;
      } else if (here().kind == Token::Kind::identifier && kQualifiers.count(here().text)) {
        ++at_;
      } else {
        return count;
      }
    }
  };
  const int outer = pointers();
  int inner = 0;
  const auto name = [&] {
    if (here().kind != Token::Kind::identifier || is_keyword(here().text)) return;
    d.name = here();
    d.name_index = at_;
    d.symbol.at = here().at;
    ++at_;
  };
  if (here().is("(") && (next().is("*") || (next().kind == Token::Kind::identifier && next(2).is(")") &&
                                            !starts_type(at_ + 1)))) {
    const std::size_t close = match_[at_];
    ++at_;
    inner = pointers();
    name();
    if (at_ != close) {  // int (*f(void))[3], int (*a[3])(int)
      d.symbol.unsupported = "its declaration is not in the subset";
      at_ = close;
    }
    ++at_;
  } else {
    name();
  }
  const auto add_unknown = [&] {
    Expression unknown = Expression::name("");
    unknown.at = d.symbol.at;
    d.symbol.extents.push_back(std::move(unknown));
    d.symbol.is_array = d.from_pointer = true;
  };
  if (here().is("(")) {
    d.parameters = at_;
    at_ = match_[at_] + 1;
    if (inner > 0) {
      d.symbol.unsupported = "pointers to functions are not in the subset";
      d.parameters = 0;
    }
    skip_attributes();
    return d;
  }
  const int all = outer + inner;
  if (all > 1 || (outer == 1 && here().is("["))) {
    d.symbol.unsupported = "pointers to pointers are not in the subset; declare an array with its extents";
  } else if (all == 1 && !pointers_are_arrays) {
    d.symbol.unsupported = "pointers are not in the subset; declare an array";
  } else if (all == 1) {
    add_unknown();
  }
  extents(d);
  skip_attributes();
  return d;
}

void Parser::extents(Declarator& d) {
  while (here().is("[")) {
    const std::size_t close = match_[at_];
    ++at_;
    d.symbol.is_array = true;
    while (here().kind == Token::Kind::identifier && kQualifiers.count(here().text)) ++at_;
    Expression extent = Expression::name("");
    extent.at = d.symbol.at;
    const bool known = at_ < close && !(here().is("*") && at_ + 1 == close);
    if (known) {
      try {
        extent = index("extent").expression;
        if (at_ != close) fail_expected("']'");
      } catch (const Refused& refused) {
        d.symbol.unsupported =
            "its extent cannot be read: " + refused.refusal.construct + ": " + refused.refusal.why;
      }
    }
    // n + 0, as padded macros write it
    while (extent.kind == Expression::Kind::binary && extent.text == "+" &&
           extent.operands[1] == Expression::integer(0)) {
      Expression left = std::move(extent.operands[0]);
      extent = std::move(left);
    }
    if (extent.kind == Expression::Kind::integer && extent.value < 1)
      d.symbol.unsupported = fmt::format("its extent {} is not positive", extent.value);
    d.symbol.extents.push_back(std::move(extent));
    at_ = close + 1;
  }
}

void Parser::skip_initialiser() {
  while (!here().is(",") && !here().is(";")) {
    if (here().kind == Token::Kind::end || match_[at_] < at_) fail_expected("';'");
    at_ = std::max(match_[at_], at_) + 1;
  }
}

void Parser::parameters(std::size_t open) {
  const std::size_t close = match_[open];
  at_ = open + 1;
  if (here().is_name("void") && at_ + 1 == close) return;
  while (at_ < close) {
    if (take("...")) break;
    const std::size_t begin = at_;
    const Specifiers s = specifiers();
    if (at_ == begin && here().kind != Token::Kind::identifier) fail_expected("a parameter");
    Declarator d = declarator(s, true);
    if (!here().is(",") && at_ != close) fail_expected("',' or ')' after a parameter");
    if (s.is_void && d.symbol.unsupported.empty()) d.symbol.unsupported = "its type is void";
    if (d.parameters > 0) d.symbol.unsupported = "functions as parameters are not in the subset";
    d.symbol.from_outside = true;
    if (d.name.kind == Token::Kind::identifier) declare(d.name.text, d.symbol);
    if (at_ != close) ++at_;
  }
}

std::optional<Expression> Parser::constant_of(const Symbol& symbol, const Operand& value) {
  const Expression* core = &value.expression;
  while (core->kind == Expression::Kind::cast) core = &core->operands[0];
  if (symbol.integer && value.index && count_nodes(value.expression) <= 50) return value.expression;
  const bool real = core->kind == Expression::Kind::real, integer = core->kind == Expression::Kind::integer;
  if (symbol.integer || !(real || integer) || count_nodes(value.expression) > 50) return std::nullopt;
  const bool single =
      real && (core->text.ends_with('f') || core->text.ends_with('F')) && !core->text.starts_with("0x");
  const bool same = core == &value.expression && real && single == (symbol.type == ScalarType::float32);
  if (same) return value.expression;
  Expression cast;
  cast.kind = Expression::Kind::cast;
  cast.text = c_name(*symbol.type);
  cast.operands = {value.expression};
  return cast;
}

void Parser::global_initialiser(Symbol& symbol) {
  const std::size_t begin = at_;
  if (symbol.is_const && !symbol.is_array && symbol.type && symbol.unsupported.empty()) {
    try {
      symbol.value = constant_of(symbol, expression());
    } catch (const Refused&) {
      at_ = begin;
    }
  }
  skip_initialiser();
}

Symbol* Parser::declare(const std::string& name, Symbol symbol) {
  symbols_.push_back(std::move(symbol));
  return scopes_.back()[name] = &symbols_.back();
}

void Parser::declare_outside(Declarator d, bool is_static) {
  const std::string& name = d.name.text;
  const bool initialised = here().is("=");
  // What is said of it elsewhere in the function, the declaration apart.
  const auto& places = mentions_[name];
  const auto outside = std::ranges::count_if(places, [&](std::size_t place) {
    return place > d.name_index && (place < region_begin_ || place >= region_end_);
  });
  d.symbol.from_outside = is_static || initialised || outside > 0 || d.from_pointer;
  Symbol* symbol = declare(name, d.symbol);
  if (!initialised) return;
  ++at_;
  const std::size_t begin = at_;
  if (!symbol->is_array && symbol->type && symbol->unsupported.empty() && !is_static &&
      !assigned_between(name, begin, body_end_)) {
    try {
      const Operand value = expression();
      if (value.expression.kind == Expression::Kind::integer || !symbol->integer)
        symbol->value = constant_of(*symbol, value);
    } catch (const Refused&) {
    }
  }
  at_ = begin;
  skip_initialiser();
}

void Parser::local_declaration(std::vector<Node>& out) {
  const Specifiers s = specifiers();
  if (take(";")) return;
  do {
    Declarator d = declarator(s, false);
    if (d.name.kind != Token::Kind::identifier) fail_expected("a name");
    if (d.parameters > 0 || s.is_typedef) {
      Symbol symbol = d.symbol;
      symbol.unsupported = s.is_typedef ? "types within functions are not in the subset" : "it is a function";
      declare(d.name.text, std::move(symbol));
    } else {
      local_variable(std::move(d), s.is_static, out);
    }
  } while (take(","));
  expect(";", "after a declaration");
}

void Parser::local_variable(Declarator d, bool is_static, std::vector<Node>& out) {
  const std::string name = d.name.text;
  for (const Expression& extent : d.symbol.extents) {
    for (const std::string& loop : running_) {
      if (!(substitute(extent, {{loop, Expression::integer(0)}}) == extent) && d.symbol.unsupported.empty())
        d.symbol.unsupported = "its extent depends on loop variable " + loop;
    }
    if (extent == Expression::name("") && d.symbol.unsupported.empty())
      d.symbol.unsupported = "its extent is missing";
  }
  d.symbol.from_outside = is_static;
  if (!is_static) d.symbol.home = body_of_;
  Symbol* symbol = declare(name, d.symbol);
  if (!take("=")) return;
  if (is_static) refuse(d.name, "static " + name + " with an initialiser", "pass it as a parameter");
  if (!symbol->unsupported.empty()) refuse(d.name, name, symbol->unsupported);
  if (symbol->is_array) return array_initialiser(d, out);
  Operand value = expression();
  if (iterators_.count(name) && symbol->integer) return;  // its loop gives it another
  if (!assigned_between(name, d.name_index + 1, block_end_)) {
    if (auto constant = constant_of(*symbol, value)) {
      symbol->value = std::move(constant);
      return;
    }
  }
  if (!symbol->type)
    refuse(d.name, fmt::format("variable {} of type {}", name, symbol->type_name),
           "values are of type float, double or int");
  Expression target = Expression::name(name_in_region(*symbol, name));
  target.at = d.name.at;
  assign(std::move(target), "=", std::move(value.expression), d.name.at, out);
}

void Parser::array_initialiser(const Declarator& d, std::vector<Node>& out) {
  std::vector<std::int64_t> extents;
  std::int64_t elements = 1;
  for (const Expression& extent : d.symbol.extents) {
    if (extent.kind != Expression::Kind::integer || extent.value > kMostInitialised / elements)
      refuse(d.name, "initialiser of array " + d.name.text,
             fmt::format("its extents have to be numbers, of no more than {} elements in all",
                         kMostInitialised));
    extents.push_back(extent.value);
    elements *= extent.value;
  }
  if (!d.symbol.type)
    refuse(d.name, fmt::format("array {} of type {}", d.name.text, d.symbol.type_name),
           "elements are of type float, double or int");
  std::vector<std::int64_t> subscripts;
  list(d, subscripts, extents, out);
}

void Parser::list(const Declarator& d, std::vector<std::int64_t>& subscripts,
                  const std::vector<std::int64_t>& extents, std::vector<Node>& out) {
  const std::size_t dimension = subscripts.size();
  bool given = false;
  if (dimension < extents.size()) {
    const Token& open = here();
    given = take("{");
    if (!given && !open.is(",") && !open.is("}"))
      refuse(open, "initialiser of array " + d.name.text, "write braces around every row");
    subscripts.push_back(0);
    for (; subscripts.back() < extents[dimension]; ++subscripts.back()) {
      if (given && (here().is(".") || here().is("[")))
        refuse(here(), "initialiser of an element by its name", "list all elements in order");
      list(d, subscripts, extents, out);
      if (given && !here().is("}")) expect(",", "in an initialiser");
    }
    subscripts.pop_back();
    if (given && !here().is("}"))
      refuse(here(), "initialiser of array " + d.name.text, "it has more values than the array elements");
    if (given) ++at_;
    return;
  }
  Symbol& symbol = *find(d.name.text);
  std::vector<Expression> place;
  for (const std::int64_t subscript : subscripts) place.push_back(Expression::integer(subscript));
  const Position at = here().at;
  Expression value = Expression::integer(0);
  if (!here().is("}") && !here().is(",") && !here().is(";")) value = expression().expression;
  Expression target = Expression::element(name_in_region(symbol, d.name.text), std::move(place));
  target.at = at;
  assign(std::move(target), "=", std::move(value), at, out);
}

}  // namespace warploom::tile
