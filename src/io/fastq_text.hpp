#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "io/packed_fastq.hpp"
#include "io/unpacked_stream.hpp"
#include "warploom/core/file.hpp"

namespace warploom::io {

/// Where the last header of FASTQ in a text is whose '+' is there, too; none: npos. Found from the end, and
/// only behind an LF. A line that begins with '@' is a header where the second line after it begins with '+':
/// behind a line of qualities that is a sequence, which does not.
std::size_t last_record(std::string_view text);
/// Where the first such header is; none: npos.
std::size_t first_record(std::string_view text);

/// Writes the letters of whole records of four lines to `to`, kEnd of SequenceStream behind each; `to` may be
/// the text's begin, or before it. @return how many bytes; none: some of it is no such record
std::optional<std::size_t> put_letters(std::string_view text, int least_quality, char* to);

struct FastqFile {
  explicit FastqFile(const std::filesystem::path& path) : bytes(path), name(path.string()) {}
  InputFile bytes;
  std::string name;
};

/// Of a file of gzip that is not unpacked yet.
struct PackedPart {
  std::shared_ptr<PackedFastq> file;
  PackedFastq::Part part;
};

struct FastqPart {
  std::shared_ptr<const PackedPart> packed = {};  // none: what follows
  std::shared_ptr<const FastqFile> file = {};     // none: content
  std::shared_ptr<const char[]> content = {};
  std::uint64_t begin = 0;
  std::size_t size = 0;
  bool adds_end = false;  // the last of them is an LF that the file lacks
};

/// A file of FASTQ in parts that end where a record does.
class FastqSource {
 public:
  /// @param packed  where members of gzip say how long they are, parts are given as they are stored
  FastqSource(const std::filesystem::path& path, unsigned threads, bool packed);
  /// @return one of no bytes at the end; none: it is empty, does not begin with '@', or there is no end in 16
  ///         times as many bytes
  std::optional<FastqPart> next(std::size_t size);
  bool begun() const { return begun_; }               ///< a part was given
  bool packed() const { return packed_ != nullptr; }  ///< that is how parts are given
  std::uint64_t stored_taken() const {
    return packed_ ? packed_->taken() : unpacked_ ? unpacked_->stored_taken() : at_;
  }

 private:
  static constexpr std::size_t kMostSizes = 16;
  std::optional<FastqPart> next_packed(std::size_t size);
  std::optional<FastqPart> next_plain(std::size_t size);
  std::optional<FastqPart> next_unpacked(std::size_t size);

  std::shared_ptr<const FastqFile> file_;
  std::uint64_t at_ = 0;                      // in it
  std::shared_ptr<PackedFastq> packed_;       // of gzip whose members are unpacked by who wants them
  std::unique_ptr<UnpackedStream> unpacked_;  // of other gzip
  std::string rest_;                          // of it, less than a record
  bool begun_ = false, ended_ = false;
};

}  // namespace warploom::io
