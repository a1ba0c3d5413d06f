// Which arrays are written whole before they are read. Expectations are worked out by hand: every kernel is
// a few statements over the 16 words of A, and a negative differs from its positive in one thing.

#include "reuse/analysis/coverage.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <array>
#include <string>
#include <vector>

#include "reuse/analysis/evaluate.hpp"
#include "reuse/kernel_text.hpp"
#include "warploom/core/file.hpp"

namespace warploom::reuse {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

using Block = std::optional<std::array<std::uint32_t, 3>>;
constexpr std::array<std::uint32_t, 3> k16{16, 1, 1}, k8{8, 1, 1};

struct Outcome {
  std::vector<std::string> points;  ///< the instructions that A is dead before
  std::vector<std::string> reasons;
};

Outcome coverage(const std::string& body, Block block, bool strict = false, std::vector<DeadPoint> known = {},
                 std::string_view functions = "") {
  Analysed analysed(kernel_text(body, 80, functions), !strict);
  analysed.kernel.block = block;
  analysed.kernel.strict = strict;
  std::vector<NotCovered> failures;
  Outcome outcome;
  for (const DeadPoint& d : find_covered(analysed.kernel, known, failures)) {
    EXPECT_EQ(d.proof, DeadPoint::covered);
    if (analysed.name(d.object) == "A")
      outcome.points.emplace_back(analysed.module.text_of(analysed.kernel.instruction(d.instruction).span));
  }
  for (const NotCovered& f : failures)
    if (analysed.name(f.object) == "A") outcome.reasons.push_back(f.reason.text);
  return outcome;
}

/// What the statements are about, in each thread: its index, `own` = the address of A[thread], `partner` =
/// that of A[thread ^ 1], `array` = that of A, `bytes` = 4 * thread; `word` = what it has read from `memory`,
/// an address of its own; `number`, a parameter; `some`, true in some threads, and `all`, true in all or
/// none.
constexpr const char* kNames =
    ".reg .b32 %thread, %bytes, %array, %own, %partner, %number, %word, %round, %head;\n.reg .b64 %pointer, "
    "%memory;\n.reg .pred %some, %all;\nmov.u32 %thread, %tid.x; shl.b32 %bytes, %thread, 2; mov.u32 %array, "
    "A;\nadd.s32 %own, %array, %bytes; xor.b32 %r10, %bytes, 4; add.s32 %partner, %array, "
    "%r10;\nld.param.u32 %number, [number]; ld.param.u64 %pointer, [pointer];\nmul.wide.u32 %rd2, %thread, "
    "4; add.s64 %memory, %pointer, %rd2; ld.global.u32 %word, [%memory];\nsetp.lt.s32 %some, %word, 10; "
    "setp.lt.s32 %all, %number, 3; mov.u32 %round, 0;\n";

constexpr const char* kHead = "mov.u32 %head, %round;";

/// The statements in a loop of `number` rounds.
std::string in_loop(const std::string& body, const std::string& before = "") {
  return kNames + before + "\nLOOP: " + kHead + "\n" + body +
         "\nadd.s32 %round, %round, 1; setp.lt.s32 %p9, %round, %number; @%p9 bra LOOP;\nret;";
}

bool head_covered(const std::string& body, Block block = k16, const std::string& before = "") {
  const Outcome outcome = coverage(in_loop(body, before), block);
  return std::find(outcome.points.begin(), outcome.points.end(), kHead) != outcome.points.end();
}

const std::string kStoreOwn = "st.shared.u32 [%own], %round; bar.sync 0;";
constexpr const char* kReadNeighbour = "ld.shared.u32 %r30, [%partner]; bar.sync 0;";
constexpr const char* kReadUnknown =  // A[word from memory]
    "mad.lo.s32 %r31, %word, 4, %array; ld.shared.u32 %r30, [%r31]; bar.sync 0;";

// ---- barriers, block sizes, guards

TEST(Coverage, NeighboursElementAfterABarrier) { EXPECT_TRUE(head_covered(kStoreOwn + kReadNeighbour)); }
TEST(Coverage, NeighboursElementWithoutABarrier) {
  EXPECT_FALSE(head_covered(std::string("st.shared.u32 [%own], %round; bar.warp.sync -1;") + kReadNeighbour));
}
TEST(Coverage, HoldsUnderStrictToo) {
  EXPECT_THAT(coverage(in_loop(kStoreOwn + kReadNeighbour), k16, true).points, Contains(kHead));
}
TEST(Coverage, OwnElementNeedsNeitherBarrierNorBlockSize) {
  const std::string body = "st.shared.u32 [%own], %round; ld.shared.u32 %r30, [%own];";
  EXPECT_TRUE(head_covered(body));
  EXPECT_TRUE(head_covered(body, std::nullopt));
  EXPECT_FALSE(head_covered("st.shared.u32 [%own], %round; ld.shared.u32 %r30, [%own+4];", std::nullopt));
}
TEST(Coverage, NeighboursElementNeedsTheBlockSize) {
  EXPECT_FALSE(head_covered(kStoreOwn + kReadNeighbour, std::nullopt));
}
TEST(Coverage, WholeArrayNeedsAsManyThreads) {
  const std::string body = kStoreOwn + kReadUnknown;
  EXPECT_TRUE(head_covered(body, k16));
  EXPECT_TRUE(head_covered(body, std::array<std::uint32_t, 3>{16, 2, 1}));
  EXPECT_FALSE(head_covered(body, std::array<std::uint32_t, 3>{15, 2, 1}));
}
TEST(Coverage, GuardOnTheThreadIndex) {
  const auto body = [](int threads) {
    return fmt::format("setp.lt.u32 %p3, %thread, {}; @%p3 st.shared.u32 [%own], %round; bar.sync 0;",
                       threads) +
           kReadNeighbour;
  };
  EXPECT_TRUE(head_covered(body(16)));
  EXPECT_FALSE(head_covered(body(15)));
}
TEST(Coverage, BranchOnTheThreadIndex) {
  const auto body = [](int threads) {
    return fmt::format(
               "setp.ge.u32 %p3, %thread, {}; @%p3 bra PAST; st.shared.v4.u32 [%r11], {{%round,%round,%round,%round}}; PAST: bar.sync 0;",
               threads) +
           kReadUnknown;
  };
  const std::string address = "shl.b32 %r12, %thread, 4; add.s32 %r11, %array, %r12;";
  EXPECT_TRUE(head_covered(body(4), k16, address));
  EXPECT_FALSE(head_covered(body(3), k16, address));
}
TEST(Coverage, ReadOfTheNextElementStopsBeforeTheEnd) {
  const auto body = [](int threads) {
    return fmt::format(
        "st.shared.u32 [%own], %round; bar.sync 0; setp.lt.u32 %p3, %thread, {}; @%p3 ld.shared.u32 %r30, [%own+4]; bar.sync 0;",
        threads);
  };
  EXPECT_TRUE(head_covered(body(15)));
  EXPECT_FALSE(head_covered(body(16)));  // byte 64 is not A's
}

// ---- widths and addresses

TEST(Coverage, HalvesOfAWord) {
  const auto body = [](int second) {
    return fmt::format("st.shared.u16 [%own], 1; st.shared.u16 [%own+{}], 2; bar.sync 0;", second) +
           kReadNeighbour;
  };
  EXPECT_TRUE(head_covered(body(2)));
  EXPECT_FALSE(head_covered(body(1)));
}
TEST(Coverage, NegativeOffsets) {
  EXPECT_TRUE(head_covered(
      std::string("add.s32 %r11, %own, 8; st.shared.u32 [%r11+-8], %round; bar.sync 0;") + kReadNeighbour));
  EXPECT_FALSE(head_covered(
      std::string("add.s32 %r11, %own, 4; st.shared.u32 [%r11+-8], %round; bar.sync 0;") + kReadUnknown));
}
TEST(Coverage, GenericAddresses) {
  const std::string store =
      "cvt.u64.u32 %rd4, %array; cvta.shared.u64 %rd5, %rd4; mul.wide.u32 %rd6, %thread, 4; add.s64 %rd7, "
      "%rd5, %rd6; st.u32 [%rd7], %round; bar.sync 0;";
  EXPECT_TRUE(head_covered(store + kReadUnknown));
  EXPECT_FALSE(head_covered(store + kReadUnknown, k8));
}
TEST(Coverage, OneOfTwoArraysBySelp) {
  const auto body = [](int last) {
    return fmt::format(
        "mov.u32 %r11, B; add.s32 %r12, %r11, %bytes; setp.lt.u32 %p3, %thread, 8; selp.b32 %r13, %own, "
        "%r12, %p3;st.shared.u32 [%r13], %round; bar.sync 0; ld.shared.u32 %r30, [A+{}]; bar.sync 0;",
        last);
  };
  EXPECT_TRUE(head_covered(body(28)));
  EXPECT_FALSE(head_covered(body(32)));  // written in B
}
TEST(Coverage, TwoDimensionalBlock) {
  const std::string body =
      "mov.u32 %r11, %tid.y; mov.u32 %r12, %ntid.x; mad.lo.s32 %r13, %r11, %r12, %thread; shl.b32 %r14, "
      "%r13, 2; add.s32 %r15, %array, %r14;st.shared.u32 [%r15], %round; bar.sync 0;";
  EXPECT_TRUE(head_covered(body + kReadUnknown, std::array<std::uint32_t, 3>{4, 4, 1}));
  EXPECT_FALSE(head_covered(body + kReadUnknown, std::array<std::uint32_t, 3>{4, 3, 1}));
}
TEST(Coverage, LaneIsTheThreadWithinItsWarp) {
  const std::string body =
      "mov.u32 %r11, %laneid; shl.b32 %r12, %r11, 2; add.s32 %r13, %array, %r12; st.shared.u32 [%r13], %round; bar.sync 0;";
  EXPECT_TRUE(head_covered(body + kReadUnknown, std::array<std::uint32_t, 3>{4, 2, 2}));
  EXPECT_FALSE(head_covered(body + kReadUnknown, std::array<std::uint32_t, 3>{4, 2, 1}));
}
TEST(Coverage, HalfThatChangesWithTheIterationIsRecognised) {
  // %r11 = 32 * (iteration & 1): unknown, but the same for store and load.
  const auto body = [](const char* half) {
    return std::string(
               "and.b32 %r12, %round, 1; shl.b32 %r11, %r12, 5; xor.b32 %r13, %r11, 32; and.b32 %r14, "
               "%bytes, 28; add.s32 %r15, %r14, %array;xor.b32 %r16, %r14, 4; add.s32 %r17, %r16, %array; "
               "add.s32 %r18, %r15, %r11; st.shared.u32 [%r18], %round; bar.sync 0; add.s32 %r19, %r17, ") +
           half + "; ld.shared.u32 %r30, [%r19]; bar.sync 0;";
  };
  EXPECT_TRUE(head_covered(body("%r11")));
  EXPECT_FALSE(head_covered(body("%r13")));
}

// ---- fills by loops

std::string strided_fill(int elements, int step) {
  return fmt::format(
      "mov.u32 %r20, %thread; FILL: shl.b32 %r21, %r20, 2; add.s32 %r22, %array, %r21; st.shared.u32 [%r22], "
      "0;add.s32 %r20, %r20, {}; setp.lt.u32 %p4, %r20, {}; @%p4 bra FILL; bar.sync 0;",
      step, elements);
}

TEST(Coverage, StridedFillLoop) {
  EXPECT_TRUE(head_covered(strided_fill(16, 8) + kReadUnknown, k8));
  EXPECT_TRUE(head_covered(strided_fill(16, 5) + kReadUnknown, std::array<std::uint32_t, 3>{5, 1, 1}));
  EXPECT_FALSE(head_covered(strided_fill(15, 8) + kReadUnknown, k8));  // A[15] is left out
  EXPECT_FALSE(head_covered(strided_fill(16, 8) + kReadUnknown, std::array<std::uint32_t, 3>{7, 1, 1}));
}
TEST(Coverage, StoresOfALoopOfUnknownLengthDoNotCount) {
  const std::string fill =
      "mov.u32 %r20, 0; FILL: shl.b32 %r21, %r20, 2; add.s32 %r22, %array, %r21; st.shared.u32 [%r22], 0;"
      "add.s32 %r20, %r20, 1; setp.lt.u32 %p4, %r20, %number; @%p4 bra FILL; bar.sync 0;";
  EXPECT_FALSE(head_covered(fill + kReadUnknown));
}
std::string count(const char* before_counting) {
  return std::string(before_counting) +
         "mov.u32 %r23, %word; COUNT: and.b32 %r24, %r23, 15; shl.b32 %r25, %r24, 2; add.s32 %r26, %array, "
         "%r25; atom.shared.add.u32 %r27, [%r26], 1;shr.u32 %r23, %r23, 1; setp.ne.s32 %p5, %r23, 0; @%p5 bra COUNT; bar.sync 0;" +
         kReadNeighbour;
}
TEST(Coverage, HistogramAfterAFillWithZeros) {
  EXPECT_TRUE(head_covered(strided_fill(16, 8) + count(""), k8));
  EXPECT_FALSE(head_covered(strided_fill(15, 8) + count(""), k8));
  EXPECT_FALSE(head_covered("st.shared.u32 [%own], 0;" + count("")));  // counted before others have filled
  EXPECT_TRUE(head_covered("st.shared.u32 [%own], 0;" + count("bar.sync 0;")));
}
TEST(Coverage, TreeOfSums) {
  const auto body = [](const char* barrier) {
    return fmt::format(
        "st.shared.u32 [%own], %round; {} mov.u32 %r20, 8; TREE: setp.ge.u32 %p4, %thread, %r20; @%p4 bra "
        "NEXT; shl.b32 %r21, %r20, 2;add.s32 %r22, %own, %r21; ld.shared.u32 %r23, [%r22]; ld.shared.u32 "
        "%r24, [%own]; add.s32 %r25, %r23, %r24;st.shared.u32 [%own], %r25; NEXT: bar.sync 0; shr.u32 %r20, "
        "%r20, 1; setp.ne.s32 %p5, %r20, 0; @%p5 bra TREE;ld.shared.u32 %r30, [A]; bar.sync 0;",
        barrier);
  };
  EXPECT_TRUE(head_covered(body("bar.sync 0;")));
  EXPECT_FALSE(head_covered(body("")));
}

// ---- conditions that are not known

TEST(Coverage, SameUnknownPredicateForStoreAndLoad) {
  const std::string store = "@%some st.shared.u32 [%own], %round; bar.sync 0;";
  EXPECT_TRUE(head_covered(store + "@%some ld.shared.u32 %r30, [%own]; bar.sync 0;"));
  EXPECT_FALSE(head_covered(store + "@!%some ld.shared.u32 %r30, [%own]; bar.sync 0;"));
  EXPECT_FALSE(head_covered(store + "ld.shared.u32 %r30, [%own]; bar.sync 0;"));
  EXPECT_FALSE(head_covered(
      store + "@%some ld.shared.u32 %r30, [%partner]; bar.sync 0;"));  // the neighbour's may be false
  EXPECT_TRUE(head_covered(store + "not.pred %p3, %some; @!%p3 ld.shared.u32 %r30, [%own]; bar.sync 0;"));
}
TEST(Coverage, SameUnknownPredicateForBranchAndLoad) {
  const std::string store = "@!%some bra PAST; st.shared.u32 [%own], %round; PAST: bar.sync 0;";
  EXPECT_TRUE(head_covered(store + "@%some ld.shared.u32 %r30, [%own]; bar.sync 0;"));
  EXPECT_FALSE(head_covered(store + "@!%some ld.shared.u32 %r30, [%own]; bar.sync 0;"));
}
TEST(Coverage, BothArmsStore) {
  const auto body = [](const char* other) {
    return fmt::format(
               "@%some bra OTHER; st.shared.u32 [%own], %round; bra JOIN; OTHER: {} JOIN: bar.sync 0;",
               other) +
           kReadNeighbour;
  };
  EXPECT_TRUE(head_covered(body("st.shared.u32 [%own], 0;")));
  EXPECT_FALSE(head_covered(body("st.shared.u16 [%own], 0;")));
  EXPECT_FALSE(head_covered(body("")));
}
TEST(Coverage, ConditionOfTheWholeBlockIsRemembered) {
  const auto body = [](const char* later) {
    return fmt::format(
               "@%all bra PAST; st.shared.u32 [%own], %round; bar.sync 0; PAST: add.s32 %r20, %round, 1; @{} bra SKIP;",
               later) +
           kReadNeighbour + " SKIP: mov.u32 %r29, 0;";
  };
  EXPECT_TRUE(head_covered(body("%all")));
  EXPECT_FALSE(head_covered(body("!%all")));
}
TEST(Coverage, ConditionComputedAnewInEachIterationIsAnother) {
  const std::string body =
      "ld.volatile.global.u32 %r20, [%memory]; setp.lt.s32 %p3, %r20, 10; @%p3 st.shared.u32 [%own], %round;"
      "ld.volatile.global.u32 %r21, [%memory]; setp.lt.s32 %p4, %r21, 10; @{} ld.shared.u32 %r30, [%own];";
  EXPECT_TRUE(head_covered(fmt::format(fmt::runtime(body), "%p3")));
  EXPECT_FALSE(head_covered(fmt::format(fmt::runtime(body), "%p4")));
}

// ---- threads that have left

TEST(Coverage, ThreadsThatLeftBeforeTheLoopStoreNothing) {
  EXPECT_FALSE(head_covered(kStoreOwn + kReadNeighbour, k16, "@%some ret;"));
  EXPECT_TRUE(head_covered(kStoreOwn + "ld.shared.u32 %r30, [%own];", k16, "@%some ret;"));
  EXPECT_TRUE(head_covered(kStoreOwn + kReadNeighbour, k16, "@%all ret;"));  // all or none
}
TEST(Coverage, ThreadsThatLeaveInTheLoopStoreNothing) {
  const auto body = [](const char* before, const char* after) {
    return fmt::format("{} st.shared.u32 [%own], %round; bar.sync 0; {}", before, after) + kReadNeighbour;
  };
  EXPECT_FALSE(head_covered(body("@%some ret;", "")));
  EXPECT_FALSE(head_covered(body("", "@%some ret;")));  // whoever left in the last iteration stores no more
  EXPECT_TRUE(head_covered(body("@%all ret;", "")));
}
TEST(Coverage, ThreadsThatLeaveAnInnerLoopOfUnknownLengthStoreNothing) {
  const auto body = [](const char* leave) {
    return fmt::format(
        "mov.u32 %r20, 0; INNER: st.shared.u32 [%own], %round; bar.sync 0; ld.shared.u32 %r30, [%partner]; "
        "bar.sync 0; {}add.s32 %r20, %r20, 1; setp.lt.u32 %p4, %r20, %number; @%p4 bra INNER;",
        leave);
  };
  EXPECT_TRUE(head_covered(body("")));
  EXPECT_FALSE(
      head_covered(body("ld.volatile.global.u32 %r21, [%memory]; setp.eq.s32 %p6, %r21, 0; @%p6 ret;")));
}
/// Without a loop around the statements.
std::vector<std::string> points_in_line(const std::string& body, Block block = k16,
                                        std::string_view functions = "") {
  return coverage(kNames + body, block, false, {}, functions).points;
}
/// The array is stored and read, then stored by `store`, and the rest follows.
std::vector<std::string> points_in_line(const std::string& store, const std::string& rest) {
  return points_in_line(std::string("st.shared.u32 [%own], 1; bar.sync 0;") + kReadNeighbour + store + rest);
}
TEST(Coverage, ThreadsThatLeaveAfterTheStoreNeedNotHaveArrived) {
  const std::string store = "st.shared.u32 [%own], 2;", read = std::string("bar.sync 0;") + kReadNeighbour;
  EXPECT_THAT(points_in_line(store, "@%some ret;" + read + "ret;"), IsEmpty());
  EXPECT_THAT(points_in_line(store, "@%all ret;" + read + "ret;"), Contains(store));
  EXPECT_THAT(points_in_line(store, "@%some bra END;" + read + "END: ret;"), IsEmpty());
  EXPECT_THAT(points_in_line(store, "@%all bra END;" + read + "END: ret;"), Contains(store));
}
TEST(Coverage, ThreadsThatLeftInAnEarlierIterationStoreNothing) {
  const std::string store = "st.shared.u16 [%own], 2;";
  const auto loop = [](const char* leave) {
    return fmt::format(
        "mov.u32 %r20, 0; INNER: ld.shared.u16 %r28, [%own]; st.shared.u32 [%own], %round; bar.sync 0; {} {} "
        "add.s32 %r20, %r20, 1;setp.lt.u32 %p4, %r20, %number; @%p4 bra INNER; ret;",
        kReadNeighbour, leave);
  };
  EXPECT_THAT(points_in_line(store, loop("")), Contains(store));
  EXPECT_THAT(points_in_line(
                  store, loop("ld.volatile.global.u32 %r21, [%memory]; setp.eq.s32 %p6, %r21, 0; @%p6 ret;")),
              IsEmpty());
}
constexpr const char* kSecondStore = "st.shared.u32 [%own], 2;";
/// The array is stored and read, some threads leave by `leave`, and it is stored and read anew.
std::vector<std::string> points_after_leaving(const std::string& leave, std::string_view functions = "") {
  return points_in_line(std::string("setp.ge.u32 %p3, %thread, 8; and.pred %p4, %some, %all;") +
                            "st.shared.u32 [%own], 1; bar.sync 0;" + kReadNeighbour + leave +
                            "st.shared.u32 [%own], 2; bar.sync 0;" + kReadNeighbour + "END: ret;",
                        k16, functions);
}
TEST(Coverage, ThreadsThatLeftBeforeTheSecondStore) {
  EXPECT_THAT(points_after_leaving(""), Contains(kSecondStore));
  EXPECT_THAT(points_after_leaving("@%all ret;"), Contains(kSecondStore));
  EXPECT_THAT(points_after_leaving("@%all bra END;"), Contains(kSecondStore));
  for (const char* leave : {"@%some ret;", "@%some bra END;", "@%p3 exit;", "@%p4 ret;", "@%p4 bra END;"})
    EXPECT_THAT(points_after_leaving(leave), IsEmpty()) << leave;
}
TEST(Coverage, ThreadsThatLeaveByAUniformBranchWithinAnArm) {
  EXPECT_THAT(points_after_leaving("@%p3 bra STAY; @%all ret; STAY:"), IsEmpty());
  EXPECT_THAT(points_after_leaving("@%p3 bra STAY; @%all bra END; STAY:"), IsEmpty());
  EXPECT_THAT(points_after_leaving("@%some bra STAY; @!%all bra STAY; ret; STAY:"), IsEmpty());
  EXPECT_THAT(points_after_leaving("@%p3 bra STAY; mov.u32 %r20, 1; STAY:"), Contains(kSecondStore));
  EXPECT_THAT(points_after_leaving("@!%all bra STAY; @%all ret; STAY:"), Contains(kSecondStore));
}
TEST(Coverage, ThreadsThatMayLeaveWithinACall) {
  const std::string call = "call.uni other;", body = ".reg .b32 %t; .reg .pred %q; mov.u32 %t, %tid.x;";
  const std::string leave = body + "setp.lt.u32 %q, %t, 8; @%q exit;";
  EXPECT_THAT(points_after_leaving(call, ".func other() {" + body + "ret; }"), Contains(kSecondStore));
  EXPECT_THAT(points_after_leaving(call, ".func other() {" + leave + "ret; }"), IsEmpty());
  EXPECT_THAT(points_after_leaving(call, ".extern .func other();"), IsEmpty());
}
TEST(Coverage, ThreadsThatLeaveAmidAFillLoop) {
  // Threads 0 to 7 fill two elements each; 0 to 3 may leave between the two.
  const auto points = [](const std::string& leave) {
    return points_in_line(
        std::string() + "setp.lt.u32 %p3, %thread, 4; st.shared.u32 [%own], 1; st.shared.u32 [%own+32], 1;" +
            "bar.sync 0;" + kReadUnknown +
            "mov.u32 %r20, 0; FILL: shl.b32 %r21, %r20, 2; add.s32 %r22, %own, %r21;" +
            "st.shared.u32 [%r22], 0;" + leave +
            "add.s32 %r20, %r20, 8; setp.lt.u32 %p4, %r20, 16; @%p4 bra FILL; bar.sync 0;" + kReadUnknown +
            "ret;",
        k8);
  };
  EXPECT_THAT(points(""), Contains("mov.u32 %r20, 0;"));
  EXPECT_THAT(points("@%all ret;"), Contains("mov.u32 %r20, 0;"));
  EXPECT_THAT(points("@%p3 ret;"), IsEmpty());
  EXPECT_THAT(points("@!%all bra ON; @%p3 ret; ON:"), IsEmpty());
  EXPECT_THAT(points("@%p3 bra ON; @%all ret; ON:"), IsEmpty());
}
TEST(Coverage, WhoLeavesBeforeAnythingIsStoredLeavesElementsThatOthersMayHaveStored) {
  const auto points = [](const std::string& leave) {
    return points_in_line(leave +
                          "st.shared.u32 [%partner], 1; bar.sync 0; ld.shared.u32 %r30, [%own]; bar.sync 0;" +
                          "st.shared.u32 [%own], 2; bar.sync 0;" + kReadNeighbour + "ret;");
  };
  EXPECT_THAT(points(""), Contains(kSecondStore));
  EXPECT_THAT(points("@%some ret;"), IsEmpty());  // the neighbour's element still holds this thread's 1
}
TEST(Coverage, TheEndOfTheTextIsAWayOutEvenBehindATrap) {
  const std::string rest = std::string("bar.sync 0;") + kReadNeighbour + "ret; trap; END:";
  EXPECT_THAT(points_in_line(kSecondStore, "@%some bra END;" + rest), IsEmpty());
  EXPECT_THAT(points_in_line(kSecondStore, "@%all bra END;" + rest), Contains(kSecondStore));
}
TEST(Coverage, ATrapEndsTheWholeGrid) {
  EXPECT_TRUE(
      head_covered(std::string("@!%some bra FINE; trap; FINE: st.shared.u32 [%own], %round; bar.sync 0;") +
                   kReadNeighbour));
}

// ---- points

TEST(Coverage, ArrayStoredBeforeTheLoopAndNotReadAfterIt) {
  const std::string before =
      "st.shared.u32 [%own], 7; bar.sync 0; ld.shared.u32 %r11, [%partner]; bar.sync 0;";
  EXPECT_TRUE(head_covered(kStoreOwn + kReadNeighbour, k16, before));
}
TEST(Coverage, ReadAfterTheLoopOfWhatTheLoopMayNotHaveStored) {
  const std::string text = in_loop(kStoreOwn + kReadNeighbour);
  const std::string loop = text.substr(0, text.size() - 4);  // without `ret;`
  EXPECT_THAT(coverage(loop + "ld.shared.u32 %r30, [%partner]; ret;", k16).points,
              Contains(kHead));  // the last iteration has
  EXPECT_THAT(coverage(loop + "ld.shared.u32 %r30, [A+60]; ret;", k8).points, Not(Contains(kHead)));
}
TEST(Coverage, HoleBetweenTheLastReadAndTheNextFill) {
  const std::string then = "bar.sync 0; ld.shared.u32 %r30, [%partner]; ret;";
  EXPECT_THAT(points_in_line(kSecondStore, then), Contains(kSecondStore));
  EXPECT_THAT(points_in_line("st.shared.u16 [%own], 2;", then), IsEmpty());
}
TEST(Coverage, HoleBeforeAFillLoopUnderADivergentBranch) {
  const std::string first =
      "st.shared.u32 [%own], 1; bar.sync 0; ld.shared.u32 %r30, [A+60]; bar.sync 0; setp.gt.u32 %p3, %thread, 5;";
  const auto fill = [](int elements) {
    return fmt::format(
        "@%p3 bra DONE; mov.u32 %r20, %bytes; FILL: add.s32 %r22, %array, %r20; st.shared.u32 [%r22], 0; "
        "add.s32 %r20, %r20, 24;setp.lt.u32 %p4, %r20, {}; @%p4 bra FILL; DONE: bar.sync 0; ld.shared.u32 %r31, [A+60]; ret;",
        4 * elements);
  };
  EXPECT_THAT(points_in_line(first + fill(16)), Contains("@%p3 bra DONE;"));
  EXPECT_THAT(points_in_line(first + fill(15)), IsEmpty());
}
TEST(Coverage, NotWhereOnlySomeThreadsCome) {
  // A loop that ends at once; half of the threads pass it by.
  const auto points = [](const std::string& skip) {
    return points_in_line(
        "setp.ge.u32 %p3, %thread, 8; setp.eq.u32 %p4, 1, 2; st.shared.u32 [%own], 1; bar.sync 0;" + skip +
        "INNER: mov.u32 %r21, 0; st.shared.u32 [%own], 2; @%p4 bra INNER; PAST: bar.sync 0;" +
        kReadNeighbour + "ret;");
  };
  EXPECT_THAT(points(""), Contains("mov.u32 %r21, 0;"));
  EXPECT_THAT(points("@%p3 bra PAST;"), Not(Contains("mov.u32 %r21, 0;")));
}
TEST(Coverage, FillLoopAtTheVeryBeginning) {
  const char* body = "FILL: st.shared.u32 [A], 1; @%p4 bra FILL; bar.sync 0; ld.shared.u32 %r30, [A]; ret;";
  EXPECT_THAT(coverage(body, k16).points, Contains("st.shared.u32 [A], 1;"));
}
TEST(Coverage, PointsThatAreKnownAreNotProvedAgain) {
  const std::string body = in_loop(kStoreOwn + kReadNeighbour);
  Analysed analysed(kernel_text(body));
  std::uint32_t head = 0;
  while (analysed.module.text_of(analysed.kernel.instruction(head).span) != kHead) ++head;
  EXPECT_THAT(coverage(body, k16, false, {{DeadPoint::iteration_private, 0, head}}).points, IsEmpty());
}
TEST(Coverage, PinnedArraysAreLeftAlone) {
  EXPECT_FALSE(head_covered(
      std::string(
          "cvt.u64.u32 %rd4, %array; st.global.u64 [%pointer], %rd4; st.shared.u32 [%own], %round; bar.sync 0;") +
      kReadNeighbour));
}
TEST(Coverage, SaysWhichByteWhichThreadAndWhichLine) {
  const Outcome outcome = coverage(
      in_loop(std::string("setp.lt.u32 %p3, %thread, 15; @%p3 st.shared.u32 [%own], %round; bar.sync 0;") +
              kReadNeighbour),
      k16);
  ASSERT_THAT(outcome.reasons, Not(IsEmpty()));
  EXPECT_THAT(outcome.reasons[0], HasSubstr("reads bytes 60-63 in thread (14,0,0)"));
  EXPECT_THAT(outcome.reasons[0], HasSubstr("has written byte 60 for certain"));
}
TEST(Coverage, LongLoopsAreGivenUpInTime) {
  const std::string fill =
      "mov.u32 %r20, 0; FILL: and.b32 %r23, %r20, 15; shl.b32 %r21, %r23, 2; add.s32 %r22, %array, %r21; st.shared.u32 [%r22], 0;"
      "add.s32 %r20, %r20, 1; setp.lt.u32 %p4, %r20, 100000000; @%p4 bra FILL; bar.sync 0;";
  EXPECT_FALSE(head_covered(fill + kReadUnknown));
}

// ---- what nvcc makes of such kernels: tests/ptx/cases/coverage/coverage.cu

struct Compiled {
  const char* kernel;
  std::array<std::uint32_t, 3> block;
  bool covered;
};

class CoverageOfCompiled : public ::testing::TestWithParam<Compiled> {};

TEST_P(CoverageOfCompiled, OpensAHoleInEachIteration) {
  const ptx::Module module = ptx::parse(read_file(WARPLOOM_TESTS_DIR "/ptx/cases/coverage/coverage.ptx"));
  const Compiled& expected = GetParam();
  Kernel kernel;
  kernel.module = &module;
  kernel.function = module.find_function(expected.kernel);
  ASSERT_NE(kernel.function, nullptr);
  kernel.block = expected.block;
  kernel.cfg = ptx::build_cfg(module, *kernel.function);
  kernel.values = number_values(kernel.cfg);
  kernel.use = find_shared_use(kernel.cfg, kernel.values);
  kernel.uniformity = find_uniformity(kernel.cfg, kernel.values, kernel.use, true);
  std::vector<NotCovered> failures;
  EXPECT_EQ(!find_covered(kernel, {}, failures).empty(), expected.covered);
  EXPECT_TRUE(expected.covered || !failures.empty());
}

INSTANTIATE_TEST_SUITE_P(
    Nvcc, CoverageOfCompiled,
    ::testing::Values(Compiled{"histogram", {128, 1, 1}, true}, Compiled{"histogram", {37, 1, 1}, true},
                      Compiled{"histogram_short", {128, 1, 1}, false},
                      Compiled{"row_sums", {256, 1, 1}, true}, Compiled{"row_sums", {128, 1, 1}, false},
                      Compiled{"halo", {16, 16, 1}, true}, Compiled{"halo", {16, 8, 1}, false},
                      Compiled{"own_element", {128, 1, 1}, true},
                      Compiled{"neighbours_element", {128, 1, 1}, false}),
    [](const auto& test) { return fmt::format("{}_{}", test.param.kernel, test.index); });

// ---- the arithmetic, against values worked out by hand from PTX ISA 9.0, section 9.7

struct Arithmetic {
  const char* instruction;
  std::uint64_t result;
};

class EvaluateArithmetic : public ::testing::TestWithParam<Arithmetic> {};

TEST_P(EvaluateArithmetic, OfConstants) {
  const Analysed analysed(kernel_text(std::string(GetParam().instruction) + " st.shared.u32 [A], 0; ret;"));
  const std::optional<Computation> c = decode_computation(analysed.kernel, 0);
  ASSERT_TRUE(c.has_value());
  std::array<Cell, 5> in;
  for (std::uint32_t k = 0; k < c->source_count; ++k) in[k] = c->sources[k].cell;
  const std::optional<Cell> result = evaluate(*c, in.data());
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(*result, Cell{GetParam().result});
}

INSTANTIATE_TEST_SUITE_P(
    Instructions, EvaluateArithmetic,
    ::testing::Values(
        Arithmetic{"add.s32 %r1, 0xffffffff, 2;", 1}, Arithmetic{"sub.s32 %r1, 1, 2;", 0xffffffff},
        Arithmetic{"sub.s64 %rd1, 1, 2;", 0xffffffffffffffff},
        Arithmetic{"mul.lo.s32 %r1, -3, 5;", 0xfffffff1}, Arithmetic{"mul.hi.u32 %r1, 0x80000000, 6;", 3},
        Arithmetic{"mul.hi.s32 %r1, -1, 1;", 0xffffffff},
        Arithmetic{"mul.wide.s32 %rd1, -3, 5;", 0xfffffffffffffff1},
        Arithmetic{"mul.wide.u32 %rd1, -1, 2;", 0x1fffffffe}, Arithmetic{"mad.lo.s32 %r1, 3, 5, 7;", 22},
        Arithmetic{"mad.wide.u32 %rd1, 0x80000000, 2, 1;", 0x100000001},
        Arithmetic{"div.s32 %r1, -7, 2;", 0xfffffffd}, Arithmetic{"div.u32 %r1, -7, 2;", 0x7ffffffc},
        Arithmetic{"rem.s32 %r1, -7, 2;", 0xffffffff}, Arithmetic{"rem.u32 %r1, 7, 4;", 3},
        Arithmetic{"abs.s32 %r1, -7;", 7}, Arithmetic{"neg.s32 %r1, 7;", 0xfffffff9},
        Arithmetic{"min.s32 %r1, -1, 1;", 0xffffffff}, Arithmetic{"min.u32 %r1, -1, 1;", 1},
        Arithmetic{"max.s32 %r1, -1, 1;", 1}, Arithmetic{"shl.b32 %r1, 1, 31;", 0x80000000},
        Arithmetic{"shl.b32 %r1, 1, 32;", 0}, Arithmetic{"shr.u32 %r1, 0x80000000, 31;", 1},
        Arithmetic{"shr.s32 %r1, 0x80000000, 40;", 0xffffffff}, Arithmetic{"shr.u32 %r1, 1, 32;", 0},
        Arithmetic{"and.b32 %r1, 12, 10;", 8}, Arithmetic{"or.b32 %r1, 12, 10;", 14},
        Arithmetic{"xor.b32 %r1, 12, 10;", 6}, Arithmetic{"not.b32 %r1, 1;", 0xfffffffe},
        Arithmetic{"popc.b32 %r1, 0xf0;", 4}, Arithmetic{"clz.b32 %r1, 1;", 31},
        Arithmetic{"brev.b32 %r1, 1;", 0x80000000}, Arithmetic{"bfe.u32 %r1, 0x12345678, 8, 12;", 0x456},
        Arithmetic{"bfe.s32 %r1, 0x00000f00, 8, 4;", 0xffffffff}, Arithmetic{"bfe.u32 %r1, -1, 28, 8;", 0xf},
        Arithmetic{"bfi.b32 %r1, 0xff, 0x12345678, 4, 8;", 0x12345ff8},
        Arithmetic{"lop3.b32 %r1, 0xf0, 0xcc, 0xaa, 0x96;", 0x96},
        Arithmetic{"shf.l.wrap.b32 %r1, 0x80000000, 1, 1;", 3},
        Arithmetic{"shf.r.clamp.b32 %r1, 0, 1, 1;", 0x80000000},
        Arithmetic{"cvt.s64.s32 %rd1, -1;", 0xffffffffffffffff},
        Arithmetic{"cvt.u64.u32 %rd1, -1;", 0xffffffff}, Arithmetic{"cvt.s32.s8 %r1, 0xff;", 0xffffffff},
        Arithmetic{"setp.lt.s32 %p1, -1, 0;", 1}, Arithmetic{"setp.lt.u32 %p1, -1, 0;", 0},
        Arithmetic{"setp.ge.u32 %p1, 4, 4;", 1}, Arithmetic{"setp.hi.u32 %p1, 4, 4;", 0}));

TEST(Evaluate, LeavesWhatItDoesNotModel) {
  for (const char* text :
       {"add.cc.u32 %r1, 1, 2;", "add.sat.s32 %r1, 1, 2;", "mov.u32 %r1, %clock;", "prmt.b32 %r1, 1, 2, 3;",
        "add.f32 %r1, 0f3F800000, 0f3F800000;", "cvt.rzi.u32.f32 %r1, 0f3F800000;"}) {
    const Analysed analysed(kernel_text(std::string(text) + " st.shared.u32 [A], 0; ret;"));
    EXPECT_FALSE(decode_computation(analysed.kernel, 0).has_value()) << text;
  }
}

}  // namespace
}  // namespace warploom::reuse
