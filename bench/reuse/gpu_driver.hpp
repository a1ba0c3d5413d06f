#pragma once

#include <cuda.h>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

/// The CUDA driver API, as far as the reuse benchmark needs it: a machine with a GPU needs the driver
/// and nothing else. Every failure throws std::runtime_error with the call and the driver's message.
namespace warploom::bench {

void check(CUresult result, const std::string& what);

/// The first GPU, current on the calling thread while the object lives.
class Gpu {
 public:
  Gpu();
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  std::string name() const;
  int attribute(CUdevice_attribute) const;
  static int driver_version();

 private:
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
};

/// `count` floats of device memory.
class Floats {
 public:
  explicit Floats(std::size_t count);
  explicit Floats(std::span<const float> values);
  ~Floats();
  Floats(Floats&& other) noexcept;
  Floats(const Floats&) = delete;

  void poison();  ///< every element becomes a NaN of a pattern no kernel computes
  std::vector<float> read() const;
  CUdeviceptr address() const { return address_; }

 private:
  CUdeviceptr address_ = 0;
  std::size_t count_ = 0;
};

/// A kernel of a module file (cubin, or PTX that the driver then compiles).
class Kernel {
 public:
  Kernel(const std::string& module_path, const std::string& entry);
  ~Kernel();
  Kernel(Kernel&& other) noexcept;
  Kernel(const Kernel&) = delete;

  /// Asks for so many bytes of dynamic shared memory at launch: padding, which lowers occupancy alone.
  void pad(int dynamic_bytes);
  int dynamic_bytes() const { return dynamic_bytes_; }
  int static_bytes() const { return attribute(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES); }
  int registers() const { return attribute(CU_FUNC_ATTRIBUTE_NUM_REGS); }
  int blocks_per_multiprocessor(int threads) const;

  struct Extent {
    int x = 1, y = 1, z = 1;
    int count() const { return x * y * z; }
  };
  void launch(Extent grid, Extent block, void** arguments) const;

 private:
  int attribute(CUfunction_attribute) const;

  CUmodule module_ = nullptr;
  CUfunction function_ = nullptr;
  int dynamic_bytes_ = 0;
};

/// Milliseconds between two points of the default stream.
class Stopwatch {
 public:
  Stopwatch();
  ~Stopwatch();
  Stopwatch(const Stopwatch&) = delete;

  void start();
  double stop();  ///< waits for the work since start() [ms]

 private:
  CUevent begin_ = nullptr, end_ = nullptr;
};

}  // namespace warploom::bench
