#include "warploom/count/count.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory_resource>
#include <utility>

#include "core/built_with_cuda.hpp"
#include "count/kmer_device.hpp"
#include "count/kmer_partitions.hpp"
#include "count/kmer_word.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/core/run.hpp"
#include "warploom/core/threads.hpp"
#include "warploom/table/hash.hpp"

namespace warploom::table {
namespace {

/// Marks numbers that are places in the batch until its new words have theirs.
constexpr std::uint64_t kInBatch = std::uint64_t{1} << 63;

template <class Body>
void for_each_of(std::size_t count, const Body& body) {
  constexpr std::size_t kChunk = 4096;
  parallel_for(static_cast<std::int64_t>((count + kChunk - 1) / kChunk), [&](std::int64_t chunk) {
    const std::size_t begin = static_cast<std::size_t>(chunk) * kChunk;
    for (std::size_t k = begin; k < std::min(count, begin + kChunk); ++k) body(k);
  });
}

/// Numbers words from 0 on: the same word always has the same number. Exact, whatever the words hash to.
class Dictionary {
 public:
  explicit Dictionary(const Options& options) : table_(options) {}

  /// numbers[k] becomes that of words[k]. In a batch all words are looked up at once.
  // A word has the first key of its own sequence, hash, mix(hash + 1), ..., that no other word has taken.
  void number(std::span<const std::string_view> words, std::span<std::uint64_t> numbers) {
    std::vector<std::uint64_t> keys(words.size()), places(words.size()), found(words.size());
    std::vector<std::size_t> open(words.size());
    std::vector<Outcome> outcomes(words.size());
    for_each_of(words.size(), [&](std::size_t k) {
      keys[k] = std::hash<std::string_view>()(words[k]);
      places[k] = kInBatch | k;
      open[k] = k;
    });
    while (!open.empty()) {
      const BatchReport report = table_.run(Operation::insert, keys, places, outcomes, found);
      if (report.tally.full > 0) throw OutOfMemory("no memory for more different words");
      std::vector<std::uint64_t> new_keys, new_numbers;
      for (std::size_t k = 0; k < open.size(); ++k)
        if (outcomes[k] == Outcome::inserted) {
          numbers[open[k]] = words_.size();
          new_keys.push_back(keys[k]);
          new_numbers.push_back(words_.size());
          keep(words[open[k]]);
        }
      if (!new_keys.empty()) table_.run(Operation::assign, new_keys, new_numbers, {}, {});
      for_each_of(open.size(), [&](std::size_t k) {
        if (outcomes[k] == Outcome::inserted) return;
        const std::uint64_t number = (found[k] & kInBatch) != 0 ? numbers[found[k] & ~kInBatch] : found[k];
        if (word(number) == words[open[k]])
          numbers[open[k]] = number;
        else
          outcomes[k] = Outcome::absent;  // another word's key: try the next
      });
      std::size_t left = 0;
      for (std::size_t k = 0; k < open.size(); ++k)
        if (outcomes[k] == Outcome::absent) {
          keys[left] = mix(keys[k] + 1);
          places[left] = places[k];
          open[left++] = open[k];
        }
      open.resize(left);
      keys.resize(left);
      places.resize(left);
      found.resize(left);
      outcomes.resize(left);
    }
  }

  std::string_view word(std::uint64_t number) const { return words_[number]; }

 private:
  void keep(std::string_view word) {
    char* place = static_cast<char*>(letters_.allocate(std::max<std::size_t>(word.size(), 1), 1));
    std::ranges::copy(word, place);
    words_.emplace_back(place, word.size());
  }

  HashTable<std::uint64_t, std::uint64_t> table_;  // from a word's hash to its number
  std::pmr::monotonic_buffer_resource letters_;
  std::vector<std::string_view> words_;  // into letters_
};

constexpr std::size_t kBatch = 1 << 20;
/// Of the CPU's counter, which takes longer words.
constexpr int kMostGpuBases = 31;

class Counter {
 public:
  explicit Counter(const CountOptions& options) : options_(options), table_(options.table) {}

  void count(std::span<const std::uint64_t> keys) {
    ones_.resize(std::max(ones_.size(), keys.size()), 1);
    const BatchReport report = table_.run(Operation::add, keys, std::span(ones_).first(keys.size()), {}, {});
    if (report.tally.full > 0) throw OutOfMemory("no memory for more different values");
    total_ += keys.size();
  }

  /// @param value  of a key
  template <class ValueOf>
  Counts counts(const ValueOf& value) const {
    const double seconds = std::chrono::duration<double>(Clock::now() - begin_).count();
    std::vector<std::uint64_t> keys, counts;
    table_.export_pairs(keys, counts);
    std::vector<std::size_t> order;
    for (std::size_t k = 0; k < keys.size(); ++k) {
      if (counts[k] >= options_.least) order.push_back(k);
    }
    const std::size_t shown =
        options_.top == 0 ? order.size() : std::min<std::size_t>(options_.top, order.size());
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(shown), order.end(),
                      [&, compared = 0U](std::size_t a, std::size_t b) mutable {
                        if (++compared % 65536 == 0) check_interrupt();
                        return counts[a] != counts[b] ? counts[a] > counts[b]
                                                      : value(keys[a]) < value(keys[b]);
                      });
    Counts result{total_, table_.statistics(), table_.description(), {}, seconds};
    for (std::size_t k = 0; k < shown; ++k)
      result.listed.push_back({counts[order[k]], std::string(value(keys[order[k]]))});
    return result;
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin_ = Clock::now();
  const CountOptions& options_;
  HashTable<std::uint64_t, std::uint64_t> table_;
  std::vector<std::uint64_t> ones_;
  std::uint64_t total_ = 0;
};

}  // namespace

Counts count_words(const std::function<void(const TakeWords&)>& text, const CountOptions& options) {
  if (!text) throw BadInput("no function was given that hands the words out");
  Counter counter(options);
  Dictionary dictionary(options.table);
  std::vector<std::uint64_t> numbers;
  text([&](std::span<const std::string_view> words) {
    numbers.resize(words.size());
    dictionary.number(words, numbers);
    counter.count(numbers);
  });
  return counter.counts([&](std::uint64_t number) { return dictionary.word(number); });
}

Counts count_kmers(io::SequenceStream& sequences, const KmerOptions& options) {
  // A GPU counts where one is named.
  Run run = options.table.run;
  if (run.devices.empty()) run.devices = current_run().devices;
  if (run.devices.empty() || run.devices.front() == Device::best) run.devices = {Device::cpu};
  const DeviceScope scope(run, "counting k-mers", kBuiltWithCuda);
  const bool on_gpu = scope.device().is_gpu();
  const int most = on_gpu ? kMostGpuBases : kMostBases;
  if (options.k < 1 || options.k > most)
    throw BadInput(
        fmt::format("words of {} bases; 1 to {} are counted{}", options.k, most, on_gpu ? " on a GPU" : ""));
  if (options.counter_bits < 1 || options.counter_bits > 64)
    throw BadInput(fmt::format("counters of {} bits; 1 to 64 are stored", options.counter_bits));
  if (on_gpu && !options.resume.empty())
    throw BadInput("a run that is resumed counts on the CPU; name that device");
  if (options.ranks != nullptr && (on_gpu || !options.resume.empty()))
    throw BadInput(on_gpu ? "several processes count k-mers on CPUs; name that device, or one process"
                          : "a run of several processes is not resumed; leave one of them out");
#ifdef WARPLOOM_HAVE_CUDA
  if (on_gpu) return count_on_gpu(sequences, options);
#endif
  return count_in_partitions(sequences, options);
}

}  // namespace warploom::table
