// Places three arrays of which the first and the last are never alive together, and orders a chain of
// matrices.

#include <cstdint>
#include <cstdio>
#include <vector>
#include <warploom/core/device.hpp>
#include <warploom/core/version.hpp>
#include <warploom/dp/chain.hpp>
#include <warploom/reuse/place.hpp>

int main() {
  const warploom::reuse::PlacementProblem problem{.objects = {{.bytes = 1024, .alignment = 16},
                                                              {.bytes = 512, .alignment = 16},
                                                              {.bytes = 1024, .alignment = 16}},
                                                  .edges = {{0, 1}, {1, 2}}};
  const warploom::reuse::Placement placement = warploom::reuse::place(problem);
  const auto order = warploom::dp::chain_order(std::vector<std::int64_t>{30, 35, 15, 5, 10, 20, 25});
  std::printf("warploom %s: %llu bytes instead of 2560, devices: %zu\n", warploom::version().data(),
              static_cast<unsigned long long>(placement.bytes), warploom::cuda_devices().devices.size());
  return placement.bytes == 1536 && order.parenthesisation == "((A1 (A2 A3)) ((A4 A5) A6))" ? 0 : 1;
}
