#include <array>
#include <cmath>

#include "doors/doors.hpp"
#include "warploom/core/process.hpp"
#include "warploom/count/count.hpp"
#include "warploom/count/kmer_database.hpp"
#include "warploom/count/measure.hpp"
#include "warploom/count/statuses.hpp"
#include "warploom/count/timeline.hpp"
#include "warploom/table/concurrent_map.hpp"
#include "warploom/table/list_table.hpp"

namespace warploom::doors {
namespace {

using namespace table;

/// Batches whose spans do not go together, and one in which they are the same memory.
template <class Key, class Value, class Table>
void door_of_batches(Table& table) {
  std::vector<Operation> operations(4, Operation::insert);
  std::vector<Key> keys{1, 2, 3, 4};
  std::vector<Value> values(4), three(3);
  std::vector<Outcome> outcomes(4), five(5);
  const std::span<const Operation> asked(operations);
  const std::span<const Key> given(keys);
  refused([&] { return table.run(asked.first(3), given, {}, {}, {}).tally.inserted; });
  refused([&] { return table.run(asked, given.first(0), {}, {}, {}).tally.inserted; });
  refused([&] { return table.run(asked.first(0), given, {}, {}, {}).tally.inserted; });
  refused([&] { return table.run(asked, given, three, {}, {}).tally.inserted; });
  refused([&] { return table.run(asked, given, {}, five, {}).tally.inserted; });
  refused([&] { return table.run(Operation::insert, given, {}, {}, three).tally.inserted; });
  refused([&] { return table.run(Operation::insert, given.first(0), values, {}, {}).tally.inserted; });
  EXPECT_EQ(table.run(std::span<const Operation>(), std::span<const Key>(), {}, {}, {}).tally.inserted, 0u);
  EXPECT_EQ(table.run(no_enumerator<Operation>(), given, values, outcomes, {}).tally.inserted, 0u);
  EXPECT_EQ(outcomes, std::vector(4, Outcome::invalid));
  operations[2] = no_enumerator<Operation>();
  EXPECT_EQ(table.run(asked, given, values, outcomes, {}).tally.inserted, 3u);
  EXPECT_EQ(outcomes[2], Outcome::invalid);
  survives([&] {
    return table.run(Operation::assign, given, values, outcomes, values).tally.inserted;
  });  // in place
  EXPECT_GE(table.size(), 3u);
  if constexpr (requires { table.run(GpuBatch<Key, Value>{}, nullptr); }) {  // a table on the CPU
    refused([&] { return table.run(GpuBatch<Key, Value>{}, nullptr).retries; });
    refused(
        [&] { return table.run(GpuBatch<Key, Value>{.count = 4, .keys = keys.data()}, nullptr).retries; });
    const std::vector<GpuBatch<Key, Value>> parts(17);
    refused([&] { return table.run(std::span(parts), nullptr).retries; });
    EXPECT_EQ(table.size(), table.statistics().pairs);
  }
}

/// Options out of their range.
std::vector<Options> odd_table_options() {
  return {{.structure = no_enumerator<Structure>()},
          {.capacity = ~std::uint64_t{0}},
          {.capacity = std::uint64_t{1} << 62},
          {.tables = 0},
          {.tables = 0xFFFFFFFF, .buckets = 0xFFFFFFFF},
          {.hash = no_enumerator<Hash>()},
          {.assignment = no_enumerator<Assignment>()},
          {.threads_per_block = -1},
          {.threads_per_block = kMost32},
          {.run = {.devices = {Device::cpu, Device::gpu(0)}}}};
}

template <class Key, class Value, class Table>
void door_of_tables(Structure structure) {
  for (Options options : odd_table_options()) {
    if (options.structure == Structure::lines) options.structure = structure;
    if (options.run.devices.empty()) options.run.devices = {Device::cpu};
    if (std::is_same_v<Table, ListTable<Key, Value>> && options.structure == no_enumerator<Structure>())
      continue;
    refused([&] { return Table(options).size(); });
  }
  Options options;
  options.structure = structure, options.capacity = 100, options.run.devices = {Device::cpu};
  Table table(options);
  door_of_batches<Key, Value>(table);
  refused([&] { return table.reserve(std::uint64_t{1} << 62), 0; });
  survives([&] { return table.reserve(0), 0; });
  std::vector<Key> keys(5);
  std::vector<Value> values;
  survives([&] { return table.export_pairs(keys, values), 0; });
  EXPECT_EQ(keys.size(), values.size());
  survives([&] { return table.statistics().pairs; });
  EXPECT_FALSE(table.description().empty());
  move_away(table);
  refused([&] { return table.size(); });
  refused([&] { return table.statistics().pairs; });
  refused([&] { return table.description(); });
  refused([&] { return table.reserve(5), 0; });
  refused([&] { return table.clear(), 0; });
  refused([&] { return table.export_pairs(keys, values), 0; });
  refused([&] { return table.run(Operation::find, std::span<const Key>(keys), {}, {}, {}).retries; });
  refused(
      [&] { return table.run(std::span<const Operation>(), std::span<const Key>(), {}, {}, {}).retries; });
  if constexpr (requires { table.trim(); }) refused([&] { return table.trim(), 0; });
  const auto to_a_gpu = [&] {
    if constexpr (requires { table.export_pairs(nullptr, nullptr, 5, nullptr); })
      refused([&] { return table.export_pairs(nullptr, nullptr, 5, nullptr); });
  };
  to_a_gpu();
  table = Table(options);
  to_a_gpu();
  table.clear();
  EXPECT_EQ(table.size(), 0u);
}

DOOR(
    HashTables, "table::HashTable::HashTable<Key, Value>(HashTable<Key, Value> &&)",
    "table::HashTable::HashTable<Key, Value>(const Options &)", "table::HashTable::clear",
    "table::HashTable::description",
    "table::HashTable::export_pairs(std::vector<Key> &, std::vector<Value> &) const",
    "table::HashTable::export_pairs(Key *, Value *, std::uint64_t, void *) const",
    "table::HashTable::operator=", "table::HashTable::reserve",
    "table::HashTable::run(Operation, std::span<const Key>, std::span<const Value>, std::span<Outcome>, std::span<Value>)",
    "table::HashTable::run(const GpuBatch<Key, Value> &, void *)",
    "table::HashTable::run(std::span<const GpuBatch<Key, Value>>, void *)",
    "table::HashTable::run(std::span<const Operation>, std::span<const Key>, std::span<const Value>, std::span<Outcome>, "
    "std::span<Value>)",
    "table::HashTable::size", "table::HashTable::statistics", "table::HashTable::trim", "table::run_for") {
  door_of_tables<std::uint32_t, std::uint32_t, HashTable<std::uint32_t, std::uint32_t>>(Structure::lines);
  door_of_tables<std::uint64_t, std::uint32_t, HashTable<std::uint64_t, std::uint32_t>>(Structure::lines);
  door_of_tables<std::uint32_t, std::uint64_t, HashTable<std::uint32_t, std::uint64_t>>(Structure::list);
  door_of_tables<std::uint64_t, std::uint64_t, HashTable<std::uint64_t, std::uint64_t>>(Structure::list);
  for (const std::uint64_t operations : {std::uint64_t{0}, ~std::uint64_t{0}})
    for (const Device device : {Device::cpu, Device::cuda})  // what is named stays
      EXPECT_EQ(run_for({.devices = {device}, .threads = 7}, operations).devices.at(0), device);
}

DOOR(
    ListTables, "table::ListTable::ListTable<Key, Value>(ListTable<Key, Value> &&)",
    "table::ListTable::ListTable<Key, Value>(const Options &)", "table::ListTable::clear",
    "table::ListTable::description", "table::ListTable::export_pairs",
    "table::ListTable::operator=", "table::ListTable::reserve",
    "table::ListTable::run(Operation, std::span<const Key>, std::span<const Value>, std::span<Outcome>, std::span<Value>)",
    "table::ListTable::run(std::span<const Operation>, std::span<const Key>, std::span<const Value>, std::span<Outcome>, "
    "std::span<Value>)",
    "table::ListTable::size", "table::ListTable::statistics", "table::options_of") {
  door_of_tables<std::uint32_t, std::uint32_t, ListTable<std::uint32_t, std::uint32_t>>(Structure::list);
  door_of_tables<std::uint64_t, std::uint64_t, ListTable<std::uint64_t, std::uint64_t>>(Structure::list);
  refused([] { return options_of(no_enumerator<Variant>(), 1, 1, 1).tables; });
  survives([] { return options_of(Variant::gpu_big, 0xFFFFFFFF, 0xFFFFFFFF, ~0ull).buckets; });
}

DOOR(
    Maps, "table::ConcurrentMap::ConcurrentMap<Key, Value, Placer>(const Placer &, const MapOptions &)",
    "table::ConcurrentMap::ConcurrentMap<Key, Value, Placer>(std::uint64_t, const MapOptions &)",
    "table::ConcurrentMap::contains", "table::ConcurrentMap::erase", "table::ConcurrentMap::fetch_add",
    "table::ConcurrentMap::fetch_max", "table::ConcurrentMap::fetch_min", "table::ConcurrentMap::find",
    "table::ConcurrentMap::insert", "table::ConcurrentMap::insert_or_assign", "table::ConcurrentMap::perform",
    "table::ConcurrentMap::reserve", "table::ConcurrentMap::update", "table::ConcurrentMap::compare_exchange",
    "table::ConcurrentChains::bytes", "table::ConcurrentChains::clear",
    "table::ConcurrentChains::export_pairs", "table::ConcurrentChains::for_each",
    "table::ConcurrentChains::run(Operation, std::span<const Key>, std::span<const Value>, std::span<Outcome>, std::span<Value>, "
    "const Run &)",
    "table::ConcurrentChains::run(std::span<const Operation>, std::span<const Key>, std::span<const Value>, std::span<Outcome>, "
    "std::span<Value>, const Run &)",
    "table::ConcurrentChains::size", "table::ConcurrentChains::statistics", "table::ConcurrentChains::trim") {
  using Map = ConcurrentMap<std::uint32_t, std::uint32_t>;
  using Placed = ConcurrentMap<std::uint32_t, std::uint32_t, Placement>;
  refused([] { return Placed(Placement{.buckets = 0}).size(); });
  refused([] { return Placed(Placement{.tables = 0}).size(); });
  refused([] { return Placed(Placement{.tables = 0xFFFFFFFF, .buckets = 0xFFFFFFFF}).size(); });
  survives([] { return Map(0).size(); });
  Map map(100);
  door_of_batches<std::uint32_t, std::uint32_t>(map);
  const std::uint32_t most = 0xFFFFFFFF;
  for (const std::uint32_t key : {0u, most}) {
    map.insert(key, most);
    map.insert_or_assign(key, most);
    map.fetch_add(key, most);
    map.fetch_min(key, 0);
    map.fetch_max(key, most);
    EXPECT_TRUE(map.contains(key));
    EXPECT_EQ(map.find(key).value, most);
    refused([&] {
      return map.update(key, [](std::uint32_t) -> std::uint32_t { throw BadInput("not this one"); }).value;
    });
    EXPECT_EQ(map.compare_exchange(key, 1, 2).outcome, Outcome::found);
    EXPECT_EQ(map.compare_exchange(key, most, most).outcome, Outcome::updated);
    EXPECT_EQ(map.perform(no_enumerator<Operation>(), key, 1).outcome, Outcome::invalid);
    EXPECT_TRUE(map.erase(key));
    EXPECT_FALSE(map.erase(key));
  }
  std::vector<std::uint32_t> keys(9), values;
  map.export_pairs(keys, values);
  EXPECT_EQ(keys.size(), values.size());
  map.for_each([](std::uint32_t, std::uint32_t) {});
  refused([&] { return map.for_each({}), 0; });
  EXPECT_EQ(map.statistics().pairs, map.size());
  refused([&] { return map.statistics(0).pairs; });
  map.trim();
  map.clear();
  map.reserve(0);
  EXPECT_EQ(map.size(), 0u);
  EXPECT_GT(map.bytes(), 0u);
}

DOOR(NamesOfTables, "table::name(Assignment)", "table::name(Distribution)", "table::name(Hash)",
     "table::name(Operation)", "table::name(Outcome)", "table::name(Variant)", "table::parse_assignment",
     "table::parse_distribution", "table::parse_hash", "table::parse_status", "table::Status::of_code",
     "table::Status::text") {
  refused([] { return name(no_enumerator<Assignment>()); });
  refused([] { return name(no_enumerator<Distribution>()); });
  refused([] { return name(no_enumerator<Hash>()); });
  refused([] { return name(no_enumerator<Operation>()); });
  refused([] { return name(no_enumerator<Outcome>()); });
  refused([] { return name(no_enumerator<Variant>()); });
  for (const std::string& text : odd_texts()) {
    refused([&] { return parse_assignment(text); });
    refused([&] { return parse_distribution(text); });
    refused([&] { return parse_hash(text); });
    refused([&] { return parse_status(text); });
  }
  for (const std::uint32_t code : {kStatuses, 0xFFFFFFFFu})
    refused([&] { return Status::of_code(code).activity; });
  for (const Status& status : {Status{3, 0, 0}, Status{0, 6, 0}, Status{0, 0, 3}, Status{255, 255, 255}})
    refused([&] { return status.text(); });
}

DOOR(Workloads, "table::Workload::Workload<Key>", "table::Workload::operations", "table::Workload::preload",
     "table::mix_of_find", "table::measure", "table::key_shares", "table::compare_structures",
     "table::applications", "table::Measurement::fullest_table", "table::Measurement::kernel_seconds",
     "table::Measurement::rate", "table::Measurement::retries_per_operation",
     "table::Measurement::transfer_seconds", "table::Measurement::wall_seconds",
     "table::Measurement::longest_chain", "table::Measurement::operations") {
  std::vector<WorkloadOptions> bad(11);
  bad[0].distribution = no_enumerator<Distribution>(), bad[1].preload = ~0ull, bad[2].universe = ~0ull,
  bad[3].universe = 1;
  bad[4].mix = {-1, 0}, bad[5].mix = {kMost32, kMost32}, bad[6].mix = {60, 60};
  bad[7].distribution = Distribution::normal, bad[7].normals.clear();
  bad[8].distribution = Distribution::normal, bad[8].normals = {{kNan, kNan, kNan}};
  bad[9].distribution = Distribution::zipf, bad[9].exponent = kNan;
  bad[10].distribution = Distribution::normal, bad[10].normals = {{0.5, 1e-320, kInfinity}};
  for (const WorkloadOptions& options : bad) {
    refused([&] { return Workload<std::uint32_t>(options).options().seed; });
    refused([&] { return measure({.workload = options, .batch = 16, .rounds = 1}).full; });
  }
  const Workload<std::uint64_t> workload({.preload = 10});
  std::vector<std::uint64_t> keys(11);
  std::vector<Operation> operations(3);
  for (const std::uint64_t first : {std::uint64_t{0}, std::uint64_t{11}, ~std::uint64_t{0}})
    refused([&] { return workload.preload(first, keys), 0; });
  refused([&] { return workload.operations(0, operations, keys), 0; });
  survives([&] { return workload.operations(~std::uint64_t{0} - 3, {}, keys), 0; });
  survives([&] { return workload.operations(0, {}, {}), 0; });
  for (const int find : {-1, 101, kMost32, -kMost32}) refused([&] { return mix_of_find(find).insert; });
  for (const std::uint64_t batch :
       {std::uint64_t{0}, std::uint64_t{1} << 62, ~std::uint64_t{0}, std::uint64_t{1} << 40})
    refused([&] { return measure({.table = {.run = {.devices = {Device::cpu}}}, .batch = batch}).full; });
  refused([] { return measure({.key_bits = 33}).full; });
  refused([] { return measure({.rounds = -1}).full; });
  refused([] { return key_shares({}, 4); });
  refused([] { return key_shares(applications()[0], 0); });
  refused([] { return key_shares(applications()[0], std::size_t{1} << 62); });
  refused([] { return compare_structures({}, {}).size(); });
  refused([] { return compare_structures(applications()[0], {.find = 101}).size(); });
  const Measurement none;
  refused([&] { return none.kernel_seconds(); });
  refused([&] { return none.transfer_seconds(); });
  refused([&] { return none.wall_seconds(); });
  refused([&] { return none.rate(); });
  survives([&] { return none.retries_per_operation(); });
  EXPECT_EQ(none.fullest_table(), 1);
  EXPECT_EQ(none.longest_chain(), 0u);
  EXPECT_EQ(none.operations(), 0u);
}

DOOR(StatusesOfWearers, "table::statuses_of", "table::find_statuses",
     "table::StatusIndex::StatusIndex(const Options &)", "table::StatusIndex::StatusIndex(StatusIndex &&)",
     "table::StatusIndex::operator=", "table::StatusIndex::counts", "table::StatusIndex::find",
     "table::StatusIndex::store", "table::StatusIndex::store_seconds", "table::StatusIndex::table",
     "table::svg") {
  io::Table<double> good;
  good.rows = 2, good.columns = 11, good.values.assign(22, 1), good.values[11] = 2, good.lines = {1, 2};
  std::vector<io::Table<double>> bad(6, good);
  bad[0].values.pop_back(), bad[1].lines.pop_back(), bad[2].rows = 3, bad[3].columns = 22, bad[4].rows = -2;
  bad[5].values[3] = kNan;
  for (const io::Table<double>& table : bad)
    refused([&] { return statuses_of(table, "", 1).statuses.size(); });
  for (const double window : {-1.0, kNan})
    refused([&] { return statuses_of(good, "", window).statuses.size(); });
  for (const double window : {0.0, kInfinity, 1e300})
    EXPECT_EQ(statuses_of(good, "", window).statuses.size(), 2u);
  io::Table<double> empty;
  empty.columns = 11;
  EXPECT_TRUE(statuses_of(empty, "", 1).statuses.empty());

  const Options options{.run = {.devices = {Device::cpu}}, .capacity = 100};
  for (const Options& odd : odd_table_options()) refused([&] { return StatusIndex(odd).counts(); });
  StatusIndex index(options);
  const std::vector<std::uint8_t> statuses{1, 2}, none{60};
  const std::vector<Slot> slots(2);
  refused([&] { return index.store(statuses, std::span(slots).first(1)), 0; });
  refused([&] { return index.store({}, slots), 0; });
  refused([&] { return index.store(none, std::span(slots).first(1)), 0; });
  survives([&] { return index.store(statuses, slots), 0; });
  refused([&] { return index.find({kStatuses}); });
  refused([&] { return index.find({0xFFFFFFFF}); });
  EXPECT_TRUE(index.find({}).empty());
  EXPECT_EQ(index.counts().size(), kStatuses);
  move_away(index);
  refused([&] { return index.store(statuses, slots), 0; });
  refused([&] { return index.find({}).size(); });
  refused([&] { return index.counts().size(); });
  refused([&] { return index.store_seconds(); });
  refused([&] { return index.table().size(); });
  index = StatusIndex(options);
  EXPECT_EQ(index.table().size(), 0u);
  refused([&] { return find_statuses({}, {}, 0, options).slots; });
  refused([&] { return find_statuses({}, {kStatuses}, 5, options).slots; });
  const StatusRecording odd{.seconds = {1}, .statuses = {200, 1, 2}};
  refused([&] { return find_statuses(std::span(&odd, 1), {}, 5, options).slots; });

  for (const double seconds : {-1.0, kNan, kInfinity})
    refused([&] { return svg({.rows = {{"", seconds, {}}}}); });
  for (const double number : {0.0, -1.0, kNan, kInfinity, 1e300})
    survives([&] { return svg({.shares = {{"<", number}}, .rows = {{"<", 1e300, {{number, number}}}}}); });
  survives([] { return svg({}); });
}

DOOR(Counting, "table::count_words", "table::count_kmers",
     "table::for_each_words(const std::filesystem::path &, const Column &, const TakeWords &, std::uint64_t)",
     "table::for_each_words(std::string, const std::string &, const Column &, const TakeWords &, "
     "std::uint64_t)") {
  const CountOptions options{.table = {.run = {.devices = {Device::cpu}}, .capacity = 100}};
  const TakeWords take = [](std::span<const std::string_view>) {};
  for (const std::string& text : odd_texts()) {
    survives([&] { return for_each_words(text, text, {}, take), 0; });
    survives([&] { return for_each_words(text, text, {}, take, 0), 0; });
    survives([&] { return for_each_words(text, "", {.asked = text}, take), 0; });
    survives([&] {
      return for_each_words("a,b\nc,\"d\n" + text, "", {.asked = "2", .separator = ',', .header = true},
                            take),
             0;
    });
    if (text.size() < 200)
      refused([&] { return for_each_words(std::filesystem::path("/nowhere" + text), {}, take), 0; });
    survives([&] {
      return count_words([&](const TakeWords& words) { for_each_words(text, "", {}, words); }, options).total;
    });
    for (const int k : {1, 31, 63})
      survives([&] {
        io::SequenceStream sequences = io::SequenceStream::of_text(">r\n" + text, text);
        KmerOptions kmers;
        kmers.k = k;
        kmers.canonical = true;
        kmers.histogram = 2;
        return count_kmers(sequences, kmers).total;
      });
  }
  for (const int k : {0, -1, 64, kMost32})
    refused([&] {
      io::SequenceStream sequences = io::SequenceStream::of_text(">r\nA\n", "");
      KmerOptions kmers;
      kmers.k = k;
      return count_kmers(sequences, kmers).total;
    });
  for (const int bits : {0, -1, 65, kMost32})
    refused([&] {
      io::SequenceStream sequences = io::SequenceStream::of_text(">r\nA\n", "");
      KmerOptions kmers;
      kmers.counter_bits = bits;
      return count_kmers(sequences, kmers).total;
    });
  refused([&] { return for_each_words("a\n", "", {}, {}), 0; });
  refused([&] { return count_words({}, options).total; });
  EXPECT_EQ(count_words([](const TakeWords& words) { words({}); }, options).total, 0u);
}

DOOR(KmerDatabases, "table::kmer_database_info", "table::dump_kmers", "table::kmer_histogram",
     "table::query_kmers", "table::combine_kmers") {
  const TemporaryDirectory folder;
  const std::filesystem::path whole = folder.path() / "kmers", odd = folder.path() / "odd",
                              out = folder.path() / "out";
  const auto take = [](std::string_view) {};
  KmerOptions counting;
  counting.table.run.devices = {Device::cpu};
  counting.k = 5;
  counting.database = whole;
  io::SequenceStream sequences = io::SequenceStream::of_text(">r\nACGTACGGTACGTTTA\n", "");
  count_kmers(sequences, counting);
  const std::string bytes = read_file(whole);
  std::vector<std::string> texts = odd_texts();
  for (const std::string& text : odd_texts()) texts.push_back(bytes + text);
  for (const std::string& text : texts) {
    if (text == bytes) continue;
    write_file_atomically(odd, text);
    refused([&] { return kmer_database_info(odd).different; });
    refused([&] { return dump_kmers(odd, KmerText::tab, {}, take), 0; });
    refused([&] { return kmer_histogram(odd, 3); });
    refused([&] { return query_kmers(odd, {}); });
    const std::vector<std::filesystem::path> both{whole, odd};
    refused([&] { return combine_kmers(both, out).different; });
    const std::vector<std::string_view> words{text};
    if (text.size() != 5) refused([&] { return query_kmers(whole, words); });
  }
  refused([&] { return kmer_database_info("/nowhere").different; });
  refused([&] { return dump_kmers(whole, KmerText::tab, {}, {}), 0; });
  refused([&] { return kmer_histogram(whole, 0); });
  survives([&] { return dump_kmers(whole, static_cast<KmerText>(7), {.least = 9, .most = 0}, take), 0; });
  const std::vector<std::filesystem::path> both{whole, whole};
  refused([&] { return combine_kmers({}, out).different; });
  for (const int bits : {-1, 65, kMost32})
    refused([&] { return combine_kmers(both, out, {.counter_bits = bits}).different; });
  refused([&] { return combine_kmers(both, "/nowhere/out").different; });
  survives([&] {
    return combine_kmers(both, out, {.set = static_cast<KmerSet>(9), .count = static_cast<KmerCount>(9)})
        .different;
  });
}

}  // namespace
}  // namespace warploom::doors
