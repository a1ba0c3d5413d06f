#include "fold/extras.hpp"

#include <algorithm>

namespace warploom::fold {

Extras::Extras(const Bases& s, const Loops& loops, const std::vector<bool>& forced) : loops_(loops) {
  const PseudoEnergies& pseudo = loops.pseudo();
  const auto count = static_cast<std::int32_t>(std::ranges::count(forced, true));
  if (pseudo.unpaired.empty() && pseudo.paired.empty() && count == 0) return;
  // As large as 32 bits hold for all of them; more than any structure of a million bases would need.
  constexpr std::int32_t kMost = 200'000'000, kEnough = 10'000'000;
  if (count > 0) penalty_ = std::min(kMost / count, kEnough);
  unpaired_.assign(s.codes.size(), 0);
  for (std::int64_t k = 1; k <= s.size(); ++k) {
    if (!pseudo.unpaired.empty()) unpaired_[k] += pseudo.unpaired[static_cast<std::size_t>(k - 1)];
    if (count > 0 && forced[static_cast<std::size_t>(k)]) unpaired_[k] += penalty_;
    offset_ += unpaired_[k];
  }
}

}  // namespace warploom::fold
