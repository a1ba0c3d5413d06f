#include "io/deflate_decoder.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

namespace warploom::io {
namespace {

constexpr int kLetterBits = 11, kDistanceBits = 9;  // that are looked up at once
constexpr int kMostBits = 15;
constexpr std::size_t kMostMatch = 258, kMargin = kMostMatch + 16;

// What an entry is: the lower five bits are how many more bits follow.
constexpr std::uint8_t kLetter = 0, kMatch = 1 << 5, kEndOfBlock = 2 << 5, kTable = 3 << 5, kNothing = 4 << 5;
constexpr std::uint8_t kMore = 31;

using Entry = DeflateDecoder::Entry;

constexpr std::array<Entry, 288> kLetters = [] {
  std::array<Entry, 288> entries{};
  for (std::uint16_t k = 0; k < 256; ++k) entries[k] = {k, 0, kLetter};
  entries[256] = {0, 0, kEndOfBlock};
  std::uint16_t length = 3;
  for (std::size_t k = 257; k < 285; ++k) {
    const auto more = static_cast<std::uint8_t>(k < 265 ? 0 : (k - 261) / 4);
    entries[k] = {length, 0, static_cast<std::uint8_t>(kMatch | more)};
    length = static_cast<std::uint16_t>(length + (1 << more));
  }
  entries[285] = {258, 0, kMatch};
  entries[286] = entries[287] = {0, 0, kNothing};
  return entries;
}();
constexpr std::array<Entry, 32> kDistances = [] {
  std::array<Entry, 32> entries{};
  std::uint16_t distance = 1;
  for (std::size_t k = 0; k < 30; ++k) {
    const auto more = static_cast<std::uint8_t>(k < 4 ? 0 : (k - 2) / 2);
    entries[k] = {distance, 0, static_cast<std::uint8_t>(kMatch | more)};
    distance = static_cast<std::uint16_t>(distance + (1 << more));
  }
  entries[30] = entries[31] = {0, 0, kNothing};
  return entries;
}();

/// A table of the codes that have these lengths. @return false: there are too many, or some are missing
/// (but of one code alone, or none)
bool make_table(std::span<const std::uint8_t> lengths, std::span<const Entry> symbols, int root,
                std::vector<Entry>& table) {
  std::array<unsigned, kMostBits + 1> count{}, next{};
  for (const std::uint8_t length : lengths) ++count[length];
  const unsigned codes = static_cast<unsigned>(lengths.size()) - count[0];
  count[0] = 0;
  int left = 1;
  for (std::size_t length = 1; length <= kMostBits; ++length) {
    left = 2 * left - static_cast<int>(count[length]);
    if (left < 0) return false;
    next[length] = (next[length - 1] + count[length - 1]) << 1;
  }
  if (left > 0 && (codes > 1 || (codes == 1 && count[1] == 0))) return false;

  const std::size_t roots = std::size_t{1} << root;
  table.assign(roots, {0, 1, kNothing});
  std::array<std::uint16_t, 320> reversed{};
  std::array<std::uint8_t, 1 << kLetterBits> deepest{};
  for (std::size_t symbol = 0; symbol < lengths.size(); ++symbol) {
    const unsigned length = lengths[symbol];
    if (length == 0) continue;
    unsigned code = next[length]++, turned = 0;
    for (unsigned bit = 0; bit < length; ++bit, code >>= 1) turned = turned << 1 | (code & 1);
    reversed[symbol] = static_cast<std::uint16_t>(turned);
    if (length > static_cast<unsigned>(root)) {
      std::uint8_t& depth = deepest[turned & (roots - 1)];
      depth = std::max(depth, static_cast<std::uint8_t>(length - static_cast<unsigned>(root)));
    }
  }
  for (std::size_t symbol = 0; symbol < lengths.size(); ++symbol) {
    const unsigned length = lengths[symbol], code = reversed[symbol];
    if (length == 0) continue;
    Entry entry = symbols[symbol];
    if (length <= static_cast<unsigned>(root)) {
      entry.bits = static_cast<std::uint8_t>(length);
      for (std::size_t at = code; at < roots; at += std::size_t{1} << length) table[at] = entry;
      continue;
    }
    const std::size_t prefix = code & (roots - 1);
    const unsigned depth = deepest[prefix];
    if (table[prefix].what != (kTable | depth)) {
      table[prefix] = {static_cast<std::uint16_t>(table.size()), static_cast<std::uint8_t>(root),
                       static_cast<std::uint8_t>(kTable | depth)};
      table.resize(table.size() + (std::size_t{1} << depth), {0, 1, kNothing});
    }
    entry.bits = static_cast<std::uint8_t>(length - static_cast<unsigned>(root));
    for (std::size_t at = code >> root; at < std::size_t{1} << depth; at += std::size_t{1} << entry.bits)
      table[table[prefix].value + at] = entry;
  }
  return true;
}

}  // namespace

void DeflateSymbols::reserve(std::size_t wanted) {
  if (wanted <= room) return;
  wanted = std::max(wanted, 2 * room);
  auto more = std::make_unique_for_overwrite<std::uint16_t[]>(wanted);
  if (used > 0) std::memcpy(more.get(), numbers.get(), used * sizeof(std::uint16_t));
  numbers = std::move(more);
  room = wanted;
}

void DeflateSymbols::begin_unknown() {
  used = lowest = 0;
  reserve(kWindow + kMargin);
  for (std::size_t k = 0; k < kWindow; ++k) numbers[k] = static_cast<std::uint16_t>(256 + k);
  used = kWindow;
}

void DeflateSymbols::begin_after(std::string_view window) {
  used = 0;
  reserve(kWindow + kMargin);
  lowest = kWindow - window.size();
  for (std::size_t k = 0; k < window.size(); ++k) numbers[lowest + k] = static_cast<unsigned char>(window[k]);
  used = kWindow;
}

/// Bits, the lowest of each byte first.
struct DeflateDecoder::Reader {
  Reader(std::string_view bytes, std::uint64_t bit)
      : begin(reinterpret_cast<const unsigned char*>(bytes.data())),
        end(begin + bytes.size()),
        bits(bytes.size() * 8) {
    go_to(bit);
  }

  void go_to(std::uint64_t bit) {
    at = begin + bit / 8;
    held = 0;
    count = 0;
    if (at >= end) {  // nothing to be read
      at += 8;
      count = 64 - static_cast<unsigned>(bit % 8);
      return;
    }
    refill();
    take(static_cast<unsigned>(bit % 8));
  }
  /// At least 56 bits are held then; behind the end they are anything.
  void refill() {
    if (at > end + 8) return;
    std::uint64_t more = 0;
    std::memcpy(&more, at, 8);
    held |= more << count;
    at += (63 - count) >> 3;
    count |= 56;
  }
  unsigned peek(unsigned number) const { return static_cast<unsigned>(held & ((1ull << number) - 1)); }
  void take(unsigned number) {
    held >>= number;
    count -= number;
  }
  unsigned get(unsigned number) {
    const unsigned value = peek(number);
    take(number);
    return value;
  }
  std::uint64_t position() const { return static_cast<std::uint64_t>(at - begin) * 8 - count; }
  bool overrun() const { return position() > bits; }

  const unsigned char* begin;
  const unsigned char* end;
  std::uint64_t bits;
  const unsigned char* at = nullptr;
  std::uint64_t held = 0;
  unsigned count = 0;
};

namespace {

/// The codes of a block, behind its first three bits.
template <class Reader>
bool read_codes(Reader& reader, DeflateDecoder::Codes& codes, bool complete) {
  reader.refill();
  const unsigned letters = reader.get(5) + 257, distances = reader.get(5) + 1, ordered = reader.get(4) + 4;
  if (letters > 286 || distances > 30) return false;
  constexpr std::array<std::uint8_t, 19> kOrder{16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                                11, 4,  12, 3, 13, 2, 14, 1, 15};
  std::array<std::uint8_t, 19> order{};
  unsigned sum = 0;
  for (unsigned k = 0; k < ordered; ++k) {
    if (k % 16 == 0) reader.refill();
    const unsigned length = reader.get(3);
    order[kOrder[k]] = static_cast<std::uint8_t>(length);
    sum += length == 0 ? 0 : 128u >> length;
  }
  if (complete && sum != 128) return false;
  static constexpr std::array<Entry, 19> kNumbers = [] {
    std::array<Entry, 19> entries{};
    for (std::uint16_t k = 0; k < 19; ++k) entries[k] = {k, 0, kLetter};
    return entries;
  }();
  thread_local std::vector<Entry> table;
  if (!make_table(order, kNumbers, 7, table)) return false;
  std::array<std::uint8_t, 286 + 30 + 138> lengths{};
  for (unsigned k = 0; k < letters + distances;) {
    reader.refill();
    if (reader.overrun()) return false;
    const Entry entry = table[reader.peek(7)];
    if (entry.what != kLetter) return false;
    reader.take(entry.bits);
    unsigned repeats = 1;
    std::uint8_t length = static_cast<std::uint8_t>(entry.value);
    if (entry.value == 16) {
      if (k == 0) return false;
      length = lengths[k - 1];
      repeats = 3 + reader.get(2);
    } else if (entry.value > 16) {
      length = 0;
      repeats = entry.value == 17 ? 3 + reader.get(3) : 11 + reader.get(7);
    }
    for (; repeats > 0; --repeats) lengths[k++] = length;
    if (k > letters + distances) return false;
  }
  if (lengths[256] == 0) return false;
  const std::span<const std::uint8_t> all(lengths);
  return make_table(all.first(letters), kLetters, kLetterBits, codes.letters) &&
         make_table(all.subspan(letters, distances), kDistances, kDistanceBits, codes.distances);
}

const DeflateDecoder::Codes& fixed_codes() {
  static const DeflateDecoder::Codes codes = [] {
    std::array<std::uint8_t, 288> lengths{};
    for (std::size_t k = 0; k < lengths.size(); ++k) lengths[k] = k < 144 ? 8 : k < 256 ? 9 : k < 280 ? 7 : 8;
    std::array<std::uint8_t, 32> distances{};
    distances.fill(5);
    DeflateDecoder::Codes made;
    make_table(lengths, kLetters, kLetterBits, made.letters);
    make_table(distances, kDistances, kDistanceBits, made.distances);
    return made;
  }();
  return codes;
}

}  // namespace

/// @return Stop::block: it has begun
DeflateDecoder::Stop DeflateDecoder::begin_block(Reader& reader, bool last) {
  constexpr std::uint64_t kMostHeader = 4096;  // bits
  const std::uint64_t begin = reader.position();
  if (!last && reader.bits - begin < kMostHeader) return Stop::data;
  reader.refill();
  const bool final = reader.get(1) != 0;
  const unsigned type = reader.get(2);
  bool right = type != 3;
  if (type == 0) {
    const std::uint64_t lengths = (reader.position() + 7) / 8 * 8;
    if (lengths + 32 > reader.bits) {
      reader.go_to(begin);
      return Stop::data;
    }
    reader.go_to(lengths);
    reader.refill();
    const unsigned length = reader.get(16), other = reader.get(16);
    right = (length ^ other) == 0xffff;
    stored_left_ = length;
    kind_ = Kind::stored;
  } else if (type == 1) {
    if (codes_.use_count() > 1) codes_ = std::make_shared<Codes>();
    *codes_ = fixed_codes();
    kind_ = Kind::coded;
  } else if (type == 2) {
    if (codes_.use_count() > 1) codes_ = std::make_shared<Codes>();
    right = read_codes(reader, *codes_, false);
    kind_ = Kind::coded;
  }
  if (reader.overrun() || !right) {
    const bool cut = reader.overrun();
    kind_ = Kind::none;
    reader.go_to(begin);
    return cut ? Stop::data : Stop::corrupt;
  }
  final_ = final;
  return Stop::block;
}

/// Of a block with codes. @return Stop::end: of the block
template <bool checked>
DeflateDecoder::Stop DeflateDecoder::decode(Reader& reader, std::size_t most, DeflateSymbols& to) {
  const Entry* const letters = codes_->letters.data();
  const Entry* const distances = codes_->distances.data();
  std::uint16_t* out = to.numbers.get();
  std::size_t used = to.used;
  Reader at = reader;  // in registers
  const auto next = [&](const Entry* table, int root) {
    Entry entry = table[at.peek(static_cast<unsigned>(root))];
    if ((entry.what & ~kMore) == kTable) {
      at.take(static_cast<unsigned>(root));
      entry = table[entry.value + at.peek(entry.what & kMore)];
    }
    at.take(entry.bits);
    return entry;
  };
  Stop stop = Stop::data;
  while (true) {
    if (used > most) {
      stop = Stop::most;
      break;
    }
    if (used + kMargin > to.room) {
      to.used = used;
      to.reserve(used + kMargin);
      out = to.numbers.get();
    }
    at.refill();
    if (!checked && at.at >= at.end) break;  // with checks from here on
    const Reader before = at;
    const std::size_t used_before = used;
    Entry entry = next(letters, kLetterBits);
    if (entry.what == kLetter) {
      // Three of at most 15 bits are held.
      out[used++] = entry.value;
      for (int more = 0; more < 2; ++more) {
        const Entry after = letters[at.peek(kLetterBits)];
        if (after.what != kLetter) break;
        at.take(after.bits);
        out[used++] = after.value;
      }
    } else if (entry.what == kEndOfBlock) {
      stop = Stop::end;
    } else if ((entry.what & ~kMore) == kMatch) {
      const std::size_t length = entry.value + at.get(entry.what & kMore);
      const Entry code = next(distances, kDistanceBits);
      if ((code.what & ~kMore) != kMatch) {
        stop = Stop::corrupt;
      } else {
        const std::size_t distance = code.value + at.get(code.what & kMore);
        if (distance > used - to.lowest) {
          stop = Stop::corrupt;
        } else {
          std::uint16_t* const begin = out + used;
          const std::uint16_t* const from = begin - distance;
          if (distance >= 8)
            for (std::size_t k = 0; k < length; k += 8) std::memcpy(begin + k, from + k, 16);
          else
            for (std::size_t k = 0; k < length; ++k) begin[k] = from[k];
          used += length;
        }
      }
    } else {
      stop = Stop::corrupt;
    }
    if (checked && at.overrun()) {
      at = before;
      used = used_before;
      stop = Stop::data;
      break;
    }
    if (stop != Stop::data) break;
  }
  reader = at;
  to.used = used;
  return stop;
}

DeflateDecoder::Stop DeflateDecoder::run(std::string_view bytes, std::uint64_t first, bool last,
                                         const Until& until, DeflateSymbols& to) {
  if (bit_ / 8 - first > bytes.size()) return Stop::data;
  Reader reader(bytes, bit_ - first * 8);
  const std::size_t most = to.used + std::min(until.most, ~std::size_t{0} / 2);
  const auto stop = [&](Stop why) {
    bit_ = first * 8 + reader.position();
    return why;
  };
  while (true) {
    if (kind_ == Kind::none) {
      const std::uint64_t bit = first * 8 + reader.position();
      if (bit >= until.least && bit > bit_) {
        reader.refill();
        if (!until.only_dynamic || reader.peek(3) == 4) return stop(Stop::block);
      }
      if (const Stop begun = begin_block(reader, last); begun != Stop::block) return stop(begun);
    }
    if (kind_ == Kind::stored) {
      const std::uint64_t byte = reader.position() / 8;
      const std::size_t count = std::min<std::uint64_t>(stored_left_, bytes.size() - byte);
      to.reserve(to.used + count + kMargin);
      for (std::size_t k = 0; k < count; ++k)
        to.numbers[to.used + k] = static_cast<unsigned char>(bytes[byte + k]);
      to.used += count;
      stored_left_ -= count;
      reader.go_to((byte + count) * 8);
      if (stored_left_ > 0) return stop(Stop::data);
    } else {
      Stop why = decode<false>(reader, most, to);
      if (why == Stop::data) why = decode<true>(reader, most, to);
      if (why != Stop::end) return stop(why);
    }
    kind_ = Kind::none;
    if (final_) return stop(Stop::end);
    if (to.used > most) return stop(Stop::most);
  }
}

std::optional<std::uint64_t> DeflateDecoder::find_block(std::string_view bytes, std::uint64_t first,
                                                        std::uint64_t from, std::uint64_t to) {
  Codes codes;
  const std::uint64_t end =
      std::min(to - first * 8, bytes.size() * 8 - std::min<std::uint64_t>(bytes.size() * 8, 32));
  for (std::uint64_t bit = from - first * 8; bit < end; ++bit) {
    std::uint64_t held = 0;
    std::memcpy(&held, bytes.data() + bit / 8, 8);
    held >>= bit % 8;
    // Not the last one, codes of its own; 257 to 286 letters and 1 to 30 distances.
    if ((held & 7) != 4 || (held >> 3 & 31) > 29 || (held >> 8 & 31) > 29) continue;
    // The lengths of its codes' lengths give a complete code.
    const unsigned lengths = (held >> 13 & 15) + 4;
    std::uint64_t three = 0;
    std::memcpy(&three, bytes.data() + (bit + 17) / 8, 8);
    three >>= (bit + 17) % 8;
    unsigned sum = 0;
    for (unsigned k = 0; k < lengths; ++k, three >>= 3) sum += 256u >> (three & 7) & 0xff;
    if (sum != 256) continue;
    Reader reader(bytes, bit + 3);
    if (read_codes(reader, codes, true) && !reader.overrun()) return first * 8 + bit;
  }
  return std::nullopt;
}

}  // namespace warploom::io
