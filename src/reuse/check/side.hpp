#pragma once

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "warploom/ptx/module.hpp"

namespace warploom::reuse::checking {

/// Names of registers that the rewriter adds begin so.
inline constexpr std::string_view kAddedRegister = "%warploom_";

/// Words with their dots, strings, single characters; comments and white space fall away.
std::vector<ptx::Span> tokens_of(std::string_view text);

/// A text as tokens, with what begins where.
struct Side {
  const ptx::Module& module;
  std::vector<ptx::Span> tokens;
  std::size_t at = 0;
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> declarations;  ///< -> shared variables
  std::unordered_map<std::uint32_t, std::pair<std::uint32_t, std::uint32_t>> symbols;  ///< -> variable, end
  std::unordered_map<std::uint32_t, std::uint32_t> directives;  ///< .maxntid, .reqntid -> end
  std::vector<bool> special;  ///< per byte: one of these begins there; most tokens need no look-up
  std::unordered_map<std::uint32_t, std::uint32_t> added;  ///< -> end: instructions and declarations

  explicit Side(const ptx::Module& m);
  /// Fills `added`: what writes and declares added registers.
  void find_added();
  void pass_directive(ptx::Span directive) {
    directives[directive.begin] = directive.end;
    special[directive.begin] = true;
  }
  bool is_special() const { return !done() && special[begin()]; }
  bool done() const { return at >= tokens.size(); }
  std::uint32_t begin() const { return tokens[at].begin; }
  std::string_view word(std::size_t ahead = 0) const {
    if (at + ahead >= tokens.size()) return {};
    const ptx::Span t = tokens[at + ahead];
    return std::string_view(module.text).substr(t.begin, t.end - t.begin);
  }
  void skip_to(std::uint32_t end) {
    while (!done() && begin() < end) ++at;
  }
  std::uint32_t line() const {
    const std::size_t here = done() ? module.text.size() : begin();
    return 1 + static_cast<std::uint32_t>(std::count(
                   module.text.begin(), module.text.begin() + static_cast<std::ptrdiff_t>(here), '\n'));
  }
  std::string_view previous_word() const { return module.text_of(tokens[at - 1]); }
  bool bare_barrier() const { return word() == "bar.sync" && word(1) == "0" && word(2) == ";"; }
  /// The offset behind a name, `+4`, `+-4`, `-4`; nothing when it is no plain number.
  std::optional<std::int64_t> take_name_and_offset(std::uint32_t end);
};

}  // namespace warploom::reuse::checking
