#pragma once

/// What list_table.cpp asks of a CPU or a GPU.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/one_caller.hpp"
#include "table/host_batch.hpp"
#include "table/list_chain.hpp"
#include "warploom/table/list_table.hpp"

namespace warploom::table {

/// Where the words of nodes are: heads and tops, a word each, then the pool.
struct ListLayout {
  std::uint32_t heads = 0;
  std::uint32_t free_lists = 0;  ///< a power of two
  std::uint32_t nodes = 0;       ///< in the pool

  WARPLOOM_HOST_DEVICE constexpr list::NodeIndex first_top() const { return heads; }
  WARPLOOM_HOST_DEVICE constexpr list::NodeIndex first_node() const { return heads + free_lists; }
  /// A multiple of a sector: a node is in one.
  WARPLOOM_HOST_DEVICE constexpr std::uint64_t pool() const {
    return (std::uint64_t{first_node()} + 3) / 4 * 4;
  }
  template <class Pairs>
  WARPLOOM_HOST_DEVICE constexpr std::uint64_t place(list::NodeIndex node, int word) const {
    if (node < first_node()) return node;
    return pool() + std::uint64_t{node - first_node()} * Pairs::kNodeWords + word;
  }
  template <class Pairs>
  constexpr std::uint64_t words() const {
    return pool() + std::uint64_t{nodes} * Pairs::kNodeWords;
  }
};

/// @throws BadInput
Placement list_placement(const Options& options, int key_bytes);
ListLayout list_layout(const Options& options, const Placement& placement);

template <class Key, class Value>
class ListTable<Key, Value>::Backend {
 public:
  using Pairs = list::PairsOf<Key, Value>;

  virtual ~Backend() = default;
  /// @param report  tally, kernel_seconds, transfer_seconds and retries are added to, whatever is thrown
  virtual void run(const HostBatch<Key, Value>& batch, BatchReport& report) = 0;
  /// A copy of all
  virtual std::vector<Word> words() const = 0;
  virtual void reserve(std::uint32_t nodes) = 0;
  virtual void clear() = 0;
  /// "cpu, 8 threads", "cuda: NVIDIA H200"
  virtual std::string device() const = 0;

  const ListLayout& layout() const { return layout_; }
  const Placement& placement() const { return placement_; }
  DeviceScope enter() const { return {run_, "a list table", true}; }
  OneCaller caller;

 protected:
  explicit Backend(const Options& options)
      : placement_(list_placement(options, sizeof(Key))),
        layout_(list_layout(options, placement_)),
        run_(options.run) {}

  Placement placement_;
  ListLayout layout_;  ///< free_lists are the back end's to choose

 private:
  Run run_;  // of the options, with the device chosen
};

template <class Key, class Value>
std::unique_ptr<typename ListTable<Key, Value>::Backend> make_list_cpu(const Options& options);
template <class Key, class Value>
std::unique_ptr<typename ListTable<Key, Value>::Backend> make_list_cuda(
    const Options& options);  // only where WARPLOOM_HAVE_CUDA

}  // namespace warploom::table
