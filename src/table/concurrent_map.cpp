#include "warploom/table/concurrent_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <mutex>
#include <utility>

#include "warploom/core/memory.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/core/threads.hpp"

namespace warploom::table {
namespace {

/// Operations whose lines are fetched while as many before them are carried out
constexpr std::uint64_t kAhead = 32;
/// Operations, or chains, that a thread takes at once
constexpr std::uint64_t kOperationsAtOnce = 4096;

void prefetch(const CpuLines& lines, Place place) {
  const Word* const line = lines.home_words(place.base, low_bits(place.spread, lines.level()));
  __builtin_prefetch(line);
  __builtin_prefetch(line + kLineWords / 2);
}

/// Calls body(begin, end) for pieces of [0, count), on several threads.
template <class Body>
void for_pieces(std::uint64_t count, Body body) {
  parallel_for(static_cast<std::int64_t>((count + kOperationsAtOnce - 1) / kOperationsAtOnce),
               [&](std::int64_t piece) {
                 const std::uint64_t begin = static_cast<std::uint64_t>(piece) * kOperationsAtOnce;
                 body(begin, std::min(count, begin + kOperationsAtOnce));
               });
}

/// Calls visit(line, header) for the lines of a chain.
template <class Visit>
void for_lines(const CpuLines& lines, LineIndex home, Visit visit) {
  for (LineIndex line = home; line != kNoLine; line = Tail{lines.load_acquire(line, kTailWord)}.next())
    visit(line, Header{lines.load_acquire(line, kHeaderWord)});
}

/// Calls visit(key, value) for the pairs of a chain, as their words are.
template <class Slots, class Visit>
void for_pairs(const CpuLines& lines, LineIndex home, Visit visit) {
  for_lines(lines, home, [&](LineIndex line, Header header) {
    for (Word live = header.live_slots(); live != 0; live &= live - 1) {
      const int word = Slots::key_word(first_slot(live));
      const Word first = lines.load(line, word);
      if constexpr (Slots::kWide)
        visit(first, lines.load(line, word + 1));
      else
        visit(first & 0xFFFFFFFF, first >> 32);
    }
  });
}

std::uint64_t pairs_in(const CpuLines& lines, LineIndex home) {
  std::uint64_t pairs = 0;
  for_lines(lines, home, [&](LineIndex, Header header) {
    pairs += static_cast<std::uint64_t>(std::popcount(header.live_slots()));
  });
  return pairs;
}

}  // namespace

template <class Key, class Value>
struct ConcurrentChains<Key, Value>::Batch {
  std::span<const Operation> operations;
  Operation operation;  ///< where there are no operations
  std::span<const Key> keys;
  std::span<const Value> operands;
  std::span<Outcome> outcomes;
  std::span<Value> values;

  void check() const {
    const auto same = [&](std::size_t length, const char* what, bool may_lack) {
      if (length != keys.size() && !(may_lack && length == 0))
        throw BadInput(fmt::format("a batch of {} keys and {} {}: give as many{}", keys.size(), length, what,
                                   may_lack ? " or none" : ""));
    };
    same(operations.size(), "operations", true);
    same(operands.size(), "operands", true);
    same(outcomes.size(), "outcomes", true);
    same(values.size(), "values", true);
  }
  Batch part(std::uint64_t begin, std::uint64_t size) const {
    const auto cut = [&](auto span) { return span.empty() ? span : span.subspan(begin, size); };
    return {cut(operations), operation, cut(keys), cut(operands), cut(outcomes), cut(values)};
  }
};

template <class Key, class Value>
ConcurrentChains<Key, Value>::ConcurrentChains(const MapOptions& options, std::uint64_t chains)
    : lines_(chains, options.most_bytes, options.grows), options_(options) {}

template <class Key, class Value>
BatchCounts ConcurrentChains<Key, Value>::run(std::span<const Operation> operations,
                                              std::span<const Key> keys, std::span<const Value> operands,
                                              std::span<Outcome> outcomes, std::span<Value> values,
                                              const Run& as) {
  const RunScope scope(as);
  if (operations.size() != keys.size())
    throw BadInput(
        fmt::format("a batch of {} keys and {} operations: give as many", keys.size(), operations.size()));
  return run(Batch{operations, Operation::find, keys, operands, outcomes, values});
}

template <class Key, class Value>
BatchCounts ConcurrentChains<Key, Value>::run(Operation operation, std::span<const Key> keys,
                                              std::span<const Value> operands, std::span<Outcome> outcomes,
                                              std::span<Value> values, const Run& as) {
  const RunScope scope(as);
  return run(Batch{{}, operation, keys, operands, outcomes, values});
}

template <class Key, class Value>
BatchCounts ConcurrentChains<Key, Value>::run(const Batch& batch) {
  batch.check();
  const std::uint64_t count = batch.keys.size(), pieces = (count + kOperationsAtOnce - 1) / kOperationsAtOnce;
  std::atomic<std::uint64_t> next = 0;
  std::mutex mutex;
  BatchCounts all;
  const std::uint64_t workers = std::min<std::uint64_t>(threads(), pieces);
  parallel_for(static_cast<std::int64_t>(workers), [&](std::int64_t) {
    BatchCounts mine;
    for (std::uint64_t piece; (piece = next.fetch_add(1)) < pieces;) {
      check_interrupt();
      run_piece(batch, piece * kOperationsAtOnce, std::min(count, (piece + 1) * kOperationsAtOnce), mine);
    }
    const std::lock_guard lock(mutex);
    all.tally.inserted += mine.tally.inserted;
    all.tally.erased += mine.tally.erased;
    all.tally.full += mine.tally.full;
    all.retries += mine.retries;
  });
  return all;
}

template <class Key, class Value>
void ConcurrentChains<Key, Value>::run_piece(const Batch& batch, std::uint64_t begin, std::uint64_t end,
                                             BatchCounts& counts) const {
  // Places of the operations that come next and of those after them, whose lines are on their way.
  std::array<Place, kAhead> places, ahead;
  const auto look = [&](std::uint64_t at) {
    const std::uint64_t count = at < end ? std::min(kAhead, end - at) : 0;
    if (count != 0) find_places(batch.keys.subspan(at, count), ahead.data());
    return count;
  };
  std::uint64_t count = look(begin);
  for (std::uint64_t i = 0; i < count; ++i) prefetch(lines_, ahead[i]);
  while (begin < end) {
    places = ahead;
    const std::uint64_t to_come = look(begin + count);
    for (std::uint64_t i = 0; i < count; ++i) {
      if (i < to_come) prefetch(lines_, ahead[i]);
      const std::uint64_t k = begin + i;
      const Answer answer = carry_out<Slots>(
          lines_, places[i], batch.operations.empty() ? batch.operation : batch.operations[k], batch.keys[k],
          batch.operands.empty() ? 0 : Word{batch.operands[k]} << kValueShift);
      counts.tally.inserted += answer.outcome == Outcome::inserted;
      counts.tally.erased += answer.outcome == Outcome::erased;
      counts.tally.full += answer.outcome == Outcome::full;
      counts.retries += answer.retries;
      if (!batch.outcomes.empty()) batch.outcomes[k] = answer.outcome;
      if (!batch.values.empty()) batch.values[k] = static_cast<Value>(answer.value >> kValueShift);
    }
    begin += count;
    count = to_come;
  }
}

template <class Key, class Value>
void ConcurrentChains<Key, Value>::rehash(std::uint64_t chains, const Places& find) {
  if (options_.most_bytes != 0 && chains > options_.most_bytes / kLineBytes)
    throw OutOfMemory(fmt::format("a hash table of {} chains needs {}, it may have {}", chains,
                                  bytes_text(chains * kLineBytes), bytes_text(options_.most_bytes)));
  CpuLines next(chains, options_.most_bytes, options_.grows);
  for_pieces(lines_.homes(), [&](std::uint64_t begin, std::uint64_t end) {
    std::array<Key, kAhead> keys;
    std::array<Word, kAhead> values;
    std::array<Place, kAhead> places;
    std::size_t count = 0;
    const auto move = [&] {
      find({keys.data(), count}, places.data());
      for (std::size_t i = 0; i < count; ++i) prefetch(next, places[i]);
      for (std::size_t i = 0; i < count; ++i)
        if (carry_out<Slots>(next, places[i], Operation::insert, keys[i], values[i]).outcome == Outcome::full)
          throw OutOfMemory(fmt::format("no memory for a hash table of {} chains", chains));
      count = 0;
    };
    for (std::uint64_t i = begin; i < end; ++i)
      for_pairs<Slots>(lines_, lines_.nth_home(i), [&](Word key, Word value) {
        keys[count] = static_cast<Key>(key);
        values[count] = value;
        if (++count == kAhead) move();
      });
    move();
  });
  lines_ = std::move(next);
}

template <class Key, class Value>
void ConcurrentChains<Key, Value>::trim() {
  struct Pair {
    LineIndex home;
    Word key, value;
  };
  // First copies, which may find no memory; then nothing fails, for no chain needs more lines than it had.
  std::vector<Pair> pairs;
  std::mutex mutex;
  const auto tail = [&](LineIndex line) { return Tail{lines_.load(line, kTailWord)}; };
  const auto has_more = [&](LineIndex line) { return tail(line).next() != kNoLine; };
  for_pieces(lines_.homes(), [&](std::uint64_t begin, std::uint64_t end) {
    std::vector<Pair> mine;
    for (std::uint64_t k = begin; k < end; ++k)
      if (const LineIndex home = lines_.nth_home(k); has_more(home))
        for_pairs<Slots>(lines_, home, [&](Word key, Word value) { mine.push_back({home, key, value}); });
    const std::lock_guard lock(mutex);
    pairs.insert(pairs.end(), mine.begin(), mine.end());
  });
  for_pieces(lines_.homes(), [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t k = begin; k < end; ++k)
      if (const LineIndex home = lines_.nth_home(k); has_more(home)) {
        lines_.store(home, kHeaderWord, 0);
        lines_.store(home, kTailWord, Tail{}.with_level(tail(home).level()).bits);
      }
  });
  lines_.forget_appended();
  for_pieces(pairs.size(), [&](std::uint64_t begin, std::uint64_t end) {
    const OneThreadsLines lines(lines_);
    for (std::uint64_t i = begin; i < end; ++i) {
      const auto [home, key, value] = pairs[i];
      Attempt attempt = attempt_at({lines_.base(home), CpuLines::spread(key)}, Operation::insert, key, value);
      attempt.home = home;  // no splits, which might take more lines than there were
      attempt.level = tail(home).level();
      while (!advance<Slots>(lines, attempt, scan_lines<Slots>(lines, attempt))) {
      }
    }
  });
  lines_.shrink_pool();
}

template <class Key, class Value>
void ConcurrentChains<Key, Value>::clear() {
  lines_.clear();
}

template <class Key, class Value>
std::uint64_t ConcurrentChains<Key, Value>::size() const {
  std::atomic<std::uint64_t> pairs = 0;
  for_pieces(lines_.homes(), [&](std::uint64_t begin, std::uint64_t end) {
    std::uint64_t mine = 0;
    for (std::uint64_t i = begin; i < end; ++i) mine += pairs_in(lines_, lines_.nth_home(i));
    pairs += mine;
  });
  return pairs;
}

template <class Key, class Value>
void ConcurrentChains<Key, Value>::for_each(const std::function<void(Key, Value)>& visit) const {
  if (!visit) throw BadInput("for_each was given an empty function");
  for (std::uint64_t i = 0; i < lines_.homes(); ++i)
    for_pairs<Slots>(lines_, lines_.nth_home(i), [&](Word key, Word value) {
      visit(static_cast<Key>(key), static_cast<Value>(value >> kValueShift));
    });
}

template <class Key, class Value>
void ConcurrentChains<Key, Value>::export_pairs(std::vector<Key>& keys, std::vector<Value>& values) const {
  keys.clear();
  values.clear();
  const std::uint64_t pairs = size();
  keys.reserve(pairs);
  values.reserve(pairs);
  for_each([&](Key key, Value value) {
    keys.push_back(key);
    values.push_back(value);
  });
}

template <class Key, class Value>
Statistics ConcurrentChains<Key, Value>::statistics(std::uint32_t tables) const {
  const std::uint64_t bases = lines_.bases();
  if (tables == 0 || bases % tables != 0)
    throw BadInput(fmt::format("{} chains are not those of {} tables of one size", bases, tables));
  Statistics statistics;
  statistics.pairs_per_table.resize(tables);
  std::uint64_t nodes = 0;
  for (std::uint64_t k = 0; k < chains(); ++k) {
    std::uint64_t pairs = 0, lines = 0;
    for_lines(lines_, lines_.nth_home(k), [&](LineIndex, Header header) {
      pairs += static_cast<std::uint64_t>(std::popcount(header.live_slots()));
      ++lines;
    });
    nodes += lines - 1;
    if (statistics.chain_lengths.size() <= pairs) statistics.chain_lengths.resize(pairs + 1);
    ++statistics.chain_lengths[pairs];
    statistics.pairs_per_table[k % bases / (bases / tables)] += pairs;
    statistics.pairs += pairs;
  }
  statistics.bytes_directory = chains() * kLineBytes;
  statistics.bytes_nodes = nodes * kLineBytes;
  statistics.bytes_free = (lines_.pool_lines() - nodes) * kLineBytes;
  return statistics;
}

template <class Key, class Value>
std::uint64_t ConcurrentChains<Key, Value>::bytes() const {
  return (chains() + lines_.pool_lines()) * kLineBytes;
}

template class ConcurrentChains<std::uint32_t, std::uint32_t>;
template class ConcurrentChains<std::uint32_t, std::uint64_t>;
template class ConcurrentChains<std::uint64_t, std::uint32_t>;
template class ConcurrentChains<std::uint64_t, std::uint64_t>;

}  // namespace warploom::table
