#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace warploom {

/// Where a computation runs. `best` is a CUDA device where there is one, else the CPU.
enum class Device { cpu, cuda, best };

/// "cpu", "cuda" or "auto" (= best), as in `--device`. @throws BadInput naming the three
Device parse_device(std::string_view text);
std::string_view name(Device device);

/// A CUDA device as the driver describes it.
struct CudaDevice {
  int ordinal = 0;  ///< as in cudaSetDevice
  std::string name;
  int compute_capability = 0;  ///< 10 * major + minor
  int multiprocessors = 0;
  std::uint64_t memory = 0;                  ///< [bytes]
  std::uint64_t shared_per_sm = 0;           ///< [bytes]
  std::uint64_t shared_per_block = 0;        ///< [bytes] without opting in
  std::uint64_t shared_per_block_optin = 0;  ///< [bytes] after cudaFuncSetAttribute
  std::uint64_t shared_reserved = 0;         ///< [bytes a block] taken by the system
  int threads_per_sm = 0;
  int registers_per_sm = 0;
};

struct CudaDevices {
  std::vector<CudaDevice> devices;
  int driver_version = 0;  ///< 1000 * major + 10 * minor of the newest CUDA it serves; 0: no driver
  std::string absent;      ///< why `devices` is empty and what to do; empty otherwise
};

/// The CUDA devices of this machine, asked of the driver (libcuda.so.1), which is opened at run time:
/// neither the toolkit nor a GPU is needed to call this. CUDA_VISIBLE_DEVICES counts. Asked once a process.
const CudaDevices& cuda_devices();

/// `best` resolved: cpu or cuda. @throws NoDevice (cuda asked for and absent), saying why and what to do
Device choose_device(Device wanted);
/// The same for a module whose CUDA half was left out of the build: then `best` is the CPU, and cuda an
/// error that says how to build. What `best` became is logged (info).
Device choose_device(Device wanted, bool built_with_cuda);

}  // namespace warploom
