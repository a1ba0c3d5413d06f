#include <fmt/format.h>

#include <array>

#include "apply.hpp"
#include "cli/verb.hpp"
#include "estimate.hpp"
#include "warploom/core/error.hpp"

namespace warploom::tool {
namespace {

std::function<int()> add(Command& command) {
  const std::function<int()> estimate = add_register_estimate(command);
  const std::function<int()> run_verb = command.add_verbs("command", std::array{register_apply()});
  return [estimate, run_verb, &command] {
    if (command.chosen() == nullptr) return estimate();
    for (const Option* option : command.given())
      throw BadInput(fmt::format("{} is not an option of register apply", option->name()));
    return run_verb();
  };
}

}  // namespace

Verb register_verb() {
  return {
      "register", "Align one image to another, affinely and deformably, without folds",
      "warploom register fixed.nii.gz moving.nii.gz -o warped.nii.gz --field warp.nii.gz\n"
      "  warploom register fixed.png moving.png --method rigid -o warped.png --affine rigid.txt\n  "
      "warploom register apply moving.nii.gz --reference fixed.nii.gz -t warp.nii.gz -t affine.mat -o warped.nii.gz\n"
      "Exit codes: 0 done, 2 bad usage or input, 130 Ctrl-C.",
      &add};
}

}  // namespace warploom::tool
