#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <numeric>
#include <span>

#include "core/doors.hpp"
#include "fold/alone.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/log.hpp"
#include "warploom/core/memory.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/core/threads.hpp"
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

/// Those of one sequence, counted as in Mutants::energies.
class MutantsOf {
 public:
  MutantsOf(const std::string& wild, std::span<const std::int64_t> positions)
      : wild_(wild), positions_(positions) {}
  std::int64_t position(std::size_t k) const { return positions_[k / kTried.size()]; }
  std::string sequence(std::size_t k) const {
    std::string mutant = wild_;
    mutant[static_cast<std::size_t>(position(k) - 1)] = kTried[k % kTried.size()];
    return mutant;
  }

 private:
  const std::string& wild_;
  std::span<const std::int64_t> positions_;
};

using Take = std::function<void(std::size_t place, Folding&&)>;

/// Each by itself, as many at once as fit.
void fold_alone(const FoldingDevice& device, const LoopTables& tables, const MutantsOf& mutants,
                std::span<const std::size_t> places, bool structures, const Take& take) {
  constexpr std::size_t kMostLetters = std::size_t{1} << 28;
  const std::size_t letters = mutants.sequence(places.front()).size(),
                    batch = std::max<std::size_t>(1, kMostLetters / letters);
  for (std::size_t begin = 0; begin < places.size(); begin += batch) {
    const auto some = places.subspan(begin, std::min(batch, places.size() - begin));
    std::vector<std::string> sequences;
    for (const std::size_t place : some) sequences.push_back(mutants.sequence(place));
    std::vector<Folding> foldings = device.fold(sequences, {}, tables, structures);
    for (std::size_t k = 0; k < some.size(); ++k) take(some[k], std::move(foldings[k]));
  }
}

/// From the cells of the sequence that do not see what is changed, a mutant a thread.
void fold_from(const std::string& wild, const LoopTables& tables, const MutantsOf& mutants,
               std::span<const std::size_t> places, bool structures, const Take& take) {
  const Loops& loops = tables.loops();
  const Bases s = bases_of(wild, loops);
  const Extras extras(s, loops, {});
  const Refill refill(s, tables, extras);
  std::atomic<std::size_t> next = 0;
  parallel_for(std::min<std::int64_t>(threads(), std::ssize(places)), [&](std::int64_t) {
    Refill::Cells cells = refill.cells();
    for (std::size_t k = next++; k < places.size(); k = next++) {
      const Bases mutant = bases_of(mutants.sequence(places[k]), loops);
      const Extras own(mutant, loops, {});
      refill.with(mutant, mutants.position(places[k]), own, cells, [&](const Matrices& matrices) {
        take(places[k], read_off(mutant, loops, matrices, {}, own, structures));
      });
      check_interrupt();
    }
  });
}

/// Whether the sequence's cells serve its mutants, and there is memory for them.
bool shares_cells(std::int64_t n, const Loops& loops) {
  if (n < Refill::kShortest || loops.coaxial()) return false;
  try {
    require_memory(Refill::bytes(n) + static_cast<std::uint64_t>(threads()) * Refill::cells_bytes(n),
                   "cells of mutants");
  } catch (const OutOfMemory& error) {
    log(LogLevel::info, fmt::format("each mutant is folded by itself: {}", error.what()));
    return false;
  }
  return true;
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
  if (places.empty()) return out;
  Progress progress("folding mutants", places.size(), "mutants");
  const Take take = [&](std::size_t place, Folding&& folding) {
    out.energies[place] = folding.energy;
    if (options.structures) out.structures[place] = std::move(folding.structure);
    progress.advance(1);
  };
  const MutantsOf mutants(wild, out.positions);
  if (!device.is_gpu() && shares_cells(std::ssize(wild), loops))
    fold_from(wild, tables, mutants, places, options.structures, take);
  else
    fold_alone(device, tables, mutants, places, options.structures, take);
  return out;
}

}  // namespace warploom::fold
