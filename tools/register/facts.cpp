#include "facts.hpp"

#include <fmt/format.h>

namespace warploom::tool {

std::string size_text(const imaging::Grid& grid) {
  return grid.nz > 1 ? fmt::format("{} x {} x {} voxels", grid.nx, grid.ny, grid.nz)
                     : fmt::format("{} x {} pixels", grid.nx, grid.ny);
}

std::string page_facts(const imaging::Grid& fixed, const std::vector<page::Fact>& more,
                       const registration::FoldCertificate& c) {
  std::vector<page::Fact> facts{{"Fixed image", size_text(fixed),
                                 fmt::format("{:.4g} x {:.4g} x {:.4g} mm each", fixed.spacing[0],
                                             fixed.spacing[1], fixed.spacing[2])}};
  facts.insert(facts.end(), more.begin(), more.end());
  facts.push_back({"Folding", c.proved() ? "none" : fmt::format("{} cells", c.folded + c.undecided),
                   c.proved()
                       ? fmt::format("proved by {}", name(c.kind))
                       : fmt::format("{} folded, {} undecided, of {}", c.folded, c.undecided, c.cells)});
  facts.push_back(
      {"Smallest determinant", fmt::format("{:.3g}", c.smallest_determinant), "1: nothing is stretched"});
  return page::facts(facts);
}

}  // namespace warploom::tool
