#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>

#include "reuse/sample_report.hpp"
#include "warploom/core/error.hpp"
#include "warploom/reuse/reuse.hpp"

namespace warploom::reuse {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// The one line of `text` that has `words` in it; empty if none or several.
std::string line_with(const std::string& text, const std::string& words) {
  std::istringstream lines(text);
  std::string found;
  for (std::string line; std::getline(lines, line);)
    if (line.find(words) != std::string::npos) {
      if (!found.empty()) return "";
      found = line;
    }
  return found;
}

std::size_t longest_line(const std::string& text) {
  std::istringstream lines(text);
  std::size_t most = 0;
  for (std::string line; std::getline(lines, line);) most = std::max(most, line.size());
  return most;
}

std::string message_of_explain(const Report& report, std::string_view object) {
  try {
    explain(report, object);
  } catch (const BadInput& error) {
    return error.what();
  }
  return "no exception";
}

TEST(ReportText, CountsTheKernelsByOutcome) {
  EXPECT_THAT(to_text(sample::report()),
              HasSubstr("all.ptx for sm_90: 5 kernels: 3 rewritten, 1 unchanged and 1 refused\n"));
}

TEST(ReportText, GivesBytesBeforeAndAfter) {
  EXPECT_THAT(to_text(sample::only(sample::curvature())), HasSubstr("39,936 -> 18,432 bytes, 53.8 % less"));
}

TEST(ReportText, WithoutPtxasBlocksAreAnUpperLimit) {
  KernelReport kernel = sample::cub();
  EXPECT_THAT(to_text(sample::only(kernel)), Not(HasSubstr("at most")));
  kernel.registers_before = kernel.registers_after = 0;
  EXPECT_THAT(to_text(sample::only(kernel)), HasSubstr("registers may allow fewer, ptxas was not run"));
}

TEST(ReportText, ListsWhoSharesWithItsOffsetSizeAndReason) {
  const std::string text = to_text(sample::only(sample::two_inside_a_third()));
  EXPECT_THAT(line_with(text, "1,184        44  c"), HasSubstr("alive only from line 42 on"));
}

TEST(ReportText, ListsWhatKeepsItsStorageAndWhy) {
  const std::string text = to_text(sample::only(sample::curvature()));
  const std::string own = text.substr(text.find("Storage of its own"));
  EXPECT_THAT(line_with(own, " uy "),
              HasSubstr("alive together with every other array (curvature3d.cuh:86)"));
}

TEST(ReportText, SaysWhereABarrierWasInsertedInBothLines) {
  EXPECT_THAT(to_text(sample::only(sample::cub())),
              HasSubstr("inserted before sort_scan_reduce.cu:39 (PTX line 598): a / b\n"));
}

TEST(ReportText, SaysWhichBarriersWereThere) {
  EXPECT_THAT(
      to_text(sample::only(sample::curvature())),
      HasSubstr(
          "    found before curvature3d.cuh:88, 96, 104, 112, 120, 136 and 144; PTX lines 345, 491, 711,\n"
          "                 988, 1202, 1687 and 1961\n"));
}

TEST(ReportText, GivesEveryArchitectureItsOccupancyAndLimit) {
  const std::string text = to_text(sample::only(sample::curvature()));
  EXPECT_THAT(line_with(text, "sm_75"),
              AllOf(HasSubstr("1 -> 3"), HasSubstr("25 -> 75 %"), HasSubstr("shared memory")));
  EXPECT_THAT(line_with(text, "sm_100"), AllOf(HasSubstr("5 -> 6"), HasSubstr("shared memory -> registers")));
}

TEST(ReportText, PutsEqualArchitecturesIntoOneRow) {
  EXPECT_THAT(line_with(to_text(sample::only(sample::curvature())), "sm_89"),
              HasSubstr("sm_86, sm_89, sm_120"));
}

TEST(ReportText, SaysThatABlockCannotLaunch) {
  KernelReport kernel = sample::cub();
  kernel.occupancy.resize(1);
  kernel.occupancy[0].before.blocks = 0;
  kernel.occupancy[0].after.limit = hw::Limit::shared_memory;
  EXPECT_THAT(to_text(sample::only(kernel)), HasSubstr("cannot launch -> shared memory"));
}

TEST(ReportText, NamesWhatWasAssumed) {
  EXPECT_THAT(to_text(sample::only(sample::cub())), HasSubstr("- no uninitialised shared memory is read"));
}

TEST(ReportText, ShowsFiveAssumptionsAndTheOthersWhenVerbose) {
  KernelReport kernel = sample::cub();
  kernel.assumptions.resize(8, kernel.assumptions[0]);
  EXPECT_THAT(to_text(sample::only(kernel)), HasSubstr("- and 3 more of this kind (--verbose)"));
  EXPECT_THAT(to_text(sample::only(kernel), true), Not(HasSubstr("more of this kind")));
}

TEST(ReportText, GivesARefusedKernelOneLineWithReasonAndPlace) {
  const std::string text = to_text(sample::report());
  EXPECT_EQ(line_with(text, "cluster_sum"),
            "cluster_sum: refused: mapa reaches into other blocks' shared memory (cluster.cu:17)");
}

TEST(ReportText, SaysWhatAnUnchangedKernelCouldSave) {
  KernelReport kernel = sample::unchanged();
  kernel.bytes_possible = 128;
  EXPECT_THAT(to_text(sample::only(kernel)), HasSubstr("; 128 bytes are possible with --when always"));
}

TEST(ReportText, ShowsAFailedKernelInFull) {
  KernelReport kernel = sample::cub();
  kernel.verdict = Verdict::failed;
  EXPECT_THAT(to_text(sample::only(kernel)),
              AllOf(HasSubstr(": failed\n"), HasSubstr("Shared memory a block")));
}

TEST(ReportText, SaysHowMuchDynamicSharedMemoryToPass) {
  KernelReport kernel = sample::cub();
  kernel.dynamic_pool = true;
  EXPECT_THAT(to_text(sample::only(kernel)), HasSubstr("pass 9280 bytes of dynamic shared memory at launch"));
}

TEST(ReportText, SaysWhyAModuleWasLeftAlone) {
  const std::string text = to_text({"g.ptx", "sm_90", "compiled with -G: left unchanged", {}});
  EXPECT_EQ(text, "g.ptx for sm_90: 0 kernels\n  compiled with -G: left unchanged\n");
}

TEST(ReportText, HasLivesEdgesAndCertificateOnlyWhenVerbose) {
  const Report report = sample::only(sample::curvature());
  EXPECT_THAT(to_text(report), Not(HasSubstr("alive on PTX lines")));
  const std::string text = to_text(report, true);
  EXPECT_THAT(text, HasSubstr("alive on PTX lines 280 to 470"));
  EXPECT_THAT(text, HasSubstr("ux / uy: both alive at line 96 (curvature3d.cuh:96)"));
  EXPECT_THAT(to_text(sample::only(sample::cub()), true), HasSubstr("b / c: barrier at PTX line 770"));
}

TEST(ReportText, FitsAHundredColumns) { EXPECT_LE(longest_line(to_text(sample::report(), true)), 100u); }

TEST(ReportText, SpeaksOfPtxLinesWhereThereIsNoSource) {
  KernelReport kernel = sample::refused();
  kernel.reason_at.file.clear();
  EXPECT_THAT(to_text(sample::only(kernel)), HasSubstr("(PTX line 1210)"));
}

TEST(Explain, TellsLifePartnersBarriersAndReason) {
  const std::string text = explain(sample::report(), "two_inside_a_third::b");
  EXPECT_THAT(text, HasSubstr("alive      PTX lines 604 to 732\n"));
  EXPECT_THAT(text, HasSubstr("stores     PTX lines 604 and 618; in the source sort_scan_reduce.cu:39\n"));
  EXPECT_THAT(text, HasSubstr("because    alive only between line 39 and line 41"));
  EXPECT_THAT(text,
              HasSubstr("a: separated by the inserted barrier before sort_scan_reduce.cu:39 (PTX line 598)"));
}

TEST(Explain, TellsWhatAnObjectMayNotOverlap) {
  EXPECT_THAT(explain(sample::report(), "ux"), HasSubstr("May not overlap\n    uy: both alive at line 96"));
}

TEST(Explain, FindsAnObjectByItsSymbol) {
  EXPECT_THAT(explain(sample::report(), "_ZZ11cluster_sumPfE7partial"), HasSubstr("partial in cluster_sum"));
}

TEST(Explain, ListsTheCandidatesOfAnAmbiguousName) {
  EXPECT_EQ(message_of_explain(sample::report(), "a"),
            "'a' is the name of 2 objects; say which: 'demo<256, 8>::a' and 'two_inside_a_third::a'");
}

TEST(Explain, NamesTheKnownObjectsForAnUnknownOne) {
  EXPECT_EQ(
      message_of_explain(sample::only(sample::cub()), "tile"),
      "no object 'tile' in k.ptx; there are 'demo<256, 8>::a', 'demo<256, 8>::b' and 'demo<256, 8>::c'");
}

TEST(Explain, SaysSoWhereNoKernelHasAnObject) {
  EXPECT_THAT(message_of_explain({"k.ptx", "sm_90", "", {}}, "a"), HasSubstr("no kernel there has an array"));
}

TEST(Advice, PutsWhatOverlapsIntoOneUnion) {
  EXPECT_THAT(advice(sample::cub()),
              HasSubstr("1. Let a, b and c share storage, 9,280 bytes in place of 10,508:\n"
                        "   union {\n     a;"));
}

TEST(Advice, PutsTwoInsideAThirdIntoAStruct) {
  std::string text = advice(sample::two_inside_a_third());
  std::erase_if(text, [](char c) { return c == ' '; });
  EXPECT_THAT(text, HasSubstr("union{\na;//9,280bytes,sort_scan_reduce.cu:26\nstruct{\nb;//"));
}

TEST(Advice, GivesOffsetsWhereOverlapsInterlock) {
  // a over b, b over c, c over d, and no other pair: no nest of union and struct says that.
  KernelReport kernel = sample::cub();
  kernel.objects.push_back(kernel.objects[2]);
  const std::uint64_t offsets[] = {0, 64, 160, 256};
  for (std::uint32_t i = 0; i < 4; ++i) {
    kernel.objects[i].offset = offsets[i];
    kernel.objects[i].bytes = 128;
  }
  kernel.objects[3].name = "d";
  kernel.partitions = {{0, 1, 2, 3}};
  EXPECT_THAT(advice(kernel),
              AllOf(HasSubstr("alignas(16) unsigned char pool[384];"), HasSubstr("at pool + 160: c;")));
}

TEST(Advice, NamesTheLineForEachBarrier) {
  EXPECT_THAT(
      advice(sample::cub()),
      HasSubstr(
          "2. Put __syncthreads() before sort_scan_reduce.cu:39 (PTX line 598); it keeps a from b apart.\n"));
}

TEST(Advice, NamesTheBarriersThatMustStay) {
  EXPECT_THAT(advice(sample::cub()), HasSubstr("3. Keep the barrier before sort_scan_reduce.cu:42"));
}

TEST(Advice, GivesTheGainInBytesAndBlocks) {
  EXPECT_THAT(advice(sample::curvature()),
              HasSubstr("saves 21,504 of 39,936 bytes of shared memory a block"));
  EXPECT_THAT(advice(sample::curvature()), HasSubstr("1 -> 3"));
}

TEST(Advice, SaysWhyThereIsNothingToChange) {
  EXPECT_EQ(advice(sample::unchanged()),
            "block_sum<float>: nothing to change in the source: one array only: nothing to share\n");
}

}  // namespace
}  // namespace warploom::reuse
