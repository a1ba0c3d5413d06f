// Planted bugs: tests/ptx/cases/faults/*.ptx, each found, named at its source line, under every schedule; and
// their clean twins stay clean.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"
#include "warploom/sim/sim.hpp"

namespace warploom::sim {
namespace {

using testing::HasSubstr;

struct PlantedFault {
  std::string file;
  std::optional<FindingKind> kind;  ///< empty: clean
  std::uint32_t line = 0;           ///< of planted.cu
  std::string where{};              ///< part of Finding::where
  std::uint32_t other_line = 0;     ///< of Finding::other; 0: there is none
  std::uint32_t threads = 32;
  std::array<std::uint32_t, 3> thread = {99, 0, 0};  ///< 99: any
};

const PlantedFault kPlantedFaults[] = {
    {"global_out_of_bounds",
     FindingKind::out_of_bounds,
     12,
     "0 bytes past the end of out (128 bytes)",
     0,
     32,
     {31, 0, 0}},
    {"global_null", FindingKind::out_of_bounds, 7, "null pointer"},
    {"shared_out_of_bounds",
     FindingKind::out_of_bounds,
     21,
     "0 bytes past the end of shared array first (128 bytes)",
     0,
     32,
     {31, 0, 0}},
    {"dynamic_out_of_bounds",
     FindingKind::out_of_bounds,
     9,
     "0 bytes past the end of dynamic shared array pool (64 bytes)",
     0,
     32,
     {16, 0, 0}},
    {"local_out_of_bounds", FindingKind::out_of_bounds, 15, "local variable mine, byte 16 of 16"},
    {"parameter_before", FindingKind::out_of_bounds, 3, "parameter address"},
    {"local_before", FindingKind::out_of_bounds, 15, "local address"},
    {"parameter_out_of_bounds", FindingKind::out_of_bounds, 3, "parameter out, byte 8 of 8"},
    {"constant_out_of_bounds",
     FindingKind::out_of_bounds,
     5,
     "past the end of table (16 bytes)",
     0,
     32,
     {4, 0, 0}},
    {"constant_store", FindingKind::illegal, 6, "constant memory: table, byte 0"},
    {"misaligned", FindingKind::misaligned, 30, "out, byte 4, no multiple of 16"},
    {"misaligned_shared", FindingKind::misaligned, 31, "shared array a, byte 4, no multiple of 8"},
    {"uninitialised_result", FindingKind::uninitialised, 10, "", 8},
    {"uninitialised_branch", FindingKind::uninitialised, 9, "", 8},
    {"uninitialised_address", FindingKind::uninitialised, 11, "", 8},
    {"uninitialised_through_shared", FindingKind::uninitialised, 10, "", 9},
    {"uninitialised_unused", {}},
    {"uninitialised_padding", {}},
    {"uninitialised_element", FindingKind::uninitialised, 10, "", 9},
    {"divergent_barrier", FindingKind::barrier_divergence, 0, "another barrier instruction", 0},
    {"divergent_unaligned", {}},
    {"deadlock_count", FindingKind::deadlock, 4, "32 of 64 came", 5, 64},
    {"deadlock_half_warp", FindingKind::barrier_divergence, 0, "32 of the block's 32 threads wait", 0},
    {"count_mismatch", FindingKind::barrier_divergence, 8, "a count of", 0, 96},
    {"bad_barrier", FindingKind::illegal, 2, "there is no barrier 16"},
    {"bad_shuffle", FindingKind::illegal, 6, "does not name lane 8 itself"},
    {"trap", FindingKind::trap, 40, "", 0, 32, {5, 0, 0}},
    {"endless", FindingKind::endless, 3, "limit of 100000 instructions"},
    {"assertion", FindingKind::assertion, 17, "a.cu:17"},
    {"async_copy_early", FindingKind::uninitialised, 6, "", 5},
    {"async_copy", {}},
};

/// For the names of tests.
void PrintTo(const PlantedFault& planted, std::ostream* out) { *out << planted.file; }

class Faults : public testing::TestWithParam<std::tuple<PlantedFault, Schedule>> {};

TEST_P(Faults, AreFoundWhereTheyArePlanted) {
  const auto& [planted, schedule] = GetParam();
  const std::string path = std::string(WARPLOOM_TESTS_DIR) + "/ptx/cases/faults/" + planted.file + ".ptx";
  Machine machine(ptx::parse(read_file(path), planted.file + ".ptx"));
  Arguments arguments;
  arguments.add(machine.allocate(4 * planted.threads, "out"));
  if (machine.module().functions.back().parameters.size() == 2)
    arguments.add(machine.allocate(4 * planted.threads, "in"));
  LaunchOptions options{.block = {planted.threads}};
  options.dynamic_shared = planted.file == "dynamic_out_of_bounds" ? 64 : 0;
  options.schedule = schedule;
  options.races = true;
  options.max_instructions = 100'000;
  const Outcome outcome = machine.launch("k", arguments, options);
  if (!planted.kind) {
    EXPECT_TRUE(outcome.clean()) << outcome.findings.front().text();
    EXPECT_TRUE(outcome.completed);
    return;
  }
  ASSERT_EQ(outcome.findings.size(), 1u);
  const Finding& finding = outcome.findings.front();
  EXPECT_EQ(finding.kind, *planted.kind) << finding.text();
  EXPECT_EQ(outcome.completed, *planted.kind == FindingKind::uninitialised);
  EXPECT_EQ(finding.kernel, "k");
  EXPECT_EQ(finding.site.file, "planted.cu");
  if (planted.line != 0) {
    EXPECT_EQ(finding.site.line, planted.line) << finding.text();
  }
  if (planted.other_line != 0) {
    ASSERT_TRUE(finding.other.has_value()) << finding.text();
    EXPECT_EQ(finding.other->line, planted.other_line) << finding.text();
  }
  if (planted.thread[0] != 99 && schedule == Schedule::in_order) {  // else another may come first
    EXPECT_EQ(finding.site.thread, planted.thread) << finding.text();
  }
  EXPECT_THAT(finding.where, HasSubstr(planted.where)) << finding.text();
}

/// Every thread of every block counts to `rounds`.
Outcome count(std::uint64_t limit, Dim grid, std::uint32_t rounds) {
  Machine machine(ptx::parse(R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u32 rounds)
{
.reg .b32 %r<3>;
.reg .pred %p;
ld.param.u32 %r1, [rounds];
mov.u32 %r2, 0;
LOOP:
add.u32 %r2, %r2, 1;
setp.lt.u32 %p, %r2, %r1;
@%p bra LOOP;
ret;
}
)"));
  Arguments arguments;
  arguments.add(rounds);
  LaunchOptions options{.grid = grid, .block = {32}};
  options.max_instructions = limit;
  options.run.threads = 2;  // each may be a block beyond the limit
  return machine.launch("k", arguments, options);
}

TEST(InstructionLimit, EndsALaunchWithinAStepOfItsWarps) {
  const Outcome outcome = count(10, {1}, 1'000'000);
  ASSERT_EQ(outcome.findings.size(), 1u);
  EXPECT_EQ(outcome.findings.front().kind, FindingKind::endless);
  EXPECT_LE(outcome.thread_instructions, 10u + 2 * 32);
}

TEST(InstructionLimit, CountsBlocksThatEndedBefore) {
  const Outcome outcome = count(10'000, {1000}, 10);  // 35 instructions a thread
  ASSERT_EQ(outcome.findings.size(), 1u);
  EXPECT_FALSE(outcome.completed);
  EXPECT_LE(outcome.thread_instructions, 10'000u + 2 * 35 * 32);
}

TEST(InstructionLimit, IsNoFindingOfALaunchThatStaysBelow) { EXPECT_TRUE(count(100'000, {10}, 10).clean()); }

TEST(SharedMemory, MoreThanABlockMayHaveIsBadInputWithItsArray) {
  for (const char* bytes : {"4294967296", "4294967297", "16777217"}) {
    Machine machine(ptx::parse(std::string(R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry k()
{
.shared .align 4 .b8 tile[)") + bytes +
                                   R"(];
st.shared.u32 [tile], 0;
ret;
}
)",
                               "large.ptx"));
    try {
      machine.launch("k", {}, {});
      FAIL() << bytes;
    } catch (const BadInput& error) {
      EXPECT_THAT(error.what(), testing::AllOf(HasSubstr("large.ptx"), HasSubstr("tile"), HasSubstr(bytes)));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, Faults,
                         testing::Combine(testing::ValuesIn(kPlantedFaults),
                                          testing::Values(Schedule::in_order, Schedule::random,
                                                          Schedule::adversarial)),
                         [](const auto& test) {
                           std::string schedule(name(std::get<1>(test.param)));
                           std::erase(schedule, '-');
                           return std::get<0>(test.param).file + "_" + schedule;
                         });

TEST(FaultCases, BothPlacesOfADivergentBarrierAreNamed) {
  for (const auto& [file, one, other] :
       {std::tuple{"divergent_barrier", 14u, 16u}, {"deadlock_half_warp", 4u, 6u}}) {
    Machine machine(
        ptx::parse(read_file(std::string(WARPLOOM_TESTS_DIR) + "/ptx/cases/faults/" + file + ".ptx")));
    Arguments arguments;
    arguments.add(machine.allocate(128));
    const Outcome outcome = machine.launch("k", arguments, {.block = {32}});
    ASSERT_EQ(outcome.findings.size(), 1u);
    const Finding& finding = outcome.findings.front();
    ASSERT_TRUE(finding.other);
    EXPECT_THAT((std::vector{finding.site.line, finding.other->line}),
                testing::UnorderedElementsAre(one, other));
  }
}

TEST(FaultCases, EveryCaseIsTested) {
  std::set<std::string> tested, there;
  for (const PlantedFault& planted : kPlantedFaults) tested.insert(planted.file);
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(WARPLOOM_TESTS_DIR) + "/ptx/cases/faults"))
    there.insert(entry.path().stem().string());
  EXPECT_EQ(tested, there);
}

}  // namespace
}  // namespace warploom::sim
