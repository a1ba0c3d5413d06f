#pragma once

#include <functional>
#include <string_view>

namespace warploom {

enum class LogLevel { off, error, warning, info, debug };

/// "off", "error", "warning", "info", "debug". @throws BadInput naming them
LogLevel parse_log_level(std::string_view text);
std::string_view name(LogLevel level);

/// Receives every message at its threshold or more severe. Called from any thread, one call at a time in the
/// whole process. The library itself never prints: see Run::log.
using LogSink = std::function<void(LogLevel, std::string_view message)>;

/// True if a message at this level would reach the current Run's sink: ask before building an expensive one.
bool log_enabled(LogLevel level);
void log(LogLevel level, std::string_view message);

}  // namespace warploom
