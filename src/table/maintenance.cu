#include "table/maintenance.hpp"
#include "warploom/core/cuda_check.cuh"

namespace warploom::table {
namespace {

constexpr int kThreads = 256;
constexpr std::uint64_t kMostBlocks = 1 << 14;

unsigned blocks_for(std::uint64_t threads) {
  return static_cast<unsigned>(
      std::clamp<std::uint64_t>((threads + kThreads - 1) / kThreads, 1, kMostBlocks));
}

__device__ std::uint64_t first_index() { return std::uint64_t{blockIdx.x} * kThreads + threadIdx.x; }
__device__ std::uint64_t stride() { return std::uint64_t{gridDim.x} * kThreads; }

/// A place of its own for each thread that has something, counted by `count`. By all threads of a warp.
__device__ unsigned long long append(bool has, unsigned long long* count) {
  const unsigned having = __ballot_sync(~0u, has), lane = threadIdx.x % 32;
  unsigned long long base = 0;
  if (lane == 0 && having != 0) base = atomicAdd(count, static_cast<unsigned long long>(__popc(having)));
  return __shfl_sync(~0u, base, 0) + __popc(having & ((1u << lane) - 1));
}

/// Adds the sum of a warp's parts. By all threads of a warp.
__device__ void add_parts(unsigned part, unsigned long long* sum) {
  for (int distance = 16; distance > 0; distance /= 2) part += __shfl_xor_sync(~0u, part, distance);
  if (threadIdx.x % 32 == 0 && part != 0) atomicAdd(sum, static_cast<unsigned long long>(part));
}

/// @return whether this word of the line is the key of a live pair
template <class Slots>
__device__ bool read_pair(const Word* line, int word, Word& key, Word& value) {
  if (word < Slots::key_word(0) || (Slots::kWide && word % 2 != 0)) return false;
  const int slot = Slots::kWide ? word / 2 - 1 : word - 2;
  if (!Header{line[kHeaderWord]}.live(slot)) return false;
  key = Slots::kWide ? line[word] : static_cast<std::uint32_t>(line[word]);
  value = Slots::kWide ? line[word + 1] : line[word] >> 32;
  return true;
}

template <class Slots>
__device__ void move_pair(Word* lines, LineIndex from, int from_slot, LineIndex to, int to_slot) {
  const Word* source = lines + std::uint64_t{from} * kLineWords + Slots::key_word(from_slot);
  Word* target = lines + std::uint64_t{to} * kLineWords + Slots::key_word(to_slot);
  target[0] = source[0];
  if (Slots::kWide) target[1] = source[1];
}

/// Takes what lines it can out of a chain and puts them on the stack, above those that `freed` counts.
template <class Slots>
__device__ void trim_chain(Word* lines, LineIndex home, LineIndex* stack, unsigned* freed) {
  const auto word = [&](LineIndex line, int index) -> Word& {
    return lines[std::uint64_t{line} * kLineWords + index];
  };
  const auto next = [&](LineIndex line) { return Tail{word(line, kTailWord)}.next(); };
  if (next(home) == kNoLine) return;
  unsigned pairs = 0, count = 0;
  for (LineIndex line = home; line != kNoLine; line = next(line), ++count)
    pairs += __popcll(Header{word(line, kHeaderWord)}.live_slots());
  const unsigned kept = pairs == 0 ? 1 : (pairs + Slots::kSlots - 1) / Slots::kSlots;
  if (kept == count) return;

  LineIndex last_kept = home;
  for (unsigned i = 1; i < kept; ++i) last_kept = next(last_kept);
  stack += atomicAdd(freed, count - kept);
  LineIndex to = home, from = next(last_kept);
  word(last_kept, kTailWord) = Tail{}.bits;
  while (from != kNoLine) {
    for (Word live = Header{word(from, kHeaderWord)}.live_slots(); live != 0; live &= live - 1) {
      while ((Header{word(to, kHeaderWord)}.free_slots() & kSlotMask<Slots>) == 0) to = next(to);
      const Header header{word(to, kHeaderWord)};
      const int slot = first_slot(header.free_slots());
      move_pair<Slots>(lines, from, first_slot(live), to, slot);
      word(to, kHeaderWord) = header.with(slot, SlotState::live).bits;
    }
    *stack++ = from;
    const LineIndex after = next(from);
    word(from, kHeaderWord) = 0;
    word(from, kTailWord) = 0;
    from = after;
  }
}

/// Lines that were given back, which are whole but for their links. @param stack, freed  as trim_chain
__device__ void stack_list(Word* lines, Word& list, LineIndex* stack, unsigned* freed) {
  LineIndex line = ~static_cast<LineIndex>(list);
  while (line != kNoLine) {
    Word& tail = lines[std::uint64_t{line} * kLineWords + kTailWord];
    const LineIndex after = Tail{tail}.next();
    tail = 0;
    stack[atomicAdd(freed, 1u)] = line;
    line = after;
  }
  list = (list >> 32) << 32;
}

/// The last block to be done changes the mark of the stack: until then all read the same, and decide the
/// same.
template <class Slots>
__global__ void trim_chains(Word* lines, TableState* state, LineIndex chains, bool only_if_short) {
  LinePool& pool = state->pool;
  if (only_if_short && !is_short(free_lines(pool), pool.end - chains)) return;
  const int stacked = max(pool.stacked, 0);
  LineIndex* const stack = pool.stack + stacked;
  for (std::uint64_t list = first_index(); list < LinePool::kLists; list += stride())
    stack_list(lines, pool.given_back[list], stack, &state->trim.freed);
  for (std::uint64_t chain = first_index(); chain < chains; chain += stride())
    trim_chain<Slots>(lines, static_cast<LineIndex>(chain), stack, &state->trim.freed);
  __threadfence();
  __syncthreads();
  if (threadIdx.x != 0 || atomicAdd(&state->trim.blocks, 1u) != gridDim.x - 1) return;
  __threadfence();
  pool.stacked = stacked + static_cast<int>(atomicExch(&state->trim.freed, 0u));
  atomicExch(&state->trim.blocks, 0u);
}

template <class Slots>
__global__ void rehash(const Word* from, std::uint64_t count, Word* to, TableState* state,
                       Placement placement) {
  DeviceLines lines(to, &state->pool);
  unsigned moved = 0, lost = 0;
  for (std::uint64_t i = first_index(); i < count * kLineWords; i += stride()) {
    Word key = 0, value = 0;
    if (!read_pair<Slots>(from + i / kLineWords * kLineWords, static_cast<int>(i % kLineWords), key, value))
      continue;
    Attempt attempt;
    attempt.operation = Operation::insert;
    attempt.home = placement.home(key);
    attempt.key = key;
    attempt.operand = value;
    run<Slots>(lines, attempt);
    lines.give_back_spare();
    moved += attempt.outcome == Outcome::inserted;
    lost += attempt.outcome == Outcome::full;
  }
  add_parts(moved, &state->moved);
  add_parts(lost, &state->lost);
}

__global__ void reset(TableState* state, LineIndex chains, LineIndex end, LineIndex* stack) {
  state->pool = {chains, end, stack, 0, {}};
  state->trim = {};
  state->base = -static_cast<long long>(state->asynchronous.inserted + state->waited.inserted -
                                        state->asynchronous.erased - state->waited.erased);
}

__global__ void count_pairs(const Word* lines, std::uint64_t count, unsigned long long* sum) {
  unsigned pairs = 0;
  for (std::uint64_t line = first_index(); line < count; line += stride())
    pairs += __popcll(Header{lines[line * kLineWords + kHeaderWord]}.live_slots());
  add_parts(pairs, sum);
}

__global__ void measure_chains(const Word* lines, LineIndex first, LineIndex count, ChainLength* lengths) {
  for (std::uint64_t i = first_index(); i < count; i += stride()) {
    ChainLength length;
    for (LineIndex line = static_cast<LineIndex>(first + i); line != kNoLine; ++length.lines) {
      const Word* words = lines + std::uint64_t{line} * kLineWords;
      length.pairs += __popcll(Header{words[kHeaderWord]}.live_slots());
      line = Tail{words[kTailWord]}.next();
    }
    lengths[i] = length;
  }
}

template <class Key, class Value>
using SlotsOf = DeviceTable<Key, Value>::Slots;

template <class Key, class Value>
__global__ void export_lines(const Word* lines, std::uint64_t count, Key* keys, Value* values,
                             std::uint64_t room, unsigned long long* length) {
  // Whole warps go round together: kThreads is a multiple of 32, and so is `padded`.
  const std::uint64_t words = count * kLineWords, padded = (words + 31) / 32 * 32;
  for (std::uint64_t i = first_index(); i < padded; i += stride()) {
    Word key = 0, value = 0;
    const bool live =
        i < words && read_pair<SlotsOf<Key, Value>>(lines + i / kLineWords * kLineWords,
                                                    static_cast<int>(i % kLineWords), key, value);
    const unsigned long long place = append(live, length);
    if (live && place < room) {
      keys[place] = static_cast<Key>(key);
      values[place] = static_cast<Value>(value);
    }
  }
}

template <class Key, class Value>
__global__ void gather_full(std::uint64_t count, const Outcome* outcomes, const Operation* operations,
                            const Key* keys, const Value* operands, unsigned long long* length,
                            std::uint64_t* indices, Operation* full_operations, Key* full_keys,
                            Value* full_operands) {
  for (std::uint64_t i = first_index(); i < (count + 31) / 32 * 32; i += stride()) {
    const bool full = i < count && outcomes[i] == Outcome::full;
    const unsigned long long place = append(full, length);
    if (!full) continue;
    indices[place] = i;
    full_keys[place] = keys[i];
    if (operations != nullptr) full_operations[place] = operations[i];
    if (operands != nullptr) full_operands[place] = operands[i];
  }
}

template <class Value>
__global__ void scatter_full(std::uint64_t count, const std::uint64_t* indices, const Outcome* full_outcomes,
                             const Value* full_values, Outcome* outcomes, Value* values) {
  for (std::uint64_t i = first_index(); i < count; i += stride()) {
    outcomes[indices[i]] = full_outcomes[i];
    if (values != nullptr) values[indices[i]] = full_values[i];
  }
}

}  // namespace

template <class Slots>
void launch_trim(Word* lines, TableState* state, LineIndex chains, bool only_if_short, cudaStream_t stream) {
  // Most often it returns at once, and the sooner the fewer blocks there are.
  const unsigned blocks = std::min(blocks_for(chains), 2048u);
  trim_chains<Slots><<<blocks, kThreads, 0, stream>>>(lines, state, chains, only_if_short);
  cuda_check(cudaGetLastError(), "launching trim_chains");
}
template void launch_trim<NarrowSlots>(Word*, TableState*, LineIndex, bool, cudaStream_t);
template void launch_trim<WideSlots>(Word*, TableState*, LineIndex, bool, cudaStream_t);

template <class Slots>
void launch_rehash(const Word* from, std::uint64_t count, Word* to, TableState* state,
                   const Placement& placement, cudaStream_t stream) {
  rehash<Slots><<<blocks_for(count * kLineWords), kThreads, 0, stream>>>(from, count, to, state, placement);
  cuda_check(cudaGetLastError(), "launching rehash");
}
template void launch_rehash<NarrowSlots>(const Word*, std::uint64_t, Word*, TableState*, const Placement&,
                                         cudaStream_t);
template void launch_rehash<WideSlots>(const Word*, std::uint64_t, Word*, TableState*, const Placement&,
                                       cudaStream_t);

void launch_reset(TableState* state, LineIndex chains, LineIndex end, LineIndex* stack, cudaStream_t stream) {
  reset<<<1, 1, 0, stream>>>(state, chains, end, stack);
  cuda_check(cudaGetLastError(), "launching reset");
}

void launch_count(const Word* lines, std::uint64_t count, unsigned long long* sum, cudaStream_t stream) {
  count_pairs<<<blocks_for(count), kThreads, 0, stream>>>(lines, count, sum);
  cuda_check(cudaGetLastError(), "launching count_pairs");
}

void launch_chain_lengths(const Word* lines, LineIndex first, LineIndex count, ChainLength* lengths,
                          cudaStream_t stream) {
  measure_chains<<<blocks_for(count), kThreads, 0, stream>>>(lines, first, count, lengths);
  cuda_check(cudaGetLastError(), "launching measure_chains");
}

template <class Key, class Value>
void launch_export(const Word* lines, std::uint64_t count, Key* keys, Value* values, std::uint64_t room,
                   unsigned long long* length, cudaStream_t stream) {
  export_lines<<<blocks_for(count * kLineWords), kThreads, 0, stream>>>(lines, count, keys, values, room,
                                                                        length);
  cuda_check(cudaGetLastError(), "launching export_lines");
}

template <class Key, class Value>
void launch_gather_full(const BatchArguments& batch, const FullOperations<Key, Value>& full,
                        cudaStream_t stream) {
  gather_full<<<blocks_for(batch.count), kThreads, 0, stream>>>(
      batch.count, batch.outcomes, batch.operations, static_cast<const Key*>(batch.keys),
      static_cast<const Value*>(batch.operands), full.count, full.indices, full.operations, full.keys,
      full.operands);
  cuda_check(cudaGetLastError(), "launching gather_full");
}

template <class Key, class Value>
void launch_scatter_full(const FullOperations<Key, Value>& full, std::uint64_t count, Outcome* outcomes,
                         Value* values, cudaStream_t stream) {
  scatter_full<<<blocks_for(count), kThreads, 0, stream>>>(count, full.indices, full.outcomes, full.values,
                                                           outcomes, values);
  cuda_check(cudaGetLastError(), "launching scatter_full");
}

#define WARPLOOM_INSTANTIATE(Key, Value)                                                                    \
  template void launch_export(const Word*, std::uint64_t, Key*, Value*, std::uint64_t, unsigned long long*, \
                              cudaStream_t);                                                                \
  template void launch_gather_full(const BatchArguments&, const FullOperations<Key, Value>&, cudaStream_t); \
  template void launch_scatter_full(const FullOperations<Key, Value>&, std::uint64_t, Outcome*, Value*,     \
                                    cudaStream_t);
WARPLOOM_INSTANTIATE(std::uint32_t, std::uint32_t)
WARPLOOM_INSTANTIATE(std::uint32_t, std::uint64_t)
WARPLOOM_INSTANTIATE(std::uint64_t, std::uint32_t)
WARPLOOM_INSTANTIATE(std::uint64_t, std::uint64_t)

}  // namespace warploom::table
