#pragma once

/// The cells and terms of a batch in a GPU's memory, during the solution and after it.

#include <algorithm>
#include <cstring>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/cuda/memory.hpp"
#include "dp/backend.hpp"
#include "dp/kernels.hpp"
#include "warploom/core/error.hpp"

namespace warploom::dp {

/// Host memory for many short arrays that go to the device in one copy.
class Staging {
 public:
  /// @return  the place of the elements, also in the copy on the device
  template <class Element>
  std::uint64_t put(const Element* elements, std::uint64_t count) {
    static_assert(std::is_trivially_copyable_v<Element>);
    const std::uint64_t place = bytes_.size();
    bytes_.resize(place + (count * sizeof(Element) + 255) / 256 * 256);
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

template <class T, Arithmetic kArithmetic, bool kFactors>
class CudaCells final : public Cells<T> {
 public:
  using Device = DeviceCells<T, kArithmetic>;
  using Stored = typename Device::Stored;

  /// Lays memory out and copies short terms; allocates nothing on the device. The pointers are to live until
  /// upload().
  explicit CudaCells(std::span<const Terms<T>> problems) : terms_(problems.begin(), problems.end()) {
    std::uint64_t cells = 0;
    std::uint64_t points = 0;  // of the longest
    for (const Terms<T>& terms : terms_) {
      first_cell_.push_back(cells);
      cells += cell_count(terms);
      points = std::max(points, static_cast<std::uint64_t>(terms.points));
    }
    cells_ = arena_.add<Stored>(cells);
    if (Device::kNarrow) bases_ = arena_.add<std::int32_t>(cells / kTileCells);
    for (const Terms<T>& terms : terms_)
      cell_weight_.push_back(terms.cell_weight != nullptr ? arena_.add<T>(cell_count(terms)) : 0);
    for (Terms<T>& terms : terms_) places_.push_back(stage(terms));
    const int zero = 0;
    overflow_ = staging_.put(&zero, 1);
    device_.resize(terms_.size());
    device_cells_ = staging_.put(device_.data(), device_.size());
    device_terms_ = staging_.put(terms_.data(), terms_.size());
    staged_ = arena_.add<std::byte>(staging_.size());
    splits_ = arena_.add<Split>(points);
    queue_ = arena_.add<unsigned long long>(points);
    trace_counts_ = arena_.add<TraceCounts>(1);
  }

  std::uint64_t bytes() const { return arena_.bytes(); }
  void allocate() { arena_.allocate(); }

  /// Copies the terms, which then are the device's.
  void upload() {
    std::uint64_t most = 0;  // bytes of cell weights
    for (const Terms<T>& terms : terms_)
      if (terms.cell_weight != nullptr) most = std::max(most, cell_count(terms) * sizeof(T));
    const CudaStream stream = make_stream();
    std::optional<PinnedPair> pinned;
    if (most > 0) pinned.emplace(stream.get(), most);
    for (std::size_t p = 0; p < terms_.size(); ++p) {
      Terms<T>& terms = terms_[p];
      if (terms.cell_weight != nullptr) {
        T* const there = arena_.at<T>(cell_weight_[p]);
        pinned->upload(there, terms.cell_weight, cell_count(terms) * sizeof(T));
        terms.cell_weight = there;
      }
      const Places& places = places_[p];
      const auto move = [this](auto& pointer, std::uint64_t place) {
        using Pointer = std::remove_reference_t<decltype(pointer)>;
        if (place != kAbsent) pointer = reinterpret_cast<Pointer>(staged<std::byte>(place));
      };
      move(terms.leaves, places.leaves);
      move(terms.row_weight, places.row_weight);
      move(terms.column_weight, places.column_weight);
      move(terms.factors, places.factors);
      move(terms.codes, places.codes);
      move(terms.scores, places.scores);
      device_[p].cells = arena_.at<Stored>(cells_) + first_cell_[p];
      if constexpr (Device::kNarrow) {
        device_[p].bases = arena_.at<std::int32_t>(bases_) + first_cell_[p] / kTileCells;
        device_[p].overflow = staged<int>(overflow_);
      }
      device_[p].points = terms.points;
    }
    cuda_check(cudaStreamSynchronize(stream.get()), "copying to the GPU");
    staging_.replace(device_cells_, device_.data(), device_.size());
    staging_.replace(device_terms_, terms_.data(), terms_.size());
    cuda_check(cudaMemcpy(staged<std::byte>(0), staging_.data(), staging_.size(), cudaMemcpyHostToDevice),
               "cudaMemcpy of " + std::to_string(staging_.size()) + " bytes");
    // From pageable memory cudaMemcpy returns before all has arrived, and the solution's stream does not wait
    // for the default stream.
    cuda_check(cudaStreamSynchronize(cudaStreamLegacy), "copying terms to the GPU");
    staging_ = {};
  }

  // After upload().
  const Device& cells(std::size_t problem) const { return device_[problem]; }
  const Terms<T>& terms(std::size_t problem) const { return terms_[problem]; }
  const Device* device_cells() const { return staged<Device>(device_cells_); }
  const Terms<T>* device_terms() const { return staged<Terms<T>>(device_terms_); }
  /// Narrow: the flag that DeviceCells speaks of.
  const int* overflow() const { return staged<int>(overflow_); }

  /// Of m[0,n] of all problems, from cells(0).cells.
  std::vector<std::int64_t> optimum_places() const {
    std::vector<std::int64_t> places;
    for (std::size_t p = 0; p < terms_.size(); ++p)
      places.push_back(static_cast<std::int64_t>(first_cell_[p]) + cell_place(0, terms_[p].points - 1));
    return places;
  }
  /// m[0,n] of all problems, which value() then knows.
  void set_optima(std::vector<T> optima) { optima_ = std::move(optima); }

  T value(std::int64_t problem, std::int64_t i, std::int64_t j) const override {
    const auto p = static_cast<std::size_t>(problem);
    return i == 0 && j == device_[p].points - 1 ? optima_[p] : cell(p, i, j);
  }
  /// From the device's memory.
  T cell(std::size_t problem, std::int64_t i, std::int64_t j) const {
    const Device& m = device_[problem];
    const std::int64_t place = cell_place(i, j);
    Stored stored{};
    std::int32_t base = 0;
    cuda_check(cudaMemcpy(&stored, m.cells + place, sizeof stored, cudaMemcpyDeviceToHost),
               "copying a cell from the GPU");
    if (Device::kNarrow)
      cuda_check(cudaMemcpy(&base, m.bases + place / kTileCells, sizeof base, cudaMemcpyDeviceToHost),
                 "copying a tile's base from the GPU");
    return widened<T>(stored, base);
  }

  void copy(std::int64_t problem, std::span<T> cells) const override {
    const Device& m = device_[static_cast<std::size_t>(problem)];
    std::vector<std::int32_t> bases;
    if (Device::kNarrow) {
      bases.resize(cells.size() / kTileCells);
      cuda_check(
          cudaMemcpy(bases.data(), m.bases, bases.size() * sizeof(std::int32_t), cudaMemcpyDeviceToHost),
          "copying the tiles' bases from the GPU");
    }
    const CudaStream stream = make_stream();
    PinnedPair(stream.get(), cells.size() * sizeof(Stored))
        .download(m.cells, cells.size(), [&](std::uint64_t begin, const Stored* stored, std::uint64_t count) {
          if constexpr (Device::kNarrow)  // chunks are whole tiles
            for (std::uint64_t tile = 0; tile < count; tile += kTileCells) {
              const std::int32_t base = bases[(begin + tile) / kTileCells];
              for (std::uint64_t c = tile; c < tile + kTileCells; ++c)
                cells[begin + c] = widened<T>(stored[c], base);
            }
          else
            std::memcpy(cells.data() + begin, stored, count * sizeof(T));
        });
  }

  std::vector<Split> trace(std::int64_t problem) const override {
    const auto p = static_cast<std::size_t>(problem);
    const std::scoped_lock lock(tracing_);
    const TraceBuffers buffers{arena_.at<Split>(splits_), arena_.at<unsigned long long>(queue_),
                               arena_.at<TraceCounts>(trace_counts_)};
    launch_trace<T, kArithmetic, kFactors>(device_[p], terms_[p], buffers, nullptr);
    cuda_check(cudaGetLastError(), "launching the traceback");
    TraceCounts counts{};
    cuda_check(cudaMemcpy(&counts, buffers.counts, sizeof counts, cudaMemcpyDeviceToHost), "the traceback");
    std::vector<Split> splits(counts.splits);
    cuda_check(
        cudaMemcpy(splits.data(), buffers.splits, splits.size() * sizeof(Split), cudaMemcpyDeviceToHost),
        "copying decisions from the GPU");
    for (const Split& split : splits)
      if (split.k == split.j)
        throw Internal("no decision explains cell (" + std::to_string(split.i) + ", " +
                       std::to_string(split.j) + ") of a solved problem");
    return splits;
  }

 private:
  static constexpr std::uint64_t kTileCells = kTile * kTile, kAbsent = UINT64_MAX;
  /// Of a problem's short terms within what was staged.
  struct Places {
    std::uint64_t leaves, row_weight, column_weight, factors, codes, scores;
  };

  static std::uint64_t cell_count(const Terms<T>& terms) {
    return static_cast<std::uint64_t>(stored_cells(terms.points));
  }

  Places stage(Terms<T>& terms) {
    const auto points = static_cast<std::uint64_t>(terms.points);
    const auto put = [this](const auto* elements, std::uint64_t count) {
      return elements == nullptr ? kAbsent : staging_.put(elements, count);
    };
    std::vector<T> no_factors;
    if (kFactors && terms.factors == nullptr) {  // others of the batch have some
      // Products of -0.0, which changes no sum, not even one of -0.0.
      no_factors.resize(points);
      terms.factors = no_factors.data();
      terms.product_sign = T(-1);
    }
    return {.leaves = put(terms.leaves, points - 1),
            .row_weight = put(terms.row_weight, points),
            .column_weight = put(terms.column_weight, points),
            .factors = put(terms.factors, points),
            .codes = put(terms.codes, points - 1),
            .scores = put(terms.scores, static_cast<std::uint64_t>(terms.letters * terms.letters))};
  }

  template <class Element>
  Element* staged(std::uint64_t place) const {
    return arena_.at<Element>(staged_ + place);
  }

  DeviceArena arena_;
  std::vector<Terms<T>> terms_;  // of the host before upload(), then of the device
  std::vector<Device> device_;
  std::vector<std::uint64_t> first_cell_, cell_weight_;
  std::vector<Places> places_;
  Staging staging_;
  std::uint64_t cells_ = 0, bases_ = 0, staged_ = 0;         // in the arena
  std::uint64_t splits_ = 0, queue_ = 0, trace_counts_ = 0;  // also; of one traceback at a time
  mutable std::mutex tracing_;
  std::uint64_t overflow_ = 0, device_cells_ = 0, device_terms_ = 0;  // among what was staged
  std::vector<T> optima_;
};

}  // namespace warploom::dp
