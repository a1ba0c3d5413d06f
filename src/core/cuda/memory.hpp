#pragma once

/// Memory of the current device, and pinned memory on the way there: what back ends share.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "core/cuda/owners.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/core/threads.hpp"

namespace warploom {

/// Arrays one behind the other in one piece of memory. Without memory it only measures.
class Carver {
 public:
  explicit Carver(std::byte* memory = nullptr) : begin_(reinterpret_cast<std::uintptr_t>(memory)) {}
  template <class T>
  T* take(std::int64_t count) {
    const std::size_t at = used_;
    used_ += (static_cast<std::size_t>(count) * sizeof(T) + 255) / 256 * 256;
    return reinterpret_cast<T*>(begin_ + at);
  }
  std::size_t used() const { return used_; }

 private:
  std::uintptr_t begin_;
  std::size_t used_ = 0;
};

/// Arrays are laid out one after the other; then all of them are allocated at once.
class DeviceArena {
 public:
  /// The place of so many elements, for at().
  template <class Element>
  std::uint64_t add(std::uint64_t count) {
    return reinterpret_cast<std::uintptr_t>(layout_.take<Element>(static_cast<std::int64_t>(count)));
  }
  std::uint64_t bytes() const { return layout_.used(); }
  /// Not initialised. @throws OutOfMemory
  void allocate() { memory_ = make_device<std::byte>(bytes()); }
  /// Only after allocate().
  template <class Element>
  Element* at(std::uint64_t place) const {
    return reinterpret_cast<Element*>(memory_.get() + place);
  }

 private:
  Carver layout_;
  DeviceArray<std::byte> memory_;
};

/// Memory that is kept between calls and grows as it is asked for more; what was in it is lost then.
template <class Array, Array (*kMake)(std::size_t)>
struct Growing {
  Array memory;
  std::size_t bytes = 0;
  void reserve(std::size_t wanted) {
    if (wanted <= bytes) return;
    bytes = 0;
    memory.reset();
    memory = kMake(wanted);
    bytes = wanted;
  }
};
using DeviceBuffer = Growing<DeviceArray<std::byte>, make_device<std::byte>>;
using PinnedBuffer = Growing<PinnedArray<std::byte>, make_pinned<std::byte>>;

/// Calls body(begin, count) for pieces of so many bytes, on several threads.
template <class Body>
void in_pieces(std::uint64_t bytes, const Body& body) {
  constexpr std::uint64_t kPiece = 256 << 10;
  parallel_for(static_cast<std::int64_t>((bytes + kPiece - 1) / kPiece), [&](std::int64_t piece) {
    const std::uint64_t begin = static_cast<std::uint64_t>(piece) * kPiece;
    body(begin, std::min(kPiece, bytes - begin));
  });
}
/// Between places of the host.
inline void copy_on_threads(void* to, const void* from, std::uint64_t bytes) {
  in_pieces(bytes, [&](std::uint64_t begin, std::uint64_t count) {
    std::memcpy(static_cast<std::byte*>(to) + begin, static_cast<const std::byte*>(from) + begin, count);
  });
}

/// Copies between memory of the host as it is and the device, through two pinned buffers: the one is on its
/// way while threads fill or empty the other. At its end it waits for the stream.
class PinnedPair {
 public:
  static constexpr std::uint64_t kChunk = 16 << 20;
  /// @param most  that a copy may have [bytes]; longer ones than the buffers go in chunks
  explicit PinnedPair(cudaStream_t stream, std::uint64_t most = kChunk)
      : chunk_(std::min(most, kChunk)), stream_(stream), wait_(stream) {
    for (Buffer& buffer : buffers_) buffer.memory = make_pinned<std::byte>(chunk_);
  }

  /// In the order of the stream. When it returns `host` has been read.
  void upload(void* device, const void* host, std::uint64_t bytes) {
    auto* const to = static_cast<std::byte*>(device);
    const auto* const from = static_cast<const std::byte*>(host);
    for (std::uint64_t begin = 0; begin < bytes; begin += chunk_) {
      const std::uint64_t size = std::min(chunk_, bytes - begin);
      const Buffer& buffer = at(begin);
      finish(buffer);
      copy_on_threads(buffer.memory.get(), from + begin, size);
      start(buffer, to + begin, buffer.memory.get(), size);
    }
  }

  /// Calls unpack(begin, data, count), on several threads: the device's elements [begin, begin + count).
  /// @param may_stop  false: whoever wants the run to stop waits until all is unpacked
  template <class Element, class Unpack>
  void download(const Element* device, std::uint64_t count, const Unpack& unpack, bool may_stop = true) {
    const auto* const from = reinterpret_cast<const std::byte*>(device);
    const std::uint64_t bytes = count * sizeof(Element);
    for (const Buffer& buffer : buffers_) finish(buffer, may_stop);
    const auto fetch = [&](std::uint64_t begin) {
      if (begin < bytes)
        start(at(begin), at(begin).memory.get(), from + begin, std::min(chunk_, bytes - begin));
    };
    fetch(0);
    for (std::uint64_t begin = 0; begin < bytes; begin += chunk_) {
      fetch(begin + chunk_);
      const Buffer& buffer = at(begin);
      finish(buffer, may_stop);
      in_pieces(std::min(chunk_, bytes - begin), [&](std::uint64_t first, std::uint64_t size) {
        unpack((begin + first) / sizeof(Element),
               reinterpret_cast<const Element*>(buffer.memory.get() + first), size / sizeof(Element));
      });
    }
  }

 private:
  struct Buffer {
    PinnedArray<std::byte> memory;
    CudaEvent copied = make_event();
  };

  const Buffer& at(std::uint64_t begin) const { return buffers_[begin / chunk_ % 2]; }
  void start(const Buffer& buffer, void* to, const void* from, std::uint64_t bytes) {
    cuda_check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_),
               "cudaMemcpy of " + std::to_string(bytes) + " bytes");
    cuda_check(cudaEventRecord(buffer.copied.get(), stream_), "cudaEventRecord");
  }
  static void finish(const Buffer& buffer, bool may_stop = true) {
    if (may_stop) check_interrupt();
    cuda_check(cudaEventSynchronize(buffer.copied.get()), "copying between host and GPU");
  }

  std::uint64_t chunk_;
  cudaStream_t stream_;
  std::array<Buffer, 2> buffers_;
  WaitAtEnd wait_;  // the last member: before the buffers are released
};

}  // namespace warploom
