// What stands between a function's braces: declarations, labels, instructions, inner scopes.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ptx/parser.hpp"

namespace warploom::ptx {
namespace {
constexpr int kMaxOperandDepth = 8;  // real PTX nests to 3: (list, {vector, [address

/// Wraps around where the mathematical sum does not fit.
std::int64_t sum(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
}  // namespace

void Parser::body(std::uint32_t function_index) {
  function_index_ = function_index;
  function_ = &module_.functions[function_index];
  lex_.skip();
  function_->body.begin = lex_.at();
  lex_.expect('{', "to open the body");
  reserve_body();
  scopes_.clear();
  scopes_.emplace_back();
  const auto declare_parameters = [&](const std::vector<std::uint32_t>& ids) {
    for (const std::uint32_t id : ids) {
      const Variable& v = module_.variables[id];
      if (v.name == "_") continue;
      if (v.space == Space::none) {  // `.func (.reg .b32 r) f (.reg .b32 a)`
        function_->registers.push_back({v.name, v.type, 1});
        declare(v.name, {Name::reg, static_cast<std::uint32_t>(function_->registers.size() - 1)},
                v.name_span.begin);
      } else {
        declare(v.name, {Name::variable, id}, v.name_span.begin);
      }
    }
  };
  declare_parameters(function_->results);
  declare_parameters(function_->parameters);
  while (!scopes_.empty()) statement();
  function_->body.end = lex_.end();
  function_ = nullptr;
}

void Parser::reserve_body() {
  // A closing brace at the head of a line ends it. Where that is wrong the tables grow as they must;
  // no text is counted twice, so the time stays linear.
  if (lex_.at() < reserved_to_) return;
  const std::string_view text = module_.text;
  reserved_to_ = std::min(text.find("\n}", lex_.at()), text.size());
  std::size_t semicolons = 0, separators = 0;
  const char* at = text.data() + lex_.at();
  const char* const end = text.data() + reserved_to_;
  constexpr std::ptrdiff_t kChunk = 128;  // counts fit a byte, which is how the compiler makes vectors of it
  for (; end - at >= kChunk; at += kChunk) {
    std::uint8_t few = 0, more = 0;
    for (std::ptrdiff_t k = 0; k < kChunk; ++k) {
      few = static_cast<std::uint8_t>(few + (at[k] == ';' ? 1 : 0));
      more = static_cast<std::uint8_t>(more + ((at[k] == ',') | (at[k] == '[') | (at[k] == '{') ? 1 : 0));
    }
    semicolons += few;
    separators += more;
  }
  for (; at != end; ++at) {
    semicolons += *at == ';';
    separators += *at == ',' || *at == '[' || *at == '{';
  }
  separators += semicolons;
  function_->instructions.reserve(semicolons);
  function_->operands.reserve(separators);
}

void Parser::statement() {
  const char c = lex_.peek();
  if (c == '}') {
    lex_.advance();
    pop_scope();
  } else if (c == '{') {
    lex_.advance();
    if (scopes_.size() >= 256) lex_.fail(lex_.at(), "scopes are nested deeper than 256");
    scopes_.emplace_back();
  } else if (c == ';') {
    lex_.advance();
  } else if (c == '.') {
    body_directive();
  } else if (c == '@') {
    instruction();
  } else if (Lexer::is_name_start(c)) {
    const std::uint32_t at = lex_.at(), line = lex_.line();
    const std::string_view name = lex_.name("a label or an instruction");
    if (lex_.peek() == ':' && !lex_.starts_with("::")) {
      lex_.advance();
      label(name, at);
    } else {
      lex_.rewind(at, line);
      instruction();
    }
  } else {
    lex_.fail_expected("an instruction, a label, a directive or '}'");
  }
}

void Parser::pop_scope() {
  // Names this scope defined as labels are settled; the rest may be labels of the scope around it.
  Scope scope = std::move(scopes_.back());
  scopes_.pop_back();
  for (Scope::Pending& p : scope.pending) {
    const auto it = scope.names.find(p.name);
    if (it != scope.names.end() && it->second.kind == Name::label) {
      if (p.operand != kNone)
        function_->operands[p.operand].id = it->second.id;
      else
        function_->labels[p.table].targets[p.position] = it->second.id;
    } else if (!scopes_.empty()) {
      scopes_.back().pending.push_back(p);
    } else if (p.required || p.operand == kNone) {
      lex_.fail(p.offset, fmt::format("label '{}' is not defined in '{}'", p.name, function_->name));
    } else {
      function_->operands[p.operand].kind = OperandKind::unknown;
    }
  }
}

void Parser::declare(std::string_view name, Name meaning, std::uint32_t at) {
  Scope& scope = scopes_.back();
  if (scope.range_of(NumberedName(name)) != nullptr || !scope.names.emplace(name, meaning).second)
    lex_.fail(at, fmt::format("'{}' is declared twice in one scope", name));
}

Name Parser::find(std::string_view name) {
  const NumberedName numbered(name);
  for (std::size_t depth = scopes_.size(); depth-- > 0;) {
    Scope& scope = scopes_[depth];
    if (RegisterRange* range = scope.range_of(numbered)) {
      std::uint32_t& id = range->ids.empty()
                              ? scope.names.try_emplace(name, Name{Name::reg, kNone}).first->second.id
                              : range->ids[numbered.number];
      if (id == kNone) {
        id = static_cast<std::uint32_t>(function_->registers.size());
        function_->registers.push_back({name, range->type, range->vector});
      }
      return {Name::reg, id};
    }
    if (const auto it = scope.names.find(name); it != scope.names.end()) return it->second;
  }
  if (const auto it = globals_.find(name); it != globals_.end()) return {Name::variable, it->second};
  return {};
}

void Parser::body_directive() {
  const std::uint32_t begin = lex_.at(), line = lex_.line();
  const std::string_view word = lex_.directive();
  if (word == ".reg") return registers();
  if (word == ".loc") return location_directive();
  if (space_of(word) != Space::none) {
    lex_.rewind(begin, line);
    return variables(Linkage::none, begin, function_index_);
  }
  if (word == ".file") return file_directive();
  unknown_directive();  // .pragma and what later ISAs bring
}

void Parser::registers() {
  std::uint8_t vector = 1;
  lex_.skip();
  std::uint32_t at = lex_.at();
  std::string_view word = lex_.directive();
  if (word == ".v2" || word == ".v4") {
    vector = static_cast<std::uint8_t>(word[2] - '0');
    lex_.skip();
    at = lex_.at();
    word = lex_.directive();
  }
  const std::string_view type = word.substr(1);
  if (type_bytes(type) == 0)
    lex_.fail(at, fmt::format("expected a register type such as .b32, found '{}'", word));
  do {
    lex_.skip();
    at = lex_.at();
    const std::string_view name = lex_.name("a register's name");
    if (lex_.take('<')) {
      RegisterRange range{name, type, vector, lex_.integer("a number of registers"), {}};
      if (range.count <= range_budget_) {
        range_budget_ -= range.count;
        range.ids.assign(range.count, kNone);
        std::vector<Register>& all = function_->registers;
        if (const std::size_t needed = all.size() + range.count; needed > all.capacity())
          all.reserve(std::max(needed, 2 * all.capacity()));
      }
      scopes_.back().ranges.push_back(std::move(range));
      lex_.expect('>', "after the number of registers");
    } else {
      function_->registers.push_back({name, type, vector});
      declare(name, {Name::reg, static_cast<std::uint32_t>(function_->registers.size() - 1)}, at);
    }
  } while (lex_.take(','));
  lex_.expect(';', "after the registers");
}

void Parser::label(std::string_view name, std::uint32_t at) {
  const auto id = static_cast<std::uint32_t>(function_->labels.size());
  function_->labels.push_back({name, static_cast<std::uint32_t>(function_->instructions.size()), {}});
  declare(name, {Name::label, id}, at);
  if (lex_.peek() != '.') return;
  if (lex_.starts_with(".branchtargets")) {
    lex_.directive();
    do {
      lex_.skip();
      const std::uint32_t offset = lex_.at();
      const auto position = static_cast<std::uint32_t>(function_->labels[id].targets.size());
      function_->labels[id].targets.push_back(kNone);
      scopes_.back().pending.push_back({lex_.name("a label"), kNone, id, position, true, offset});
    } while (lex_.take(','));
    lex_.expect(';', "after the branch targets");
  } else if (lex_.starts_with(".callprototype") || lex_.starts_with(".calltargets")) {
    lex_.skip_past(';', "after the call's prototype");
  }
}

void Parser::instruction() {
  Instruction i;
  i.span.begin = lex_.at();
  i.line = lex_.line();
  i.location = location_;
  if (lex_.take('@')) {
    i.guard_negated = lex_.take('!');
    lex_.skip();
    const std::uint32_t at = lex_.at();
    const std::string_view name = lex_.name("a predicate after '@'");
    const Name guard = find(name);
    if (guard.kind != Name::reg) lex_.fail(at, fmt::format("guard '{}' is no declared register", name));
    i.guard = guard.id;
  }
  lex_.skip();
  const std::string_view name = lex_.dotted();
  auto [slot, fresh] = opcodes_.try_emplace(name, static_cast<std::uint32_t>(module_.opcodes.size()));
  if (fresh) module_.opcodes.push_back(decode(name));
  i.opcode = slot->second;
  op_ = module_.opcodes[i.opcode].op;
  if (op_ == Op::unknown) {
    unknown_operands();
  } else if (lex_.peek() != ';') {
    do reading_.push_back(operand(0));
    while (lex_.take(','));
  }
  lex_.expect(';', "after the instruction");
  if (reading_.size() > 0xffff) lex_.fail(i.span.begin, "an instruction has more than 65535 operands");
  i.span.end = lex_.end();
  if (const Opcode& opcode = module_.opcodes[i.opcode]; reading_.size() < opcode.destinations)
    lex_.fail(i.span.begin,
              fmt::format("'{}' writes {} operands, found {}", name, opcode.destinations, reading_.size()));
  i.operand_count = static_cast<std::uint16_t>(reading_.size());
  i.first_operand = commit(0);
  function_->instructions.push_back(i);
}

void Parser::unknown_operands() {
  for (int depth = 0;;) {
    const char c = lex_.peek();
    const std::uint32_t begin = lex_.at();
    if (c == ';' && depth == 0) return;
    if (Lexer::is_name_start(c)) {
      reading_.push_back(named_operand());
    } else if (Lexer::is_digit(c)) {
      reading_.push_back(number_operand(begin, false));
    } else if (c == '"') {
      lex_.string_literal();
    } else if (lex_.done() || (c == '}' && depth == 0)) {
      lex_.fail_expected("';' after the instruction");
    } else {
      lex_.advance();
      depth += c == '{' ? 1 : c == '}' ? -1 : 0;
    }
  }
}

std::uint32_t Parser::commit(std::size_t mark) {
  const auto first = static_cast<std::uint32_t>(function_->operands.size());
  for (std::size_t k = mark; k < reading_.size(); ++k) {
    const Operand& o = reading_[k];
    if (o.kind == OperandKind::label)
      scopes_.back().pending.push_back({module_.text_of(o.span),
                                        static_cast<std::uint32_t>(function_->operands.size()), kNone, 0,
                                        op_ == Op::bra || op_ == Op::brx, o.span.begin});
    if (o.kind == OperandKind::symbol) {
      auto& [user, second] = module_.variables[o.id].users;
      if (user == kNone)
        user = function_index_;
      else if (user != function_index_ && second == kNone)
        second = function_index_;
      module_.variables[o.id].used_by_function |= !function_->entry;
    }
    function_->operands.push_back(o);
  }
  reading_.resize(mark);
  return first;
}

Operand Parser::operand(int depth) {
  if (depth > kMaxOperandDepth)
    lex_.fail(lex_.at(), fmt::format("operands are nested deeper than {}", kMaxOperandDepth));
  const char c = lex_.peek();
  const std::uint32_t begin = lex_.at();
  if (c == '[') return address(depth);
  if (c == '{') return paired(composite(OperandKind::vector, '}', depth));
  if (c == '(' && op_ == Op::call) return composite(OperandKind::list, ')', depth);
  if (c == '!') {
    lex_.advance();
    Operand o = operand(depth + 1);
    if (o.negated ||
        (o.kind != OperandKind::reg && o.kind != OperandKind::special && o.kind != OperandKind::integer))
      lex_.fail(o.span.begin, "expected a predicate after '!'");
    o.negated = true;
    o.span.begin = begin;
    return o;
  }
  if ((c >= '0' && c <= '9') || c == '-' || c == '+') {
    bool negative = false;
    while (lex_.peek() == '-' || lex_.peek() == '+') {
      negative ^= lex_.peek() == '-';
      lex_.advance();
    }
    if (op_ == Op::vmad && negative && Lexer::is_name_start(lex_.peek())) {
      Operand o = named_operand();
      o.negated = true;
      o.span.begin = begin;
      return o;
    }
    if (lex_.peek() < '0' || lex_.peek() > '9') return skip_expression(begin);
    const Operand o = number_operand(begin, negative);
    const char next = lex_.peek();
    return next == ',' || next == ';' || next == '}' || next == ')' || next == ']' ? o
                                                                                   : skip_expression(begin);
  }
  if (Lexer::is_name_start(c)) return paired(named_operand());
  if (c == '(' || c == '~') return skip_expression(begin);
  lex_.fail_expected("an operand");
}

Operand Parser::number_operand(std::uint32_t begin, bool negative) {
  const Lexer::Number n = lex_.number();
  Operand o;
  o.kind = n.real ? OperandKind::real : OperandKind::integer;
  const std::uint64_t sign = std::uint64_t{1} << (n.single ? 31 : 63);
  o.value = static_cast<std::int64_t>(!negative ? n.bits : n.real ? n.bits ^ sign : 0 - n.bits);
  o.span = {begin, lex_.end()};
  return o;
}

Operand Parser::paired(Operand first) {
  if (!lex_.take('|')) return first;
  const std::size_t mark = reading_.size();
  reading_.push_back(first);
  reading_.push_back(named_operand());
  Operand pair;
  pair.kind = OperandKind::pair;
  pair.count = 2;
  pair.id = commit(mark);
  pair.span = {first.span.begin, lex_.end()};
  return pair;
}

Operand Parser::named_operand() {
  lex_.skip();
  Operand o;
  o.span.begin = lex_.at();
  const std::string_view name = lex_.name("an operand");
  o.span.end = lex_.end();
  if (name == "_") {
    o.kind = OperandKind::sink;
    return o;
  }
  const Name meaning = op_ == Op::bra ? Name{Name::label, kNone} : find(name);
  if (meaning.kind == Name::reg) {
    o.kind = OperandKind::reg;
    o.id = meaning.id;
    if (const std::string_view part = lex_.suffix(); !part.empty()) {
      // .x .y .z .w or .r .g .b .a of a vector; .b0 .h1 of the video instructions leaves it whole.
      const std::size_t component =
          part.size() == 1 ? std::string_view("xyzwrgba").find(part[0]) : std::string_view::npos;
      if (component != std::string_view::npos) o.component = static_cast<std::uint8_t>(component % 4);
      o.span.end = lex_.end();
    }
  } else if (meaning.kind == Name::variable) {
    o.kind = OperandKind::symbol;
    o.id = meaning.id;
    if (lex_.peek() == '+' || lex_.peek() == '-') o.value = lex_.signed_integer("an offset");
    o.span.end = lex_.end();
  } else if (meaning.kind == Name::nothing && (name.starts_with('%') || name == "WARP_SZ")) {
    o.kind = OperandKind::special;
    if (name != "WARP_SZ") {
      lex_.suffix();
      // An undeclared %rd7 is a mistake; special registers have longer names (%clock64), but for %pm0.
      const std::size_t letters = name.find_first_of("0123456789");
      if (letters <= 4 && !name.starts_with("%pm"))
        lex_.fail(o.span.begin, fmt::format("register '{}' is not declared", name));
    }
    o.span.end = lex_.end();
  } else if (const auto f = functions_.find(name); meaning.kind == Name::nothing && f != functions_.end()) {
    o.kind = OperandKind::function;
    o.id = f->second;
  } else {
    // Which one, if any, is settled when the scope ends: it may define this name further down.
    o.kind = OperandKind::label;
  }
  return o;
}

Operand Parser::composite(OperandKind kind, char close, int depth) {
  Operand o;
  o.kind = kind;
  o.span.begin = lex_.at();
  lex_.advance();
  const std::size_t mark = reading_.size();
  if (lex_.peek() != close) {
    do reading_.push_back(operand(depth + 1));
    while (lex_.take(','));
  }
  lex_.expect(close, "after the operands");
  o.span.end = lex_.end();
  o.count = static_cast<std::uint32_t>(reading_.size() - mark);
  o.id = commit(mark);
  return o;
}

Operand Parser::address(int depth) {
  Operand o;
  o.kind = OperandKind::address;
  lex_.advance();
  lex_.skip();
  o.span.begin = lex_.at();
  const std::size_t mark = reading_.size();
  reading_.push_back(operand(depth + 1));
  if (lex_.peek() == '+' || lex_.peek() == '-') o.value = lex_.signed_integer("an offset");
  while (lex_.take(',')) reading_.push_back(operand(depth + 1));
  if (Operand& base = reading_[mark]; base.kind == OperandKind::symbol) {
    // `[sym+4]`: the offset belongs to the address, as in `[reg+4]`.
    o.value = sum(o.value, std::exchange(base.value, 0));
  } else if (base.kind == OperandKind::address || base.kind == OperandKind::list) {
    lex_.fail(o.span.begin, "expected a register, a name or a number in an address");
  }
  o.span.end = lex_.end();
  lex_.expect(']', "after the address");
  o.count = static_cast<std::uint32_t>(reading_.size() - mark);
  o.id = commit(mark);
  return o;
}

Operand Parser::skip_expression(std::uint32_t begin) {
  Operand o;
  for (int depth = 0;;) {
    const char c = lex_.peek();
    if (depth == 0 && (c == ',' || c == ';' || c == ']' || c == '}' || c == ')')) break;
    if (c == '\0' || c == ';' || lex_.done()) lex_.fail_expected("the rest of a constant expression");
    lex_.advance();
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
  }
  o.span = {begin, lex_.end()};
  if (o.span.begin == o.span.end) lex_.fail_expected("an operand");
  return o;
}

}  // namespace warploom::ptx
