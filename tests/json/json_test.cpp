#include "warploom/json/json.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "warploom/core/error.hpp"

namespace warploom {
namespace {

TEST(Json, BracesOfPairsGiveAnObjectInTheirOrder) {
  EXPECT_EQ((Json{{"b", 1}, {"a", {2, 3}}, {"c", Json::object()}}).dump(), R"({"b":1,"a":[2,3],"c":{}})");
}

TEST(Json, BracesOfAnythingElseGiveAnArray) {
  EXPECT_EQ((Json{1, "x", nullptr, true}).dump(), R"([1,"x",null,true])");
}

TEST(Json, RangesBecomeArraysAndMapsObjects) {
  EXPECT_EQ(Json(std::vector<float>{0.5f, 2}).dump(), "[0.5,2.0]");
  EXPECT_EQ(Json(std::map<std::string, int>{{"x", 1}}).dump(), R"({"x":1})");
}

TEST(Json, WholeNumbersKeepAllTheirDigits) {
  EXPECT_EQ(Json(std::numeric_limits<std::uint64_t>::max()).dump(), "18446744073709551615");
  EXPECT_EQ(Json(std::numeric_limits<std::int64_t>::min()).dump(), "-9223372036854775808");
}

TEST(Json, WhatIsNoNumberBecomesNull) { EXPECT_EQ(Json(std::nan("")).dump(), "null"); }

TEST(Json, BytesThatAreNoUtf8AreReplaced) { EXPECT_EQ(Json("a\xff").dump(), "\"a\xEF\xBF\xBD\""); }

TEST(Json, ASetKeyKeepsItsPlace) {
  Json json = {{"a", 1}, {"b", 2}};
  json["a"] = 3;
  json["c"]["d"] = 4;
  json.erase("b");
  json.update({{"a", 5}});
  EXPECT_EQ(json.dump(), R"({"a":5,"c":{"d":4}})");
}

TEST(Json, IndentationIsThatOfItsReaders) {
  EXPECT_EQ((Json{{"a", {1}}}).dump(2), "{\n  \"a\": [\n    1\n  ]\n}");
}

TEST(Json, WhatIsWrittenIsReadBack) {
  const Json json = {
      {"text", "\"\\\n\u00e9"}, {"numbers", {-1, 1.5, 1e300}}, {"none", nullptr}, {"yes", true}};
  EXPECT_EQ(Json::parse(json.dump()), json);
  EXPECT_EQ(json.at("numbers").get<std::vector<double>>(), (std::vector<double>{-1, 1.5, 1e300}));
}

TEST(Json, RefusesWhatIsNoJsonAndSaysWhere) {
  for (const char* text : {"", "{", "[1,]", "{\"a\":1} x", "nul", "\"\\x\""}) {
    try {
      Json::parse(text);
      ADD_FAILURE() << text;
    } catch (const BadInput& error) {
      EXPECT_NE(std::string(error.what()).find("at line 1, column"), std::string::npos) << error.what();
    }
  }
}

TEST(Json, RefusesValuesOfAnotherKind) {
  const Json json = {{"text", "x"}, {"big", 300}, {"real", 1.5}};
  EXPECT_THROW(json.at("none"), BadInput);
  EXPECT_THROW(json.at(std::size_t{0}), BadInput);
  EXPECT_THROW(json.at("text").get<int>(), BadInput);
  EXPECT_THROW(json.at("big").get<std::uint8_t>(), BadInput);
  EXPECT_THROW(json.at("real").get<int>(), BadInput);
  EXPECT_THROW(json.at("big").get<bool>(), BadInput);
  EXPECT_EQ(json.value("big", 1), 300);
  EXPECT_EQ(json.value("none", 1), 1);
}

}  // namespace
}  // namespace warploom
