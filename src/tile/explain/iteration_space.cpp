#include "tile/explain/iteration_space.hpp"

#include <algorithm>

#include "tile/order/schedule.hpp"
#include "tile/sets/flags.hpp"

namespace warploom::tile {
namespace {

constexpr std::int64_t kWidest = 9;  // iterations of a drawn loop
constexpr std::size_t kMostInstances = 300;
constexpr std::int64_t kLargestSize = 24;

/// A set without parameters: these values for the sizes.
isl::set at_sizes(const Polyhedra& polyhedra, const isl::set& set,
                  const std::vector<std::pair<std::string, std::int64_t>>& sizes) {
  isl_set* fixed = set.copy();
  for (const auto& [name, value] : sizes) {
    const int at = isl_set_find_dim_by_name(fixed, isl_dim_param, name.c_str());
    if (at < 0) continue;
    fixed = isl_set_fix_si(fixed, isl_dim_param, static_cast<unsigned>(at),
                           static_cast<int>(value_in_sets(polyhedra, name, value)));
  }
  return isl::manage(fixed).project_out_all_params();
}

template <class Visit>
void each_point(const isl::set& set, Visit&& visit) {
  const isl::set flat = set.flatten();
  const auto dimensions = static_cast<int>(isl_set_dim(flat.get(), isl_dim_set));
  flat.foreach_point([&](const isl::point& point) {
    std::vector<std::int64_t> values;
    for (int d = 0; d < dimensions; ++d)
      values.push_back(isl::manage(isl_point_get_coordinate_val(point.get(), isl_dim_set, d)).num_si());
    visit(values);
  });
}

struct Range {
  std::int64_t least = 0, most = -1;
  std::int64_t length() const { return most - least + 1; }
};

class SpaceOfIterations {
 public:
  SpaceOfIterations(const Nest& nest, const std::vector<int>& statements,
                    const std::array<std::string, 2>& loops)
      : polyhedra_(nest.polyhedra()), statements_(statements) {
    for (const std::string& loop : nest.statements()[statements.front()].loops)
      is_drawn_.push_back(loop == loops[0] || loop == loops[1]);
  }

  IterationSpace run() {
    choose_sizes();
    choose_window();
    std::ranges::sort(space_.instances, [](const auto& a, const auto& b) {
      return std::tie(a.iteration, a.statement) < std::tie(b.iteration, b.statement);
    });
    for (int k = 0; k < static_cast<int>(space_.instances.size()); ++k)
      number_[{space_.instances[k].statement, space_.instances[k].iteration}] = k;
    find_pairs();
    mark_implied();
    return std::move(space_);
  }

 private:
  using Sizes = std::vector<std::pair<std::string, std::int64_t>>;

  /// Every size is `wanted`, or as near as its range allows.
  Sizes sizes_near(std::int64_t wanted) const {
    Sizes sizes;
    for (const std::string& name : polyhedra_.region.sizes) {
      std::int64_t value = wanted;
      for (const SizeRange& range : polyhedra_.sizes) {
        if (range.name != name) continue;
        if (range.most) value = std::min(value, *range.most);
        if (range.least) value = std::max(value, *range.least);
      }
      sizes.emplace_back(name, value);
    }
    return sizes;
  }

  isl::set domain(int statement) const {
    return at_sizes(polyhedra_, polyhedra_.sets[statement].domain, space_.sizes);
  }

  Range range(int loop) const {
    Range all;
    for (const int s : statements_) {
      const isl::set set = domain(s);
      if (set.is_empty()) continue;
      const isl::val least = set.dim_min_val(loop), most = set.dim_max_val(loop);
      if (!least.is_int() || !most.is_int()) continue;
      all = all.length() == 0 ? Range{least.num_si(), most.num_si()}
                              : Range{std::min(all.least, least.num_si()), std::max(all.most, most.num_si())};
    }
    return all;
  }

  std::int64_t longest_drawn() const {
    std::int64_t longest = 0;
    for (int l = 0; l < static_cast<int>(is_drawn_.size()); ++l)
      if (is_drawn_[l]) longest = std::max(longest, range(l).length());
    return longest;
  }

  /// The largest sizes at which the drawing is not too wide.
  void choose_sizes() {
    Sizes best = sizes_near(kWidest);
    for (std::int64_t size = 1; size <= kLargestSize; ++size) {
      space_.sizes = sizes_near(size);
      const std::int64_t longest = longest_drawn();
      if (longest > 0 && longest <= kWidest) best = space_.sizes;
      if (longest > kWidest) break;
    }
    space_.sizes = best;
  }

  /// Of loops that are not drawn, fewer iterations until there are few in all.
  void choose_window() {
    for (std::int64_t others = kWidest; others >= 1; --others) {
      window_.clear();
      space_.cut = false;
      for (int l = 0; l < static_cast<int>(is_drawn_.size()); ++l) {
        const Range all = range(l);
        const std::int64_t most = std::min(all.most, all.least + (is_drawn_[l] ? kWidest : others) - 1);
        space_.cut |= most < all.most;
        window_.push_back({all.least, most});
      }
      std::size_t count = 0;
      for (const int s : statements_)
        count += static_cast<std::size_t>(isl::manage(isl_set_count_val(windowed(s).get())).num_si());
      if (count > kMostInstances && others > 1) continue;
      for (const int s : statements_)
        each_point(windowed(s), [&](const auto& iteration) { space_.instances.push_back({s, iteration}); });
      return;
    }
  }

  isl::set windowed(int statement) const {
    isl_set* set = domain(statement).release();
    for (unsigned l = 0; l < window_.size(); ++l) {
      set = isl_set_lower_bound_si(set, isl_dim_set, l, static_cast<int>(window_[l].least));
      set = isl_set_upper_bound_si(set, isl_dim_set, l, static_cast<int>(window_[l].most));
    }
    return isl::manage(set);
  }

  bool has(int statement) const { return std::ranges::find(statements_, statement) != statements_.end(); }

  void find_pairs() {
    for (int d = 0; d < static_cast<int>(polyhedra_.dependences.size()); ++d) {
      const auto& [summary, relation] = polyhedra_.dependences[d];
      if (!has(summary.source) || !has(summary.sink)) continue;
      const isl::set wrapped = at_sizes(polyhedra_, relation.wrap(), space_.sizes);
      const isl::set inside = wrapped.unwrap()
                                  .intersect_domain(windowed(summary.source))
                                  .intersect_range(windowed(summary.sink))
                                  .wrap();
      const auto depth = static_cast<std::ptrdiff_t>(is_drawn_.size());
      each_point(inside, [&](const std::vector<std::int64_t>& both) {
        const int source = number_.at({summary.source, {both.begin(), both.begin() + depth}});
        const int sink = number_.at({summary.sink, {both.begin() + depth, both.end()}});
        space_.pairs.push_back({d, source, sink, false});
      });
    }
  }

  void mark_implied() {
    const std::size_t count = space_.instances.size();
    std::vector<std::vector<char>> joined(count, std::vector<char>(count, 0));
    for (const IterationSpace::Pair& pair : space_.pairs) joined[pair.source][pair.sink] = 1;
    for (IterationSpace::Pair& pair : space_.pairs)
      for (std::size_t between = 0; between < count && !pair.implied; ++between)
        pair.implied = joined[pair.source][between] && joined[between][pair.sink];
  }

  const Polyhedra& polyhedra_;
  const std::vector<int>& statements_;
  std::vector<bool> is_drawn_;
  std::vector<Range> window_;
  std::map<std::pair<int, std::vector<std::int64_t>>, int> number_;
  IterationSpace space_;
};

}  // namespace

IterationSpace iteration_space(const Nest& nest, const std::vector<int>& statements,
                               const std::array<std::string, 2>& loops) {
  return with_isl(nest.polyhedra(), [&] { return SpaceOfIterations(nest, statements, loops).run(); });
}

InstanceTimes times_of(const IterationSpace& space, const Schedule& schedule) {
  const Polyhedra& polyhedra = schedule.impl().nest.polyhedra();
  return with_isl(polyhedra, [&] {
    InstanceTimes all;
    all.times.resize(space.instances.size());
    for (std::size_t k = 0; k < space.instances.size(); ++k) {
      const IterationSpace::Instance& instance = space.instances[k];
      isl_space* at_sizes = polyhedra.sets[instance.statement].domain.space().release();
      isl_point* point = isl_point_zero(isl_space_copy(at_sizes));
      for (const auto& [name, value] : space.sizes)
        if (const int p = isl_space_find_dim_by_name(at_sizes, isl_dim_param, name.c_str()); p >= 0)
          point = isl_point_set_coordinate_val(point, isl_dim_param, p,
                                               isl::val(polyhedra.context(), value).release());
      isl_space_free(at_sizes);
      for (std::size_t l = 0; l < instance.iteration.size(); ++l)
        point = isl_point_set_coordinate_val(point, isl_dim_set, static_cast<int>(l),
                                             isl::val(polyhedra.context(), instance.iteration[l]).release());
      const isl::point at = isl::manage(point);
      for (const TimeDimension& dimension : schedule.impl().times[instance.statement]) {
        if (dimension.kind == TimeDimension::Kind::position) {
          all.times[k].push_back(dimension.value);
          continue;
        }
        all.times[k].push_back(isl::manage(isl_aff_eval(dimension.aff->copy(), at.copy())).num_si());
        auto& values = all.loops[dimension.name];
        values.resize(space.instances.size());
        values[k] = all.times[k].back();
      }
    }
    return all;
  });
}

}  // namespace warploom::tile
