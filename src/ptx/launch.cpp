#include "warploom/ptx/launch.hpp"

#include <fmt/format.h>

#include <optional>

#include "warploom/core/error.hpp"
#include "warploom/core/parse.hpp"

namespace warploom::ptx {
namespace {

using Extents = std::array<std::uint32_t, 3>;

/// Each from 1 to its limit; nothing when it is not that.
std::optional<Extents> parse_extents(std::string_view text, const Extents& most) {
  Extents extents{1, 1, 1};
  for (std::size_t d = 0; d < extents.size(); ++d) {
    const std::size_t comma = text.find(',');
    if (!parse_whole(text.substr(0, comma), extents[d]) || extents[d] < 1 || extents[d] > most[d])
      return std::nullopt;
    if (comma == text.npos) return extents;
    text.remove_prefix(comma + 1);
  }
  return std::nullopt;
}

}  // namespace

Extents parse_grid(std::string_view text, std::string_view called) {
  const std::optional<Extents> grid = parse_extents(text, {2147483647, 65535, 65535});
  if (!grid)
    throw BadInput(fmt::format(
        "{}: '{}' is not X, X,Y or X,Y,Z in blocks, with X from 1 to 2147483647, Y and Z from 1 to 65535",
        called, text));
  return *grid;
}

Extents parse_block(std::string_view text, std::string_view called) {
  const std::optional<Extents> block = parse_extents(text, {1024, 1024, 64});
  if (!block || (*block)[0] * (*block)[1] * (*block)[2] > 1024)
    throw BadInput(fmt::format(
        "{}: '{}' is not X, X,Y or X,Y,Z in threads, with X and Y from 1 to 1024, Z from 1 to 64 and 1024 in all",
        called, text));
  return *block;
}

}  // namespace warploom::ptx
