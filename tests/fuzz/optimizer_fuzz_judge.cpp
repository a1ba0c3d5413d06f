#include "fuzz/optimizer_fuzz_judge.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <exception>
#include <random>

#include "fuzz/minimize.hpp"
#include "fuzz/optimizer_fuzz_run.hpp"
#include "reuse/formula_value.hpp"
#include "warploom/reuse/check.hpp"

namespace warploom::fuzz {

using oracle::RandomKernel;

std::string Way::text() const {
  std::string text = fmt::format("{}, {}", reuse::name(options.placement.method),
                                 options.insert_barriers ? "barriers inserted" : "existing barriers");
  if (options.block) text += fmt::format(", block {}x{}", (*options.block)[0], (*options.block)[1]);
  if (options.dynamic_pool) text += ", dynamic pool";
  if (options.strict) text += ", strict";
  return text;
}

std::vector<Way> ways(std::uint64_t seed, const RandomKernel& kernel) {
  std::mt19937_64 random(seed ^ 0x7761'7973);
  const auto chance = [&](std::uint32_t percent) { return random() % 100 < percent; };
  std::vector<Way> all;
  for (const auto method :
       {reuse::PlacementMethod::paper, reuse::PlacementMethod::greedy, reuse::PlacementMethod::optimal}) {
    Way way;
    way.options.when = reuse::When::always;
    way.options.placement.method = method;
    way.options.insert_barriers = chance(75);
    way.options.strict = chance(10);
    way.options.dynamic_pool = chance(8) && kernel.dynamic_shared == 0;
    if (chance(60)) way.options.block = {kernel.block[0], kernel.block[1], 1};
    way.options.assemble = false;
    all.push_back(std::move(way));
  }
  return all;
}

reuse::Result optimize_with_reuse(const std::string& ptx, const reuse::Options& options) {
  return reuse::optimize(ptx, options, "k.ptx");
}

namespace {

/// A message without the names and numbers in it.
std::string pattern(const std::string& message) {
  std::string text;
  bool quoted = false;
  for (const char c : message) {
    if (c == '\'') quoted = !quoted;
    if (!quoted && std::isdigit(static_cast<unsigned char>(c)) == 0) text += c;
  }
  return text;
}

class Judge {
 public:
  Judge(const RandomKernel& kernel, const Optimizer& optimizer) : kernel_(kernel), optimizer_(optimizer) {}

  Judgement run(const std::vector<Way>& ways) {
    try {
      original_ = run_three(kernel_.text, kernel_, {kernel_.dynamic_shared, 0}, true);
    } catch (const std::exception& e) {
      wrong("the original does not run", e.what());
      return std::move(judgement_);
    }
    judgement_.runs += original_.size();
    for (const Ran& ran : original_) {
      if (!ran.kind.empty()) return outside(ran.kind, ran.detail);
      if (ran.out != original_.front().out) return outside("another result under another schedule", "");
    }
    for (std::size_t w = 0; w < ways.size() && judgement_.verdict == Verdict::right; ++w) {
      try {
        judge(ways[w]);
      } catch (const std::exception& e) {
        wrong("an exception", e.what());
      }
      if (judgement_.verdict == Verdict::wrong) judgement_.way = w;
    }
    return std::move(judgement_);
  }

 private:
  Judgement outside(const std::string& kind, const std::string& detail) {
    judgement_.verdict = Verdict::outside_contract;
    judgement_.kind = kind;
    judgement_.detail = detail;
    return std::move(judgement_);
  }
  void wrong(const std::string& kind, const std::string& detail) {
    judgement_.verdict = Verdict::wrong;
    judgement_.kind = kind;
    judgement_.detail = detail;
  }

  void judge(const Way& way) {
    const reuse::Result result = optimizer_(kernel_.text, way.options);
    judgement_.rewritten = result.text;
    std::array<std::uint32_t, 2> dynamic_shared{kernel_.dynamic_shared, 0};
    bool rewritten = false;
    const std::array<const char*, 2> names{"k", "k2"};
    for (std::size_t which = 0; which < (kernel_.has(oracle::Feature::two_kernels) ? 2 : 1); ++which) {
      const auto& reports = result.report.kernels;
      const auto k = std::find_if(reports.begin(), reports.end(),
                                  [&](const auto& r) { return r.symbol == names[which]; });
      if (k == reports.end()) return wrong("no report", "the report does not have the kernel");
      if (k->verdict == reuse::Verdict::failed)
        return wrong("refused inside: " + pattern(k->reason), k->reason);
      if (k->verdict != reuse::Verdict::rewritten) continue;
      rewritten = true;
      for (const reuse::BarrierReport& b : k->barriers) judgement_.barrier_inserted |= b.inserted;
      if (k->bytes_after > k->bytes_before && !way.options.dynamic_pool)
        return wrong("more bytes", fmt::format("{} bytes, and {} before", k->bytes_after, k->bytes_before));
      dynamic_shared[which] = bytes_for(*k, dynamic_shared[which]);
    }
    if (!rewritten) {
      if (result.text != kernel_.text) wrong("changed, not rewritten", result.report.kernels[0].reason);
      return;
    }
    judgement_.any_rewritten = true;
    if (std::find(ran_.begin(), ran_.end(), result.text) == ran_.end()) {
      ran_.push_back(result.text);
      run(result.text, dynamic_shared);
      if (judgement_.verdict == Verdict::wrong) return;
    }
    const Checked asked{result.text, way.options.strict, way.options.block.has_value()};
    if (std::find(checked_.begin(), checked_.end(), asked) != checked_.end()) return;
    checked_.push_back(asked);
    reuse::CheckOptions options{way.options.strict, {}};
    if (way.options.block) options.block.assign(way.options.block->begin(), way.options.block->end());
    const reuse::CheckResult check = reuse::check(kernel_.text, result.text, {}, options);
    if (!check.ok)
      wrong("the check refuses: " + (check.problems.empty() ? "" : pattern(check.problems.front())),
            fmt::format("{}", fmt::join(check.problems, "\n")));
  }

  /// What the launch passes, as the report has it.
  std::uint32_t bytes_for(const reuse::KernelReport& k, std::uint32_t before) const {
    if (k.dynamic_pool) return static_cast<std::uint32_t>(k.pool_bytes);
    if (!k.dynamic_formula.after.empty())
      return reuse::bytes_after(
          k.dynamic_formula, before,
          {{"block_x", kernel_.block[0]}, {"block_y", kernel_.block[1]}, {"param_2", kernel_.n}});
    return k.dynamic_before > 0 ? static_cast<std::uint32_t>(k.dynamic_after) : before;
  }

  void run(const std::string& text, std::array<std::uint32_t, 2> dynamic_shared) {
    const std::vector<Ran> rewritten = run_three(text, kernel_, dynamic_shared, false);
    judgement_.runs += rewritten.size();
    for (std::size_t s = 0; s < rewritten.size(); ++s) {
      if (!rewritten[s].kind.empty()) return wrong(rewritten[s].kind, rewritten[s].detail);
      if (rewritten[s].out != original_[s].out)
        return wrong("another result",
                     fmt::format("schedule {}, {}", s, difference(rewritten[s], original_[s])));
    }
  }

  std::string difference(const Ran& after, const Ran& before) const {
    const auto [a, b] = std::mismatch(after.out.begin(), after.out.end(), before.out.begin());
    const auto at = static_cast<std::size_t>(a - after.out.begin());
    const auto words = std::size_t{RandomKernel::kOutWords};
    const auto block = at / words / kernel_.threads();
    return fmt::format("word {} of thread {} of block {} of '{}' is 0x{:08x}, and was 0x{:08x}", at % words,
                       at / words % kernel_.threads(), block % kernel_.blocks,
                       block < kernel_.blocks ? "k" : "k2", *a, *b);
  }

  const RandomKernel& kernel_;
  const Optimizer& optimizer_;
  std::vector<Ran> original_;
  std::vector<std::string> ran_;  ///< results of the optimiser
  struct Checked {
    std::string text;
    bool strict, block;
    bool operator==(const Checked&) const = default;
  };
  std::vector<Checked> checked_;
  Judgement judgement_;
};

}  // namespace

Judgement judge(const RandomKernel& kernel, const std::vector<Way>& ways, const Optimizer& optimizer) {
  return Judge(kernel, optimizer).run(ways);
}

RandomKernel minimize(RandomKernel kernel, const Way& way, const std::string& kind,
                      const std::function<Judgement(const RandomKernel&, const Way&)>& judge) {
  const auto fails = [&](const RandomKernel& candidate) {
    for (const char* header : {".version 8.0\n", ".target sm_"})  // what they mean is not the matter
      if (candidate.text.find(header) == std::string::npos) return false;
    const Judgement j = judge(candidate, way);
    return j.verdict == Verdict::wrong && j.kind == kind;
  };
  for (std::uint32_t b = 0; b < kernel.blocks; ++b) {  // one block is enough, with its own `n`
    RandomKernel one = kernel;
    one.blocks = 1;
    one.n = kernel.n + b;
    if (!fails(one)) continue;
    kernel = std::move(one);
    break;
  }
  kernel.text = minimize_text(kernel.text, [&](const std::string& text) {
    RandomKernel candidate = kernel;
    candidate.text = text;
    return fails(candidate);
  });
  return kernel;
}

std::string case_text(std::uint64_t seed, const RandomKernel& kernel, const Way& way,
                      const Judgement& judgement) {
  std::string text = fmt::format(
      "// seed {}, generator {}: {}\n// optimised: {}\n// block {}x{}, {} blocks, n = {}, {} bytes of "
      "dynamic shared memory\n",
      seed, oracle::kGeneratorVersion, judgement.kind, way.text(), kernel.block[0], kernel.block[1],
      kernel.blocks, kernel.n, kernel.dynamic_shared);
  std::string commented = "// " + judgement.detail;
  for (std::size_t at = 0; (at = commented.find('\n', at)) != std::string::npos; at += 4)
    commented.replace(at, 1, "\n// ");
  text += commented + "\n" + kernel.text;
  if (judgement.rewritten.empty()) return text;
  return text + "\n// ==== rewritten:\n" + judgement.rewritten;
}

}  // namespace warploom::fuzz
