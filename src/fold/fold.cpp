#include "warploom/fold/fold.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <optional>

#include "core/built_with_cuda.hpp"
#include "fold/fill.hpp"
#include "fold/gpu_choice.hpp"
#include "fold/gpu_fold.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/log.hpp"
#include "warploom/core/memory.hpp"
#include "warploom/core/threads.hpp"

namespace warploom::fold {
namespace {

/// Sequences up to this length are folded by one thread each where there are several.
constexpr std::int64_t kShort = 2'000;
constexpr std::uint64_t kSmall = 16'000'000;

void check_forced(const Marks& marks, std::string_view structure, const Extras& extras) {
  for (std::size_t k = 1; k < marks.forced.size() - 1; ++k)
    if (marks.forced[k] && structure[k - 1] == '.')
      throw BadInput(fmt::format(
          "no structure {}pairs all bases that the constraint names: base {} is unpaired in the best",
          static_cast<double>(extras.penalty()) > 1000. * static_cast<double>(structure.size())
              ? ""
              : "was found that ",
          k));
}

Folding fold_one(std::string_view sequence, std::string_view constraint, const LoopTables& tables) {
  const Loops& loops = tables.loops();
  const Bases s = bases_of(sequence, loops);
  const Marks marks = marks_of(s, constraint, loops);
  const Extras extras(s, loops, marks.forced);
  check_range(s.size(), loops);
  try {
    // What is free takes a tenth of a millisecond to find out, as long as a hundred bases to fold.
    if (const std::uint64_t bytes = bytes_to_fold(s.size()); bytes > kSmall)
      require_memory(bytes, fmt::format("folding {} bases", s.size()));
    const Matrices matrices = fill(s, tables, marks, extras);
    const std::optional<Circle> circle =
        loops.circular() ? std::optional(close_circle(s, loops, matrices)) : std::nullopt;
    const std::int32_t energy = circle ? circle->energy : matrices.f.back();
    Folding folding{trace(s, loops, matrices, extras, circle ? &*circle : nullptr), energy + extras.offset()};
    if (!marks.forced.empty()) check_forced(marks, folding.structure, extras);
    const std::int32_t check = evaluate(s, folding.structure, loops).energy;
    if (check != folding.energy)
      throw Internal(
          fmt::format("a sequence of {} bases folds with {} but its structure has {} [0.01 kcal/mol]",
                      s.size(), folding.energy, check));
    return folding;
  } catch (const std::bad_alloc&) {
    throw OutOfMemory(fmt::format("folding {} bases takes {} bytes, which there are not", s.size(),
                                  bytes_to_fold(s.size())));
  }
}

#ifdef WARPLOOM_HAVE_CUDA
/// Nothing where none was named and its memory does not hold the batch.
std::vector<Folding> fold_on_gpu(std::span<const std::string> sequences, const LoopTables& tables,
                                 const Run& run, std::span<const std::string> constraints) {
  try {
    return gpu::fold_on_gpu(sequences, tables, true, nullptr, constraints);
  } catch (const OutOfMemory& error) {
    if (names_gpu(run)) throw;
    log(LogLevel::warning, fmt::format("the CPU folds: {}", error.what()));
    return {};
  }
}
#endif

}  // namespace

std::uint64_t bytes_to_fold(std::int64_t n) {
  constexpr std::uint64_t kBesides = 800;  // a base: what strips hand down
  if (n > kMostBases) throw BadInput(fmt::format("{} bases; at most {} are folded", n, kMostBases));
  if (n <= 0) return 0;
  return 2 * sizeof(std::int32_t) * Triangle::cells(n) + kBesides * static_cast<std::uint64_t>(n);
}

Folding fold(std::string_view sequence, const Model& model, const Run& run, std::string_view constraint) {
  const std::string one[] = {std::string(sequence)}, constraints[] = {std::string(constraint)};
  const DeviceScope scope(run, "folding", takes_gpu(run, model, cells_of(one)) && kBuiltWithCuda);
  const Loops loops(model);
  const LoopTables tables(loops);
#ifdef WARPLOOM_HAVE_CUDA
  if (scope.device().is_gpu()) {
    check_range(std::ssize(one[0]), loops);
    const std::span<const std::string> none;
    auto foldings = fold_on_gpu(one, tables, run, constraint.empty() ? none : constraints);
    if (!foldings.empty()) return foldings.front();
  }
#endif
  return fold_one(sequence, constraint, tables);
}

void check_sequence(std::string_view sequence, std::string_view constraint, const Model& model) {
  const PseudoEnergies& pseudo = model.pseudo;
  if (constraint.empty() && pseudo.stack.empty() && pseudo.unpaired.empty() && pseudo.paired.empty()) {
    bases_of(sequence);
    return;
  }
  const Loops loops(model);
  marks_of(bases_of(sequence, loops), constraint, loops);
}

std::vector<Folding> fold(std::span<const std::string> sequences, const Model& model, const Run& run,
                          std::span<const std::string> constraints) {
  if (!constraints.empty() && constraints.size() != sequences.size())
    throw BadInput(fmt::format("{} constraints of {} sequences", constraints.size(), sequences.size()));
  const DeviceScope scope(run, "folding", takes_gpu(run, model, cells_of(sequences)) && kBuiltWithCuda);
  const Loops loops(model);
  const LoopTables tables(loops);
#ifdef WARPLOOM_HAVE_CUDA
  if (scope.device().is_gpu()) {
    for (const std::string& sequence : sequences) check_range(std::ssize(sequence), loops);
    auto foldings = fold_on_gpu(sequences, tables, run, constraints);
    if (!foldings.empty()) return foldings;
  }
#endif
  std::vector<Folding> all(sequences.size());
  const auto one = [&](std::size_t k) {
    try {
      all[k] = fold_one(sequences[k], constraints.empty() ? std::string_view() : constraints[k], tables);
    } catch (const BadInput& error) {
      throw BadInput(fmt::format("sequence {}: {}", k + 1, error.what()));
    }
  };
  std::vector<std::size_t> together;
  for (std::size_t k = 0; k < sequences.size(); ++k)
    if (static_cast<std::int64_t>(sequences[k].size()) <= kShort) together.push_back(k);
  if (!together.empty())
    parallel_for(static_cast<std::int64_t>(together.size()),
                 [&](std::int64_t k) { one(together[static_cast<std::size_t>(k)]); });
  for (std::size_t k = 0; k < sequences.size(); ++k)
    if (static_cast<std::int64_t>(sequences[k].size()) > kShort) one(k);
  return all;
}

}  // namespace warploom::fold
