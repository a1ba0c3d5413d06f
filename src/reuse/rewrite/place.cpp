#include "warploom/reuse/place.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <deque>
#include <numeric>

#include "core/doors.hpp"
#include "reuse/rewrite/place_optimal.hpp"
#include "warploom/core/error.hpp"

namespace warploom::reuse {
namespace {

using Objects = std::vector<std::uint32_t>;  // by index

void check(const PlacementProblem& problem) {
  std::uint64_t sum = 0;  // no stack of objects reaches higher
  for (std::size_t i = 0; i < problem.objects.size(); ++i) {
    const auto& [bytes, alignment] = problem.objects[i];
    if (bytes == 0)
      throw BadInput(fmt::format("placement: object {} has 0 bytes; leave empty objects out", i));
    if (!std::has_single_bit(alignment))
      throw BadInput(
          fmt::format("placement: object {} has alignment {}, which is not a power of two", i, alignment));
    if (__builtin_add_overflow(sum, bytes, &sum) || __builtin_add_overflow(sum, alignment - 1, &sum))
      throw BadInput(fmt::format(
          "placement: sizes and alignments add up to more than 2^64 - 1 bytes at object {} ({} bytes, alignment {})",
          i, bytes, alignment));
  }
  for (std::size_t e = 0; e < problem.edges.size(); ++e) {
    const auto [a, b] = problem.edges[e];
    if (std::max(a, b) >= problem.objects.size())
      throw BadInput(fmt::format("placement: edge {} joins objects {} and {}, but there are only {} objects",
                                 e, a, b, problem.objects.size()));
    if (a == b)
      throw BadInput(fmt::format(
          "placement: edge {} joins object {} to itself; an object cannot interfere with itself", e, a));
  }
}

/// Neighbours of each object, ascending, each once.
std::vector<Objects> neighbours(const PlacementProblem& problem) {
  std::vector<Objects> lists(problem.objects.size());
  for (const auto& [a, b] : problem.edges) {
    lists[a].push_back(b);
    lists[b].push_back(a);
  }
  for (Objects& list : lists) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
  return lists;
}

/// All objects, largest first; equal ones by alignment, then by index.
Objects by_descending_size(const PlacementProblem& problem) {
  Objects order(problem.objects.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    const auto &x = problem.objects[a], &y = problem.objects[b];
    return x.bytes != y.bytes ? x.bytes > y.bytes : x.alignment > y.alignment;
  });
  return order;
}

/// Algorithm 1, lines 3 to 11. What it leaves open is settled so:
///   * "all nodes b_i adjacent to nodes in B'" are taken breadth-first, neighbours by index;
///   * the colour is the first one that no coloured neighbour has;
///   * a graph that b_0 does not reach is entered again at its first object.
/// Ours: the paper has no alignments; a partition takes the largest one of its blocks, and partitions
/// follow each other in the order of their colours.
void place_paper(const PlacementProblem& problem, const std::vector<Objects>& adjacent, Placement& out) {
  const std::uint32_t uncoloured = ~0u;
  const auto n = static_cast<std::uint32_t>(problem.objects.size());
  std::vector<std::uint32_t> colour(n, uncoloured);
  std::vector<bool> queued(n, false);
  std::deque<std::uint32_t> frontier;
  const auto enqueue = [&](std::uint32_t i) {
    if (queued[i]) return;
    queued[i] = true;
    frontier.push_back(i);
  };
  for (std::uint32_t start = 0; start < n; ++start)
    for (enqueue(start); !frontier.empty(); frontier.pop_front()) {
      const std::uint32_t i = frontier.front();
      std::vector<bool> taken(out.partitions.size() + 1, false);
      for (const std::uint32_t j : adjacent[i])
        if (colour[j] != uncoloured) taken[colour[j]] = true;
      const auto free = std::find(taken.begin(), taken.end(), false);
      colour[i] = static_cast<std::uint32_t>(free - taken.begin());
      if (colour[i] == out.partitions.size()) out.partitions.emplace_back();
      out.partitions[colour[i]].push_back(i);
      for (const std::uint32_t j : adjacent[i]) enqueue(j);
    }

  for (const Objects& partition : out.partitions) {
    std::uint64_t bytes = 0, alignment = 1;
    for (const std::uint32_t i : partition) {
      bytes = std::max(bytes, problem.objects[i].bytes);
      alignment = std::max(alignment, problem.objects[i].alignment);
    }
    const std::uint64_t offset = align_up(out.bytes, alignment);
    for (const std::uint32_t i : partition) out.offsets[i] = offset;
    out.bytes = offset + bytes;
  }
}

/// Objects in the given order, each into the smallest gap between its placed neighbours that holds it (the
/// lowest of several), or else on top of them. Returns the highest end.
std::uint64_t best_fit(const PlacementProblem& problem, const std::vector<Objects>& adjacent,
                       const Objects& order, std::vector<std::uint64_t>& offsets) {
  std::vector<bool> placed(problem.objects.size(), false);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> taken;  // [begin, end) of placed neighbours
  std::uint64_t top = 0;
  for (const std::uint32_t i : order) {
    const auto& [bytes, alignment] = problem.objects[i];
    taken.clear();
    for (const std::uint32_t j : adjacent[i])
      if (placed[j]) taken.emplace_back(offsets[j], offsets[j] + problem.objects[j].bytes);
    std::sort(taken.begin(), taken.end());

    std::uint64_t begin = 0, smallest = ~std::uint64_t{0}, offset = 0;
    for (const auto& [next, end] : taken) {
      const std::uint64_t aligned = align_up(begin, alignment);
      if (aligned <= next && next - aligned >= bytes && next - begin < smallest) {
        smallest = next - begin;
        offset = aligned;
      }
      begin = std::max(begin, end);
    }
    offsets[i] = smallest != ~std::uint64_t{0} ? offset : align_up(begin, alignment);
    top = std::max(top, offsets[i] + bytes);
    placed[i] = true;
  }
  return top;
}

/// Best fit in size-descending order. Then, while that is above the lower bound, the object that ends
/// highest is placed first and the rest again, a fixed number of times; the best placement is kept.
void place_greedy(const PlacementProblem& problem, const std::vector<Objects>& adjacent, Placement& out) {
  constexpr int kRepairs = 64;
  Objects order = by_descending_size(problem);
  std::vector<std::uint64_t> offsets = out.offsets;
  out.bytes = ~std::uint64_t{0};
  for (int round = 0; round <= kRepairs && out.bytes > out.lower_bound; ++round) {
    const std::uint64_t bytes = best_fit(problem, adjacent, order, offsets);
    if (bytes < out.bytes) {
      out.bytes = bytes;
      out.offsets = offsets;
    }
    const auto highest = std::find_if(order.begin(), order.end(), [&](std::uint32_t i) {
      return offsets[i] + problem.objects[i].bytes == bytes;
    });
    if (highest != order.end()) std::rotate(order.begin(), highest, highest + 1);
  }
}

/// A clique's objects lie one above the other: the bytes of the heaviest clique that greedy growth, largest
/// neighbour first, finds from each of the largest objects.
std::uint64_t greedy_clique_bound(const PlacementProblem& problem, const std::vector<Objects>& adjacent) {
  constexpr std::size_t kSeeds = 64;
  const Objects order = by_descending_size(problem);
  std::vector<std::size_t> rank(order.size());
  for (std::size_t r = 0; r < order.size(); ++r) rank[order[r]] = r;
  std::uint64_t best = 0;
  for (std::size_t seed = 0; seed < std::min(kSeeds, order.size()); ++seed) {
    std::uint64_t bytes = problem.objects[order[seed]].bytes;
    Objects candidates = adjacent[order[seed]];
    while (!candidates.empty()) {
      const std::uint32_t next = *std::min_element(candidates.begin(), candidates.end(),
                                                   [&](auto a, auto b) { return rank[a] < rank[b]; });
      bytes += problem.objects[next].bytes;
      Objects common;
      std::set_intersection(candidates.begin(), candidates.end(), adjacent[next].begin(),
                            adjacent[next].end(), std::back_inserter(common));
      candidates = std::move(common);
    }
    best = std::max(best, bytes);
  }
  return best;
}

}  // namespace

Placement place(const PlacementProblem& problem, const PlacementOptions& options) {
  check(problem);
  name(options.method);
  const std::vector<Objects> adjacent = neighbours(problem);
  Placement out;
  out.offsets.assign(problem.objects.size(), 0);
  out.lower_bound = greedy_clique_bound(problem, adjacent);
  const bool exact = options.method == PlacementMethod::optimal &&
                     problem.objects.size() <= std::min(options.exact_up_to, kExactSearchLimit);
  out.method =
      options.method == PlacementMethod::optimal && !exact ? PlacementMethod::greedy : options.method;
  if (options.method == PlacementMethod::paper)
    place_paper(problem, adjacent, out);
  else
    place_greedy(problem, adjacent, out);
  out.proved_optimal = out.bytes == out.lower_bound;
  if (exact && !out.proved_optimal) place_exactly(problem, options.time_limit, out);
  return out;
}

std::string_view name(PlacementMethod method) {
  switch (method) {
    case PlacementMethod::paper:
      return "paper";
    case PlacementMethod::greedy:
      return "greedy";
    case PlacementMethod::optimal:
      return "optimal";
  }
  refuse_enumerator(method, "the method of placement");
}

}  // namespace warploom::reuse
