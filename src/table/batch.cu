/// A batch of operations in one kernel, of which each warp has a slice. It takes 128 operations at a time
/// into shared memory, which come while it works on those before, and puts them to those that wait,
/// insertions and others apart, until there are 32 of a kind, a lane each: operations of one kind wait for
/// the same things. Lines are read together: eight lanes read 16 bytes each of the line that one of them asks
/// for, eight times in turn, so that a request is for a whole line and several of them are under way for
/// every lane. What is then left of an operation (chain.hpp, advance()) is a few accesses to words of its own
/// line, and every lane does that by itself.

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
/// Operations that a warp reads at a time, as shared memory allows for.
template <class Key, class Value>
constexpr int kStep = sizeof(Key) + sizeof(Value) == 8 ? 128 : 64;
/// So many times as many blocks as there is room for, so that none has to wait long for the last ones.
constexpr unsigned kWaves = 4;

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

  /// Header, tail and slots are read in no order, but before all that the lanes do afterwards.
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
    fence_acquire();
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

/// Where a warp is in its slice of a batch, and how many operations wait.
struct Progress {
  std::uint32_t at = 0, end = 0;
  int insertions = 0, others = 0;  ///< that wait
};

/// What a warp has of a batch, in shared memory, so that it needs no registers while operations are under
/// way.
template <class Key, class Value>
struct Pending {
  static constexpr int kMost = kStep<Key, Value>, kRoom = kMost + 2 * kWarp;
  Found found;
  Progress progress;
  // What comes next, on its way while the warp works.
  Key next_keys[kMost];
  Value next_operands[kMost];
  // Operations that wait until there are as many of a kind as lanes: insertions from the front, others from
  // the end.
  Value operands[kRoom];
  Key keys[kRoom];
  std::uint32_t places[kRoom];  ///< in the warp's slice
  alignas(4) unsigned char next_kinds[kMost];
  unsigned char kinds[kRoom];

  /// How many operations come next
  __device__ static int here(const Progress& now) {
    return static_cast<int>(min(now.end - now.at, static_cast<std::uint32_t>(kMost)));
  }
};

template <class T>
__device__ void copy_ahead(T* to, const void* from) {
  asm volatile(
      "cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(to))),
      "l"(__cvta_generic_to_global(from)), "n"(sizeof(T))
      : "memory");
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
                        unsigned* retries) {
  LineIndex line = attempt.home;
  std::uint32_t ordinal = 0;
  Scan scan;
  // Header, tail and slots of a look are read in no order, and that a key is not in a line is true of some
  // moment all the same. But an insertion needs slots, and every walk needs further lines, that were read
  // after the home header.
  Header first;
  bool tried = false;
  while (__any_sync(kAllLanes, !done)) {
    if (!done && ordinal == 0 && attempt.inserts()) {
      first = Header{load_relaxed_of_line(lines.at(line, kHeaderWord))};
      fence_acquire();
    }
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
    if (!done) atomicAdd(retries, 1U);
    scan = Scan();
    line = attempt.home;
    ordinal = 0;
  }
}

/// Arrays of a batch, from where a warp's slice begins.
template <class Key, class Value>
struct Source {
  const Operation* operations;
  Operation operation;
  const Key* keys;
  const Value* operands;
  Outcome* outcomes;
  Value* values;
};

/// Lets what a warp does next come to shared memory, without waiting.
template <class Key, class Value>
__device__ void fetch(Pending<Key, Value>& pending, const Source<Key, Value>& source, const Progress& now) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp, here = pending.here(now);
#pragma unroll
  for (int row = 0; row < kStep<Key, Value>; row += kWarp) {
    const int i = row + lane;
    if (i >= here) break;
    copy_ahead(pending.next_keys + i, source.keys + now.at + i);
    if (source.operands != nullptr) copy_ahead(pending.next_operands + i, source.operands + now.at + i);
  }
  if (source.operations == nullptr) return;
  const auto* const kinds = reinterpret_cast<const unsigned char*>(source.operations) + now.at;
  if (reinterpret_cast<std::uintptr_t>(kinds) % 4 == 0 && 4 * lane + 4 <= here) {
    copy_ahead(reinterpret_cast<std::uint32_t*>(pending.next_kinds) + lane, kinds + 4 * lane);
  } else {
    for (int i = 4 * lane; i < min(4 * lane + 4, here); ++i) pending.next_kinds[i] = kinds[i];
  }
}

/// Puts what has come and is this table's to the operations that wait.
template <class Key, class Value>
__device__ void take(Pending<Key, Value>& pending, const Source<Key, Value>& source, const Share& share,
                     Progress& now) {
  constexpr int kRoom = Pending<Key, Value>::kRoom;
  const int lane = static_cast<int>(threadIdx.x) % kWarp, here = pending.here(now);
  const unsigned before = (1U << lane) - 1;
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncwarp();
#pragma unroll
  for (int row = 0; row < kStep<Key, Value>; row += kWarp) {
    const int i = row + lane;
    const unsigned kind =
        source.operations != nullptr ? pending.next_kinds[i] : static_cast<unsigned>(source.operation);
    const bool taken = i < here &&
                       (share.of == 1 || share_of(pending.next_keys[i], share.of) == share.mine) &&
                       (!share.only_full || source.outcomes[now.at + i] == Outcome::full);
    const bool inserting = taken && kind != static_cast<unsigned>(Operation::find) &&
                           kind != static_cast<unsigned>(Operation::erase);
    const unsigned insertions = __ballot_sync(kAllLanes, inserting);
    const unsigned others = __ballot_sync(kAllLanes, taken && !inserting);
    if (taken) {
      const int to = inserting ? now.insertions + __popc(insertions & before)
                               : kRoom - 1 - now.others - __popc(others & before);
      pending.keys[to] = pending.next_keys[i];
      pending.operands[to] = source.operands != nullptr ? pending.next_operands[i] : Value{0};
      pending.places[to] = now.at + static_cast<std::uint32_t>(i);
      pending.kinds[to] = static_cast<unsigned char>(kind);
    }
    now.insertions += __popc(insertions);
    now.others += __popc(others);
  }
}

template <class Key, class Value, bool kFindsAlone>
__global__ void __launch_bounds__(kMostThreads, kThreadsPerMultiprocessor / kMostThreads)
    execute(Word* words, LinePool* pool, Placement placement, std::uint64_t total,
            const Operation* operations, Operation operation, const Key* keys, const Value* operands,
            Outcome* outcomes, Value* values, Counters* counters, std::uint32_t slice, Share share) {
  using Slots = typename DeviceTable<Key, Value>::Slots;
  constexpr int kRoom = Pending<Key, Value>::kRoom;
  extern __shared__ uint4 shared_pending[];
  __shared__ unsigned totals[4];
  const int thread = static_cast<int>(threadIdx.x), lane = thread % kWarp;
  Pending<Key, Value>& pending = reinterpret_cast<Pending<Key, Value>*>(shared_pending)[thread / kWarp];
  if (thread < 4) totals[thread] = 0;
  __syncthreads();

  DeviceLines lines(words, pool);
  Looker<Slots> looker(lines, pending.found);
  const std::uint64_t begin = std::uint64_t{(blockIdx.x * blockDim.x + threadIdx.x) / kWarp} * slice;
  const Source<Key, Value> source{operations == nullptr ? nullptr : operations + begin,
                                  operation,
                                  keys + begin,
                                  operands == nullptr ? nullptr : operands + begin,
                                  outcomes == nullptr ? nullptr : outcomes + begin,
                                  values == nullptr ? nullptr : values + begin};
  {
    Progress now;
    if (begin < total) now.end = static_cast<std::uint32_t>(min(std::uint64_t{slice}, total - begin));
    if (now.at < now.end) fetch(pending, source, now);
    if (lane == 0) pending.progress = now;
  }
  for (;;) {
    __syncwarp();
    Progress now = pending.progress;
    while (now.insertions < kWarp && now.others < kWarp && now.at < now.end) {
      take(pending, source, share, now);
      now.at += static_cast<std::uint32_t>(pending.here(now));
      __syncwarp();
      if (now.at < now.end) fetch(pending, source, now);
    }
    if (now.insertions + now.others == 0) break;
    // A group of one kind, or what is left of both in the end.
    int place = -1;
    if (now.insertions >= kWarp) {
      now.insertions -= kWarp;
      place = now.insertions + lane;
    } else if (now.others >= kWarp) {
      place = kRoom - now.others + lane;
      now.others -= kWarp;
    } else {
      if (lane < now.insertions + now.others)
        place = lane < now.insertions ? lane : kRoom - now.others + lane - now.insertions;
      now.others = max(now.insertions + now.others - kWarp, 0);
      now.insertions = 0;
    }
    __syncwarp();
    if (lane == 0) pending.progress = now;
    Attempt attempt;
    bool done = place < 0;
    if (!done) {
      attempt.operation = static_cast<Operation>(pending.kinds[place]);
      attempt.key = pending.keys[place];
      attempt.operand = pending.operands[place];
      attempt.value_mask = static_cast<Value>(~Value{0});
      attempt.home = placement.home(attempt.key);
      if (static_cast<int>(attempt.operation) >= kOperations) {
        attempt.outcome = Outcome::invalid;
        done = true;
      }
    }
    perform<Slots, kFindsAlone>(lines, looker, attempt, done, &totals[3]);
    if (place >= 0) {
      const std::uint32_t to = pending.places[place];
      if (source.outcomes != nullptr) source.outcomes[to] = attempt.outcome;
      if (source.values != nullptr) source.values[to] = static_cast<Value>(attempt.value);
    }
    if constexpr (!kFindsAlone) {
      const auto count = [&](unsigned& total, Outcome outcome) {
        const unsigned lanes = __ballot_sync(kAllLanes, place >= 0 && attempt.outcome == outcome);
        if (lane == 0 && lanes != 0) atomicAdd(&total, static_cast<unsigned>(__popc(lanes)));
      };
      count(totals[0], Outcome::inserted);
      count(totals[1], Outcome::erased);
      count(totals[2], Outcome::full);
    }
  }
  lines.give_back_spare();
  __syncthreads();
  if (thread < 4 && totals[thread] != 0)
    atomicAdd(&counters->inserted + thread, static_cast<unsigned long long>(totals[thread]));
}

/// As many blocks as a device has room for at once, or up to kWaves times as many where each warp still has
/// two rows; fewer where there are no more rows.
unsigned blocks_for(std::uint64_t operations, unsigned threads) {
  int device = 0, multiprocessors = 0;
  cuda_check(cudaGetDevice(&device), "cudaGetDevice");
  cuda_check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device),
             "cudaDeviceGetAttribute");
  const std::uint64_t rows = (operations + threads - 1) / threads;
  const std::uint64_t room = static_cast<std::uint64_t>(multiprocessors) *
                             (static_cast<unsigned>(kThreadsPerMultiprocessor) / threads);
  return static_cast<unsigned>(std::min(rows, std::clamp((rows + 1) / 2, room, kWaves * room)));
}

}  // namespace

template <class Key, class Value>
void launch_batch(const DeviceMemory& memory, const BatchArguments& batch, int threads_per_block,
                  cudaStream_t stream) {
  if (batch.count == 0) return;
  const bool finds_alone = batch.alone && batch.operations == nullptr && batch.operation == Operation::find;
  const auto kernel = finds_alone ? execute<Key, Value, true> : execute<Key, Value, false>;
  const auto threads = static_cast<unsigned>(
      threads_per_block > 0 ? std::clamp(threads_per_block / kWarp * kWarp, kWarp, kMostThreads)
                            : kMostThreads);
  const unsigned blocks = blocks_for(batch.count, threads);
  // So that rows of 32 are aligned as the batch is.
  const std::uint64_t rows = std::uint64_t{blocks} * threads;
  const auto slice = static_cast<std::uint32_t>((batch.count + rows - 1) / rows * kWarp);
  kernel<<<blocks, threads, threads / kWarp * sizeof(Pending<Key, Value>), stream>>>(
      memory.lines, memory.pool, memory.placement, batch.count, batch.operations, batch.operation,
      static_cast<const Key*>(batch.keys), static_cast<const Value*>(batch.operands), batch.outcomes,
      static_cast<Value*>(batch.values), batch.counters, slice, batch.share);
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
