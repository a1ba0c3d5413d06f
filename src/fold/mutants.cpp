#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "core/doors.hpp"
#include "fold/alone.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/fold/scan.hpp"

namespace warploom::fold {
namespace {

constexpr std::string_view kTried = "ACGU";

/// All, or those asked for.
std::vector<std::int64_t> positions_of(const MutantOptions& options, std::int64_t n) {
  std::vector<std::int64_t> positions = options.positions;
  if (positions.empty()) {
    positions.resize(static_cast<std::size_t>(n));
    std::iota(positions.begin(), positions.end(), std::int64_t{1});
  }
  std::vector<bool> seen(static_cast<std::size_t>(n));
  for (const std::int64_t position : positions) {
    if (position < 1 || position > n)
      throw BadInput(
          fmt::format("position {} of a sequence of {} bases; they are counted from 1", position, n));
    if (seen[static_cast<std::size_t>(position - 1)])
      throw BadInput(fmt::format("position {} is there twice", position));
    seen[static_cast<std::size_t>(position - 1)] = true;
  }
  return positions;
}

}  // namespace

Mutants fold_mutants(std::string_view sequence, const MutantOptions& options, const Model& model,
                     const Run& run) {
  const auto n = static_cast<double>(sequence.size());
  const double mutated = options.positions.empty() ? n : static_cast<double>(options.positions.size());
  const FoldingDevice device(run, model, 3 * mutated * n * n / 2);
  const Loops loops(model);
  const LoopTables tables(loops);
  const std::string wild = bases_of(sequence, loops).letters;
  check_range(std::ssize(wild), loops);
  Mutants out;
  out.positions = positions_of(options, std::ssize(wild));
  out.wild_type = device.fold(std::span(&wild, 1), {}, tables, true).front();
  if (options.structures)
    require_memory_for(out.positions.size() * kTried.size(), sizeof(std::string) + wild.size(),
                       "structures of mutants");
  out.energies.assign(out.positions.size() * kTried.size(), out.wild_type.energy);
  if (options.structures) out.structures.assign(out.energies.size(), out.wild_type.structure);

  std::vector<std::size_t> places;  // of the mutants in `out`
  for (std::size_t k = 0; k < out.energies.size(); ++k)
    if (wild[static_cast<std::size_t>(out.positions[k / 4] - 1)] != kTried[k % 4]) places.push_back(k);
  Progress progress("folding mutants", places.size(), "mutants");
  // So many letters are there at once.
  constexpr std::size_t kMostLetters = std::size_t{1} << 28;
  const std::size_t batch = std::max<std::size_t>(1, kMostLetters / wild.size());
  for (std::size_t begin = 0; begin < places.size(); begin += batch) {
    const auto some = std::span(places).subspan(begin, std::min(batch, places.size() - begin));
    std::vector<std::string> sequences(some.size(), wild);
    for (std::size_t k = 0; k < some.size(); ++k)
      sequences[k][static_cast<std::size_t>(out.positions[some[k] / 4] - 1)] = kTried[some[k] % 4];
    std::vector<Folding> foldings = device.fold(sequences, {}, tables, options.structures);
    for (std::size_t k = 0; k < some.size(); ++k) {
      out.energies[some[k]] = foldings[k].energy;
      if (options.structures) out.structures[some[k]] = std::move(foldings[k].structure);
    }
    progress.advance(some.size());
  }
  return out;
}

}  // namespace warploom::fold
