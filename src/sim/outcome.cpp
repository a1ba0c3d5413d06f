#include <fmt/format.h>

#include "core/doors.hpp"
#include "warploom/core/demangle.hpp"
#include "warploom/sim/sim.hpp"

namespace warploom::sim {
namespace {

/// "k.ptx:31 (k.cu:12)".
std::string place(const std::string& module, const Site& site) {
  const std::string ptx = fmt::format("{}:{}", module, site.ptx_line);
  return site.file.empty() ? ptx : fmt::format("{} ({}:{})", ptx, site.file, site.line);
}

/// "write of 4 bytes by thread (3,0,0) of block (0,0,0)".
std::string deed(const Site& site) {
  const auto& [bx, by, bz] = site.block;
  const auto& [tx, ty, tz] = site.thread;
  return fmt::format("{}{}by thread ({},{},{}) of block ({},{},{})", site.what, site.what.empty() ? "" : " ",
                     tx, ty, tz, bx, by, bz);
}

/// What the other place of a finding is to the first.
std::string_view relation(FindingKind kind) {
  if (kind == FindingKind::race) return "not ordered after";
  if (kind == FindingKind::uninitialised) return "it comes from";
  if (kind == FindingKind::proxy) return "no fence.proxy.async after";
  return "elsewhere";
}

}  // namespace

std::string_view name(Schedule schedule) {
  switch (schedule) {
    case Schedule::in_order:
      return "in-order";
    case Schedule::random:
      return "random";
    case Schedule::adversarial:
      return "adversarial";
  }
  refuse_enumerator(schedule, "the schedule");
}

std::string_view name(FindingKind kind) {
  switch (kind) {
    case FindingKind::race:
      return "race";
    case FindingKind::out_of_bounds:
      return "out of bounds";
    case FindingKind::misaligned:
      return "misaligned access";
    case FindingKind::uninitialised:
      return "read of uninitialised memory";
    case FindingKind::barrier_divergence:
      return "barrier divergence";
    case FindingKind::deadlock:
      return "deadlock";
    case FindingKind::illegal:
      return "illegal instruction";
    case FindingKind::assertion:
      return "assertion failed";
    case FindingKind::trap:
      return "trap";
    case FindingKind::endless:
      return "endless";
    case FindingKind::proxy:
      return "missing proxy fence";
  }
  refuse_enumerator(kind, "the kind of finding");
}

std::string Finding::text() const {
  std::string text = fmt::format("{}: {} in kernel {}: {}", place(module, site), name(kind),
                                 function_name(kernel), deed(site));
  if (!where.empty()) text += "; " + where;
  if (count > 1) text += fmt::format("; {} times", count);
  if (other) text += fmt::format("\n  {}: {}, {}", relation(kind), deed(*other), place(module, *other));
  return text;
}

}  // namespace warploom::sim
