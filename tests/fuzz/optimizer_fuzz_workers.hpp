#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "fuzz/optimizer_fuzz_judge.hpp"

namespace warploom::fuzz {

struct Tally {
  std::uint64_t kernels = 0, outside_contract = 0, rewritten = 0, barrier_inserted = 0, wrong = 0, runs = 0;
  std::array<std::uint64_t, static_cast<std::size_t>(oracle::Feature::count)> features{};
  void add(const oracle::RandomKernel& kernel, const Judgement& judgement);
  Tally& operator+=(const Tally& other);
};

struct Failure {
  std::uint64_t seed = 0;
  std::string kind;
};

struct Job {
  std::uint64_t from = 1, count = 0;  ///< seeds; 0: until the time is over
  double seconds = 0;                 ///< 0: until all seeds are done
  unsigned jobs = 1;
  bool progress = false;                            ///< on standard error
  std::function<void(const Failure&)> failed = {};  ///< called in the parent as soon as it is known
};

struct Findings {
  std::uint64_t to = 0;  ///< one past the last seed: all of [from, to) were judged
  double seconds = 0;
  Tally tally;
  std::vector<Failure> failures;
};

/// Judges the kernels of a range of seeds in as many processes as asked for. One that crashes, or that takes
/// over 30 s for a kernel, has found a failure; another takes its place. SIGINT ends the run early.
Findings judge_all(const Job& job, const Optimizer& optimizer = optimize_with_reuse);

/// The same judgement, made in a process of its own: a crash is one of kind "a crash, signal 11".
Judgement judge_apart(const oracle::RandomKernel& kernel, const std::vector<Way>& ways,
                      const Optimizer& optimizer = optimize_with_reuse);

}  // namespace warploom::fuzz
