// Parts of the dynamic array at places that only the launch knows.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "reuse/formula_value.hpp"
#include "warploom/reuse/check.hpp"
#include "warploom/reuse/reuse.hpp"
#include "warploom/sim/sim.hpp"

namespace warploom::reuse {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::uint32_t kThreads = 64;

Result optimized(const std::string& text) {
  Options options;
  options.when = When::always;
  options.assemble = false;
  return optimize(text, options);
}

struct Run {
  std::string finding;
  std::vector<std::uint32_t> out;
};

Run run(const std::string& text, std::uint32_t n, std::uint32_t bytes, sim::Schedule schedule) {
  sim::Machine machine(ptx::parse(text, "k.ptx"));
  Run result{"", std::vector<std::uint32_t>(kThreads)};
  const sim::Address out = machine.upload(std::span<const std::uint32_t>(result.out));
  sim::Arguments arguments;
  arguments.add(out).add(n);
  sim::LaunchOptions options;
  options.block = {kThreads};
  options.dynamic_shared = bytes;
  options.schedule = schedule;
  options.races = true;
  options.run.threads = 1;
  const sim::Outcome outcome = machine.launch("k", arguments, options);
  if (!outcome.clean()) result.finding = outcome.findings[0].text();
  machine.download(out, std::span(result.out));
  return result;
}

/// A kernel that carves its dynamic array by its parameter n and its block size, and goes through steps that
/// write one part and read another.
class RandomCarving {
 public:
  explicit RandomCarving(std::uint64_t seed) : random_(seed) {
    const unsigned parts = 2 + pick(4);
    line("ld.param.u64 %d1, [k_param_0];");
    line("ld.param.u32 %r1, [k_param_1];");
    line("mov.u32 %r2, %tid.x;");
    line("mov.u32 %r3, %ntid.x;");
    line("setp.lt.s32 %p1, %r2, %r1;");
    line("mov.u32 %r4, %r2;");  // what is reckoned
    line("mov.u32 %r10, s;");
    for (unsigned p = 0; p < parts; ++p) {
      kinds_.push_back(pick(4));
      const unsigned here = 10 + p, next = 11 + p;
      switch (kinds_[p]) {
        case 0:
          line("mad.lo.s32 %r{}, %r1, 4, %r{};", next, here);
          break;
        case 1:
          line("mad.lo.s32 %r{}, %r3, 4, %r{};", next, here);
          break;
        case 2:
          line("add.s32 %r{}, %r{}, 256;", next, here);
          break;
        default:
          line("shl.b32 %r30, %r1, 3;"), line("add.s32 %r{}, %r30, %r{};", next, here);
      }
    }
    const unsigned steps = 3 + pick(6);
    unsigned last = pick(parts);
    write(last);
    for (unsigned s = 0; s < steps; ++s) {
      if (pick(12) != 0) line("bar.sync 0;");
      read(pick(6) == 0 ? pick(parts) : last);
      if (pick(3) == 0) line("bar.sync 0;");
      last = pick(parts);
      write(last);
    }
    line("bar.sync 0;");
    read(last);
    line("mul.wide.u32 %d2, %r2, 4;\nadd.s64 %d3, %d1, %d2;\nst.global.u32 [%d3], %r4;\nret;");
  }

  std::string text() const {
    return ".version 8.0\n.target sm_80\n.address_size 64\n.extern .shared .align 16 .b8 s[];\n"
           ".visible .entry k(.param .u64 k_param_0, .param .u32 k_param_1)\n{\n"
           ".reg .pred %p<40>;\n.reg .b32 %r<600>;\n.reg .b64 %d<9>;\n" +
           body_ + "}\n";
  }
  std::uint32_t bytes(std::uint32_t n) const {
    std::uint32_t sum = 4;  // one access may go a word too far
    for (const unsigned kind : kinds_)
      sum += kind == 0 ? 4 * n : kind == 1 ? 4 * kThreads : kind == 2 ? 256 : 8 * n;
    return sum;
  }

 private:
  unsigned pick(unsigned below) { return static_cast<unsigned>(random_() % below); }
  template <typename... Args>
  void line(fmt::string_view format, const Args&... args) {
    body_ += fmt::vformat(format, fmt::make_format_args(args...)) + "\n";
  }
  /// The address of a word of the part, of another thread's where `other`; a guard where it needs one.
  std::pair<std::string, unsigned> word(unsigned part, bool other) {
    const unsigned kind = kinds_[part];
    const bool by_n = kind == 0 || kind == 3;
    const unsigned index = other ? next_++ : 2, address = next_++;
    if (other) line("sub.s32 %r{}, %r{}, %r2;\nadd.s32 %r{}, %r{}, -1;", index, by_n ? 1 : 3, index, index);
    line("mad.lo.s32 %r{}, %r{}, 4, %r{};", address, index, 10 + part);
    if (kind == 3 && pick(2) == 0) line("mad.lo.s32 %r{}, %r1, 4, %r{};", address, address);
    const int beyond = pick(15) == 0 ? 4 : 0;  // into the neighbour
    return {beyond == 0 ? fmt::format("[%r{}]", address) : fmt::format("[%r{}+{}]", address, beyond),
            by_n ? 1 : 0};
  }
  void write(unsigned part) {
    if (kinds_[part] == 0 && pick(3) == 0) return write_all(part);
    if (kinds_[part] == 3 && pick(3) == 0) {  // eight bytes a thread
      const unsigned address = next_++;
      line("mad.lo.s32 %r{}, %r2, 8, %r{};\ncvt.u64.u32 %d4, %r4;\n@%p1 st.shared.u64 [%r{}], %d4;", address,
           10 + part, address);
      return;
    }
    const auto [address, guard] = word(part, pick(3) == 0);
    line("{}st.shared.u32 {}, %r4;", guard == 1 ? "@%p1 " : "", address);
  }
  /// Also of more words than threads.
  void write_all(unsigned part) {
    const unsigned i = next_++, address = next_++, label = next_++;
    line("mov.u32 %r{}, %r2;\nA{}:\nsetp.ge.s32 %p2, %r{}, %r1;\n@%p2 bra B{};", i, label, i, label);
    line("mad.lo.s32 %r{}, %r{}, 4, %r{};\nst.shared.u32 [%r{}], %r4;", address, i, 10 + part, address);
    line("add.s32 %r{}, %r{}, %r3;\nbra A{};\nB{}:", i, i, label, label);
  }
  void read(unsigned part) {
    const auto [address, guard] = word(part, pick(2) == 0);
    line("mov.u32 %r5, 3;");
    if (pick(4) == 0) {  // through a wide register
      line("cvt.u64.u32 %d5, %r{};\n{}ld.shared.u32 %r5, [%d5];", next_ - 1, guard == 1 ? "@%p1 " : "");
    } else {
      line("{}ld.shared.u32 %r5, {};", guard == 1 ? "@%p1 " : "", address);
    }
    line("mad.lo.s32 %r4, %r4, 5, %r5;");
  }

  std::mt19937_64 random_;
  std::vector<unsigned> kinds_;
  std::string body_;
  unsigned next_ = 40;
};

struct Tried {
  unsigned rewritten = 0, clean = 0;
};

Tried try_random(std::uint64_t first, std::uint64_t count) {
  Tried tried;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const RandomCarving kernel(seed);
    const std::string text = kernel.text();
    const Result result = optimized(text);
    const KernelReport& report = result.report.kernels.at(0);
    EXPECT_NE(report.verdict, Verdict::failed) << seed << ": " << report.reason << "\n" << text;
    if (report.verdict != Verdict::rewritten) continue;
    ++tried.rewritten;
    // The last one is 64 modulo 2^30: 4 n wraps round to 256 bytes, and nothing may move.
    for (const std::uint32_t n : {0u, 1u, 37u, 64u, 90u, 0xffffffffu, 0x40000040u}) {
      const std::uint32_t before = kernel.bytes(n == 0xffffffffu ? 0 : n & 0xffffu);
      const std::uint32_t after = bytes_after(
          report.dynamic_formula, before, {{"param_1", static_cast<std::int32_t>(n)}, {"block_x", kThreads}});
      bool usable = true;
      for (const sim::Schedule schedule : {sim::Schedule::in_order, sim::Schedule::adversarial}) {
        const Run expected = run(text, n, before, schedule);
        usable = usable && expected.finding.empty();
        if (!usable) break;
        ++tried.clean;
        for (const std::uint32_t bytes : {before, after}) {
          const Run now = run(result.text, n, bytes, schedule);
          EXPECT_EQ(now.finding, "") << seed << " n " << n << " bytes " << bytes << "\n" << result.text;
          EXPECT_EQ(now.out, expected.out) << seed << " n " << n << "\n" << text << "\n" << result.text;
        }
      }
    }
    if (testing::Test::HasFailure()) break;
  }
  return tried;
}

/// Three steps in three parts of n words each.
std::string three(const std::string& type = "u32", const std::string& more = "") {
  const std::string load = type == "u64" ? "ld.param.u64 %d7, [k_param_1];\ncvt.u32.u64 %r1, %d7;\n"
                                         : "ld.param.u32 %r1, [k_param_1];\n";
  return ".version 8.0\n.target sm_80\n.address_size 64\n.extern .shared .align 16 .b8 s[];\n"
         ".visible .entry k(.param .u64 k_param_0, .param ." +
         type +
         " k_param_1)\n{\n.reg .pred %p<9>;\n.reg .b32 %r<30>;\n.reg .b64 %d<9>;\nld.param.u64 %d1, [k_param_0];\n" +
         load +
         "mov.u32 %r2, %tid.x;\nsetp.lt.s32 %p1, %r2, %r1;\nmov.u32 %r3, s;\nmad.lo.s32 %r3, %r2, 4, %r3;\n"
         "mad.lo.s32 %r4, %r1, 4, %r3;\nmad.lo.s32 %r5, %r1, 8, %r3;\n"
         "@%p1 st.shared.u32 [%r3], %r2;\nbar.sync 0;\n@%p1 ld.shared.u32 %r6, [%r3];\nbar.sync 0;\n"
         "@%p1 st.shared.u32 [%r4], %r6;\nbar.sync 0;\n@%p1 ld.shared.u32 %r7, [%r4];\nbar.sync 0;\n"
         "@%p1 st.shared.u32 [%r5], %r7;\nbar.sync 0;\n@%p1 ld.shared.u32 %r8, [%r5];\n" +
         more +
         "mul.wide.u32 %d2, %r2, 4;\nadd.s64 %d3, %d1, %d2;\n@%p1 st.global.u32 [%d3], %r8;\nret;\n}\n";
}

TEST(Carving, ByAParameterIsOverlaidWithAFormula) {
  const Result result = optimized(three());
  const KernelReport& report = result.report.kernels.at(0);
  ASSERT_EQ(report.verdict, Verdict::rewritten) << report.reason;
  EXPECT_EQ(report.dynamic_formula.text(), "4 * param_1");
  EXPECT_EQ(report.dynamic_formula.before, "12 * param_1");
  EXPECT_EQ(report.dynamic_formula.example_before, 3072u);
  EXPECT_EQ(report.dynamic_formula.example_after, 1024u);
  EXPECT_EQ(report.objects.at(1).name, "s[4 * param_1..8 * param_1)");
  const std::string header = launch_header(result.report);
  EXPECT_THAT(header,
              HasSubstr("constexpr std::size_t k_smem_bytes(std::size_t before, long long param_1) {"));
  EXPECT_THAT(header, HasSubstr("if (param_1 < 0 || param_1 > 262144) return before;"));
  EXPECT_THAT(header, HasSubstr("std::max<long long>({4 * param_1})"));
  EXPECT_EQ(report.objects.at(2).place, "0");
  EXPECT_THAT(advice(report),
              HasSubstr("needs 4 * param_1 bytes of dynamic shared memory a block in place of 12"));
  EXPECT_THAT(advice(report), HasSubstr("s[8 * param_1..12 * param_1): 0\n"));
  EXPECT_THAT(to_text(result.report), HasSubstr("12 * param_1 -> 4 * param_1 bytes"));
  EXPECT_THAT(to_json(result.report), HasSubstr("\"before\": \"12 * param_1\""));
}

TEST(Carving, BesideAStaticArrayThatTheKernelBeginsWith) {
  std::string text = three("u32", "st.shared.u32 [t], %r2;\n");
  text.insert(text.find(".reg .pred"), ".shared .align 8 .b8 t[8];\n");
  const Result result = optimized(text);
  const KernelReport& report = result.report.kernels.at(0);
  ASSERT_EQ(report.verdict, Verdict::rewritten) << report.reason;
  EXPECT_EQ(report.dynamic_formula.text(), "4 * param_1");
}

TEST(Carving, IsNotDoneWithoutBeingAskedFor) {
  Options options;
  options.assemble = false;
  const Result result = optimize(three(), options);
  EXPECT_EQ(result.text, three());
  EXPECT_THAT(result.report.kernels.at(0).reason,
              HasSubstr("4 * param_1 would be enough in place of 12 * param_1"));
}

TEST(Carving, IsLeftWhereLaunchesWillNotChange) {
  Options options;
  options.when = When::always;
  options.assemble = false;
  options.launches_change = false;  // as under wrap
  EXPECT_EQ(optimize(three(), options).text, three());
}

TEST(Carving, IsLeftWhereAnAccessMayReachAnotherPart) {
  // Its address is stored.
  const std::string stored = three("u32", "st.global.u32 [%d1], %r4;\n");
  EXPECT_EQ(optimized(stored).text, stored);
  // By any index of the block, or one word too far: the second and the third are one part.
  for (const std::string more : {"ld.shared.u32 %r8, [%r4];\n", "@%p1 ld.shared.u32 %r8, [%r4+4];\n"}) {
    const KernelReport report = optimized(three("u32", more)).report.kernels.at(0);
    EXPECT_LE(report.objects.size(), 2u) << more;
    EXPECT_NE(report.dynamic_formula.text(), "4 * param_1") << more;
  }
  std::string two = three("u32", "ld.shared.u32 %r8, [t];\n");
  two.insert(two.find(".visible"), ".extern .shared .align 16 .b8 t[];\n");
  EXPECT_EQ(optimized(two).text, two);
}

TEST(Carving, OfAWideParameterLooksAtAllItsBits) {
  const Result result = optimized(three("u64"));
  EXPECT_THAT(result.text, HasSubstr("setp.le.u64"));
}

TEST(Carving, CheckRefusesWhatIsNotProved) {
  const std::string text = three();
  const Result result = optimized(text);
  ASSERT_TRUE(check(text, result.text).ok) << check(text, result.text).problems.at(0);
  const auto refused = [&](std::string_view from, std::string_view to) {
    std::string other = result.text;
    const std::size_t at = other.find(from);
    ASSERT_NE(at, other.npos) << from << "\n" << other;
    other.replace(at, from.size(), to);
    EXPECT_FALSE(check(text, other).ok) << from << " -> " << to;
  };
  refused(", -4, ", ", -3, ");   // no multiple of a word
  refused(", -4, ", ", 4, ");    // up
  refused(", -8, ", ", -12, ");  // below 0
  refused(", -8, ", ", -5, ");
  refused("setp.le.u32", "setp.ge.u32");
  refused(", 262144;", ", 1262144;");
  refused("[k_param_1];", "[k_param_0];");
  refused("selp.b32", "mov.b32");
  refused("add.s32 \t%warploom_r", "sub.s32 \t%warploom_r");
  refused("bar.sync 0;\n@%p1 ld.shared", "@%p1 ld.shared");
  refused("mov.u32 %r2, %tid.x;", "mov.u32 %r2, %tid.x;\nmov.u32 \t%warploom_r1, 8;");
}

TEST(Carving, CheckKnowsThatAllDynamicArraysAreOneMemory) {
  // The rewriter leaves such kernels; the check is shown what it would have made of them.
  const std::string parts = three();
  std::string constant = parts;
  for (const auto& [from, to] :
       {std::pair<std::string, std::string>{"[%r4]", "[%r3+1024]"}, {"[%r5]", "[%r3+2048]"}})
    for (std::size_t at; (at = constant.find(from)) != constant.npos;) constant.replace(at, from.size(), to);
  constant.replace(constant.find("\n{\n"), 3, "\n.maxntid 256, 1, 1\n{\n");
  for (const std::string& text : {parts, constant}) {
    const std::string result = optimized(text).text;
    ASSERT_NE(result, text);
    ASSERT_TRUE(check(text, result).ok);
    const auto both = [&](const std::string& before, const std::string& end) {
      std::string in = text, out = result;
      for (std::string* t : {&in, &out}) {
        t->insert(t->find(".visible"), before);
        t->insert(t->find("ret;"), end);
      }
      return check(in, out).ok;
    };
    EXPECT_FALSE(both(".extern .shared .align 16 .b8 t[];\n", "ld.shared.u32 %r8, [t];\n"));
    EXPECT_FALSE(both(".func f()\n{\nst.shared.u32 [s], 0;\nret;\n}\n", ""));
  }
}

TEST(Carving, WithABlockSizePromisedSaysSo) {
  Options options;
  options.when = When::always;
  options.assemble = false;
  options.block = BlockShape{128, 1, 1};
  const Result result = optimize(three(), options);
  EXPECT_EQ(result.report.kernels.at(0).verdict, Verdict::rewritten) << result.report.kernels.at(0).reason;
  EXPECT_THAT(result.text, HasSubstr(".reqntid 128, 1, 1"));
}

/// Three steps in three parts of n words each, of which `m` words are used: nothing says that m <= n.
/// @param open  the thread's word is not bounded by the block either
std::string three_by_another_bound(bool open) {
  std::string text = three();
  const auto replace = [&](std::string_view from, std::string_view to) {
    const std::size_t at = text.find(from);
    if (at == text.npos) throw std::invalid_argument(std::string(from));
    text.replace(at, from.size(), to);
  };
  replace(".param .u32 k_param_1)", ".param .u32 k_param_1, .param .u32 k_param_2)");
  replace("setp.lt.s32 %p1, %r2, %r1;", "ld.param.u32 %r9, [k_param_2];\nsetp.lt.s32 %p1, %r2, %r9;");
  // What is loaded is 0, but nobody knows that.
  if (open)
    replace("mov.u32 %r2, %tid.x;",
            "mov.u32 %r2, %tid.x;\nld.global.u32 %r20, [%d1];\nadd.s32 %r2, %r2, %r20;");
  return text;
}

Result assuming_parts(const std::string& text) {
  Options options;
  options.when = When::always;
  options.assemble = false;
  options.assume_parts = true;
  return optimize(text, options);
}

Run run_with_bound(const std::string& text, std::uint32_t n, std::uint32_t m, std::uint32_t bytes) {
  sim::Machine machine(ptx::parse(text, "k.ptx"));
  Run result{"", std::vector<std::uint32_t>(kThreads)};
  const sim::Address out = machine.upload(std::span<const std::uint32_t>(result.out));
  sim::Arguments arguments;
  arguments.add(out).add(n).add(m);
  sim::LaunchOptions options;
  options.block = {kThreads};
  options.dynamic_shared = bytes;
  options.races = true;
  options.run.threads = 1;
  const sim::Outcome outcome = machine.launch("k", arguments, options);
  if (!outcome.clean()) result.finding = outcome.findings[0].text();
  machine.download(out, std::span(result.out));
  return result;
}

TEST(AssumedParts, WhatIsNotProvedIsSaidAndTheRestOverlaid) {
  const std::string text = three_by_another_bound(true);
  EXPECT_EQ(optimized(text).text, text) << "m may be larger than n";
  const Result result = assuming_parts(text);
  const KernelReport& report = result.report.kernels.at(0);
  ASSERT_EQ(report.verdict, Verdict::rewritten) << report.reason;
  EXPECT_EQ(report.dynamic_formula.before, "before");
  EXPECT_EQ(report.dynamic_formula.text(), "max(4 * param_1, before - 8 * param_1)");
  std::string all;
  for (const Assumption& a : report.assumptions) all += a.text + "\n";
  EXPECT_THAT(all, HasSubstr("--assume-parts: the accesses of PTX lines"));
  EXPECT_THAT(all, HasSubstr("stay in s[0..4 * param_1)"));
  EXPECT_THAT(all, HasSubstr("stay in s[4 * param_1..8 * param_1)"));
  EXPECT_THAT(all, HasSubstr("stay in s[8 * param_1..before)"));
  EXPECT_THAT(to_json(result.report), HasSubstr("stay in s[8 * param_1..before)"));
  EXPECT_THAT(launch_header(result.report),
              HasSubstr("std::max<long long>({4 * param_1, static_cast<long long>(before) - 8 * param_1})"));
  EXPECT_FALSE(check(text, result.text).ok) << "nobody said so";
  CheckOptions with;
  with.assume_parts = true;
  const CheckResult checked = check(text, result.text, {}, with);
  EXPECT_TRUE(checked.ok) << (checked.ok ? "" : checked.problems.at(0));
  EXPECT_THAT(fmt::format("{}", fmt::join(checked.certificate, "\n")), HasSubstr("assumed (--assume-parts)"));
}

TEST(AssumedParts, ALastPartThatTheBlockBoundsIsNotOpen) {
  const Result result = assuming_parts(three_by_another_bound(false));
  const KernelReport& report = result.report.kernels.at(0);
  EXPECT_EQ(report.dynamic_formula.before, "4 * block_x + 8 * param_1");
  EXPECT_EQ(report.dynamic_formula.text(), "max(4 * param_1, 4 * block_x)");
}

TEST(AssumedParts, AreRightWhereTheAssumptionIs) {
  const std::string text = three_by_another_bound(true);
  const Result result = assuming_parts(text);
  for (const std::uint32_t n : {16u, 64u, 50u}) {
    const std::uint32_t before = 12 * n;
    const auto expected = run_with_bound(text, n, n, before);
    ASSERT_EQ(expected.finding, "");
    const std::uint32_t after = bytes_after(result.report.kernels.at(0).dynamic_formula, before,
                                            {{"param_1", n}, {"before", before}});
    EXPECT_EQ(after, 4 * n);
    for (const std::uint32_t bytes : {before, after}) {
      const auto now = run_with_bound(result.text, n, n, bytes);
      EXPECT_EQ(now.finding, "");
      EXPECT_EQ(now.out, expected.out);
    }
  }
}

TEST(AssumedParts, ARunNamesTheAccessThatBreaksIt) {
  const std::string text = three_by_another_bound(false);
  const Result result = assuming_parts(text);
  const std::string& test = result.assumption_test;
  ASSERT_NE(test, "");
  EXPECT_EQ(run_with_bound(test, 32, 32, 384).finding, "");
  const std::string finding = run_with_bound(test, 32, 33, 400).finding;
  const std::size_t store = text.find("st.shared.u32 [%r3]");
  const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(store), '\n');
  EXPECT_THAT(finding, HasSubstr("the access stays in s[0..4 * param_1)"));
  EXPECT_THAT(finding, HasSubstr(fmt::format("{}", line)));
  EXPECT_EQ(optimized(three()).assumption_test, "") << "all is proved there";
  EXPECT_EQ(assuming_parts(three()).assumption_test, "");
}

TEST(AssumedParts, AlsoWhereTheBoundStandsInAnAddress) {
  // The third load counts down from m: its bound is a sum of m, of which nothing is known beside n.
  std::string text = three_by_another_bound(false);
  const std::string load = "@%p1 ld.shared.u32 %r7, [%r4];";
  const std::size_t at = text.find(load);
  ASSERT_NE(at, text.npos);
  text.replace(at, load.size(),
               "mov.u32 %r11, s;\nsub.s32 %r12, %r9, %r2;\nmad.lo.s32 %r11, %r1, 4, %r11;\n"
               "mad.lo.s32 %r11, %r12, 4, %r11;\n@%p1 ld.shared.u32 %r7, [%r11+-4];");
  EXPECT_EQ(optimized(text).text, text);
  const Result result = assuming_parts(text);
  ASSERT_EQ(result.report.kernels.at(0).verdict, Verdict::rewritten) << result.report.kernels.at(0).reason;
  for (const std::uint32_t n : {16u, 64u}) {
    const auto expected = run_with_bound(text, n, n, 12 * n);
    ASSERT_EQ(expected.finding, "");
    const auto now = run_with_bound(result.text, n, n, 12 * n);
    EXPECT_EQ(now.finding, "");
    EXPECT_EQ(now.out, expected.out);
  }
}

TEST(AssumedParts, AdviceSaysWhatTheyWouldSave) {
  Options options;
  options.when = When::always;
  options.assemble = false;
  options.what_if = true;
  const Result result = optimize(three_by_another_bound(true), options);
  EXPECT_EQ(result.text, three_by_another_bound(true));
  const KernelReport& report = result.report.kernels.at(0);
  ASSERT_EQ(report.suggestions.size(), 1u);
  std::string text = advice(report);
  std::ranges::replace(text, '\n', ' ');
  EXPECT_THAT(text, HasSubstr("Could be overlaid:"));
  EXPECT_THAT(text, HasSubstr("s[0..4 * param_1)"));
  EXPECT_THAT(report.suggestions[0],
              HasSubstr("max(4 * param_1, before - 8 * param_1) bytes in place of what the launch passes"));
  EXPECT_THAT(report.suggestions[0], HasSubstr("--assume-parts"));
}

TEST(AssumedParts, WhereTheArrayIsNotCarvedThereIsNothingToAssume) {
  std::string text = three_by_another_bound(false);
  for (std::size_t at; (at = text.find("%r1, 8, %r3")) != text.npos;) text.replace(at, 11, "%r1, 0, %r3");
  for (std::size_t at; (at = text.find("%r1, 4, %r3")) != text.npos;) text.replace(at, 11, "%r1, 0, %r3");
  EXPECT_EQ(assuming_parts(text).text, text);
}

TEST(Carving, RandomKernelsComputeTheSame) {
  const Tried tried = try_random(1, WARPLOOM_CARVED_KERNELS);
  EXPECT_GT(tried.rewritten, WARPLOOM_CARVED_KERNELS / 10);
  EXPECT_GT(tried.clean, WARPLOOM_CARVED_KERNELS / 2);
  fmt::print("{} kernels, {} rewritten, {} of their launches clean before\n", WARPLOOM_CARVED_KERNELS,
             tried.rewritten, tried.clean);
}

}  // namespace
}  // namespace warploom::reuse
