#pragma once

/// The parallel hash table as the dissertation has it (its chapter 4): PH[n], n tables of m buckets, each a
/// sorted lock-free list of a node a pair, nodes in a pool. Kept to be measured beside; hash_table.hpp has
/// ours, and this one behind the same face (Structure::list).
///
/// Source: M. M. Michael, High performance dynamic lock-free hash tables and list-based sets, SPAA 2002. Ours
/// differs where the dissertation leaves nodes unused after an erasure: here they are used again at once, and
/// links carry a tag that makes it safe (docs/design/0006-table.md, section 6); and in assign, add, min and
/// max, which put a node with the new value in the place of the old one and so need a free node like an
/// insertion.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "warploom/table/hash_table.hpp"

namespace warploom::table {

/// The dissertation's section 4.6.1: one table, n tables, one table of n m buckets.
enum class Variant : std::uint8_t { gpu_basic, gpu_ph, gpu_big, cpu_basic, cpu_ph };
/// "GPU_BASIC" and so on
std::string_view name(Variant variant);

/// Options of a variant, with the dissertation's hash function DEK and table assignment.
/// @param tables   n; of no effect on the two BASIC ones
/// @param buckets  m, the dissertation's 1024
Options options_of(Variant variant, std::uint32_t tables, std::uint32_t buckets, std::uint64_t capacity);

template <class Key, class Value>
struct HostBatch;

/// Key and Value: std::uint32_t or std::uint64_t each; every value of either may be used. Methods of one that
/// was moved from throw BadInput.
template <class Key, class Value>
class ListTable {
 public:
  /// Of the options, `structure` and `grows` have no meaning here. capacity: nodes in the pool, as many
  /// pairs. buckets = 0: as many in all as the capacity, one pair each. threads: at most those of
  /// core/threads.hpp; 0: eight, as the dissertation. threads_per_block: 0: 512, as the dissertation. Memory:
  /// 8 bytes a bucket and 16 a node, or 32 where key or value have 64 bits.
  /// @throws BadInput (an option outside its range), NoDevice, OutOfMemory
  explicit ListTable(const Options& options);
  ~ListTable();
  ListTable(ListTable&&) noexcept;
  ListTable& operator=(ListTable&&) noexcept;

  /// As HashTable::run. Operations that found no free node are `full`, changed nothing, and may be repeated
  /// after reserve(): each of those under way, of which a GPU has thousands, may have taken one that it then
  /// does not need. @throws BadInput (lengths differ), OutOfMemory, Interrupted
  BatchReport run(std::span<const Operation> operations, std::span<const Key> keys,
                  std::span<const Value> operands, std::span<Outcome> outcomes, std::span<Value> values);
  BatchReport run(Operation operation, std::span<const Key> keys, std::span<const Value> operands,
                  std::span<Outcome> outcomes, std::span<Value> values);

  /// Successful insertions less successful erasures. Cost: none
  std::uint64_t size() const;
  /// Table by table, bucket by bucket, in ascending order within. Cost: a copy of the table, from a GPU
  void export_pairs(std::vector<Key>& keys, std::vector<Value>& values) const;
  /// The directory is the heads, nodes those of pairs, free the rest of the pool. Cost: as export_pairs
  Statistics statistics() const;
  /// Makes the pool of at least `nodes` nodes. Buckets stay as many as they are.
  void reserve(std::uint64_t nodes);
  void clear();
  /// "list on cuda: NVIDIA H200, 320 x 1024 buckets, 524288 nodes"
  std::string description() const;

  class Backend;  ///< a CPU or a GPU (src/table/list_backend.hpp)

 private:
  BatchReport run(const HostBatch<Key, Value>& batch);

  std::unique_ptr<Backend> backend_;
  std::uint64_t size_ = 0;
};

extern template class ListTable<std::uint32_t, std::uint32_t>;
extern template class ListTable<std::uint32_t, std::uint64_t>;
extern template class ListTable<std::uint64_t, std::uint32_t>;
extern template class ListTable<std::uint64_t, std::uint64_t>;

}  // namespace warploom::table
