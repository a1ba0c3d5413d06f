#include "io/parallel_member.hpp"

#include <libdeflate.h>

#include <algorithm>
#include <array>
#include <utility>

#include "io/gzip_members.hpp"

namespace warploom::io {
namespace {

constexpr std::uint64_t kBehind = std::uint64_t{128}
                                  << 10;                   // bytes behind a part in which its last block ends
constexpr std::size_t kMostAhead = std::size_t{16} << 20;  // that a part may hold to be decoded ahead
constexpr std::uint32_t kPolynomial = 0xedb88320;

/// a b modulo the polynomial, the highest bit is 1.
constexpr std::uint32_t product(std::uint32_t a, std::uint32_t b) {
  std::uint32_t sum = 0;
  for (std::uint32_t bit = 1u << 31; bit != 0; bit >>= 1) {
    if ((a & bit) != 0) sum ^= b;
    b = (b & 1) != 0 ? b >> 1 ^ kPolynomial : b >> 1;
  }
  return sum;
}

/// What symbols stand for, [number]: itself or a byte of the window.
std::array<char, 256 + DeflateSymbols::kWindow> meaning_of(std::string_view window) {
  std::array<char, 256 + DeflateSymbols::kWindow> meaning{};
  for (std::size_t k = 0; k < 256; ++k) meaning[k] = static_cast<char>(k);
  std::ranges::copy(window, meaning.end() - static_cast<std::ptrdiff_t>(window.size()));
  return meaning;
}

/// To text[begin, ...), which is left as long as it was where it was longer: filling it with zeros takes
/// time.
void put_meaning(std::span<const std::uint16_t> numbers, std::span<const char> meaning, std::string& text,
                 std::size_t begin) {
  if (text.size() < begin + numbers.size()) text.resize(begin + numbers.size());
  char* out = text.data() + begin;
  for (const std::uint16_t number : numbers) *out++ = meaning[number];
}

void keep_window(std::string& window) {
  if (window.size() > DeflateSymbols::kWindow) window.erase(0, window.size() - DeflateSymbols::kWindow);
}

/// Of a thread: what it decodes ahead into, in turn.
thread_local DeflateSymbols spare;

}  // namespace

std::uint32_t joined_crc32(std::uint32_t first, std::uint32_t second, std::uint64_t second_bytes) {
  std::uint32_t power = 1u << 23;    // x^8
  std::uint32_t shifted = 1u << 31;  // x^0
  for (; second_bytes != 0; second_bytes >>= 1, power = product(power, power))
    if ((second_bytes & 1) != 0) shifted = product(shifted, power);
  return product(shifted, first) ^ second;
}

struct ParallelMember::Ahead {
  std::uint64_t begin = 0;  // bit
  DeflateDecoder decoder;   // behind it
  DeflateDecoder::Stop stop;
  DeflateSymbols symbols;
};

ParallelMember::ParallelMember(const InputStream& stream, std::uint64_t begin)
    : stream_(stream), begin_(begin), size_(*stream.size()), decoder_(begin * 8) {}

std::optional<ParallelMember::Part> ParallelMember::next() {
  const std::uint64_t begin = begin_ + given_ * kPart;
  if (begin >= size_ && given_ > 0) return std::nullopt;
  return Part{given_++, begin, std::min(begin + kPart, size_)};
}

void ParallelMember::stop() {
  const std::lock_guard lock(mutex_);
  ended_ = wrong_ = true;
  changed_.notify_all();
}

bool ParallelMember::ended() const {
  const std::lock_guard lock(mutex_);
  return ended_;
}

bool ParallelMember::wait_for_end() const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return ended_; });
  return !wrong_;
}

std::uint64_t ParallelMember::end() const {
  const std::lock_guard lock(mutex_);
  return end_;
}

std::optional<ParallelMember::Ahead> ParallelMember::decode_ahead(const Part& part, std::string_view bytes,
                                                                  bool last) const {
  if (part.number == 0) return std::nullopt;
  for (std::uint64_t from = part.begin * 8; !ended(); ++from) {
    const auto begin = DeflateDecoder::find_block(bytes, part.begin, from, part.end * 8);
    if (!begin) break;
    Ahead ahead{*begin, DeflateDecoder(*begin), {}, std::exchange(spare, {})};
    ahead.symbols.reserve(DeflateSymbols::kWindow + 6 * kPart);
    ahead.symbols.begin_unknown();
    ahead.stop =
        ahead.decoder.run(bytes, part.begin, last,
                          {.least = part.end * 8, .only_dynamic = true, .most = kMostAhead}, ahead.symbols);
    if (ahead.stop != DeflateDecoder::Stop::corrupt && ahead.stop != DeflateDecoder::Stop::most) return ahead;
    spare = std::move(ahead.symbols);
    if (ahead.stop == DeflateDecoder::Stop::most) break;
    from = *begin;
  }
  return std::nullopt;
}

/// From where the part before came to: up to a block that was found ahead, or else to the part's end.
void ParallelMember::decode_in_turn(const Part& part, std::string_view bytes, bool last,
                                    std::optional<Ahead>& ahead, DeflateSymbols& before, Made& made) {
  before.begin_after(window_);
  const auto refuse = [&](const char* why) {
    made.wrong = why;
    made.at = decoder_.bit() / 8;
  };
  bool final = false;
  while (true) {
    const std::size_t known = std::min(window_.size() + before.made().size(), DeflateSymbols::kWindow);
    if (!decoder_.within_block()) {
      if (ahead && ahead->begin == decoder_.bit() && known == DeflateSymbols::kWindow) break;
      if (decoder_.bit() >= part.end * 8) {
        ahead.reset();
        break;
      }
    }
    if (ahead && ahead->begin < decoder_.bit()) ahead.reset();
    const DeflateDecoder::Stop stop = decoder_.run(bytes, part.begin, last, {}, before);
    if (stop == DeflateDecoder::Stop::corrupt) return refuse("is corrupt");
    final = stop == DeflateDecoder::Stop::end;
    if (final || stop == DeflateDecoder::Stop::data) {
      ahead.reset();
      break;
    }
  }
  put_meaning(before.made(), meaning_of({}), made.content, 0);
  const std::size_t count = before.made().size(), kept = std::min(count, DeflateSymbols::kWindow);
  window_.append(made.content, count - kept, kept);
  keep_window(window_);
  if (ahead) {
    decoder_ = ahead->decoder;
    final = ahead->stop == DeflateDecoder::Stop::end;
  }
  if (final) {
    std::array<char, 8> trailer{};
    end_ = (decoder_.bit() + 7) / 8 + trailer.size();
    if (stream_.read_at(end_ - trailer.size(), trailer) < trailer.size()) return refuse("is cut off");
    made.ends = true;
    made.told_crc = little_endian({trailer.data(), 8}, 0, 4);
    made.told_bytes = little_endian({trailer.data(), 8}, 4, 4);
  } else if (part.end == size_) {
    return refuse("is cut off");
  }
}

ParallelMember::Made ParallelMember::unpack(const Part& part, std::string memory) {
  Made made;
  std::string bytes(part.end - part.begin + kBehind + DeflateDecoder::kPadding, '\0');
  const std::size_t stored =
      stream_.read_at(part.begin, std::span(bytes).first(bytes.size() - DeflateDecoder::kPadding));
  std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(stored), bytes.end(), '\0');
  const std::string_view given(bytes.data(), stored);
  const bool last = part.begin + stored >= size_;
  std::optional<Ahead> ahead = decode_ahead(part, given, last);
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return ended_ || turn_ == part.number; });
    if (ended_) return made;
  }
  DeflateSymbols before;
  made.content = std::move(memory);
  decode_in_turn(part, given, last, ahead, before, made);
  std::string window_before = ahead ? window_ : std::string();
  if (ahead) {
    // The window of the part after it first, the rest when that goes on.
    const std::span<const std::uint16_t> numbers = ahead->symbols.made();
    const auto meaning = meaning_of(window_before);
    put_meaning(numbers.last(std::min(numbers.size(), DeflateSymbols::kWindow)), meaning, window_,
                window_.size());
    keep_window(window_);
  }
  {
    const std::lock_guard lock(mutex_);
    ++turn_;
    ended_ = ended_ || made.ends || !made.wrong.empty();
    wrong_ = wrong_ || !made.wrong.empty();
    changed_.notify_all();
  }
  std::size_t count = before.made().size();
  if (ahead) {
    put_meaning(ahead->symbols.made(), meaning_of(window_before), made.content, count);
    count += ahead->symbols.made().size();
    spare = std::move(ahead->symbols);
  }
  made.content.resize(count);
  made.crc = libdeflate_crc32(0, made.content.data(), made.content.size());
  return made;
}

}  // namespace warploom::io
