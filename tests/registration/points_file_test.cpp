#include "warploom/registration/points_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "warploom/core/error.hpp"

namespace warploom::registration {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(PointsFile, KeepsHeaderAndFurtherColumns) {
  PointTable table = parse_points("x,y,z,t,label\n1,2,3,0,11\n-4,5.5,6e-3,0,12\n", "p.csv");
  EXPECT_EQ(table.points, (std::vector<Point>{{1, 2, 3}, {-4, 5.5, 0.006}}));
  table.points[0][0] = 0.1;
  EXPECT_EQ(points_text(table), "x,y,z,t,label\n0.1,2,3,0,11\n-4,5.5,0.006,0,12\n");
}

TEST(PointsFile, LpsHasTwoSignsChanged) {
  const PointTable table = parse_points("1;2;3\n", "p.csv", PointAxes::lps);
  EXPECT_EQ(table.points[0], (Point{-1, -2, 3}));
  EXPECT_EQ(points_text(table, PointAxes::lps), "1,2,3\n");
}

TEST(PointsFile, TwoColumnsArePointsOfAPlane) {
  const PointTable table = parse_points("1 2\n3 4\n", "p.txt");
  EXPECT_EQ(table.points[1], (Point{3, 4, 0}));
  EXPECT_EQ(points_text(table), "1,2\n3,4\n");
}

TEST(PointsFile, WhatIsNoPointIsRefused) {
  EXPECT_THROW(parse_points("1\n2\n", "p.csv"), BadInput);
  EXPECT_THROW(parse_points("1,2,three\n", "p.csv"), ParseError);
  EXPECT_THAT([] { parse_points("1,2,3\n1,nan,3\n", "p.csv"); },
              ThrowsMessage<BadInput>(HasSubstr("p.csv:2:1")));
  PointTable table = parse_points("1,2,3\n", "p.csv");
  table.points.clear();
  EXPECT_THROW(points_text(table), BadInput);
}

}  // namespace
}  // namespace warploom::registration
