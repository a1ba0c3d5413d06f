#include "warploom/table/hash.hpp"

#include <fmt/format.h>

#include <array>

#include "core/doors.hpp"
#include "warploom/core/error.hpp"

namespace warploom::table {
namespace {

constexpr std::array<std::string_view, 4> kHashes = {"mix", "dek", "sdbm", "pjw"};
constexpr std::array<std::string_view, 2> kAssignments = {"mix", "decimal"};

}  // namespace

Hash parse_hash(std::string_view text) {
  for (std::size_t i = 0; i < kHashes.size(); ++i)
    if (kHashes[i] == text) return static_cast<Hash>(i);
  throw BadInput(fmt::format("hash function '{}' is unknown; it is {}", text, fmt::join(kHashes, ", ")));
}

std::string_view name(Hash hash) { return at_enumerator(kHashes, hash, "the hash function"); }

Assignment parse_assignment(std::string_view text) {
  for (std::size_t i = 0; i < kAssignments.size(); ++i)
    if (kAssignments[i] == text) return static_cast<Assignment>(i);
  throw BadInput(fmt::format("assignment of keys to tables '{}' is unknown; it is {}", text,
                             fmt::join(kAssignments, ", ")));
}

std::string_view name(Assignment assignment) {
  return at_enumerator(kAssignments, assignment, "the assignment of keys to tables");
}

}  // namespace warploom::table
