/// Counts k-mers on a GPU: text as it stands in FASTQ goes up, and a kernel finds the lines of letters, cuts
/// the words and counts them in one hash table (open addressing, linear probing). A thread has kKmerSpan
/// places of the text, and adds a word that comes several times in a row, as in poly-A, once.

#include <string>

#include "count/kmer_kernels.hpp"
#include "warploom/core/cuda_check.cuh"

namespace warploom::table {
namespace {

constexpr unsigned long long kNone = ~0ull;
constexpr unsigned kNoBase = 4;
constexpr int kStride = kKmerSpan + 4;  // of a thread's codes in shared memory: an odd number of words

/// A 0, C 1, G 2, T and U 3, of small letters too; any other kNoBase.
__device__ unsigned code_of(unsigned char letter) {
  const unsigned upper = letter & 0xdfu;
  const bool base = upper == 'A' || upper == 'C' || upper == 'G' || upper == 'T' || upper == 'U';
  return base ? (upper >> 1 ^ upper >> 2) & 3u : kNoBase;
}
__device__ bool is_letter(unsigned char c) {
  return static_cast<unsigned>((c | 0x20) - 'a') < 26u || c == '*' || c == '-';
}

__device__ unsigned long long mixed(unsigned long long word) {
  word ^= word >> 31;
  word *= 0x7fb5d329728ea185ull;
  word ^= word >> 27;
  word *= 0x81dadef4bc2dd44dull;
  return word ^ word >> 33;
}

/// @return whether it was not there
__device__ bool add(KmerTable table, unsigned long long word, unsigned long long count, KmerState* state) {
  const unsigned long long last = (1ull << table.bits) - 1;
  unsigned long long at = mixed(word) >> (64 - table.bits);
  for (unsigned long long tries = 0; tries <= last; ++tries, at = (at + 1) & last) {
    KmerSlot* slot = table.slots + at;
    unsigned long long there = *reinterpret_cast<volatile unsigned long long*>(&slot->word);
    bool inserted = false;
    if (there == kNone) {
      there = atomicCAS(&slot->word, kNone, word);
      inserted = there == kNone;
      if (inserted) there = word;
    }
    if (there == word) {
      atomicAdd(&slot->count, count);
      return inserted;
    }
  }
  state->full = 1;
  return false;
}

/// Lane 0 has the sum of a warp's numbers.
__device__ unsigned sum_of_warp(unsigned number) {
  for (unsigned step = 16; step > 0; step /= 2) number += __shfl_down_sync(~0u, number, step);
  return number;
}
/// Adds a warp's numbers to one of the state's.
__device__ void add_of_warp(unsigned long long* to, unsigned number) {
  number = sum_of_warp(number);
  if (threadIdx.x % 32 == 0 && number > 0) atomicAdd(to, static_cast<unsigned long long>(number));
}

/// Launch: a block a tile. lines[1 + tile] becomes the number of LF in it.
__global__ void count_lines(const char* __restrict__ text, std::uint32_t size, std::uint32_t* lines) {
  __shared__ unsigned sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  const std::uint32_t begin = blockIdx.x * kKmerTile;
  unsigned mine = 0;
  for (std::uint32_t at = begin + threadIdx.x; at < min(begin + kKmerTile, size); at += blockDim.x)
    mine += text[at] == '\n';
  mine = sum_of_warp(mine);
  if (threadIdx.x % 32 == 0) atomicAdd(&sum, mine);
  __syncthreads();
  if (threadIdx.x == 0) lines[1 + blockIdx.x] = sum;
}

/// Launch: one block of 1024. lines[tile] becomes the number of LF before it, lines[tiles] that of all.
__global__ void sum_lines(std::uint32_t* lines, std::uint32_t tiles, std::uint32_t most_lines,
                          KmerState* state) {
  __shared__ std::uint32_t warps[32];
  __shared__ std::uint32_t before;
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  if (threadIdx.x == 0) {
    before = 0;
    lines[0] = 0;
  }
  for (std::uint32_t begin = 1; begin <= tiles; begin += blockDim.x) {
    const std::uint32_t at = begin + threadIdx.x;
    std::uint32_t sum = at <= tiles ? lines[at] : 0;
    for (unsigned step = 1; step < 32; step *= 2) {
      const std::uint32_t other = __shfl_up_sync(~0u, sum, step);
      if (lane >= step) sum += other;
    }
    if (lane == 31) warps[warp] = sum;
    __syncthreads();
    std::uint32_t earlier = before;
    for (unsigned other = 0; other < warp; ++other) earlier += warps[other];
    if (at <= tiles) lines[at] = sum + earlier;
    __syncthreads();
    if (threadIdx.x == blockDim.x - 1) before = sum + earlier;
    __syncthreads();
  }
  if (threadIdx.x == 0 && (before > most_lines || before % 4 != 0)) state->odd = 1;
}

/// Launch: a block of kKmerThreads a tile.
template <bool fastq, bool canonical>
__global__ void count_words(const char* __restrict__ text, std::uint32_t size, int k, KmerSlot* slots,
                            int slot_bits, KmerState* state, const std::uint32_t* lines, std::uint32_t* ends,
                            std::uint32_t most_lines) {
  // The tile's codes, a row a thread, and those of the k - 1 letters behind it in the last row but one.
  const KmerTable table{slots, slot_bits};
  __shared__ unsigned char codes[(kKmerThreads + 1) * kStride];
  __shared__ unsigned warps[kKmerThreads / 32];
  const std::uint32_t tile = blockIdx.x * kKmerTile;
  const std::uint32_t begin = tile + threadIdx.x * kKmerSpan;
  unsigned char* row = codes + threadIdx.x * kStride;
  const std::uint32_t mine = begin < size ? min(size - begin, kKmerSpan) : 0;
  std::uint32_t line = 0;  // of the thread's first letter
  std::uint32_t in_tile = 0;
  if (fastq) {
    unsigned count = 0;
    for (std::uint32_t at = 0; at < mine; ++at) count += text[begin + at] == '\n';
    unsigned sum = count;
    for (unsigned step = 1; step < 32; step *= 2) {
      const unsigned other = __shfl_up_sync(~0u, sum, step);
      if (threadIdx.x % 32 >= step) sum += other;
    }
    if (threadIdx.x % 32 == 31) warps[threadIdx.x / 32] = sum;
    __syncthreads();
    line = lines[blockIdx.x] + sum - count;
    in_tile = lines[blockIdx.x + 1];
    for (unsigned other = 0; other < threadIdx.x / 32; ++other) line += warps[other];
  }
  bool odd = false;
  for (std::uint32_t at = 0; at < kKmerSpan; ++at) {
    unsigned code = kNoBase;
    if (at < mine) {
      const auto letter = static_cast<unsigned char>(text[begin + at]);
      if (!fastq) {
        code = code_of(letter);
      } else {
        const bool starts = begin + at == 0 || text[begin + at - 1] == '\n';
        odd |= starts && ((line % 4 == 0 && letter != '@') || (line % 4 == 2 && letter != '+'));
        if (letter == '\n') {
          if (line < most_lines) ends[line] = begin + at;
          ++line;
        } else if (line % 4 == 1) {
          code = code_of(letter);
          odd |= !is_letter(letter);
        }
      }
    }
    row[at] = static_cast<unsigned char>(code);
  }
  if (odd) state->odd = 1;
  // A word that begins in this tile has no LF, so that its letters behind the tile are in the tile's last
  // line.
  if (threadIdx.x < static_cast<unsigned>(k - 1)) {
    const std::uint32_t at = tile + kKmerTile + threadIdx.x;
    const bool sequence = at < size && (!fastq || in_tile % 4 == 1);
    codes[kKmerThreads * kStride + threadIdx.x] =
        static_cast<unsigned char>(sequence ? code_of(static_cast<unsigned char>(text[at])) : kNoBase);
  }
  __syncthreads();

  const unsigned long long mask = (1ull << (2 * k)) - 1;
  const int top = 2 * (k - 1);
  unsigned long long forward = 0, reverse = 0, waiting = kNone;
  unsigned bases = 0, repeats = 0, inserted = 0, total = 0;
  const unsigned letters = mine == 0 ? 0 : kKmerSpan + k - 1;
  for (unsigned at = 0; at < letters; ++at) {
    const unsigned code = row[at < kKmerSpan ? at : at + (kStride - kKmerSpan)];
    bases = code == kNoBase ? 0 : bases + 1;
    forward = (forward << 2 | (code & 3)) & mask;
    reverse = reverse >> 2 | static_cast<unsigned long long>(3 - (code & 3)) << top;
    if (bases < static_cast<unsigned>(k)) continue;
    const unsigned long long word = canonical ? min(forward, reverse) : forward;
    ++total;
    if (word != waiting) {
      if (repeats > 0) inserted += add(table, waiting, repeats, state);
      waiting = word;
      repeats = 0;
    }
    ++repeats;
  }
  if (repeats > 0) inserted += add(table, waiting, repeats, state);
  __syncwarp();
  add_of_warp(&state->different, inserted);
  add_of_warp(&state->total, total);
}

/// Launch: a thread a record. Qualities are as many as letters.
__global__ void check_records(const std::uint32_t* lines, std::uint32_t tiles, const std::uint32_t* ends,
                              std::uint32_t most_lines, KmerState* state) {
  const std::uint32_t first = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
  if (first + 3 >= min(lines[tiles], most_lines)) return;
  if (ends[first + 1] - ends[first] != ends[first + 3] - ends[first + 2]) state->odd = 1;
}

/// Launch: a thread a slot.
__global__ void rehash(const KmerSlot* from, KmerSlot* slots, int slot_bits, KmerState* state) {
  const KmerTable to{slots, slot_bits};
  const std::uint64_t at = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const KmerSlot slot = from[at];
  const bool inserted = slot.word != kNone && add(to, slot.word, slot.count + 1, state);
  __syncwarp();
  add_of_warp(&state->different, inserted);
}

/// Launch: any. bins[c] grows by how many words came c times, the last by those that came more often.
__global__ void count_counts(const KmerSlot* slots, std::uint64_t end, unsigned long long* bins,
                             std::uint32_t most) {
  __shared__ unsigned few[kKmerFewBins];
  for (unsigned bin = threadIdx.x; bin < kKmerFewBins; bin += blockDim.x) few[bin] = 0;
  __syncthreads();
  for (std::uint64_t at = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; at < end;
       at += std::uint64_t{gridDim.x} * blockDim.x) {
    const KmerSlot slot = slots[at];
    if (slot.word == kNone) continue;
    const std::uint32_t bin = slot.count + 1 < most ? static_cast<std::uint32_t>(slot.count + 1) : most - 1;
    if (bin < kKmerFewBins)
      atomicAdd(&few[bin], 1u);
    else
      atomicAdd(&bins[bin], 1ull);
  }
  __syncthreads();
  for (unsigned bin = threadIdx.x; bin < min(kKmerFewBins, most); bin += blockDim.x)
    if (few[bin] > 0) atomicAdd(&bins[bin], static_cast<unsigned long long>(few[bin]));
}

/// Launch: a thread a slot.
__global__ void export_words(const KmerSlot* slots, std::uint64_t begin, std::uint64_t end,
                             unsigned long long least, unsigned long long* words, unsigned long long* counts,
                             KmerState* state) {
  const std::uint64_t at = begin + std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  KmerSlot slot{kNone, 0};
  if (at < end) slot = slots[at];
  if (slot.count + 1 < least) slot.word = kNone;
  const unsigned full = __ballot_sync(~0u, slot.word != kNone);
  unsigned long long place = 0;
  if (threadIdx.x % 32 == 0 && full != 0)
    place = atomicAdd(&state->exported, static_cast<unsigned long long>(__popc(full)));
  place = __shfl_sync(~0u, place, 0) + __popc(full & ((1u << threadIdx.x % 32) - 1));
  if (slot.word == kNone) return;
  words[place] = slot.word;
  counts[place] = slot.count + 1;
}

}  // namespace

void launch_count_words(const char* text, std::uint32_t size, bool fastq, int k, bool canonical,
                        KmerTable table, KmerState* state, std::uint32_t* lines, std::uint32_t* ends,
                        std::uint32_t most_lines, cudaStream_t stream) {
  const unsigned tiles = (size + kKmerTile - 1) / kKmerTile;
  if (tiles == 0) return;
  if (fastq) {
    count_lines<<<tiles, 256, 0, stream>>>(text, size, lines);
    sum_lines<<<1, 1024, 0, stream>>>(lines, tiles, most_lines, state);
  }
  const auto kernel = fastq ? (canonical ? count_words<true, true> : count_words<true, false>)
                            : (canonical ? count_words<false, true> : count_words<false, false>);
  kernel<<<tiles, kKmerThreads, 0, stream>>>(text, size, k, table.slots, table.bits, state, lines, ends,
                                             most_lines);
  if (fastq)
    check_records<<<most_lines / 4 / 256 + 1, 256, 0, stream>>>(lines, tiles, ends, most_lines, state);
  cuda_check(cudaGetLastError(), "counting k-mers of " + std::to_string(size) + " bytes");
}

void launch_rehash(KmerTable from, KmerTable to, KmerState* state, cudaStream_t stream) {
  rehash<<<1u << (from.bits - 8), 256, 0, stream>>>(from.slots, to.slots, to.bits, state);
  cuda_check(cudaGetLastError(), "moving k-mers into a larger table");
}

void launch_count_counts(KmerTable table, unsigned long long* bins, std::uint32_t most, cudaStream_t stream) {
  count_counts<<<1056, 256, 0, stream>>>(table.slots, std::uint64_t{1} << table.bits, bins, most);
  cuda_check(cudaGetLastError(), "counting how often k-mers came");
}

void launch_export(KmerTable table, std::uint64_t begin, std::uint64_t end, std::uint64_t least,
                   unsigned long long* words, unsigned long long* counts, KmerState* state,
                   cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>((end - begin + 255) / 256);
  export_words<<<blocks, 256, 0, stream>>>(table.slots, begin, end, least, words, counts, state);
  cuda_check(cudaGetLastError(), "reading k-mers");
}

}  // namespace warploom::table
