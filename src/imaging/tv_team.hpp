#pragma once

/// How several devices work on one image at a time: who waits for whom. What queues, events and copies are is
/// the machine's matter: tv_team_cuda.cpp has GPUs, a test has arrays and looks for what is not in order.
///
/// Each device holds its share of the planes and one plane of each neighbour's. A launch is made in parts:
/// the chunks at the borders first, then what lies between, while the new planes at the borders are on their
/// way to the neighbours. After a pass every device sends its partial sums to all others and waits for
/// theirs; then each adds all of them and has the coefficients of the next pass. Nobody is more than a pass
/// ahead, so two sets of partial sums suffice, and the points that take turns are as many as for one device.
/// The host waits for nothing.

#include <cstddef>
#include <utility>
#include <vector>

#include "imaging/tv_launches.hpp"

namespace warploom::imaging {

/// Of a device. Work in one of them goes on in order.
enum class TvQueue { border, inner, send };
/// Points in a queue that others wait for: the latest that was marked counts. Each device has one of each.
enum class TvMark { borders, inner, planes_sent, sums_sent, ready };

/// A machine has, d being a device:
///   mark(d, queue, mark), wait(d, queue, of, mark): queue of d goes on when `of` has come to its mark
///   launch(d, queue, index, first_chunk, chunks): part of one of the pass's launches
///   send_plane(from, to, index): the plane at the border between these, of what this launch made
///   send_sums(from, to), advance(d): of the launches that were the latest, in queue `border`
template <class Machine>
class TvTeam {
 public:
  TvTeam(Machine& machine, std::vector<TvShare> shares)
      : machine_(machine), shares_(std::move(shares)), devices_(static_cast<int>(shares_.size())) {}

  /// @param kernels  of the pass's launches
  void pass(const std::vector<TvKernel>& kernels) {
    for (std::size_t index = 0; index < kernels.size(); ++index)
      launch(static_cast<int>(index), borders_after(kernels[index]), index + 1 == kernels.size());
  }

 private:
  void launch(int index, TvBorders borders, bool last) {
    // All of them wait before anybody marks anew.
    for (int d = 0; d < devices_; ++d)
      for (const int neighbour : {d - 1, d + 1})
        if (neighbour >= 0 && neighbour < devices_)
          machine_.wait(d, TvQueue::border, neighbour, TvMark::planes_sent);
    for (int d = 0; d < devices_; ++d) {
      const TvShare& share = shares_[static_cast<std::size_t>(d)];
      machine_.launch(d, TvQueue::border, index, share.first_chunk, 1);
      if (share.chunks > 1)
        machine_.launch(d, TvQueue::border, index, share.first_chunk + share.chunks - 1, 1);
      machine_.mark(d, TvQueue::border, TvMark::borders);
      if (share.chunks > 2) {
        machine_.launch(d, TvQueue::inner, index, share.first_chunk + 1, share.chunks - 2);
        machine_.mark(d, TvQueue::inner, TvMark::inner);
      }
      machine_.wait(d, TvQueue::send, d, TvMark::borders);
      if (borders.to_lower && d > 0) machine_.send_plane(d, d - 1, index);
      if (borders.to_upper && d + 1 < devices_) machine_.send_plane(d, d + 1, index);
      machine_.mark(d, TvQueue::send, TvMark::planes_sent);
      if (share.chunks > 2) machine_.wait(d, TvQueue::border, d, TvMark::inner);
      if (!last) ready(d);
    }
    if (last) share_sums();
  }

  void share_sums() {
    for (int d = 0; d < devices_; ++d) {
      for (int other = 0; other < devices_; ++other)
        if (other != d) machine_.send_sums(d, other);
      machine_.mark(d, TvQueue::border, TvMark::sums_sent);
    }
    for (int d = 0; d < devices_; ++d) {
      for (int other = 0; other < devices_; ++other)
        if (other != d) machine_.wait(d, TvQueue::border, other, TvMark::sums_sent);
      machine_.advance(d);
      ready(d);
    }
  }

  void ready(int d) {
    machine_.mark(d, TvQueue::border, TvMark::ready);
    machine_.wait(d, TvQueue::inner, d, TvMark::ready);
  }

  Machine& machine_;
  std::vector<TvShare> shares_;
  int devices_;
};

}  // namespace warploom::imaging
