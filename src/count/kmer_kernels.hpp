#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace warploom::table {

/// A word and its count less 1, modulo 2^64; all bits set where none is.
struct alignas(16) KmerSlot {
  unsigned long long word, count;
};

/// What the kernels say, in device memory.
struct KmerState {
  unsigned long long different = 0;  ///< words that were inserted
  unsigned long long total = 0;      ///< words that were counted
  unsigned long long exported = 0;
  unsigned full = 0;  ///< a word found no place
  unsigned odd = 0;   ///< text is not what count_words() takes
};

struct KmerTable {
  KmerSlot* slots = nullptr;
  int bits = 0;  ///< 2^bits slots
};

inline constexpr int kKmerThreads = 128, kKmerSpan = 32;
inline constexpr int kKmerTile = kKmerThreads * kKmerSpan;  // bytes of text a block
inline constexpr int kMostKmerTiles = 1 << 15;
inline constexpr unsigned kKmerFewBins = 2048;  // that a block counts by itself

// All launch on the stream and return.

/// Counts the words of k bases (1 to 31) of a text. Its words have no other letters.
/// @param fastq  records of four lines each, LF behind the last; of others all is sequence
/// @param lines  of fastq: room for a number a tile, and 1
/// @param ends   of fastq: room for the place of each LF, `most_lines` of them
void launch_count_words(const char* text, std::uint32_t size, bool fastq, int k, bool canonical,
                        KmerTable table, KmerState* state, std::uint32_t* lines, std::uint32_t* ends,
                        std::uint32_t most_lines, cudaStream_t stream);
/// Inserts all words of a table into another one, whose different words it then counts.
void launch_rehash(KmerTable from, KmerTable to, KmerState* state, cudaStream_t stream);
/// Adds to bins[c], of `most`, how many words came c times; to the last those that came more often.
void launch_count_counts(KmerTable table, unsigned long long* bins, std::uint32_t most, cudaStream_t stream);
/// Appends the words of slots [begin, end) that came `least` times to words and counts, from
/// KmerState::exported on.
void launch_export(KmerTable table, std::uint64_t begin, std::uint64_t end, std::uint64_t least,
                   unsigned long long* words, unsigned long long* counts, KmerState* state,
                   cudaStream_t stream);

}  // namespace warploom::table
