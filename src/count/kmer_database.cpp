#include "warploom/count/kmer_database.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <numeric>
#include <optional>
#include <utility>

#include "count/kmer_file.hpp"
#include "count/kmer_waves.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/core/threads.hpp"
#include "warploom/count/count.hpp"

namespace warploom::table {
namespace {

constexpr std::size_t kTask = 64;  // blocks that a thread takes at once

/// What of a database's words a task goes through.
template <class W>
class Cursor {
 public:
  /// @param end  behind the last word; none: to the end
  Cursor(const KmerFile& file, W begin, std::optional<W> end) : file_(file), end_(end) {
    if (file.blocks().empty()) return;
    block_ = file.block_of(begin);
    load();
    while (at_ < words_.size() && words_[at_].word < begin) next();
  }
  bool ended() const { return at_ == words_.size() || (end_ && words_[at_].word >= *end_); }
  W word() const { return words_[at_].word; }
  std::uint64_t count() const { return words_[at_].count; }
  void next() {
    if (++at_ < words_.size() || ++block_ == file_.blocks().size()) return;
    load();
  }

 private:
  void load() {
    file_.read(block_, words_);
    at_ = 0;
  }

  const KmerFile& file_;
  std::optional<W> end_;
  std::size_t block_ = 0, at_ = 0;
  std::vector<KmerOf<W>> words_;
};

/// Calls body(Word()) or body(LongWord()), whichever holds k bases.
template <class Body>
auto with_word(int k, const Body& body) {
  return k <= 32 ? body(Word()) : body(LongWord());
}

/// Calls make(blocks of a task, in words) on all threads and take(made) in the blocks' order.
template <class Made, class Make, class Take>
void over_blocks(const KmerFile& file, const char* doing, const Make& make, const Take& take) {
  const std::size_t blocks = file.blocks().size();
  Progress progress(doing, file.info().different, "k-mers");
  with_word(file.info().k, [&]<class W>(W) {
    in_waves<Made>((blocks + kTask - 1) / kTask,
                   [&](std::size_t task) {
                     Made made{};
                     std::vector<KmerOf<W>> words;
                     for (std::size_t block = task * kTask; block < std::min(blocks, (task + 1) * kTask);
                          ++block) {
                       file.read(block, words);
                       make(std::span<const KmerOf<W>>(words), made);
                       progress.advance(words.size());
                     }
                     return made;
                   },
                   take);
  });
}

bool within(const KmerRange& range, std::uint64_t count) {
  return count >= range.least && count <= range.most;
}

/// The letters of four bases, the first in the highest bits.
constexpr auto kFour = [] {
  std::array<std::array<char, 4>, 256> texts{};
  for (std::size_t code = 0; code < 256; ++code)
    for (std::size_t at = 0; at < 4; ++at) texts[code][at] = "ACGT"[(code >> (6 - 2 * at)) & 3];
  return texts;
}();

template <class W>
void append_word(std::string& text, W word, int k) {
  const std::size_t begin = text.size();
  text.resize(begin + static_cast<std::size_t>(k));
  char* end = text.data() + text.size();
  for (; k >= 4; k -= 4, word >>= 8) {
    end -= 4;
    std::ranges::copy(kFour[static_cast<unsigned>(word & 255)], end);
  }
  for (; k > 0; --k, word >>= 2) *--end = "ACGT"[static_cast<unsigned>(word & 3)];
}

void append_number(std::string& text, std::uint64_t number) {
  const fmt::format_int digits(number);
  text.append(digits.data(), digits.size());
}

template <class W>
std::optional<W> word_of(std::string_view letters, bool canonical) {
  RollingWord<W> word(static_cast<int>(letters.size()));
  for (const char letter : letters) {
    const std::uint8_t code = kCodes[static_cast<unsigned char>(letter)];
    if (code == kNoBase) return std::nullopt;
    word.push(code);
  }
  return canonical ? word.canonical() : word.forward();
}

/// Of one word, from the counts in the databases in their order; 0: not in that one.
std::uint64_t combined(std::span<const std::uint64_t> counts, KmerSet set, KmerCount rule) {
  std::uint64_t sum = 0, least = ~std::uint64_t{0}, greatest = 0, first = 0, others = 0;
  bool everywhere = true;
  for (std::size_t k = 0; k < counts.size(); ++k) {
    if (counts[k] == 0) {
      everywhere = false;
      continue;
    }
    sum = saturated_sum(sum, counts[k]);
    least = std::min(least, counts[k]);
    greatest = std::max(greatest, counts[k]);
    if (first == 0) first = counts[k];
    if (k > 0) others = saturated_sum(others, counts[k]);
  }
  if (set == KmerSet::intersect && !everywhere) return 0;
  if (set == KmerSet::subtract) {
    if (rule == KmerCount::difference) return counts[0] > others ? counts[0] - others : 0;
    return others > 0 ? 0 : counts[0];
  }
  switch (rule) {
    case KmerCount::sum:
      return sum;
    case KmerCount::least:
      return least;
    case KmerCount::greatest:
      return greatest;
    case KmerCount::first:
      return first;
    default:
      return set == KmerSet::merge ? sum : least;
  }
}

template <class W>
KmerDatabaseInfo combine(const std::deque<KmerFile>& files, KmerFileWriter& writer,
                         const CombineOptions& options, int counter_bits) {
  // Tasks are ranges of words that begin where every kTask-th block of the largest database does.
  const KmerFile& largest =
      *std::ranges::max_element(files, {}, [](const KmerFile& file) { return file.blocks().size(); });
  std::vector<W> begins{0};
  for (std::size_t block = kTask; block < largest.blocks().size(); block += kTask)
    begins.push_back(static_cast<W>(largest.blocks()[block].first));
  std::uint64_t words = 0;
  for (const KmerFile& file : files) words += file.info().different;
  Progress progress("combining", words, "k-mers");
  const std::uint64_t most = greatest_count(counter_bits);
  in_waves<KmerBlocks>(
      begins.size(),
      [&](std::size_t task) {
        const auto end = task + 1 < begins.size() ? std::optional<W>(begins[task + 1]) : std::nullopt;
        std::vector<Cursor<W>> cursors;
        for (const KmerFile& file : files) cursors.emplace_back(file, begins[task], end);
        KmerEncoder<W> encoder(files[0].info().k);
        std::vector<std::uint64_t> counts(files.size());
        std::uint64_t done = 0;
        while (true) {
          std::optional<W> word;
          for (const Cursor<W>& cursor : cursors)
            if (!cursor.ended() && (!word || cursor.word() < *word)) word = cursor.word();
          if (!word) break;
          for (std::size_t k = 0; k < cursors.size(); ++k) {
            counts[k] = 0;
            if (cursors[k].ended() || cursors[k].word() != *word) continue;
            counts[k] = cursors[k].count();
            cursors[k].next();
            ++done;
          }
          const std::uint64_t count = std::min(most, combined(counts, options.set, options.count));
          if (count > 0 && within(options.range, count)) encoder.add(*word, count);
        }
        progress.advance(done);
        return encoder.finish();
      },
      [&](KmerBlocks blocks) { writer.append(std::move(blocks)); });
  return writer.finish();
}

}  // namespace

KmerDatabaseInfo kmer_database_info(const std::filesystem::path& database) {
  return KmerFile(database).info();
}

void dump_kmers(const std::filesystem::path& database, KmerText form, const KmerRange& range,
                const std::function<void(std::string_view)>& take) {
  if (!take) throw BadInput("no function was given that takes the text");
  const KmerFile file(database);
  const int k = file.info().k;
  over_blocks<std::string>(
      file, "listing",
      [&](const auto& words, std::string& text) {
        for (const auto& [word, count] : words) {
          if (!within(range, count)) continue;
          if (form == KmerText::fasta) {
            text += '>';
            append_number(text, count);
            text += '\n';
          }
          append_word(text, word, k);
          if (form != KmerText::fasta) {
            text += form == KmerText::tab ? '\t' : ' ';
            append_number(text, count);
          }
          text += '\n';
        }
      },
      [&](const std::string& text) { take(text); });
}

std::vector<std::uint64_t> kmer_histogram(const std::filesystem::path& database, std::size_t bins) {
  if (bins == 0) throw BadInput("a histogram of no bins");
  std::vector<std::uint64_t> histogram(bins);
  over_blocks<std::vector<std::uint64_t>>(
      KmerFile(database), "counting",
      [&](const auto& words, std::vector<std::uint64_t>& part) {
        part.resize(bins);
        for (const auto& word : words) ++part[std::min<std::uint64_t>(word.count, bins) - 1];
      },
      [&](const std::vector<std::uint64_t>& part) {
        for (std::size_t bin = 0; bin < bins; ++bin) histogram[bin] += part[bin];
      });
  return histogram;
}

std::vector<std::uint64_t> query_kmers(const std::filesystem::path& database,
                                       std::span<const std::string_view> words) {
  const KmerFile file(database);
  for (const std::string_view word : words)
    if (word.size() != static_cast<std::size_t>(file.info().k))
      throw BadInput(fmt::format("{:?} has {} letters; {} has words of {}", word.substr(0, 80), word.size(),
                                 file.name(), file.info().k));
  std::vector<std::uint64_t> counts(words.size());
  with_word(file.info().k, [&]<class W>(W) {
    struct Asked {
      W word;
      std::size_t number;
    };
    std::vector<Asked> asked;
    for (std::size_t number = 0; number < words.size(); ++number)
      if (const auto word = word_of<W>(words[number], file.info().canonical))
        asked.push_back({*word, number});
    std::ranges::sort(asked, {}, &Asked::word);
    std::vector<KmerOf<W>> block;
    std::size_t loaded = ~std::size_t{0};
    for (const Asked& one : asked) {
      if (file.blocks().empty()) break;
      const std::size_t number = file.block_of(one.word);
      if (number != loaded) file.read(loaded = number, block);
      const auto found = std::ranges::lower_bound(block, one.word, {}, &KmerOf<W>::word);
      if (found != block.end() && found->word == one.word) counts[one.number] = found->count;
    }
  });
  return counts;
}

KmerDatabaseInfo combine_kmers(std::span<const std::filesystem::path> databases,
                               const std::filesystem::path& output, const CombineOptions& options) {
  const RunScope scope(options.run);
  if (databases.size() < 2) throw BadInput("a set operation needs two databases of k-mers at least");
  if (options.counter_bits < 0 || options.counter_bits > 64)
    throw BadInput(fmt::format("counters of {} bits; 1 to 64 are stored", options.counter_bits));
  if (options.count == KmerCount::difference && options.set != KmerSet::subtract)
    throw BadInput("a difference of counts is of subtract alone");
  if (options.set == KmerSet::subtract && options.count != KmerCount::usual &&
      options.count != KmerCount::first && options.count != KmerCount::difference)
    throw BadInput("subtract keeps the first database's count, or the difference");
  std::deque<KmerFile> files;
  int counter_bits = options.counter_bits;
  for (const std::filesystem::path& path : databases) {
    const KmerDatabaseInfo& one = files.emplace_back(path).info();
    const KmerDatabaseInfo& first = files.front().info();
    if (one.k != first.k)
      throw BadInput(fmt::format("{} has words of {} bases, {} of {}; count one of them again",
                                 files.back().name(), one.k, files.front().name(), first.k));
    if (one.canonical != first.canonical)
      throw BadInput(fmt::format("{} is {}canonical, {} is {}; count one of them again", files.back().name(),
                                 one.canonical ? "" : "not ", files.front().name(),
                                 first.canonical ? "" : "not"));
    if (options.counter_bits == 0) counter_bits = std::max(counter_bits, one.counter_bits);
  }
  KmerFileWriter writer(output, files[0].info().k, files[0].info().canonical, counter_bits);
  return with_word(files[0].info().k,
                   [&]<class W>(W) { return combine<W>(files, writer, options, counter_bits); });
}

}  // namespace warploom::table
