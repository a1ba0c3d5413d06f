#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <vector>

namespace warploom {

/// An EDF or BDF file, field by field, for tests.
struct EdfBytes {
  struct Signal {
    std::string name;
    int samples = 1;  // in a record
    std::string unit = "uV", physical_min = "-100", physical_max = "100", digital_min = "-1000",
                digital_max = "1000";
  };

  std::string version = "0", kind, records, seconds = "1";
  std::vector<Signal> signals;
  std::string data;  // the records

  static std::string field(const std::string& text, std::size_t width) {
    std::string padded = text.substr(0, width);
    padded.resize(width, ' ');
    return padded;
  }
  /// Samples of two or three bytes.
  static std::string stored(const std::vector<int>& samples, int bytes = 2) {
    std::string out;
    for (const int sample : samples)
      for (int k = 0; k < bytes; ++k) out += static_cast<char>(sample >> (8 * k) & 0xff);
    return out;
  }

  std::string header() const {
    std::string out = field(version, 8) + field("patient", 80) + field("recording", 80) + "01.01.0100.00.00";
    out += field(std::to_string(256 * (signals.size() + 1)), 8) + field(kind, 44) + field(records, 8);
    out += field(seconds, 8) + field(std::to_string(signals.size()), 4);
    const auto each = [&](std::size_t width, const auto& text) {
      for (const Signal& signal : signals) out += field(text(signal), width);
    };
    each(16, [](const Signal& s) { return s.name; });
    each(80, [](const Signal&) { return std::string(); });
    each(8, [](const Signal& s) { return s.unit; });
    each(8, [](const Signal& s) { return s.physical_min; });
    each(8, [](const Signal& s) { return s.physical_max; });
    each(8, [](const Signal& s) { return s.digital_min; });
    each(8, [](const Signal& s) { return s.digital_max; });
    each(80, [](const Signal&) { return std::string(); });
    each(8, [](const Signal& s) { return std::to_string(s.samples); });
    each(32, [](const Signal&) { return std::string(); });
    return out;
  }
  std::string content() const { return header() + data; }
};

}  // namespace warploom
