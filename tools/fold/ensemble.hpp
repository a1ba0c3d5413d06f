#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/verb.hpp"
#include "records.hpp"
#include "warploom/fold/ensemble.hpp"

namespace warploom::tool {

/// `fold --ensemble`.
struct EnsembleSettings {
  bool on = false;
  std::string pairs;
  double gamma = 0;  ///< 0: the most accurate structure is not asked for
  fold::EnsembleOptions options;
};

void add_ensemble_options(Command& command, EnsembleSettings& settings);
/// @throws BadInput: options that do not go together
void check_ensemble(const EnsembleSettings& settings, std::string_view format, bool json, bool suboptimal);
/// Of an ensemble dangles 1 and 3 are 2, which is said. Else it is the model.
fold::Model model_of_ensemble(const EnsembleSettings& settings, const fold::Model& model);
/// Of the structure of least energy, which may be of other dangles.
double probability_of_best(const io::SequenceRecord& record, const fold::Folding& best,
                           const fold::Model& model, const fold::Ensemble& ensemble,
                           const fold::Model& of_ensemble);
/// As RNAfold -p prints it. @param model  of the ensemble
/// @param probability  of the structure of least energy
std::string ensemble_text(const EnsembleSettings& settings, const io::SequenceRecord& record,
                          const fold::Folding& best, double probability, const fold::Ensemble& ensemble,
                          const fold::Model& model);
Json ensemble_json(const EnsembleSettings& settings, double probability, const fold::Ensemble& ensemble,
                   const fold::Model& model);
/// Name, i, j and probability of each.
std::string pairs_table(const std::vector<io::SequenceRecord>& records,
                        const std::vector<fold::Ensemble>& ensembles);

/// Of all pairs, [n, n], symmetric; those that are not listed are 0. @throws OutOfMemory
std::string pairs_npy(const fold::Ensemble& ensemble);

}  // namespace warploom::tool
