#include "reuse/rewrite/plan.hpp"

#include <algorithm>
#include <set>

namespace warploom::reuse {

namespace {

std::vector<ObjectSet> overlaps(const Kernel& kernel, const std::vector<std::uint32_t>& objects,
                                const Placement& placement) {
  std::vector<ObjectSet> result(kernel.object_count());
  for (std::size_t i = 0; i < objects.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      const std::uint64_t a = placement.offsets[i], b = placement.offsets[j];
      if (a < b + kernel.use.objects[objects[j]].bytes && b < a + kernel.use.objects[objects[i]].bytes) {
        result[objects[i]].set(objects[j]);
        result[objects[j]].set(objects[i]);
      }
    }
  return result;
}

}  // namespace

Planner::Planner(const Kernel& kernel, const Interference& interference, const PlacementOptions& options)
    : kernel_(kernel),
      interference_(interference),
      options_(options),
      barriers_(kernel),
      layout_(*kernel.module, *kernel.function) {
  const auto n = static_cast<std::uint32_t>(kernel.object_count());
  for (std::uint32_t o = 0; o < n; ++o)
    if (!kernel.use.objects[o].pinned) movable_.push_back(o);
  // Whom no barrier can part interferes.
  std::vector<ObjectSet> candidates(n);
  for (const std::uint32_t a : movable_)
    for (const std::uint32_t b : movable_)
      if (a != b && !interference_.between(a, b)) candidates[a].set(b);
  for (const Hazard& h : barriers_.hazards(candidates, true))
    interference_.add(h.earlier, h.later,
                      {"no barrier can stand between the accesses of the two", kernel.line(h.instruction)});
}

void Planner::place_objects(const std::vector<std::uint32_t>& objects, const Interference& interference,
                            Plan& plan) const {
  if (carving != nullptr) {
    plan.carved = carving->place(interference);
    plan.overlap = carving->overlaps(plan.carved, kernel_.object_count());
    for (std::size_t p = 0; p < carving->parts().size(); ++p) {
      const Object& o = kernel_.use.objects[carving->object(p)];
      plan.placement.offsets.push_back(o.begin +
                                       static_cast<std::uint64_t>(carving->at_example(plan.carved.moved[p])));
    }
    plan.placement.bytes = plan.carved.example_bytes;
    return;
  }
  PlacementProblem problem;
  for (const std::uint32_t o : objects)
    problem.objects.push_back({kernel_.use.objects[o].bytes, kernel_.use.objects[o].alignment});
  for (std::uint32_t i = 0; i < objects.size(); ++i)
    for (std::uint32_t j = i + 1; j < objects.size(); ++j)
      if (interference.between(objects[i], objects[j])) problem.edges.emplace_back(i, j);
  plan.placement = place(problem, options_);
  plan.overlap = overlaps(kernel_, objects, plan.placement);
}

Plan Planner::attempt(Interference interference, bool may_insert) {
  const auto n = static_cast<std::uint32_t>(kernel_.object_count());
  if (!may_insert) {
    std::vector<ObjectSet> all(n);
    for (const std::uint32_t a : movable_)
      for (const std::uint32_t b : movable_)
        if (a != b && !interference.between(a, b)) all[a].set(b);
    for (const Hazard& h : barriers_.hazards(all, false)) interference.add(h.earlier, h.later, {});
  }
  std::vector<std::uint32_t> pooled = movable_;
  for (;;) {
    Plan plan;
    place_objects(pooled, interference, plan);
    std::vector<std::uint32_t> sharing;
    std::set<std::uint32_t> divided;  // a part takes the others of its array along
    for (const std::uint32_t o : pooled)
      if (plan.overlap[o].any() && kernel_.use.objects[o].part)
        divided.insert(kernel_.use.objects[o].variable);
    for (const std::uint32_t o : pooled)
      if (plan.overlap[o].any() || pool_everything || divided.contains(kernel_.use.objects[o].variable))
        sharing.push_back(o);
    if (sharing.size() < pooled.size()) {  // who shares with nobody stays where it was
      pooled = std::move(sharing);
      continue;
    }
    Hazard stuck;
    const std::optional<Insertions> insertions = barriers_.plan(plan.overlap, stuck);
    if (!insertions) {
      interference.add(
          stuck.earlier, stuck.later,
          {"no barrier can stand between the accesses of the two", kernel_.line(stuck.instruction)});
      interference_.add(
          stuck.earlier, stuck.later,
          {"no barrier can stand between the accesses of the two", kernel_.line(stuck.instruction)});
      pooled = movable_;
      continue;
    }
    plan.insertions = *insertions;
    plan.pooled = pooled;
    plan.offsets = plan.placement.offsets;
    plan.pool_bytes = plan.placement.bytes;
    for (const std::uint32_t o : pooled)
      plan.pool_alignment = std::max(plan.pool_alignment, kernel_.use.objects[o].alignment);
    plan.total_bytes = total_bytes(plan);
    return plan;
  }
}

std::uint64_t Planner::total_bytes(const Plan& plan, std::uint64_t padding) const {
  std::vector<std::uint32_t> variables;
  for (const std::uint32_t o : plan.pooled) variables.push_back(kernel_.use.objects[o].variable);
  std::ranges::sort(variables);
  variables.erase(std::ranges::unique(variables).begin(), variables.end());
  return layout_.bytes_with(variables, plan.pool_bytes + padding);
}

Plan Planner::smallest(bool may_insert) {
  Plan best = attempt(interference_, may_insert);
  if (!may_insert || best.insertions.empty()) return best;
  return fewest_barriers(best, [&](const Plan& p) { return p.total_bytes <= best.total_bytes; });
}

Plan Planner::fewest_barriers(const Plan& best, const std::function<bool(const Plan&)>& good_enough) {
  if (Plan none = attempt(interference_, false); good_enough(none)) return none;
  Plan chosen = best;
  Interference forbidden = interference_;
  // Each overlap that needs a barrier in turn; 64 pairs are more than any kernel seen.
  int tries = 64;
  for (bool improved = true; improved && tries > 0;) {
    improved = false;
    for (const Hazard& h : barriers_.hazards(chosen.overlap, false)) {
      if (forbidden.between(h.earlier, h.later)) continue;
      if (--tries <= 0) break;
      Interference narrower = forbidden;
      narrower.add(h.earlier, h.later, {});
      Plan plan = attempt(narrower, true);
      if (!good_enough(plan) || plan.insertions.size() >= chosen.insertions.size()) continue;
      chosen = std::move(plan);
      forbidden = std::move(narrower);
      improved = true;
      break;
    }
  }
  return chosen;
}

}  // namespace warploom::reuse
