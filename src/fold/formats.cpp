#include "warploom/fold/formats.hpp"

#include <fmt/format.h>

#include <iterator>

#include "warploom/core/error.hpp"
#include "warploom/fold/fold.hpp"

namespace warploom::fold {
namespace {

std::vector<std::int64_t> partners_of(std::string_view sequence, std::string_view structure) {
  if (sequence.size() != structure.size())
    throw BadInput(
        fmt::format("the structure has {} letters, the sequence {}", structure.size(), sequence.size()));
  return partners(structure);
}

}  // namespace

std::string kcal(std::int32_t energy) {
  const std::int64_t size = std::abs(static_cast<std::int64_t>(energy));
  return fmt::format("{}{}.{:02}", energy < 0 ? "-" : "", size / 100, size % 100);
}

std::string connectivity_table(std::string_view sequence, std::string_view structure, std::int32_t energy,
                               std::string_view title) {
  const std::vector<std::int64_t> partner = partners_of(sequence, structure);
  const std::size_t n = partner.size();
  std::string text = fmt::format("{} ENERGY = {} {}\n", n, kcal(energy), title);
  for (std::size_t k = 0; k < n; ++k)
    fmt::format_to(std::back_inserter(text), "{} {} {} {} {} {}\n", k + 1, sequence[k], k,
                   k + 1 < n ? k + 2 : 0, partner[k] + 1, k + 1);
  return text;
}

std::string bpseq(std::string_view sequence, std::string_view structure, std::string_view title) {
  const std::vector<std::int64_t> partner = partners_of(sequence, structure);
  std::string text = title.empty() ? "" : fmt::format("# {}\n", title);
  for (std::size_t k = 0; k < partner.size(); ++k)
    fmt::format_to(std::back_inserter(text), "{} {} {}\n", k + 1, sequence[k], partner[k] + 1);
  return text;
}

}  // namespace warploom::fold
