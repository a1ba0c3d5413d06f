#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace warploom::io {

/// What deflate gives, as numbers: a byte, or 256 and more, the place in the kWindow bytes before it, which
/// are not known yet. They follow kWindow numbers of what is before.
struct DeflateSymbols {
  static constexpr std::size_t kWindow = 32768;

  /// All before is unknown.
  void begin_unknown();
  /// Before are the bytes of the window, which has as many as there were so far.
  void begin_after(std::string_view window);
  void reserve(std::size_t room);
  std::span<const std::uint16_t> made() const { return {numbers.get() + kWindow, used - kWindow}; }

  std::unique_ptr<std::uint16_t[]> numbers = {};
  std::size_t used = 0, room = 0;
  std::size_t lowest = 0;  // what is before that must not be referred to
};

/// Decodes deflate (RFC 1951) from the begin of any of its blocks, and goes on from there.
class DeflateDecoder {
 public:
  static constexpr std::size_t kPadding = 32;  ///< bytes behind those that are given, which can be read

  explicit DeflateDecoder(std::uint64_t bit) : bit_(bit) {}

  enum class Stop {
    block,    ///< one begins here, at `least` or behind
    most,     ///< so much was made
    data,     ///< the bytes end
    corrupt,  ///< this is no deflate
    end,      ///< of the last block
  };
  struct Until {
    std::uint64_t least = 0;    // stops at a block's begin from this bit on
    bool only_dynamic = false;  // that find_block() could find
    std::size_t most = ~std::size_t{0} / 4;
  };
  /// @param bytes  from byte `first` on, with kPadding behind them
  /// @param last   nothing comes behind them
  Stop run(std::string_view bytes, std::uint64_t first, bool last, const Until& until, DeflateSymbols& to);

  std::uint64_t bit() const { return bit_; }  ///< the next one
  bool within_block() const { return kind_ != Kind::none; }

  /// The first place in [from, to) where a block that is not the last one begins with codes of its own that
  /// are right and complete. There may be none: it is no proof.
  static std::optional<std::uint64_t> find_block(std::string_view bytes, std::uint64_t first,
                                                 std::uint64_t from, std::uint64_t to);

  struct Entry {
    std::uint16_t value = 0;
    std::uint8_t bits = 0, what = 0;
  };
  struct Codes {
    std::vector<Entry> letters, distances;
  };

 private:
  enum class Kind { none, stored, coded };
  struct Reader;
  Stop begin_block(Reader& reader, bool last);
  template <bool checked>
  Stop decode(Reader& reader, std::size_t most, DeflateSymbols& to);

  std::uint64_t bit_;
  Kind kind_ = Kind::none;
  bool final_ = false;
  std::size_t stored_left_ = 0;
  std::shared_ptr<Codes> codes_ = std::make_shared<Codes>();
};

}  // namespace warploom::io
