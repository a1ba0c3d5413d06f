// Regions to sets and relations.
#include "tile/sets/polyhedra.hpp"

#include <fmt/format.h>
#include <isl/options.h>

#include <algorithm>

#include "tile/c/delinearise.hpp"
#include "tile/c/mentions.hpp"
#include "tile/c/predicate.hpp"
#include "tile/c/propagate.hpp"
#include "tile/c/wellformed.hpp"
#include "tile/sets/access_relations.hpp"
#include "tile/sets/flags.hpp"
#include "tile/sets/inferred_extents.hpp"
#include "tile/sets/lifetimes.hpp"
#include "tile/sets/values_in_place.hpp"

namespace warploom::tile {
namespace {

constexpr std::size_t kMostPairs = 200'000;  // of mentions: some ten seconds

/// Of isl, whose questions about integers may take for ever: some ten seconds for all accesses, and a minute
/// for all dependences.
constexpr unsigned long kMostOperations = 1'000'000, kMostForDependences = 5'000'000;

/// isl gives up after so many operations while this lives.
class Quota {
 public:
  Quota(const Polyhedra& of, unsigned long operations) : context_(of.context_owner.get()) {
    isl_ctx_reset_operations(context_);
    isl_ctx_set_max_operations(context_, operations);
  }
  ~Quota() { isl_ctx_set_max_operations(context_, 0); }
  Quota(const Quota&) = delete;
  Quota& operator=(const Quota&) = delete;

  /// Whether they are used up. isl then fails in ways of its own, too: text that it reads is wrong, it says.
  bool spent() const {
    try {
      isl::set(isl::ctx(context_), "{ [i] : 0 <= i < 2 }");
      return false;
    } catch (const isl::exception&) {
      return true;
    }
  }

 private:
  isl_ctx* context_;
};

[[noreturn]] void refuse_as_too_hard(const Region& region) {
  refuse(
      region, region.at, "function '" + region.function + "'",
      "its bounds and subscripts are too hard: integer sets gave up; give sizes, or make functions of parts of it");
}

std::shared_ptr<isl_ctx> make_context() {
  std::shared_ptr<isl_ctx> context(isl_ctx_alloc(), ContextDeleter());
  if (!context) throw OutOfMemory("integer sets: no memory for isl");
  isl_options_set_on_error(context.get(), ISL_ON_ERROR_CONTINUE);  // errors come back, nothing is printed
  return context;
}

/// Of factors that are each one number.
std::optional<std::int64_t> value_of(const ProductOfSizes& product, const std::vector<SizeRange>& sizes) {
  std::int64_t value = 1;
  for (const std::string& factor : product.factors) {
    const auto known = std::ranges::find(sizes, factor, &SizeRange::name);
    if (known == sizes.end() || !known->least || known->least != known->most ||
        __builtin_mul_overflow(value, *known->least, &value))
      return std::nullopt;
  }
  return value;
}

/// What the ranges say, over all of the region's sizes.
isl::set known_sizes(isl::ctx context, const Region& region, const std::vector<SizeRange>& sizes) {
  isl::space space = isl::space::unit(context).params();
  for (const std::string& name : region.sizes) space = space.add_param(name);
  isl::set known = isl::manage(isl_set_universe(space.release()));
  for (const SizeRange& range : sizes) {
    if (std::ranges::find(region.sizes, range.name) == region.sizes.end())
      throw BadInput(fmt::format(
          "{}: {}: size '{}' is given, but the sizes are: {}", region.file, region.function, range.name,
          region.sizes.empty() ? "none" : fmt::format("{}", fmt::join(region.sizes, ", "))));
    if (range.least && range.most && *range.least > *range.most)
      throw BadInput(fmt::format("{}: {}: size '{}' is to be from {} to {}: the range is empty", region.file,
                                 region.function, range.name, *range.least, *range.most));
    const isl::pw_aff size = known.param_pw_aff_on_domain(range.name);
    if (range.least)
      known = known.intersect(size.ge_set(known.pw_aff_on_domain(isl::val(context, *range.least))));
    if (range.most)
      known = known.intersect(size.le_set(known.pw_aff_on_domain(isl::val(context, *range.most))));
  }
  return known;
}

int loop_depth(const Node& node) {
  int inside = 0;
  for (const Node& child : node.children) inside = std::max(inside, loop_depth(child));
  return inside + (node.kind == Node::Kind::loop ? 1 : 0);
}

/// Walks the text and makes sets of what runs.
class Analysis {
 public:
  explicit Analysis(Polyhedra& polyhedra) : polyhedra_(polyhedra), region_(polyhedra.region) {}

  void run() {
    polyhedra_.depth = loop_depth(region_.body);
    polyhedra_.remarks = region_.remarks;
    positions_ = {0};
    visit(region_.body, polyhedra_.parameters);
    if (polyhedra_.statements.empty())
      refuse(region_, region_.at, "function '" + region_.function + "'", "it has no statements");
    infer_extents(polyhedra_);
    for (std::size_t s = 0; s < scopes_.size(); ++s)
      keep_within_extents(scopes_[s].statement(), polyhedra_.statements[s], polyhedra_);
    for (StatementSets& sets : polyhedra_.sets) restrict_to_sizes(sets);
    check_array_sizes();
    remark_on_aliases();
    for (const Variable& variable : region_.variables)
      if (variable.is_result)
        polyhedra_.remarks.push_back(
            fmt::format("{} is a result: {} takes a pointer to it", variable.name,
                        variable.name == region_.returned ? "a program for a GPU" : "what is written"));
  }

 private:
  /// What a StatementScope needs, kept until the extents are checked.
  struct Scope {
    AffineScope names;
    isl::multi_id tuple;
    isl::set runs;
    StatementScope statement() const { return {names, tuple, runs}; }
  };

  AffineScope names() const { return {polyhedra_.context(), region_, iterators_}; }

  void visit(const Node& node, const isl::set& runs) {
    switch (node.kind) {
      case Node::Kind::block:
        for (const Node& child : node.children) visit(child, runs);
        break;
      case Node::Kind::branch:
        visit_branch(node, runs);
        break;
      case Node::Kind::loop:
        visit_loop(node, runs);
        break;
      case Node::Kind::assignment:
        visit_assignment(node, runs);
        break;
      case Node::Kind::launch:
        throw Internal("a region of a source launches a kernel");
    }
  }

  void visit_branch(const Node& node, const isl::set& runs) {
    if (const std::optional<isl::set> holds = known_condition(node.condition)) {
      visit(node.children[0], runs.intersect(*holds));
      if (node.children.size() > 1) visit(node.children[1], runs.subtract(*holds));
      return;
    }
    visit_arm(node.children[0], node.condition, runs);
    if (node.children.size() > 1) visit_arm(node.children[1], Expression::unary("!", node.condition), runs);
  }

  /// Where a condition holds, if that can be said before the nest runs.
  std::optional<isl::set> known_condition(const Expression& condition) const {
    if (reads_data(region_, condition)) return std::nullopt;
    try {
      return affine_condition(names(), condition);
    } catch (const NotAffine&) {
      return std::nullopt;
    }
  }

  void visit_arm(const Node& node, const Expression& condition, const isl::set& runs) {
    conditions_.push_back(condition);
    arms_.push_back(arm_count_++);
    visit(node, runs);
    arms_.pop_back();
    conditions_.pop_back();
  }

  void visit_loop(const Node& node, const isl::set& runs) {
    if (std::ranges::find(iterators_, node.iterator) != iterators_.end())
      refuse(region_, node.at, fmt::format("loop '{}'", node.iterator),
             "a loop around it has the same iterator; rename one");
    const std::string role = fmt::format("bound of loop '{}'", node.iterator);
    const isl::pw_aff first = read_affine(names(), node.first, role),
                      limit = read_affine(names(), node.limit, role);
    iterators_.push_back(node.iterator);
    const isl::set inside = runs.intersect(loop_range(node, first, limit));
    if (inside.is_empty() && !runs.is_empty())
      polyhedra_.remarks.push_back(
          to_text(region_.file, Refusal{node.at, fmt::format("loop '{}'", node.iterator),
                                        "it never runs for the sizes that are allowed"}));

    loops_.push_back({loop_count_++, node.step > 0 ? 1 : -1});
    positions_.push_back(0);
    for (const std::string& local : node.locals) polyhedra_.homes[local] = loops_.size();
    for (const Node& child : node.children) visit(child, inside);
    positions_.pop_back();
    loops_.pop_back();
    iterators_.pop_back();
    ++positions_.back();
  }

  isl::set loop_range(const Node& node, const isl::pw_aff& first, const isl::pw_aff& limit) const {
    if (node.step == 0) refuse(region_, node.at, fmt::format("loop '{}'", node.iterator), "its step is 0");
    const isl::pw_aff iterator = polyhedra_.parameters.param_pw_aff_on_domain(node.iterator);
    isl::set range = node.step > 0 ? iterator.ge_set(first) : iterator.le_set(first);
    const std::string& op = node.comparison;
    if ((op == "<" || op == "<=") != (node.step > 0))
      refuse(region_, node.at, fmt::format("loop '{}'", node.iterator),
             fmt::format("the comparison '{}' and the step {} go in opposite directions", op, node.step));
    range = range.intersect(op == "<"    ? iterator.lt_set(limit)
                            : op == "<=" ? iterator.le_set(limit)
                            : op == ">"  ? iterator.gt_set(limit)
                                         : iterator.ge_set(limit));
    if (node.step == 1 || node.step == -1) return range;
    const isl::pw_aff rest = iterator.sub(first).mod(isl::val(polyhedra_.context(), std::abs(node.step)));
    return range.intersect(rest.eq_set(rest.sub(rest)));
  }

  void visit_assignment(const Node& node, const isl::set& runs) {
    const int number = static_cast<int>(polyhedra_.statements.size());
    if (node.statement != number)
      throw Internal("the statements of a region are not numbered in the order of the text");
    Statement statement;
    statement.number = number;
    statement.label = fmt::format("S{}", number);
    statement.loops = iterators_;
    statement.assignment = node;
    statement.conditions = conditions_;

    isl::id_list ids(polyhedra_.context(), static_cast<int>(iterators_.size()));
    for (const std::string& iterator : iterators_) ids = ids.add(isl::id(polyhedra_.context(), iterator));
    const isl::space tuple = isl::space::unit(polyhedra_.context())
                                 .add_named_tuple(statement.label, static_cast<unsigned>(iterators_.size()));
    scopes_.push_back({names(), tuple.multi_id(ids), runs});

    StatementSets sets;
    sets.loops = loops_;
    sets.positions = positions_;
    sets.arms = arms_;
    sets.domain = runs.unbind_params(tuple.multi_id(ids));
    sets.order = order(statement.label, sets);
    add_references(scopes_.back().statement(), statement, sets);
    polyhedra_.statements.push_back(std::move(statement));
    polyhedra_.sets.push_back(std::move(sets));
    ++positions_.back();
  }

  void restrict_to_sizes(StatementSets& sets) const {
    sets.domain = sets.domain.intersect_params(polyhedra_.parameters).coalesce();
    for (isl::map& access : sets.accesses) access = access.intersect_domain(sets.domain).coalesce();
    sets.order = sets.order.intersect_domain(sets.domain).coalesce();
  }

  /// S[i, j] -> [position, +-i, position, +-j, position, 0...]
  isl::map order(const std::string& label, const StatementSets& sets) const {
    const auto depth = sets.loops.size();
    std::string in, out = std::to_string(sets.positions[0]);
    for (std::size_t l = 0; l < depth; ++l) {
      in += fmt::format("{}i{}", l ? ", " : "", l);
      out += fmt::format(", {}i{}, {}", sets.loops[l].direction < 0 ? "-" : "", l, sets.positions[l + 1]);
    }
    for (auto l = depth; l < static_cast<std::size_t>(polyhedra_.depth); ++l) out += ", 0, 0";
    return isl::map(polyhedra_.context(), fmt::format("{{ {}[{}] -> [{}] }}", label, in, out))
        .intersect_domain(sets.domain);
  }

  /// Elements are numbered with 63 bits.
  void check_array_sizes() const {
    const AffineScope sizes_only{polyhedra_.context(), region_, {}};
    for (const Variable& variable : region_.variables) {
      isl::val bytes(polyhedra_.context(), size_of(variable.type));
      for (const Expression& extent : variable.extents) {
        const isl::val most = read_affine(sizes_only, extent, "extent of '" + variable.name + "'")
                                  .intersect_params(polyhedra_.parameters)
                                  .max_val();
        bytes = most.is_int() ? bytes.mul(most) : isl::val::infty(polyhedra_.context());
        if (!bytes.is_int()) break;  // not known how large
      }
      if (bytes.is_int() &&
          bytes.gt(isl::val(polyhedra_.context(), std::numeric_limits<std::int64_t>::max())))
        refuse(region_, variable.at, "array '" + variable.name + "'",
               "the sizes that are allowed make it larger than 2^63 bytes; allow smaller ones");
    }
  }

  void remark_on_aliases() {
    std::string arrays;
    int count = 0;
    for (const Variable& variable : region_.variables) {
      if (variable.extents.empty() || !variable.is_parameter) continue;
      arrays += fmt::format("{}{}", count++ ? ", " : "", variable.name);
    }
    if (count > 1) polyhedra_.remarks.push_back(fmt::format("{} are assumed not to overlap", arrays));
  }

  Polyhedra& polyhedra_;
  const Region& region_;
  std::vector<std::string> iterators_;
  std::vector<SourceLoop> loops_;
  std::vector<int> positions_;
  std::vector<Expression> conditions_;  ///< on data, around
  std::vector<int> arms_;
  int loop_count_ = 0, arm_count_ = 0;
  std::vector<Scope> scopes_;
};

}  // namespace

std::shared_ptr<Polyhedra> sets_of(Region region, std::vector<SizeRange> sizes) {
  if (!region.refusals.empty()) {
    std::string text;
    for (const Refusal& refusal : region.refusals)
      text += (text.empty() ? "" : "\n") + to_text(region.file, refusal);
    throw BadInput(text);
  }
  check(region);
  if (const std::size_t pairs = pairs_of_mentions(region); pairs > kMostPairs)
    refuse(region, region.at, "function '" + region.function + "'",
           fmt::format(
               "{} assignments and mentions of the same variables may depend on each other, at most {} are "
               "looked at; make functions of parts of it",
               pairs, kMostPairs));
  for (const ProductOfSizes& product : delinearise(region))
    if (const auto value = value_of(product, sizes)) sizes.push_back({product.name, value, value});
  predicate(region);
  propagate_scalars(region);
  return with_isl([&] {
    auto polyhedra = std::make_shared<Polyhedra>();
    polyhedra->context_owner = make_context();
    polyhedra->region = std::move(region);
    polyhedra->sizes = std::move(sizes);
    polyhedra->parameters = known_sizes(polyhedra->context(), polyhedra->region, polyhedra->sizes);
    {
      const Quota quota(*polyhedra, kMostOperations);
      try {
        Analysis(*polyhedra).run();
        find_lifetimes(*polyhedra);
      } catch (const isl::exception&) {
        if (quota.spent()) refuse_as_too_hard(polyhedra->region);
        throw;
      }
    }
    if (std::optional<Region> simpler = with_value_in_place(*polyhedra))
      return sets_of(*std::move(simpler), std::move(polyhedra->sizes));
    return polyhedra;
  });
}

Nest Nest::analyse(Region region, std::vector<SizeRange> sizes) {
  Nest nest;
  std::shared_ptr<Polyhedra> polyhedra = sets_of(std::move(region), std::move(sizes));
  const Quota quota(*polyhedra, kMostForDependences);
  try {
    find_flags(*polyhedra);
    find_dependences(*polyhedra);
  } catch (const isl::exception&) {
    if (quota.spent()) refuse_as_too_hard(polyhedra->region);
    const Region& read = polyhedra->region;
    refuse(read, read.at, "function '" + read.function + "'",
           "its numbers are too large for the search for dependences");
  }
  nest.polyhedra_ = std::move(polyhedra);
  return nest;
}

const Polyhedra& Nest::polyhedra() const {
  if (polyhedra_ == nullptr) throw BadInput("a loop nest that was not analysed, or was moved from");
  return *polyhedra_;
}
const Region& Nest::region() const { return polyhedra().region; }
const std::vector<Statement>& Nest::statements() const { return polyhedra().statements; }
const std::vector<SizeRange>& Nest::sizes() const { return polyhedra().sizes; }
const std::vector<std::string>& Nest::remarks() const { return polyhedra().remarks; }

std::size_t common_loops(const StatementSets& a, const StatementSets& b) {
  std::size_t common = 0;
  while (common < a.loops.size() && common < b.loops.size() &&
         a.loops[common].number == b.loops[common].number)
    ++common;
  return common;
}

bool share_loops(const Polyhedra& polyhedra, int a, int b, const std::vector<std::string>& loops) {
  const std::vector<std::string>& around = polyhedra.statements[a].loops;
  const auto common = static_cast<std::ptrdiff_t>(common_loops(polyhedra.sets[a], polyhedra.sets[b]));
  return std::ranges::all_of(loops, [&](const std::string& loop) {
    return std::ranges::find(around, loop) - around.begin() < common;
  });
}

SmallestPoint smallest_point(const isl::set& set, const Polyhedra& polyhedra) {
  const auto sizes = static_cast<unsigned>(polyhedra.region.sizes.size());
  isl::set positive =
      isl::manage(isl_set_align_params(set.copy(), isl_set_get_space(polyhedra.parameters.get())));
  positive =
      isl::manage(isl_set_move_dims(positive.flatten().release(), isl_dim_set, 0, isl_dim_param, 0, sizes));
  const isl::set all = positive;
  const auto least_at_least = [&](int of_flags) {
    isl::set some = all;
    for (unsigned s = 0; s < sizes; ++s)
      some = isl::manage(
          isl_set_lower_bound_si(some.release(), isl_dim_set, s,
                                 polyhedra.flags.contains(polyhedra.region.sizes[s]) ? of_flags : 1));
    return some.lexmin();
  };
  isl::set least = least_at_least(1);
  if (!polyhedra.flags.empty() && least.is_empty()) least = least_at_least(0);
  const isl::point point = least.is_empty() ? all.sample_point() : least.sample_point();
  SmallestPoint smallest;
  for (unsigned d = 0; d < all.tuple_dim(); ++d) {
    const isl::val value =
        isl::manage(isl_point_get_coordinate_val(point.get(), isl_dim_set, static_cast<int>(d)));
    (d < sizes ? smallest.sizes : smallest.coordinates).push_back(value.num_si());
  }
  return smallest;
}

Witness witness_of(const isl::map& pairs, const Polyhedra& polyhedra) {
  const SmallestPoint point = smallest_point(pairs.wrap(), polyhedra);
  const auto middle = point.coordinates.begin() + isl_map_dim(pairs.get(), isl_dim_in);
  Witness witness;
  witness.source.assign(point.coordinates.begin(), middle);
  witness.sink.assign(middle, point.coordinates.end());
  for (std::size_t s = 0; s < point.sizes.size(); ++s)
    witness.sizes.emplace_back(polyhedra.region.sizes[s], point.sizes[s]);
  return witness;
}

}  // namespace warploom::tile
