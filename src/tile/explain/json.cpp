#include "warploom/json/json.hpp"

#include "tile/c/wellformed.hpp"
#include "warploom/tile/explain.hpp"

namespace warploom::tile {
namespace {

Json as_json(const Component& component) {
  if (component.least && component.least == component.most) return *component.least;
  return {{"least", component.least ? Json(*component.least) : Json()},
          {"most", component.most ? Json(*component.most) : Json()}};
}

Json as_json(const Witness& witness) {
  Json sizes = Json::object();
  for (const auto& [name, value] : witness.sizes) sizes[name] = value;
  return {{"source", witness.source}, {"sink", witness.sink}, {"sizes", sizes}};
}

Json as_json(const Nest& nest, const Dependence& d) {
  Json distance = Json::array();
  for (const Component& component : d.distance) distance.push_back(as_json(component));
  const Statement &source = nest.statements()[d.source], &sink = nest.statements()[d.sink];
  const bool carried = d.level < static_cast<int>(d.distance.size());
  return {{"kind", name(d.kind)},
          {"source", source.label},
          {"source_reference", to_text(source.references[d.source_reference].element)},
          {"sink", sink.label},
          {"sink_reference", to_text(sink.references[d.sink_reference].element)},
          {"distance", distance},
          {"carried_by", carried ? Json(source.loops[d.level]) : Json()},
          {"reduction", d.reduction},
          {"witness", as_json(d.witness)}};
}

Json as_json(const Nest& nest, const std::vector<Judged>& all) {
  Json list = Json::array();
  for (const Judged& one : all) {
    Json steps = Json::array(), cure = Json::array();
    for (const Step& step : one.steps) steps.push_back(to_text(step));
    for (const Skew& skew : one.cure) cure.push_back(to_text(Step(skew)));
    Json entry = {{"steps", steps}, {"legal", one.verdict.legal}};
    if (!one.verdict.legal) {
      entry["reason"] = one.verdict.reason;
      if (one.verdict.violated) entry["violated"] = as_json(nest, *one.verdict.violated);
      entry["legal_after"] = cure;
    }
    list.push_back(entry);
  }
  return list;
}

Json statements_json(const Nest& nest) {
  Json list = Json::array();
  for (const Statement& s : nest.statements()) {
    Json references = Json::array();
    for (const Reference& r : s.references)
      references.push_back({{"element", to_text(r.element)}, {"access", r.is_write ? "write" : "read"}});
    list.push_back({{"label", s.label},
                    {"line", s.assignment.at.line},
                    {"loops", s.loops},
                    {"reduction", s.reduction.empty() ? Json() : Json(s.reduction)},
                    {"references", references}});
  }
  return list;
}

Json reuse_json(const Nest& nest, const std::vector<Reuse>& all) {
  Json list = Json::array();
  const auto element = [&](int s, int r) { return to_text(nest.statements()[s].references[r].element); };
  for (const Reuse& r : all) {
    Json entry = {{"kind", name(r.kind)},
                  {"statement", nest.statements()[r.statement].label},
                  {"reference", element(r.statement, r.reference)},
                  {"loop", r.loop.empty() ? Json() : Json(r.loop)},
                  {"distance", r.distance}};
    if (r.other_statement >= 0) {
      entry["other_statement"] = nest.statements()[r.other_statement].label;
      entry["other_reference"] = element(r.other_statement, r.other_reference);
    }
    list.push_back(entry);
  }
  return list;
}

Json extents_json(const std::array<Expression, 3>& extents) {
  Json list = Json::array();
  for (const Expression& extent : extents)
    list.push_back(extent.kind == Expression::Kind::integer ? Json(extent.value) : Json(to_text(extent)));
  return list;
}

Json as_json(const Placement& p) {
  return {{"array", p.array},
          {"space", name(p.space)},
          {"reason", p.reason},
          {"bytes", p.bytes},
          {"sectors", p.sectors},
          {"ideal_sectors", p.ideal_sectors},
          {"bank_conflicts", p.bank_conflicts},
          {"reuse_in_block", p.reuse_in_block},
          {"reuse_in_registers", p.reuse_in_registers}};
}

Json as_json(const Cost& cost) {
  return {{"milliseconds", cost.milliseconds},     {"bound", cost.bound},
          {"operations", cost.operations},         {"global_bytes", cost.global_bytes},
          {"shared_bytes", cost.shared_bytes},     {"shared_per_block", cost.shared},
          {"registers_of_values", cost.registers}, {"blocks_per_sm", cost.blocks_per_sm}};
}

}  // namespace

std::string to_json(const Nest& nest, const GpuPlan& plan) {
  check(nest, plan.program);
  Json kernels = Json::array();
  for (std::size_t k = 0; k < plan.program.kernels.size(); ++k) {
    const Kernel& kernel = plan.program.kernels[k];
    Json statements = Json::array(), placements = Json::array();
    for (const int s : kernel.statements) statements.push_back(nest.statements()[s].label);
    for (const Placement& placement : kernel.placements) placements.push_back(as_json(placement));
    kernels.push_back({{"name", kernel.name},
                       {"pattern", kernel.pattern},
                       {"statements", statements},
                       {"grid", extents_json(kernel.grid)},
                       {"block", extents_json(kernel.block)},
                       {"placements", placements},
                       {"cost", k < plan.costs.size() ? as_json(plan.costs[k]) : Json()},
                       {"reasons", kernel.reasons}});
  }
  return Json{
      {"architecture", plan.options.architecture}, {"reasons", plan.program.reasons}, {"kernels", kernels}}
      .dump();
}

std::string to_json(const Nest& nest, const Explanation& e) {
  check(nest, e);
  const Region& region = nest.region();
  Json footprints = Json::array(), dependences = Json::array(), bands = Json::array(), tile = Json::object();
  for (const Footprint& f : e.footprint)
    footprints.push_back({{"array", f.array},
                          {"formula", f.formula},
                          {"elements", f.elements},
                          {"bytes", f.bytes},
                          {"exact", f.exact}});
  for (const Dependence& d : e.dependences) dependences.push_back(as_json(nest, d));
  for (const Band& band : e.bands) {
    Json labels = Json::array();
    for (const int s : band.statements) labels.push_back(nest.statements()[s].label);
    bands.push_back({{"loops", band.loops}, {"statements", labels}});
  }
  for (const auto& [loop, extent] : e.tile) tile[loop] = extent;
  const Json json = {{"function", region.function},
                     {"line", region.at.line},
                     {"sizes", region.sizes},
                     {"statements", statements_json(nest)},
                     {"remarks", e.remarks},
                     {"reuse", reuse_json(nest, e.reuse)},
                     {"tile", tile},
                     {"footprint", footprints},
                     {"dependences", dependences},
                     {"bands", bands},
                     {"permutations", as_json(nest, e.permutations)},
                     {"tilings", as_json(nest, e.tilings)},
                     {"asked", as_json(nest, e.asked)}};
  return json.dump();
}

}  // namespace warploom::tile
