#include "search/bounds_choice.hpp"

#include <fmt/format.h>

namespace warploom::search {
namespace {

std::string share(std::int64_t part, std::int64_t all) {
  return fmt::format("{:.3g} %", all > 0 ? 100. * static_cast<double>(part) / static_cast<double>(all) : 0.);
}

}  // namespace

std::string BoundsChoice::text() const {
  const std::string all = "every matrix was computed, ";
  if (asked == Prune::never) return all + "as was asked for";
  if (too_little) return all + "since all of them are less work than to try lower bounds";
  std::string text = pruned > 0
                         ? fmt::format("lower bounds in {} of {} comparisons, of whose windows they left {}",
                                       pruned, pruned + refused + boundless, share(left, windows))
                         : all + "without lower bounds";
  if (refused > 0)
    text += fmt::format(
        "; none in {}, since they would cost more than they save: of samples of windows they left {}",
        refused, share(sample_left, sampled));
  if (boundless > 0)
    text += fmt::format(
        "; none in {}, where no largest distance of candidates is given, offsets are too few to find one, or memory is short",
        boundless);
  return text;
}

}  // namespace warploom::search
