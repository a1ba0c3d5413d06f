#include "warploom/table/operation.hpp"

#include <array>

#include "core/doors.hpp"

namespace warploom::table {

std::string_view name(Operation operation) {
  constexpr std::array<std::string_view, kOperations> kNames = {"find", "insert", "erase", "assign",
                                                                "add",  "min",    "max"};
  return at_enumerator(kNames, operation, "the operation");
}

std::string_view name(Outcome outcome) {
  constexpr std::array<std::string_view, 7> kNames = {"absent",  "found", "inserted", "erased",
                                                      "updated", "full",  "invalid"};
  return at_enumerator(kNames, outcome, "the outcome");
}

}  // namespace warploom::table
