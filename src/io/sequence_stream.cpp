#include "warploom/io/sequence_stream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "core/one_caller.hpp"
#include "io/fastq_text.hpp"
#include "io/printable.hpp"
#include "io/sequence_letters.hpp"
#include "io/unpacked_stream.hpp"
#include "io/words.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/core/threads.hpp"
#include "warploom/io/gzip.hpp"

namespace warploom::io {
namespace {

constexpr std::size_t kBuffer = 1 << 20;
constexpr int kMostQuality = 93;

/// The lines of a stream, in fragments where they are long.
class LineFragments {
 public:
  explicit LineFragments(UnpackedStream stream) : stream_(std::move(stream)), buffer_(kBuffer) {}

  struct Fragment {
    std::string_view text = {};  ///< without LF and CRLF; valid until the next call
    bool begins = true, ends = true;
  };

  /// @return false at the end
  bool next(Fragment& fragment) {
    fragment.begins = !within_;
    if (!within_) ++number_;
    if (begin_ == end_ && !fill()) return false;
    char* from = buffer_.data() + begin_;
    auto* newline = static_cast<char*>(std::memchr(from, '\n', end_ - begin_));
    if (newline == nullptr && begin_ > 0) {  // the line's rest may follow: what there is goes to the front
      fill();
      from = buffer_.data();
      newline = static_cast<char*>(std::memchr(from, '\n', end_));
    }
    std::size_t length = newline != nullptr ? static_cast<std::size_t>(newline - from) : end_ - begin_;
    // A CR at the end of a fragment may belong to the LF that comes next.
    const bool at_end = newline == nullptr && ended_;
    if (newline == nullptr && !ended_ && length > 1 && from[length - 1] == '\r') --length;
    fragment.ends = newline != nullptr || at_end;
    begin_ += length + (newline != nullptr ? 1 : 0);
    fragment.text = {from, length};
    if (fragment.ends && fragment.text.ends_with('\r')) fragment.text.remove_suffix(1);
    within_ = !fragment.ends;
    return true;
  }

  unsigned number() const { return number_; }  ///< of the line, from 1
  const std::string& name() const { return stream_.name(); }
  std::uint64_t stored_taken() const { return stream_.stored_taken(); }

 private:
  bool fill() {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
    const std::size_t got = ended_ ? 0 : stream_.read(std::span(buffer_).subspan(end_));
    ended_ = end_ + got < buffer_.size();
    end_ += got;
    return end_ > 0;
  }

  UnpackedStream stream_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;  // what is not given yet
  unsigned number_ = 0;
  bool within_ = false, ended_ = false;
};

int checked(int quality) {
  if (quality < 0 || quality > kMostQuality)
    throw BadInput(fmt::format("a least quality of {}; 0 to {} are stored", quality, kMostQuality));
  return quality;
}

}  // namespace

/// One file, which is in the middle of something.
class SequenceStream::File {
 public:
  File(LineFragments lines, int least_quality) : lines_(std::move(lines)), least_quality_(least_quality) {
    more_ = lines_.next(line_);
    if (line_.text.starts_with(kByteOrderMark)) line_.text.remove_prefix(kByteOrderMark.size());
    skip_blank();
    if (!more_) throw BadInput(fmt::format("{}: it has no sequence", lines_.name()));
    fastq_ = line_.text.starts_with('@');
    if (!fastq_ && !line_.text.starts_with('>') && !line_.text.starts_with(';'))
      fail(1, "neither FASTA nor FASTQ: the first header, '>' or '@', is to come first");
  }

  /// Appends until `piece` has `size`. @return false where there was nothing more
  bool append(std::string& piece, std::size_t size, std::size_t overlap) {
    if (within_sequence_) piece += rest_;
    const std::size_t repeated = piece.size();
    while (more_ && piece.size() - repeated < std::max<std::size_t>(size, 1)) {
      if (fastq_)
        append_fastq(piece);
      else
        append_fasta(piece);
    }
    if (within_sequence_) {
      const std::size_t begin = piece.rfind(kEnd) + 1;  // of the sequence's part in this piece
      rest_.assign(piece, std::max(begin, piece.size() - std::min(piece.size(), overlap)));
      if (!more_) end_fasta_sequence(piece);
    }
    return piece.size() > repeated;
  }

  std::uint64_t records() const { return records_; }
  std::uint64_t stored_taken() const { return lines_.stored_taken(); }

 private:
  void next() { more_ = lines_.next(line_); }
  void skip_blank() {
    while (more_ && line_.begins && line_.ends && trimmed(line_.text).empty()) next();
  }
  [[noreturn]] void fail(std::size_t column, const std::string& what) const {
    throw ParseError({lines_.name(), lines_.number(), static_cast<unsigned>(column)}, what);
  }

  void append_letters(std::string& piece) {
    if (all_letters(line_.text)) {
      piece += line_.text;
      letters_ += line_.text.size();
      return;
    }
    for (std::size_t k = 0; k < line_.text.size(); ++k) {
      const char c = line_.text[k];
      if (is_letter(static_cast<unsigned char>(c))) {
        piece += c;
        ++letters_;
      } else if (c != ' ' && c != '\t') {
        fail(k + 1, c == '\r' ? "a CR that no LF follows: convert the ends of lines to LF"
                              : fmt::format("the character '{}' ({}) is no letter of a sequence",
                                            printable({&c, 1}), static_cast<unsigned char>(c)));
      }
    }
  }

  /// A line's rest, which is of no interest.
  void skip_line() {
    while (more_ && !line_.ends) next();
    next();
  }

  void append_fasta(std::string& piece) {
    if (line_.begins && line_.text.starts_with('>')) {
      if (within_sequence_) end_fasta_sequence(piece);
      within_sequence_ = true;
      letters_ = 0;
      header_ = lines_.number();
      ++records_;
      skip_line();
    } else if (line_.begins && line_.text.starts_with(';')) {
      skip_line();
    } else if (!within_sequence_) {
      skip_blank();
      if (more_ && !line_.text.starts_with('>') && !line_.text.starts_with(';'))
        fail(1, "a sequence before the first header, '>'");
    } else {
      append_letters(piece);
      next();
    }
  }

  void end_fasta_sequence(std::string& piece) {
    if (letters_ == 0) throw ParseError({lines_.name(), header_, 1}, "a record without a sequence");
    piece += kEnd;
    within_sequence_ = false;
    rest_.clear();
  }

  void append_fastq(std::string& piece) {
    skip_blank();
    if (!more_) return;
    if (!line_.text.starts_with('@')) fail(1, "a FASTQ record begins with '@'");
    ++records_;
    letters_ = 0;
    const std::size_t begin = piece.size();
    skip_line();
    std::uint64_t lines = 0;
    while (more_ && !(line_.begins && line_.text.starts_with('+'))) {
      if (line_.begins && line_.text.starts_with('@')) fail(1, "a header before the '+' of the record above");
      append_letters(piece);
      lines += line_.ends ? 1 : 0;
      next();
    }
    if (!more_) fail(1, "the file ends before the '+' of its last record");
    skip_line();
    std::uint64_t qualities = 0;
    while (more_ && qualities < letters_) {
      const std::uint64_t others = qualities + line_.text.size();
      if (others > letters_ || (others < letters_ && line_.ends && lines == 1))
        fail(1,
             fmt::format("{}{} qualities of {} letters", line_.ends ? "" : "more than ", others, letters_));
      mask(piece.data() + begin + qualities);
      qualities = others;
      next();
    }
    if (qualities < letters_)
      fail(1, fmt::format("the file ends within its last record: {} qualities of {} letters", qualities,
                          letters_));
    piece += kEnd;
  }

  /// Replaces letters that this line's qualities call bad.
  void mask(char* letters) const {
    if (least_quality_ == 0) return;
    for (std::size_t k = 0; k < line_.text.size(); ++k)
      if (line_.text[k] < '!' + least_quality_) letters[k] = 'N';
  }

  LineFragments lines_;
  LineFragments::Fragment line_;
  bool more_ = false;  // line_ is the next that is not taken yet
  bool fastq_ = false;
  int least_quality_;
  bool within_sequence_ = false;  // of FASTA
  std::string rest_;              // its last letters, which the next piece repeats
  std::uint64_t letters_ = 0;     // of the record
  unsigned header_ = 0;           // line of its header
  std::uint64_t records_ = 0;
};

struct SequenceStream::State {
  static constexpr std::string_view kName = "io::SequenceStream";

  State(std::vector<std::filesystem::path> of, int quality)
      : paths(std::move(of)), least_quality(checked(quality)), unpacking(threads()) {}

  std::vector<std::filesystem::path> paths;
  int least_quality;
  unsigned unpacking;  // threads
  std::optional<std::uint64_t> stored_bytes = 0;
  std::size_t next = 0;  // of paths
  std::unique_ptr<File> file = {};
  std::unique_ptr<FastqSource> fastq = {};  // the file that next_fastq() is in
  std::uint64_t records = 0, taken = 0;     // of the files before
  OneCaller caller = {};
};

SequenceStream::SequenceStream(std::unique_ptr<State> state, std::nullptr_t) : state_(std::move(state)) {}

SequenceStream::SequenceStream(std::vector<std::filesystem::path> paths, int least_quality)
    : state_(std::make_unique<State>(std::move(paths), least_quality)) {
  if (state_->paths.empty()) throw BadInput("no files of sequences were given");
  for (const std::filesystem::path& path : state_->paths) {
    std::error_code error;
    const bool regular = path != "-" && std::filesystem::is_regular_file(path, error);
    const std::uint64_t bytes = regular ? std::filesystem::file_size(path, error) : 0;
    if (!regular || error) state_->stored_bytes.reset();
    if (state_->stored_bytes) *state_->stored_bytes += bytes;
  }
}

SequenceStream SequenceStream::of_text(std::string content, std::string name, int least_quality) {
  auto state = std::make_unique<State>(std::vector<std::filesystem::path>(), least_quality);
  state->stored_bytes = content.size();
  LineFragments lines{UnpackedStream(std::move(content), std::move(name), state->unpacking)};
  state->file = std::make_unique<File>(std::move(lines), least_quality);
  return {std::move(state), nullptr};
}

SequenceStream::SequenceStream(SequenceStream&&) noexcept = default;
SequenceStream& SequenceStream::operator=(SequenceStream&&) noexcept = default;
SequenceStream::~SequenceStream() = default;

bool SequenceStream::next(std::string& piece, std::size_t size, std::size_t overlap) {
  const CallOf<State> state(state_, "a stream of sequences", State::kName);
  piece.clear();
  while (true) {
    if (!state->file) {
      if (state->next == state->paths.size()) return false;
      LineFragments lines{UnpackedStream(state->paths[state->next++], state->unpacking)};
      state->file = std::make_unique<File>(std::move(lines), state->least_quality);
    }
    if (state->file->append(piece, size, overlap)) return true;
    state->records += state->file->records();
    state->taken += state->file->stored_taken();
    state->file.reset();
  }
}

std::optional<FastqText> SequenceStream::next_fastq(std::size_t size, bool packed) {
  const CallOf<State> state(state_, "a stream of sequences", State::kName);
  if (state->file || state->paths.empty() || !state->stored_bytes) return std::nullopt;
  while (true) {
    check_interrupt();
    if (!state->fastq) {
      if (state->next == state->paths.size()) return FastqText();
      state->fastq = std::make_unique<FastqSource>(state->paths[state->next++], state->unpacking, packed);
    }
    if (state->fastq->packed() && !packed) return std::nullopt;
    std::optional<FastqPart> part = state->fastq->next(std::max<std::size_t>(size, 1));
    if (!part) {
      if (!state->fastq->begun()) {  // next() begins with this file
        state->fastq.reset();
        --state->next;
      }
      return std::nullopt;
    }
    if (part->size == 0) {
      state->taken += state->fastq->stored_taken();
      state->fastq.reset();
      continue;
    }
    FastqText text;
    text.packed_ = std::move(part->packed);
    text.file_ = part->file;
    text.content_ = std::move(part->content);
    text.begin_ = part->begin;
    text.size_ = part->size;
    text.adds_end_ = part->adds_end;
    text.least_quality_ = state->least_quality;
    return text;
  }
}

void SequenceStream::rewind() {
  const CallOf<State> state(state_, "a stream of sequences", State::kName);
  if (state->paths.empty() || !state->stored_bytes)
    throw BadInput("a pipe and a text cannot be read once more");
  state->file.reset();
  state->fastq.reset();
  state->next = 0;
  state->records = state->taken = 0;
}

std::uint64_t SequenceStream::records() const {
  const CallOf<State> state(state_, "a stream of sequences", State::kName);
  return state->records + (state->file ? state->file->records() : 0);
}

std::uint64_t SequenceStream::stored_taken() const {
  const CallOf<State> state(state_, "a stream of sequences", State::kName);
  return state->taken + (state->file ? state->file->stored_taken() : 0) +
         (state->fastq ? state->fastq->stored_taken() : 0);
}

std::string SequenceStream::identity() const {
  const CallOf<State> state(state_, "a stream of sequences", State::kName);
  std::string text = state->paths.empty() ? "" : fmt::format("least quality {}\n", state->least_quality);
  for (const std::filesystem::path& path : state->paths) {
    std::error_code error;
    if (path == "-" || !std::filesystem::is_regular_file(path, error)) return {};
    const std::uint64_t size = std::filesystem::file_size(path, error);
    const auto time = std::filesystem::last_write_time(path, error).time_since_epoch().count();
    if (error) return {};
    text += fmt::format("{} of {} bytes, time {}\n", path.string(), size, time);
  }
  return text;
}

std::optional<std::uint64_t> SequenceStream::stored_bytes() const {
  return CallOf<State>(state_, "a stream of sequences", State::kName)->stored_bytes;
}

}  // namespace warploom::io
