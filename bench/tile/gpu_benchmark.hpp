#pragma once

#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>
#include <exception>
#include <string>

#include "../json_records.hpp"
#include "warploom/core/cuda_check.cuh"
#include "warploom/core/error.hpp"

namespace warploom::tile {

/// What the benchmarks of nests on a GPU are asked: where the figures go, and which nest alone; "" for
/// neither.
struct Asked {
  std::string out, only;

  bool wants(const std::string& nest) const { return only.empty() || only == nest; }
};

/// @throws BadInput: there is no nest of the name that was asked for
template <class Jobs>
void require_wanted(const Asked& asked, const Jobs& jobs) {
  std::string names;
  for (const auto& job : jobs) {
    if (asked.wants(job.nest)) return;
    names += " " + job.nest;
  }
  throw BadInput("--only=" + asked.only + ": the nests are" + names);
}

inline Asked parse_asked(int count, char** words) {
  Asked asked;
  for (int k = 1; k < count; ++k) {
    if (!std::strncmp(words[k], "--benchmark_out=", 16))
      asked.out = words[k] + 16;
    else if (!std::strncmp(words[k], "--only=", 7))
      asked.only = words[k] + 7;
    else
      throw BadInput(std::string(words[k]) + ": options are --benchmark_out=FILE and --only=NEST");
  }
  return asked;
}

/// The figures' first list: the device.
inline void add_device(JsonRecords& records) {
  cudaDeviceProp device{};
  cuda_check(cudaGetDeviceProperties(&device, 0), "looking for a GPU");
  records.list("context");
  records.add(std::string("{\"device\": \"") + device.name + "\"}");
}

/// run(asked), and an error in a line that begins with the program's name.
template <class Run>
int answer(const char* program, int count, char** words, const Run& run) {
  try {
    run(parse_asked(count, words));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", program, error.what());
    return 1;
  }
}

}  // namespace warploom::tile
