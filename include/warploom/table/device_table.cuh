#pragma once

/// The table inside kernels: every thread may call every function at any time, beside batches and other
/// kernels; warps need not be converged. A batch of its own is faster through GpuTable::run (gpu_table.cuh).

#include <cstdint>
#include <type_traits>

#include "warploom/core/device_atomics.cuh"
#include "warploom/table/chain.hpp"
#include "warploom/table/hash.hpp"

namespace warploom::table {

/// Lines that chains do not have yet, in device memory: those above a mark were never given out, those that
/// trim took out of chains are in a stack, and those that came back while operations are under way in lists,
/// linked through their tails, until a trim puts them on the stack. There are many lists, each thread has
/// one, because taking lines from one is serial, and many threads append at once.
struct LinePool {
  static constexpr unsigned kLists = 64;

  LineIndex next_fresh = 0;
  LineIndex end = 0;
  /// Lines stack[0] to stack[stacked - 1]. Only trim adds to it; negative while threads find it empty.
  LineIndex* stack = nullptr;
  int stacked = 0;
  /// Upper half: how often it changed, against ABA. Lower half: the first line of the list, inverted (0:
  /// none).
  Word given_back[kLists] = {};
};

/// chain.hpp's Memory: lines in device memory, all accesses of scope gpu. Unchecked: GpuTable::handle() makes
/// it.
class DeviceLines {
 public:
  DeviceLines() = default;
  WARPLOOM_HOST_DEVICE DeviceLines(Word* lines, LinePool* pool) : lines_(lines), pool_(pool) {}

  __device__ Word* at(LineIndex line, int word) const {
    return lines_ + std::uint64_t{line} * kLineWords + word;
  }
  __device__ Word load(LineIndex line, int word) const { return load_relaxed(at(line, word)); }
  __device__ Word load_acquire(LineIndex line, int word) const {
    return warploom::load_acquire(at(line, word));
  }
  __device__ void store(LineIndex line, int word, Word value) const { store_relaxed(at(line, word), value); }
  __device__ bool compare_exchange(LineIndex line, int word, Word& expected, Word desired) const {
    fence_release();
    return compare_exchange_acquire(line, word, expected, desired);
  }
  __device__ bool compare_exchange_acquire(LineIndex line, int word, Word& expected, Word desired) const {
    const Word before = warploom::compare_exchange_acquire(at(line, word), expected, desired);
    const bool done = before == expected;
    expected = before;
    return done;
  }
  __device__ static void fence() { fence_release(); }
  __device__ Word fetch_or(LineIndex line, int word, Word operand) const {
    fence_release();
    return warploom::fetch_or_acquire(at(line, word), operand);
  }
  __device__ Word fetch_or_acquire(LineIndex line, int word, Word operand) const {
    return warploom::fetch_or_acquire(at(line, word), operand);
  }
  __device__ Word fetch_add(LineIndex line, int word, Word operand) const {
    fence_release();
    return atomicAdd(pointer(line, word), operand);
  }
  __device__ Word fetch_add_relaxed(LineIndex line, int word, Word operand) const {
    return atomicAdd(pointer(line, word), operand);
  }
  __device__ Word exchange(LineIndex line, int word, Word operand) const {
    return atomicExch(pointer(line, word), operand);
  }
  /// Neighbouring lanes choose different slots, so that insertions at the same time seldom meet.
  __device__ static Word choose(Word slots) {
    for (unsigned skip = threadIdx.x % static_cast<unsigned>(__popcll(slots)); skip != 0; --skip)
      slots &= slots - 1;
    return slots & -slots;
  }
  static constexpr std::uint32_t kPatience = 8;
  static constexpr bool kGrows = false;
  __device__ LineIndex allocate();
  /// Keeps one for the next allocate(): another thread was faster to append, which happens to many at a time.
  __device__ void release(LineIndex line) {
    if (spare_ == kNoLine) {
      spare_ = line;
    } else {
      give_back(line);
    }
  }
  /// To be called before a thread is done with this object.
  __device__ void give_back_spare() {
    if (spare_ != kNoLine) give_back(spare_);
    spare_ = kNoLine;
  }

 private:
  __device__ unsigned long long* pointer(LineIndex line, int word) const {
    return reinterpret_cast<unsigned long long*>(at(line, word));
  }
  __device__ void give_back(LineIndex line) const;
  /// Number `i` of the lists, counted from this thread's own
  __device__ Word* own_list(unsigned i) const {
    return &pool_->given_back[(blockIdx.x * blockDim.x + threadIdx.x + i) % LinePool::kLists];
  }

  Word* lines_ = nullptr;
  LinePool* pool_ = nullptr;
  LineIndex spare_ = kNoLine;
};

/// A table's memory and operations for kernels: a value, to be passed to them. Unchecked: GpuTable::handle()
/// makes it. `Placer` as in hash.hpp.
template <class Key, class Value, class Placer = Placement>
class DeviceTable {
 public:
  static_assert(sizeof(Key) == 4 || sizeof(Key) == 8);
  static_assert(sizeof(Value) == 4 || sizeof(Value) == 8);
  using Slots = std::conditional_t<sizeof(Key) == 4 && sizeof(Value) == 4, NarrowSlots, WideSlots>;

  struct Result {
    Outcome outcome;
    Value value;  ///< with found and updated
  };

  DeviceTable() = default;
  WARPLOOM_HOST_DEVICE DeviceTable(DeviceLines lines, Placer placer) : lines_(lines), placer_(placer) {}

  __device__ Result find(Key key) const { return perform(Operation::find, key, 0); }
  __device__ bool contains(Key key) const { return find(key).outcome == Outcome::found; }
  __device__ Result insert(Key key, Value value) const { return perform(Operation::insert, key, value); }
  __device__ Result insert_or_assign(Key key, Value value) const {
    return perform(Operation::assign, key, value);
  }
  /// Inserts the operand where the key is absent.
  __device__ Result fetch_add(Key key, Value operand) const { return perform(Operation::add, key, operand); }
  __device__ bool erase(Key key) const {
    return perform(Operation::erase, key, 0).outcome == Outcome::erased;
  }
  __device__ Result perform(Operation operation, Key key, Value operand) const {
    Attempt attempt;
    attempt.operation = operation;
    attempt.home = placer_.home(key);
    attempt.key = key;
    attempt.operand = operand;
    attempt.value_mask = static_cast<Value>(~Value{0});
    DeviceLines lines = lines_;
    run<Slots>(lines, attempt);
    lines.give_back_spare();
    return {attempt.outcome, static_cast<Value>(attempt.value)};
  }

 private:
  DeviceLines lines_;
  Placer placer_;
};

__device__ inline LineIndex DeviceLines::allocate() {
  if (spare_ != kNoLine) {
    const LineIndex line = spare_;
    spare_ = kNoLine;
    return line;
  }
  if (load_relaxed(&pool_->next_fresh) < pool_->end) {  // so that the mark cannot wrap
    const LineIndex line = atomicAdd(&pool_->next_fresh, 1u);
    if (line < pool_->end) return line;
  }
  if (load_relaxed(&pool_->stacked) > 0) {
    const int height = atomicSub(&pool_->stacked, 1);
    if (height > 0) return load_relaxed(&pool_->stack[height - 1]);
    atomicAdd(&pool_->stacked, 1);
  }
  for (unsigned i = 0; i < LinePool::kLists; ++i) {
    Word* const list = own_list(i);
    Word expected = warploom::load_acquire(list);
    while (static_cast<LineIndex>(expected) != 0) {
      const LineIndex line = ~static_cast<LineIndex>(expected);
      const LineIndex below = ~Tail{load(line, kTailWord)}.next();
      const Word desired = ((expected >> 32) + 1) << 32 | below;
      const Word before = warploom::compare_exchange_acquire(list, expected, desired);
      if (before == expected) {
        store(line, kTailWord, 0);
        return line;
      }
      expected = before;
    }
  }
  return kNoLine;
}

__device__ inline void DeviceLines::give_back(LineIndex line) const {
  Word* const list = own_list(0);
  store(line, kHeaderWord, 0);
  Word expected = load_relaxed(list);
  for (;;) {
    store(line, kTailWord, Tail{}.with_next(~static_cast<LineIndex>(expected)).bits);
    fence_release();
    const Word before = warploom::compare_exchange_acquire(
        list, expected, ((expected >> 32) + 1) << 32 | static_cast<LineIndex>(~line));
    if (before == expected) return;
    expected = before;
  }
}

}  // namespace warploom::table
