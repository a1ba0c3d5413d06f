#include "reuse/check/side.hpp"

#include <array>
#include <charconv>

namespace warploom::reuse::checking {

using ptx::Module;
using ptx::OperandKind;
using ptx::Span;

namespace {

constexpr auto kIsWord = [] {
  std::array<bool, 256> table{};
  for (unsigned char c = 'a'; c <= 'z'; ++c) table[c] = table[c - 'a' + 'A'] = true;
  for (const unsigned char c : {'0', '1', '2', '3', '4', '5', '6', '7', '8', '9', '_', '$', '%', '.'})
    table[c] = true;
  return table;
}();
bool is_word(char c) { return kIsWord[static_cast<unsigned char>(c)]; }
bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

std::optional<std::uint64_t> integer_of(std::string_view word) {
  while (!word.empty() && (word.back() == 'U' || word.back() == 'u')) word.remove_suffix(1);
  int base = 10;
  if (word.size() > 2 && word[0] == '0' && (word[1] == 'x' || word[1] == 'X')) {
    base = 16;
    word.remove_prefix(2);
  } else if (word.size() > 2 && word[0] == '0' && (word[1] == 'b' || word[1] == 'B')) {
    base = 2;
    word.remove_prefix(2);
  } else if (word.size() > 1 && word[0] == '0') {
    base = 8;
  }
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value, base);
  if (error != std::errc{} || end != word.data() + word.size()) return std::nullopt;
  return value;
}

}  // namespace

std::vector<Span> tokens_of(std::string_view text) {
  std::vector<Span> tokens;
  tokens.reserve(text.size() / 4);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    const char c = text[at];
    if (is_space(c)) {
      do ++at;
      while (at < text.size() && is_space(text[at]));
      continue;
    }
    const char next = at + 1 < text.size() ? text[at + 1] : '\0';
    if (c == '/' && next == '/') {
      at = std::min(text.find('\n', at), text.size());
      continue;
    }
    if (c == '/' && next == '*') {
      const std::size_t end = text.find("*/", at + 2);
      at = end == text.npos ? text.size() : end + 2;
      continue;
    }
    if (c == '"') {
      for (++at; at < text.size() && text[at] != '"'; ++at)
        if (text[at] == '\\') ++at;
      at = std::min(at + 1, text.size());
    } else if (is_word(c)) {
      while (at < text.size() && is_word(text[at])) ++at;
    } else {
      ++at;
    }
    tokens.push_back({static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(at)});
  }
  return tokens;
}

Side::Side(const Module& m) : module(m), tokens(tokens_of(m.text)), special(m.text.size() + 1) {
  for (std::uint32_t v = 0; v < m.variables.size(); ++v)
    if (m.variables[v].space == ptx::Space::shared)
      declarations[m.variables[v].declaration.begin].push_back(v);
  for (const ptx::Function& f : m.functions)
    for (const ptx::Operand& o : f.operands)
      if (o.kind == OperandKind::symbol && m.variables[o.id].space == ptx::Space::shared)
        symbols[o.span.begin] = {o.id, o.span.end};
  for (const auto& d : declarations) special[d.first] = true;
  for (const auto& s : symbols) special[s.first] = true;
}

void Side::find_added() {
  if (module.text.find(kAddedRegister) == std::string::npos) return;
  const auto add = [&](Span s) {
    added[s.begin] = s.end;
    special[s.begin] = true;
  };
  for (const ptx::Function& f : module.functions)
    for (const ptx::Instruction& i : f.instructions)
      if (i.operand_count > 0 && f.operands[i.first_operand].kind == OperandKind::reg &&
          f.registers[f.operands[i.first_operand].id].name.starts_with(kAddedRegister))
        add(i.span);
  for (std::size_t t = 0; t + 6 < tokens.size(); ++t)
    if (module.text_of(tokens[t]) == ".reg" && module.text_of(tokens[t + 2]).starts_with(kAddedRegister) &&
        module.text_of(tokens[t + 3]) == "<" && module.text_of(tokens[t + 6]) == ";")
      add({tokens[t].begin, tokens[t + 6].end});
}

std::optional<std::int64_t> Side::take_name_and_offset(std::uint32_t end) {
  ++at;
  std::int64_t sum = 0;
  bool negative = false;
  while (!done() && begin() < end) {
    if (word() == "+" || word() == "-") {
      negative ^= word() == "-";
    } else {
      const auto value = integer_of(word());
      if (!value) return std::nullopt;
      sum += static_cast<std::int64_t>(negative ? 0 - *value : *value);
      negative = false;
    }
    ++at;
  }
  return sum;
}

}  // namespace warploom::reuse::checking
