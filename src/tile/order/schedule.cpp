#include "tile/order/schedule.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>

#include "core/doors.hpp"
#include "tile/order/locals.hpp"
#include "warploom/core/error.hpp"

namespace warploom::tile {
namespace {

using Times = std::vector<std::vector<TimeDimension>>;

TimeDimension position(std::int64_t value) {
  TimeDimension dimension;
  dimension.value = value;
  return dimension;
}

/// Walks the text: a loop and an assignment take the next position of the loop around them; branches take
/// none.
class SourceOrder {
 public:
  explicit SourceOrder(const Polyhedra& polyhedra)
      : polyhedra_(polyhedra), times_(polyhedra.statements.size()) {
    std::int64_t next = 0;
    visit(polyhedra.region.body, {}, next);
  }
  Times times() && { return std::move(times_); }

 private:
  struct Step {
    std::int64_t position;
    const Node* loop;
  };

  void visit(const Node& node, const std::vector<Step>& around, std::int64_t& next) {
    switch (node.kind) {
      case Node::Kind::loop: {
        auto inside = around;
        inside.push_back({next++, &node});
        std::int64_t first = 0;
        for (const Node& child : node.children) visit(child, inside, first);
        break;
      }
      case Node::Kind::assignment:
        record(node.statement, around, next++);
        break;
      case Node::Kind::block:
      case Node::Kind::branch:
        for (const Node& child : node.children) visit(child, around, next);
        break;
      case Node::Kind::launch:
        break;
    }
  }

  void record(int statement, const std::vector<Step>& around, std::int64_t last) {
    const isl::set& domain = polyhedra_.sets[statement].domain;
    std::vector<TimeDimension>& times = times_[statement];
    for (int d = 0; d < static_cast<int>(around.size()); ++d) {
      times.push_back(position(around[d].position));
      TimeDimension loop;
      loop.kind = TimeDimension::Kind::loop;
      loop.name = around[d].loop->iterator;
      loop.aff = iterator_aff(domain, d);
      if (around[d].loop->step < 0) loop.aff = loop.aff->neg();
      times.push_back(loop);
    }
    times.push_back(position(last));
  }

  const Polyhedra& polyhedra_;
  Times times_;
};

constexpr std::size_t kAbsent = ~std::size_t{0};

/// Where the loop of that name stands in a statement's times.
std::size_t slot_of(const std::vector<TimeDimension>& times, const std::string& name) {
  for (std::size_t d = 0; d < times.size(); ++d)
    if (times[d].kind != TimeDimension::Kind::position && times[d].name == name) return d;
  return kAbsent;
}

}  // namespace

bool same_until(const std::vector<TimeDimension>& a, const std::vector<TimeDimension>& b, std::size_t slot) {
  if (a.size() < slot || b.size() < slot) return false;
  for (std::size_t d = 0; d < slot; ++d) {
    if (a[d].kind != b[d].kind) return false;
    if (a[d].kind == TimeDimension::Kind::position ? a[d].value != b[d].value : a[d].name != b[d].name)
      return false;
  }
  return true;
}

namespace {

/// A chain of loops that hold the same statements, and the slots of the loops that a step names.
struct Chain {
  std::vector<int> statements;
  std::vector<std::size_t> slots;  ///< in the order in which they nest
};

std::string loop_names(const Times& times) {
  std::vector<std::string> names;
  for (const auto& of_statement : times)
    for (const TimeDimension& d : of_statement)
      if (d.kind != TimeDimension::Kind::position && std::ranges::find(names, d.name) == names.end())
        names.push_back(d.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

/// The chains that have all of these loops. Where such loops hold other statements too, these get loops of
/// their own: the position before the outermost named loop is split, in the order of the text.
/// @param only  these statements' chains; empty: all
std::vector<Chain> perfect_chains(const Nest& nest, Times& times, const std::vector<std::string>& loops,
                                  const std::vector<int>& only) {
  if (loops.empty() || std::set<std::string>(loops.begin(), loops.end()).size() != loops.size())
    throw BadInput(fmt::format("{}: {}: the loops of a step, '{}', are to be one or more, each named once",
                               nest.region().file, nest.region().function, fmt::join(loops, ", ")));
  std::vector<Chain> chains;
  for (const std::string& loop : loops)
    if (std::ranges::none_of(times, [&](const auto& t) { return slot_of(t, loop) != kAbsent; }))
      throw BadInput(fmt::format("{}: {}: there is no loop '{}'; there are {}", nest.region().file,
                                 nest.region().function, loop, loop_names(times)));
  std::vector<int> chain_of(times.size(), -1);
  for (int s = 0; s < static_cast<int>(times.size()); ++s) {
    std::vector<std::size_t> slots;
    for (const std::string& loop : loops) slots.push_back(slot_of(times[s], loop));
    if (std::ranges::find(slots, kAbsent) != slots.end()) continue;
    if (!only.empty() && std::ranges::find(only, s) == only.end()) continue;
    std::ranges::sort(slots);
    const auto same = std::ranges::find_if(chains, [&](const Chain& chain) {
      return chain.slots == slots && same_until(times[chain.statements.front()], times[s], slots.back() + 1);
    });
    chain_of[s] = static_cast<int>(same - chains.begin());
    if (same == chains.end()) chains.push_back({{}, slots});
    chains[chain_of[s]].statements.push_back(s);
  }
  if (chains.empty())
    throw BadInput(fmt::format("{}: {}: no statement lies within all of the loops {}", nest.region().file,
                               nest.region().function, fmt::join(loops, ", ")));

  for (const Chain& chain : chains) {
    const std::size_t outer = chain.slots.front();
    const std::vector<TimeDimension> prefix = times[chain.statements.front()];
    // Groups of neighbours below the outermost named loop: each chain, and what lies between them.
    std::vector<int> inside;
    for (int s = 0; s < static_cast<int>(times.size()); ++s)
      if (same_until(prefix, times[s], outer + 1)) inside.push_back(s);
    if (inside.size() == chain.statements.size()) continue;
    std::int64_t group = -1;
    int previous = -2;
    std::vector<std::int64_t> groups(times.size(), 0);
    for (const int s : inside) {
      if (chain_of[s] != previous) ++group;
      previous = chain_of[s];
      groups[s] = group;
    }
    for (int s = 0; s < static_cast<int>(times.size()); ++s) {
      if (!same_until(prefix, times[s], outer - 1) || times[s].size() < outer) continue;
      const bool shared = std::ranges::find(inside, s) != inside.end();
      TimeDimension& place = times[s][outer - 1];
      place.value = place.value * static_cast<std::int64_t>(times.size()) + (shared ? groups[s] : 0);
    }
  }
  return chains;
}

std::string strip_name(const std::vector<TimeDimension>& times, const std::string& loop) {
  std::string name = loop.size() == 1 ? loop + loop : loop + "_strip";
  while (slot_of(times, name) != kAbsent) name += loop.size() == 1 ? loop : std::string("_strip");
  return name;
}

/// The first iteration, where it is a number: strips start there.
std::int64_t first_of(const Node& node, const std::string& iterator) {
  if (node.kind == Node::Kind::loop && node.iterator == iterator)
    return node.step > 0 && node.first.kind == Expression::Kind::integer ? node.first.value : 0;
  for (const Node& child : node.children)
    if (const std::int64_t first = first_of(child, iterator)) return first;
  return 0;
}

}  // namespace

TimeDimension strip_of(const TimeDimension& loop, std::int64_t size, std::int64_t lower, std::string name) {
  TimeDimension strip;
  strip.kind = TimeDimension::Kind::strip;
  strip.name = std::move(name);
  strip.strip_of = loop.name;
  strip.size = size;
  const isl::ctx context = loop.aff->ctx();
  const isl::val value(context, size), offset(context, lower);
  strip.aff =
      loop.aff->add_constant(offset.neg()).scale_down(value).floor().scale(value).add_constant(offset);
  return strip;
}

namespace {

void add_strips(const Nest& nest, Times& times,
                const std::vector<std::pair<std::string, std::int64_t>>& sizes,
                const std::vector<int>& only) {
  std::vector<std::string> loops;
  for (const auto& [loop, size] : sizes) {
    if (size < 1)
      throw BadInput(fmt::format("{}: a strip of {} iterations of loop '{}': at least 1", nest.region().file,
                                 size, loop));
    if (std::ranges::find(loops, loop) != loops.end())
      throw BadInput(fmt::format("{}: loop '{}' is named twice", nest.region().file, loop));
    loops.push_back(loop);
  }
  for (const Chain& chain : perfect_chains(nest, times, loops, only))
    for (const int s : chain.statements) {
      std::vector<TimeDimension> strips;
      for (const auto& [loop, size] : sizes) {
        const TimeDimension& point = times[s][slot_of(times[s], loop)];
        strips.push_back(
            strip_of(point, size, first_of(nest.region().body, loop), strip_name(times[s], loop)));
        strips.push_back(position(0));
      }
      times[s].insert(times[s].begin() + static_cast<std::ptrdiff_t>(chain.slots.front()), strips.begin(),
                      strips.end());
    }
}

/// Strips of one loop in its place, its points innermost; of every instance of the loop that is meant.
void jam(const Nest& nest, Times& times, const std::string& loop, std::int64_t size,
         const std::vector<int>& meant) {
  std::vector<bool> done(times.size(), false);
  bool found = false;
  for (std::size_t s = 0; s < times.size(); ++s) {
    const std::size_t slot = slot_of(times[s], loop);
    if (slot == kAbsent || done[s]) continue;
    if (!meant.empty() && std::ranges::find(meant, static_cast<int>(s)) == meant.end()) continue;
    found = true;
    const std::vector<TimeDimension> sample = times[s];
    for (std::size_t other = 0; other < times.size(); ++other) {
      if (done[other] || !same_until(sample, times[other], slot + 1)) continue;
      done[other] = true;
      TimeDimension point = times[other][slot];
      TimeDimension strip =
          strip_of(point, size, first_of(nest.region().body, loop), strip_name(times[other], loop));
      strip.jammed = point.jammed = size;
      times[other][slot] = strip;
      times[other].push_back(point);
      times[other].push_back(position(0));
    }
  }
  if (!found)
    throw BadInput(fmt::format("{}: {}: there is no loop '{}' to jam; there are {}", nest.region().file,
                               nest.region().function, loop, loop_names(times)));
}

struct Apply {
  const Nest& nest;
  Times& times;

  void operator()(const Permute& step) const {
    for (const Chain& chain : perfect_chains(nest, times, step.order, step.statements))
      for (const int s : chain.statements) {
        const std::vector<TimeDimension> before = times[s];
        for (std::size_t k = 0; k < step.order.size(); ++k)
          times[s][chain.slots[k]] = before[slot_of(before, step.order[k])];
      }
  }
  void operator()(const Tile& step) const { add_strips(nest, times, step.sizes, step.statements); }
  void operator()(const StripMine& step) const {
    add_strips(nest, times, {{step.loop, step.size}}, step.statements);
  }
  void operator()(const Jam& step) const {
    constexpr std::int64_t kMostJammed = 32;
    for (const auto& [loop, size] : step.sizes)
      if (size < 1 || size > kMostJammed)
        throw BadInput(fmt::format("{}: {}: {} iterations of loop '{}' are jammed; from 1 to {} can be",
                                   nest.region().file, nest.region().function, size, loop, kMostJammed));
    for (const auto& [loop, size] : step.sizes) jam(nest, times, loop, size, step.statements);
  }
  void operator()(const TimeTile& step) const { tile_in_time(nest, times, step); }
  void operator()(const Skew& step) const {
    constexpr std::int64_t kMostFactor = std::int64_t{1} << 31;
    if (step.factor < -kMostFactor || step.factor > kMostFactor)
      throw BadInput(fmt::format("{}: {}: loop '{}' is skewed by the factor {}; at most {} either way",
                                 nest.region().file, nest.region().function, step.loop, step.factor,
                                 kMostFactor));
    for (const Chain& chain : perfect_chains(nest, times, {step.loop, step.by}, step.statements))
      for (const int s : chain.statements) {
        TimeDimension& loop = times[s][slot_of(times[s], step.loop)];
        const TimeDimension& by = times[s][slot_of(times[s], step.by)];
        loop.aff = loop.aff->add(by.aff->scale(isl::val(by.aff->ctx(), step.factor)));
      }
  }
};

struct StepText {
  static std::string only(const std::vector<int>& statements) {
    std::string text;
    for (const int s : statements) text += fmt::format("{}S{}", text.empty() ? " (" : ", ", s);
    return text.empty() ? text : text + ")";
  }
  static std::string join(const std::vector<std::pair<std::string, std::int64_t>>& sizes) {
    std::string text;
    for (const auto& [loop, size] : sizes)
      text += fmt::format("{}{}={}", text.empty() ? "" : ", ", loop, size);
    return text;
  }
  std::string operator()(const Permute& step) const {
    return fmt::format("permute {}", fmt::join(step.order, ", ")) + only(step.statements);
  }
  std::string operator()(const Tile& step) const {
    return "tile " + join(step.sizes) + only(step.statements);
  }
  std::string operator()(const StripMine& step) const {
    return fmt::format("strip-mine {}={}", step.loop, step.size) + only(step.statements);
  }
  std::string operator()(const Jam& step) const { return "jam " + join(step.sizes) + only(step.statements); }
  std::string operator()(const TimeTile& step) const {
    return fmt::format("time-tile {}={}", step.loop, fmt::join(step.sizes, ", ")) + only(step.statements);
  }
  std::string operator()(const Skew& step) const {
    return fmt::format("skew {}={}*{}", step.loop, step.factor, step.by) + only(step.statements);
  }
};

}  // namespace

std::string to_text(const Step& step) { return std::visit(StepText{}, step); }

isl::aff iterator_aff(const isl::set& domain, int dimension) {
  isl_local_space* space = isl_local_space_from_space(isl_set_get_space(domain.get()));
  return isl::manage(isl_aff_var_on_domain(space, isl_dim_set, static_cast<unsigned>(dimension)));
}

std::size_t time_length(const Schedule::Impl& schedule) {
  std::size_t length = 0;
  for (const auto& times : schedule.times) length = std::max(length, times.size());
  return length;
}

isl::map onto(const isl::set& domain, const std::vector<isl::aff>& functions) {
  isl_aff_list* components = isl_aff_list_alloc(domain.ctx().get(), static_cast<int>(functions.size()));
  for (const isl::aff& function : functions) components = isl_aff_list_add(components, function.copy());
  isl_space* space = isl_space_from_domain(isl_set_get_space(domain.get()));
  space = isl_space_add_dims(space, isl_dim_out, static_cast<unsigned>(functions.size()));
  isl_map* map = isl_map_from_multi_aff(isl_multi_aff_from_aff_list(space, components));
  return isl::manage(isl_map_intersect_domain(map, domain.copy()));
}

/// Its functions are given back in turn, too, by the thread that drops it last.
static std::shared_ptr<const Schedule::Impl> shared(Schedule::Impl impl) {
  return {new Schedule::Impl(std::move(impl)), [](const Schedule::Impl* last) {
            const Nest nest = last->nest;  // outlives the lock
            const std::lock_guard turn(nest.polyhedra().turn);
            delete last;
          }};
}

Schedule schedule_of(Schedule::Impl impl) { return Schedule(shared(std::move(impl))); }

Schedule Schedule::of_source(const Nest& nest) {
  return with_isl(nest.polyhedra(), [&] {
    return schedule_of({nest, SourceOrder(nest.polyhedra()).times()});
  });
}

Schedule::Schedule(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {
  if (impl_ == nullptr) throw BadInput("a schedule of no nest");
}

Schedule Schedule::then(const Step& step) const {
  return with_isl(impl_->nest.polyhedra(), [&] {
    Impl next = *impl_;
    std::visit(Apply{next.nest, next.times}, step);
    return schedule_of(std::move(next));
  });
}

/// Of a scalar, or of an array of one element: those are what a thread can have a sum of its own of.
static std::optional<Reduction> reduction_of(const Polyhedra& polyhedra, const Dependence& dependence,
                                             Reassociate allowed) {
  if (!dependence.reduction || allowed == Reassociate::nothing) return std::nullopt;
  const Statement& statement = polyhedra.statements[dependence.source];
  const Variable& variable = *find_variable(polyhedra.region, statement.assignment.target.text);
  if (variable.type != ScalarType::int32 && allowed != Reassociate::everything) return std::nullopt;
  if (!std::ranges::all_of(variable.extents, [](const Expression& e) { return e == Expression::integer(1); }))
    return std::nullopt;
  return Reduction{statement.reduction, variable.name};
}

Node Schedule::code(Reassociate reductions) const {
  at_enumerator(std::array{0, 1, 2}, reductions, "which reductions take any order");
  const Polyhedra& polyhedra = impl_->nest.polyhedra();
  return with_isl(polyhedra, [&] {
    std::vector<Carried> relations;
    for (const auto& [summary, pairs] : polyhedra.dependences)
      relations.push_back({pairs, &summary, reduction_of(polyhedra, summary, reductions)});
    Node code = generate_code(*impl_, relations);
    declare_locals(polyhedra, code);
    return code;
  });
}

}  // namespace warploom::tile
