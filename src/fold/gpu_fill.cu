// C and M of many sequences. A thread block takes a strip of 128 rows, a thread a row, and walks along its
// columns, as rows.cpp does; it waits for the strip above where that has not come so far. What interior loops
// reach back to lies in shared memory. Blocks take strips in such an order that what they wait for has
// been taken.

#include <cstddef>

#include "fold/gpu_kernels.hpp"
#include "fold/gpu_loops.cuh"
#include "fold/gpu_persistent.cuh"
#include "warploom/core/device_atomics.cuh"

namespace warploom::fold::gpu {
namespace {

constexpr int kWarps = kThreads / 32;
constexpr int kStride = kRows + kHalo;
/// Columns between two notes to the strip below.
constexpr int kPublish = 8;
/// Columns after which a strip at the latest looks whether it is to stop.
constexpr int kLook = 256;
constexpr unsigned kAll = ~0U;

/// Rings by column, rows of the strip above behind the strip's own.
struct Shared {
  struct {
    std::int32_t end[kStride], one_n[kStride], interior[kStride];
  } ring[kColumns];
  std::int32_t two_three[8][kStride], c[4][kStride];
  std::int32_t m2[2][kRows + 4], unrestricted[2][kRows + 4];
  alignas(16) std::int32_t generic[2][kWarps + 1][28];  // of a warp's first row
  std::int32_t stem[2][kRows], least[2][kWarps], least_again[kWarps];
  unsigned flags[2][kWarps], flags_again[kWarps];
  int seen, task;
  std::int32_t column[kThreads];
};

/// A walk of a strip.
class Strip {
 public:
  __device__ Strip(const Launch& launch, const Task& task, Shared& shared)
      : l_(launch),
        shared_(shared),
        s_(launch.sequences[task.sequence]),
        strip_(task.strip),
        first_(1 + (s_.strips - 1 - task.strip) * kRows),
        row_(static_cast<int>(threadIdx.x)),
        lane_(row_ % 32),
        warp_(row_ / 32),
        i_(first_ + row_),
        codes_(launch.codes + s_.codes),
        marks_(launch.marks == nullptr ? nullptr : launch.marks + s_.codes),
        c_(launch.c + s_.cells + cell_of(s_.n, first_, first_) + row_),
        m_(launch.m + s_.cells + cell_of(s_.n, first_, first_) + row_) {
    const int n = s_.n;
    b0_ = codes_[min(i_, n + 1)], b1_ = codes_[min(i_ + 1, n + 1)], b2_ = codes_[min(i_ + 2, n + 1)],
    b3_ = codes_[min(i_ + 3, n + 1)], before_ = codes_[min(i_ - 1, n + 1)];
    for (int base = 0; base < kBases; ++base)
      if (launch.tables->outside[base * 125 + b0_ * 5].pairs != 0) pairs_with_ |= 1U << base;
  }

  __device__ void run() {
    clear();
    for (int j = first_; j < min(first_ + kNearRows, s_.n + 1); ++j) store(j, kNone, kNone);
    for (int j = first_ + kNearRows; j <= s_.n; ++j) {
      if (strip_ > 0 && !above_is_at(j)) return;
      column(j);
    }
    __syncthreads();
    if (below() && row_ == 0) store_release(done(strip_), static_cast<std::uint32_t>(s_.n));
  }

 private:
  __device__ bool below() const { return strip_ + 1 < s_.strips; }
  __device__ std::uint32_t* done(int strip) const { return l_.done + s_.flags + strip; }

  __device__ void clear() {
    static_assert(offsetof(Shared, stem) % sizeof(int4) == 0);
    auto* const words = reinterpret_cast<int4*>(&shared_);
    for (int k = row_; k < static_cast<int>(offsetof(Shared, stem) / sizeof(int4)); k += kThreads)
      words[k] = make_int4(kNone, kNone, kNone, kNone);
    for (std::int32_t& g : generic_) g = kNone;
    if (row_ == 0) shared_.seen = 0;
    __syncthreads();
  }

  /// Of column j, in c_ and m_.
  __device__ int place(int j) const { return (j - first_) * kRows; }
  __device__ void store(int j, std::int32_t c, std::int32_t m) const {
    if (i_ > j) return;
    c_[place(j)] = c, m_[place(j)] = m;
  }

  /// Waits until the strip above has finished column j, where it has that. False: the batch is to stop.
  __device__ bool above_is_at(int j) {
    if (j < first_ + kRows + kNearRows || (seen_ >= j && j % kLook != 0)) return true;
    if (row_ == 0) {
      int seen = 0;
      bool stop = false;
      do {
        seen = static_cast<int>(load_relaxed(done(strip_ - 1)));
        stop = load_relaxed(l_.stop) != 0;
      } while (seen < j && !stop);
      fence_acq_rel();  // once: it empties the L1
      if (stop) store_relaxed(l_.stopped, 1);
      shared_.seen = stop ? -1 : seen;
    }
    __syncthreads();
    seen_ = shared_.seen;
    __syncthreads();
    return seen_ >= 0;
  }

  /// What the strips above have of column j: on its way while the column before is computed, where they have
  /// come so far.
  __device__ void fetch(int j) {
    const auto* const words = reinterpret_cast<const std::int32_t*>(l_.handed + s_.columns + j);
    ahead_.column = j;
    ahead_.word = __ldcg(words + row_);
    if (row_ < 8) ahead_.last_word = __ldcg(words + kThreads + row_);
    ahead_.m = __ldcg(&l_.handed[s_.columns + j].m);
    ahead_.count = __ldcg(l_.candidate_counts + s_.columns + j);
    ahead_.candidate = candidate(j, lane_);
  }
  __device__ Candidate* own_candidates(int j) const {
    return l_.candidates + s_.candidates + std::int64_t{j} * s_.most_candidates;
  }
  __device__ int2 candidate(int j, int place) const {
    return __ldcg(reinterpret_cast<const int2*>(own_candidates(j)) + place);
  }

  /// What the strip above hands down, into the rings.
  __device__ void take(int j) {
    auto& ring = shared_.ring[j & (kColumns - 1)];
    *(row_ < 32    ? &ring.end[kRows + row_]
      : row_ < 64  ? &ring.one_n[kRows + row_ - 32]
      : row_ < 96  ? &ring.interior[kRows + row_ - 64]
      : row_ < 100 ? &shared_.c[j & 3][kRows + row_ - 96]
      : row_ < 104 ? &shared_.two_three[j & 7][kRows + row_ - 100]
                   : &shared_.generic[j & 1][kWarps][row_ - 104]) = ahead_.word;
    if (row_ < 3) shared_.generic[j & 1][kWarps][24 + row_] = ahead_.last_word;
    if (row_ == 5) shared_.m2[j & 1][kRows] = ahead_.last_word;
    if (row_ == 6) shared_.unrestricted[j & 1][kRows] = ahead_.last_word;
  }

  /// M(i, k - 1) of the candidate that a lane has; kNone where it has none.
  __device__ std::int32_t prefix_of(int2 candidates, int lane, int count) const {
    const int k = __shfl_sync(kAll, candidates.x, lane);
    return lane < count ? m_[place(k - 1)] : kNone;
  }
  __device__ static std::int32_t with_prefix(std::int32_t best, std::int32_t prefix, std::int32_t energy) {
    return lesser(best, prefix < kNone / 2 ? prefix + energy : kNone);
  }

  /// The first candidates of strips above, whose M(i, k - 1) are on their way while C is computed.
  static constexpr int kEarly = 8;
  struct Early {
    int count;
    int2 candidates, next;  // a lane each: the first, and those behind
    std::int32_t prefix[kEarly];
  };
  __device__ void begin_candidates(int j, Early& early) const {
    early.count = ahead_.count, early.candidates = ahead_.candidate;
    if (early.count > 32) early.next = candidate(j, 32 + lane_);
#pragma unroll
    for (int t = 0; t < kEarly; ++t) early.prefix[t] = prefix_of(early.candidates, t, early.count);
  }

  /// Those of kCount lanes from one on: all M(i, k - 1) are on their way at once.
  template <int kCount>
  __device__ std::int32_t try_candidates(int2 candidates, int begin, int count, std::int32_t best) const {
    std::int32_t prefix[kCount];
#pragma unroll
    for (int t = 0; t < kCount; ++t) prefix[t] = prefix_of(candidates, begin + t, count);
#pragma unroll
    for (int t = 0; t < kCount; ++t)
      best = with_prefix(best, prefix[t], __shfl_sync(kAll, candidates.y, begin + t));
    return best;
  }

  /// The least over candidates k, of strips above, of M(i, k - 1) + M(k, j).
  __device__ std::int32_t candidates_above(int j, const Early& early, std::int32_t best) {
    if (early.count < 0) return all_above(j, best);
#pragma unroll
    for (int t = 0; t < kEarly; ++t)
      best = with_prefix(best, early.prefix[t], __shfl_sync(kAll, early.candidates.y, t));
    if (early.count > 2 * kEarly)
      best = try_candidates<32 - kEarly>(early.candidates, kEarly, early.count, best);
    else if (early.count > kEarly)
      best = try_candidates<kEarly>(early.candidates, kEarly, early.count, best);
    int2 next = early.next;
    for (int begin = 32; begin < early.count; begin += 32) {
      const int2 candidates = next;
      if (begin + 32 < early.count) next = candidate(j, begin + 32 + lane_);
      best = try_candidates<32>(candidates, 0, early.count - begin, best);
    }
    return best;
  }
  /// The same over all k.
  __device__ std::int32_t all_above(int j, std::int32_t best) {
    const std::int32_t* const all = l_.m + s_.cells;
    for (int begin = first_ + kRows; begin <= j - kNearRows; begin += kRows) {
      __syncthreads();
      const int k = begin + row_;
      shared_.column[row_] = k <= j - kNearRows ? __ldcg(all + cell_of(s_.n, begin, j) + row_) : kNone;
      __syncthreads();
      const int here = min(kRows, j - kNearRows - begin + 1);
#pragma unroll 16
      for (int t = 0; t < here; ++t) best = lesser(best, m_[place(begin + t - 1)] + shared_.column[t]);
    }
    return whole(best);
  }

  /// min over the interior loops, and what else closes; C before a constraint and lonely pairs.
  /// @param stack  the result: that of the stack alone
  __device__ std::int32_t pair(int j, std::int32_t& stack) {
    const int r = row_;
    const int a0 = codes_[j], a1 = codes_[j - 1], a2 = codes_[j - 2], a3 = codes_[j - 3];
    const bool pairs = (pairs_with_ >> a0 & 1) != 0;
    // On their way while the sums below are made.
    const OutsideTerms outside = l_.tables->outside[(a0 * 5 + a1) * 25 + b0_ * 5 + b1_];
    std::int32_t one_one = kNone, one_two = kNone, two_one = kNone, two_two = kNone, bulge_left = kNone,
                 bulge_right = kNone;
    if (pairs) {
      const SmallLoops& small = l_.tables->small;
      const int r2 = triple(a0, a1, a2), r3 = r2 * 5 + a3, l2 = triple(b0_, b1_, b2_), l3 = l2 * 5 + b3_;
      one_one = small.one_one[r2][l2], one_two = small.one_two[r3][l2];
      two_one = small.two_one[r2][l3], two_two = small.two_two[r3][l3];
      bulge_left = l_.tables->bulge_one[quad(a0, a1, b0_, b2_)];
      bulge_right = l_.tables->bulge_one[quad(a0, a2, b0_, b1_)];
    }
    const int size = j - i_ - 1;
    const std::int32_t hairpin = size > 6 ? l_.hairpin_of[size] : kNone;
    std::int32_t bulge = kNone, one_n = kNone, generic = kNone;
    const auto& before = shared_.ring;
    const auto& last = before[(j - 1) & (kColumns - 1)];
    const auto& second = before[(j - 2) & (kColumns - 1)];
    const auto& third = before[(j - 3) & (kColumns - 1)];
    // Row r + 1 of column j - 1: the first row of the next warp comes by shared memory.
    if (lane_ == 0) {
      const auto& next = shared_.generic[(j - 1) & 1][warp_ + 1];
#pragma unroll
      for (int u = 4; u <= kMaxLoop - 2; ++u) generic_[u - 4] = next[u - 4];
    }
#pragma unroll
    for (int u = kMaxLoop; u >= 2; --u) {
      const auto& back = before[(j - 1 - u) & (kColumns - 1)];
      bulge = lesser(bulge, lesser(last.end[r + 1 + u], back.end[r + 1]) + l_.constants.bulge[u]);
      if (u + 1 >= 4 && u + 1 <= kMaxLoop)
        one_n = lesser(one_n, lesser(second.one_n[r + u + 1], back.one_n[r + 2]) + l_.constants.one_n[u + 1]);
      if (u + 2 >= 4 && u + 2 <= kMaxLoop) {
        const int size = u + 2;
        std::int32_t g =
            lesser(third.interior[r + size - 1], back.interior[r + 3]) + l_.constants.asymmetry[size - 4];
        if (size >= 6) {
          g = lesser(g, __shfl_sync(kAll, generic_[size - 6], (lane_ + 1) % 32));
          generic = lesser(generic, g + l_.constants.interior[size]);
        }
        generic_[size - 4] = g;
      }
    }
    const std::int32_t two_three =
        lesser(shared_.two_three[(j - 3) & 7][r + 4], shared_.two_three[(j - 4) & 7][r + 3]) +
        l_.constants.two_three;
    const auto& c1 = shared_.c[(j - 1) & 3];
    const auto& c2 = shared_.c[(j - 2) & 3];
    const auto& c3 = shared_.c[(j - 3) & 3];
    std::int32_t best = lesser(bulge + outside.end, one_n + outside.interior_1n);
    best = lesser(best, lesser(generic + outside.interior, two_three + outside.interior_23));
    best = lesser(best, lesser(c2[r + 2] + one_one, c3[r + 2] + one_two));
    best = lesser(best, lesser(c2[r + 3] + two_one, c3[r + 3] + two_two));
    best = lesser(best, lesser(c1[r + 2] + bulge_left, c2[r + 1] + bulge_right));
    best = lesser(best, lesser(hairpin + outside.hairpin, shared_.m2[(j - 1) & 1][r + 1] + outside.closing));
    if (pairs && size >= kLeastHairpin && size <= 6)
      best = lesser(best, small_hairpin(*l_.tables, l_.hairpin_of, codes_, i_, j, outside));
    stack =
        (l_.constants.lonely_pairs ? c1[r + 1] : shared_.unrestricted[(j - 1) & 1][r + 1]) + outside.stack;
    return lesser(best, stack);
  }

  __device__ void column(int j) {
    const bool above = strip_ > 0 && j >= first_ + kRows + kNearRows;
    const bool near = j - i_ < kNearRows;  // too near for a loop
    const int b = l_.constants.multi_base;
    Early early = {};
    std::int32_t above_m = kNone;  // M of the row behind the strip's last
    if (above) {
      if (ahead_.column != j) fetch(j);
      take(j);
      begin_candidates(j, early);
      above_m = ahead_.m;
      if (seen_ > j && j < s_.n) fetch(j + 1);
    }
    // C and what it gives to the columns behind. No row of the warp is far enough from j: nothing there.
    std::int32_t c = kNone, stem = kNone, unrestricted = kNone;
    const bool idle = j - (first_ + warp_ * 32) < kNearRows;
    if (!idle) {
      const InsideTerms inside = l_.tables->inside[(codes_[j] * 5 + codes_[j + 1]) * 25 + b0_ * 5 + before_];
      std::int32_t stack;
      const std::int32_t best = pair(j, stack);
      if (!near && may_pair(j)) {
        c = unrestricted = whole(best);
        if (!l_.constants.lonely_pairs && c < kNone) c = whole(stack);
      }
      auto& ring = shared_.ring[j & (kColumns - 1)];
      ring.end[row_] = whole(c + inside.end);
      ring.one_n[row_] = whole(c + inside.interior_1n);
      ring.interior[row_] = whole(c + inside.interior);
      shared_.c[j & 3][row_] = c;
      shared_.two_three[j & 7][row_] = whole(c + inside.interior_23);
      shared_.unrestricted[j & 1][row_] = unrestricted;
      stem = whole(c + inside.stem);
      if (lane_ == 0) {
#pragma unroll
        for (int u = 0; u < 27; ++u) shared_.generic[j & 1][warp_][u] = generic_[u];
      }
    }
    std::int32_t known = whole(m2_ + b);
    if (above) known = candidates_above(j, early, known);
    multiloops(j, b, near, known, stem, above_m);
    store(j, c, last_m_);
    // In place: by now all have taken what the strip above handed down.
    if (warp_ == 0 && below()) hand_down(j, c, unrestricted);
  }

  /// What the span and the constraint say.
  __device__ bool may_pair(int j) const {
    const bool spans = i_ > j - l_.max_span;
    if (marks_ == nullptr) return spans;
    const int second = marks_[j].second;
    return marks_[min(i_, s_.n + 1)].first == second && (spans || second % 2 == 1);
  }

  __device__ void hand_down(int j, std::int32_t c, std::int32_t unrestricted) const {
    Handed& handed = l_.handed[s_.columns + j];
    const auto& ring = shared_.ring[j & (kColumns - 1)];
    handed.end[lane_] = ring.end[lane_];
    handed.one_n[lane_] = ring.one_n[lane_];
    handed.interior[lane_] = ring.interior[lane_];
    if (lane_ < kNearRows) handed.c[lane_] = c, handed.two_three[lane_] = shared_.two_three[j & 7][lane_];
    if (lane_ == 0) {
#pragma unroll
      for (int u = 0; u < 27; ++u) handed.generic[u] = generic_[u];
      handed.m = last_m_, handed.m2 = m2_, handed.unrestricted = unrestricted;
    }
  }

  /// The least of this row and those behind it in the warp, each moved by b a row.
  __device__ std::int32_t least_behind(std::int32_t y) const {
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
      const std::int32_t other = __shfl_down_sync(kAll, y, step);
      if (lane_ + step < 32) y = lesser(y, other);
    }
    return y;
  }

  /// M2(i, j) and M(i, j) from what is known of M2 without candidates of this strip. The best of rows behind
  /// is a scan of M + b i, as M(i, j) <= M(i + 1, j) + b.
  __device__ void multiloops(int j, int b, bool near, std::int32_t known, std::int32_t stem,
                             std::int32_t above_m) {
    const std::int32_t left = whole(last_m_ + b), shift = b * row_;
    std::int32_t y = least_behind(lesser(lesser(stem, known), left) + shift);
    std::int32_t next = __shfl_down_sync(kAll, y, 1);
    if (lane_ == 31) next = kNone;
    std::int32_t behind = above_m + b * kRows;
    // May it be a candidate? The rows of the next warps decide below.
    const unsigned flags =
        __ballot_sync(kAll, stem < lesser(lesser(known, left), lesser(next, behind) - shift));
    const int now = j & 1;
    shared_.stem[now][row_] = stem;
    shared_.m2[now][row_] = near ? kNone : known;
    if (lane_ == 0) shared_.least[now][warp_] = y, shared_.flags[now][warp_] = flags;
    const bool any = __syncthreads_or(flags != 0) != 0;  // also: all of column j before is written
    if (row_ == 0 && below() && j % kPublish == 0)
      store_release(done(strip_), static_cast<std::uint32_t>(j - 1));
    if (!any) {
      for (int w = kWarps - 1; w > warp_; --w) behind = lesser(behind, shared_.least[now][w]);
    } else {
      for (int w = kWarps - 1; w >= 0; --w)
        for (unsigned rows = shared_.flags[now][w]; rows != 0; rows &= rows - 1) {
          const int r = w * 32 + __ffs(static_cast<int>(rows)) - 1;
          if (row_ < r - kNearRows) {
            const std::int32_t prefix = m_[place(first_ + r - 1)];
            if (prefix < kNone / 2) known = lesser(known, prefix + shared_.stem[now][r]);
          }
        }
      y = least_behind(lesser(lesser(stem, known), left) + shift);
      shared_.m2[now][row_] = near ? kNone : known;
      if (lane_ == 0) shared_.least_again[warp_] = y;
      __syncthreads();
      for (int w = kWarps - 1; w > warp_; --w) behind = lesser(behind, shared_.least_again[w]);
      next = __shfl_down_sync(kAll, y, 1);
      next = lesser(lane_ == 31 ? kNone : next, behind);
      if (below()) keep(j, stem < lesser(lesser(known, left), next - shift), stem);
    }
    m2_ = near ? kNone : known;
    last_m_ = near ? kNone : whole(lesser(y, behind) - shift);
  }

  /// Candidates of column j for the strips below. All threads call.
  __device__ void keep(int j, bool is_candidate, std::int32_t stem) {
    const unsigned mine = __ballot_sync(kAll, is_candidate);
    if (lane_ == 0) shared_.flags_again[warp_] = mine;
    std::int32_t* const count = l_.candidate_counts + s_.columns + j;
    const int before = __ldcg(count);
    __syncthreads();
    int place = before + __popc(mine & ((1U << lane_) - 1)), all = before;
    for (int w = 0; w < kWarps; ++w) {
      const int those = __popc(shared_.flags_again[w]);
      all += those;
      if (w < warp_) place += those;
    }
    if (before < 0 || all == before) return;
    if (is_candidate && all <= s_.most_candidates) own_candidates(j)[place] = {i_, stem};
    if (row_ == 0) *count = all <= s_.most_candidates ? all : -1;
  }

  const Launch& l_;
  Shared& shared_;
  const Sequence s_;
  const int strip_, first_, row_, lane_, warp_, i_;
  const std::uint8_t* codes_;
  const Mark* marks_;
  std::int32_t *c_, *m_;
  int b0_, b1_, b2_, b3_, before_;
  unsigned pairs_with_ = 0;  // bits: the bases that b0_ pairs with
  struct {
    int column = 0, count;
    int2 candidate;  // a lane each
    std::int32_t word, last_word, m;
  } ahead_;
  int seen_ = 0;                              // the strip above is known to have come so far
  std::int32_t m2_ = kNone, last_m_ = kNone;  // of column j - 1
  std::int32_t generic_[27];                  // of 4 to 30 bases, of column j - 1
};

__global__ void __launch_bounds__(kThreads, 3) fold_strips(const __grid_constant__ Launch launch) {
  extern __shared__ uint4 memory[];
  Shared& shared = *reinterpret_cast<Shared*>(memory);
  for (;;) {
    if (threadIdx.x == 0) {
      shared.task = static_cast<int>(atomicAdd(launch.next_task, 1U));
      if (load_relaxed(launch.stop) != 0) store_relaxed(launch.stopped, 1), shared.task = launch.task_count;
    }
    __syncthreads();
    const int task = shared.task;
    if (task >= launch.task_count) return;
    Strip(launch, launch.tasks[task], shared).run();
    __syncthreads();
  }
}

}  // namespace

void launch_fill(const Launch& launch, cudaStream_t stream) {
  launch_persistent(fold_strips, kThreads, sizeof(Shared), launch, stream);
}

}  // namespace warploom::fold::gpu
