#include "core/architectures.hpp"

#include <charconv>

namespace warploom {

std::string_view built_architectures() { return WARPLOOM_CUDA_ARCHITECTURES; }

bool runs_on(std::string_view architectures, int compute_capability) {
  for (std::string_view rest = architectures;;) {
    const std::string_view word = rest.substr(0, rest.find(','));
    int number = 0;
    const auto read = std::from_chars(word.begin(), word.end(), number);
    if (read.ec != std::errc()) return true;
    const std::string_view kind(read.ptr, word.end());  // "", "-real", "a-virtual"
    const bool same_major = number / 10 == compute_capability / 10;
    const bool fits = kind.starts_with('a')                              ? number == compute_capability
                      : kind.starts_with('f') || kind.ends_with("-real") ? same_major
                                                                         : true;
    if (fits && number <= compute_capability) return true;
    if (word.size() == rest.size()) return false;
    rest.remove_prefix(word.size() + 1);
  }
}

}  // namespace warploom
