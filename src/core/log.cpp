#include "warploom/core/log.hpp"

#include <fmt/format.h>

#include <array>
#include <mutex>

#include "core/doors.hpp"
#include "core/forks.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/run.hpp"

namespace warploom {
namespace {

PerProcess<std::mutex> one_log_at_a_time;
constexpr std::array<std::string_view, 5> kNames = {"off", "error", "warning", "info", "debug"};

}  // namespace

LogLevel parse_log_level(std::string_view text) {
  for (std::size_t k = 0; k < kNames.size(); ++k)
    if (text == kNames[k]) return static_cast<LogLevel>(k);
  throw BadInput(fmt::format("log level '{}' is not known; use {}", text, fmt::join(kNames, ", ")));
}

std::string_view name(LogLevel level) { return at_enumerator(kNames, level, "the level of messages"); }

bool log_enabled(LogLevel level) {
  const Run& run = current_run();
  return run.log && level != LogLevel::off && level <= run.threshold;
}

void log(LogLevel level, std::string_view message) {
  if (!log_enabled(level)) return;
  const std::scoped_lock lock(one_log_at_a_time.get());
  current_run().log(level, message);
}

}  // namespace warploom
