#include "tile/sets/value_flow.hpp"

namespace warploom::tile {
namespace {

/// Calls use(statement, access) for every write of the variable.
template <class Use>
void for_each_write(const Polyhedra& polyhedra, const std::string& variable, Use&& use) {
  for (const Statement& statement : polyhedra.statements)
    for (const Reference& reference : statement.references)
      if (reference.is_write && reference.element.text == variable)
        use(statement.number, polyhedra.sets[statement.number].accesses[reference.number]);
}

}  // namespace

const ReadSources& ValueFlow::sources(int statement, int reference) {
  const auto [place, is_new] = known_.try_emplace({statement, reference});
  ReadSources& result = place->second;
  if (!is_new) return result;

  const StatementSets& reader = polyhedra_.sets[statement];
  const isl::map& read = reader.accesses[reference];
  isl::union_map order = reader.order.to_union_map();
  isl::union_map writes = isl::map::empty(read.space()).to_union_map(), may_write = writes;
  std::vector<int> writers;
  for_each_write(polyhedra_, polyhedra_.statements[statement].references[reference].element.text,
                 [&](int writer, const isl::map& write) {
                   isl::union_map& kind = is_sure(writer) ? writes : may_write;
                   kind = kind.unite(write.to_union_map());
                   order = order.unite(polyhedra_.sets[writer].order.to_union_map());
                   writers.push_back(writer);
                 });
  const isl::union_flow flow = isl::union_access_info(read.to_union_map())
                                   .set_must_source(writes)
                                   .set_may_source(may_write)
                                   .set_schedule_map(order)
                                   .compute_flow();
  const isl::union_map from = flow.may_dependence();
  for (const int writer : writers) {
    const isl::map map = from.extract_map(isl::manage(isl_space_map_from_domain_and_range(
        polyhedra_.sets[writer].domain.space().release(), reader.domain.space().release())));
    if (!map.is_empty()) result.writers.emplace_back(writer, map);
  }
  result.from_before = flow.may_no_source().extract_map(read.space()).domain();
  result.surely_from_before = reader.domain;
  for (const auto& [writer, pairs] : result.writers)
    result.surely_from_before = result.surely_from_before.subtract(pairs.range());
  return result;
}

bool ValueFlow::is_sure(int writer) const {
  return polyhedra_.sets[writer].arms.empty() && polyhedra_.statements[writer].references.back().is_exact;
}

bool ValueFlow::reads_only_old_values(int statement, int reference) {
  return polyhedra_.sets[statement].domain.is_subset(sources(statement, reference).surely_from_before);
}

isl::set ValueFlow::last_writes(int statement, const std::string& variable) const {
  const isl::map& order = polyhedra_.sets[statement].order;
  isl::map times, ours;  // element -> times of its writes
  for_each_write(polyhedra_, variable, [&](int writer, const isl::map& write) {
    const isl::map written = write.reverse().apply_range(polyhedra_.sets[writer].order);
    times = times.is_null() ? written : times.unite(written);
    if (writer == statement) ours = ours.is_null() ? written : ours.unite(written);
  });
  if (ours.is_null()) return polyhedra_.sets[statement].domain.subtract(polyhedra_.sets[statement].domain);
  return ours.intersect(times.lexmax()).range().apply(order.reverse());
}

}  // namespace warploom::tile
