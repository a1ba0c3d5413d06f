#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fold/fill.hpp"
#include "warploom/core/run.hpp"

/// Sequences that are folded each by itself.
namespace warploom::fold {

/// Sequences up to this length are folded by one thread each where there are several.
inline constexpr std::int64_t kShort = 2'000;

/// What the matrices say. @param structure  false: the energy alone
/// @throws BadInput: the constraint cannot be fulfilled; Internal
Folding read_off(const Bases& s, const Loops& loops, const Matrices& matrices, const Marks& marks,
                 const Extras& extras, bool structure);
/// On the CPU. @param structure  false: the energy alone; whether it fulfils the constraint is not known then
/// @throws as fold()
Folding fold_one(std::string_view sequence, std::string_view constraint, const LoopTables& tables,
                 bool structure);
std::vector<Folding> fold_each(std::span<const std::string> sequences,
                               std::span<const std::string> constraints, const LoopTables& tables,
                               bool structures);

/// The device that a call folds on, as long as it lives.
class FoldingDevice {
 public:
  /// @param cells  as takes_gpu() has them
  /// @throws as takes_gpu(), NoDevice
  FoldingDevice(const Run& run, const Model& model, double cells);
  Device device() const { return scope_.device(); }
  bool is_gpu() const { return device().is_gpu(); }
  /// What a GPU that was not named has no memory for the CPU folds.
  /// @param constraints  none, or one of each
  /// @param structures  false: energies alone
  std::vector<Folding> fold(std::span<const std::string> sequences, std::span<const std::string> constraints,
                            const LoopTables& tables, bool structures) const;

 private:
  bool named_;
  DeviceScope scope_;
};

}  // namespace warploom::fold
