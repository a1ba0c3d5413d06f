#include "warploom/core/progress.hpp"

#include <fmt/format.h>

#include <cmath>
#include <mutex>
#include <utility>

#include "core/current_scope.hpp"
#include "core/forks.hpp"
#include "warploom/core/error.hpp"

namespace warploom {
namespace {

PerProcess<std::mutex> one_shown_at_a_time;
constexpr std::int64_t kShowEvery = 100'000'000;  // [ns]

std::string clock_text(double seconds) {
  const auto whole = static_cast<std::uint64_t>(std::llround(seconds));
  const std::uint64_t hours = whole / 3600, minutes = whole / 60 % 60;
  if (hours > 0) return fmt::format("{}:{:02}:{:02}", hours, minutes, whole % 60);
  return fmt::format("{}:{:02}", minutes, whole % 60);
}

void check(const RunScope* scope) {
  if (scope != nullptr && scope->stop_requested()) throw Interrupted();
}

}  // namespace

void check_interrupt() { check(current_scope()); }

std::string progress_text(const ProgressState& state) {
  std::string text = fmt::format("{} {}", state.what, state.done);
  if (state.total > 0) text += fmt::format("/{}", state.total);
  text += " " + state.unit;
  const auto done = static_cast<double>(state.done), total = static_cast<double>(state.total);
  if (state.total > 0) text += fmt::format(" ({:.0f} %)", 100 * done / total);
  if (state.done == 0 || state.elapsed <= 0) return text;
  const double rate = done / state.elapsed;  // [units/s]
  text += fmt::format(", {:.3g} {}/s", rate, state.unit);
  if (state.total > state.done) text += fmt::format(", {} left", clock_text((total - done) / rate));
  return text;
}

Progress::Progress(std::string what, std::uint64_t total, std::string unit)
    : what_(std::move(what)),
      unit_(std::move(unit)),
      total_(total),
      scope_(current_scope()),
      start_(Clock::now()),
      next_show_(kShowEvery) {}

Progress::~Progress() { show(/*finished=*/true); }

void Progress::advance(std::uint64_t n) {
  done_ += n;
  check(scope_);
  const std::int64_t now = std::chrono::nanoseconds(Clock::now() - start_).count();
  std::int64_t due = next_show_.load(std::memory_order_relaxed);
  // Of the threads that find it due, the one that moves the time on shows it.
  if (now >= due && next_show_.compare_exchange_strong(due, now + kShowEvery)) show(/*finished=*/false);
}

void Progress::show(bool finished) {
  const std::scoped_lock lock(one_shown_at_a_time.get());
  if (finished && !shown_) return;  // too short to have been seen
  shown_ = true;
  if (scope_ == nullptr || !scope_->run().progress) return;
  const double elapsed = std::chrono::duration<double>(Clock::now() - start_).count();
  scope_->run().progress({what_, unit_, done_, total_, elapsed, finished});
}

}  // namespace warploom
