#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace warploom::fold {

/// "-12.34": hundredths of a kcal/mol as kcal/mol.
std::string kcal(std::int32_t energy);

/// A connectivity table (CT): "n ENERGY = kcal/mol title", then a line a base: i, base, i-1, i+1 (0 after the
/// last), partner (0: unpaired), i; counted from 1.
/// @throws BadInput: as partners(), or the lengths differ
std::string connectivity_table(std::string_view sequence, std::string_view structure, std::int32_t energy,
                               std::string_view title);
/// BPSEQ: "# title", then a line a base: i, base, partner (0: unpaired), counted from 1.
/// @throws as connectivity_table()
std::string bpseq(std::string_view sequence, std::string_view structure, std::string_view title);

}  // namespace warploom::fold
