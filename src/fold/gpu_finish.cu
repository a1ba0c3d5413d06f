// f, the least energies of the first bases, and the structure that has that of all: a group of threads a
// sequence. The way back is that of trace.cpp, with a thread for each loop or split that may be the one.

#include "fold/gpu_kernels.hpp"
#include "fold/gpu_loops.cuh"
#include "warploom/core/cuda_check.cuh"
#include "warploom/core/device_atomics.cuh"

namespace warploom::fold::gpu {
namespace {

/// A part of a structure, a pair or stems of a multiloop from i to j; not 0.
constexpr int kBits = 17;  // of a place in a sequence
struct Part {
  int sequence, i, j;
  bool multi;
};
__device__ std::uint64_t pack(const Part& part) {
  return static_cast<std::uint64_t>(part.multi) << 63 |
         (static_cast<std::uint64_t>(part.sequence) << kBits | static_cast<std::uint64_t>(part.i)) << kBits |
         static_cast<std::uint64_t>(part.j);
}
__device__ Part unpack(std::uint64_t word) {
  constexpr std::uint64_t kMask = (1U << kBits) - 1;
  return {static_cast<int>((word & ~(1ULL << 63)) >> 2 * kBits), static_cast<int>(word >> kBits & kMask),
          static_cast<int>(word & kMask), word >> 63 != 0};
}

/// A warp, or a block.
template <int kSize>
struct Group {
  static constexpr int kWarps = kSize / 32, kMost = 5;
  struct Shared {
    std::int32_t words[2][kMost][kWarps];
  };
  Shared* shared;
  const std::int32_t (*exterior)[kOuterPlaces];  // an Exterior
  int rank, turn = 0;

  __device__ void sync() const {
    if constexpr (kSize == 32)
      __syncwarp();
    else
      __syncthreads();
  }
  /// Of all threads; all call.
  template <int kCount>
  __device__ void least(std::int32_t (&values)[kCount]) {
    static_assert(kCount <= kMost);
#pragma unroll
    for (std::int32_t& value : values) value = warp_least(value);
    if constexpr (kSize > 32) {
#pragma unroll
      for (int k = 0; k < kCount; ++k)
        if (rank % 32 == 0) shared->words[turn][k][rank / 32] = values[k];
      __syncthreads();
#pragma unroll
      for (int k = 0; k < kCount; ++k) values[k] = warp_least(shared->words[turn][k][rank % kWarps]);
      turn ^= 1;  // so that the next may be written while others still read
    }
  }
  __device__ std::int32_t least(std::int32_t value) {
    std::int32_t one[] = {value};
    least(one);
    return one[0];
  }
  /// The least k of [begin, end) for which it holds, or `end`. A thread looks at so many between two
  /// meetings.
  template <int kEach = 1, class Holds>
  __device__ int first(int begin, int end, const Holds& holds) {
    for (int at = begin; at < end; at += kEach * kSize) {
      std::int32_t mine = end;
#pragma unroll
      for (int each = kEach - 1; each >= 0; --each)
        if (const int k = at + each * kSize + rank; k < end && holds(k)) mine = k;
      const std::int32_t found = least(mine);
      if (found < end) return found;
    }
    return end;
  }
};

template <int kSize>
class Finisher {
 public:
  __device__ Finisher(const Launch& launch, int sequence, const Group<kSize>& group)
      : l_(launch),
        t_(*launch.tables),
        s_(launch.sequences[sequence]),
        sequence_(sequence),
        codes_(launch.codes + s_.codes),
        c_(launch.c + s_.cells),
        m_(launch.m + s_.cells),
        f_(launch.f + s_.bases),
        stack_(launch.stack + s_.bases),
        group_(group) {
    structure_ = launch.structures == nullptr ? nullptr : launch.structures + s_.bases;
  }

  /// The energy, and the structure where it is wanted: all of it by a warp, by a block that outside of all
  /// pairs.
  __device__ void run() {
    if constexpr (kSize == 32) ends();
    if (structure_ != nullptr) {
      for (int k = group_.rank; k <= s_.n; k += kSize) structure_[k] = k < s_.n ? '.' : '\0';
      group_.sync();
      exterior();
      if constexpr (kSize == 32) drain();
    }
    if (group_.rank == 0) l_.energies[sequence_] = lost_ ? kNone : f_[s_.n];
  }

  __device__ void run_part(const Part& part) {
    if (part.multi)
      multi(part.i, part.j);
    else
      pair(part.i, part.j);
    if (group_.rank == 0 && lost_) l_.energies[sequence_] = kNone;
  }

 private:
  __device__ std::int32_t c(int i, int j) const {
    return j - i > kLeastHairpin ? c_[cell_of(s_.n, i, j)] : kNone;
  }
  __device__ std::int32_t m(int i, int j) const {
    return j - i > kLeastHairpin ? m_[cell_of(s_.n, i, j)] : kNone;
  }
  __device__ std::int32_t end_of(int i, int j) const {
    return t_
        .exterior[codes_[i]][codes_[j]][i > 1 ? codes_[i - 1] : kBases][j < s_.n ? codes_[j + 1] : kBases];
  }
  /// A warp goes on with it itself, a block leaves it to all blocks.
  __device__ void push(int i, int j, bool multi) {
    const std::uint64_t part = pack({sequence_, i, j, multi});
    if constexpr (kSize == 32) {
      if (group_.rank == 0) stack_[depth_] = part;
      ++depth_;
    } else if (group_.rank == 0) {
      atomicAdd(l_.open_parts, 1U);
      store_release(l_.parts + atomicAdd(l_.part_count, 1U), part);
    }
  }

  __device__ void drain() {
    while (depth_ > 0 && !lost_) {
      group_.sync();
      const Part part = unpack(stack_[--depth_]);
      group_.sync();
      run_part(part);
    }
  }

  /// f, so many columns at a time that none needs the f of another.
  __device__ void ends() {
    constexpr int kColumnsAtOnce = kLeastHairpin + 2, kRowsAtOnce = 3;
    for (int j = group_.rank; j <= min(s_.n, kLeastHairpin + 1); j += kSize) f_[j] = 0;
    group_.sync();
    std::int32_t before = 0;
    for (int first = kLeastHairpin + 2; first <= s_.n; first += kColumnsAtOnce) {
      std::int32_t best[kColumnsAtOnce];
      const std::int32_t* end[kColumnsAtOnce];
#pragma unroll
      for (int k = 0; k < kColumnsAtOnce; ++k) {
        const int j = min(first + k, s_.n);
        best[k] = kNone;
        end[k] = group_.exterior[outer_place(codes_[j], j < s_.n ? codes_[j + 1] : kBases)];
      }
      for (int i = 1 + group_.rank; i <= first; i += kRowsAtOnce * kSize) {
        std::int32_t pair[kRowsAtOnce][kColumnsAtOnce];
#pragma unroll
        for (int r = 0; r < kRowsAtOnce; ++r)
#pragma unroll
          for (int k = 0; k < kColumnsAtOnce; ++k) {
            const int row = i + r * kSize, j = first + k;
            pair[r][k] =
                row <= first && j <= s_.n && row < j - kLeastHairpin ? c_[cell_of(s_.n, row, j)] : kNone;
          }
#pragma unroll
        for (int r = 0; r < kRowsAtOnce; ++r) {
          const int row = i + r * kSize;
          if (row > first) continue;
          const std::int32_t f = f_[row - 1];
          const int at = outer_place(codes_[row], row > 1 ? codes_[row - 1] : kBases);
#pragma unroll
          for (int k = 0; k < kColumnsAtOnce; ++k)
            if (pair[r][k] < kNone / 2) best[k] = lesser(best[k], pair[r][k] + f + end[k][at]);
        }
      }
      group_.least(best);
#pragma unroll
      for (int k = 0; k < kColumnsAtOnce; ++k) {
        before = lesser(before, best[k]);
        if (group_.rank == 0 && first + k <= s_.n) f_[first + k] = before;
      }
      group_.sync();
    }
  }

  __device__ void exterior() {
    int j = s_.n;
    while (j > 0) {
      // The bases behind the last pair.
      const int end = j;
      const std::int32_t energy = f_[end];
      j = end - group_.first(0, end, [&](int back) { return f_[end - back - 1] != energy; });
      if (j == 0) return;
      const int last = j;
      // The shortest stem that may be there: most are short.
      const int most = last - kLeastHairpin, shorter = group_.template first<2>(1, most, [&](int back) {
        const std::int32_t pair = c(most - back, last);
        return pair < kNone / 2 && energy == f_[most - back - 1] + pair + end_of(most - back, last);
      });
      if (shorter >= most) return lose();
      push(most - shorter, last, false);
      j = most - shorter - 1;
    }
  }

  __device__ void lose() { lost_ = true; }

  __device__ void pair(int i, int j) {
    const bool lonely = l_.constants.lonely_pairs;
    std::int32_t energy = c(i, j);
    // Without lonely pairs C(i, j) is a stack on a pair that may be followed by anything; its energy is what
    // is left.
    bool stacks = !lonely;
    while (true) {
      if (group_.rank == 0) structure_[i - 1] = '(', structure_[j - 1] = ')';
      const OutsideTerms& outside = outside_of(t_, codes_, i, j);
      if (stacks || (!lonely && energy == c(i, j))) {
        energy -= outside.stack;
        ++i, --j;
        stacks = false;
        continue;
      }
      if (const std::int32_t inner = c(i + 1, j - 1); inner < kNone / 2 && energy == outside.stack + inner) {
        ++i, --j;
        energy = inner;
        stacks = !lonely;
        continue;
      }
      const int size = j - i - 1;
      if (energy == (size <= 6 ? small_hairpin(t_, l_.hairpin_of, codes_, i, j, outside)
                               : l_.hairpin_of[size] + outside.hairpin))
        return;
      constexpr int kSides = kMaxLoop + 1;
      const int loop = group_.first(1, kSides * kSides, [&](int k) {
        const int left = k / kSides, right = k % kSides, p = i + 1 + left, q = j - 1 - right;
        if (left + right > kMaxLoop || q - p <= kLeastHairpin) return false;
        const std::int32_t inner = c(p, q);
        return inner < kNone / 2 && energy == inner + interior_loop(t_, l_.constants, codes_, i, j, p, q);
      });
      if (loop < kSides * kSides) {
        i += 1 + loop / kSides, j -= 1 + loop % kSides;
        energy = c(i, j);
        stacks = !lonely;
        continue;
      }
      const int split = group_.template first<4>(i + 2 + kLeastHairpin, j - 1 - kLeastHairpin, [&](int k) {
        const std::int32_t left = m(i + 1, k), right = m(k + 1, j - 1);
        return left < kNone / 2 && right < kNone / 2 && energy == outside.closing + left + right;
      });
      if (split >= j - 1 - kLeastHairpin) return lose();
      push(i + 1, split, true);
      push(split + 1, j - 1, true);
      return;
    }
  }

  __device__ void multi(int i, int j) {
    const std::int32_t b = l_.constants.multi_base;
    while (true) {
      const std::int32_t energy = m(i, j);
      // Bases that are unpaired, at the end, then at the beginning.
      const auto ends_at = [&](std::int32_t shorter, int bases) {
        return shorter >= kNone / 2 || energy != shorter + b * bases;
      };
      if (const int bases = group_.first(0, j - i, [&](int k) { return ends_at(m(i, j - k - 1), k + 1); });
          bases > 0) {
        j -= bases;
        continue;
      }
      if (const int bases = group_.first(0, j - i, [&](int k) { return ends_at(m(i + k + 1, j), k + 1); });
          bases > 0) {
        i += bases;
        continue;
      }
      if (const std::int32_t stem = c(i, j);
          stem < kNone / 2 && energy == stem + inside_of(t_, codes_, i, j).stem)
        return push(i, j, false);
      const int split = group_.template first<4>(i + 1 + kLeastHairpin, j - kLeastHairpin, [&](int k) {
        const std::int32_t left = m(i, k), right = m(k + 1, j);
        return left < kNone / 2 && right < kNone / 2 && energy == left + right;
      });
      if (split >= j - kLeastHairpin) return lose();
      push(split + 1, j, true);
      j = split;
    }
  }

  const Launch& l_;
  const Tables& t_;
  const Sequence s_;
  const int sequence_;
  const std::uint8_t* codes_;
  const std::int32_t *c_, *m_;
  std::int32_t* f_;
  std::uint64_t* stack_;
  char* structure_;
  Group<kSize> group_;
  int depth_ = 0;  // of the stack
  bool lost_ = false;
};

/// Energies, and structures: a warp a sequence, or of what is outside of all pairs a block.
template <int kSize>
__global__ void __launch_bounds__(kSize == 32 ? 128 : kSize, 1)
    fold_finish(const __grid_constant__ Launch launch) {
  constexpr int kGroups = kSize < 128 ? 128 / kSize : 1;
  __shared__ typename Group<kSize>::Shared shared[kGroups];
  __shared__ Exterior exterior;
  if constexpr (kSize == 32) load_exterior(*launch.tables, exterior);
  const int rank = static_cast<int>(threadIdx.x) % kSize, group = static_cast<int>(threadIdx.x) / kSize;
  const int sequence = static_cast<int>(blockIdx.x) * kGroups + group;
  if (sequence >= launch.count || *launch.stopped != 0) return;
  Finisher<kSize>(launch, sequence, {shared + group, exterior, rank}).run();
}

/// The structures within the parts that fold_finish found, and those that are found here. A block that waits
/// for a part has taken its number, so that whoever finds it waits for nobody.
template <int kSize>
__global__ void __launch_bounds__(kSize, 2) fold_parts(const __grid_constant__ Launch launch) {
  __shared__ typename Group<kSize>::Shared shared;
  __shared__ std::uint64_t taken;
  if (*launch.stopped != 0) return;
  for (;;) {
    if (threadIdx.x == 0) {
      const std::uint32_t place = atomicAdd(launch.next_part, 1U);
      do taken = load_acquire(launch.parts + place);
      while (taken == 0 && load_acquire(launch.open_parts) != 0);
    }
    __syncthreads();
    const std::uint64_t part = taken;
    if (part == 0) return;
    const Part p = unpack(part);
    Finisher<kSize>(launch, p.sequence, {&shared, nullptr, static_cast<int>(threadIdx.x)}).run_part(p);
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(launch.open_parts, ~0U);  // those found here count by now
  }
}

}  // namespace

void launch_finish(const Launch& launch, bool warps, cudaStream_t stream) {
  if (warps) {
    fold_finish<32><<<static_cast<unsigned>(launch.count + 3) / 4, 128, 0, stream>>>(launch);
  } else {
    constexpr int kThreadsOfAPart = 256;
    launch_ends(launch, stream);
    fold_finish<512><<<static_cast<unsigned>(launch.count), 512, 0, stream>>>(launch);
    if (launch.structures != nullptr)
      fold_parts<kThreadsOfAPart><<<kPartBlocks, kThreadsOfAPart, 0, stream>>>(launch);
  }
  cuda_check(cudaGetLastError(), "launch of fold_finish");
}

}  // namespace warploom::fold::gpu
