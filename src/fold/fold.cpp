#include "warploom/fold/fold.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <optional>

#include "fold/alone.hpp"
#include "fold/gpu_choice.hpp"
#include "fold/pieces.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/memory.hpp"
#include "warploom/core/threads.hpp"

namespace warploom::fold {
namespace {

constexpr std::uint64_t kSmall = 16'000'000;

/// @throws Internal: loop by loop the structure has another energy, a fault of ours
void sum_again(const Bases& s, const Loops& loops, const Folding& folding) {
  const std::int32_t check = evaluate(s, folding.structure, loops).energy;
  if (check != folding.energy)
    throw Internal(
        fmt::format("a sequence of {} bases folds with {} but its structure has {} [0.01 kcal/mol]", s.size(),
                    folding.energy, check));
}

}  // namespace

Folding read_off(const Bases& s, const Loops& loops, const Matrices& matrices, const Marks& marks,
                 const Extras& extras, bool structure) {
  const std::optional<Circle> circle =
      loops.circular() ? std::optional(close_circle(s, loops, matrices)) : std::nullopt;
  const std::int32_t energy = circle ? circle->energy : matrices.f.back();
  if (!structure) return {"", energy + extras.offset()};
  Folding folding{trace(s, loops, matrices, extras, circle ? &*circle : nullptr), energy + extras.offset()};
  if (!marks.forced.empty()) check_forced(marks, folding.structure, extras);
  sum_again(s, loops, folding);
  return folding;
}

Folding fold_one(std::string_view sequence, std::string_view constraint, const LoopTables& tables,
                 bool structure) {
  const Loops& loops = tables.loops();
  const Bases s = bases_of(sequence, loops);
  const Marks marks = marks_of(s, constraint, loops);
  const Extras extras(s, loops, marks.forced);
  check_range(s.size(), loops);
  try {
    // What is free takes a tenth of a millisecond to find out, as long as a hundred bases to fold.
    const std::int64_t span = span_for_pieces(s, loops, marks, extras);
    if (const std::uint64_t bytes = bytes_to_fold(s.size(), span); bytes > kSmall)
      require_memory(bytes, fmt::format("folding {} bases", s.size()));
    if (span > 0) {
      const Folding folding = fold_in_pieces(s, tables, marks, span, structure);
      if (structure) sum_again(s, loops, folding);
      return folding;
    }
    return read_off(s, loops, fill(s, tables, marks, extras), marks, extras, structure);
  } catch (const std::bad_alloc&) {
    throw OutOfMemory(fmt::format("folding {} bases takes {} bytes, which there are not", s.size(),
                                  bytes_to_fold(s.size())));
  }
}

std::vector<Folding> fold_each(std::span<const std::string> sequences,
                               std::span<const std::string> constraints, const LoopTables& tables,
                               bool structures) {
  std::vector<Folding> all(sequences.size());
  const auto one = [&](std::size_t k) {
    try {
      all[k] = fold_one(sequences[k], constraints.empty() ? std::string_view() : constraints[k], tables,
                        structures);
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

std::uint64_t bytes_to_fold(std::int64_t n, std::int64_t max_span) {
  constexpr std::uint64_t kBesides = 800;  // a base: what strips hand down
  if (n > kMostBases) throw BadInput(fmt::format("{} bases; at most {} are folded", n, kMostBases));
  if (n <= 0) return 0;
  if (max_span > 0 && max_span < n && takes_pieces(n, max_span))
    return bytes_to_fold(bases_of_a_piece(max_span)) +
           2 * sizeof(std::int32_t) * static_cast<std::uint64_t>(n);
  return 2 * sizeof(std::int32_t) * Triangle::cells(n) + kBesides * static_cast<std::uint64_t>(n);
}

Folding fold(std::string_view sequence, const Model& model, const Run& run, std::string_view constraint) {
  const std::string one[] = {std::string(sequence)}, constraints[] = {std::string(constraint)};
  const FoldingDevice device(run, model, cells_of(one));
  const Loops loops(model);
  const LoopTables tables(loops);
  if (device.is_gpu()) return device.fold(one, constraints, tables, true).front();
  return fold_one(sequence, constraint, tables, true);
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
  const FoldingDevice device(run, model, cells_of(sequences));
  const Loops loops(model);
  const LoopTables tables(loops);
  return device.fold(sequences, constraints, tables, true);
}

}  // namespace warploom::fold
