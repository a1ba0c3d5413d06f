#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace warploom {

/// Where a computation runs. `best` is a CUDA device where there is one, else the CPU.
struct Device {
  enum class Kind : std::uint8_t { cpu, cuda, best };
  Kind kind = Kind::best;
  int ordinal = -1;  ///< of a GPU, as in cudaSetDevice; -1: the calling thread's current one

  static const Device cpu, cuda, best;
  static constexpr Device gpu(int ordinal) { return {Kind::cuda, ordinal}; }
  constexpr bool is_gpu() const { return kind == Kind::cuda; }
  friend constexpr bool operator==(const Device&, const Device&) = default;
};
inline constexpr Device Device::cpu{Device::Kind::cpu};
inline constexpr Device Device::cuda{Device::Kind::cuda};
inline constexpr Device Device::best{Device::Kind::best};

/// As front ends take it: cpu, cuda, auto (= best), cuda:1, cuda:0,1 (= cuda:0,cuda:1), cuda:all; one that
/// is named twice is two devices. @throws BadInput naming them, NoDevice (cuda:all, and there is none)
std::vector<Device> parse_devices(std::string_view text);
/// "cpu", "cuda", "cuda:1", "auto"
std::string name(Device device);

/// A CUDA device as the driver describes it.
struct CudaDevice {
  int ordinal = 0;  ///< as in cudaSetDevice
  std::string name = {};
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
  std::vector<CudaDevice> devices = {};
  int driver_version = 0;   ///< 1000 * major + 10 * minor of the newest CUDA it serves; 0: no driver
  std::string absent = {};  ///< why `devices` is empty and what to do; empty otherwise
};

/// The CUDA devices of this machine, asked of the driver (libcuda.so.1), which is opened at run time:
/// neither the toolkit nor a GPU is needed to call this. CUDA_VISIBLE_DEVICES counts. Asked once a process.
const CudaDevices& cuda_devices();

/// `best` resolved: cpu or cuda. A GPU for which none of our CUDA code was built counts as absent.
/// @throws NoDevice (a GPU asked for and absent), saying why and what to do
Device choose_device(Device wanted);
/// The same for a module whose CUDA half was left out of the build: then `best` is the CPU, and cuda an
/// error that says how to build. What `best` became is logged (info).
Device choose_device(Device wanted, bool built_with_cuda);
/// For work that uses one device: the one that is wanted, `best` where none is named.
/// @param work  for the message: "denoising"
/// @throws BadInput (several), naming the work
Device one_device(std::span<const Device> wanted, std::string_view work);

class CudaDriver;
/// While it lives, the GPU whose number is given is the calling thread's current one, as by cudaSetDevice;
/// what was current before, if anything, is so afterwards. Of devices without a number it changes nothing.
class OnDevice {
 public:
  explicit OnDevice(Device device);
  OnDevice(Device device, const CudaDriver& driver);
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  ~OnDevice();

 private:
  const CudaDriver* driver_ = nullptr;  // null: nothing was changed
};

}  // namespace warploom
