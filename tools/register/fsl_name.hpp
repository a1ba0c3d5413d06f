#pragma once

#include <string>
#include <string_view>

namespace warploom::tool {

/// A transform's file as options name it: FILE, or fsl:FILE for FSL's conventions.
struct FslName {
  static constexpr std::string_view kFsl = "fsl:";
  std::string file;
  bool fsl = false;

  explicit FslName(const std::string& text) : file(text) {
    if (file.starts_with(kFsl)) fsl = true, file.erase(0, kFsl.size());
  }
};

}  // namespace warploom::tool
