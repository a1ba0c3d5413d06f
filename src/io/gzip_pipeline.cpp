#include "io/gzip_pipeline.hpp"

#include <fmt/format.h>
#include <libdeflate.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "io/deflate.hpp"
#include "io/gzip_members.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/log.hpp"
#include "warploom/core/progress.hpp"

namespace warploom::io {
namespace {

constexpr std::size_t kStored = 1 << 21;         // bytes of the stream that are held
constexpr std::size_t kMembers = 1 << 18;        // bytes of members that a thread takes at once
constexpr std::size_t kContent = 1 << 20;        // that one unpacks at once
constexpr std::size_t kLongestHeader = 1 << 12;  // that is looked at
// One thread of Inflater is as fast as three that decode ahead.
constexpr unsigned kLeastThreads = 4;
constexpr std::uint64_t kLong = 4 * ParallelMember::kPart;  // of a member that several threads unpack

}  // namespace

GzipPipeline::GzipPipeline(InputStream stream, std::string head, unsigned threads)
    : stream_(std::move(stream)),
      stored_(std::move(head)),
      end_(stored_.size()),
      most_threads_(stream_.size() ? std::max(1u, threads) : 0),
      pieces_(2 * most_threads_ + 2) {
  stored_.resize(std::max(stored_.size(), kStored));
  if (log_enabled(LogLevel::info))
    log(LogLevel::info, fmt::format("{}: gzip is unpacked by {}", stream_.name(), Inflater::name()));
  const std::lock_guard turn(turn_);  // the first thread starts others
  if (most_threads_ > 0) start_thread();
}

GzipPipeline::~GzipPipeline() {
  {
    const std::lock_guard lock(pieces_mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  { const std::lock_guard turn(turn_); }  // from here on no thread is started
  for (std::thread& thread : threads_) thread.join();
}

/// With the turn.
void GzipPipeline::start_thread() {
  threads_.emplace_back([this] { work(); });
}

void GzipPipeline::work() {
  while (true) {
    Piece piece;
    std::uint64_t number = 0;
    std::string memory;
    {
      const std::lock_guard turn(turn_);
      {
        std::unique_lock lock(pieces_mutex_);
        changed_.wait(lock, [&] { return stop_ || ended_ || made_ < given_ + pieces_.size(); });
        if (stop_ || ended_) return;
        if (!spare_.empty()) {
          memory = std::move(spare_.back());
          spare_.pop_back();
        }
      }
      number = made_++;
      piece = next_piece();
      if (piece.member) piece.content = std::move(memory);
      if ((!piece.members.empty() || piece.member) && threads_.size() < most_threads_) start_thread();
    }
    unpack(piece);
    const std::lock_guard lock(pieces_mutex_);
    piece.ready = true;
    pieces_[number % pieces_.size()] = std::move(piece);
    changed_.notify_all();
  }
}

/// Content, or members to be unpacked. @note An error ends the pieces.
GzipPipeline::Piece GzipPipeline::next_piece() {
  Piece piece;
  try {
    if (member_ && take_part(piece)) return piece;
    piece.begin = position_;
    if (!within_member_) take_members(piece);
    if (piece.members.empty() && !within_member_) begin_parallel();
    if (member_ && take_part(piece)) return piece;
    if (piece.members.empty()) inflate_some(piece);
    if (!within_member_) skip_zeros();
    piece.last = !within_member_ && begin_ == end_ && stream_ended_;
  } catch (...) {
    piece.error = std::current_exception();
  }
  piece.taken = position_;
  ended_ = piece.last || piece.error;
  return piece;
}

/// Reads until there are so many bytes. @return whether there are
bool GzipPipeline::refill(std::size_t least) {
  if (end_ - begin_ >= least) return true;
  std::memmove(stored_.data(), stored_.data() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  if (!stream_ended_) {
    const std::size_t room = stored_.size() - end_;
    const std::size_t got = stream_.read(std::span(stored_).subspan(end_));
    stream_ended_ = got < room;
    end_ += got;
  }
  return end_ >= least;
}

void GzipPipeline::take_members(Piece& piece) {
  refill(kMembers);
  std::size_t size = 0;
  while (size < kMembers) {
    const auto length = told_length(left().substr(size));
    if (!length || *length > left().size() - size) break;
    size += *length;
  }
  piece.members = left().substr(0, size);
  begin_ += size;
  position_ += size;
}

/// Where a member begins that is long, as far as one can know.
void GzipPipeline::begin_parallel() {
  if (most_threads_ < kLeastThreads || !members_are_long_ || !stream_.any_place()) return;
  skip_zeros();
  if (*stream_.size() - std::min(*stream_.size(), position_) < kLong) return;
  refill(kLongestHeader);
  if (const auto header = header_length(left()); header && !told_length(left()))
    member_ = std::make_shared<ParallelMember>(stream_, position_ + *header);
}

/// @return false: the member has ended, and what follows it is next
bool GzipPipeline::take_part(Piece& piece) {
  if (!member_->ended())
    if (const auto part = member_->next()) {
      piece.member = member_;
      piece.part = *part;
      piece.taken = part->end;
      return true;
    }
  if (!member_->wait_for_end()) {  // what is wrong is in another piece
    ended_ = true;
    piece.last = true;
    return true;
  }
  members_are_long_ = member_->end() - member_->begin() >= kLong;
  position_ = member_->end();
  member_.reset();
  stream_.go_to(position_);
  begin_ = end_ = 0;
  stream_ended_ = false;
  return false;
}

void GzipPipeline::inflate_some(Piece& piece) {
  piece.content.resize(kContent);
  std::size_t filled = 0;
  while (filled < kContent) {
    if (!within_member_) {
      skip_zeros();
      if (!refill(1)) break;
      if (left()[0] != '\x1f') refuse("is followed by bytes that are no gzip", position_);
      if (filled > 0 && told_length(left())) break;  // of those all threads unpack
      inflater_.begin();
      within_member_ = true;
    }
    const bool more = refill(1);
    const auto [used, made, member_ended, wrong] =
        inflater_.run(left(), std::span(piece.content).subspan(filled));
    begin_ += used;
    position_ += used;
    filled += made;
    if (!wrong.empty()) refuse(wrong, position_);
    if (member_ended)
      within_member_ = false;
    else if (!more && made == 0)
      refuse("is cut off", position_);
  }
  piece.content.resize(filled);
}

/// gzip(1) ignores zeros behind the last member.
void GzipPipeline::skip_zeros() {
  bool zeros = false;
  while (refill(1)) {
    const std::size_t count = std::min(left().find_first_not_of('\0'), left().size());
    begin_ += count;
    position_ += count;
    zeros |= count > 0;
    if (begin_ < end_) {
      if (zeros) refuse("is followed by zeros and other bytes", position_);
      return;
    }
  }
}

void GzipPipeline::unpack(Piece& piece) const {
  if (piece.member) {
    try {
      piece.made = piece.member->unpack(piece.part, std::move(piece.content));
      piece.content = std::move(piece.made.content);
      if (!piece.made.wrong.empty()) refuse(piece.made.wrong, piece.made.at);
    } catch (...) {
      piece.error = std::current_exception();
      piece.member->stop();
    }
    return;
  }
  if (piece.members.empty() || piece.error) return;
  try {
    const std::string_view members = piece.members;
    std::vector<std::size_t> begins;
    std::size_t content = 0;
    for (std::size_t at = 0; at < members.size();) {
      const std::size_t length = *told_length(members.substr(at));
      const std::size_t holds = little_endian(members, at + length - 4, 4);
      if (holds > kMostExpansion * length) refuse("is corrupt", piece.begin + at);
      begins.push_back(at);
      content += holds;
      at += length;
    }
    begins.push_back(members.size());
    piece.content.resize(content);
    const std::unique_ptr<libdeflate_decompressor, decltype(&libdeflate_free_decompressor)> decompressor(
        libdeflate_alloc_decompressor(), &libdeflate_free_decompressor);
    if (!decompressor) throw std::bad_alloc();
    std::size_t filled = 0;
    for (std::size_t k = 0; k + 1 < begins.size(); ++k) {
      const std::size_t holds = little_endian(members, begins[k + 1] - 4, 4);
      if (libdeflate_gzip_decompress(decompressor.get(), members.data() + begins[k],
                                     begins[k + 1] - begins[k], piece.content.data() + filled, holds,
                                     nullptr) != LIBDEFLATE_SUCCESS)
        refuse("is corrupt", piece.begin + begins[k]);
      filled += holds;
    }
  } catch (...) {
    piece.error = std::current_exception();
  }
  piece.members.clear();
}

GzipPipeline::Piece& GzipPipeline::wait_for_piece() {
  if (most_threads_ == 0) {
    Piece& piece = pieces_[0];
    if (ended_) return piece = Piece{.taken = position_, .last = true};
    piece = next_piece();
    unpack(piece);
    return piece;
  }
  Piece& piece = pieces_[given_ % pieces_.size()];
  std::unique_lock lock(pieces_mutex_);
  while (!changed_.wait_for(lock, std::chrono::milliseconds(50), [&] { return piece.ready; }))
    check_interrupt();
  return piece;
}

/// With the part that ends it, the checksum of a member.
void GzipPipeline::check_member(Piece& piece) {
  crc_ = joined_crc32(crc_, piece.made.crc, piece.content.size());
  bytes_ += static_cast<std::uint32_t>(piece.content.size());
  if (!piece.made.ends) return;
  if (crc_ != piece.made.told_crc || bytes_ != piece.made.told_bytes) try {
      refuse("does not fit its checksum", piece.member->end());
    } catch (...) {
      piece.error = std::current_exception();
    }
  crc_ = bytes_ = 0;
}

std::size_t GzipPipeline::read(std::span<char> buffer) {
  std::size_t filled = 0;
  while (filled < buffer.size()) {
    const std::size_t count = std::min(buffer.size() - filled, current_.content.size() - current_given_);
    std::memcpy(buffer.data() + filled, current_.content.data() + current_given_, count);
    filled += count;
    current_given_ += count;
    if (filled == buffer.size()) break;
    if (current_.error) std::rethrow_exception(current_.error);
    if (current_.last) break;
    Piece& piece = wait_for_piece();
    {
      const std::lock_guard lock(pieces_mutex_);
      if (current_.member && spare_.size() < pieces_.size()) spare_.push_back(std::move(current_.content));
      current_ = std::move(piece);
      piece = {};
      ++given_;
    }
    changed_.notify_all();
    current_given_ = 0;
    taken_ = current_.taken;
    if (current_.member && !current_.error) check_member(current_);
    if (current_.error) current_.content.clear();
  }
  return filled;
}

void GzipPipeline::refuse(const std::string& why, std::uint64_t at) const {
  throw BadInput(fmt::format("{}: the gzip stream {} (near byte {})", stream_.name(), why, at));
}

}  // namespace warploom::io
