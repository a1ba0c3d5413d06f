#include "warploom/core/log.hpp"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <mutex>
#include <utility>

#include "warploom/core/error.hpp"

namespace warploom {
namespace {

constexpr std::array<std::string_view, 5> kNames = {"off", "error", "warning", "info", "debug"};

std::mutex sink_mutex;
LogSink current_sink;                             // guarded by sink_mutex
std::atomic<LogLevel> threshold = LogLevel::off;  // read without the mutex, so that silence is cheap

}  // namespace

LogLevel parse_log_level(std::string_view text) {
  for (std::size_t k = 0; k < kNames.size(); ++k)
    if (text == kNames[k]) return static_cast<LogLevel>(k);
  throw BadInput(fmt::format("log level '{}' is not known; use {}", text, fmt::join(kNames, ", ")));
}

std::string_view name(LogLevel level) { return kNames.at(static_cast<std::size_t>(level)); }

void set_log_sink(LogLevel new_threshold, LogSink sink) {
  const std::scoped_lock lock(sink_mutex);
  current_sink = std::move(sink);
  threshold = current_sink ? new_threshold : LogLevel::off;
}

bool log_enabled(LogLevel level) { return level != LogLevel::off && level <= threshold.load(); }

void log(LogLevel level, std::string_view message) {
  if (!log_enabled(level)) return;
  const std::scoped_lock lock(sink_mutex);
  if (current_sink) current_sink(level, message);
}

}  // namespace warploom
