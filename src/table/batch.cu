/// A batch of operations in one kernel. A block takes a part of the batch into shared memory, insertions
/// first, and its warps take 32 operations at a time, a lane each: operations of one kind wait for the same
/// things. Lines are read together: eight lanes read 16 bytes each of the line that one of them asks for,
/// eight times in turn, so that a request is for a whole line and several of them are under way for every
/// lane. What is then left of an operation (chain.hpp, advance()) is a few accesses to words of its own line,
/// and every lane does that by itself.

#include <algorithm>

#include "core/cuda/owners.hpp"
#include "table/batch.hpp"
#include "warploom/table/device_table.cuh"

namespace warploom::table {

namespace {

constexpr unsigned kAllLanes = 0xFFFFFFFF;
constexpr int kWarp = 32;
/// Lanes that read a line together, 16 bytes each.
constexpr int kTile = kLineBytes / 16;

// On an H200 registers for more loads under way are as bad as fewer of them for more threads.
constexpr int kAhead = 4;  ///< loads under way for each lane
constexpr int kMostThreads = 128;
constexpr int kThreadsPerMultiprocessor = 1024;
constexpr int kMostOperations = 1024;  ///< of a block

/// What a lane learns of its line.
struct Look {
  Header header;
  Tail tail;
  std::uint32_t matches = 0;  ///< as observe() has them
};

/// Where the lanes of a warp leave for one another what they read, in shared memory.
struct Found {
  TwoWords heads[kWarp];
  /// Four bits for each lane of the tile: the lowest, that the first word that this lane read of that lane's
  /// line holds the key; the third, that the second one does.
  uint4 hits[kWarp / 4];
};

/// Reads lines for all lanes of a warp that are `active`; all lanes call it.
template <class Slots>
class Looker {
 public:
  __device__ Looker(const DeviceLines& lines, Found& found)
      : found_(found), lane_(static_cast<int>(threadIdx.x) % kWarp), within_(lane_ % kTile) {
    from_ = reinterpret_cast<const char*>(lines.at(0, 2 * within_));
    asm volatile("" : "+l"(from_));  // keeps the address, of which the compiler would keep the parts
  }

  __device__ Look look(bool active, LineIndex line, Word key) {
    __syncwarp();  // what lanes acquired before counts for the others
    std::uint32_t hits = 0;
    const unsigned actives = __ballot_sync(kAllLanes, active);
    if (actives == kAllLanes) {
#pragma unroll
      for (int begin = 0; begin < kTile; begin += kAhead) {
        TwoWords words[kAhead];
#pragma unroll
        for (int i = 0; i < kAhead; ++i) words[i] = read(__shfl_sync(kAllLanes, line, begin + i, kTile));
#pragma unroll
        for (int i = 0; i < kAhead; ++i)
          hits |= compare(words[i], shuffle(key, begin + i), begin + i) << (4 * (begin + i));
      }
    } else {  // the first active lane of each tile, then the second one ...
      for (unsigned rest = actives; rest != 0;) {
        const unsigned mine = rest >> (lane_ - within_) & 0xFF;
        const int owner = mine != 0 ? __ffs(static_cast<int>(mine)) - 1 : 0;
        const LineIndex theirs = __shfl_sync(kAllLanes, line, owner, kTile);
        const Word wanted = shuffle(key, owner);
        if (mine != 0) hits |= compare(read(theirs), wanted, owner) << (4 * owner);
        rest &= ~__ballot_sync(kAllLanes, mine != 0 && within_ == owner);
      }
    }
    reinterpret_cast<std::uint32_t*>(found_.hits)[lane_] = hits;
    __syncwarp();
    const uint4 low = found_.hits[lane_ / kTile * 2], high = found_.hits[lane_ / kTile * 2 + 1];
    const std::uint32_t of_slots[] = {low.y, low.z, low.w, high.x, high.y, high.z, high.w};
    Look seen{{found_.heads[lane_].first}, {found_.heads[lane_].second}};
#pragma unroll
    for (int i = 0; i < kTile - 1; ++i)
      seen.matches |= (of_slots[i] >> (4 * within_) & (Slots::kWide ? 1 : 5)) << ((Slots::kWide ? 2 : 4) * i);
    return seen;
  }

 private:
  __device__ TwoWords read(LineIndex line) const {
    return load_relaxed_two(reinterpret_cast<const Word*>(from_ + std::uint64_t{line} * kLineBytes));
  }
  __device__ static Word shuffle(Word key, int owner) {
    if constexpr (Slots::kWide) return __shfl_sync(kAllLanes, key, owner, kTile);
    return __shfl_sync(kAllLanes, static_cast<std::uint32_t>(key), owner, kTile);
  }
  __device__ std::uint32_t compare(const TwoWords& words, Word wanted, int owner) {
    if (within_ == 0) found_.heads[lane_ + owner] = words;  // the first lane of a tile has header and tail
    return (Slots::holds(words.first, wanted) ? 1U : 0U) |
           (!Slots::kWide && Slots::holds(words.second, wanted) ? 4U : 0U);
  }

  Found& found_;
  int lane_, within_;
  const char* from_;
};

/// A block's part of a batch. What comes back takes the place of what was asked.
template <class Key, class Value>
struct Part {
  Key* keys;
  Value* values;          ///< operands, then values
  unsigned short* order;  ///< positions, insertions first
  unsigned char* kinds;   ///< operations, then outcomes
  __host__ __device__ static constexpr int bytes(int count) {
    return count * static_cast<int>(sizeof(Key) + sizeof(Value) + sizeof(unsigned short) + 1);
  }
};

__device__ bool inserts(Operation operation) {
  return operation != Operation::find && operation != Operation::erase;
}

/// Whether no earlier lane of those that are here now has the same key.
template <class Slots>
__device__ bool is_first_of_key(Word key) {
  const unsigned here = __activemask();
  const unsigned same =
      Slots::kWide ? __match_any_sync(here, key) : __match_any_sync(here, static_cast<std::uint32_t>(key));
  return __ffs(static_cast<int>(same)) - 1 == static_cast<int>(threadIdx.x) % kWarp;
}

/// One operation for each lane that has one.
template <class Slots, bool kFindsAlone>
__device__ void perform(DeviceLines& lines, Looker<Slots>& looker, Attempt& attempt, bool done,
                        unsigned& retries) {
  LineIndex line = attempt.home;
  std::uint32_t ordinal = 0;
  Scan scan;
  // Header, tail and slots of a look are read in no order, and that a key is not in a line is true of some
  // moment all the same. But an insertion needs slots, and every walk needs further lines, that were read
  // after the home header.
  Header first;
  bool tried = false;
  while (__any_sync(kAllLanes, !done)) {
    if (!done && ordinal == 0 && attempt.inserts()) first = Header{lines.load_acquire(line, kHeaderWord)};
    const Look seen = looker.look(!done, line, attempt.key);
    if (done) continue;
    const LineIndex next = seen.tail.next();
    if (ordinal == 0 && !attempt.inserts()) {
      first = seen.header;
      if (next != kNoLine && (seen.matches & seen.header.live_slots()) == 0)
        first = Header{lines.load_acquire(line, kHeaderWord)};
    }
    const bool goes_on = observe<Slots>(scan, attempt, line, ordinal, seen.header, seen.matches);
    if (goes_on && next != kNoLine) {
      line = next;
      ++ordinal;
      continue;
    }
    scan.home = first;
    if constexpr (kFindsAlone) {
      done = true;
      if (scan.line != kNoLine) {
        const int word = Slots::key_word(scan.slot) + (Slots::kWide ? 1 : 0);
        attempt.outcome = Outcome::found;
        attempt.value = lines.load(scan.line, word) >> (Slots::kWide ? 0 : 32);
      }
    } else if (!(tried && attempt.inserts() && scan.line == kNoLine &&
                 !is_first_of_key<Slots>(attempt.key))) {
      // Of several insertions of one key in each other's way, one goes on, and the others see its pair.
      done = advance<Slots>(lines, attempt, scan);
    }
    tried = true;
    if (!done) ++retries;
    scan = Scan();
    line = attempt.home;
    ordinal = 0;
  }
}

template <class Key, class Value, bool kFindsAlone>
__global__ void __launch_bounds__(kMostThreads, kThreadsPerMultiprocessor / kMostThreads)
    execute(Word* words, LinePool* pool, Placement placement, std::uint64_t total,
            const Operation* operations, Operation operation, const Key* keys, const Value* operands,
            Outcome* outcomes, Value* values, Counters* counters, int part_size) {
  using Slots = typename DeviceTable<Key, Value>::Slots;
  extern __shared__ Found shared_found[];
  __shared__ int front, back, next_group;
  __shared__ unsigned totals[4];
  const int threads = static_cast<int>(blockDim.x), thread = static_cast<int>(threadIdx.x);
  const int lane = thread % kWarp;
  const std::uint64_t begin = std::uint64_t{blockIdx.x} * static_cast<unsigned>(part_size);
  const int count = static_cast<int>(min(total - begin, std::uint64_t{static_cast<unsigned>(part_size)}));

  Part<Key, Value> part;
  part.keys = reinterpret_cast<Key*>(shared_found + threads / kWarp);
  part.values = reinterpret_cast<Value*>(part.keys + part_size);
  if constexpr (sizeof(Value) > sizeof(Key)) {  // the larger ones first, for their alignment
    part.values = reinterpret_cast<Value*>(shared_found + threads / kWarp);
    part.keys = reinterpret_cast<Key*>(part.values + part_size);
  }
  part.order = reinterpret_cast<unsigned short*>(sizeof(Value) > sizeof(Key)
                                                     ? static_cast<void*>(part.keys + part_size)
                                                     : static_cast<void*>(part.values + part_size));
  part.kinds = reinterpret_cast<unsigned char*>(part.order + part_size);

  if (thread == 0) {
    front = next_group = 0;
    back = count;
  }
  if (thread < 4) totals[thread] = 0;
  __syncthreads();
  for (int row = thread - lane; row < count; row += threads) {
    const int i = row + lane;
    bool inserting = false;
    if (i < count) {
      const auto kind = operations != nullptr
                            ? __ldcs(reinterpret_cast<const unsigned char*>(operations) + begin + i)
                            : static_cast<unsigned char>(operation);
      part.kinds[i] = kind;
      part.keys[i] = __ldcs(keys + begin + i);
      part.values[i] = operands != nullptr ? __ldcs(operands + begin + i) : Value{0};
      inserting = inserts(static_cast<Operation>(kind));
    }
    const unsigned ones = __ballot_sync(kAllLanes, inserting);
    const unsigned others = __ballot_sync(kAllLanes, i < count && !inserting);
    int at_front = 0, at_back = 0;
    if (lane == 0) {
      at_front = atomicAdd(&front, __popc(ones));
      at_back = atomicSub(&back, __popc(others)) - __popc(others);
    }
    at_front = __shfl_sync(kAllLanes, at_front, 0);
    at_back = __shfl_sync(kAllLanes, at_back, 0);
    const unsigned before = (1U << lane) - 1;
    if (i < count)
      part.order[inserting ? at_front + __popc(ones & before) : at_back + __popc(others & before)] =
          static_cast<unsigned short>(i);
  }
  __syncthreads();

  DeviceLines lines(words, pool);
  Looker<Slots> looker(lines, shared_found[thread / kWarp]);
  unsigned retries = 0, inserted = 0, erased = 0, full = 0;
  for (;;) {
    int group = 0;
    if (lane == 0) group = atomicAdd(&next_group, 1);
    const int place = __shfl_sync(kAllLanes, group, 0) * kWarp + lane;
    if (place - lane >= count) break;
    const bool here = place < count;
    const int i = here ? part.order[place] : 0;
    Attempt attempt;
    bool done = !here;
    if (here) {
      attempt.operation = static_cast<Operation>(part.kinds[i]);
      attempt.key = part.keys[i];
      attempt.operand = part.values[i];
      attempt.value_mask = static_cast<Value>(~Value{0});
      attempt.home = placement.home(attempt.key);
      if (static_cast<int>(attempt.operation) >= kOperations) {
        attempt.outcome = Outcome::invalid;
        done = true;
      }
    }
    perform<Slots, kFindsAlone>(lines, looker, attempt, done, retries);
    if (here) {
      part.kinds[i] = static_cast<unsigned char>(attempt.outcome);
      part.values[i] = static_cast<Value>(attempt.value);
      inserted += attempt.outcome == Outcome::inserted;
      erased += attempt.outcome == Outcome::erased;
      full += attempt.outcome == Outcome::full;
    }
  }
  lines.give_back_spare();
  if constexpr (!kFindsAlone) {
    atomicAdd(&totals[0], inserted);
    atomicAdd(&totals[1], erased);
    if (full != 0) atomicAdd(&totals[2], full);
    if (retries != 0) atomicAdd(&totals[3], retries);
  }
  __syncthreads();
  for (int i = thread; i < count; i += threads) {
    if (outcomes != nullptr) outcomes[begin + i] = static_cast<Outcome>(part.kinds[i]);
    if (values != nullptr) values[begin + i] = part.values[i];
  }
  if (thread < 4 && totals[thread] != 0)
    atomicAdd(&counters->inserted + thread, static_cast<unsigned long long>(totals[thread]));
}

}  // namespace

template <class Key, class Value>
void launch_batch(const DeviceMemory& memory, const BatchArguments& batch, int threads_per_block,
                  cudaStream_t stream) {
  if (batch.count == 0) return;
  const bool finds_alone = batch.alone && batch.operations == nullptr && batch.operation == Operation::find;
  const auto kernel = finds_alone ? execute<Key, Value, true> : execute<Key, Value, false>;
  const int threads = threads_per_block > 0
                          ? std::clamp(threads_per_block / kWarp * kWarp, kWarp, kMostThreads)
                          : kMostThreads;
  // As many operations a block as keep all of the device busy, up to what makes groups of one kind.
  int device = 0, multiprocessors = 0;
  cuda_check(cudaGetDevice(&device), "cudaGetDevice");
  cuda_check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device),
             "cudaDeviceGetAttribute");
  const std::uint64_t at_once =
      static_cast<std::uint64_t>(multiprocessors) * (kThreadsPerMultiprocessor / threads);
  const std::uint64_t share = ((batch.count + at_once - 1) / at_once + kWarp - 1) / kWarp * kWarp;
  const int part_size =
      static_cast<int>(std::clamp<std::uint64_t>(share, static_cast<unsigned>(threads), kMostOperations));
  const std::uint64_t blocks =
      (batch.count + static_cast<unsigned>(part_size) - 1) / static_cast<unsigned>(part_size);
  const int shared = threads / kWarp * static_cast<int>(sizeof(Found)) + Part<Key, Value>::bytes(part_size);
  kernel<<<static_cast<unsigned>(blocks), static_cast<unsigned>(threads), static_cast<std::size_t>(shared),
           stream>>>(memory.lines, memory.pool, memory.placement, batch.count, batch.operations,
                     batch.operation, static_cast<const Key*>(batch.keys),
                     static_cast<const Value*>(batch.operands), batch.outcomes,
                     static_cast<Value*>(batch.values), batch.counters, part_size);
  cuda_check(cudaGetLastError(), "launch of a batch of " + std::to_string(batch.count) + " operations");
}

template void launch_batch<std::uint32_t, std::uint32_t>(const DeviceMemory&, const BatchArguments&, int,
                                                         cudaStream_t);
template void launch_batch<std::uint32_t, std::uint64_t>(const DeviceMemory&, const BatchArguments&, int,
                                                         cudaStream_t);
template void launch_batch<std::uint64_t, std::uint32_t>(const DeviceMemory&, const BatchArguments&, int,
                                                         cudaStream_t);
template void launch_batch<std::uint64_t, std::uint64_t>(const DeviceMemory&, const BatchArguments&, int,
                                                         cudaStream_t);

}  // namespace warploom::table
