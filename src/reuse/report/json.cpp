#include "warploom/json/json.hpp"

#include "reuse/report/parts.hpp"
#include "warploom/core/version.hpp"
#include "warploom/reuse/reuse.hpp"

namespace warploom::reuse {
namespace {

// Keys stay in the order written here. The schema is described in docs/guide/reuse-report.md.

constexpr int kSchema = 2;

Json position(const SourcePosition& at) {
  if (at.file.empty() && at.ptx_line == 0) return nullptr;
  return {{"file", at.file.empty() ? Json() : Json(at.file)},
          {"line", at.file.empty() ? Json() : Json(at.line)},
          {"ptx_line", at.ptx_line == 0 ? Json() : Json(at.ptx_line)}};
}

template <typename Range>
Json pairs(const Range& range) {
  Json out = Json::array();
  for (const auto& [first, second] : range) out.push_back(Json::array({first, second}));
  return out;
}

template <typename Range, typename Convert>
Json list(const Range& range, Convert convert) {
  Json out = Json::array();
  for (const auto& element : range) out.push_back(convert(element));
  return out;
}

Json object(const ObjectReport& of) {
  return {{"name", of.name},
          {"symbol", of.symbol},
          {"bytes", of.bytes},
          {"alignment", of.alignment},
          {"declared", position(of.declared)},
          {"shares", of.shares},
          {"offset", of.offset ? Json(*of.offset) : Json()},
          {"place", of.place.empty() ? Json() : Json(of.place)},
          {"shares_with", of.shares_with},
          {"reason", of.reason},
          {"reason_at", position(of.reason_at)},
          {"live_lines", pairs(of.live_lines)},
          {"store_lines", of.store_lines},
          {"load_lines", of.load_lines}};
}

Json formula(const DynamicFormula& of) {
  return {{"before", of.before},
          {"after", of.after},
          {"arguments", list(of.arguments,
                             [](const DynamicFormula::Argument& a) {
                               return Json{
                                   {"name", a.name},
                                   {"meaning", a.meaning},
                                   {"most", a.parameter ? Json(DynamicFormula::kMostParameter) : Json()},
                                   {"example", a.example}};
                             })},
          {"example_before", of.example_before},
          {"example_after", of.example_after}};
}

Json occupancy_of(const hw::Occupancy& of) {
  return {{"blocks", of.blocks},
          {"active_threads", of.active_threads},
          {"fraction", of.fraction},
          {"limit", name(of.limit)},
          {"exceeds_static_limit", of.exceeds_static_limit},
          {"needs_opt_in", of.needs_opt_in},
          {"reason", of.reason}};
}

Json kernel_json(const KernelReport& of) {
  Json out;
  out["name"] = of.name;
  out["symbol"] = of.symbol;
  out["at"] = position(of.at);
  out["verdict"] = name(of.verdict);
  out["reason"] = of.reason;
  out["reason_at"] = position(of.reason_at);
  out["block"] = of.block ? Json(*of.block) : Json();
  out["threads"] = of.threads == 0 ? Json() : Json(of.threads);
  out["threads_from"] = of.threads_from == Origin::unknown ? Json() : Json(name(of.threads_from));
  out["bytes_before"] = of.bytes_before;
  out["bytes_after"] = of.bytes_after;
  out["bytes_possible"] = of.bytes_possible;
  out["pool_bytes"] = of.pool_bytes;
  out["dynamic_pool"] = of.dynamic_pool;
  out["dynamic_before"] = of.dynamic_before;
  out["dynamic_after"] = of.dynamic_after;
  out["dynamic_possible"] = of.dynamic_possible;
  out["dynamic_formula"] = of.dynamic_formula.after.empty() ? Json() : formula(of.dynamic_formula);
  out["registers_before"] = of.registers_before == 0 ? Json() : Json(of.registers_before);
  out["registers_after"] = of.registers_after == 0 ? Json() : Json(of.registers_after);
  out["first_line"] = of.first_line;
  out["last_line"] = of.last_line;
  out["objects"] = list(of.objects, object);
  out["partitions"] = of.partitions;
  out["interference"] = list(of.interference, [](const InterferenceReport& pair) {
    return Json{
        {"first", pair.first}, {"second", pair.second}, {"reason", pair.reason}, {"at", position(pair.at)}};
  });
  out["barriers"] = list(of.barriers, [](const BarrierReport& barrier) {
    return Json{{"at", position(barrier.at)},
                {"inserted", barrier.inserted},
                {"separates", pairs(barrier.separates)}};
  });
  out["occupancy"] = list(of.occupancy, [](const OccupancyReport& row) {
    return Json{{"architecture", row.architecture},
                {"before", occupancy_of(row.before)},
                {"after", occupancy_of(row.after)}};
  });
  out["residency"] = list(of.residency, [](const ResidencyReport& row) {
    return Json{{"threads", row.threads},
                {"shared_dynamic", row.shared_dynamic},
                {"before", occupancy_of(row.before)},
                {"after", occupancy_of(row.after)}};
  });
  out["assumptions"] = list(of.assumptions, [](const Assumption& assumption) {
    return Json{{"text", assumption.text}, {"at", position(assumption.at)}};
  });
  out["suggestions"] = of.suggestions;
  out["certificate"] = of.certificate;
  return out;
}

}  // namespace

std::string to_json(const Report& report) {
  check(report);
  Json out;
  out["schema"] = kSchema;
  out["warploom"] = version();
  out["file"] = report.file;
  out["architecture"] = report.architecture;
  out["note"] = report.note;
  out["kernels"] = list(report.kernels, kernel_json);
  // Names come from files: what is no UTF-8 is replaced rather than thrown at.
  return out.dump(2) + "\n";
}

}  // namespace warploom::reuse
