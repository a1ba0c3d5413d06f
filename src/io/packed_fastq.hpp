#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "warploom/core/file.hpp"

namespace warploom::io {

/// A file of gzip whose members all say how long they are (bgzip, gzip() here), taken for FASTQ of four lines
/// a record. It is cut into parts of whole members; each is unpacked, and its letters are found, by the
/// thread that wants it. Of a record that goes on in the next part, the thread that comes last joins both.
class PackedFastq {
 public:
  /// Whether the file is such one, as far as its first bytes tell.
  static bool is(const InputFile& file);

  explicit PackedFastq(const std::filesystem::path& path) : file_(path) {}

  struct Part {
    std::uint64_t number = 0, begin = 0;  // in the file
    std::size_t stored = 0, content = 0;  // bytes, of `content` when unpacked
    bool last = false;
  };
  /// The next part, of `size` bytes or some more when unpacked. One thread at a time. @return one of nothing
  /// at the end; none: the file is another one
  std::optional<Part> next(std::size_t size);
  /// The letters of the records that end in a part and in those that came before it, as FastqText::letters()
  /// gives them. From any thread, once a part. @return none: the file is another one, or broken
  std::optional<std::string_view> letters(const Part& part, int least_quality, std::string& memory);

  std::uint64_t taken() const { return taken_; }

 private:
  /// What a part has of records that other parts have, too.
  struct Seam {
    std::string head = {}, tail = {};
    bool within = false;  // no record begins in it: all of it is `head`
    bool last = false;
  };
  bool unpack(const Part& part, std::string& memory) const;
  std::optional<std::vector<std::string>> join(std::uint64_t number, Seam seam);

  InputFile file_;
  std::uint64_t taken_ = 0, parts_ = 0;
  std::mutex mutex_;
  std::map<std::uint64_t, Seam> seams_;
};

}  // namespace warploom::io
