// gpu_bench_dp_peers: what do stores into another GPU's memory cost? The ceilings of what GPUs share.
//
// Questions, a list of records each in the JSON:
//   pairs   which GPUs reach each other
//   copy    bytes a second by copy engines, one way and both ways at once
//   store   the same by kernels that store tiles of 8 KiB, each with a flag behind it, as `dp` does
//   flag    a word there and back: microseconds, alone and behind a tile
//
// Timed: host clock around work that is long beside a launch; the median of --rounds. Needs two GPUs that
// reach each other: without, it says so and ends with 0.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "../json_records.hpp"
#include "core/cuda/owners.hpp"
#include "core/cuda/peers.hpp"
#include "core/cuda/system_atomics.cuh"
#include "core/several_devices.hpp"

namespace warploom {
namespace {

constexpr int kThreads = 128, kTileVectors = 8192 / sizeof(uint4);

/// Tile after tile of `to`, each with a flag behind it.
__global__ void store_tiles(uint4* to, unsigned* flags, int tiles) {
  for (int tile = static_cast<int>(blockIdx.x); tile < tiles; tile += static_cast<int>(gridDim.x)) {
    uint4* const begin = to + static_cast<std::int64_t>(tile) * kTileVectors;
    for (int v = static_cast<int>(threadIdx.x); v < kTileVectors; v += kThreads)
      begin[v] = make_uint4(tile, v, tile, v);
    __syncthreads();
    if (threadIdx.x == 0) store_release_system(flags + tile, 1);
  }
}

/// Says `n` and waits for the answer, for n = 1, 2, ...: the first of two such blocks, on two GPUs. The
/// second answers. @param to  in the other's memory, as is `tile`; null: none is sent
__global__ void ping(unsigned* to, const unsigned* own, uint4* tile, int times, bool first) {
  for (unsigned n = 1; n <= static_cast<unsigned>(times); ++n) {
    if (!first && threadIdx.x == 0)
      while (load_acquire_system(own) < n) {
      }
    __syncthreads();
    if (tile != nullptr)
      for (int v = static_cast<int>(threadIdx.x); v < kTileVectors; v += kThreads)
        tile[v] = make_uint4(n, n, n, n);
    __syncthreads();
    if (threadIdx.x == 0) {
      store_release_system(to, n);
      if (first)
        while (load_acquire_system(own) < n) {
        }
    }
    __syncthreads();
  }
}

using Clock = std::chrono::steady_clock;

double median(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  return samples[samples.size() / 2];
}

/// Seconds of work(k) on each of the devices at once, which ends with waiting for them.
double seconds(std::span<const Device> devices, int rounds, const std::function<void(std::size_t)>& work) {
  std::vector<double> all;
  for (int round = 0; round <= rounds; ++round) {
    const Clock::time_point begin = Clock::now();
    on_devices(devices, [&](std::size_t k) {
      work(k);
      cuda_check(cudaGetLastError(), "launch");
      cuda_check(cudaDeviceSynchronize(), "work");
    });
    all.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
  }
  all.erase(all.begin());  // the first one loads kernels
  return median(all);
}

std::string field(const std::string& name, double value) {
  return ", \"" + name + "\": " + json_number(value);
}

int run(int rounds, const std::string& json) {
  JsonRecords records;
  std::vector<Device> devices = parse_devices("cuda:all");
  records.list("pairs");
  for (const Device from : devices)
    for (const Device to : devices) {
      if (from == to) continue;
      int can = 0, rank = 0, atomics = 0;
      cuda_check(cudaDeviceCanAccessPeer(&can, from.ordinal, to.ordinal), "cudaDeviceCanAccessPeer");
      cuda_check(cudaDeviceGetP2PAttribute(&rank, cudaDevP2PAttrPerformanceRank, from.ordinal, to.ordinal),
                 "rank");
      cuda_check(
          cudaDeviceGetP2PAttribute(&atomics, cudaDevP2PAttrNativeAtomicSupported, from.ordinal, to.ordinal),
          "atomics");
      records.add("{\"from\": " + std::to_string(from.ordinal) + ", \"to\": " + std::to_string(to.ordinal) +
                  ", \"reaches\": " + std::to_string(can) + ", \"rank\": " + std::to_string(rank) +
                  ", \"native_atomics\": " + std::to_string(atomics) + "}");
    }
  if (devices.size() < 2) {
    std::printf("one GPU: nothing to measure\n");
    return 0;
  }
  devices.resize(2);
  enable_peers(devices);

  constexpr int kTiles = 1 << 17;  // 1 GiB
  constexpr std::size_t kVectors = std::size_t{kTiles} * kTileVectors;
  constexpr double kBytes = double(kVectors) * sizeof(uint4);
  std::vector<DeviceArray<uint4>> from(2), memory(2);
  std::vector<DeviceArray<unsigned>> flags(2);
  std::vector<CudaStream> streams(2);  // the default ones would copy one after the other
  on_devices(devices, [&](std::size_t k) {
    streams[k] = make_stream();
    from[k] = make_device<uint4>(kVectors);
    memory[k] = make_device<uint4>(kVectors);
    flags[k] = make_device<unsigned>(kTiles);
    cuda_check(cudaMemset(from[k].get(), 1, kVectors * sizeof(uint4)), "cudaMemset");
    cuda_check(cudaDeviceSynchronize(), "cudaMemset");
  });
  for (const bool stores : {false, true}) {
    records.list(stores ? "store" : "copy");
    for (const std::size_t ways : {1U, 2U})
      for (const int blocks : stores ? std::vector<int>{4, 32, 132, 528} : std::vector<int>{0}) {
        const double time = seconds(std::span(devices).first(ways), rounds, [&](std::size_t k) {
          if (stores)
            store_tiles<<<static_cast<unsigned>(blocks), kThreads>>>(memory[1 - k].get(), flags[1 - k].get(),
                                                                     kTiles);
          else
            cuda_check(cudaMemcpyPeerAsync(memory[1 - k].get(), devices[1 - k].ordinal, from[k].get(),
                                           devices[k].ordinal, kVectors * sizeof(uint4), streams[k].get()),
                       "cudaMemcpyPeer");
        });
        records.add("{\"ways\": " + std::to_string(ways) + (stores ? field("blocks", blocks) : "") +
                    field("gigabytes_per_second_each_way", kBytes / time * 1e-9) + "}");
      }
  }
  records.list("flag");
  constexpr int kTimes = 20'000;
  const auto clear_flags = [&](std::size_t k) {
    cuda_check(cudaMemset(flags[k].get(), 0, kTiles * sizeof(unsigned)), "cudaMemset");
    cuda_check(cudaDeviceSynchronize(), "cudaMemset");
  };
  on_devices(devices, clear_flags);
  for (const bool tile : {false, true}) {
    const double time = seconds(devices, rounds, [&](std::size_t k) {
      ping<<<1, kThreads>>>(flags[1 - k].get() + 64, flags[k].get() + 64,
                            tile ? memory[1 - k].get() : nullptr, kTimes, k == 0);
      cuda_check(cudaDeviceSynchronize(), "ping");
      clear_flags(k);
    });
    records.add(std::string("{\"behind_tile\": ") + (tile ? "true" : "false") +
                field("microseconds_there_and_back", time / kTimes * 1e6) + "}");
  }
  if (!json.empty()) std::ofstream(json) << records.text();
  return 0;
}

}  // namespace
}  // namespace warploom

int main(int count, char** arguments) {
  int rounds = 5;
  std::string json;
  for (int k = 1; k + 1 < count; k += 2)
    if (const std::string word = arguments[k]; word == "--rounds")
      rounds = std::atoi(arguments[k + 1]);
    else if (word == "--json")
      json = arguments[k + 1];
  try {
    return warploom::run(rounds, json);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gpu_bench_dp_peers: %s\n", error.what());
    return 1;
  }
}
