#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ptx/lex.hpp"
#include "warploom/ptx/module.hpp"

namespace warploom::ptx {

/// What a name means at a place of a body.
struct Name {
  enum Kind : std::uint8_t { nothing, reg, variable, label } kind = nothing;
  std::uint32_t id = kNone;
};

/// `.reg .b32 %r<100>` declares %r0 to %r99; a register comes into being when it is used.
struct RegisterRange {
  std::string_view prefix, type;
  std::uint8_t vector = 1;
  std::uint64_t count = 0;
  std::vector<std::uint32_t>
      ids;  ///< of the registers used so far, else kNone; empty: too many, they are in `names`
};

/// A name as a range would have declared it: `%r` and 12, or no number (`%r`, `%r01`, `buffer`).
struct NumberedName {
  std::string_view prefix;
  std::uint64_t number = 0;
  bool numbered = false;

  explicit NumberedName(std::string_view name) : prefix(name) {
    std::size_t first = name.size();
    while (first > 0 && Lexer::is_digit(name[first - 1])) --first;
    const std::size_t digits = name.size() - first;
    if (digits == 0 || digits > 18 || (digits > 1 && name[first] == '0')) return;
    for (const char c : name.substr(first)) number = number * 10 + static_cast<unsigned>(c - '0');
    prefix = name.substr(0, first);
    numbered = true;
  }
};

/// One `{ ... }` of a body; an inner scope hides the names of the outer ones.
struct Scope {
  std::unordered_map<std::string_view, Name> names;
  std::vector<RegisterRange> ranges;
  /// A name that may be a label further down, and where the label's id goes: into an operand, or
  /// into the list of a `.branchtargets` label.
  struct Pending {
    std::string_view name;
    std::uint32_t operand = kNone;
    std::uint32_t table = kNone, position = 0;
    bool required = false;     ///< a branch: nothing but a label will do
    std::uint32_t offset = 0;  ///< in the text
  };
  std::vector<Pending> pending;

  RegisterRange* range_of(const NumberedName& name) {
    if (!name.numbered) return nullptr;
    for (RegisterRange& range : ranges)
      if (name.number < range.count && name.prefix == range.prefix) return &range;
    return nullptr;
  }
};

}  // namespace warploom::ptx
