#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace warploom {

/// Where measured data lie, which are not part of the repository: in $WARPLOOM_DATA, else in `beside`; of
/// each kind in a folder, "dti" (images) or "rna" (sequences).
inline std::filesystem::path measured_data(const std::filesystem::path& beside,
                                           const std::string& folder = "dti") {
  const char* set = std::getenv("WARPLOOM_DATA");
  return (set != nullptr ? std::filesystem::path(set) : beside) / folder;
}

}  // namespace warploom
