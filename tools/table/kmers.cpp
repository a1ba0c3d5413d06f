#include "kmers.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace warploom::tool {
namespace {

constexpr std::size_t kBatch = 1 << 20;
constexpr std::uint8_t kNoBase = 4;

constexpr std::array<std::uint8_t, 256> kCodes = [] {
  std::array<std::uint8_t, 256> codes{};
  codes.fill(kNoBase);
  for (const auto& [letters, code] :
       {std::pair(std::string_view("Aa"), 0), {"Cc", 1}, {"Gg", 2}, {"TtUu", 3}})
    for (const char letter : letters)
      codes[static_cast<unsigned char>(letter)] = static_cast<std::uint8_t>(code);
  return codes;
}();

}  // namespace

void Kmers::of_sequence(std::string_view sequence,
                        const std::function<void(std::span<const std::uint64_t>)>& take) const {
  const std::uint64_t mask = (std::uint64_t{1} << (2 * k_)) - 1;
  const int top = 2 * (k_ - 1);
  std::uint64_t word = 0, complement = 0;  // the complement's last base comes first
  int bases = 0;
  std::vector<std::uint64_t> words;
  words.reserve(std::min(kBatch, sequence.size()));
  for (const char letter : sequence) {
    const std::uint8_t code = kCodes[static_cast<unsigned char>(letter)];
    if (code == kNoBase) {
      bases = 0;
      continue;
    }
    word = (word << 2 | code) & mask;
    complement = complement >> 2 | std::uint64_t{3u - code} << top;
    if (++bases < k_) continue;
    words.push_back(canonical_ ? std::min(word, complement) : word);
    if (words.size() == kBatch) {
      take(words);
      words.clear();
    }
  }
  if (!words.empty()) take(words);
}

std::string Kmers::text(std::uint64_t word) const {
  std::string letters(static_cast<std::size_t>(k_), 'A');
  for (std::size_t k = letters.size(); k-- > 0; word >>= 2) letters[k] = "ACGT"[word & 3];
  return letters;
}

}  // namespace warploom::tool
