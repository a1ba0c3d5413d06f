#include "content_hash.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "warploom/core/file.hpp"

namespace warploom::tool {
namespace {

// The primes of https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md
constexpr std::uint64_t kPrime1 = 0x9e3779b185ebca87, kPrime2 = 0xc2b2ae3d27d4eb4f,
                        kPrime3 = 0x165667b19e3779f9, kPrime4 = 0x85ebca77c2b2ae63,
                        kPrime5 = 0x27d4eb2f165667c5;
constexpr std::size_t kStripe = 32;

template <class T>
std::uint64_t load(const char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

std::uint64_t round(std::uint64_t lane, std::uint64_t word) {
  return std::rotl(lane + word * kPrime2, 31) * kPrime1;
}

}  // namespace

void ContentHash::add_stripe(const char* bytes) {
  for (std::size_t k = 0; k < 4; ++k)
    lanes_[k] = round(lanes_[k], load<std::uint64_t>(bytes + k * sizeof(std::uint64_t)));
}

void ContentHash::add(std::string_view bytes) {
  bytes_ += bytes.size();
  if (!rest_.empty()) {
    const std::size_t more = std::min(kStripe - rest_.size(), bytes.size());
    rest_.append(bytes.substr(0, more));
    bytes.remove_prefix(more);
    if (rest_.size() < kStripe) return;
    add_stripe(rest_.data());
    rest_.clear();
  }
  for (; bytes.size() >= kStripe; bytes.remove_prefix(kStripe)) add_stripe(bytes.data());
  rest_.assign(bytes);
}

std::string ContentHash::text() const {
  std::uint64_t hash = lanes_[2] + kPrime5;
  if (bytes_ >= kStripe) {
    hash = std::rotl(lanes_[0], 1) + std::rotl(lanes_[1], 7) + std::rotl(lanes_[2], 12) +
           std::rotl(lanes_[3], 18);
    for (const std::uint64_t lane : lanes_) hash = (hash ^ round(0, lane)) * kPrime1 + kPrime4;
  }
  hash += bytes_;
  std::string_view rest = rest_;
  for (; rest.size() >= 8; rest.remove_prefix(8))
    hash = std::rotl(hash ^ round(0, load<std::uint64_t>(rest.data())), 27) * kPrime1 + kPrime4;
  if (rest.size() >= 4) {
    hash = std::rotl(hash ^ load<std::uint32_t>(rest.data()) * kPrime1, 23) * kPrime2 + kPrime3;
    rest.remove_prefix(4);
  }
  for (const char byte : rest)
    hash = std::rotl(hash ^ static_cast<unsigned char>(byte) * kPrime5, 11) * kPrime1;
  hash = (hash ^ hash >> 33) * kPrime2;
  hash = (hash ^ hash >> 29) * kPrime3;
  return fmt::format("{:016x}", hash ^ hash >> 32);
}

std::string content_hash(std::string_view bytes) {
  ContentHash hash;
  hash.add(bytes);
  return hash.text();
}

std::string content_hash_of(const std::filesystem::path& path) {
  const InputFile file(path);
  ContentHash hash;
  std::string piece(1 << 20, '\0');
  for (std::uint64_t at = 0; const std::size_t count = file.read_at(at, piece); at += count)
    hash.add(std::string_view(piece).substr(0, count));
  return hash.text();
}

}  // namespace warploom::tool
