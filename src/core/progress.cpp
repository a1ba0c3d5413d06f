#include "warploom/core/progress.hpp"

#include <fmt/format.h>

#include <cmath>
#include <mutex>
#include <utility>

#include "warploom/core/error.hpp"

namespace warploom {
namespace {

std::atomic<bool> interrupt = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler stores into it");

std::mutex sink_mutex;
ProgressSink current_sink;  // guarded by sink_mutex

constexpr std::int64_t kShowEvery = 100'000'000;  // [ns]

std::string clock_text(double seconds) {
  const auto whole = static_cast<std::uint64_t>(std::llround(seconds));
  const std::uint64_t hours = whole / 3600, minutes = whole / 60 % 60;
  if (hours > 0) return fmt::format("{}:{:02}:{:02}", hours, minutes, whole % 60);
  return fmt::format("{}:{:02}", minutes, whole % 60);
}

}  // namespace

void request_interrupt() noexcept { interrupt = true; }
void clear_interrupt() noexcept { interrupt = false; }
bool interrupt_requested() noexcept { return interrupt; }
void check_interrupt() {
  if (interrupt) throw Interrupted();
}

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

void set_progress_sink(ProgressSink sink) {
  const std::scoped_lock lock(sink_mutex);
  current_sink = std::move(sink);
}

Progress::Progress(std::string what, std::uint64_t total, std::string unit)
    : what_(std::move(what)),
      unit_(std::move(unit)),
      total_(total),
      start_(Clock::now()),
      next_show_(kShowEvery) {}

Progress::~Progress() { show(/*finished=*/true); }

void Progress::advance(std::uint64_t n) {
  done_ += n;
  check_interrupt();
  const std::int64_t now = std::chrono::nanoseconds(Clock::now() - start_).count();
  std::int64_t due = next_show_.load(std::memory_order_relaxed);
  // Of the threads that find it due, the one that moves the time on shows it.
  if (now >= due && next_show_.compare_exchange_strong(due, now + kShowEvery)) show(/*finished=*/false);
}

void Progress::show(bool finished) {
  const std::scoped_lock lock(sink_mutex);
  if (finished && !shown_) return;  // too short to have been seen
  shown_ = true;
  if (!current_sink) return;
  const double elapsed = std::chrono::duration<double>(Clock::now() - start_).count();
  current_sink({what_, unit_, done_, total_, elapsed, finished});
}

}  // namespace warploom
