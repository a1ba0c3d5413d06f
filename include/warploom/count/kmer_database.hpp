#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "warploom/core/run.hpp"

/// Databases of counted k-mers, which count_kmers() writes (KmerOptions::database): sorted, compressed, with
/// checksums. Their format is in docs/design/0016-kmers.md. All functions read block by block: a few MiB a
/// thread are in memory, however large a database is.
namespace warploom::table {

struct KmerDatabaseInfo {
  int k = 0;                    ///< bases of a word
  bool canonical = false;       ///< a word stands for its reverse complement too
  int counter_bits = 64;        ///< counts end at 2^counter_bits - 1
  std::uint64_t different = 0;  ///< words
  std::uint64_t total = 0;      ///< sum of all counts, at most 2^64 - 1
  std::uint64_t most = 0;       ///< the greatest count
};

/// @throws BadInput (missing, no database, of another version, cut off, corrupt)
KmerDatabaseInfo kmer_database_info(const std::filesystem::path& database);

struct KmerRange {
  std::uint64_t least = 1;  ///< counts outside are left out
  std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
};

enum class KmerText {
  tab,    ///< "WORD\tCOUNT\n", as kmc_dump writes it
  blank,  ///< "WORD COUNT\n", as `jellyfish dump -c`
  fasta   ///< ">COUNT\nWORD\n", as `jellyfish dump`
};

/// Calls take(text) with pieces of whole lines, the words in the order of the alphabet.
/// @throws BadInput (as kmer_database_info(); corrupt block; no function), Interrupted; as take()
void dump_kmers(const std::filesystem::path& database, KmerText form, const KmerRange& range,
                const std::function<void(std::string_view)>& take);

/// [i]: how many words came i + 1 times; the last: so often or more often.
/// @throws as dump_kmers(); BadInput (no bins)
std::vector<std::uint64_t> kmer_histogram(const std::filesystem::path& database, std::size_t bins);

/// The count of each word, 0 of one that is not in the database or has letters other than A, C, G, T and U,
/// capital or small. Of a canonical database either strand may be asked for.
/// @throws as dump_kmers(); BadInput (a word of another length)
std::vector<std::uint64_t> query_kmers(const std::filesystem::path& database,
                                       std::span<const std::string_view> words);

enum class KmerSet {
  merge,      ///< words of any database
  intersect,  ///< words of all
  subtract    ///< words of the first that no other has
};

/// The count of a word in the result, from its counts in the databases that have it.
enum class KmerCount {
  usual,  ///< of merge the sum, of intersect the least, of subtract the first
  sum,    ///< at most what the counter holds
  least,  ///< the smallest
  greatest,
  first,      ///< of the first database that has it
  difference  ///< of subtract: the first less all others; words stay whose difference is above 0
};

struct CombineOptions {
  KmerSet set = KmerSet::merge;
  KmerCount count = KmerCount::usual;
  KmerRange range = {};  ///< of the result's counts
  int counter_bits = 0;  ///< of the result; 0: the widest of the databases
  Run run = {};          ///< its threads
};

/// Writes the database of a set operation; `output` appears when it is complete. The same bytes on any number
/// of threads. @return what is in it
/// @throws BadInput (as dump_kmers(); fewer than two databases, k or strands that differ, a difference of
///         another set than subtract, counter bits beyond 64; output: as write_file_atomically())
KmerDatabaseInfo combine_kmers(std::span<const std::filesystem::path> databases,
                               const std::filesystem::path& output, const CombineOptions& options = {});

}  // namespace warploom::table
