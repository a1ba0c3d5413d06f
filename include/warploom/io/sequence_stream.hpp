#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace warploom::io {

/// The letters of the sequences in FASTA and FASTQ files, in pieces: of files that are larger than memory, of
/// pipes, of gzip. Which format a file has, its first letter tells ('>' or ';', '@'). Lines end in LF or
/// CRLF; sequences and qualities may have several; blank lines between records, a byte order mark and FASTA's
/// lines that begin with ';' are skipped. One call at a time: a second one at once throws BadInput, and so
/// does one of a stream that was moved from. Files of gzip are unpacked ahead by a thread of their own, and
/// by as many as threads() was when the stream was made where members say how long they are (bgzip, gzip()
/// here).
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

  /// Fills `buffer` with FASTQ as it stands in the files: whole records of four lines each, LF behind the
  /// last. What is in them is not judged. @return how many bytes; 0: there was nothing more; none: what comes
  /// is no such record, or rewind() could not undo this call, so that next() is to read it
  /// @throws as next() (a file, gzip)
  std::optional<std::size_t> next_fastq(std::span<char> buffer);
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
