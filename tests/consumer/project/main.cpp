// Places three arrays of which the first and the last are never alive together.

#include <cstdio>
#include <warploom/core/device.hpp>
#include <warploom/core/version.hpp>
#include <warploom/reuse/place.hpp>

int main() {
  const warploom::reuse::PlacementProblem problem{.objects = {{.bytes = 1024, .alignment = 16},
                                                              {.bytes = 512, .alignment = 16},
                                                              {.bytes = 1024, .alignment = 16}},
                                                  .edges = {{0, 1}, {1, 2}}};
  const warploom::reuse::Placement placement = warploom::reuse::place(problem);
  std::printf("warploom %s: %llu bytes instead of 2560, devices: %zu\n", warploom::version().data(),
              static_cast<unsigned long long>(placement.bytes), warploom::cuda_devices().devices.size());
  return placement.bytes == 1536 ? 0 : 1;
}
