#pragma once

#include <cstdlib>
#include <filesystem>

namespace warploom {

/// Where measured images lie, which are not part of the repository: in $WARPLOOM_DATA, else in `beside`.
inline std::filesystem::path measured_data(const std::filesystem::path& beside) {
  const char* set = std::getenv("WARPLOOM_DATA");
  return (set != nullptr ? std::filesystem::path(set) : beside) / "dti";
}

}  // namespace warploom
