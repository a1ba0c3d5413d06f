#include "warploom/registration/overlap.hpp"

#include <fmt/format.h>

#include <cmath>
#include <map>

#include "warploom/core/error.hpp"

namespace warploom::registration {

std::vector<LabelOverlap> label_overlap(const imaging::Image& first, const imaging::Image& second) {
  first.check();
  second.check();
  const imaging::Grid &a = first.grid, &b = second.grid;
  if (first.channels != 1 || second.channels != 1)
    throw BadInput(
        fmt::format("maps of labels have one channel, not {} and {}", first.channels, second.channels));
  if (a.nx != b.nx || a.ny != b.ny || a.nz != b.nz)
    throw BadInput(
        fmt::format("maps of labels to compare have one size, not {} x {} x {} and {} x {} x {} voxels", a.nx,
                    a.ny, a.nz, b.nx, b.ny, b.nz));
  std::map<float, LabelOverlap> found;
  LabelOverlap none, *last = &none;  // neighbours mostly have the label before
  const auto of = [&](float label) -> LabelOverlap& {
    if (label == 0 || !std::isfinite(label)) return none;
    if (last == &none || last->label != label)
      last = &found.try_emplace(label, LabelOverlap{label}).first->second;
    return *last;
  };
  for (std::size_t i = 0; i < first.data.size(); ++i) {
    const float one = first.data[i], other = second.data[i];
    LabelOverlap& overlap = of(one);
    ++overlap.first;
    if (one == other)
      ++overlap.second, ++overlap.both;
    else
      ++of(other).second;
  }
  std::vector<LabelOverlap> out;
  for (const auto& [label, overlap] : found) out.push_back(overlap);
  return out;
}

double mean_dice(const std::vector<LabelOverlap>& overlaps) {
  double sum = 0;
  for (const LabelOverlap& overlap : overlaps) sum += overlap.dice();
  return overlaps.empty() ? 0 : sum / static_cast<double>(overlaps.size());
}

}  // namespace warploom::registration
