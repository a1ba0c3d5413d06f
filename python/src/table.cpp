#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>

#include "arrays.hpp"
#include "module.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"
#include "warploom/count/count.hpp"

namespace warploom::python {
namespace {

/// A table whose `run` is that of each call: where it is, is decided when it is made.
template <class Key, class Value>
class Table {
 public:
  Table(std::uint64_t capacity, bool grows, const Asked& asked) {
    table::Options options{.capacity = capacity, .grows = grows};
    options.run = table::run_for(run_of(asked), capacity);
    table_ = std::make_unique<table::HashTable<Key, Value>>(options);
  }

  /// One operation for all. @param outcomes, values  to write
  std::uint64_t run(std::uint8_t operation, View1<const Key> keys, std::optional<View1<const Value>> operands,
                    View1<std::uint8_t> outcomes, View1<Value> values) {
    return with(keys.size(), [&] {
      return table_->run(static_cast<table::Operation>(operation), span_of(keys),
                         operands ? span_of(*operands) : std::span<const Value>{}, outcomes_of(outcomes),
                         span_of(values));
    });
  }
  /// One for each.
  std::uint64_t run_each(View1<const std::uint8_t> operations, View1<const Key> keys,
                         std::optional<View1<const Value>> operands, View1<std::uint8_t> outcomes,
                         View1<Value> values) {
    const std::span all(reinterpret_cast<const table::Operation*>(operations.data()), operations.size());
    return with(keys.size(), [&] {
      return table_->run(all, span_of(keys), operands ? span_of(*operands) : std::span<const Value>{},
                         outcomes_of(outcomes), span_of(values));
    });
  }
  /// Of arrays in the memory of the table's GPU, by their addresses; 0: none.
  std::uint64_t run_on_gpu(std::uint8_t operation, std::uint64_t count, std::uintptr_t operations,
                           std::uintptr_t keys, std::uintptr_t operands, std::uintptr_t outcomes,
                           std::uintptr_t values, std::uintptr_t stream) {
    const table::GpuBatch<Key, Value> batch{
        .count = count,
        .operations = reinterpret_cast<const table::Operation*>(operations),
        .operation = static_cast<table::Operation>(operation),
        .keys = reinterpret_cast<const Key*>(keys),
        .operands = reinterpret_cast<const Value*>(operands),
        .outcomes = reinterpret_cast<table::Outcome*>(outcomes),
        .values = reinterpret_cast<Value*>(values)};
    return with(count, [&] { return table_->run(batch, reinterpret_cast<void*>(stream)); });
  }
  std::uint64_t size() const { return table_->size(); }
  auto items() const {
    std::vector<Key> keys;
    std::vector<Value> values;
    {
      const nb::gil_scoped_release released;
      table_->export_pairs(keys, values);
    }
    return std::tuple(array_of(std::move(keys)), array_of(std::move(values)));
  }
  /// To arrays in the memory of the table's GPU, by their addresses. @return how many pairs there are
  std::uint64_t items_on_gpu(std::uintptr_t keys, std::uintptr_t values, std::uint64_t room,
                             std::uintptr_t stream) const {
    const nb::gil_scoped_release released;
    return table_->export_pairs(reinterpret_cast<Key*>(keys), reinterpret_cast<Value*>(values), room,
                                reinterpret_cast<void*>(stream));
  }
  void clear() { table_->clear(); }
  void reserve(std::uint64_t pairs) { table_->reserve(pairs); }
  std::string description() const { return table_->description(); }

 private:
  static_assert(sizeof(table::Outcome) == 1);
  static std::span<table::Outcome> outcomes_of(const View1<std::uint8_t>& outcomes) {
    return {reinterpret_cast<table::Outcome*>(outcomes.data()), outcomes.size()};
  }
  /// @return how many insertions found no room
  template <class Work>
  std::uint64_t with(std::size_t operations, const Work& work) {
    return run_asked({}, length_of(static_cast<double>(operations) * 1e-8 + 1e-6), [&](const Run& run) {
      const RunScope scope(run);
      return work().tally.full;
    });
  }

  std::unique_ptr<table::HashTable<Key, Value>> table_;
};

template <class Key, class Value>
void bind_table(nb::module_& module, const char* name) {
  using Bound = Table<Key, Value>;
  nb::class_<Bound>(module, name)
      .def(nb::init<std::uint64_t, bool, const Asked&>())
      .def("run", &Bound::run, nb::arg("operation"), nb::arg("keys").noconvert(), nb::arg("operands").none(),
           nb::arg("outcomes").noconvert(), nb::arg("values").noconvert())
      .def("run_each", &Bound::run_each, nb::arg("operations").noconvert(), nb::arg("keys").noconvert(),
           nb::arg("operands").none(), nb::arg("outcomes").noconvert(), nb::arg("values").noconvert())
      .def("run_on_gpu", &Bound::run_on_gpu)
      .def("size", &Bound::size)
      .def("items", &Bound::items)
      .def("items_on_gpu", &Bound::items_on_gpu)
      .def("clear", &Bound::clear)
      .def("reserve", &Bound::reserve)
      .def("description", &Bound::description);
}

auto kmers(const std::vector<std::string>& paths, int k, bool canonical, std::uint64_t top,
           std::uint64_t least, int least_quality, std::size_t bins, const Asked& asked) {
  table::Counts counts = run_asked(asked, Length::long_, [&](const Run& run) {
    table::KmerOptions options;
    options.table.run = run;
    options.top = top;
    options.least = least;
    options.k = k;
    options.canonical = canonical;
    options.histogram = bins;
    io::SequenceStream sequences({paths.begin(), paths.end()}, least_quality);
    return table::count_kmers(sequences, options);
  });
  std::vector<std::string> words;
  std::vector<std::uint64_t> times;
  for (table::Counted& counted : counts.listed) {
    words.push_back(std::move(counted.value));
    times.push_back(counted.count);
  }
  return std::tuple(std::move(words), array_of(std::move(times)), counts.total, counts.statistics.pairs,
                    array_of(std::move(counts.histogram)));
}

}  // namespace

void bind_tables(nb::module_& module) {
  bind_table<std::uint32_t, std::uint32_t>(module, "Table_u4_u4");
  bind_table<std::uint32_t, std::uint64_t>(module, "Table_u4_u8");
  bind_table<std::uint64_t, std::uint32_t>(module, "Table_u8_u4");
  bind_table<std::uint64_t, std::uint64_t>(module, "Table_u8_u8");
  module.def("kmers", &kmers);
}

}  // namespace warploom::python
