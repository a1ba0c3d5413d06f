#include "io/packed_fastq.hpp"

#include <libdeflate.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <new>
#include <utility>

#include "io/fastq_text.hpp"
#include "io/gzip_members.hpp"
#include "warploom/core/error.hpp"

namespace warploom::io {
namespace {

constexpr std::size_t kHead = 64;               // bytes of a member that tell how long it is, most often
constexpr std::size_t kMostHead = 1 << 17;      // and always
constexpr std::size_t kMostMember = 64U << 20;  // bytes that are unpacked in one piece
constexpr std::size_t kMostWithin = 16;         // parts of one record

}  // namespace

bool PackedFastq::is(const InputFile& file) {
  std::string head(kMostHead, '\0');
  head.resize(file.read_at(0, head));
  return file.size() && told_length(head);
}

std::optional<PackedFastq::Part> PackedFastq::next(std::size_t size) {
  const std::uint64_t end = file_.size().value_or(0);
  Part part{.number = parts_, .begin = taken_};
  bool begun = parts_ > 0;
  std::string head;
  while (taken_ < end && part.content < size) {
    std::optional<std::size_t> length;
    for (std::size_t count = kHead; !length && count <= kMostHead; count *= kMostHead / kHead) {
      head.resize(count);
      head.resize(file_.read_at(taken_, head));
      length = told_length(head);
    }
    std::array<char, 4> content{};
    if (!length || *length > end - taken_ ||
        file_.read_at(taken_ + *length - content.size(), content) < content.size())
      return std::nullopt;
    part.content += little_endian({content.data(), content.size()}, 0, content.size());
    taken_ += *length;
    part.stored = taken_ - part.begin;
    if (part.content > kMostMember || part.stored > kMostMember) return std::nullopt;
    if (!begun && part.content > 0) {
      begun = true;
      std::string text;
      if (!unpack(part, text) || !text.starts_with('@')) return std::nullopt;
    }
  }
  part.last = taken_ == end;
  if (part.stored > 0) ++parts_;
  return part;
}

/// To the begin of `memory`, behind which a byte is left.
bool PackedFastq::unpack(const Part& part, std::string& memory) const {
  const std::size_t packed = part.content + 1;
  if (memory.size() < packed + part.stored) memory.resize(packed + part.stored);
  const std::span<char> members = std::span(memory).subspan(packed, part.stored);
  if (file_.read_at(part.begin, members) < members.size()) return false;
  const std::unique_ptr<libdeflate_decompressor, decltype(&libdeflate_free_decompressor)> decompressor(
      libdeflate_alloc_decompressor(), &libdeflate_free_decompressor);
  if (!decompressor) throw std::bad_alloc();
  std::size_t filled = 0;
  for (std::size_t at = 0; at < members.size();) {
    std::size_t used = 0, made = 0;
    if (libdeflate_gzip_decompress_ex(decompressor.get(), members.data() + at, members.size() - at,
                                      memory.data() + filled, part.content - filled, &used,
                                      &made) != LIBDEFLATE_SUCCESS)
      return false;
    at += used;
    filled += made;
  }
  return filled == part.content;
}

/// @return texts of whole records that this part completes, at most two; none: a record is too long
std::optional<std::vector<std::string>> PackedFastq::join(std::uint64_t number, Seam seam) {
  const std::lock_guard lock(mutex_);
  const auto [here, is_new] = seams_.emplace(number, std::move(seam));
  if (!is_new) throw BadInput("a packed text gives its letters once");
  std::vector<std::string> joined;
  // From where a record begins, over parts in which none does, to where the next one does.
  const auto join_from = [&](auto from) {
    auto to = from;
    do {
      const auto next = std::next(to);
      if (next == seams_.end() || next->first != to->first + 1) return;
      to = next;
    } while (to->second.within);
    std::string text = std::exchange(from->second.tail, {});
    for (auto at = from; at != to;) text += std::exchange((++at)->second.head, {});
    joined.push_back(std::move(text));
  };
  std::size_t within = 0;
  for (auto left = here; left != seams_.begin() && std::prev(left)->first + 1 == left->first;) {
    --left;
    if (!left->second.within) {
      join_from(left);
      break;
    }
    if (++within > kMostWithin) return std::nullopt;
  }
  if (!here->second.within && !here->second.last) join_from(here);
  return joined;
}

std::optional<std::string_view> PackedFastq::letters(const Part& part, int least_quality,
                                                     std::string& memory) {
  if (!unpack(part, memory)) return std::nullopt;
  std::size_t size = part.content;
  if (part.last && size > 0 && memory[size - 1] != '\n') memory[size++] = '\n';
  const std::string_view text = std::string_view(memory).substr(0, size);
  if (part.number == 0 && !text.starts_with('@')) return std::nullopt;
  std::size_t begin = part.number == 0 ? 0 : first_record(text);
  const bool within = begin == text.npos;
  if (within) begin = size;
  std::size_t end = part.last ? size : last_record(text);
  if (end == text.npos || end < begin) end = begin;
  const auto joined = join(part.number, {std::string(text.substr(0, begin)), std::string(text.substr(end)),
                                         within && !part.last, part.last});
  if (!joined) return std::nullopt;
  std::size_t used = 0;
  const auto add = [&](std::string_view records) {
    const std::optional<std::size_t> put = put_letters(records, least_quality, memory.data() + used);
    used += put.value_or(0);
    return put.has_value();
  };
  if (!add(text.substr(begin, end - begin))) return std::nullopt;
  for (const std::string& records : *joined) {
    if (memory.size() < used + records.size()) memory.resize(used + records.size());
    if (!add(records)) return std::nullopt;
  }
  return std::string_view(memory).substr(0, used);
}

}  // namespace warploom::io
