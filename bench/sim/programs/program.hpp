// What the programs of this folder share: inputs that do not depend on the machine, and results as files.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace programs {

inline void require(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(status));
  std::exit(2);
}

/// splitmix64 as doubles in [-1, 1).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  double next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    z ^= z >> 31;
    return static_cast<double>(z >> 40) / (1 << 23) - 1;
  }

 private:
  std::uint64_t state_;
};

/// Memory of the device, zeroed or with these values.
template <typename T>
class Buffer {
 public:
  explicit Buffer(std::size_t count) : count_(count) {
    require(cudaMalloc(reinterpret_cast<void**>(&data_), count * sizeof(T)), "cudaMalloc");
    require(cudaMemset(data_, 0, count * sizeof(T)), "cudaMemset");
  }
  explicit Buffer(const std::vector<T>& values) : Buffer(values.size()) {
    require(cudaMemcpy(data_, values.data(), count_ * sizeof(T), cudaMemcpyHostToDevice), "cudaMemcpy");
  }
  T* data() const { return data_; }
  std::vector<T> read() const {
    std::vector<T> values(count_);
    require(cudaMemcpy(values.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost), "cudaMemcpy");
    return values;
  }
  /// Writes $PROGRAM_RESULTS/NAME.TYPE.
  void save(const std::string& name, const char* type) const {
    require(cudaDeviceSynchronize(), name.c_str());
    const char* folder = std::getenv("PROGRAM_RESULTS");
    const std::string path = std::string(folder == nullptr ? "." : folder) + "/" + name + "." + type;
    const std::vector<T> values = read();
    std::FILE* file = std::fopen(path.c_str(), "wb");
    if (file == nullptr || std::fwrite(values.data(), sizeof(T), count_, file) != count_) {
      std::fprintf(stderr, "%s cannot be written\n", path.c_str());
      std::exit(2);
    }
    std::fclose(file);
    std::printf("%s.%s: %zu elements\n", name.c_str(), type, count_);
  }

 private:
  T* data_ = nullptr;
  std::size_t count_;
};

template <typename T>
Buffer<T> random_buffer(std::size_t count, std::uint64_t seed, double scale = 1) {
  Random random(seed);
  std::vector<T> values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(T(static_cast<float>(random.next() * scale)));
  return Buffer<T>(values);
}

}  // namespace programs
