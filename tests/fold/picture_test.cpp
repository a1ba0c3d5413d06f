#include "warploom/fold/picture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "warploom/core/error.hpp"
#include "warploom/fold/fold.hpp"

namespace warploom::fold {
namespace {

using testing::HasSubstr;
using testing::Not;

double distance(const Place& a, const Place& b) { return std::hypot(a.x - b.x, a.y - b.y); }

TEST(RadialLayout, OfAHairpin) {
  // Two pairs as a square that hangs down, and a regular pentagon below of side 1.
  const std::vector<Place> places = radial_layout("((...))");
  const double pi = std::numbers::pi, radius = 1 / (2 * std::sin(pi / 5)),
               centre = 1 + radius * std::cos(pi / 5);
  const Place wanted[] = {{0, 0},
                          {0, 1},
                          {0.5 - radius * std::sin(3 * pi / 5), centre - radius * std::cos(3 * pi / 5)},
                          {0.5, centre + radius},
                          {0.5 + radius * std::sin(3 * pi / 5), centre - radius * std::cos(3 * pi / 5)},
                          {1, 1},
                          {1, 0}};
  ASSERT_EQ(places.size(), std::size(wanted));
  for (std::size_t k = 0; k < places.size(); ++k)
    EXPECT_LT(distance(places[k], wanted[k]), 1e-12) << k << ": " << places[k].x << ", " << places[k].y;
}

TEST(RadialLayout, LoopsAreCirclesAndPairsAreAsFarAsNeighbours) {
  const std::string structure =
      "..(((((((..((((........)))).(((((.......))))).....(((((..((....)).....)))))))))))).((...))()";
  const std::vector<Place> places = radial_layout(structure);
  const std::vector<std::int64_t> partner = partners(structure);
  const std::int64_t n = std::ssize(partner);
  for (std::int64_t k = 0; k < n; ++k) {
    if (k > 0) {
      EXPECT_NEAR(distance(places[k - 1], places[k]), 1, 1e-9) << k;
    }
    if (partner[k] > k) {
      EXPECT_NEAR(distance(places[k], places[partner[k]]), 1, 1e-9) << k;
    }
  }
  // The bases of a loop, with those of its pairs, lie on a circle as those of a regular polygon do.
  for (std::int64_t i = 0; i < n; ++i) {
    if (partner[i] < i) continue;
    std::vector<std::int64_t> loop{i};
    for (std::int64_t k = i + 1; k < partner[i]; ++k) {
      loop.push_back(k);
      if (partner[k] > k) loop.push_back(k = partner[k]);
    }
    loop.push_back(partner[i]);
    Place centre;
    for (const std::int64_t k : loop) {
      centre.x += places[k].x / static_cast<double>(loop.size());
      centre.y += places[k].y / static_cast<double>(loop.size());
    }
    const double radius = 1 / (2 * std::sin(std::numbers::pi / static_cast<double>(loop.size())));
    for (const std::int64_t k : loop) EXPECT_NEAR(distance(centre, places[k]), radius, 1e-9) << i << " " << k;
  }
}

TEST(RadialLayout, OfALongHairpin) {  // a loop at a time, not one within another
  const std::string structure = std::string(20'000, '(') + "..." + std::string(20'000, ')');
  EXPECT_NEAR(radial_layout(structure)[19'999].y, 19'999, 1e-3);
}

TEST(RadialSvg, CountsPairsAndColoursLoops) {
  const std::string svg = radial_svg("GAAGACCCAUAUCC", "((.((...)).)).");
  EXPECT_THAT(svg, HasSubstr("A secondary structure of 14 bases: 1 G-C, 1 A-U, 1 G-U, 1 other"));
  EXPECT_THAT(svg, HasSubstr(">exterior<"));
  EXPECT_THAT(svg, HasSubstr(">5'<"));
}
TEST(RadialSvg, ColoursReactivities) {
  const std::string svg = radial_svg("GAAAC", "(...)", std::vector<double>{0, 1, 3, -1, 0.5});
  EXPECT_THAT(svg, HasSubstr("fill=\"#d62728\""));
  EXPECT_THAT(svg, HasSubstr(">1, more<"));
  EXPECT_THAT(svg, Not(HasSubstr(">hairpin<")));
}
TEST(RadialSvg, RefusesWhatIsNoStructure) {
  EXPECT_THROW(radial_svg("GAAAC", "(....)"), BadInput);
  EXPECT_THROW(radial_svg("GAAAC", "(..))"), BadInput);
  EXPECT_THROW(radial_svg("GAAAC", "(...)", std::vector<double>{1}), BadInput);
  EXPECT_THROW(radial_svg("", ""), BadInput);
}

}  // namespace
}  // namespace warploom::fold
