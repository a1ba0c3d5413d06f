#include "warploom/dp/base_pairs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>

#include "dp/structure.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/progress.hpp"

namespace warploom::dp {
namespace {

constexpr std::string_view kBases = "ACGUN";
constexpr std::size_t kUnknown = 4;  // N
constexpr std::string_view kAmbiguities = "RYSWKMBDHVN";

// A sequence this long keeps a whole device busy; shorter ones are solved together, in as much memory.
constexpr std::int64_t kLargestTogether = 2048;
constexpr std::uint64_t kMemoryTogether = std::uint64_t{256} << 20;

/// @param where  "sequence 3, " or nothing
std::string normalised(std::string_view sequence, bool unknown, const std::string& where) {
  if (sequence.empty()) throw BadInput(where + "the sequence is empty; it needs at least one base");
  std::string bases(sequence);
  for (std::size_t k = 0; k < bases.size(); ++k) {
    char& base = bases[k];
    base = static_cast<char>(std::toupper(static_cast<unsigned char>(base)));
    if (base == 'T') base = 'U';
    const std::size_t code = kBases.find(base);
    if (code < kUnknown || (code == kUnknown && unknown)) continue;
    throw BadInput(fmt::format(
        "{}position {}: {:?} is {}", where, k + 1, sequence[k],
        code == kUnknown
            ? "any base; accept it as one that pairs with nothing (option unknown), or say which it is"
        : kAmbiguities.find(base) != kAmbiguities.npos
            ? "an IUPAC ambiguity code; say which of A, C, G and U it is"
            : "no nucleotide; they are A, C, G and U (or T)"));
  }
  return bases;
}

void check(const BasePairOptions& options) {
  if (options.minimum_loop < 0)
    throw BadInput(fmt::format("the minimum loop is {} bases; it is 0 or more", options.minimum_loop));
  for (const auto& [score, pair] : {std::pair(options.gc, "GC"), {options.au, "AU"}, {options.gu, "GU"}})
    if (score < 0)
      throw BadInput(fmt::format("a {} pair counts {}; it counts 0 (may not form) or more", pair, score));
}

Problem<std::int32_t> problem_of(const std::string& sequence, const BasePairOptions& options) {
  Problem<std::int32_t> problem;
  problem.optimum = Optimum::maximum;
  problem.leaves.assign(sequence.size(), 0);
  Pairing<std::int32_t> pairing;
  pairing.codes.reserve(sequence.size());
  for (const char base : sequence) pairing.codes.push_back(static_cast<std::uint8_t>(kBases.find(base)));
  pairing.letters = static_cast<std::int64_t>(kBases.size());
  pairing.scores.assign(kBases.size() * kBases.size(), -kUnreachable<std::int32_t>);
  const auto may_pair = [&](char a, char b, std::int32_t score) {
    if (score == 0) return;
    const std::size_t code_a = kBases.find(a), code_b = kBases.find(b);
    pairing.scores[code_a * kBases.size() + code_b] = score;
    pairing.scores[code_b * kBases.size() + code_a] = score;
  };
  may_pair('G', 'C', options.gc);
  may_pair('A', 'U', options.au);
  may_pair('G', 'U', options.gu);
  // A loop longer than the sequence leaves no pair, whatever its length.
  const auto length = static_cast<std::int64_t>(sequence.size());
  pairing.minimum_span = std::min(options.minimum_loop, length) + 2;
  problem.pairing = std::move(pairing);

  const std::int64_t best_pair = std::max({options.gc, options.au, options.gu, 1});
  const std::int64_t bound = best_pair * std::max<std::int64_t>(length / 2, 1);
  if (bound > kLargest<std::int32_t>)
    throw BadInput(fmt::format(
        "the score may reach {}, with pairs of {} and {} bases; it may reach {}; let pairs count less", bound,
        best_pair, length, kLargest<std::int32_t>));
  problem.bound = static_cast<std::int32_t>(bound);
  return problem;
}

BasePairs structure_of(std::string sequence, const Solution<std::int32_t>& solution) {
  BasePairs structure{.sequence = std::move(sequence),
                      .partner = {},
                      .pairs = 0,
                      .score = solution.optimum(),
                      .report = solution.report()};
  structure.partner.assign(structure.sequence.size(), -1);
  for (const Split& split : solution.trace()) {
    if (!split.pair()) continue;
    structure.partner[static_cast<std::size_t>(split.i)] = split.j - 1;
    structure.partner[static_cast<std::size_t>(split.j - 1)] = split.i;
    ++structure.pairs;
  }
  return structure;
}

std::vector<BasePairs> fold(std::vector<std::string> sequences, const BasePairOptions& options) {
  const RunScope scope(options.solve.run);
  // A batch is the persistent kernel's on a GPU.
  const bool together = options.solve.decomposition == Decomposition::best ||
                        options.solve.decomposition == Decomposition::persistent;
  std::vector<BasePairs> structures;
  while (structures.size() < sequences.size()) {
    check_interrupt();
    std::vector<Problem<std::int32_t>> batch;
    std::uint64_t bytes = 0;
    for (std::size_t k = structures.size(); k < sequences.size(); ++k) {
      const bool is_short = together && static_cast<std::int64_t>(sequences[k].size()) <= kLargestTogether;
      if (!batch.empty() && !is_short) break;
      Problem<std::int32_t> problem = problem_of(sequences[k], options);
      bytes += bytes_needed(problem, options.solve.storage);
      if (!batch.empty() && bytes > kMemoryTogether) break;
      batch.push_back(std::move(problem));
      if (!is_short) break;
    }
    for (const Solution<std::int32_t>& solution : solve_batch<std::int32_t>(batch, options.solve))
      structures.push_back(structure_of(std::move(sequences[structures.size()]), solution));
  }
  return structures;
}

}  // namespace

BasePairs base_pairs(std::string_view sequence, const BasePairOptions& options) {
  check(options);
  return std::move(fold({normalised(sequence, options.unknown, "")}, options).front());
}

std::vector<BasePairs> base_pairs(std::span<const std::string> sequences, const BasePairOptions& options) {
  check(options);
  std::vector<std::string> bases;
  for (const std::string& sequence : sequences)
    bases.push_back(normalised(sequence, options.unknown, fmt::format("sequence {}, ", bases.size() + 1)));
  return fold(std::move(bases), options);
}

Report report_of(std::span<const BasePairs> structures, double seconds) {
  if (structures.empty()) throw BadInput("the report of no structures");
  Report total = structures.front().report;
  if (structures.size() == 1) return total;
  total.pairs = 0;
  for (const BasePairs& structure : structures) {
    total.pairs += structure.report.pairs;
    total.bytes = std::max(total.bytes, structure.report.bytes);
  }
  total.seconds = seconds;
  total.rectangular_seconds = total.triangular_seconds = total.transfer_seconds = 0;
  total.calls = {};
  total.launches = 0;
  return total;
}

void check(const BasePairs& structure) {
  const std::int64_t length = std::ssize(structure.sequence);
  if (length == 0 || std::ssize(structure.partner) != length)
    throw BadInput(
        fmt::format("a structure of {} bases names the partners of {}", length, structure.partner.size()));
  for (const std::int64_t partner : structure.partner)
    if (partner < -1 || partner >= length)
      throw BadInput(fmt::format("a base is paired with base {}; they are 0 to {}, and -1 for none", partner,
                                 length - 1));
  if (structure.score < 0)
    throw BadInput(fmt::format("the score of a structure is {}; it is 0 or more", structure.score));
}

std::string dot_bracket(const BasePairs& structure) {
  std::string text;
  for (const std::int64_t partner : structure.partner)
    text += partner < 0 ? '.' : partner > static_cast<std::int64_t>(text.size()) ? '(' : ')';
  return text;
}

std::string connectivity_table(const BasePairs& structure, std::string_view title) {
  check(structure);
  const std::size_t length = structure.sequence.size();
  std::string text = fmt::format("{} ENERGY = {} {}\n", length, -structure.score, title);
  for (std::size_t k = 0; k < length; ++k)
    fmt::format_to(std::back_inserter(text), "{} {} {} {} {} {}\n", k + 1, structure.sequence[k], k,
                   k + 1 < length ? k + 2 : 0, structure.partner[k] + 1, k + 1);
  return text;
}

}  // namespace warploom::dp
