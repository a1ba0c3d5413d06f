#include "tile/order/parallelise_groups.hpp"

#include <algorithm>
#include <map>

namespace warploom::tile {

Reachability::Reachability(const std::vector<Group>& groups, const std::vector<Relation>& relations)
    : reached_(groups.size(), std::vector<std::uint64_t>(groups.size() / kBits + 1)) {
  std::map<int, std::size_t> group_of;
  for (std::size_t g = 0; g < groups.size(); ++g)
    for (const int s : groups[g].statements) group_of[s] = g;
  for (const Relation& relation : relations) {
    const std::size_t to = group_of.at(relation.summary->sink);
    reached_[group_of.at(relation.summary->source)][to / kBits] |= std::uint64_t{1} << to % kBits;
  }
  for (std::size_t via = 0; via < groups.size(); ++via)
    for (std::size_t a = 0; a < groups.size(); ++a)
      if (a != via && (*this)(a, via))
        for (std::size_t word = 0; word < reached_[a].size(); ++word)
          reached_[a][word] |= reached_[via][word];
}

std::vector<Group> in_order(std::vector<Group> groups, const std::vector<Relation>& relations) {
  std::ranges::sort(
      groups, [](const Group& a, const Group& b) { return a.statements.front() < b.statements.front(); });
  const Reachability reaches(groups, relations);
  std::vector<bool> placed(groups.size(), false);
  std::vector<Group> ordered;
  while (ordered.size() < groups.size()) {
    std::size_t next = 0;
    const auto waits = [&](std::size_t g) {
      for (std::size_t before = 0; before < groups.size(); ++before)
        if (before != g && !placed[before] && reaches(before, g)) return true;
      return false;
    };
    while (placed[next] || waits(next)) ++next;
    placed[next] = true;
    ordered.push_back(std::move(groups[next]));
  }
  return ordered;
}

std::vector<Group> components(const std::vector<int>& statements, const std::vector<Relation>& relations) {
  std::vector<Group> single;
  for (const int s : statements) single.push_back({{s}, {}, false});
  const Reachability reaches(single, relations);
  std::vector<Group> groups;
  for (std::size_t a = 0; a < single.size(); ++a) {
    const auto same = std::ranges::find_if(groups, [&](const Group& g) {
      const auto b = std::ranges::find(statements, g.statements.front()) - statements.begin();
      return reaches(a, b) && reaches(b, a);
    });
    if (same == groups.end())
      groups.push_back(single[a]);
    else
      same->statements.push_back(statements[a]);
  }
  return in_order(std::move(groups), relations);
}

std::vector<Relation> within(const std::vector<Relation>& relations, const std::vector<int>& statements) {
  std::vector<Relation> inside;
  for (const Relation& relation : relations)
    if (contains(statements, relation.summary->source) && contains(statements, relation.summary->sink))
      inside.push_back(relation);
  return inside;
}

std::vector<Relation> not_carried(std::vector<Relation> relations, const std::vector<SharedLoop>& loops) {
  for (Relation& relation : relations)
    for (const SharedLoop& loop : loops) relation.pairs = same_iteration(relation, loop);
  relations.erase(std::remove_if(relations.begin(), relations.end(),
                                 [](const Relation& r) { return r.pairs.is_empty(); }),
                  relations.end());
  return relations;
}

}  // namespace warploom::tile
