#pragma once

/// What benchmarks that are no Google Benchmark write.

#include <cstdio>
#include <string>

namespace warploom {

/// Lists of records of JSON, printed as they come and kept for the file.
class JsonRecords {
 public:
  void list(const std::string& name) {
    text_ += (text_.empty() ? "{" : "],") + std::string("\n\"") + name + "\": [";
    first_ = true;
  }
  void add(const std::string& record) {
    std::printf("%s\n", record.c_str());
    std::fflush(stdout);
    text_ += std::string(first_ ? "\n" : ",\n") + record;
    first_ = false;
  }
  std::string text() const { return text_ + "]\n}\n"; }

 private:
  std::string text_;
  bool first_ = true;
};

inline std::string json_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

}  // namespace warploom
