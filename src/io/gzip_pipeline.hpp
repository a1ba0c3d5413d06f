#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "core/input_stream.hpp"
#include "io/inflater.hpp"
#include "io/parallel_member.hpp"

namespace warploom::io {

/// What gzip of one or more members holds, from the first byte to the last, unpacked ahead by threads of its
/// own, as many as are given where headers say how long members are (bgzip, gzip() here) and where a member
/// is long (ParallelMember); else by one. What comes through a pipe is unpacked by the thread that reads.
class GzipPipeline {
 public:
  /// @param head  bytes that were taken off the stream
  GzipPipeline(InputStream stream, std::string head, unsigned threads);
  GzipPipeline(const GzipPipeline&) = delete;
  GzipPipeline& operator=(const GzipPipeline&) = delete;
  ~GzipPipeline();

  const InputStream& stream() const { return stream_; }
  std::uint64_t taken() const { return taken_; }  ///< bytes as they are stored of what was given
  /// @return how many: less than the buffer has only at the end
  std::size_t read(std::span<char> buffer);

 private:
  struct Piece {
    std::string content = {};
    std::string members = {};                     // whole ones that are not unpacked yet
    std::uint64_t begin = 0;                      // of them
    std::shared_ptr<ParallelMember> member = {};  // a part of it is to be unpacked, `part`
    ParallelMember::Part part = {};
    ParallelMember::Made made = {};  // but for its content
    std::uint64_t taken = 0;         // when it was made
    std::exception_ptr error = {};
    bool last = false, ready = false;
  };

  void work();
  void start_thread();
  Piece next_piece();
  bool refill(std::size_t least);
  void take_members(Piece& piece);
  void inflate_some(Piece& piece);
  void begin_parallel();
  bool take_part(Piece& piece);
  void check_member(Piece& piece);
  void skip_zeros();
  void unpack(Piece& piece) const;
  Piece& wait_for_piece();
  std::string_view left() const { return std::string_view(stored_).substr(begin_, end_ - begin_); }
  [[noreturn]] void refuse(const std::string& why, std::uint64_t at) const;

  InputStream stream_;

  // Of the thread that has the turn: it takes the next bytes, and unpacks them unless others can.
  std::mutex turn_;
  std::string stored_;
  std::size_t begin_ = 0, end_ = 0;  // what is left of it
  std::uint64_t position_ = 0;       // of begin_ in the stream
  Inflater inflater_;
  bool within_member_ = false, ended_ = false, stream_ended_ = false;
  std::uint64_t made_ = 0;  // pieces
  unsigned most_threads_;
  std::shared_ptr<ParallelMember> member_;  // whose parts are taken
  bool members_are_long_ = true;

  std::mutex pieces_mutex_;
  std::condition_variable changed_;
  std::vector<Piece> pieces_;       // a ring
  std::vector<std::string> spare_;  // contents that were read, whose memory is there already
  std::uint64_t given_ = 0;         // pieces
  bool stop_ = false;
  std::vector<std::thread> threads_;

  // Of the reader.
  Piece current_;
  std::size_t current_given_ = 0;
  std::uint64_t taken_ = 0;
  std::uint32_t crc_ = 0, bytes_ = 0;  // of the member whose parts are given
};

}  // namespace warploom::io
