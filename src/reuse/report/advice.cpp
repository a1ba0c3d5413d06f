#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "reuse/report/parts.hpp"
#include "warploom/reuse/reuse.hpp"

namespace warploom::reuse {
namespace {

using Members = std::vector<std::uint32_t>;

/// A nest of union and struct, as C++ would write it.
struct Nest {
  enum class Kind { object, together, alternatives, pool } kind = Kind::object;
  std::uint32_t object = 0;  ///< Kind::object
  Members members;           ///< Kind::pool: a layout that no nest expresses
  std::vector<Nest> parts;   ///< the members of a struct (together) or of a union (alternatives)
  std::uint64_t bytes = 0;
  std::uint32_t alignment = 1;
};

/// The members fall into groups that `linked` connects; in the order of the lowest offset.
std::vector<Members> components(const Members& members,
                                const std::function<bool(std::uint32_t, std::uint32_t)>& linked) {
  std::vector<Members> groups;
  std::vector<bool> done(members.size());
  for (std::size_t seed = 0; seed < members.size(); ++seed) {
    if (done[seed]) continue;
    std::vector<std::size_t> group{seed};
    done[seed] = true;
    for (std::size_t next = 0; next < group.size(); ++next)
      for (std::size_t other = 0; other < members.size(); ++other)
        if (!done[other] && linked(members[group[next]], members[other])) {
          done[other] = true;
          group.push_back(other);
        }
    std::ranges::sort(group);
    groups.emplace_back();
    for (const std::size_t i : group) groups.back().push_back(members[i]);
  }
  return groups;
}

/// What overlaps nothing else lies in a struct, what overlaps everything else in a union; and so on
/// inside. Every pair that the nest lets overlap overlaps in the layout, and so was proved safe.
Nest nest(const KernelReport& kernel, const Members& members) {
  if (members.size() == 1) {
    const ObjectReport& object = kernel.objects.at(members[0]);
    return {Nest::Kind::object, members[0], {}, {}, object.bytes, std::max(object.alignment, 1u)};
  }
  const auto overlap = [&](std::uint32_t a, std::uint32_t b) {
    const ObjectReport &x = kernel.objects.at(a), &y = kernel.objects.at(b);
    return *x.offset < *y.offset + y.bytes && *y.offset < *x.offset + x.bytes;
  };
  Nest out;
  out.kind = Nest::Kind::together;
  std::vector<Members> groups = components(members, overlap);
  if (groups.size() == 1) {
    out.kind = Nest::Kind::alternatives;
    groups = components(members, [&](std::uint32_t a, std::uint32_t b) { return !overlap(a, b); });
  }
  if (groups.size() == 1) {
    out.kind = Nest::Kind::pool;
    out.members = members;
    const std::uint64_t base = *kernel.objects.at(members[0]).offset;
    for (const std::uint32_t i : members) {
      out.bytes = std::max(out.bytes, *kernel.objects.at(i).offset + kernel.objects.at(i).bytes - base);
      out.alignment = std::max(out.alignment, kernel.objects.at(i).alignment);
    }
    return out;
  }
  for (const Members& group : groups) {
    out.parts.push_back(nest(kernel, group));
    const Nest& part = out.parts.back();
    out.alignment = std::max(out.alignment, part.alignment);
    const std::uint64_t begin = out.kind == Nest::Kind::alternatives
                                    ? 0
                                    : (out.bytes + part.alignment - 1) / part.alignment * part.alignment;
    out.bytes = std::max(out.bytes, begin + part.bytes);
  }
  out.bytes = (out.bytes + out.alignment - 1) / out.alignment * out.alignment;
  return out;
}

void print(const KernelReport& kernel, const Nest& of, int depth, std::string& out) {
  const std::string indent(static_cast<std::size_t>(3 + 2 * depth), ' ');
  const auto object_line = [&](std::uint32_t i, const std::string& head, const std::string& tail) {
    const ObjectReport& object = kernel.objects.at(i);
    const std::string at = object.declared.file.empty() ? "" : where(object.declared);
    out += fmt::format("{:<36} // {} bytes{}{}\n", indent + head + object.name + ";", grouped(object.bytes),
                       tail, at.empty() ? "" : ", " + at);
  };
  switch (of.kind) {
    case Nest::Kind::object:
      object_line(of.object, "", "");
      return;
    case Nest::Kind::pool: {
      // Interlocked overlaps: only offsets into one array say them.
      out += fmt::format("{}alignas({}) unsigned char pool[{}];\n", indent, of.alignment, of.bytes);
      const std::uint64_t base = *kernel.objects.at(of.members[0]).offset;
      for (const std::uint32_t i : of.members)
        object_line(i, fmt::format("at pool + {}: ", *kernel.objects.at(i).offset - base), "");
      return;
    }
    case Nest::Kind::together:
    case Nest::Kind::alternatives:
      out += indent + (of.kind == Nest::Kind::together ? "struct {\n" : "union {\n");
      for (const Nest& part : of.parts) print(kernel, part, depth + 1, out);
      out += indent + "};\n";
  }
}

}  // namespace

std::string advice(const KernelReport& kernel) {
  check(kernel);
  std::string steps;
  int step = 0;
  const DynamicFormula& formula = kernel.dynamic_formula;
  if (!formula.after.empty()) {
    steps +=
        wrapped(fmt::format("{}. ", ++step), "Begin the parts of the dynamic array at these bytes of it:");
    for (const ObjectReport& o : kernel.objects)
      if (!o.place.empty()) steps += fmt::format("     {}: {}\n", o.name, o.place);
    for (const DynamicFormula::Argument& a : formula.arguments)
      steps += fmt::format("   {} is {}\n", a.name, a.meaning);
  }
  for (Members members : kernel.partitions) {
    if (members.size() < 2 || !formula.after.empty()) continue;
    const bool placed =
        std::ranges::all_of(members, [&](auto i) { return kernel.objects.at(i).offset.has_value(); });
    if (!placed) continue;
    std::ranges::stable_sort(members, {}, [&](auto i) { return *kernel.objects.at(i).offset; });
    std::uint64_t apart = 0;
    for (const std::uint32_t i : members) apart += kernel.objects.at(i).bytes;
    const Nest layout = nest(kernel, members);
    steps += wrapped(
        fmt::format("{}. ", ++step),
        fmt::format("Let {} share storage, {} bytes in place of {}:", listed(object_names(kernel, members)),
                    grouped(layout.bytes), grouped(apart)));
    print(kernel, layout, 0, steps);
  }
  if (step == 0) {
    std::string more;
    for (const std::string& suggestion : kernel.suggestions) more += wrapped("   - ", suggestion);
    return wrapped("", fmt::format("{}: nothing to change in the source{}{}", kernel.name,
                                   kernel.reason.empty() ? "" : ": " + kernel.reason,
                                   in_brackets(kernel.reason_at))) +
           (more.empty() ? "" : "Could be overlaid:\n" + more);
  }
  std::vector<SourcePosition> kept;
  for (const BarrierReport& barrier : kernel.barriers) {
    std::vector<std::string> pairs;
    for (const auto& [first, second] : barrier.separates)
      pairs.push_back(kernel.objects.at(first).name + " from " + kernel.objects.at(second).name);
    if (barrier.inserted)
      steps += wrapped(fmt::format("{}. ", ++step),
                       fmt::format("Put __syncthreads() before {}; it keeps {} apart.",
                                   where_both(barrier.at), listed(pairs)));
    else
      kept.push_back(barrier.at);
  }
  if (!kept.empty())
    steps += wrapped(fmt::format("{}. ", ++step),
                     fmt::format("Keep the barrier{} before {}: the shared storage relies on {}.",
                                 kept.size() == 1 ? "" : "s", where(kept), kept.size() == 1 ? "it" : "them"));
  std::string gain =
      !formula.after.empty() ? fmt::format("needs {} bytes of dynamic shared memory a block in place of {}",
                                           formula.text(), formula.before)
      : kernel.dynamic_before > 0
          ? fmt::format(
                "saves {} of {} bytes of dynamic shared memory a block",
                grouped(kernel.dynamic_before - std::min(kernel.dynamic_before, kernel.dynamic_after)),
                grouped(kernel.dynamic_before))
          : fmt::format("saves {} of {} bytes of shared memory a block",
                        grouped(kernel.bytes_before - std::min(kernel.bytes_before, kernel.bytes_after)),
                        grouped(kernel.bytes_before));
  if (!kernel.occupancy.empty()) {
    const OccupancyReport& of = kernel.occupancy.front();
    gain += fmt::format("; blocks a multiprocessor on {}: {} -> {}", of.architecture, of.before.blocks,
                        of.after.blocks);
  }
  std::string assumed;
  for (const Assumption& assumption : kernel.assumptions)
    assumed += wrapped("   - ", assumption.text + in_brackets(assumption.at));
  return wrapped("", fmt::format("{}{}: {}", kernel.name, in_brackets(kernel.at), gain)) + steps +
         (assumed.empty() ? "" : "Taken for granted:\n" + assumed);
}

}  // namespace warploom::reuse
