// Random pipelines whose loops count the phases of their mbarrier: in a register that changes to and fro, or
// by the iteration's number, rightly or not. What is rewritten gives the same results in the simulator.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "warploom/reuse/reuse.hpp"
#include "warploom/sim/sim.hpp"

namespace warploom::reuse {
namespace {

constexpr unsigned kThreads = 32, kKernels = WARPLOOM_PIPELINES;

struct Pipeline {
  std::string text;
  bool counted = false;  ///< rightly, by a loop
};

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) {}

  Pipeline run() {
    const unsigned waits = 1 + (chance(30) ? 1 : 0), kind = one_of(4);
    wrong_ = chance(25) ? 1 + one_of(4) : 0;
    const bool init_first = chance(50);
    std::string body;
    if (chance(40)) body += use_b() + (chance(75) ? kFence : "");
    const std::string counter = fmt::format("mov.u32 %r40, {};\nmov.u32 %r41, 0;\n", wrong_ == 1 ? 1 : 0);
    const std::string init = "@%p20 mbarrier.init.shared.b64 [mb], 1;\nbar.sync 0;\n";
    body += init_first ? init + counter : counter + init;
    if (chance(30)) body += load() + wait("0") + read() + flip(kind, false);
    const bool loaded_before = body.find("[%rd30]") != std::string::npos;
    body += "L:\n";
    // By the iteration's number: with two waits each time round the parity is the same each time.
    for (unsigned w = 0; w < waits; ++w) {
      const bool by_number = kind == 3 && waits == 1 && !loaded_before;
      if (by_number)
        body += fmt::format("and.b32 %r42, %r41, 1;\n{}", wrong_ == 2 ? "xor.b32 %r42, %r42, 1;\n" : "");
      body += load();
      if (chance(25)) body += use_b();
      body += wait(by_number ? "%r42" : "%r40") + read();
      if (!by_number) body += flip(kind, true);
      if (chance(20)) body += use_b() + (chance(75) ? kFence : "");
    }
    body += "add.u32 %r41, %r41, 1;\nsetp.lt.u32 %p1, %r41, %n;\n@%p1 bra L;\n";
    if (chance(30)) body += load() + wait("%r40") + read();
    if (chance(80)) body += use_b();
    Pipeline p;
    p.counted = wrong_ == 0;
    p.text = fmt::format(
        ".version 8.0\n.target sm_90\n.address_size 64\n"
        ".visible .entry k(.param .u64 out, .param .u64 data, .param .u32 n)\n{{\n"
        ".shared .align 128 .b8 a[1024];\n.shared .align 128 .b8 b[1024];\n.shared .align 8 .b8 mb[8];\n"
        ".reg .b32 %r<60>;\n.reg .b32 %t;\n.reg .b32 %n;\n.reg .b64 %rd<40>;\n.reg .pred %p<40>;\n"
        "ld.param.u64 %rd1, [out];\ncvta.to.global.u64 %rd1, %rd1;\nld.param.u64 %rd2, [data];\n"
        "cvta.to.global.u64 %rd2, %rd2;\nld.param.u32 %n, [n];\nmov.u32 %t, %tid.x;\nsetp.eq.u32 %p20, %t, 0;\n"
        "setp.lt.u32 %p30, %t, %n;\nmov.u32 %r1, 1;\nmov.u32 %r50, a;\nmov.u32 %r51, b;\nshl.b32 %r52, %t, 5;\n"
        "add.u32 %r53, %r50, %r52;\nadd.u32 %r54, %r51, %r52;\nxor.b32 %r55, %r52, 32;\nadd.u32 %r56, %r51, %r55;\n"
        "{}mul.wide.u32 %rd9, %t, 4;\nadd.u64 %rd9, %rd1, %rd9;\nst.global.u32 [%rd9], %r1;\nret;\n}}\n",
        body);
    return p;
  }

 private:
  static constexpr const char* kFence = "fence.proxy.async;\nbar.sync 0;\n";

  unsigned one_of(unsigned n) { return static_cast<unsigned>(random_() % n); }
  bool chance(unsigned percent) { return one_of(100) < percent; }

  static std::string load() {
    return "add.u64 %rd30, %rd2, 1024;\n@%p20 mbarrier.arrive.expect_tx.shared.b64 _, [mb], 1024;\n"
           "@%p20 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r50], [%rd30], 1024, [mb];\n"
           "mov.u64 %rd2, %rd30;\n";
  }
  std::string wait(const std::string& parity) {
    ++label_;
    return fmt::format("W{0}:\nmbarrier.try_wait.parity.shared.b64 %p10, [mb], {1};\n@!%p10 bra W{0};\n",
                       label_, parity);
  }
  /// Each thread takes 32 bytes of its own.
  static std::string read() {
    return "ld.shared.u32 %r2, [%r53];\nmad.lo.u32 %r1, %r1, 33, %r2;\nld.shared.u32 %r2, [%r53+16];\n"
           "mad.lo.u32 %r1, %r1, 33, %r2;\nbar.sync 0;\n";
  }
  static std::string use_b() {
    return "st.shared.u32 [%r54], %r1;\nbar.sync 0;\nld.shared.u32 %r2, [%r56];\nmad.lo.u32 %r1, %r1, 5, %r2;\n"
           "bar.sync 0;\n";
  }
  std::string flip(unsigned kind, bool in_loop) {
    const bool wrong = in_loop && wrong_ >= 3;
    if (wrong && wrong_ == 3) return "";
    const char* const guard = wrong ? "@%p30 " : "";
    switch (kind) {
      case 0:
        return fmt::format("{}xor.b32 %r40, %r40, 1;\n", guard);
      case 1:
        return fmt::format("xor.b32 %r43, %r40, 1;\n{}mov.b32 %r40, %r43;\n", guard);
      case 2:
        return fmt::format("add.u32 %r40, %r40, 1;\n{}and.b32 %r40, %r40, 1;\n", guard);
      default:
        return fmt::format("{}sub.s32 %r40, %r40, 1;\n{}and.b32 %r40, %r40, 1;\n", guard, guard);
    }
  }

  std::mt19937_64 random_;
  unsigned wrong_ = 0, label_ = 0;
};

struct Launched {
  std::vector<std::uint32_t> out;
  bool clean = false;
};

Launched run(const std::string& text, std::uint32_t n, sim::Schedule schedule) {
  sim::Machine machine(ptx::parse(text, "k.ptx"));
  std::vector<std::uint32_t> data(16 * 256);
  for (std::size_t k = 0; k < data.size(); ++k) data[k] = static_cast<std::uint32_t>(k * 2654435761U);
  Launched r;
  r.out.resize(kThreads);
  const sim::Address out = machine.upload(std::span<const std::uint32_t>(r.out), "out");
  sim::Arguments arguments;
  arguments.add(out).add(machine.upload(std::span<const std::uint32_t>(data), "data")).add(n);
  sim::LaunchOptions options;
  options.grid = {1};
  options.block = {kThreads};
  options.races = true;
  options.schedule = schedule;
  options.max_instructions = 2'000'000;
  const sim::Outcome outcome = machine.launch("k", arguments, options);
  machine.download(out, std::span(r.out));
  r.clean = outcome.completed && outcome.clean();
  return r;
}

TEST(Phases, RandomPipelinesComputeTheSame) {
  constexpr sim::Schedule kSchedules[] = {sim::Schedule::in_order, sim::Schedule::random,
                                          sim::Schedule::adversarial};
  unsigned rewritten = 0, compared = 0;
  for (std::uint64_t seed = 1; seed <= kKernels; ++seed) {
    const Pipeline p = Generator(seed).run();
    Options options;
    options.when = When::always;
    options.assemble = false;
    if (seed % 2 == 0) options.block = {kThreads, 1, 1};
    const Result result = optimize(p.text, options, "k.ptx");
    const KernelReport& k = result.report.kernels.at(0);
    ASSERT_NE(k.verdict, Verdict::failed) << "seed " << seed << ": " << k.reason << "\n" << p.text;
    if (k.verdict != Verdict::rewritten) continue;
    ++rewritten;
    for (const std::uint32_t n : {1U, 2U, 5U}) {
      bool clean = true;
      for (const sim::Schedule schedule : kSchedules) {
        const Launched before = run(p.text, n, schedule);
        clean = clean && before.clean;
        if (!clean) break;
        const Launched after = run(result.text, n, schedule);
        ASSERT_TRUE(after.clean) << "seed " << seed << ", n = " << n << "\n" << result.text;
        ASSERT_EQ(after.out, before.out) << "seed " << seed << ", n = " << n << "\n" << result.text;
      }
      compared += clean;
    }
  }
  fmt::print("{} kernels, {} rewritten, {} of their launches clean before\n", kKernels, rewritten, compared);
  EXPECT_GT(rewritten, kKernels / 10);
  EXPECT_GT(compared, kKernels / 10);
}

}  // namespace
}  // namespace warploom::reuse
