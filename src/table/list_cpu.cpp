#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>

#include "table/list_backend.hpp"
#include "warploom/core/memory.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/core/threads.hpp"

namespace warploom::table {
namespace {

using list::NodeIndex;

/// The dissertation's number
constexpr unsigned kThreads = 8;
/// Tops of free lists in a cache line, of which a thread uses one as long as it can
constexpr std::uint32_t kListsOfThread = 8;
constexpr std::uint32_t kFreeLists = 64 * kListsOfThread;
/// Operations between looks for Ctrl-C
constexpr std::size_t kStretch = 4096;

/// list_chain.hpp's Memory
template <class Pairs>
class CpuNodes {
 public:
  CpuNodes(Word* words, const ListLayout& layout, std::uint32_t own)
      : words_(words), layout_(layout), own_(own) {}

  Word load(NodeIndex node, int word) const { return at(node, word).load(std::memory_order_relaxed); }
  Word load_acquire(NodeIndex node, int word) const { return at(node, word).load(std::memory_order_acquire); }
  void store(NodeIndex node, int word, Word value) const {
    at(node, word).store(value, std::memory_order_release);
  }
  bool compare_exchange(NodeIndex node, int word, Word& expected, Word desired) const {
    return at(node, word).compare_exchange_strong(expected, desired);
  }
  NodeIndex allocate() { return list::pop_any(*this, layout_.first_top(), layout_.free_lists, from_); }
  void release(NodeIndex node) { list::push(*this, layout_.first_top() + own_, node); }

 private:
  std::atomic_ref<Word> at(NodeIndex node, int word) const {
    return std::atomic_ref<Word>(words_[layout_.place<Pairs>(node, word)]);
  }
  Word* words_;
  const ListLayout& layout_;
  std::uint32_t own_;
  std::uint32_t from_ = own_;  ///< the list that had a node last time
};

template <class Key, class Value>
class CpuList final : public ListTable<Key, Value>::Backend {
 public:
  using Base = typename ListTable<Key, Value>::Backend;
  using Pairs = typename Base::Pairs;

  explicit CpuList(const Options& options)
      : Base(options), threads_(options.run.threads > 0 ? options.run.threads : kThreads) {
    this->layout_.free_lists = kFreeLists;
    resize(0);
  }

  void run(const HostBatch<Key, Value>& batch, BatchReport& report) override {
    const std::size_t count = batch.keys.size();
    const std::size_t parts = std::min<std::size_t>({threads_, threads(), count / 64 + 1});
    const auto begin = std::chrono::steady_clock::now();
    std::vector<BatchReport> reports(parts);
    const auto add = [&] {
      for (const BatchReport& part : reports) {
        report.tally.inserted += part.tally.inserted;
        report.tally.erased += part.tally.erased;
        report.tally.full += part.tally.full;
        report.retries += part.retries;
      }
      report.kernel_seconds +=
          std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    };
    try {
      parallel_for(static_cast<std::int64_t>(parts), [&](std::int64_t k) {
        const auto part = static_cast<std::size_t>(k);
        CpuNodes<Pairs> nodes(words_.data(), this->layout_,
                              static_cast<std::uint32_t>(part) * kListsOfThread % this->layout_.free_lists);
        BatchReport mine;  // on a cache line of its own
        const std::size_t end = count * (part + 1) / parts;
        for (std::size_t i = count * part / parts; i < end; ++i) {
          if (i % kStretch == 0) {
            reports[part] = mine;
            check_interrupt();
          }
          perform(nodes, batch, i, mine);
        }
        reports[part] = mine;
      });
    } catch (...) {
      add();
      throw;
    }
    add();
  }

  std::vector<Word> words() const override { return words_; }

  void reserve(std::uint32_t nodes) override {
    const std::uint32_t before = this->layout_.nodes;
    if (nodes <= before) return;
    this->layout_.nodes = nodes;
    resize(before);
  }

  void clear() override {
    words_.clear();
    resize(0);
  }

  std::string device() const override {
    return fmt::format("cpu, {} threads", std::min(threads_, threads()));
  }

 private:
  /// Nodes from number `first` of the pool are new.
  void resize(std::uint32_t first) {
    const std::uint64_t count = this->layout_.template words<Pairs>();
    require_memory((count - words_.size()) * sizeof(Word), "the list table", within_cap(available_memory()));
    words_.resize(count);
    for (std::uint32_t i = first; i < this->layout_.nodes; ++i)
      CpuNodes<Pairs>(words_.data(), this->layout_, i % this->layout_.free_lists)
          .release(this->layout_.first_node() + i);
  }

  void perform(CpuNodes<Pairs>& nodes, const HostBatch<Key, Value>& batch, std::size_t i,
               BatchReport& report) {
    list::Attempt attempt;
    attempt.operation = batch.operations.empty() ? batch.operation : batch.operations[i];
    attempt.home = this->placement_.home(batch.keys[i]);
    attempt.key = batch.keys[i];
    attempt.operand = batch.operands.empty() ? 0 : batch.operands[i];
    list::run<Pairs>(nodes, attempt);
    if (!batch.outcomes.empty()) batch.outcomes[i] = attempt.outcome;
    if (!batch.values.empty()) batch.values[i] = static_cast<Value>(attempt.value);
    report.tally.inserted += attempt.outcome == Outcome::inserted;
    report.tally.erased += attempt.outcome == Outcome::erased;
    report.tally.full += attempt.outcome == Outcome::full;
    report.retries += attempt.retries;
  }

  unsigned threads_;
  std::vector<Word> words_;
};

}  // namespace

template <class Key, class Value>
std::unique_ptr<typename ListTable<Key, Value>::Backend> make_list_cpu(const Options& options) {
  return std::make_unique<CpuList<Key, Value>>(options);
}

#define WARPLOOM_LIST_CPU(Key, Value) \
  template std::unique_ptr<ListTable<Key, Value>::Backend> make_list_cpu<Key, Value>(const Options&);
WARPLOOM_LIST_CPU(std::uint32_t, std::uint32_t)
WARPLOOM_LIST_CPU(std::uint32_t, std::uint64_t)
WARPLOOM_LIST_CPU(std::uint64_t, std::uint32_t)
WARPLOOM_LIST_CPU(std::uint64_t, std::uint64_t)
#undef WARPLOOM_LIST_CPU

}  // namespace warploom::table
