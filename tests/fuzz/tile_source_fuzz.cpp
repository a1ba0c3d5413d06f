// Any text is regions, which read back as they are printed if nothing of them was refused, or is refused with
// a position inside of it.

#include <string>

#include "fuzz/require.hpp"
#include "tile/region_text.hpp"
#include "warploom/core/error.hpp"

using warploom::require;

namespace {

void require_inside(const std::string& text, unsigned line, unsigned column) {
  std::size_t line_begin = 0;
  for (unsigned l = 1; l < line; ++l) {
    line_begin = text.find('\n', line_begin) + 1;
    require(line_begin > 0, "the position is past the last line");
  }
  require(line > 0 && column > 0 && line_begin + column - 1 <= text.size(),
          "the position is outside of the text");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace tile = warploom::tile;
  const std::string text(reinterpret_cast<const char*>(data), size);
  std::vector<tile::Region> regions;
  try {
    regions = tile::read_source(text, "fuzz.c", {});
  } catch (const warploom::ParseError& error) {
    if (error.where().file == "fuzz.c") require_inside(text, error.where().line, error.where().column);
    return 0;
  } catch (const warploom::BadInput&) {
    return 0;  // an included file that cannot be read
  }
  for (const tile::Region& region : regions) {
    for (const tile::Refusal& refusal : region.refusals)
      require_inside(text, refusal.at.line, refusal.at.column);
    const std::string printed = tile::test::source_of(region);
    if (!region.refusals.empty() || tile::to_text(region.body).find("for (") == std::string::npos) continue;
    const std::vector<tile::Region> again = tile::read_source(printed, "printed.c", {});
    require(again.size() == 1, "not one region when read again");
    require(again[0].refusals.empty(), "refused when read again");
    require(tile::test::same(region.body, again[0].body), "another tree when read again");
  }
  return 0;
}
