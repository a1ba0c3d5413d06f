#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "warploom/core/file.hpp"
#include "warploom/core/ranks.hpp"
#include "warploom/io/sequence_stream.hpp"
#include "warploom/table/hash_table.hpp"

namespace warploom::table {

/// Which part of each line is the word.
struct Column {
  std::string asked = {};  ///< empty: the whole line; a number from 1, or a name in the first line
  char separator = 0;      ///< 0: what the first line has of tab, comma, semicolon; else blanks
  bool header = false;     ///< the first line is no data
};

using TakeWords = std::function<void(std::span<const std::string_view>)>;

/// Calls take(words) for batches of the words of a text, in its order: its lines without their ends, or a
/// field of each. A field in double quotes may hold the separator; blank lines have no fields. gzip is
/// recognised by its first bytes.
/// @param name  of the text, for messages
/// @param max_bytes  what gzip may hold
/// @throws BadInput (no such column, no function; as gunzip), ParseError (a line without the field),
/// Interrupted
void for_each_words(std::string content, const std::string& name, const Column& column, const TakeWords& take,
                    std::uint64_t max_bytes = kMaxFileBytes);
/// The same of a file. One that is no gzip is read piece by piece, whatever its size; of gzip and pipes
/// `max_bytes` are taken, too.
/// @throws BadInput as InputFile too
void for_each_words(const std::filesystem::path& path, const Column& column, const TakeWords& take,
                    std::uint64_t max_bytes = kMaxFileBytes);

struct CountOptions {
  Options table = {};
  std::uint64_t top = 20;   ///< how many are listed; 0: all
  std::uint64_t least = 1;  ///< that are listed came as often at least
};

struct Counted {
  std::uint64_t count = 0;
  std::string value = {};
};

/// How often each value came. Exact.
struct Counts {
  std::uint64_t total = 0;           ///< values, with repetitions
  Statistics statistics = {};        ///< `pairs` of it are the different ones
  std::string description = {};      ///< of the table
  std::vector<Counted> listed = {};  ///< the most frequent first, of equally frequent ones the lesser
  double seconds = 0;                ///< that counting took
  /// Of k-mers, [i]: how many different ones came i + 1 times; the last: so often or more often.
  std::vector<std::uint64_t> histogram = {};
  std::uint64_t bytes_in_file = 0;  ///< of k-mers, what was put aside in the scratch folder
};

/// Counts the words of a text.
/// @param text  hands them to what it is given, as for_each_words() does
/// @throws as text(); BadInput (no function), OutOfMemory, NoDevice, Interrupted
Counts count_words(const std::function<void(const TakeWords&)>& text, const CountOptions& options);

/// Of a word.
inline constexpr int kMostBases = 63;

struct KmerOptions : CountOptions {
  int k = 21;                 ///< bases of a word, 1 to kMostBases
  bool canonical = false;     ///< of a word and its reverse complement the lesser stands for both
  std::size_t histogram = 0;  ///< bins of Counts::histogram
  /// Of the CPU, for what was read and is not counted yet [bytes]; 0: all of it.
  std::uint64_t most_memory = 0;
  /// A folder for what goes beyond; empty: the system's for temporary files.
  std::filesystem::path scratch = {};
  int counter_bits = 64;  ///< counts end at 2^counter_bits - 1
  /// A database of all words is written there (kmer_database.hpp); empty: none.
  std::filesystem::path database = {};
  /// Of the CPU: a folder, made if need be, that keeps what was read of the files, so that a run that was
  /// stopped goes on there when it is called again; empty again once the words are counted. Empty: none.
  std::filesystem::path resume = {};
  std::uint64_t checkpoint = std::uint64_t{1} << 30;  ///< letters after which that is made safe, some
  /// Of the CPU: processes that count together. Each reads the files, keeps what of them is its share, and
  /// counts its share of the words. Rank 0 gets the counts and writes the database; the others get the
  /// seconds alone.
  Ranks* ranks = nullptr;
};

/// Counts the words of k bases of sequences, capital or small, U the same as T; those with another letter in
/// them are left out. A GPU counts where one is named (then k is at most 31, and what is different has to fit
/// into its memory); else the CPU does: 26 to 41 ns of a core a word of 21
/// bases, reading included.
/// @throws BadInput (k or counter bits below 1 or above their limits; the scratch folder: missing, full; the
/// database: cannot be written; what is resumed: other files, k or quality, a pipe, in use, changed; ranks: a
/// pipe, files that are not the same, a GPU, what is resumed), OutOfMemory, NoDevice, Interrupted; as
/// SequenceStream::next()
Counts count_kmers(io::SequenceStream& sequences, const KmerOptions& options);

}  // namespace warploom::table
