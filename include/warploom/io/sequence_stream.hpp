#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace warploom::io {

struct FastqFile;
struct PackedPart;

/// Whole records of FASTQ as they stand in a file, four lines each, LF behind the last. What is in them is
/// not judged. It stays what it is while its stream goes on; several threads may read it at once.
class FastqText {
 public:
  /// Bytes; of one that is packed, as it is stored.
  std::size_t size() const { return size_; }
  /// Fills `to` with its bytes from `begin` on.
  /// @throws BadInput (it has fewer, or is packed; the file cannot be read, or is shorter now), Interrupted
  void read(std::size_t begin, std::span<char> to) const;
  /// Its letters as SequenceStream::next() gives them, in `memory`, which grows to size().
  /// Where it is packed, they are those of records that end in it, or in one that was asked before; so each
  /// of a file's texts is asked once.
  /// @return none where some of it is no record of four lines, or broken gzip: next() is to read that
  /// @throws as read(); BadInput (it is packed, and was asked before)
  std::optional<std::string_view> letters(std::string& memory) const;
  int least_quality() const { return least_quality_; }  ///< of the stream

 private:
  friend class SequenceStream;
  std::shared_ptr<const PackedPart> packed_ = {};  // none: what follows
  std::shared_ptr<const FastqFile> file_ = {};     // none: content_
  std::shared_ptr<const char[]> content_ = {};
  std::uint64_t begin_ = 0;  // in the file
  std::size_t size_ = 0;
  bool adds_end_ = false;  // the last of them is an LF that the file lacks
  int least_quality_ = 0;
};

/// The letters of the sequences in FASTA and FASTQ files, in pieces: of files that are larger than memory, of
/// pipes, of gzip. Which format a file has, its first letter tells ('>' or ';', '@'). Lines end in LF or
/// CRLF; sequences and qualities may have several; blank lines between records, a byte order mark and FASTA's
/// lines that begin with ';' are skipped. One call at a time: a second one at once throws BadInput, and so
/// does one of a stream that was moved from. Files of gzip are unpacked ahead by threads of their own, as
/// many as threads() was when the stream was made; of fewer than four, one unpacks members that do not say
/// how long they are (bgzip's and gzip()'s do).
class SequenceStream {
 public:
  static constexpr char kEnd = '\n';  ///< follows each sequence in a piece

  /// @param paths          "-" is standard input; they are read in this order, each is opened at its turn
  /// @param least_quality  letters of FASTQ with less are given as 'N' (Phred, stored as letters from '!' on)
  /// @throws BadInput (no paths; a quality below 0 or above 93)
  explicit SequenceStream(std::vector<std::filesystem::path> paths, int least_quality = 0);
  /// One file's content, which is in memory. @param name  for messages @throws BadInput (as above; as next())
  static SequenceStream of_text(std::string content, std::string name, int least_quality = 0);
  SequenceStream(SequenceStream&&) noexcept;
  SequenceStream& operator=(SequenceStream&&) noexcept;
  ~SequenceStream();

  /// Replaces `piece` by the next letters as the files have them, kEnd behind each sequence: some `size`, and
  /// more where one FASTQ record is longer. A FASTA sequence may go on in the next piece, which then begins
  /// with its last `overlap` letters again.
  /// @return false: there was nothing more
  /// @throws BadInput (a file that is missing, not to be read or empty; broken gzip), ParseError with the
  ///         file's name and line (text before the first header; a FASTA record without letters; what is no
  ///         letter, '*' or '-'; FASTQ without '+', with qualities of another length or that ends within a
  ///         record), Interrupted
  bool next(std::string& piece, std::size_t size, std::size_t overlap);

  /// The next FASTQ: some `size` bytes, more (up to sixteen times as many) where a record is longer; of one
  /// file. Plain files are not read yet, but for the ends of a record. An empty one: there was nothing more.
  /// @param packed  texts of gzip whose members say how long they are come as they are stored, and are
  ///                unpacked by who asks for their letters; the same for all of a file
  /// @return none: what comes is no such record, or rewind() could not undo this call, so that next() is to
  ///         read it, after rewind() if there was another one before
  /// @throws as next() (a file, gzip)
  std::optional<FastqText> next_fastq(std::size_t size, bool packed = false);
  /// Goes back to the first letter of the first file, as after next_fastq() gave none.
  /// @throws BadInput (a pipe or a text)
  void rewind();

  std::uint64_t records() const;       ///< so far, not those of next_fastq()
  std::uint64_t stored_taken() const;  ///< bytes of the files as they are stored, so far
  /// Of all files; none where one is a pipe or is missing.
  std::optional<std::uint64_t> stored_bytes() const;
  /// A line a file, with its size and time, and the least quality: what is the same gives the same letters.
  /// Empty where one is no file, or is missing.
  std::string identity() const;

 private:
  class File;
  struct State;
  SequenceStream(std::unique_ptr<State> state, std::nullptr_t);

  std::unique_ptr<State> state_;
};

}  // namespace warploom::io
