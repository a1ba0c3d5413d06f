#include "warploom/table/operation.hpp"

#include <array>

namespace warploom::table {

std::string_view name(Operation operation) {
  constexpr std::array<std::string_view, kOperations> kNames = {"find", "insert", "erase", "assign",
                                                                "add",  "min",    "max"};
  return kNames.at(static_cast<std::size_t>(operation));
}

std::string_view name(Outcome outcome) {
  constexpr std::array<std::string_view, 7> kNames = {"absent",  "found", "inserted", "erased",
                                                      "updated", "full",  "invalid"};
  return kNames.at(static_cast<std::size_t>(outcome));
}

}  // namespace warploom::table
