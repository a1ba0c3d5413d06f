#include "tile/kernels/access_cost.hpp"

#include <algorithm>
#include <set>

#include "warploom/hw/occupancy.hpp"

namespace warploom::tile {
namespace {

constexpr std::int64_t kSectorBytes = 32, kBankBytes = 4, kBanks = 32;

std::int64_t floor_quotient(std::int64_t a, std::int64_t b) { return a >= 0 ? a / b : -((b - 1 - a) / b); }

struct Device {
  int compute_capability;
  DeviceRates rates;
};

// Sources. sm_90: an H200; global memory as a device-to-device copy measured on one (4.29 TB/s of the 4.8 on
// paper; an H100 SXM has 3.35 on paper), fp32 on paper (66.9 TFLOP/s). Others on paper, from NVIDIA's data
// sheets of the board named. Shared memory: 128 bytes a clock and multiprocessor (64 on sm_75) times the
// boost clock. Launch: from one empty kernel of a stream to the next, 3.4 us measured on an H200, taken for
// all.
// clang-format off
//                         TFLOP/s    GB/s shared GB/s launch us  SMs  L2 MB
constexpr std::array kDevices = {
    Device{70,  {           15.7,      900,     15667,      3.4,   80,     6}},  // V100 SXM2, 1.53 GHz
    Device{75,  {            8.1,      320,      4070,      3.4,   40,     4}},  // T4, 1.59 GHz
    Device{80,  {           19.5,     2039,     19492,      3.4,  108,    40}},  // A100 SXM 80 GB, 1.41 GHz
    Device{86,  {           35.6,      936,     17843,      3.4,   82,     6}},  // RTX 3090, 1.70 GHz
    Device{89,  {           82.6,     1008,     41288,      3.4,  128,    72}},  // RTX 4090, 2.52 GHz
    Device{90,  {           66.9,     4290,     33454,      3.4,  132,    50}},  // H200, 1.98 GHz
    Device{100, {           74.5,     8000,     37225,      3.4,  148,   126}},  // B200, 1.965 GHz
    Device{120, {          104.8,     1792,     52442,      3.4,  170,    96}},  // RTX 5090, 2.41 GHz
};
// clang-format on

}  // namespace

WarpAccess warp_access(const std::array<std::int64_t, 3>& strides, const std::array<int, 3>& block,
                       int element_bytes) {
  const std::int64_t threads = std::min<std::int64_t>(32, std::int64_t{block[0]} * block[1] * block[2]);
  // Wider elements than a bank go in passes of as many threads as fill 128 bytes.
  const std::int64_t pass = kBanks * kBankBytes / std::max<std::int64_t>(element_bytes, kBankBytes);
  std::set<std::int64_t> sectors, elements;
  std::vector<std::set<std::int64_t>> words(kBanks);  // of this pass, by bank
  WarpAccess access;
  for (std::int64_t t = 0; t < threads; ++t) {
    if (t % pass == 0) words.assign(kBanks, {});
    const std::int64_t x = t % block[0], y = t / block[0] % block[1],
                       z = t / (std::int64_t{block[0]} * block[1]);
    const std::int64_t byte = element_bytes * (strides[0] * x + strides[1] * y + strides[2] * z);
    elements.insert(byte);
    for (std::int64_t b = byte; b < byte + element_bytes; b += kBankBytes) {
      sectors.insert(floor_quotient(b, kSectorBytes));
      const std::int64_t word = floor_quotient(b, kBankBytes);
      auto& bank = words[static_cast<std::size_t>(((word % kBanks) + kBanks) % kBanks)];
      bank.insert(word);
      access.bank_conflicts = std::max(access.bank_conflicts, static_cast<int>(bank.size()));
    }
  }
  access.sectors = static_cast<double>(sectors.size());
  const std::int64_t bytes = static_cast<std::int64_t>(elements.size()) * element_bytes;
  access.ideal_sectors = static_cast<double>((bytes + kSectorBytes - 1) / kSectorBytes);
  return access;
}

const DeviceRates& device_rates(std::string_view architecture) {
  const int wanted = hw::architecture(architecture).compute_capability;
  const Device* best = &kDevices.front();
  for (const Device& device : kDevices)
    if (device.compute_capability <= wanted) best = &device;
  return best->rates;
}

}  // namespace warploom::tile
