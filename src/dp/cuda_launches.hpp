#pragma once

/// Launches under way on a stream: how many may be, how long they took, how far the work is.

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/cuda/owners.hpp"
#include "dp/decompose.hpp"
#include "warploom/core/progress.hpp"

namespace warploom::dp {

inline CudaEvent record_event(cudaStream_t stream) {
  CudaEvent event = make_event();
  cuda_check(cudaEventRecord(event.get(), stream), "cudaEventRecord");
  return event;
}

/// Progress in millions of additions with their minimum.
class PairProgress {
 public:
  explicit PairProgress(double pairs) : progress_("solving", millions(pairs), "million pairs") {}
  /// @throws Interrupted
  void reach(double pairs) {
    if (millions(pairs) > shown_) progress_.advance(millions(pairs) - shown_);
    shown_ = std::max(shown_, millions(pairs));
    check_interrupt();
  }

 private:
  static std::uint64_t millions(double pairs) { return static_cast<std::uint64_t>(pairs * 1e-6); }
  Progress progress_;
  std::uint64_t shown_ = 0;
};

/// Pairs of a call, about: cells outside the triangle count too.
inline double pairs(const Rectangular& call) {
  return double(call.count) * double(call.edge) * double(call.edge) * double(call.k_end - call.k_begin);
}
inline double pairs(const TriangularBlock& call) {
  return double(call.count) * double(call.edge) * double(call.edge) * double(call.edge) /
         (call.i == call.j ? 6 : 1);
}

class PairCounter final : public Executor {
 public:
  void rectangular(const Rectangular& call) override { sum += pairs(call); }
  void triangular(const TriangularBlock& call) override { sum += pairs(call); }
  double sum = 0;
};

/// What narrow storage throws on the way where it does not hold.
struct NarrowOverflow {};

/// Carries calls out through another executor, which launches one kernel for each. No more than kUnderWay of
/// them and about kPairsUnderWay are under way, so that an interrupt is answered soon and the GPU never
/// waits. To be destroyed before what the kernels use.
class MeteredExecutor final : public Executor {
 public:
  /// @param overflow  in device memory; null: plain storage
  MeteredExecutor(Executor& launcher, cudaStream_t stream, bool phases, double all_pairs, const int* overflow)
      : launcher_(launcher),
        stream_(stream),
        stride_(phases ? 1 : 8),
        phases_(phases),
        overflow_(overflow),
        progress_(all_pairs),
        marks_(static_cast<std::size_t>(kUnderWay / stride_)),
        wait_(stream) {
    for (Mark& mark : marks_) mark.event = make_event();
    if (overflow != nullptr) overflow_seen_ = make_pinned<int>(marks_.size());
    begin_ = record_event(stream);
    mark(false);
  }

  void rectangular(const Rectangular& call) override {
    launcher_.rectangular(call);
    launched(true, pairs(call));
  }
  void triangular(const TriangularBlock& call) override {
    launcher_.triangular(call);
    launched(false, pairs(call));
  }

  /// Waits for the last one.
  void finish() {
    if (since_mark_ > 0) mark(false);  // the last launches, too, may say that narrow storage does not hold
    const CudaEvent end = record_event(stream_);
    for (; retired_ + 1 < marked_; ++retired_) retire();
    cuda_check(cudaEventSynchronize(end.get()), "solving on the GPU");
    seconds_ = seconds_between(begin_, end);
    progress_.reach(enqueued_pairs_);
  }

  std::int64_t launches() const { return launches_; }
  double seconds() const { return seconds_; }
  /// With phases: each launch from the end of the one before it.
  double rectangular_seconds() const { return rectangular_seconds_; }
  double triangular_seconds() const { return triangular_seconds_; }

 private:
  static constexpr int kUnderWay = 32;
  // Tens of milliseconds of an H200. Two marks are under way whatever they are worth.
  static constexpr double kPairsUnderWay = 4e11;

  /// A place in the stream.
  struct Mark {
    CudaEvent event;
    bool rectangular = false;
    double pairs = 0;  // up to here
  };
  double last_pairs() const { return marks_[slot(marked_ - 1)].pairs; }
  std::size_t slot(std::int64_t mark) const { return static_cast<std::size_t>(mark) % marks_.size(); }

  void launched(bool rectangular, double pairs) {
    cuda_check(cudaGetLastError(),
               rectangular ? "launching a rectangular part" : "launching a triangular part");
    enqueued_pairs_ += pairs;
    ++launches_;
    if (++since_mark_ == stride_ || enqueued_pairs_ - last_pairs() > kPairsUnderWay / 4) mark(rectangular);
  }

  void mark(bool rectangular) {
    const auto enough = [this] {
      const std::int64_t count = marked_ - retired_;
      const double pairs = enqueued_pairs_ - marks_[slot(retired_)].pairs;
      return count == static_cast<std::int64_t>(marks_.size()) || (count > 2 && pairs > kPairsUnderWay);
    };
    for (; enough(); ++retired_) retire();
    since_mark_ = 0;
    Mark& mark = marks_[slot(marked_)];
    mark.rectangular = rectangular;
    mark.pairs = enqueued_pairs_;
    if (overflow_ != nullptr)
      cuda_check(cudaMemcpyAsync(&overflow_seen_[slot(marked_)], overflow_, sizeof(int),
                                 cudaMemcpyDeviceToHost, stream_),
                 "cudaMemcpy of 4 bytes");
    cuda_check(cudaEventRecord(mark.event.get(), stream_), "cudaEventRecord");
    ++marked_;
  }

  /// The mark after the oldest one.
  void retire() {
    const Mark& mark = marks_[slot(retired_ + 1)];
    cuda_check(cudaEventSynchronize(mark.event.get()), "solving on the GPU");
    if (phases_)
      (mark.rectangular ? rectangular_seconds_ : triangular_seconds_) +=
          seconds_between(marks_[slot(retired_)].event, mark.event);
    if (overflow_ != nullptr && overflow_seen_[slot(retired_ + 1)] != 0) throw NarrowOverflow{};
    progress_.reach(mark.pairs);
  }

  Executor& launcher_;
  cudaStream_t stream_;
  int stride_;  // launches from one mark to the next
  bool phases_;
  const int* overflow_;
  PairProgress progress_;
  std::vector<Mark> marks_;                // a ring of
  std::int64_t retired_ = 0, marked_ = 0;  // the marks [retired, marked), of which the oldest is retired
  PinnedArray<int> overflow_seen_;         // at the marks
  CudaEvent begin_;
  double enqueued_pairs_ = 0;
  std::int64_t launches_ = 0;
  int since_mark_ = 0;  // launches
  double seconds_ = 0, rectangular_seconds_ = 0, triangular_seconds_ = 0;
  WaitAtEnd wait_;
};

}  // namespace warploom::dp
