#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/over_ranks.hpp"
#include "count/kmer_store.hpp"
#include "warploom/core/threads.hpp"

namespace warploom::table {

/// What a partition holds, wherever its records are.
struct KmerRecords {
  std::uint64_t words = 0;
  std::vector<std::span<const char>> parts = {};
};

/// Brings the records of each partition from all ranks to one, which takes them: partitions in waves of
/// neighbours, of which each rank takes as many. So a rank holds its own records, and at most an eighth of as
/// much besides.
///
/// take(partition, records) is called on all threads, wave_ends(first, last) when all of this rank's
/// partitions [first, last) of a wave were taken.
template <class Take, class WaveEnds>
void exchange_partitions(Ranks& ranks, KmerStore& store, const Take& take, const WaveEnds& wave_ends) {
  constexpr std::size_t kWaves = 8;
  const std::size_t partitions = store.partitions(), count = ranks.count();
  const std::size_t each = std::max<std::size_t>(1, partitions / (kWaves * count));
  for (std::size_t begin = 0; begin < partitions; begin += each * count) {
    const auto first = [&](std::size_t rank) { return std::min(begin + rank * each, partitions); };
    std::vector<std::string> to(count);
    for (std::size_t rank = 0; rank < count; ++rank)
      for (std::size_t partition = first(rank); partition < first(rank + 1); ++partition) {
        put_bytes(to[rank], store.words(partition));
        const std::size_t place = to[rank].size();
        put_bytes(to[rank], std::uint64_t{0});
        store.drain(partition, [&](std::span<const char> records) { put_bytes(to[rank], records); });
        const std::uint64_t bytes = to[rank].size() - place - sizeof bytes;
        std::memcpy(to[rank].data() + place, &bytes, sizeof bytes);
      }
    for (std::string& message : to)
      message.append(KmerStore::kBehind, '\0');  // may be read behind the last record
    const std::vector<std::string> from = ranks.exchange(std::move(to));
    const std::size_t mine = first(ranks.rank()), end = first(ranks.rank() + 1);
    std::vector<KmerRecords> records(end - mine);
    for (std::string_view rest : from)
      for (KmerRecords& one : records) {
        one.words += take_bytes<std::uint64_t>(rest);
        const auto bytes = take_bytes<std::uint64_t>(rest);
        if (rest.size() < bytes + KmerStore::kBehind)
          throw Internal("a message of another rank is too short");
        one.parts.emplace_back(rest.data(), bytes);
        rest.remove_prefix(bytes);
      }
    parallel_for(static_cast<std::int64_t>(records.size()), [&](std::int64_t task) {
      take(mine + static_cast<std::size_t>(task), records[static_cast<std::size_t>(task)]);
    });
    wave_ends(mine, end);
  }
}

}  // namespace warploom::table
