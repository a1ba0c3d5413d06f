#include "io/fastq_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "core/instruction_sets.hpp"
#include "io/letter_loops.hpp"
#include "io/sequence_letters.hpp"
#include "io/words.hpp"
#include "warploom/core/error.hpp"
#include "warploom/io/gzip.hpp"
#include "warploom/io/sequence_stream.hpp"

namespace warploom::io {

std::size_t last_record(std::string_view text) {
  std::size_t next = text.npos, after_next = text.npos;  // the lines behind the one that is looked at
  for (std::size_t end = text.size(); end > 0;) {
    const std::size_t newline = text.rfind('\n', end - 1);
    if (newline == text.npos) break;
    const std::size_t line = newline + 1;
    if (after_next != text.npos && text[line] == '@' && text[after_next] == '+') return line;
    after_next = std::exchange(next, line < text.size() ? line : text.npos);
    end = newline;
  }
  return text.npos;
}

std::size_t first_record(std::string_view text) {
  std::size_t before = text.npos, line = text.npos;  // the lines before the one that is looked at
  for (std::size_t end = text.find('\n'); end != text.npos && end + 1 < text.size();
       end = text.find('\n', end + 1)) {
    if (before != text.npos && text[before] == '@' && text[end + 1] == '+') return before;
    before = std::exchange(line, end + 1);
  }
  return text.npos;
}

std::optional<std::size_t> put_letters(std::string_view text, int least_quality, char* to) {
  char* const begin = to;
  const char* at = text.data();
  const char* const end = at + text.size();
  std::string_view line;
  const auto next = [&] {
    const auto* newline = static_cast<const char*>(std::memchr(at, '\n', static_cast<std::size_t>(end - at)));
    if (newline == nullptr) return false;
    line = {at, newline};
    if (line.ends_with('\r')) line.remove_suffix(1);
    at = newline + 1;
    return true;
  };
  while (next()) {
    if (!line.starts_with('@')) {
      if (trimmed(line).empty()) continue;
      return std::nullopt;
    }
    if (!next()) return std::nullopt;
    const std::string_view letters = line;
    if (!next() || !line.starts_with('+') || !next() || line.size() != letters.size()) return std::nullopt;
    if (least_quality > 0 && !all_letters(letters)) return std::nullopt;
    std::memmove(to, letters.data(), letters.size());
    if (least_quality > 0)
      for (std::size_t k = 0; k < line.size(); ++k) to[k] = line[k] < '!' + least_quality ? 'N' : to[k];
    to += letters.size();
    *to++ = SequenceStream::kEnd;
  }
  // All at once, in long vectors.
  static const LetterLoops& loops = *WARPLOOM_PICK(letter_loops);
  const auto count = static_cast<std::size_t>(to - begin);
  return loops.are_sequences(begin, count) ? std::optional(count) : std::nullopt;
}

FastqSource::FastqSource(const std::filesystem::path& path, unsigned threads, bool packed)
    : file_(std::make_shared<FastqFile>(path)) {
  std::string head(4, '\0');
  head.resize(file_->bytes.read_at(0, head));
  if (!is_gzip(head)) return;
  if (packed && PackedFastq::is(file_->bytes))
    packed_ = std::make_shared<PackedFastq>(path);
  else
    unpacked_ = std::make_unique<UnpackedStream>(path, threads);
}

std::optional<FastqPart> FastqSource::next(std::size_t size) {
  return packed_ ? next_packed(size) : unpacked_ ? next_unpacked(size) : next_plain(size);
}

std::optional<FastqPart> FastqSource::next_packed(std::size_t size) {
  const auto part = packed_->next(size);
  if (!part) return std::nullopt;
  begun_ = true;
  return FastqPart{.packed = std::make_shared<PackedPart>(PackedPart{packed_, *part}), .size = part->stored};
}

std::optional<FastqPart> FastqSource::next_plain(std::size_t size) {
  const std::uint64_t left = file_->bytes.size().value_or(0) - at_;
  if (!begun_) {
    std::array<char, 1> first{};
    if (left == 0 || file_->bytes.read_at(0, first) == 0 || first[0] != '@') return std::nullopt;
  }
  FastqPart part{.file = file_, .begin = at_, .size = left};
  constexpr std::size_t kWindow = 4096;
  std::string window;
  for (std::size_t tried = size; tried < left; tried *= 2) {
    if (tried / kMostSizes > size) return std::nullopt;
    // Most records end within a window; where they do not, it doubles up to all that is tried.
    std::size_t whole = window.npos;
    for (std::size_t length = std::min(kWindow, tried); whole == window.npos; length *= 2) {
      length = std::min(length, tried);
      window.resize(length);
      window.resize(file_->bytes.read_at(at_ + tried - length, window));
      whole = last_record(window);
      if (whole != window.npos) part.size = tried - length + whole;
      if (length == tried) break;
    }
    if (whole != window.npos) break;
  }
  begun_ = true;
  at_ += part.size;
  if (at_ == file_->bytes.size() && part.size > 0) {
    std::array<char, 1> last{};
    file_->bytes.read_at(at_ - 1, last);
    part.adds_end = last[0] != '\n';
    part.size += part.adds_end ? 1 : 0;
  }
  return part;
}

std::optional<FastqPart> FastqSource::next_unpacked(std::size_t size) {
  // Not a string: it would write zeros first, while all other threads wait for their texts.
  const auto with_room = [](std::string_view text, std::size_t room) {
    auto memory = std::make_shared_for_overwrite<char[]>(room + 1);  // an LF may follow
    std::ranges::copy(text, memory.get());
    return memory;
  };
  std::size_t filled = rest_.size();
  std::shared_ptr<char[]> content = with_room(rest_, std::max(filled, size));
  rest_.clear();
  for (std::size_t tried = size; !ended_; tried *= 2) {
    if (tried / kMostSizes > size) return std::nullopt;
    const std::size_t room = std::max(filled, tried);
    if (tried > size) content = with_room({content.get(), filled}, room);
    const std::size_t got = unpacked_->read({content.get() + filled, room - filled});
    ended_ = filled + got < room;
    filled += got;
    if (ended_) break;
    const std::string_view text(content.get(), filled);
    const std::size_t whole = last_record(text);
    if (whole != text.npos) {
      rest_ = text.substr(whole);
      filled = whole;
      break;
    }
  }
  if (!begun_ && (filled == 0 || content[0] != '@')) return std::nullopt;
  begun_ = true;
  if (filled > 0 && content[static_cast<std::ptrdiff_t>(filled) - 1] != '\n')
    content[static_cast<std::ptrdiff_t>(filled++)] = '\n';
  return FastqPart{.content = std::move(content), .size = filled};
}

void FastqText::read(std::size_t begin, std::span<char> to) const {
  if (packed_) throw BadInput("a text that is packed gives its letters alone");
  if (begin > size_ || to.size() > size_ - begin)
    throw BadInput(fmt::format("bytes {} to {} of a text of {}", begin, begin + to.size(), size_));
  if (to.empty()) return;
  if (!file_) {
    std::memcpy(to.data(), content_.get() + begin, to.size());
    return;
  }
  const std::size_t stored = std::min(to.size(), size_ - begin - (adds_end_ ? 1 : 0));
  if (file_->bytes.read_at(begin_ + begin, to.first(stored)) < stored)
    throw BadInput(fmt::format("{} became shorter while it was read", file_->name));
  if (stored < to.size()) to.back() = '\n';
}

std::optional<std::string_view> FastqText::letters(std::string& memory) const {
  if (packed_) return packed_->file->letters(packed_->part, least_quality_, memory);
  if (memory.size() < size_) memory.resize(size_);
  read(0, std::span(memory).first(size_));
  // Letters move to the front, where a record's header was at least.
  const std::optional<std::size_t> count =
      put_letters(std::string_view(memory).substr(0, size_), least_quality_, memory.data());
  return count ? std::optional(std::string_view(memory).substr(0, *count)) : std::nullopt;
}

}  // namespace warploom::io
