#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "warploom/reuse/reuse.hpp"

namespace warploom::reuse {

/// The value of `4 * block_x - 8 * param_1 + 12`.
inline std::int64_t value_of(std::string text, const std::map<std::string, std::int64_t>& numbers) {
  for (const std::string_view sign : {" - ", " + "})
    for (std::size_t at; (at = text.find(sign)) != text.npos;)
      text.replace(at, 3, sign == " + " ? "|" : "|-");
  std::int64_t sum = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('|', at), text.size());
    std::string term = text.substr(at, end - at);
    at = end + 1;
    std::int64_t factor = 1;
    if (term[0] == '-') factor = -1, term.erase(0, 1);
    const std::size_t star = term.find(" * ");
    const std::string last = star == term.npos ? term : term.substr(star + 3);
    if (star != term.npos) factor *= std::stoll(term.substr(0, star));
    sum += factor * (numbers.contains(last) ? numbers.at(last) : std::stoll(last));
  }
  return sum;
}

/// What the header of the launch gives for these numbers, all of them known.
inline std::uint32_t bytes_after(const DynamicFormula& formula, std::uint32_t before,
                                 const std::map<std::string, std::int64_t>& numbers) {
  for (const DynamicFormula::Argument& a : formula.arguments)
    if (a.parameter && (numbers.at(a.name) < 0 || numbers.at(a.name) > DynamicFormula::kMostParameter))
      return before;
  std::int64_t most = 0;
  for (const std::string& end : formula.after) most = std::max(most, value_of(end, numbers));
  return static_cast<std::uint32_t>(std::min<std::int64_t>(most, before));
}

}  // namespace warploom::reuse
