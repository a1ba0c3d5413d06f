#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "core/input_stream.hpp"
#include "io/deflate_decoder.hpp"

namespace warploom::io {

/// CRC-32 of two texts, one behind the other, of those of each and the second's length.
std::uint32_t joined_crc32(std::uint32_t first, std::uint32_t second, std::uint64_t second_bytes);

/// What a gzip member holds that does not say how long it is, unpacked by several threads. Each looks for the
/// first block in its part and decodes from there, while what was before is not known; where the thread
/// before it comes to that block, the 32 KiB before are, and what was decoded is what is there. Where it
/// comes to another one, all of the part is decoded again from there (pugz, rapidgzip).
class ParallelMember {
 public:
  static constexpr std::uint64_t kPart = std::uint64_t{512} << 10;  // bytes as they are stored

  /// @param begin  of deflate in the stream
  ParallelMember(const InputStream& stream, std::uint64_t begin);

  struct Part {
    std::uint64_t number = 0, begin = 0, end = 0;
  };
  struct Made {
    std::string content = {};
    std::uint32_t crc = 0;  // of it
    bool ends = false;      // the member
    std::uint32_t told_crc = 0, told_bytes = 0;
    std::string wrong = {};  // with `at`
    std::uint64_t at = 0;
  };

  /// The next part. One thread at a time. @return none: there is no other one
  std::optional<Part> next();
  /// From any thread, each part once; waits for those before it.
  /// @param memory  that the content may use
  Made unpack(const Part& part, std::string memory);
  /// Nobody unpacks any more.
  void stop();

  bool ended() const;         ///< its end was found, or what is wrong, or it was stopped
  bool wait_for_end() const;  ///< @return false: something is wrong, or it was stopped
  std::uint64_t end() const;  ///< byte behind the member, when it ended
  std::uint64_t begin() const { return begin_; }

 private:
  struct Ahead;
  std::optional<Ahead> decode_ahead(const Part& part, std::string_view bytes, bool last) const;
  void decode_in_turn(const Part& part, std::string_view bytes, bool last, std::optional<Ahead>& ahead,
                      DeflateSymbols& before, Made& made);

  const InputStream& stream_;
  std::uint64_t begin_, size_;
  std::uint64_t given_ = 0;  // parts

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::uint64_t turn_ = 0;  // number of the part that may go on
  bool ended_ = false, wrong_ = false;
  std::uint64_t end_ = 0;

  // Of the part whose turn it is.
  DeflateDecoder decoder_;
  std::string window_;  // at most 32 KiB before decoder_.bit()
};

}  // namespace warploom::io
