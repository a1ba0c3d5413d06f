#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "fold/energy_tables.hpp"
#include "warploom/core/error.hpp"

namespace warploom::fold::gpu {

/// Special hairpins of so many letters, by these as digits of base 4; `none` where there is none.
template <class Number, std::size_t N>
void put_special(const SpecialLoopsOf<Number>& loops, std::size_t letters, Number none, Number (&table)[N]) {
  std::fill_n(table, N, none);
  for (const auto& [text, number] : loops) {
    std::size_t place = 0;
    for (const char c : text) {
      const std::size_t code = std::string_view("ACGU").find(c);
      if (code == std::string_view::npos)
        throw BadInput(fmt::format(
            "the parameters' hairpin {} has other letters than A, C, G and U, which a GPU does not know; use the CPU (`device` cpu)",
            text));
      place = place * 4 + code;
    }
    // As on the CPU: of two with the same letters the first, and none of another length.
    if (text.size() == letters && table[place] == none) table[place] = number;
  }
}

/// @throws BadInput: another letter than A, C, G, U
template <class Numbers, class Tables, class Number>
void put_special_hairpins(const Numbers& from, Number none, Tables& to) {
  put_special(from.triloops, 5, none, to.triloops);
  put_special(from.tetraloops, 6, none, to.tetraloops);
  put_special(from.hexaloops, 8, none, to.hexaloops);
}

}  // namespace warploom::fold::gpu
