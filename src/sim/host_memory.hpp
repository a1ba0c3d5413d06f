#pragma once

#include <unistd.h>

#include <cstdint>

namespace warploom::sim {

/// Physical memory of this machine [bytes]. Beyond it an allocation may succeed, and its use end the process.
inline std::uint64_t host_memory() {
  return static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace warploom::sim
