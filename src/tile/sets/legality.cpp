// The one test of legality: does a pair of a dependence run the other way round?
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "tile/order/later.hpp"
#include "tile/order/schedule.hpp"
#include "tile/sets/lifetimes.hpp"

namespace warploom::tile {
namespace {

using StatementTime = std::vector<TimeDimension>;

/// One component of the times as a function of the iterations.
isl::aff function_of(const TimeDimension& dimension, const isl::space& domain) {
  return dimension.aff ? *dimension.aff
                       : domain.zero_aff_on_domain().add_constant(static_cast<long>(dimension.value));
}

/// What a component is in the sink more than in the source, as a function of pairs. Made of constraints on
/// pairs alone: maps to times would be composed, and projected out again.
isl::aff difference(const TimeDimension& source, const TimeDimension& sink, const isl::space& pairs) {
  isl_aff* from = isl_aff_pullback_multi_aff(function_of(source, pairs.domain()).release(),
                                             isl_multi_aff_domain_map(pairs.copy()));
  isl_aff* to = isl_aff_pullback_multi_aff(function_of(sink, pairs.range()).release(),
                                           isl_multi_aff_range_map(pairs.copy()));
  return isl::manage(isl_aff_sub(to, from));
}
isl::map unwrapped(isl_basic_set* pairs) {
  return isl::manage(isl_map_from_basic_map(isl_basic_set_unwrap(pairs)));
}
isl::map where_negative(const isl::aff& difference) {
  return unwrapped(isl_aff_neg_basic_set(difference.copy()));
}
isl::map where_zero(const isl::aff& difference) {
  return unwrapped(isl_aff_zero_basic_set(difference.copy()));
}

const TimeDimension& component(const StatementTime& times, std::size_t d) {
  static const TimeDimension padding;
  return d < times.size() ? times[d] : padding;
}

}  // namespace

/// Component by component, as dictionaries compare.
isl::map turned_round(isl::map pairs, const Polyhedra& polyhedra, const Dependence& dependence,
                      const StatementTime& source, const StatementTime& sink) {
  const isl::space space = pairs.space();
  const Later later(polyhedra, dependence);
  isl::map turned = isl::map::empty(space);
  for (std::size_t d = 0; d < std::max(source.size(), sink.size()); ++d) {
    const TimeDimension &a = component(source, d), &b = component(sink, d);
    const LaterBy more = later.of(a, b);
    if (more.least && *more.least > 0) return turned;
    if (more.most && *more.most < 0) break;
    const bool none_is_negative = more.least && *more.least == 0;
    if (none_is_negative && more.most && *more.most == 0) continue;
    const isl::aff difference_here = difference(a, b, space);
    if (!none_is_negative) turned = turned.unite(pairs.intersect(where_negative(difference_here)));
    pairs = pairs.intersect(where_zero(difference_here));
    if (pairs.is_empty()) return turned;
  }
  return turned.unite(pairs);
}

namespace {

/// The element that a reference touches in one iteration: "A[2][0]".
std::string element_text(const Polyhedra& polyhedra, int statement, int reference,
                         const std::vector<std::int64_t>& iteration, const Witness& witness) {
  isl::map access = polyhedra.sets[statement].accesses[reference];
  const auto fix = [&](isl_dim_type type, int at, std::int64_t value) {
    if (at >= 0)
      access = isl::manage(isl_map_fix_val(access.copy(), type, static_cast<unsigned>(at),
                                           isl::val(polyhedra.context(), value).release()));
  };
  for (std::size_t l = 0; l < iteration.size(); ++l) fix(isl_dim_in, static_cast<int>(l), iteration[l]);
  for (const auto& [size, value] : witness.sizes)
    fix(isl_dim_param, isl_map_find_dim_by_name(access.get(), isl_dim_param, size.c_str()), value);
  const isl::set element = access.range();
  std::string text = polyhedra.statements[statement].references[reference].element.text;
  const isl::point point = element.sample_point();
  for (unsigned d = 0; d < element.tuple_dim(); ++d)
    text += fmt::format(
        "[{}]",
        isl::manage(isl_point_get_coordinate_val(point.get(), isl_dim_set, static_cast<int>(d))).num_si());
  return text;
}

/// "would run (2, 0) before (1, 1), which writes A[2][0] that it reads: flow dependence S0 -> S0, distance
/// (1, -1)"
std::string reason(const Polyhedra& polyhedra, const Dependence& dependence) {
  const Statement &source = polyhedra.statements[dependence.source],
                  &sink = polyhedra.statements[dependence.sink];
  const auto instance = [&](const Statement& statement, const std::vector<std::int64_t>& iteration) {
    return fmt::format("{}({})", source.number == sink.number ? "" : statement.label + " ",
                       fmt::join(iteration, ", "));
  };
  const Witness& witness = dependence.witness;
  const std::string element =
      element_text(polyhedra, source.number, dependence.source_reference, witness.source, witness);
  const std::string conflict =
      dependence.kind == DependenceKind::flow   ? "writes " + element + " that it reads"
      : dependence.kind == DependenceKind::anti ? "reads " + element + " that it overwrites"
                                                : "writes " + element + " too";
  std::vector<std::int64_t> distance;
  for (std::size_t l = 0; l < dependence.distance.size(); ++l)
    distance.push_back((witness.sink[l] - witness.source[l]) *
                       polyhedra.sets[source.number].loops[l].direction);
  std::string sizes;
  for (const auto& [size, value] : witness.sizes)
    sizes += fmt::format("{}{} = {}", sizes.empty() ? "" : ", ", size, value);
  return fmt::format("would run {} before {}, which {}{}: {} dependence {} -> {}, distance ({})",
                     instance(sink, witness.sink), instance(source, witness.source), conflict,
                     sizes.empty() ? "" : " (" + sizes + ")", name(dependence.kind), source.label, sink.label,
                     fmt::join(distance, ", "));
}

/// The loops that steps permute or tile, as a band: in the order in which they nest, around the first of the
/// statements that the steps mean and those that share these loops with it.
Band loops_of(const Nest& nest, const std::vector<Step>& steps) {
  std::vector<std::string> named;
  std::set<int> meant;  // empty: all
  const auto around = [&](const std::vector<int>& statements) {
    meant.insert(statements.begin(), statements.end());
  };
  for (const Step& step : steps) {
    if (const auto* permute = std::get_if<Permute>(&step)) {
      named.insert(named.end(), permute->order.begin(), permute->order.end());
      around(permute->statements);
    }
    if (const auto* tile = std::get_if<Tile>(&step)) {
      for (const auto& [loop, size] : tile->sizes) named.push_back(loop);
      around(tile->statements);
    }
  }
  Band band;
  const auto contains = [](const std::vector<std::string>& list, const std::string& item) {
    return std::ranges::find(list, item) != list.end();
  };
  for (const Statement& statement : nest.statements()) {
    if (!meant.empty() && !meant.contains(statement.number)) continue;
    std::vector<std::string> loops;
    for (const std::string& loop : statement.loops)
      if (contains(named, loop)) loops.push_back(loop);
    if (loops.empty()) continue;
    if (!band.loops.empty() && (loops != band.loops || !share_loops(nest.polyhedra(), band.statements.front(),
                                                                    statement.number, loops)))
      continue;
    band.loops = loops;
    band.statements.push_back(statement.number);
  }
  return band;
}

Schedule after_steps(Schedule schedule, const std::vector<Step>& steps) {
  for (const Step& step : steps) schedule = schedule.then(step);
  return schedule;
}

/// "; `skew` j=1*i makes it legal", if that is so.
std::string advice(const Nest& nest, const std::vector<Step>& steps) {
  const auto skews = skew_for_tiling(nest, loops_of(nest, steps));
  if (!skews || skews->empty()) return "";
  std::vector<Step> all(skews->begin(), skews->end());
  std::string options;
  for (const Skew& skew : *skews) options += fmt::format(" `skew` {}={}*{}", skew.loop, skew.factor, skew.by);
  all.insert(all.end(), steps.begin(), steps.end());
  if (!after_steps(Schedule::of_source(nest), all).verdict().legal) return "";
  return fmt::format(";{} before {} legal", options, skews->size() > 1 ? "make it" : "makes it");
}

/// Whether a statement's iterations have the times that the source gives them.
bool same_times(const StatementTime& a, const StatementTime& b) {
  return std::ranges::equal(a, b, [](const TimeDimension& one, const TimeDimension& other) {
    if (one.kind != other.kind || one.value != other.value || !one.aff != !other.aff) return false;
    return !one.aff || isl_aff_plain_is_equal(one.aff->get(), other.aff->get()) == isl_bool_true;
  });
}

/// Whether two statements' iterations follow each other as in the source: the same loops, and positions in
/// the same order, whatever their numbers (distribution gives all statements new ones).
bool same_order(const StatementTime& a, const StatementTime& b, const StatementTime& source_a,
                const StatementTime& source_b) {
  const auto same_loops = [](const StatementTime& one, const StatementTime& other) {
    return std::ranges::equal(one, other, [](const TimeDimension& x, const TimeDimension& y) {
      return x.kind == y.kind && !x.aff == !y.aff &&
             (!x.aff || isl_aff_plain_is_equal(x.aff->get(), y.aff->get()) == isl_bool_true);
    });
  };
  if (!same_loops(a, source_a) || !same_loops(b, source_b)) return false;
  for (std::size_t d = 0; d < std::min(a.size(), b.size()); ++d)
    if (!a[d].aff && !b[d].aff && (a[d].value <=> b[d].value) != (source_a[d].value <=> source_b[d].value))
      return false;
  return true;
}

/// Iterations that have a variable of their own each share one in memory, or one a thread: none may write it
/// between a write and a read of the value in another.
class Overwriting {
 public:
  /// @param moves  of each statement, whether its times are not the source's
  Overwriting(const Schedule::Impl& schedule, const std::vector<bool>& moves)
      : schedule_(schedule), polyhedra_(schedule.nest.polyhedra()), moves_(moves) {}

  Verdict verdict() const {
    for (const DependenceRelation& flow : polyhedra_.dependences) {
      const std::string& variable = variable_of(flow.summary);
      const auto lifetimes = polyhedra_.lifetimes.find(variable);
      if (flow.summary.kind != DependenceKind::flow || lifetimes == polyhedra_.lifetimes.end()) continue;
      const auto moved = [&](const auto& named) { return moves_[static_cast<std::size_t>(named.first)]; };
      if (std::ranges::none_of(lifetimes->second, moved)) continue;
      // No value goes from one group to another.
      const auto source = lifetimes->second.find(flow.summary.source),
                 sink = lifetimes->second.find(flow.summary.sink);
      if (source == lifetimes->second.end() || sink == lifetimes->second.end() ||
          source->second.group != sink->second.group)
        continue;
      const std::size_t prefix = common_times(flow);
      for (const auto& [other, lifetime] : lifetimes->second)
        if (writes(other, variable) && !own_iteration(flow.summary.source, other, variable, prefix))
          if (std::optional<Verdict> broken = between(flow, other, variable, prefix)) return *broken;
    }
    return {};
  }

 private:
  const std::string& variable_of(const Dependence& d) const {
    return polyhedra_.statements[d.source].references[d.source_reference].element.text;
  }
  bool writes(int s, const std::string& variable) const {
    return polyhedra_.statements[s].assignment.target.text == variable;
  }

  /// How many components of the times agree for each pair: the first ones.
  std::size_t common_times(const DependenceRelation& flow) const {
    const StatementTime &a = schedule_.times[flow.summary.source], &b = schedule_.times[flow.summary.sink];
    for (std::size_t d = 0; d < std::min(a.size(), b.size()); ++d) {
      if (!a[d].aff && !b[d].aff) {
        if (a[d].value != b[d].value) return d;
        continue;
      }
      if (!flow.pairs.is_subset(where_zero(difference(a[d], b[d], flow.pairs.space())))) return d;
    }
    return std::min(a.size(), b.size());
  }

  /// Whether writes that agree in the first components of the times have the variable in common.
  bool own_iteration(int a, int b, const std::string& variable, std::size_t prefix) const {
    const std::size_t depth = shared_lifetime(polyhedra_, variable, a, b);
    const auto is_iterator = [&](int s, std::size_t component, std::size_t loop) {
      const StatementTime& times = schedule_.times[s];
      if (component >= times.size() || times[component].kind != TimeDimension::Kind::loop) return false;
      const isl::aff iterator = iterator_aff(polyhedra_.sets[s].domain, static_cast<int>(loop));
      return isl_aff_plain_is_equal(times[component].aff->get(), iterator.get()) == isl_bool_true ||
             isl_aff_plain_is_equal(times[component].aff->get(), iterator.neg().get()) == isl_bool_true;
    };
    std::size_t known = 0;
    for (std::size_t loop = 0; loop < depth; ++loop)
      for (std::size_t d = 0; d < prefix; ++d)
        if (is_iterator(a, d, loop) && is_iterator(b, d, loop)) {
          ++known;
          break;
        }
    return known == depth;
  }

  /// Iterations of `a` and later ones of `b` whose times agree in the first components.
  isl::map before(int a, int b, std::size_t prefix) const {
    const StatementTime &first = schedule_.times[a], &second = schedule_.times[b];
    isl::map same = isl::manage(
        isl_map_from_domain_and_range(polyhedra_.sets[a].domain.copy(), polyhedra_.sets[b].domain.copy()));
    const isl::space space = same.space();
    isl::map before = isl::map::empty(space);
    for (std::size_t d = 0; d < std::max(first.size(), second.size()); ++d) {
      const TimeDimension &one = component(first, d), &other = component(second, d);
      if (!one.aff && !other.aff) {
        if (one.value == other.value) continue;
        return d >= prefix && one.value < other.value ? before.unite(same) : before;
      }
      // Negative where the second comes first: turned round for those that come later.
      const isl::aff later = difference(one, other, space);
      if (d >= prefix) before = before.unite(same.intersect(where_negative(later.neg())));
      same = same.intersect(where_zero(later));
    }
    return before;
  }

  /// Exactly.
  std::optional<Verdict> between(const DependenceRelation& flow, int other, const std::string& variable,
                                 std::size_t prefix) const {
    const int source = flow.summary.source, sink = flow.summary.sink;
    isl::map foreign = before(source, other, prefix), own = foreign;
    for (std::size_t l = 0; l < shared_lifetime(polyhedra_, variable, source, other); ++l)
      own = isl::manage(
          isl_map_equate(own.release(), isl_dim_in, static_cast<int>(l), isl_dim_out, static_cast<int>(l)));
    foreign = foreign.subtract(own);
    const isl::map rest = before(other, sink, prefix);
    const isl::map broken = foreign.apply_range(rest).intersect(flow.pairs);
    if (broken.is_empty()) return std::nullopt;
    Dependence dependence = flow.summary;
    dependence.witness = witness_of(broken, polyhedra_);
    const Statement &writer = polyhedra_.statements[source], &reader = polyhedra_.statements[sink];
    std::string why = fmt::format(
        "would let {} overwrite {} between {}({}), which writes it, and {}({}), which reads it: {} would have to be an array over {}",
        polyhedra_.statements[other].label, variable, writer.label,
        fmt::join(dependence.witness.source, ", "), reader.label, fmt::join(dependence.witness.sink, ", "),
        variable,
        fmt::join(std::vector<std::string>(writer.loops.begin(),
                                           writer.loops.begin() + static_cast<std::ptrdiff_t>(shared_lifetime(
                                                                      polyhedra_, variable, source, sink))),
                  ", "));
    return Verdict{false, std::move(dependence), std::move(why)};
  }

  const Schedule::Impl& schedule_;
  const Polyhedra& polyhedra_;
  const std::vector<bool>& moves_;
};

}  // namespace

Verdict Schedule::verdict(bool reorder_reductions) const {
  const Polyhedra& polyhedra = impl_->nest.polyhedra();
  return with_isl(polyhedra, [&] {
    const Schedule source = of_source(impl_->nest);
    std::vector<bool> moves;
    for (std::size_t s = 0; s < impl_->times.size(); ++s)
      moves.push_back(!same_times(impl_->times[s], source.impl_->times[s]));
    for (const DependenceRelation& relation : polyhedra.dependences) {
      Dependence dependence = relation.summary;
      if (dependence.reduction && reorder_reductions) continue;
      if (!moves[dependence.source] && !moves[dependence.sink]) continue;  // as in the source
      if (same_order(impl_->times[dependence.source], impl_->times[dependence.sink],
                     source.impl_->times[dependence.source], source.impl_->times[dependence.sink]))
        continue;
      const isl::map turned = turned_round(relation.pairs, polyhedra, dependence,
                                           impl_->times[dependence.source], impl_->times[dependence.sink]);
      if (turned.is_empty()) continue;
      dependence.witness = witness_of(turned, polyhedra);
      std::string why = reason(polyhedra, dependence);
      return Verdict{false, std::move(dependence), std::move(why)};
    }
    return Overwriting(*impl_, moves).verdict();
  });
}

Schedule transform(const Nest& nest, const std::vector<Step>& steps, bool reorder_reductions) {
  Schedule schedule = after_steps(Schedule::of_source(nest), steps);
  const Verdict verdict = schedule.verdict(reorder_reductions);
  if (verdict.legal) return schedule;
  std::vector<std::string> texts;
  for (const Step& step : steps) texts.push_back(to_text(step));
  throw BadInput(fmt::format("{}: {}: {} {}{}", nest.region().file, nest.region().function,
                             fmt::join(texts, "; "), verdict.reason, advice(nest, steps)));
}

}  // namespace warploom::tile
