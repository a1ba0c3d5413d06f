#include "warploom/table/list_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <utility>

#include "core/built_with_cuda.hpp"
#include "core/doors.hpp"
#include "core/one_caller.hpp"
#include "table/list_backend.hpp"
#include "warploom/core/error.hpp"

namespace warploom::table {
namespace {

constexpr const char *kMoved = "a list table", *kName = "table::ListTable";

/// Node numbers have 32 bits; some are of free lists.
constexpr std::uint64_t kMostNodes = 0xFFFF0000;

void require_lengths(std::size_t keys, std::size_t others, std::string_view what) {
  if (others != 0 && others != keys)
    throw BadInput(fmt::format("a batch of {} keys has {} {}: give as many, or none", keys, others, what));
}

std::uint32_t require_nodes(std::uint64_t heads, std::uint64_t nodes) {
  if (nodes > kMostNodes || heads > kMostNodes - nodes)
    throw BadInput(fmt::format("{} buckets and {} nodes are more than {} in all: ask for fewer of either",
                               heads, nodes, kMostNodes));
  return static_cast<std::uint32_t>(nodes);
}

template <class Key, class Value>
std::unique_ptr<typename ListTable<Key, Value>::Backend> make_backend(const Options& options) {
  const DeviceScope scope(options.run, "a list table", kBuiltWithCuda);
  Options chosen = options;
  chosen.run.devices = {scope.device()};
#ifdef WARPLOOM_HAVE_CUDA
  if (scope.device().is_gpu()) return make_list_cuda<Key, Value>(chosen);
#endif
  return make_list_cpu<Key, Value>(chosen);
}

/// Calls visit(head, key, value) for every pair.
template <class Key, class Value, class Visit>
void for_each_pair(const typename ListTable<Key, Value>::Backend& backend, const Visit& visit) {
  using Pairs = list::PairsOf<Key, Value>;
  struct {
    const std::vector<Word> words;
    const ListLayout& layout;
    Word load_acquire(list::NodeIndex node, int word) const { return words[layout.place<Pairs>(node, word)]; }
  } const memory{backend.words(), backend.layout()};
  for (list::NodeIndex head = 0; head < memory.layout.heads; ++head) {
    list::Link link{memory.load_acquire(head, list::kLinkWord)};
    while (const list::NodeIndex node = link.next()) {
      link = {memory.load_acquire(node, list::kLinkWord)};
      const Word key_word = memory.load_acquire(node, list::kKeyWord);
      visit(head, static_cast<Key>(Pairs::key(key_word)),
            static_cast<Value>(Pairs::value(memory, node, key_word)));
    }
  }
}

}  // namespace

Placement list_placement(const Options& options, int key_bytes) {
  if (options.tables < 1) throw BadInput("0 tables: a table has at least one");
  name(options.hash), name(options.assignment);
  if (options.capacity < 1) throw BadInput("a capacity of 0 pairs: a list table has at least one node");
  if (options.threads_per_block < 0 || options.threads_per_block > 1024)
    throw BadInput(fmt::format("{} threads per block: give 1 to 1024, or 0", options.threads_per_block));
  Placement placement;
  placement.tables = options.tables;
  placement.buckets = options.buckets;
  if (options.buckets == 0)
    placement.buckets = static_cast<std::uint32_t>(
        std::max<std::uint64_t>(1, std::min(options.capacity, kMostNodes) / options.tables));
  placement.hash = options.hash;
  placement.assignment = options.assignment;
  placement.key_bytes = key_bytes;
  return placement;
}

ListLayout list_layout(const Options& options, const Placement& placement) {
  ListLayout layout;
  layout.nodes = require_nodes(placement.chains(), options.capacity);
  layout.heads = static_cast<std::uint32_t>(placement.chains());
  return layout;
}

std::string_view name(Variant variant) {
  constexpr std::array<std::string_view, 5> kNames{"GPU_BASIC", "GPU_PH", "GPU_BIG", "CPU_BASIC", "CPU_PH"};
  return at_enumerator(kNames, variant, "the variant");
}

Options options_of(Variant variant, std::uint32_t tables, std::uint32_t buckets, std::uint64_t capacity) {
  name(variant);
  const bool cpu = variant == Variant::cpu_basic || variant == Variant::cpu_ph;
  const bool big = variant == Variant::gpu_big;
  Options options;
  options.structure = Structure::list;
  options.run.devices = {cpu ? Device::cpu : Device::cuda};
  options.capacity = capacity;
  options.tables = variant == Variant::gpu_ph || variant == Variant::cpu_ph ? tables : 1;
  options.buckets = big ? tables * buckets : buckets;
  options.hash = Hash::dek;
  options.assignment = Assignment::decimal;
  return options;
}

template <class Key, class Value>
ListTable<Key, Value>::ListTable(const Options& options) : backend_(make_backend<Key, Value>(options)) {}
template <class Key, class Value>
ListTable<Key, Value>::~ListTable() = default;
template <class Key, class Value>
ListTable<Key, Value>::ListTable(ListTable&&) noexcept = default;
template <class Key, class Value>
ListTable<Key, Value>& ListTable<Key, Value>::operator=(ListTable&&) noexcept = default;

template <class Key, class Value>
BatchReport ListTable<Key, Value>::run(std::span<const Operation> operations, std::span<const Key> keys,
                                       std::span<const Value> operands, std::span<Outcome> outcomes,
                                       std::span<Value> values) {
  if (operations.size() != keys.size())
    throw BadInput(
        fmt::format("a batch of {} keys has {} operations: give as many", keys.size(), operations.size()));
  return run({operations, Operation::find, keys, operands, outcomes, values});
}

template <class Key, class Value>
BatchReport ListTable<Key, Value>::run(Operation operation, std::span<const Key> keys,
                                       std::span<const Value> operands, std::span<Outcome> outcomes,
                                       std::span<Value> values) {
  return run({{}, operation, keys, operands, outcomes, values});
}

template <class Key, class Value>
BatchReport ListTable<Key, Value>::run(const HostBatch<Key, Value>& batch) {
  require_lengths(batch.keys.size(), batch.operands.size(), "operands");
  require_lengths(batch.keys.size(), batch.outcomes.size(), "outcomes");
  require_lengths(batch.keys.size(), batch.values.size(), "values");
  BatchReport report;
  const auto begin = std::chrono::steady_clock::now();
  const auto count = [&] { size_ += report.tally.inserted - report.tally.erased; };
  const OneCaller::Call call(held(backend_, kMoved).caller, kName);
  const DeviceScope scope = backend_->enter();
  if (!batch.keys.empty()) {
    try {
      backend_->run(batch, report);
    } catch (...) {
      count();
      throw;
    }
  }
  count();
  report.wall_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return report;
}

template <class Key, class Value>
std::uint64_t ListTable<Key, Value>::size() const {
  const OneCaller::Call call(held(backend_, kMoved).caller, kName);
  return size_;
}

template <class Key, class Value>
void ListTable<Key, Value>::export_pairs(std::vector<Key>& keys, std::vector<Value>& values) const {
  const OneCaller::Call call(held(backend_, kMoved).caller, kName);
  const DeviceScope scope = backend_->enter();
  keys.clear();
  values.clear();
  for_each_pair<Key, Value>(*backend_, [&](list::NodeIndex, Key key, Value value) {
    keys.push_back(key);
    values.push_back(value);
  });
}

template <class Key, class Value>
Statistics ListTable<Key, Value>::statistics() const {
  const OneCaller::Call call(held(backend_, kMoved).caller, kName);
  const DeviceScope scope = backend_->enter();
  const ListLayout& layout = backend_->layout();
  const std::uint32_t buckets = backend_->placement().buckets;
  Statistics result;
  std::vector<std::uint64_t> chains(layout.heads);
  for_each_pair<Key, Value>(*backend_, [&](list::NodeIndex head, Key, Value) { ++chains[head]; });
  result.chain_lengths.resize(std::ranges::max(chains) + 1);
  result.pairs_per_table.resize(backend_->placement().tables);
  for (std::size_t head = 0; head < chains.size(); ++head) {
    result.pairs += chains[head];
    ++result.chain_lengths[chains[head]];
    result.pairs_per_table[head / buckets] += chains[head];
  }
  constexpr std::uint64_t kNodeBytes = list::PairsOf<Key, Value>::kNodeWords * sizeof(Word);
  result.bytes_directory = std::uint64_t{layout.heads} * sizeof(Word);
  result.bytes_nodes = result.pairs * kNodeBytes;
  result.bytes_free = (layout.nodes - result.pairs) * kNodeBytes;
  return result;
}

template <class Key, class Value>
void ListTable<Key, Value>::reserve(std::uint64_t nodes) {
  const OneCaller::Call call(held(backend_, kMoved).caller, kName);
  const DeviceScope scope = backend_->enter();
  backend_->reserve(require_nodes(backend_->layout().heads, nodes));
}

template <class Key, class Value>
void ListTable<Key, Value>::clear() {
  const OneCaller::Call call(held(backend_, kMoved).caller, kName);
  const DeviceScope scope = backend_->enter();
  backend_->clear();
  size_ = 0;
}

template <class Key, class Value>
std::string ListTable<Key, Value>::description() const {
  const OneCaller::Call call(held(backend_, kMoved).caller, kName);
  const DeviceScope scope = backend_->enter();
  return fmt::format("list on {}, {} x {} buckets, {} nodes", backend_->device(),
                     backend_->placement().tables, backend_->placement().buckets, backend_->layout().nodes);
}

template class ListTable<std::uint32_t, std::uint32_t>;
template class ListTable<std::uint32_t, std::uint64_t>;
template class ListTable<std::uint64_t, std::uint32_t>;
template class ListTable<std::uint64_t, std::uint64_t>;

}  // namespace warploom::table
