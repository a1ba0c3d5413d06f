#include "measured_cases.hpp"

#include <cstdio>
#include <filesystem>
#include <string>

#include "measured_data.hpp"
#include "warploom/io/recording.hpp"

namespace warploom::search {

Case cut(const std::vector<float>& samples, std::size_t at, std::size_t length) {
  const auto begin = samples.begin() + static_cast<std::ptrdiff_t>(at);
  Case result{samples, {begin, begin + static_cast<std::ptrdiff_t>(length)}};
  const auto from = result.signal.begin() + static_cast<std::ptrdiff_t>(at - length);
  result.signal.erase(from, from + static_cast<std::ptrdiff_t>(3 * length));
  return result;
}

namespace {

std::vector<float> measured(const std::string& folder, const std::vector<std::string>& files,
                            const std::string& name) {
  std::vector<float> samples;
  for (const std::string& file : files) {
    const auto path = measured_data(WARPLOOM_BENCH_DATA, folder) / file;
    if (!std::filesystem::exists(path)) {
      std::fprintf(stderr, "left out: %s is not there\n", path.c_str());
      return {};
    }
    io::RecordingOptions options;
    options.select = {name};
    const io::Recording recording = io::read_recording(path, options);
    samples.insert(samples.end(), recording.channels[0].samples.begin(), recording.channels[0].samples.end());
  }
  return samples;
}

}  // namespace

std::vector<float> measured_ecg() { return measured("ecg", {"100.hea"}, "MLII"); }
std::vector<float> measured_gait() {
  return measured("activity", {"S01R02.txt.gz", "S03R03.txt.gz", "S06R02.txt.gz"}, "A0");
}

}  // namespace warploom::search
