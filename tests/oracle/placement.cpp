#include "oracle/placement.hpp"

#include <algorithm>
#include <bit>
#include <optional>

namespace warploom::oracle {
namespace {

using reuse::PlacementProblem;
using Matrix = std::vector<std::vector<bool>>;

std::uint64_t next_multiple(std::uint64_t value, std::uint64_t of) { return (value + of - 1) / of * of; }

Matrix interference(const PlacementProblem& problem) {
  Matrix interferes(problem.objects.size(), std::vector<bool>(problem.objects.size(), false));
  for (const auto& [a, b] : problem.edges) interferes[a][b] = interferes[b][a] = true;
  return interferes;
}

std::uint64_t try_orders(const PlacementProblem& problem, const Matrix& interferes,
                         std::vector<std::optional<std::uint64_t>>& ends, std::uint64_t top) {
  std::uint64_t best = ~std::uint64_t{0};
  bool all_placed = true;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    if (ends[i]) continue;
    all_placed = false;
    std::uint64_t offset = 0;
    for (std::size_t j = 0; j < ends.size(); ++j)
      if (ends[j] && interferes[i][j])
        offset = std::max(offset, next_multiple(*ends[j], problem.objects[i].alignment));
    ends[i] = offset + problem.objects[i].bytes;
    best = std::min(best, try_orders(problem, interferes, ends, std::max(top, *ends[i])));
    ends[i].reset();
  }
  return all_placed ? top : best;
}

/// Bytes of the heaviest set of objects that all interfere with each other, of all 2^n sets.
std::uint64_t heaviest_clique(const PlacementProblem& problem, const Matrix& interferes) {
  const std::size_t n = problem.objects.size();
  std::uint64_t heaviest = 0;
  std::vector<std::uint64_t> weight(std::size_t{1} << n, 0);  // 0: not a clique
  for (std::size_t set = 1; set < weight.size(); ++set) {
    const auto lowest = static_cast<std::size_t>(std::countr_zero(set));
    const std::size_t rest = set & (set - 1);
    bool clique = rest == 0 || weight[rest] != 0;
    for (std::size_t i = lowest + 1; i < n && clique; ++i)
      clique = (rest >> i & 1) == 0 || interferes[lowest][i];
    if (clique) weight[set] = weight[rest] + problem.objects[lowest].bytes;
    heaviest = std::max(heaviest, weight[set]);
  }
  return heaviest;
}

struct Orientations {
  const PlacementProblem& problem;
  Matrix interferes;
  std::uint64_t best;
  std::uint64_t enough;  // nothing below is possible

  std::size_t count() const { return problem.objects.size(); }
  std::uint64_t bytes(std::size_t i) const { return problem.objects[i].bytes; }

  /// below[i][j]: i is oriented to lie below j. Returns through `best`.
  void search(Matrix below) {
    if (best == enough) return;
    // Longest paths up (offsets, exact) and down (bytes that must fit above an object's end, at least).
    std::vector<std::uint64_t> offset(count(), 0), above(count(), 0);
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t i = 0; i < count(); ++i)
        for (std::size_t j = 0; j < count(); ++j) {
          if (!below[i][j]) continue;
          const std::uint64_t up = next_multiple(offset[i] + bytes(i), problem.objects[j].alignment);
          const std::uint64_t down = above[j] + bytes(j);
          if (up > offset[j]) offset[j] = up, changed = true;
          if (down > above[i]) above[i] = down, changed = true;
          if (offset[j] + bytes(j) + above[j] >= best) return;  // also ends a cycle
        }
      // A pair of which only one order stays under `best` is oriented so.
      for (std::size_t i = 0; i < count(); ++i)
        for (std::size_t j = 0; j < count(); ++j) {
          if (i == j || !interferes[i][j] || below[i][j] || below[j][i]) continue;
          if (offset[i] + bytes(i) + bytes(j) + above[j] >= best) below[j][i] = true, changed = true;
        }
    }
    std::size_t lower = count(), upper = count();
    std::uint64_t most_shared = 0, top = 0;
    for (std::size_t i = 0; i < count(); ++i) {
      top = std::max(top, offset[i] + bytes(i));
      for (std::size_t j = i + 1; j < count(); ++j) {
        if (!interferes[i][j]) continue;
        const std::uint64_t begin = std::max(offset[i], offset[j]);
        const std::uint64_t end = std::min(offset[i] + bytes(i), offset[j] + bytes(j));
        if (begin < end && end - begin > most_shared) most_shared = end - begin, lower = i, upper = j;
      }
    }
    if (most_shared == 0) {
      best = std::min(best, top);
      return;
    }
    Matrix one = below;
    one[lower][upper] = true;
    search(std::move(one));
    below[upper][lower] = true;
    search(std::move(below));
  }
};

PlacementProblem random_objects(std::mt19937_64& random, std::uint32_t objects, Sizes sizes) {
  PlacementProblem problem;
  for (std::uint32_t i = 0; i < objects; ++i) {
    const std::uint64_t power = std::uint64_t{1} << random() % 5, words = 4 * (1 + random() % 64);
    switch (sizes) {
      case Sizes::bytes:
        problem.objects.push_back({1 + random() % 100, power});
        break;
      case Sizes::words:
        problem.objects.push_back({words, 4});
        break;
      case Sizes::arrays:
        problem.objects.push_back({words / 4 * power, power});
        break;
      case Sizes::padded:
        problem.objects.push_back({words, random() % 4 == 0 ? 32u : 16u});
        break;
    }
  }
  return problem;
}

}  // namespace

std::uint64_t fewest_bytes_by_orders(const PlacementProblem& problem) {
  std::vector<std::optional<std::uint64_t>> ends(problem.objects.size());
  return try_orders(problem, interference(problem), ends, 0);
}

std::uint64_t fewest_bytes_by_orientations(const PlacementProblem& problem) {
  // Objects that no path of edges joins do not matter to each other.
  std::vector<std::size_t> component(problem.objects.size());
  for (std::size_t i = 0; i < component.size(); ++i) component[i] = i;
  for (const auto& [a, b] : problem.edges) {
    const std::size_t from = component[a], to = component[b];
    std::replace(component.begin(), component.end(), from, to);
  }
  std::uint64_t most = 0;
  for (std::size_t c = 0; c < component.size(); ++c) {
    PlacementProblem part;
    std::vector<std::uint32_t> index(component.size());
    for (std::size_t i = 0; i < component.size(); ++i) {
      if (component[i] != c) continue;
      index[i] = static_cast<std::uint32_t>(part.objects.size());
      part.objects.push_back(problem.objects[i]);
    }
    for (const auto& [a, b] : problem.edges)
      if (component[a] == c) part.edges.emplace_back(index[a], index[b]);
    std::uint64_t more_than_all = 1;
    for (const auto& object : part.objects) more_than_all += object.bytes + object.alignment - 1;
    const Matrix interferes = interference(part);
    Orientations orientations{part, interferes, more_than_all, heaviest_clique(part, interferes)};
    orientations.search(Matrix(part.objects.size(), std::vector<bool>(part.objects.size(), false)));
    if (!part.objects.empty()) most = std::max(most, orientations.best);
  }
  return most;
}

std::string fault(const PlacementProblem& problem, const reuse::Placement& placement) {
  if (placement.offsets.size() != problem.objects.size()) return "not one offset an object";
  std::uint64_t top = 0;
  for (std::size_t i = 0; i < problem.objects.size(); ++i) {
    if (placement.offsets[i] % problem.objects[i].alignment != 0)
      return "object " + std::to_string(i) + " is not aligned";
    top = std::max(top, placement.offsets[i] + problem.objects[i].bytes);
  }
  for (const auto& [a, b] : problem.edges)
    if (placement.offsets[a] < placement.offsets[b] + problem.objects[b].bytes &&
        placement.offsets[b] < placement.offsets[a] + problem.objects[a].bytes)
      return "objects " + std::to_string(a) + " and " + std::to_string(b) + " overlap";
  if (placement.bytes != top) return "the total is not the highest end";
  if (placement.lower_bound > placement.bytes) return "the lower bound is above the total";
  return "";
}

PlacementProblem random_graph(std::mt19937_64& random, std::uint32_t objects, unsigned percent, Sizes sizes) {
  PlacementProblem problem = random_objects(random, objects, sizes);
  for (std::uint32_t i = 0; i < objects; ++i)
    for (std::uint32_t j = i + 1; j < objects; ++j)
      if (random() % 100 < percent) problem.edges.emplace_back(i, j);
  return problem;
}

PlacementProblem random_intervals(std::mt19937_64& random, std::uint32_t objects, Sizes sizes) {
  PlacementProblem problem = random_objects(random, objects, sizes);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> lives;
  for (std::uint32_t i = 0; i < objects; ++i) {
    const std::uint64_t birth = random() % (2 * objects);
    lives.emplace_back(birth, birth + random() % objects);
  }
  for (std::uint32_t i = 0; i < objects; ++i)
    for (std::uint32_t j = i + 1; j < objects; ++j)
      if (lives[i].first <= lives[j].second && lives[j].first <= lives[i].second)
        problem.edges.emplace_back(i, j);
  return problem;
}

PlacementProblem random_disconnected(std::mt19937_64& random, std::uint32_t objects, unsigned percent,
                                     Sizes sizes) {
  const std::uint32_t half = objects / 2;
  PlacementProblem problem = random_graph(random, half, percent, sizes);
  const PlacementProblem other = random_graph(random, objects - half, percent, sizes);
  problem.objects.insert(problem.objects.end(), other.objects.begin(), other.objects.end());
  for (const auto& [a, b] : other.edges) problem.edges.emplace_back(half + b, half + a);
  return problem;
}

}  // namespace warploom::oracle
