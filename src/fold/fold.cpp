#include "warploom/fold/fold.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>

#include "fold/fill.hpp"
#include "fold/gpu_fold.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/memory.hpp"
#include "warploom/core/threads.hpp"

namespace warploom::fold {
namespace {

#ifdef WARPLOOM_HAVE_CUDA
constexpr bool kBuiltWithCuda = true;
#else
constexpr bool kBuiltWithCuda = false;
#endif

/// Whether a GPU is asked for by name; without a name the CPU folds.
/// @throws BadInput: what a GPU does not do
bool wants_gpu(const Run& run, std::span<const std::string> constraints) {
  const std::vector<Device>& devices = run.devices.empty() ? current_run().devices : run.devices;
  if (devices.empty() || !devices.front().is_gpu()) return false;
  if (kBuiltWithCuda && !std::ranges::all_of(constraints, &std::string::empty))
    throw BadInput("constraints are not there on a GPU: use the CPU (`device` cpu)");
  return true;
}

/// Sequences up to this length are folded by one thread each where there are several.
constexpr std::int64_t kShort = 2'000;
constexpr std::uint64_t kSmall = 16'000'000;

/// @throws BadInput: energies that 32 bits may not hold
void check_range(std::int64_t n, const Loops& loops) {
  // A loop adds up to three numbers besides its base pair's; there are n / 2 loops at most.
  const double least = 2. * static_cast<double>(n) * loops.least();
  if (-least > kNone / 2)
    throw BadInput(fmt::format("{} bases with energies down to {} kcal/mol a loop are more than 32 bits hold",
                               n, loops.least() / 100.));
}

Folding fold_one(std::string_view sequence, std::string_view constraint, const LoopTables& tables) {
  const Bases s = bases_of(sequence);
  const Marks marks = marks_of(s, constraint, tables.loops());
  check_range(s.size(), tables.loops());
  try {
    // What is free takes a tenth of a millisecond to find out, as long as a hundred bases to fold.
    if (const std::uint64_t bytes = bytes_to_fold(s.size()); bytes > kSmall)
      require_memory(bytes, fmt::format("folding {} bases", s.size()));
    const Matrices matrices = fill(s, tables, marks);
    Folding folding{trace(s, tables.loops(), matrices), matrices.f.back()};
    const std::int32_t check = evaluate(s, folding.structure, tables.loops()).energy;
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

}  // namespace

std::uint64_t bytes_to_fold(std::int64_t n) {
  constexpr std::uint64_t kBesides = 800;  // a base: what strips hand down
  if (n > kMostBases) throw BadInput(fmt::format("{} bases; at most {} are folded", n, kMostBases));
  if (n <= 0) return 0;
  return 2 * sizeof(std::int32_t) * Triangle::cells(n) + kBesides * static_cast<std::uint64_t>(n);
}

Folding fold(std::string_view sequence, const Model& model, const Run& run, std::string_view constraint) {
  const std::string constraints[] = {std::string(constraint)};
  const DeviceScope scope(run, "folding", wants_gpu(run, constraints) && kBuiltWithCuda);
  const Loops loops(model);
  const LoopTables tables(loops);
#ifdef WARPLOOM_HAVE_CUDA
  if (scope.device().is_gpu()) {
    const std::string one[] = {std::string(sequence)};
    check_range(std::ssize(one[0]), loops);
    return gpu::fold_on_gpu(one, tables).front();
  }
#endif
  return fold_one(sequence, constraint, tables);
}

void check_sequence(std::string_view sequence, std::string_view constraint, const Model& model) {
  const Bases s = bases_of(sequence);
  if (!constraint.empty()) marks_of(s, constraint, Loops(model));
}

std::vector<Folding> fold(std::span<const std::string> sequences, const Model& model, const Run& run,
                          std::span<const std::string> constraints) {
  if (!constraints.empty() && constraints.size() != sequences.size())
    throw BadInput(fmt::format("{} constraints of {} sequences", constraints.size(), sequences.size()));
  const DeviceScope scope(run, "folding", wants_gpu(run, constraints) && kBuiltWithCuda);
  const Loops loops(model);
  const LoopTables tables(loops);
#ifdef WARPLOOM_HAVE_CUDA
  if (scope.device().is_gpu()) {
    for (const std::string& sequence : sequences) check_range(std::ssize(sequence), loops);
    return gpu::fold_on_gpu(sequences, tables);
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
