#include "tile/sets/lifetimes.hpp"

#include <algorithm>
#include <numeric>

#include "tile/c/simplify.hpp"

namespace warploom::tile {
namespace {

constexpr std::int64_t kMostBytes = 1024;  // of an array that an iteration has: threads have one each

bool is_small(const Variable& variable) {
  std::int64_t bytes = size_of(variable.type);
  for (const Expression& extent : variable.extents) {
    const Expression number = simplified(extent);
    if (number.kind != Expression::Kind::integer || number.value > kMostBytes) return false;
    bytes = std::min(bytes * number.value, kMostBytes + 1);
  }
  return bytes <= kMostBytes;
}

/// The statements that name one variable, joined where a value may go from one to the other.
class Users {
 public:
  Users(const Polyhedra& polyhedra, const Variable& variable) : polyhedra_(polyhedra), variable_(variable) {
    const auto home = polyhedra.homes.find(variable.name);
    if (home != polyhedra.homes.end()) home_ = home->second;
    for (const Statement& statement : polyhedra.statements) {
      bool names = false, writes = false;
      for (const Reference& reference : statement.references) {
        if (reference.element.text != variable.name) continue;
        names = true;
        writes = writes || reference.is_write;
      }
      if (names) users_.push_back(statement.number);
      if (writes) writers_.push_back(statement.number);
    }
  }

  std::map<int, Lifetime> lifetimes() {
    const std::size_t count = polyhedra_.statements.size();
    group_.resize(count);
    std::iota(group_.begin(), group_.end(), 0);
    std::vector<std::size_t> depth(count);
    for (const int s : users_) depth[s] = polyhedra_.sets[s].loops.size();
    for (const int s : users_)
      if (reads(s)) {
        const std::size_t own = depth_of_read(s);
        depth[s] = std::min(depth[s], own);
        for (const int w : writers_)
          if (common_loops(polyhedra_.sets[w], polyhedra_.sets[s]) >= own) join(w, s);
      }
    std::map<int, std::size_t> least;
    std::map<int, Lifetime> result;
    for (const int s : users_) {
      const auto [entry, is_new] = least.try_emplace(find(s), depth[s]);
      if (!is_new) entry->second = std::min(entry->second, depth[s]);
    }
    for (const int s : users_)
      if (const std::size_t shared = least.at(find(s)); shared > 0) result[s] = {shared, find(s)};
    return result;
  }

 private:
  bool reads(int s) const {
    return std::ranges::any_of(polyhedra_.statements[s].references, [&](const Reference& r) {
      return !r.is_write && r.element.text == variable_.name;
    });
  }

  /// Backwards from the read through the assignments of the whole variable in loops around it, until they run
  /// whenever it does.
  std::size_t depth_of_read(int s) const {
    if (!variable_.extents.empty()) return home_;
    const StatementSets& reader = polyhedra_.sets[s];
    isl::set left = reader.domain;
    std::size_t depth = reader.loops.size();
    for (auto w = writers_.rbegin(); w != writers_.rend(); ++w) {
      const StatementSets& writer = polyhedra_.sets[*w];
      const std::size_t loops = writer.loops.size();
      if (*w >= s || common_loops(writer, reader) < loops || !surely_runs(*w, s)) continue;
      if (loops < home_) break;
      isl::set covered =
          isl::manage(isl_set_insert_dims(writer.domain.copy(), isl_dim_set, static_cast<unsigned>(loops),
                                          static_cast<unsigned>(reader.loops.size() - loops)));
      covered = isl::manage(isl_set_reset_space(covered.release(), left.space().release()));
      if (left.is_disjoint(covered)) continue;
      left = left.subtract(covered);
      depth = std::min(depth, loops);
      if (left.is_empty()) return std::max(depth, home_);
    }
    return home_;
  }

  /// The read runs only if the write does: it stands in no branch on data but those of the read.
  bool surely_runs(int writer, int reader) const {
    const std::vector<int>&arms = polyhedra_.sets[writer].arms, &of_reader = polyhedra_.sets[reader].arms;
    return arms.size() <= of_reader.size() && std::equal(arms.begin(), arms.end(), of_reader.begin());
  }

  int find(int s) {
    while (group_[s] != s) s = group_[s];
    return s;
  }
  void join(int a, int b) { group_[find(a)] = find(b); }

  const Polyhedra& polyhedra_;
  const Variable& variable_;
  std::size_t home_ = 0;
  std::vector<int> users_, writers_, group_;
};

}  // namespace

void find_lifetimes(Polyhedra& polyhedra) {
  for (const Variable& variable : polyhedra.region.variables) {
    if (variable.is_parameter || !is_small(variable)) continue;
    std::map<int, Lifetime> lifetimes = Users(polyhedra, variable).lifetimes();
    if (!lifetimes.empty()) polyhedra.lifetimes[variable.name] = std::move(lifetimes);
  }
}

std::size_t shared_lifetime(const Polyhedra& polyhedra, const std::string& variable, int a, int b) {
  const auto found = polyhedra.lifetimes.find(variable);
  if (found == polyhedra.lifetimes.end()) return 0;
  const auto of_a = found->second.find(a), of_b = found->second.find(b);
  if (of_a == found->second.end() || of_b == found->second.end()) return 0;
  return std::min(
      {of_a->second.depth, of_b->second.depth, common_loops(polyhedra.sets[a], polyhedra.sets[b])});
}

}  // namespace warploom::tile
