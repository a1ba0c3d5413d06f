#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "reuse/sample_report.hpp"
#include "warploom/core/version.hpp"
#include "warploom/reuse/reuse.hpp"

namespace warploom::reuse {
namespace {

using ::testing::ElementsAre;
using Json = nlohmann::ordered_json;

Json parsed(const Report& report) { return Json::parse(to_json(report)); }

std::vector<std::string> keys(const Json& object) {
  std::vector<std::string> out;
  for (const auto& [key, value] : object.items()) out.push_back(key);
  return out;
}

TEST(ReportJson, SaysItsSchemaAndVersionFirst) {
  const Json json = parsed(sample::report());
  EXPECT_THAT(keys(json), ElementsAre("schema", "warploom", "file", "architecture", "note", "kernels"));
  EXPECT_EQ(json["schema"], 2);
  EXPECT_EQ(json["warploom"], version());
}

TEST(ReportJson, HasEveryFieldOfAKernelInAFixedOrder) {
  EXPECT_THAT(keys(parsed(sample::report())["kernels"][0]),
              ElementsAre("name", "symbol", "at", "verdict", "reason", "reason_at", "block", "threads",
                          "threads_from", "bytes_before", "bytes_after", "bytes_possible", "pool_bytes",
                          "dynamic_pool", "dynamic_before", "dynamic_after", "dynamic_possible",
                          "dynamic_formula", "registers_before", "registers_after", "first_line", "last_line",
                          "objects", "partitions", "interference", "barriers", "occupancy", "residency",
                          "assumptions", "suggestions", "certificate"));
}

TEST(ReportJson, KeepsNumbersExact) {
  Report report = sample::report();
  report.kernels[0].bytes_before = 9007199254740993;  // 2^53 + 1 is no double
  EXPECT_EQ(parsed(report)["kernels"][0]["bytes_before"].get<std::uint64_t>(), 9007199254740993u);
}

TEST(ReportJson, GivesAnObjectItsLifeAndPartners) {
  const Json object = parsed(sample::report())["kernels"][0]["objects"][0];
  EXPECT_EQ(object["live_lines"], Json::parse("[[131, 402], [417, 566]]"));
  EXPECT_EQ(object["shares_with"], Json::parse("[1, 2]"));
  EXPECT_EQ(object["declared"]["line"], 26);
  EXPECT_EQ(object["offset"], 0);
}

TEST(ReportJson, SaysNullForWhatIsNotKnown) {
  const Json kernel = parsed(sample::report())["kernels"][3];
  EXPECT_TRUE(kernel["at"].is_null());
  EXPECT_TRUE(kernel["block"].is_null());
  EXPECT_TRUE(kernel["registers_after"].is_null());
  EXPECT_TRUE(kernel["objects"][0]["offset"].is_null());
}

TEST(ReportJson, GivesBarriersAndWhatTheySeparate) {
  const Json barrier = parsed(sample::report())["kernels"][0]["barriers"][0];
  EXPECT_EQ(barrier["inserted"], true);
  EXPECT_EQ(barrier["at"]["ptx_line"], 598);
  EXPECT_EQ(barrier["separates"], Json::parse("[[0, 1]]"));
}

TEST(ReportJson, GivesOccupancyForEveryArchitecture) {
  const Report report = sample::report();
  const Json rows = parsed(report)["kernels"][1]["occupancy"];
  ASSERT_EQ(rows.size(), report.kernels[1].occupancy.size());
  EXPECT_EQ(rows[0]["architecture"], "sm_75");
  EXPECT_EQ(rows[0]["before"]["blocks"], 1);
  EXPECT_EQ(rows[0]["after"]["blocks"], 3);
  EXPECT_EQ(rows[0]["before"]["limit"], "shared memory");
}

TEST(ReportJson, IsTheSameForTheSameReport) {
  EXPECT_EQ(to_json(sample::report()), to_json(sample::report()));
}

TEST(ReportJson, ReplacesBytesThatAreNoUtf8) {
  Report report = sample::report();
  report.kernels[0].objects[0].name = "a\xff";
  EXPECT_EQ(parsed(report)["kernels"][0]["objects"][0]["name"], "a\xEF\xBF\xBD");
}

}  // namespace
}  // namespace warploom::reuse
