#pragma once

/// Device memory of a solution: one allocation cut into arrays, and copies of much between host and device.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "core/cuda_owners.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/core/threads.hpp"

namespace warploom::dp {

constexpr std::uint64_t aligned(std::uint64_t bytes) { return (bytes + 255) / 256 * 256; }

/// Arrays are laid out one after the other; then all of them are allocated at once.
class DeviceArena {
 public:
  /// The place of so many elements, for at().
  template <class Element>
  std::uint64_t add(std::uint64_t count) {
    const std::uint64_t place = bytes_;
    bytes_ += aligned(count * sizeof(Element));
    return place;
  }
  std::uint64_t bytes() const { return bytes_; }
  /// Not initialised. @throws OutOfMemory
  void allocate() { memory_ = make_device<std::byte>(bytes_); }
  /// Only after allocate().
  template <class Element>
  Element* at(std::uint64_t place) const {
    return reinterpret_cast<Element*>(memory_.get() + place);
  }

 private:
  std::uint64_t bytes_ = 0;
  DeviceArray<std::byte> memory_;
};

/// Host memory for many short arrays that go to the device in one copy.
class Staging {
 public:
  /// @return  the place of the elements, also in the copy on the device
  template <class Element>
  std::uint64_t put(const Element* elements, std::uint64_t count) {
    static_assert(std::is_trivially_copyable_v<Element>);
    const std::uint64_t place = bytes_.size();
    bytes_.resize(place + aligned(count * sizeof(Element)));
    replace(place, elements, count);
    return place;
  }
  template <class Element>
  void replace(std::uint64_t place, const Element* elements, std::uint64_t count) {
    if (count > 0) std::memcpy(bytes_.data() + place, elements, count * sizeof(Element));
  }
  const std::byte* data() const { return bytes_.data(); }
  std::uint64_t size() const { return bytes_.size(); }

 private:
  std::vector<std::byte> bytes_;
};

/// Two pinned buffers, so that the one is on its way while threads fill or empty the other.
class PinnedPair {
 public:
  /// @param most  that a copy may have [bytes]; longer ones than the buffers go in chunks
  explicit PinnedPair(std::uint64_t most) : chunk_(std::min(most, kChunk)) {
    for (Buffer& buffer : buffers_) {
      buffer.memory = make_pinned<std::byte>(chunk_);
      buffer.copied = make_event();
    }
  }

  void upload(void* device, const void* host, std::uint64_t bytes) {
    const WaitAtEnd wait(stream_.get());
    auto* to = static_cast<std::byte*>(device);
    const auto* from = static_cast<const std::byte*>(host);
    for (std::uint64_t begin = 0; begin < bytes; begin += chunk_) {
      const std::uint64_t size = std::min(chunk_, bytes - begin);
      const Buffer& buffer = at(begin);
      finish(buffer);
      in_pieces(size, [&](std::uint64_t first, std::uint64_t count) {
        std::memcpy(buffer.memory.get() + first, from + begin + first, count);
      });
      start(buffer, to + begin, buffer.memory.get(), size);
    }
    cuda_check(cudaStreamSynchronize(stream_.get()), "copying to the GPU");
  }

  /// Calls unpack(begin, data, count), on several threads: the device's elements [begin, begin + count).
  template <class Element, class Unpack>
  void download(const Element* device, std::uint64_t count, const Unpack& unpack) {
    const WaitAtEnd wait(stream_.get());
    const auto* from = reinterpret_cast<const std::byte*>(device);
    const std::uint64_t bytes = count * sizeof(Element);
    const auto fetch = [&](std::uint64_t begin) {
      if (begin < bytes)
        start(at(begin), at(begin).memory.get(), from + begin, std::min(chunk_, bytes - begin));
    };
    fetch(0);
    for (std::uint64_t begin = 0; begin < bytes; begin += chunk_) {
      fetch(begin + chunk_);
      const Buffer& buffer = at(begin);
      finish(buffer);
      in_pieces(std::min(chunk_, bytes - begin), [&](std::uint64_t first, std::uint64_t size) {
        unpack((begin + first) / sizeof(Element),
               reinterpret_cast<const Element*>(buffer.memory.get() + first), size / sizeof(Element));
      });
    }
  }

 private:
  static constexpr std::uint64_t kChunk = 16 << 20, kPiece = 256 << 10;
  struct Buffer {
    PinnedArray<std::byte> memory;
    CudaEvent copied;
  };

  const Buffer& at(std::uint64_t begin) const { return buffers_[begin / chunk_ % 2]; }
  void start(const Buffer& buffer, void* to, const void* from, std::uint64_t bytes) {
    cuda_check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_.get()),
               "cudaMemcpy of " + std::to_string(bytes) + " bytes");
    cuda_check(cudaEventRecord(buffer.copied.get(), stream_.get()), "cudaEventRecord");
  }
  static void finish(const Buffer& buffer) {
    check_interrupt();
    cuda_check(cudaEventSynchronize(buffer.copied.get()), "copying between host and GPU");
  }
  template <class Body>
  static void in_pieces(std::uint64_t bytes, const Body& body) {
    parallel_for(static_cast<std::int64_t>((bytes + kPiece - 1) / kPiece), [&](std::int64_t piece) {
      const std::uint64_t first = static_cast<std::uint64_t>(piece) * kPiece;
      body(first, std::min(kPiece, bytes - first));
    });
  }

  std::uint64_t chunk_;
  std::array<Buffer, 2> buffers_;
  CudaStream stream_ = make_stream();
};

}  // namespace warploom::dp
