#include "warploom/search/index.hpp"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cmath>
#include <utility>

#include "core/built_with_cuda.hpp"
#include "core/doors.hpp"
#include "core/one_caller.hpp"
#include "core/several_devices.hpp"
#include "search/backend.hpp"
#include "search/shared_backend.hpp"
#include "search/windows.hpp"
#include "warploom/core/error.hpp"

namespace warploom::search {
namespace {

constexpr const char* kName = "search::Index";

std::unique_ptr<Backend> make_backend(Device device, const Signal& signal, const IndexOptions& options) {
#ifdef WARPLOOM_HAVE_CUDA
  if (device.is_gpu()) return make_cuda_backend(signal, options);
#endif
  (void)device;
  return make_cpu_backend(signal, options);
}

/// Of calls that several GPUs share: [cells], what one does in a tenth of a millisecond and less. On
/// processors, which gain nothing by it, all are shared: so the tests are of the same paths.
constexpr double kLeastShared = 2e8;

std::unique_ptr<Backend> make_backend(std::span<const Device> devices, const Signal& signal,
                                      const IndexOptions& options) {
  if (devices.size() == 1) return make_backend(devices[0], signal, options);
  return make_shared_backend(devices, signal, options, make_backend, devices[0].is_gpu() ? kLeastShared : 0);
}

void check_signal(const Signal& signal) {
  if (signal.empty()) throw BadInput("a recording without channels: there is nothing to search");
  for (std::size_t c = 1; c < signal.size(); ++c)
    if (signal[c].size() != signal[0].size())
      throw BadInput(
          fmt::format("channel {} has {} samples and channel 0 {}: resample them to one rate and length", c,
                      signal[c].size(), signal[0].size()));
}

void check_pattern(const Pattern& pattern, const std::string& what) {
  if (pattern.samples.size() < 2)
    throw BadInput(fmt::format("{} has {} samples: it needs at least 2", what, pattern.samples.size()));
  for (std::size_t i = 0; i < pattern.samples.size(); ++i)
    if (!std::isfinite(pattern.samples[i]))
      throw BadInput(
          fmt::format("sample {} of {} is {}: fill or cut what is missing", i, what, pattern.samples[i]));
  if (pattern.radius < 0)
    throw BadInput(fmt::format("the band's radius of {} is {}: it must be at least 0", what, pattern.radius));
  constexpr std::int64_t kFar = std::int64_t{1} << 60;
  if (pattern.lead < -kFar || pattern.lead > kFar)
    throw BadInput(fmt::format("the lead of {} is {} samples: it must be within 2^60", what, pattern.lead));
}

void check_patterns(std::span<const Pattern> patterns) {
  for (std::size_t i = 0; i < patterns.size(); ++i) check_pattern(patterns[i], fmt::format("pattern {}", i));
}

void check_channel(const Signal& signal, std::int32_t channel, const std::string& what) {
  if (channel < 0 || channel >= std::ssize(signal))
    throw BadInput(
        fmt::format("{} names channel {}, but the recording has {}", what, channel, signal.size()));
}

void check_pattern(const Signal& signal, const JointPattern& pattern, const std::string& what) {
  if (pattern.samples.empty()) throw BadInput(what + " has no channels: give at least one");
  if (pattern.samples.size() != pattern.channels.size())
    throw BadInput(fmt::format("{} has {} channels and names {} of the recording: name one for each", what,
                               pattern.samples.size(), pattern.channels.size()));
  check(pattern.warping);
  for (std::size_t c = 0; c < pattern.samples.size(); ++c) {
    if (std::ssize(pattern.samples[c]) != pattern.length())
      throw BadInput(
          fmt::format("channel {} of {} has {} samples and channel 0 has {}: all must be equally long", c,
                      what, pattern.samples[c].size(), pattern.length()));
    check_pattern({.samples = pattern.samples[c], .radius = pattern.radius},
                  fmt::format("channel {} of {}", c, what));
    check_channel(signal, pattern.channels[c], what);
  }
}

void check_patterns(const Signal& signal, std::span<const JointPattern> patterns) {
  for (std::size_t i = 0; i < patterns.size(); ++i)
    check_pattern(signal, patterns[i], fmt::format("pattern {}", i));
}

void check_number(std::int32_t pattern, std::size_t patterns, const std::string& what) {
  if (pattern < 0 || pattern >= static_cast<std::int64_t>(patterns))
    throw BadInput(fmt::format("{} names pattern {}, but there are {}", what, pattern, patterns));
}

/// What tasks of one channel and of several have. @param patterns  that there are
template <class SomeTask>
void check_task(const SomeTask& task, std::size_t patterns, const std::string& what) {
  if (task.first_pattern < 0 || task.patterns < 1 ||
      std::int64_t{task.first_pattern} + task.patterns > static_cast<std::int64_t>(patterns))
    throw BadInput(fmt::format("{} names {} patterns from number {}, but there are {}", what, task.patterns,
                               task.first_pattern, patterns));
  if (task.limit < 1)
    throw BadInput(fmt::format("{} asks for {} candidates: ask for at least 1", what, task.limit));
  if (task.exclusion < 0)
    throw BadInput(
        fmt::format("the exclusion zone of {} is {} samples: it must be at least 0", what, task.exclusion));
  if (!(task.max_distance >= 0))
    throw BadInput(fmt::format("the largest distance of {} is {}: it must be a number of at least 0", what,
                               task.max_distance));
}

}  // namespace

struct Index::State {
  Signal signal;
  IndexOptions options;
  std::unique_ptr<Backend> backend;
  OneCaller caller = {};

  DevicesScope enter() const { return {options.run, kBuiltWithCuda}; }

  /// What `search` finds on the back end, timed.
  template <class Search>
  std::vector<std::vector<Candidate>> best(const Search& search) {
    const OneCaller::Call call(caller, kName);
    const DevicesScope scope = enter();
    const auto start = std::chrono::steady_clock::now();
    auto found = search(*backend);
    backend->effort.seconds +=
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return found;
  }

  void check_windows(std::int64_t length, std::int64_t first, std::int64_t count) const {
    const auto samples = static_cast<std::int64_t>(signal[0].size());
    if (first < 0 || count < 0 || length > samples || first > samples - length + 1 - count)
      throw BadInput(
          fmt::format("{} windows of {} samples, the first at {}, leave the recording, which has {}", count,
                      length, first, samples));
  }
};

Index::Index(Signal signal, const IndexOptions& options) {
  check_signal(signal);
  check(options.normalization);
  at_enumerator(std::array{"never", "automatic", "always"}, options.prune, "the choice of pruning");
  state_.reset(new State{std::move(signal), options, nullptr});
  const DevicesScope scope = state_->enter();
  state_->options.run.devices = scope.devices();
  state_->backend = make_backend(scope.devices(), state_->signal, state_->options);
}

Index::Index(Index&&) noexcept = default;
Index& Index::operator=(Index&&) noexcept = default;
Index::~Index() = default;

Index::State& Index::state() const { return held(state_, "a search index"); }
const Signal& Index::signal() const { return state().signal; }
std::int64_t Index::samples() const { return std::ssize(state().signal[0]); }
Device Index::device() const { return state().options.run.devices.front(); }
const Run& Index::run() const { return state().options.run; }
Normalization Index::normalization() const { return state().options.normalization; }
const WindowMoments* Index::keep_moments(std::int32_t channel, std::int64_t length) {
  return state().backend->moments(channel, length);
}
const Effort& Index::effort() const { return state().backend->effort; }

std::vector<float> Index::profile(const Pattern& pattern, std::int32_t channel, std::int64_t first,
                                  std::int64_t count) {
  check_pattern(pattern, "the pattern");
  check_channel(signal(), channel, "a profile");
  state().check_windows(std::ssize(pattern.samples), first, count);
  const OneCaller::Call call(state().caller, kName);
  const DevicesScope scope = state().enter();
  return count == 0 ? std::vector<float>{} : state().backend->profile(pattern, channel, first, count);
}

std::vector<float> Index::distances(const Pattern& pattern, std::int32_t channel,
                                    std::span<const std::int64_t> offsets) {
  const Windows windows{.pattern = 0, .channel = channel, .offsets = offsets};
  return std::move(distances({&pattern, 1}, {&windows, 1})[0]);
}

std::vector<std::vector<float>> Index::distances(std::span<const Pattern> patterns,
                                                 std::span<const Windows> windows) {
  State& state = this->state();
  check_patterns(patterns);
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const auto& [pattern, channel, offsets] = windows[i];
    const std::string what = fmt::format("list {} of windows", i);
    check_channel(signal(), channel, what);
    check_number(pattern, patterns.size(), what);
    const std::int64_t length = std::ssize(patterns[pattern].samples);
    for (const std::int64_t offset : offsets) state.check_windows(length, offset, 1);
  }
  if (windows.empty()) return {};
  const OneCaller::Call call(state.caller, kName);
  const DevicesScope scope = state.enter();
  return state.backend->distances(patterns, windows);
}

std::vector<std::vector<Candidate>> Index::best(std::span<const Pattern> patterns,
                                                std::span<const Task> tasks) {
  State& state = this->state();
  check_patterns(patterns);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const std::string what = fmt::format("task {}", i);
    check_channel(state.signal, tasks[i].channel, what);
    check_task(tasks[i], patterns.size(), what);
  }
  return state.best([&](Backend& backend) { return backend.best(patterns, tasks, Choice::chosen); });
}

std::vector<float> Index::profile(const JointPattern& pattern, std::int64_t first, std::int64_t count) {
  check_pattern(signal(), pattern, "the pattern");
  state().check_windows(pattern.length(), first, count);
  const OneCaller::Call call(state().caller, kName);
  const DevicesScope scope = state().enter();
  return count == 0 ? std::vector<float>{} : state().backend->profile(pattern, first, count);
}

std::vector<std::vector<float>> Index::distances(std::span<const JointPattern> patterns,
                                                 std::span<const JointWindows> windows) {
  State& state = this->state();
  check_patterns(state.signal, patterns);
  for (std::size_t i = 0; i < windows.size(); ++i) {
    check_number(windows[i].pattern, patterns.size(), fmt::format("list {} of windows", i));
    const std::int64_t length = patterns[windows[i].pattern].length();
    for (const std::int64_t offset : windows[i].offsets) state.check_windows(length, offset, 1);
  }
  if (windows.empty()) return {};
  const OneCaller::Call call(state.caller, kName);
  const DevicesScope scope = state.enter();
  return state.backend->distances(patterns, windows);
}

std::vector<std::vector<Candidate>> Index::best(std::span<const JointPattern> patterns,
                                                std::span<const JointTask> tasks) {
  State& state = this->state();
  check_patterns(state.signal, patterns);
  for (std::size_t i = 0; i < tasks.size(); ++i)
    check_task(tasks[i], patterns.size(), fmt::format("task {}", i));
  return state.best([&](Backend& backend) { return backend.best(patterns, tasks, Choice::chosen); });
}

}  // namespace warploom::search
