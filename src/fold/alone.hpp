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

/// On the CPU. @param structure  false: the energy alone; whether it fulfils the constraint is not known then
/// @throws as fold()
Folding fold_one(std::string_view sequence, std::string_view constraint, const LoopTables& tables,
                 bool structure);
std::vector<Folding> fold_each(std::span<const std::string> sequences,
                               std::span<const std::string> constraints, const LoopTables& tables,
                               bool structures);

/// Whether a GPU is asked for by name; without a name the CPU folds.
/// @throws BadInput: what a GPU does not do
bool wants_gpu(const Run& run, const Model& model, std::span<const std::string> constraints);

/// The device that a call folds on, as long as it lives.
class FoldingDevice {
 public:
  /// @throws as wants_gpu(), NoDevice
  FoldingDevice(const Run& run, const Model& model);
  bool is_gpu() const { return scope_.device().is_gpu(); }
  /// Without constraints. @param structures  false: energies alone
  std::vector<Folding> fold(std::span<const std::string> sequences, const LoopTables& tables,
                            bool structures) const;

 private:
  DeviceScope scope_;
};

}  // namespace warploom::fold
