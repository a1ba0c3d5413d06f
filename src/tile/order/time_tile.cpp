// Tiles of a time loop and of the space that its statements write, which moves with time.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "tile/order/schedule.hpp"
#include "warploom/core/error.hpp"

namespace warploom::tile {
namespace {

using Times = std::vector<std::vector<TimeDimension>>;

class TimeTiling {
 public:
  TimeTiling(const Nest& nest, Times& times, const TimeTile& step)
      : nest_(nest), polyhedra_(nest.polyhedra()), times_(times), step_(step) {}

  void run() {
    constexpr std::int64_t kMost = std::int64_t{1} << 30;  // iterators are int
    if (step_.sizes.size() < 2 ||
        std::ranges::any_of(step_.sizes, [](std::int64_t size) { return size < 1 || size > kMost; }))
      fail("it takes the size of the time loop and of at least one dimension, each from 1 to 2^30");
    std::vector<bool> done(times_.size(), false);
    bool found = false;
    for (std::size_t s = 0; s < times_.size(); ++s) {
      slot_ = slot_of_loop(times_[s]);
      if (done[s] || slot_ == times_[s].size()) continue;
      if (!step_.statements.empty() &&
          std::ranges::find(step_.statements, static_cast<int>(s)) == step_.statements.end())
        continue;
      found = true;
      const std::vector<TimeDimension> sample = times_[s];
      statements_.clear();
      for (std::size_t other = 0; other < times_.size(); ++other)
        if (same_until(sample, times_[other], slot_ + 1)) {
          statements_.push_back(static_cast<int>(other));
          done[other] = true;
        }
      tile();
    }
    if (!found) fail("there is no such loop");
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw BadInput(fmt::format("{}: {}: time-tile {}={}: {}", nest_.region().file, nest_.region().function,
                               step_.loop, fmt::join(step_.sizes, ", "), why));
  }

  std::size_t slot_of_loop(const std::vector<TimeDimension>& times) const {
    std::size_t slot = 0;
    while (slot < times.size() &&
           (times[slot].kind == TimeDimension::Kind::position || times[slot].name != step_.loop))
      ++slot;
    return slot;
  }

  void tile() {
    const std::size_t dimensions = step_.sizes.size() - 1;
    // y[s][0] is time, y[s][d] dimension d of what s writes, moved so that no dependence goes backwards along
    // it.
    y_.assign(times_.size(), {});
    for (const int s : statements_) y_[s].push_back(*times_[s][slot_].aff);
    for (std::size_t d = 0; d < dimensions; ++d) {
      std::vector<isl::aff> x(times_.size());
      for (const int s : statements_) x[s] = written(s, d, dimensions);
      shift(x);
      for (std::size_t before = d + 1; before-- > 0;) skew(x, before);
      for (const int s : statements_) y_[s].push_back(x[s]);
    }
    add_strips();
  }

  /// Subscript d of the element that the statement writes.
  isl::aff written(int s, std::size_t d, std::size_t dimensions) const {
    const Statement& statement = nest_.statements()[s];
    const Reference& reference = statement.references.back();  // writes are last
    if (reference.coefficients.size() != dimensions || !reference.is_linear(statement.loops.size()))
      fail(fmt::format("S{} writes {}, which has no {} subscripts that are sums of loops", s,
                       to_text(reference.element), dimensions));
    const isl::set& domain = polyhedra_.sets[s].domain;
    isl::aff sum =
        isl::aff::zero_on_domain(domain.space()).add_constant(static_cast<long>(reference.constants[d]));
    for (const std::int64_t size : reference.size_coefficients[d])
      if (size != 0) fail(fmt::format("a subscript of {} counts from a size", to_text(reference.element)));
    for (std::size_t l = 0; l < statement.loops.size(); ++l)
      sum = sum.add(iterator_aff(domain, static_cast<int>(l))
                        .scale(isl::val(domain.ctx(), static_cast<long>(reference.coefficients[d][l]))));
    return sum;
  }

  /// The differences along y[0], ..., y[before] and x, of dependent iterations that agree outside.
  isl::set differences(const DependenceRelation& relation, const std::vector<isl::aff>& x,
                       std::size_t before) const {
    const auto functions = [&](int s) {
      std::vector<isl::aff> all;
      for (std::size_t d = 0; d < slot_; ++d)
        if (times_[s][d].kind != TimeDimension::Kind::position) all.push_back(*times_[s][d].aff);
      for (std::size_t k = 0; k <= before; ++k) all.push_back(y_[s][k]);
      all.push_back(x[s]);
      return onto(polyhedra_.sets[s].domain, all);
    };
    const int source = relation.summary.source, sink = relation.summary.sink;
    isl::set deltas = isl::manage(isl_map_deltas(
        relation.pairs.apply_domain(functions(source)).apply_range(functions(sink)).release()));
    const auto outside = static_cast<unsigned>(isl_set_dim(deltas.get(), isl_dim_set) - before - 2);
    for (unsigned d = 0; d < outside; ++d)
      deltas = isl::manage(isl_set_fix_si(deltas.release(), isl_dim_set, d, 0));
    return isl::manage(isl_set_project_out(deltas.release(), isl_dim_set, 0, outside));
  }

  template <class Use>
  void for_each_dependence(Use&& use) const {
    const auto inside = [&](int s) { return std::ranges::find(statements_, s) != statements_.end(); };
    for (const DependenceRelation& relation : polyhedra_.dependences)
      if (inside(relation.summary.source) && inside(relation.summary.sink)) use(relation);
  }

  std::int64_t least(const isl::set& set, unsigned dimension) const {
    const isl::val value = set.dim_min_val(static_cast<int>(dimension));
    if (!value.is_int()) fail("what is written within one step is read at any distance in a later one");
    return value.num_si();
  }

  /// Within one time step a statement stays as far behind others as their values reach.
  void shift(std::vector<isl::aff>& x) const {
    std::vector<std::int64_t> by(times_.size(), 0);
    struct Edge {
      int source, sink;
      std::int64_t distance;
    };
    std::vector<Edge> edges;
    for_each_dependence([&](const DependenceRelation& relation) {
      const int source = relation.summary.source, sink = relation.summary.sink;
      if (source == sink) return;
      const isl::set now =
          isl::manage(isl_set_fix_si(differences(relation, x, 0).release(), isl_dim_set, 0, 0));
      if (!now.is_empty()) edges.push_back({source, sink, -least(now, 1)});
    });
    for (std::size_t round = 0; round <= statements_.size(); ++round)
      for (const Edge& edge : edges) by[edge.sink] = std::max(by[edge.sink], by[edge.source] + edge.distance);
    for (const Edge& edge : edges)
      if (by[edge.sink] < by[edge.source] + edge.distance) fail("statements of one step wait for each other");
    for (const int s : statements_) x[s] = x[s].add_constant(static_cast<long>(by[s]));
  }

  /// x moves on with y[before] as fast as dependences go back that y[before] is the first to carry.
  void skew(std::vector<isl::aff>& x, std::size_t before) const {
    std::int64_t factor = 0;
    for_each_dependence([&](const DependenceRelation& relation) {
      isl::set carried = differences(relation, x, before);
      for (unsigned k = 0; k < before; ++k)
        carried = isl::manage(isl_set_fix_si(carried.release(), isl_dim_set, k, 0));
      carried = isl::manage(
          isl_set_lower_bound_si(carried.release(), isl_dim_set, static_cast<unsigned>(before), 1));
      if (!carried.is_empty()) factor = std::max(factor, -least(carried, static_cast<unsigned>(before) + 1));
    });
    if (factor == 0) return;
    for (const int s : statements_)
      x[s] = x[s].add(y_[s][before].scale(isl::val(x[s].ctx(), static_cast<long>(factor))));
  }

  /// Waves of tiles, the tiles of a wave, then what was there.
  void add_strips() {
    const TimeDimension apart;
    for (const int s : statements_) {
      std::vector<TimeDimension> outside;
      TimeDimension wave = strip_of(loop_of(s, 0), step_.sizes[0], 0, "wave");
      for (std::size_t k = 0; k < y_[s].size(); ++k)
        outside.push_back(strip_of(loop_of(s, k), step_.sizes[k], 0, strip_name(k)));
      const auto tiles = [&](std::size_t k) {
        return outside[k].aff->scale_down(isl::val(outside[k].aff->ctx(), static_cast<long>(step_.sizes[k])));
      };
      wave.aff = tiles(0).add(tiles(1));
      outside.insert(outside.begin(), wave);
      std::vector<TimeDimension> with_positions;
      for (const TimeDimension& dimension : outside) {
        with_positions.push_back(dimension);
        with_positions.push_back(apart);
      }
      times_[s].insert(times_[s].begin() + static_cast<std::ptrdiff_t>(slot_), with_positions.begin(),
                       with_positions.end());
    }
  }

  TimeDimension loop_of(int s, std::size_t k) const {
    TimeDimension loop;
    loop.kind = TimeDimension::Kind::loop;
    loop.aff = y_[s][k];
    return loop;
  }

  /// "tt", then by the loops of the statement that has the most.
  std::string strip_name(std::size_t k) const {
    std::vector<std::string> names;
    for (const int s : statements_)
      if (nest_.statements()[s].loops.size() > names.size()) names = nest_.statements()[s].loops;
    const auto at = static_cast<std::size_t>(std::ranges::find(names, step_.loop) - names.begin()) + k;
    const std::string loop = at < names.size() ? names[at] : "x" + std::to_string(k);
    return loop.size() == 1 ? loop + loop : loop + "_strip";
  }

  const Nest& nest_;
  const Polyhedra& polyhedra_;
  Times& times_;
  const TimeTile& step_;
  std::size_t slot_ = 0;
  std::vector<int> statements_;
  std::vector<std::vector<isl::aff>> y_;
};

}  // namespace

void tile_in_time(const Nest& nest, std::vector<std::vector<TimeDimension>>& times, const TimeTile& step) {
  TimeTiling(nest, times, step).run();
}

}  // namespace warploom::tile
