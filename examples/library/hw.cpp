// How many blocks of a kernel a multiprocessor holds, and what limits them.

#include <iostream>
#include <warploom/hw/occupancy.hpp>

int main() {
  namespace hw = warploom::hw;
  const hw::KernelResources kernel{
      .threads_per_block = 256, .registers_per_thread = 40, .shared_static = 40960};
  for (const char* name : {"sm_75", "sm_80", "sm_90"}) {
    const hw::Occupancy found = hw::occupancy(hw::architecture(name), kernel);
    std::cout << name << ": " << found.blocks << " blocks, limited by " << hw::name(found.limit) << "\n";
  }
}
