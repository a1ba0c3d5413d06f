#include "tile/explain/rows.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <tuple>

namespace warploom::tile {
namespace {

std::string reuse_text(const Reuse& reuse) {
  if (reuse.kind == ReuseKind::self_temporal) return "temporal";
  return reuse.distance == 1 ? "spatial" : fmt::format("spatial, {} apart", reuse.distance);
}

int row_of(const std::vector<ReferenceRow>& rows, int statement, int reference) {
  for (int r = 0; r < static_cast<int>(rows.size()); ++r)
    if (rows[r].statement == statement && std::find(rows[r].references.begin(), rows[r].references.end(),
                                                    reference) != rows[r].references.end())
      return r;
  return -1;
}

/// Rows that reuse of one kind along one loop joins, with their iterations after each other.
class Groups {
 public:
  explicit Groups(std::size_t rows) : later_(rows), leader_(rows, -1) {}

  void join(int a, int b, std::int64_t b_after_a) {
    if (leader_[a] < 0) leader_[a] = a, later_[a] = 0;
    if (leader_[b] < 0) leader_[b] = b, later_[b] = 0;
    const int old = leader_[b], kept = leader_[a];
    if (old == kept) return;
    const std::int64_t shift = later_[a] + b_after_a - later_[b];
    for (std::size_t r = 0; r < leader_.size(); ++r)
      if (leader_[r] == old) leader_[r] = kept, later_[r] += shift;
  }

  std::vector<std::vector<GroupRow::Member>> groups() const {
    std::map<int, std::vector<GroupRow::Member>> by_leader;
    for (int r = 0; r < static_cast<int>(leader_.size()); ++r)
      if (leader_[r] >= 0) by_leader[leader_[r]].push_back({r, later_[r]});
    std::vector<std::vector<GroupRow::Member>> all;
    for (auto& [leader, members] : by_leader) {
      std::stable_sort(members.begin(), members.end(),
                       [](const auto& a, const auto& b) { return a.later < b.later; });
      const std::int64_t first = members.front().later;
      for (GroupRow::Member& member : members) member.later -= first;
      all.push_back(members);
    }
    return all;
  }

 private:
  std::vector<std::int64_t> later_;
  std::vector<int> leader_;
};

bool same_members(const GroupRow& a, const std::vector<GroupRow::Member>& b) {
  const auto has = [&](int row) {
    return std::ranges::any_of(b, [&](const auto& m) { return m.row == row; });
  };
  return a.members.size() == b.size() &&
         std::ranges::all_of(a.members, [&](const auto& m) { return has(m.row); });
}

/// All loops of the chain in the new order: "(i, k, j)".
std::string order_text(const Nest& nest, const Permute& permute) {
  if (permute.statements.empty()) return to_text(Step(permute));
  std::vector<std::string> loops = nest.statements()[permute.statements.front()].loops;
  auto next = permute.order.begin();
  for (std::string& loop : loops)
    if (std::ranges::find(permute.order, loop) != permute.order.end()) loop = *next++;
  return fmt::format("({})", fmt::join(loops, ", "));
}

}  // namespace

std::string assignment_text(const Statement& statement) {
  std::string text = to_text(statement.assignment), conditions;
  while (!text.empty() && (text.back() == '\n' || text.back() == ';')) text.pop_back();
  for (const Expression& condition : statement.conditions)
    conditions += fmt::format("if ({}) ", to_text(condition));
  return conditions + text.substr(std::min(text.find_first_not_of(' '), text.size()));
}

std::string labels(const Nest& nest, const std::vector<int>& statements) {
  std::vector<std::string> names;
  for (const int s : statements) names.push_back(nest.statements()[s].label);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::vector<ReferenceRow> reference_rows(const Nest& nest, const std::vector<Reuse>& reuse) {
  std::vector<ReferenceRow> rows;
  for (const Statement& statement : nest.statements()) {
    const std::size_t first = rows.size();
    for (const Reference& reference : statement.references) {
      const std::string element = to_text(reference.element), access = reference.is_write ? "write" : "read";
      const auto same = std::find_if(rows.begin() + static_cast<std::ptrdiff_t>(first), rows.end(),
                                     [&](const ReferenceRow& row) { return row.element == element; });
      if (same != rows.end()) {
        same->references.push_back(reference.number);
        if (same->access != access) same->access = "update";
        continue;
      }
      ReferenceRow row{statement.number, element, access, {reference.number}, {}};
      for (const std::string& loop : statement.loops) {
        const auto found = std::ranges::find_if(reuse, [&](const Reuse& r) {
          return r.statement == statement.number && r.reference == reference.number && r.loop == loop &&
                 r.other_statement < 0;
        });
        row.by_loop.push_back(found == reuse.end() ? "" : reuse_text(*found));
      }
      rows.push_back(std::move(row));
    }
  }
  std::erase_if(rows, [&](const ReferenceRow& row) {
    const Reference& reference = nest.statements()[row.statement].references[row.references.front()];
    return row.access == "read" && reference.element.kind == Expression::Kind::name;
  });
  return rows;
}

std::vector<GroupRow> group_rows(const std::vector<ReferenceRow>& rows, const std::vector<Reuse>& reuse) {
  std::vector<std::string> loops;
  for (const Reuse& r : reuse)
    if (std::ranges::find(loops, r.loop) == loops.end()) loops.push_back(r.loop);
  std::vector<GroupRow> all;
  for (const std::string& loop : loops) {
    Groups temporal(rows.size()), spatial(rows.size());
    for (const Reuse& r : reuse) {
      if (r.loop != loop || r.other_statement < 0) continue;
      const int a = row_of(rows, r.statement, r.reference),
                b = row_of(rows, r.other_statement, r.other_reference);
      if (a == b || a < 0 || b < 0) continue;  // an update is one row
      if (r.kind == ReuseKind::group_temporal)
        temporal.join(a, b, r.distance);
      else
        spatial.join(a, b, 0);
    }
    const std::size_t first = all.size();
    for (const auto& members : temporal.groups()) all.push_back({true, false, loop, members});
    for (const auto& members : spatial.groups()) {
      const auto same = std::find_if(all.begin() + static_cast<std::ptrdiff_t>(first), all.end(),
                                     [&](const GroupRow& group) { return same_members(group, members); });
      if (same != all.end())
        same->spatial = true;
      else
        all.push_back({false, true, loop, members});
    }
  }
  return all;
}

std::string to_text(const Nest& nest, const std::vector<ReferenceRow>& rows, const GroupRow& group) {
  std::string text;
  for (const GroupRow::Member& member : group.members) {
    const ReferenceRow& row = rows[member.row];
    text += text.empty() ? "" : ", ";
    if (member.later > 0) text += fmt::format("{} later ", member.later);
    if (nest.statements().size() > 1) text += nest.statements()[row.statement].label + " ";
    text += row.element;
  }
  return text;
}

std::string distance_text(const Dependence& dependence) {
  std::vector<std::string> components;
  for (const Component& component : dependence.distance) components.push_back(to_text(component));
  return fmt::format("({})", fmt::join(components, ", "));
}

std::string pair_text(const Witness& witness) {
  return fmt::format("({}) -> ({})", fmt::join(witness.source, ", "), fmt::join(witness.sink, ", "));
}

std::vector<DependenceRow> dependence_rows(const Nest& nest, const std::vector<Dependence>& dependences) {
  const auto says = [&](const Dependence& d) {
    return std::tuple(d.source, d.sink,
                      nest.statements()[d.source].references[d.source_reference].element.text,
                      distance_text(d), d.level, d.reduction);
  };
  std::vector<DependenceRow> rows;
  for (int k = 0; k < static_cast<int>(dependences.size()); ++k) {
    const auto same = std::ranges::find_if(rows, [&](const DependenceRow& row) {
      return says(dependences[row.members.front()]) == says(dependences[k]);
    });
    if (same == rows.end())
      rows.push_back({{k}, {}});
    else
      same->members.push_back(k);
  }
  for (DependenceRow& row : rows)
    for (const DependenceKind kind : {DependenceKind::flow, DependenceKind::anti, DependenceKind::output})
      if (std::ranges::any_of(row.members, [&](int k) { return dependences[k].kind == kind; }))
        row.kinds += fmt::format("{}{}", row.kinds.empty() ? "" : ", ", name(kind));
  return rows;
}

std::vector<JudgedRow> judged_rows(const Nest& nest, const std::vector<Judged>& judged) {
  std::vector<JudgedRow> rows;
  std::map<std::vector<int>, std::size_t> tried;  // orders of each chain
  for (const Judged& one : judged) {
    JudgedRow row;
    std::vector<std::string> texts;
    for (const Step& step : one.steps) texts.push_back(to_text(step));
    row.tried = {fmt::format("{}", fmt::join(texts, "; "))};
    if (const auto* permute = one.steps.size() == 1 ? std::get_if<Permute>(&one.steps[0]) : nullptr) {
      row.statements = permute->statements;
      row.tried = {order_text(nest, *permute)};
      ++tried[row.statements];
    } else if (const auto* tile = one.steps.size() == 1 ? std::get_if<Tile>(&one.steps[0]) : nullptr) {
      row.statements = tile->statements;
      row.tried = {to_text(Step(Tile{tile->sizes}))};
    }
    row.verdict = one.verdict;
    texts.clear();
    for (const Skew& skew : one.cure) texts.push_back(to_text(Step(Skew{skew.loop, skew.factor, skew.by})));
    row.cure = fmt::format("{}", fmt::join(texts, "; "));
    const auto same = std::ranges::find_if(rows, [&](const JudgedRow& other) {
      return other.statements == row.statements && other.verdict.legal == row.verdict.legal &&
             other.verdict.reason == row.verdict.reason && other.cure == row.cure;
    });
    if (same == rows.end())
      rows.push_back(std::move(row));
    else
      same->tried.push_back(row.tried.front());
  }
  for (JudgedRow& row : rows)
    row.all = tried[row.statements] > 0 && row.tried.size() == tried[row.statements];
  return rows;
}

}  // namespace warploom::tile
