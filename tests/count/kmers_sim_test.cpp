// The kernels that count k-mers, in the simulator with the race detector, beside a map.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "warploom/core/demangle.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"
#include "warploom/sim/sim.hpp"

namespace warploom::table {
namespace {

using sim::Schedule;
using Map = std::map<std::uint64_t, std::uint64_t>;

constexpr std::uint64_t kNone = ~std::uint64_t{0};
constexpr std::uint32_t kBins = 2100;  // more than a block counts by itself
constexpr std::uint32_t kTile = 4096;  // kKmerTile of kmer_kernels.hpp, which only nvcc can read

struct State {
  std::uint64_t different = 0, total = 0, exported = 0;
  std::uint32_t full = 0, odd = 0;
};

/// Words of k bases of lines, in two bits a base; those of FASTQ where only every fourth line counts.
Map words(const std::string& text, bool fastq, int k, bool canonical) {
  Map map;
  std::size_t line = 0;
  for (std::size_t begin = 0; begin < text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string letters = text.substr(begin, end - begin);
    begin = end + 1;
    if (fastq && line % 4 != 1) continue;
    for (std::size_t at = 0; at + static_cast<std::size_t>(k) <= letters.size(); ++at) {
      std::uint64_t word = 0, other = 0;
      bool good = true;
      for (std::size_t j = 0; j < static_cast<std::size_t>(k); ++j) {
        const std::size_t code = std::string("ACGTacgtU").find(letters[at + j]);
        good &= code != std::string::npos;
        const std::uint64_t base = code == 8 ? 3 : code % 4;
        word = word << 2 | base;
        other |= (3 - base) << (2 * j);
      }
      if (good) ++map[canonical ? std::min(word, other) : word];
    }
  }
  return map;
}

class Simulator {
 public:
  Simulator() : machine_(ptx::parse(read_file(WARPLOOM_KERNEL_PTX), "kmer_kernels.ptx")) {}

  /// All kernels of launch_count_words(), into a table of 2^bits slots; exported from it in two halves.
  Map count(const std::string& text, bool fastq, int k, bool canonical, int bits, Schedule schedule) {
    const auto size = static_cast<std::uint32_t>(text.size());
    const std::uint32_t tiles = (size + kTile - 1) / kTile, most_lines = 4096;
    std::vector<std::uint64_t> slots(std::size_t{2} << bits, kNone);
    std::vector<std::uint32_t> lines(tiles + 1), ends(most_lines);
    state = {};
    const sim::Address text_at = machine_.upload(std::span(text)),
                       slots_at = machine_.upload(std::span(slots)),
                       lines_at = machine_.upload(std::span(lines)),
                       ends_at = machine_.upload(std::span(ends)),
                       state_at = machine_.upload(std::span(&state, 1));
    if (fastq) {
      launch("count_lines", tiles, 256, sim::Arguments().add(text_at).add(size).add(lines_at), schedule);
      launch("sum_lines", 1, 1024, sim::Arguments().add(lines_at).add(tiles).add(most_lines).add(state_at),
             schedule);
    }
    const std::string kernel =
        std::string("count_words<") + (fastq ? "true" : "false") + ", " + (canonical ? "true>" : "false>");
    launch(kernel, tiles, 128,
           sim::Arguments()
               .add(text_at)
               .add(size)
               .add(k)
               .add(slots_at)
               .add(bits)
               .add(state_at)
               .add(lines_at)
               .add(ends_at)
               .add(most_lines),
           schedule);
    if (fastq)
      launch("check_records", most_lines / 4 / 256 + 1, 256,
             sim::Arguments().add(lines_at).add(tiles).add(ends_at).add(most_lines).add(state_at), schedule);
    // Into a table twice as large, and out of it.
    std::vector<std::uint64_t> more(std::size_t{4} << bits, kNone), found(std::size_t{2} << bits),
        counts(found.size());
    const sim::Address more_at = machine_.upload(std::span(more)),
                       found_at = machine_.upload(std::span(found)),
                       counts_at = machine_.upload(std::span(counts));
    launch("rehash", (1u << bits) / 256, 256,
           sim::Arguments().add(slots_at).add(more_at).add(bits + 1).add(state_at), schedule);
    const std::uint64_t end = std::uint64_t{2} << bits, half = end / 2 - 100;
    for (const auto& [from, to] : {std::pair<std::uint64_t, std::uint64_t>{0, half}, {half, end}})
      launch("export_words", static_cast<unsigned>((to - from + 255) / 256), 256,
             sim::Arguments().add(more_at).add(from).add(to).add(least).add(found_at).add(counts_at).add(
                 state_at),
             schedule);
    std::vector<std::uint64_t> bins(kBins);
    const sim::Address bins_at = machine_.upload(std::span(bins));
    launch("count_counts", 3, 256, sim::Arguments().add(more_at).add(end).add(bins_at).add(kBins), schedule);
    machine_.download(bins_at, std::span(bins));
    how_often = bins;
    machine_.download(state_at, std::span(&state, 1));
    machine_.download(found_at, std::span(found));
    machine_.download(counts_at, std::span(counts));
    Map map;
    for (std::uint64_t at = 0; at < state.exported; ++at)
      EXPECT_TRUE(map.emplace(found[at], counts[at]).second);
    if (least == 1) {
      EXPECT_EQ(state.different, 2 * state.exported);  // counted once, and once as they moved
    }
    return map;
  }
  State state;
  std::vector<std::uint64_t> how_often;  // [c]: how many words came c times
  std::uint64_t least = 1;               // of those that are exported

 private:
  void launch(const std::string& kernel, unsigned grid, unsigned block, const sim::Arguments& arguments,
              Schedule schedule) {
    sim::LaunchOptions options;
    options.grid = {grid};
    options.block = {block};
    options.schedule = schedule;
    options.races = true;
    for (const ptx::Function& function : machine_.module().functions) {
      if (!function.entry || !function_name(function.name).ends_with(kernel)) continue;
      const sim::Outcome outcome = machine_.launch(function.name, arguments, options);
      EXPECT_TRUE(outcome.completed);
      for (const sim::Finding& finding : outcome.findings) ADD_FAILURE() << kernel << ": " << finding.text();
      return;
    }
    throw BadInput("there is no " + kernel);
  }

  sim::Machine machine_;
};

/// Reads from 0 to 300 letters, some poly-A or with letters that are no bases; several tiles.
std::string reads(unsigned seed, bool fastq) {
  std::mt19937 random(seed);
  std::string text;
  for (int read = 0; read < 40; ++read) {
    std::string letters;
    for (std::size_t left = random() % 300; left > 0; --left)
      letters += read % 8 == 0 ? 'A' : "ACGT"[random() % 4];
    for (int odd = 0; odd < 2 && !letters.empty(); ++odd)
      letters[random() % letters.size()] = "ACGTNacgtU*-"[random() % 12];
    if (fastq) text += "@read" + std::to_string(random() % 1000) + "\n";
    text += letters + "\n";
    if (fastq) text += "+\n" + std::string(letters.size(), "@ACG"[random() % 4]) + "\n";
  }
  return text;
}

TEST(KmersSim, AreThoseOfAMap) {
  for (const bool fastq : {true, false})
    for (const int k : {1, 5, 21, 31})
      for (const Schedule schedule : {Schedule::in_order, Schedule::adversarial}) {
        const bool canonical = k != 5;
        const std::string text = reads(static_cast<unsigned>(k), fastq);
        const Map wanted = words(text, fastq, k, canonical);
        Simulator simulator;
        EXPECT_EQ(simulator.count(text, fastq, k, canonical, 13, schedule), wanted) << k << fastq;
        std::uint64_t total = 0;
        for (const auto& [word, count] : wanted) total += count;
        EXPECT_EQ(simulator.state.total, total);
        std::vector<std::uint64_t> how_often(kBins);
        for (const auto& [word, count] : wanted) ++how_often[std::min<std::uint64_t>(count, kBins - 1)];
        EXPECT_EQ(simulator.how_often, how_often);
        EXPECT_EQ(simulator.state.odd, 0u);
        EXPECT_EQ(simulator.state.full, 0u);
      }
}

TEST(KmersSim, TextThatIsNotFourLinesARecordIsSaidToBeOdd) {
  for (const std::string text :
       {"@a\nACGT\n+\nIII\n", "@a\nACGT\n-\nIIII\n", "@a\nAC GT\n+\nIIIII\n", "@a\nACGT\r\n+\nIIII\r\n",
        "@a\nAC\n+\nII\n>b\nAC\n+\nII\n", "@a\nAC\n+\nII\n@b\n", "@a\nAC\nGT\n+\nII\nII\n@b\nA\n"}) {
    Simulator simulator;
    simulator.count(text, true, 3, true, 10, Schedule::in_order);
    EXPECT_NE(simulator.state.odd, 0u) << text;
  }
}

TEST(KmersSim, ThoseThatCameSeldomStayThere) {
  const std::string text = reads(2, false);
  Map wanted = words(text, false, 3, true);
  std::erase_if(wanted, [](const auto& word) { return word.second < 120; });
  ASSERT_GT(wanted.size(), 3u);
  Simulator simulator;
  simulator.least = 120;
  EXPECT_EQ(simulator.count(text, false, 3, true, 10, Schedule::in_order), wanted);
}

TEST(KmersSim, AFullTableIsSaid) {
  Simulator simulator;
  EXPECT_LT(simulator.count(reads(3, false), false, 21, true, 8, Schedule::in_order).size(), 257u);
  EXPECT_NE(simulator.state.full, 0u);
}

}  // namespace
}  // namespace warploom::table
