// Planted races: tests/ptx/cases/races/*.ptx, each found and named at its two lines under every schedule; and
// their clean twins stay clean.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "warploom/core/file.hpp"
#include "warploom/sim/sim.hpp"

namespace warploom::sim {
namespace {

/// Lines of planted.cu of two accesses that race; which comes first is the schedule's.
using Lines = std::pair<std::uint32_t, std::uint32_t>;

struct PlantedRace {
  std::string file;
  std::set<Lines> must = {};  ///< found under every schedule; empty: clean
  std::set<Lines> may = {};   ///< found under some
  std::string where = {};     ///< start of Finding::where
  std::uint32_t blocks = 1, threads = 64;
};

const PlantedRace kPlantedRaces[] = {
    {"raw", {{5, 7}}, {}, "shared array tile, byte "},
    {"raw_clean"},
    {"war", {{6, 7}}, {}, "shared array tile, byte "},
    {"war_clean"},
    {"waw", {{5, 6}}, {}, "shared array tile, byte "},
    {"waw_clean"},
    {"loop", {{6, 8}}, {}, "shared array tile, byte "},
    {"loop_clean"},
    {"warp", {{5, 7}}, {}, "shared array tile, byte "},
    {"warp_clean"},
    {"mask", {{5, 7}}, {}, "shared array tile, byte "},
    {"mask_clean"},
    {"named", {{5, 9}}, {}, "shared array tile, byte ", 1, 96},
    {"named_clean", {}, {}, "", 1, 96},
    {"arrive", {{6, 7}}, {}, "shared array tile, byte ", 1, 96},
    {"arrive_clean", {}, {}, "", 1, 96},
    {"global", {{5, 7}}, {}, "out, byte "},
    {"global_clean"},
    {"blocks", {{5, 5}}, {}, "out, byte ", 3},
    {"blocks_read", {{6, 7}}, {}, "out, byte ", 3},
    {"blocks_clean", {}, {}, "", 3},
    {"atomic_store", {{4, 6}}, {}, "shared array tile, byte 0"},
    {"atomic_read", {{6, 7}}, {}, "shared array tile, byte 0"},
    {"atomic_clean", {}, {}, "", 3},
    {"atomic_scope", {{6, 6}}, {}, "out, byte 0", 3},
    {"flag", {{5, 11}}, {}, "out, byte 0", 2},
    {"flag_one_fence", {{5, 11}}, {}, "out, byte 0", 2},
    {"flag_narrow_fence", {{5, 11}}, {}, "out, byte 0", 2},
    {"flag_clean", {}, {}, "", 2},
    {"release_clean", {}, {}, "", 2},
    {"last_block", {{5, 13}}, {}, "out, byte ", 4},
    {"last_block_clean", {}, {}, "", 4},
    {"same_value_clean"},
    {"lanes", {{5, 5}}, {}, "shared array tile, byte 0"},
    {"bytes", {{5, 7}}, {}, "shared array tile, byte "},
    {"bytes_clean"},
    {"vector", {{5, 7}}, {}, "shared array tile, byte "},
    {"vector_clean"},
    {"async", {{6, 9}}, {}, "shared array tile, byte "},
    {"async_clean"},
    {"async_overwrite", {{5, 6}}, {}, "shared array tile, byte "},
    {"async_unfinished", {{6, 8}}, {}, "shared array tile, byte "},
    {"async_late_wait", {{6, 8}}, {}, "shared array tile, byte "},
    {"async_late_wait_clean"},
    {"ldmatrix", {{5, 7}}, {}, "shared array tile, byte "},
    {"ldmatrix_clean"},
    {"stmatrix", {{5, 7}}, {}, "shared array tile, byte "},
    {"stmatrix_clean"},
    {"lock", {{6, 7}}, {{7, 7}}, "out, byte 0", 4},
    {"lock_clean", {}, {}, "", 4},
    {"shared_flag", {{5, 11}}, {}, "shared array tile, byte 0"},
    {"shared_flag_clean"},
    {"exit_clean"},
};

std::string path_of(const std::string& file) {
  return std::string(WARPLOOM_TESTS_DIR) + "/ptx/cases/races/" + file + ".ptx";
}

/// Lines of the PTX that stand under the .loc of a line of planted.cu.
std::set<std::uint32_t> ptx_lines(const std::string& text, std::uint32_t line) {
  std::set<std::uint32_t> lines;
  std::uint32_t at = 1;
  for (std::size_t begin = 0; begin < text.size(); ++at) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    if (text.substr(begin, end - begin) == "\t.loc\t1 " + std::to_string(line) + " 0") lines.insert(at + 1);
    begin = end + 1;
  }
  return lines;
}

void PrintTo(const PlantedRace& planted, std::ostream* out) { *out << planted.file; }

class Races : public testing::TestWithParam<std::tuple<PlantedRace, Schedule>> {};

TEST_P(Races, AreFoundWhereTheyArePlanted) {
  const auto& [planted, schedule] = GetParam();
  const std::string text = read_file(path_of(planted.file));
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    Machine machine(ptx::parse(text, planted.file + ".ptx"));
    Arguments arguments;
    arguments.add(machine.allocate(4096, "out"));
    LaunchOptions options{.grid = {planted.blocks}, .block = {planted.threads}};
    options.schedule = schedule;
    options.seed = seed;
    options.races = true;
    options.max_instructions = 1'000'000;
    const Outcome outcome = machine.launch("k", arguments, options);
    EXPECT_TRUE(outcome.completed);
    if (planted.must.empty()) {
      EXPECT_TRUE(outcome.clean()) << outcome.findings.front().text();
      continue;
    }
    std::set<Lines> found;
    for (const Finding& f : outcome.findings) {
      // A copy that has not arrived is also what nobody wrote.
      if (f.kind == FindingKind::uninitialised && planted.file.starts_with("async")) continue;
      ASSERT_EQ(f.kind, FindingKind::race) << f.text();
      ASSERT_TRUE(f.other) << f.text();
      EXPECT_EQ(f.kernel, "k");
      EXPECT_THAT(f.where, testing::StartsWith(planted.where)) << f.text();
      for (const Site* site : {&f.site, &*f.other}) {
        EXPECT_EQ(site->file, "planted.cu") << f.text();
        EXPECT_THAT(ptx_lines(text, site->line), testing::Contains(site->ptx_line)) << f.text();
      }
      EXPECT_NE(std::tie(f.site.block, f.site.thread), std::tie(f.other->block, f.other->thread)) << f.text();
      found.insert(std::minmax(f.site.line, f.other->line));
    }
    for (const Lines& lines : found)
      EXPECT_TRUE(planted.must.contains(lines) || planted.may.contains(lines))
          << lines.first << " " << lines.second;
    EXPECT_THAT(found, testing::IsSupersetOf(planted.must)) << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(, Races,
                         testing::Combine(testing::ValuesIn(kPlantedRaces),
                                          testing::Values(Schedule::in_order, Schedule::random,
                                                          Schedule::adversarial)),
                         [](const auto& test) {
                           std::string schedule(name(std::get<1>(test.param)));
                           std::erase(schedule, '-');
                           return std::get<0>(test.param).file + "_" + schedule;
                         });

TEST(RaceCases, AllAreTested) {
  std::set<std::string> files, tested;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(WARPLOOM_TESTS_DIR) + "/ptx/cases/races"))
    files.insert(entry.path().stem().string());
  for (const PlantedRace& planted : kPlantedRaces) tested.insert(planted.file);
  EXPECT_EQ(files, tested);
}

TEST(RaceCases, BothAccessesAreDescribed) {
  Machine machine(ptx::parse(read_file(path_of("raw")), "raw.ptx"));
  Arguments arguments;
  arguments.add(machine.allocate(4096, "out"));
  const Outcome outcome = machine.launch("k", arguments, {.grid = {1}, .block = {64}, .races = true});
  ASSERT_FALSE(outcome.clean());
  const Finding& f = outcome.findings.front();
  EXPECT_THAT((std::set{f.site.what, f.other->what}),
              testing::ElementsAre("read of 4 bytes", "write of 4 bytes"));
}

/// Blocks that race are found whichever CPU threads run them, and reported alike.
TEST(RaceCases, RacesBetweenBlocksDoNotDependOnCpuThreads) {
  for (const char* file : {"blocks", "blocks_read", "atomic_scope"}) {
    std::vector<std::string> texts;
    for (const unsigned threads : {1u, 2u, 5u}) {
      Machine machine(ptx::parse(read_file(path_of(file)), "k.ptx"));
      Arguments arguments;
      arguments.add(machine.allocate(1 << 16, "out"));
      const Outcome outcome = machine.launch(
          "k", arguments, {.grid = {40}, .block = {64}, .races = true, .run = {.threads = threads}});
      std::string text;
      for (const Finding& f : outcome.findings) text += f.text() + " " + std::to_string(f.count) + "\n";
      EXPECT_FALSE(text.empty());
      texts.push_back(text);
    }
    EXPECT_EQ(texts[0], texts[1]) << file;
    EXPECT_EQ(texts[0], texts[2]) << file;
  }
}

}  // namespace
}  // namespace warploom::sim
