#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "warploom/ptx/module.hpp"

/// One thread block of a PTX kernel, run thread by thread: slow, plain, and independent of the passes.
/// It knows integer instructions, shared and global memory, branches and `bar.sync 0`, as the tests use them.
namespace warploom::oracle {

/// Which thread runs first in a barrier interval. A thread runs until it comes to a barrier or leaves.
enum class Order { ascending, descending, random };

struct Run {
  std::uint32_t threads = 32;
  Order order = Order::ascending;
  std::uint64_t seed = 1;           ///< of Order::random, and of what shared memory holds at first
  std::uint32_t n = 0;              ///< the kernel's parameter `n`
  std::vector<std::uint32_t> data;  ///< what its parameter `data` points to
  std::uint64_t max_steps = 2'000'000;
};

struct Outcome {
  std::vector<std::uint32_t> out;  ///< what its parameter `out` points to: 64 words a thread, zero at first
  std::string
      broken;  ///< the run cannot be: out of bounds, barriers not met together, no end, unknown instruction
  bool race = false;  ///< two threads at one shared byte in one interval, one storing
  /// A shared byte was read that no store had written. A load whose value the next instruction, a selp, drops
  /// is let off: compilers move loads ahead of the condition that they stand under.
  bool unwritten = false;
  std::uint64_t barriers = 0;
  std::uint64_t shared_bytes = 0;  ///< all variables laid out one after another
};

/// Parameters of the kernel by name: out, data (global addresses), n.
Outcome interpret(const ptx::Module& module, const ptx::Function& kernel, const Run& run);

}  // namespace warploom::oracle
