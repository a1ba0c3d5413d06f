#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "oracle/linearizability.hpp"
#include "oracle/random.hpp"
#include "table/list_chain.hpp"
#include "table/list_on.hpp"
#include "warploom/core/run.hpp"
#include "warploom/core/sanitizers.hpp"

namespace warploom::table {

/// Threads that take turns at any place where there are fewer processors
class EightThreads : public testing::Environment {
 public:
  void SetUp() override { scope_.emplace(Run{.threads = 8}); }
  void TearDown() override { scope_.reset(); }

 private:
  std::optional<RunScope> scope_;
};
const testing::Environment* const kEightThreads = testing::AddGlobalTestEnvironment(new EightThreads);

INSTANTIATE_TEST_SUITE_P(Cpu, ListOn, testing::Values(Device::cpu));

namespace {

// Hash functions: by hand, from their definitions.

TEST(ListHash, DekIsKnuths) {
  // 4 -> 4*32 ^ 1 = 129 -> 4128 ^ 2 = 4130 -> 132160 ^ 3 = 132163 -> 4229216 ^ 4
  EXPECT_EQ(hash_bytes(Hash::dek, 0x04030201, 4), 4229220);
  EXPECT_EQ(hash_bytes(Hash::dek, 0, 4), 4U << 20);
  EXPECT_EQ(hash_bytes(Hash::dek, 0x6d6f6f6c70726177, 8), 2738338349);  // rotates
}

TEST(ListHash, SdbmMultipliesBy65599) {
  std::uint32_t want = 0;
  for (const std::uint32_t byte : {1U, 2U, 3U, 4U}) want = want * 65599 + byte;
  EXPECT_EQ(hash_bytes(Hash::sdbm, 0x04030201, 4), want);
  EXPECT_EQ(want, 797307010);
  EXPECT_EQ(hash_bytes(Hash::sdbm, 0x6d6f6f6c70726177, 8), 1654833769);
}

TEST(ListHash, PjwFoldsItsTopFourBits) {
  EXPECT_EQ(hash_bytes(Hash::pjw, 0x04030201, 4), 0x1234);
  // Eight bytes of 255, with a multiplication, and the fold as a shift by 28 - 4
  std::uint32_t want = 0;
  for (int i = 0; i < 8; ++i) {
    want = want * 16 + 0xFF;
    want = (want & 0x0FFFFFFF) ^ ((want >> 28) << 4);
  }
  EXPECT_EQ(hash_bytes(Hash::pjw, ~std::uint64_t{0}, 8), want);
  EXPECT_EQ(want, 4335);
}

TEST(ListHash, AKeyInTheUnitIntervalIsAssignedByItsFirstSixDecimals) {
  Placement placement{.tables = 320, .buckets = 1024, .hash = Hash::dek, .assignment = Assignment::decimal};
  for (const double key : {0.0, 0.1234567, 0.5, 0.9999999}) {
    const auto quantised = static_cast<std::uint32_t>(key * 4294967296.0);
    EXPECT_EQ(placement.table(quantised), static_cast<std::uint32_t>(key * 1e6) % 320) << key;
    placement.key_bytes = 8;
    EXPECT_EQ(placement.table(std::uint64_t{quantised} << 32), static_cast<std::uint32_t>(key * 1e6) % 320)
        << key;
    placement.key_bytes = 4;
  }
}

TEST(ListHash, KeysThatAreNoFractionsAreAssignedToAllTables) {
  for (const std::uint32_t tables : {50U, 320U, 400U}) {
    const Placement placement{.tables = tables, .assignment = Assignment::decimal};
    std::vector<int> keys_of(tables);
    for (std::uint32_t i = 0; i < 100 * tables; ++i) {
      const std::uint32_t key = i * 2654435769U;
      // The formula applied to the integer: always table 0.
      ASSERT_EQ(std::uint64_t{key} * 1'000'000 % tables, 0);
      ++keys_of[placement.table(key)];
    }
    for (const int keys : keys_of) EXPECT_TRUE(50 <= keys && keys <= 200) << keys << " of 100 expected";
  }
}

// Every access of every thread in any order: a thread is run again from its beginning with the answers it has
// had so far, up to the access it wants next. Then another thread may have its turn.

struct Access {
  enum class Kind : std::uint8_t { load, store, compare_exchange } kind;
  list::NodeIndex node;
  int word;
  Word desired = 0, expected = 0;
};

class Replayed {
 public:
  static constexpr list::NodeIndex kHeads = 2, kFreeLists = 2;
  Replayed(const std::vector<Word>& answers, std::uint32_t own) : answers_(answers), own_(own) {}

  Word load(list::NodeIndex node, int word) { return next({Access::Kind::load, node, word}); }
  Word load_acquire(list::NodeIndex node, int word) { return load(node, word); }
  void store(list::NodeIndex node, int word, Word value) { next({Access::Kind::store, node, word, value}); }
  bool compare_exchange(list::NodeIndex node, int word, Word& expected, Word desired) {
    const Word before = next({Access::Kind::compare_exchange, node, word, desired, expected});
    const bool done = before == expected;
    expected = before;
    return done;
  }
  list::NodeIndex allocate() { return list::pop_any(*this, kHeads, kFreeLists, from_); }
  void release(list::NodeIndex node) { list::push(*this, kHeads + own_, node); }

 private:
  Word next(Access access) {
    if (at_ == answers_.size()) throw access;
    return answers_[at_++];
  }
  const std::vector<Word>& answers_;
  std::uint32_t own_, from_ = own_;
  std::size_t at_ = 0;
};

template <class Pairs>
class Interleaving {
 public:
  Interleaving(std::uint32_t seed, int nodes)
      : random_(seed), words_(Replayed::kHeads + Replayed::kFreeLists + nodes) {
    for (int i = 0; i < nodes; ++i) {  // node by node into the free lists
      const auto node = static_cast<list::NodeIndex>(Replayed::kHeads + Replayed::kFreeLists + i);
      complete([&](Replayed& memory) { memory.release(node); });
    }
  }

  /// Threads that do `operations` each on keys below `keys`, with the key in the upper half of values.
  void run(int threads, int operations, std::uint32_t keys, std::uint32_t kinds) {
    std::vector<Thread> all(threads);
    int working = threads;
    std::size_t current = 0;
    while (working > 0) {
      if (random_.chance(60)) current = random_.below(threads);
      Thread& thread = all[current];
      if (thread.done == operations) {
        current = (current + 1) % all.size();
        continue;
      }
      if (!thread.busy) {
        thread.busy = true;
        thread.answers.clear();
        thread.operation = {};
        thread.operation.operation = static_cast<Operation>(random_.below(kinds));
        thread.operation.key = random_.below(keys);
        thread.operation.operand = thread.operation.key << 16 | random_.below(4);
        thread.operation.called = ++clock_;
        thread.operation.thread = static_cast<int>(current);
      }
      if (!step(thread, static_cast<std::uint32_t>(current) % Replayed::kFreeLists)) continue;
      thread.operation.returned = ++clock_;
      history_.push_back(thread.operation);
      thread.busy = false;
      working -= ++thread.done == operations;
    }
  }

  void expect_linearizable() const {
    const auto wrong = oracle::map_violation(
        history_, [](std::uint64_t) { return oracle::KeyState{}; }, 32);
    EXPECT_FALSE(wrong.has_value()) << *wrong;
  }

  /// Every node is in one list, those of a bucket in order and not marked.
  void expect_whole() const {
    std::vector<int> seen(words_.size());
    for (list::NodeIndex head = 0; head < Replayed::kHeads + Replayed::kFreeLists; ++head) {
      std::uint64_t least = 0;
      for (list::NodeIndex node = next(head); node != list::kNoNode; node = next(node)) {
        ASSERT_EQ(++seen[node], 1) << "node " << node;
        const bool free = head >= Replayed::kHeads;
        EXPECT_EQ(list::Link{words_[node][0]}.marked(), free) << "node " << node;
        if (free) continue;
        const std::uint64_t key = Pairs::key(words_[node][1]);
        EXPECT_GE(key, least);
        least = key + 1;
      }
    }
    for (std::size_t node = Replayed::kHeads + Replayed::kFreeLists; node < seen.size(); ++node)
      EXPECT_EQ(seen[node], 1) << "node " << node << " is lost";
  }

  std::uint64_t fulls() const {
    std::uint64_t count = 0;
    for (const auto& operation : history_) count += operation.outcome == Outcome::full;
    return count;
  }

 private:
  struct Thread {
    bool busy = false;
    int done = 0;
    oracle::MapOperation operation;
    std::vector<Word> answers;
  };

  list::NodeIndex next(list::NodeIndex node) const { return list::Link{words_[node][0]}.next(); }

  Word perform(const Access& access) {
    Word& word = words_[access.node][static_cast<std::size_t>(access.word)];
    const Word before = word;
    const bool writes = access.kind == Access::Kind::store ||
                        (access.kind == Access::Kind::compare_exchange && before == access.expected);
    if (writes) word = access.desired;
    return before;
  }

  /// @return whether the thread's operation is complete; if not, it made one access
  bool step(Thread& thread, std::uint32_t own) {
    list::Attempt attempt;
    attempt.operation = thread.operation.operation;
    attempt.home = static_cast<list::NodeIndex>(thread.operation.key % Replayed::kHeads);
    attempt.key = thread.operation.key;
    attempt.operand = thread.operation.operand;
    try {
      Replayed memory(thread.answers, own);
      list::run<Pairs>(memory, attempt);
    } catch (const Access& access) {
      thread.answers.push_back(perform(access));
      return false;
    }
    thread.operation.outcome = attempt.outcome;
    thread.operation.value = attempt.value;
    return true;
  }

  template <class Body>
  void complete(const Body& body) {
    for (std::vector<Word> answers;;) {
      try {
        Replayed memory(answers, static_cast<std::uint32_t>(random_.below(Replayed::kFreeLists)));
        return body(memory);
      } catch (const Access& access) {
        answers.push_back(perform(access));
      }
    }
  }

  Random random_;
  std::vector<std::array<Word, 3>> words_;
  std::uint64_t clock_ = 0;
  std::vector<oracle::MapOperation> history_;
};

template <class Pairs>
void interleave(int nodes, int threads, std::uint32_t keys, std::uint32_t kinds, bool expect_full) {
#if WARPLOOM_ADDRESS_SANITIZER || WARPLOOM_THREAD_SANITIZER
  constexpr std::uint32_t kSeeds = 30;
#else
  constexpr std::uint32_t kSeeds = 500;
#endif
  std::uint64_t fulls = 0;
  for (std::uint32_t seed = 1; seed <= kSeeds && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Interleaving<Pairs> threads_at_work(seed, nodes);
    threads_at_work.run(threads, 20, keys, kinds);
    threads_at_work.expect_linearizable();
    threads_at_work.expect_whole();
    fulls += threads_at_work.fulls();
  }
  EXPECT_EQ(fulls > 0, expect_full);
}

TEST(ListInterleaved, OperationsOfEveryKindAreLinearizable) {
  interleave<list::NarrowPairs>(12, 3, 3, kOperations, false);
  interleave<list::WidePairs<std::uint32_t>>(12, 3, 3, kOperations, false);
}

TEST(ListInterleaved, NodesThatAreUsedAgainAtOnceAreNoticed) {
  interleave<list::NarrowPairs>(3, 3, 6, 3, true);
  interleave<list::WidePairs<std::uint32_t>>(3, 3, 6, 3, true);
}

}  // namespace
}  // namespace warploom::table
