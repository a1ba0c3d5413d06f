#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <tuple>

#include "example_nests.hpp"
#include "warploom/tile/explain.hpp"

namespace warploom::tile {
namespace {

using test::example;
using testing::HasSubstr;
using testing::Not;

std::string page_of(const std::string& name) {
  const Nest nest = example(name);
  return to_html(name + ".c", {{nest, explain(nest), "", "", {}}},
                 test::file_text(test::example_folder() / (name + ".c")));
}

/// The drawings, as written first.
std::vector<std::string> figures(const std::string& page) {
  std::vector<std::string> all;
  for (std::size_t at = page.find("<figure"); at != std::string::npos; at = page.find("<figure", at + 1))
    all.push_back(page.substr(at, page.find("</figure>", at) - at));
  return all;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t times = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++times;
  return times;
}

TEST(ExplainPage, NeedsNothingFromElsewhere) {
  const std::string page = page_of("lecture/reuse");
  EXPECT_THAT(page, Not(testing::ContainsRegex("https?:|//[a-z]|@import|src=")));
  const std::regex reference("(href=\"|url\\()([^\")]*)");
  for (std::sregex_iterator at(page.begin(), page.end(), reference), end; at != end; ++at)
    EXPECT_EQ((*at)[2].str().front(), '#');
}

TEST(ExplainPage, ClosesWhatItOpens) {
  std::string page = page_of("polybench/lu");
  page.erase(page.find("<style>"), page.find("</style>") - page.find("<style>"));  // holds no elements
  page.erase(page.find("<script>"), page.find("</script>") - page.find("<script>"));
  std::vector<std::string> open;
  const std::regex tag("<(/?)([a-z0-9]+)([^>]*)>");
  for (std::sregex_iterator at(page.begin(), page.end(), tag), end; at != end; ++at) {
    const std::string name = (*at)[2], rest = (*at)[3];
    if (name == "style" || name == "script") continue;
    if (name == "br" || name == "input" || (!rest.empty() && rest.back() == '/')) continue;
    if ((*at)[1].length() == 0) {
      open.push_back(name);
      continue;
    }
    ASSERT_FALSE(open.empty()) << name;
    ASSERT_EQ(open.back(), name);
    open.pop_back();
  }
  EXPECT_TRUE(open.empty());
}

TEST(ExplainPage, HasColoursForLightAndDark) {
  EXPECT_THAT(page_of("lecture/transpose"), HasSubstr("prefers-color-scheme: dark"));
}

TEST(ExplainPage, ShowsTheSourceWithNumbersAndMarksReferences) {
  const std::string page = page_of("lecture/not_permutable");
  EXPECT_THAT(page, HasSubstr("<span class=\"line\">5</span>"));
  EXPECT_THAT(
      page,
      testing::ContainsRegex(
          "class=\"ref\"[^>]*>A\\[i \\+ 1\\]\\[j - 1\\]</span> = <span class=\"ref\"[^>]*>A\\[i\\]\\[j\\]</span>"));
}

TEST(ExplainPage, DrawsEveryPairOfTheLecturesExample) {
  // (i, j) -> (i + 1, j - 1) for i = 0, 1 and j = 2 ... 5.
  const std::vector<std::string> drawn = figures(page_of("lecture/not_permutable"));
  ASSERT_EQ(drawn.size(), 4U);  // as written, exchanged, tiled, skewed and tiled
  for (const std::string& figure : drawn) EXPECT_EQ(count(figure, "class=\"arrow flow"), 8U);
}

TEST(ExplainPage, ShowsThePairsThatAnOrderBreaks) {
  const std::vector<std::string> drawn = figures(page_of("lecture/not_permutable"));
  ASSERT_EQ(drawn.size(), 4U);
  // Tiles of 2 x 3 from (0, 1).
  const auto time = [](int i, int j) { return std::tuple(i / 2, (j - 1) / 3, i, j); };
  std::size_t turned = 0;
  for (int i = 0; i < 2; ++i)
    for (int j = 2; j < 6; ++j) turned += time(i + 1, j - 1) < time(i, j);
  EXPECT_GT(turned, 0U);
  EXPECT_EQ(count(drawn[0], " turned\""), 0U);
  EXPECT_EQ(count(drawn[1], " turned\""), 8U);
  EXPECT_EQ(count(drawn[2], " turned\""), turned);
  EXPECT_EQ(count(drawn[3], " turned\""), 0U);
  EXPECT_THAT(drawn[1], HasSubstr("would run (1, 1) before (0, 2)"));
  EXPECT_THAT(drawn[2], HasSubstr("would run (1, 3) before (0, 4)"));
  EXPECT_THAT(drawn[3], HasSubstr("legal"));
}

TEST(ExplainPage, DrawsEveryKindOfPairOfASweepInPlace) {
  const std::string page = page_of("lecture/reuse");
  ASSERT_THAT(page, HasSubstr("The drawing is for n = 10"));
  // A[j] = A[j] + A[j + 1] + A[j - 1]: who touches the same element, one by one.
  std::set<std::tuple<std::string, int, int, int, int>> pairs;
  for (int i = 1; i < 10; ++i)
    for (int j = 1; j < 10; ++j)
      for (int later_i = i; later_i < 10; ++later_i)
        for (int later_j = later_i == i ? j + 1 : 1; later_j < 10; ++later_j) {
          if (std::abs(later_j - j) <= 1) pairs.emplace("flow", i, j, later_i, later_j);
          if (std::abs(later_j - j) <= 1) pairs.emplace("anti", i, j, later_i, later_j);
          if (later_j == j) pairs.emplace("output", i, j, later_i, later_j);
        }
  const std::string drawn = figures(page).at(0);
  for (const std::string kind : {"flow", "anti", "output"})
    EXPECT_EQ(count(drawn, "class=\"arrow " + kind),
              static_cast<std::size_t>(std::count_if(
                  pairs.begin(), pairs.end(), [&](const auto& pair) { return std::get<0>(pair) == kind; })));
}

TEST(ExplainPage, DrawsTheIterationsThatRunOnly) {
  const std::string page = page_of("polybench/trisolv");  // one triangle
  const std::string drawn = figures(page).at(0);
  const std::size_t points = count(drawn, "<circle");
  EXPECT_GT(points, 20U);
  EXPECT_LT(points, 81U);
}

TEST(ExplainPage, ShowsKernelsWithReasonsAndCosts) {
  const Nest nest = example("lecture/matmul");
  GpuProgram program;
  Kernel kernel;
  kernel.name = "matmul_0";
  kernel.pattern = "contraction";
  kernel.grid = {Expression::name("ni"), Expression::integer(1), Expression::integer(1)};
  kernel.block = {Expression::integer(256), Expression::integer(1), Expression::integer(1)};
  kernel.placements.push_back({"M", Space::shared, "read by <all> threads", 8192, 4, 4, 2});
  program.kernels = {kernel};
  Cost cost;
  cost.milliseconds = 1.25;
  cost.bound = "arithmetic";
  const std::string page = to_html(
      "matmul.c", {{nest, explain(nest), "int c;", "__global__ void k();", GpuPlan{program, {}, {cost}}}});
  EXPECT_THAT(page, HasSubstr("read by &lt;all&gt; threads"));
  EXPECT_THAT(page, HasSubstr("ni blocks of 256 threads"));
  EXPECT_THAT(page, HasSubstr("1.25 ms"));
  EXPECT_THAT(page, HasSubstr("8,192"));
  EXPECT_THAT(page, HasSubstr("int c;"));
  EXPECT_THAT(page, HasSubstr("__global__ void k();"));
}

TEST(ExplainPage, ListsTheNestsOfAFile) {
  const Nest one = example("lecture/matmul"), two = example("lecture/transpose");
  const std::string page =
      to_html("two.c", {{one, explain(one), "", "", {}}, {two, explain(two), "", "", {}}});
  EXPECT_THAT(page, HasSubstr("<a href=\"#n1\"><code>transpose</code></a>"));
  EXPECT_THAT(page, HasSubstr("id=\"n1\""));
}

}  // namespace
}  // namespace warploom::tile
