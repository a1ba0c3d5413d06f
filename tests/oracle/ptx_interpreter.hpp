#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "warploom/ptx/module.hpp"

/// Thread blocks of a PTX kernel, run thread by thread: slow, plain, and independent of the passes and of the
/// simulator, whose oracle it is. It knows what random_kernel writes.
namespace warploom::oracle {

/// Which thread runs first in a barrier interval. A thread runs until it comes to a barrier or leaves.
enum class Order { ascending, descending, random };

struct Run {
  std::array<std::uint32_t, 2> block{32, 1};  ///< threads; at most 64 in all
  std::uint32_t blocks = 1;
  std::uint32_t dynamic_shared = 0;  ///< [bytes]
  Order order = Order::ascending;
  std::uint64_t seed = 1;           ///< of Order::random, and of what shared memory holds at first
  std::uint32_t n = 0;              ///< the kernel's parameter `n`
  std::vector<std::uint32_t> data;  ///< what its parameter `data` points to
  std::uint32_t out_words = 64;     ///< of a thread
  std::uint64_t max_steps = 2'000'000;
};

struct Outcome {
  std::vector<std::uint32_t> out;  ///< what its parameter `out` points to, zero at first
  std::string
      broken;  ///< the run cannot be: out of bounds, barriers not met together, no end, unknown instruction
  bool race = false;  ///< two threads at one shared byte with no barrier between, not both loading
  /// A shared byte was read that no store had written. A load whose value the next instruction, a selp, drops
  /// is let off: compilers move loads ahead of the condition that they stand under.
  bool unwritten = false;
  std::uint64_t barriers = 0;
};

/// Parameters of the kernel by name: out, data (global addresses), n.
Outcome interpret(const ptx::Module& module, const ptx::Function& kernel, const Run& run);

}  // namespace warploom::oracle
