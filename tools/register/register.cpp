#include <array>

#include "apply.hpp"
#include "cli/verb.hpp"

namespace warploom::tool {
namespace {

std::function<int()> add(Command& command) {
  return command.add_verbs("command", std::array{register_apply()});
}

}  // namespace

Verb register_verb() {
  return {
      "register", "Bring images, labels, tensors and points from one image's space into another's",
      "warploom register apply moving.nii.gz --reference fixed.nii.gz -t warp.nii.gz -t affine.mat -o warped.nii.gz\n"
      "Exit codes: 0 done, 2 bad usage or input, 130 Ctrl-C.",
      &add};
}

}  // namespace warploom::tool
