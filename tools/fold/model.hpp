#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/verb.hpp"
#include "warploom/fold/fold.hpp"

namespace warploom::tool {

/// What `fold` and its verbs share: the energy model.
struct ModelSettings {
  // Not a fold::Model, which would read its energies whenever the tool starts.
  double temperature = 37;
  int dangles = 2;
  bool circular = false, quadruplexes = false;
  std::int64_t max_span = 0;
  std::string parameters;
  bool no_gu = false, no_gu_closing = false, no_lonely_pairs = false;
  std::string reactivities, method = "D", conversion = "O";
};

void add_model_options(Command& command, ModelSettings& settings);
/// Which pairs form, of verbs that fold.
void add_pair_options(Command& command, ModelSettings& settings);
/// With the file of parameters read. @throws as read_parameters()
fold::Model model_of(const ModelSettings& settings);
/// Those of a sequence of n bases; none where no file is given. @throws as fold::parse_reactivities(),
/// BadInput: another method
std::vector<double> reactivities_of(const ModelSettings& settings, std::int64_t n);
/// What they are as energies. @throws BadInput: another method, conversion
fold::PseudoEnergies pseudo_of(const ModelSettings& settings, std::span<const double> reactivities);
Json model_json(const ModelSettings& settings);
Json folding_model_json(const ModelSettings& settings);  ///< also add_pair_options()

struct SuboptimalSettings {
  double delta = -1;  ///< [kcal/mol]; negative: not asked for
  bool sorted = false;
  std::int64_t most = 1'000'000;
};
void add_suboptimal_options(Command& command, SuboptimalSettings& settings);
/// Structures of one sequence within delta of the least energy; `take` gets each, in order where they are
/// sorted.
/// @return whether these are all; no more than settings.most are taken
bool suboptimal_structures(const SuboptimalSettings& settings, std::string_view sequence,
                           const fold::Model& model, std::string_view constraint,
                           const std::function<void(const fold::Folding&)>& take);

Verb fold_eval();
Verb fold_windows();
Verb fold_unpaired();
Verb fold_mutants();

}  // namespace warploom::tool
