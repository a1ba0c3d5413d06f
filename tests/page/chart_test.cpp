#include "warploom/page/chart.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace warploom::page {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

Panel panel(std::vector<std::pair<double, double>> points) {
  return {.title = "panel",
          .x = {"across"},
          .y = {"up"},
          .series = {{.label = "one", .points = std::move(points)}}};
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t times = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++times;
  return times;
}

TEST(Chart, IsADocumentOfItsOwn) {
  const std::string chart = svg("title", "subtitle", {panel({{0, 0}, {10, 100}})});
  EXPECT_THAT(chart, AllOf(StartsWith("<svg xmlns="), EndsWith("</svg>\n"), HasSubstr(">title</text>"),
                           HasSubstr(">subtitle</text>"), HasSubstr(">across</text>"),
                           HasSubstr(">up</text>"), HasSubstr(">one</text>")));
}

TEST(Chart, SaysWhatItShows) {
  EXPECT_THAT(svg("title", "subtitle", {panel({{0, 0}, {1, 1}})}),
              HasSubstr("role=\"img\" aria-label=\"title: subtitle\""));
}

TEST(Chart, IsAsWideAsItsTexts) {
  EXPECT_THAT(svg("title", std::string(200, 'a'), {panel({{0, 0}, {1, 1}})}), HasSubstr(" width=\"1488\""));
  EXPECT_THAT(svg(std::string(200, 'a'), "subtitle", {panel({{0, 0}, {1, 1}})}),
              HasSubstr(" width=\"2064\""));
}

TEST(Chart, PutsValuesWhereTheAxesSay) {
  // The plotted area is 560 x 330 at (84, 96): x from 0 to 10, y from 0 to 100.
  EXPECT_THAT(svg("", "", {panel({{0, 0}, {5, 50}, {10, 100}})}),
              HasSubstr("d=\"M84.0 426.0L364.0 261.0L644.0 96.0\""));
}

TEST(Chart, LeavesOutWhatALogarithmCannotShow) {
  Panel logarithmic = panel({{1, 0}, {2, 1}, {3, NAN}, {4, 1000}});
  logarithmic.y.base = 10;
  EXPECT_EQ(count(svg("", "", {logarithmic}), "<circle"), 2u);
}

TEST(Chart, EscapesTitlesAndLabels) {
  Panel bad = panel({{0, 0}, {1, 1}});
  bad.title = bad.x.title = bad.y.title = bad.series[0].label = bad.rule_label = "<b> & \"c\"";
  bad.rule = 0.5;
  for (const std::string& chart : {svg(bad.title, bad.title, {bad}), figure(bad)}) {
    EXPECT_THAT(chart, Not(HasSubstr("<b>")));
    EXPECT_THAT(chart, HasSubstr("&lt;b&gt; &amp; &quot;c&quot;"));
  }
}

TEST(Chart, KeepsLabelsApart) {
  Panel close = panel({{0, 1}, {1, 5}});
  close.series.push_back({.label = "two", .points = {{0, 1}, {1, 5}}});
  const std::string chart = svg("", "", {close});
  EXPECT_THAT(chart, AllOf(HasSubstr("y=\"101.0\" fill=\"#0072b2\" class=\"label\">one"),
                           HasSubstr("y=\"119.0\" fill=\"#d55e00\" class=\"label\">two")));
}

TEST(Figure, HasAKeyAndARule) {
  Panel one = panel({{0, 1}, {10, 2}});
  one.series[0].style = "after";
  one.rule = 1.5;
  one.rule_label = "limit";
  EXPECT_THAT(figure(one),
              AllOf(StartsWith("<svg class=\"chart\""),
                    HasSubstr("role=\"img\" aria-label=\"up by across: one from 1 to 2; limit at 1.5\""),
                    HasSubstr("<path class=\"curve after\" d=\"M78.0"), HasSubstr("<path class=\"rule\""),
                    HasSubstr(">limit</text>"),
                    EndsWith("<ul class=\"key\"><li><span class=\"line after\"></span>one</li></ul>")));
}

TEST(Figure, FillsDownToTheAxis) {
  Panel one = panel({{0, 1}, {10, 2}});
  one.series[0].filled = true;
  EXPECT_THAT(figure(one), HasSubstr("V254H78.0Z\""));
}

TEST(Figure, NamesPowersOfTen) {
  Panel one = panel({{0, 1e-3}, {10, 1}});
  one.y.base = 10;
  EXPECT_THAT(figure(one), AllOf(HasSubstr(">10<tspan dy=\"-5\" font-size=\"9\">&#8722;3</tspan>"),
                                 HasSubstr("font-size=\"9\">0</tspan>")));
}

TEST(Figure, OfNothingIsNothing) { EXPECT_EQ(figure(panel({})), ""); }

TEST(Histogram, IsTheOutlineOfShares) {
  using Points = std::vector<std::pair<double, double>>;
  EXPECT_EQ(histogram({0, 0.1f, 0.9f, 1, 5}, 0, 1, 2), (Points{{0, 0.4}, {0.5, 0.4}, {0.5, 0.4}, {1, 0.4}}));
  EXPECT_EQ(histogram({}, 0, 1, 1), (Points{{0, 0}, {1, 0}}));
}

}  // namespace
}  // namespace warploom::page
