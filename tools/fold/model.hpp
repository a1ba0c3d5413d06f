#pragma once

#include <string>

#include "cli/verb.hpp"
#include "warploom/fold/fold.hpp"

namespace warploom::tool {

/// What `fold` and `fold eval` share: the energy model.
struct ModelSettings {
  fold::Model model;
  std::string parameters;
  bool no_gu = false, no_gu_closing = false;
};

void add_model_options(Command& command, ModelSettings& settings);
/// With the file of parameters read. @throws as read_parameters()
fold::Model model_of(const ModelSettings& settings);
Json model_json(const ModelSettings& settings);

Verb fold_eval();

}  // namespace warploom::tool
