// Question: how many k-mers a second does count_kmers() count from files in memory, on a GPU and on the CPU,
// and what does it cost that a tenth of the reads is poly-A? READS.fastq POLY.fastq THREADS [cuda | cpu]; a
// line of JSON a run, the middle of three; where a GPU's time went as the last one said it.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "warploom/core/device.hpp"
#include "warploom/core/log.hpp"
#include "warploom/count/count.hpp"

int main(int count, char** arguments) {
  using namespace warploom;
  if (count < 4)
    return fmt::print(stderr, "gpu_bench_count READS.fastq POLY.fastq THREADS [cuda | cpu]\n"), 2;
  const std::string_view only = count > 4 ? arguments[4] : "";
  std::vector<Device> devices;
  if (only != "cpu") devices.push_back(Device::cuda);
  if (only != "cuda") devices.push_back(Device::cpu);
  for (const Device device : devices)
    for (const int k : {21, 31})
      for (const char* file : {arguments[1], arguments[2]}) {
        std::vector<double> seconds;
        table::Counts counts;
        std::string timeline;
        for (int round = 0; round < (device == Device::cpu ? 2 : 4); ++round) {
          io::SequenceStream sequences({file});
          table::KmerOptions options;
          options.table.run.devices = {device};
          options.table.run.threads = static_cast<unsigned>(std::atoi(arguments[3]));
          options.table.run.threshold = LogLevel::info;
          options.table.run.log = [&](LogLevel, std::string_view message) { timeline = message; };
          options.k = k;
          options.canonical = true;
          options.top = 1;
          options.histogram = 10001;
          const auto begin = std::chrono::steady_clock::now();
          counts = table::count_kmers(sequences, options);
          if (round > 0)  // the first starts the driver
            seconds.push_back(
                std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
        }
        std::ranges::sort(seconds);
        const double middle = seconds[seconds.size() / 2];
        fmt::print(
            R"({{"device": "{}", "reads": "{}", "k": {}, "total": {}, "different": {}, "seconds": {:.3f}, "per_second": {:.3g}, "timeline": "{}"}})"
            "\n",
            name(device), file, k, counts.total, counts.statistics.pairs, middle,
            static_cast<double>(counts.total) / middle, timeline);
        std::fflush(stdout);
      }
}
