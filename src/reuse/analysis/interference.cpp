#include "reuse/analysis/interference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <type_traits>

namespace warploom::reuse {

void Interference::add(std::uint32_t a, std::uint32_t b, Reason reason) {
  if (a == b || sets_[a][b]) return;
  sets_[a].set(b);
  sets_[b].set(a);
  edges_.push_back({std::min(a, b), std::max(a, b), std::move(reason)});
}

bool separates(const Kernel& kernel, std::uint32_t instruction) {
  return std::binary_search(kernel.uniformity.separators.begin(), kernel.uniformity.separators.end(),
                            instruction);
}

namespace {

void forbid_living_together(const Kernel& kernel, const Liveness& liveness, Interference& result) {
  const ptx::Cfg& cfg = kernel.cfg;
  for (const std::uint32_t b : cfg.order)
    for_each_event(
        liveness, b, [&](const Liveness::Event& e, const ObjectSet& before, const ObjectSet& after) {
          if (e.access == nullptr || !e.access->write) return;
          for (std::size_t stored = e.access->objects._Find_first(); stored < kMaxObjects;
               stored = e.access->objects._Find_next(stored)) {
            const ObjectSet live = before & after;
            for (std::size_t other = live._Find_first(); other < kMaxObjects; other = live._Find_next(other))
              if (other != stored)
                result.add(static_cast<std::uint32_t>(stored), static_cast<std::uint32_t>(other),
                           {"this store falls into the other's life", kernel.line(e.instruction)});
          }
        });
}

/// Threads on different sides of a divergent branch run at the same time, and no barrier may stand there.
void forbid_divergent_neighbours(const Kernel& kernel, Interference& result) {
  for (const DivergentBranch& d : kernel.uniformity.divergent) {
    ObjectSet loaded, stored;
    for (const Access& a : kernel.use.accesses) {
      if (!std::binary_search(d.region.begin(), d.region.end(), kernel.cfg.block_of[a.instruction])) continue;
      if (a.read) loaded |= a.objects;
      if (a.write) stored |= a.objects;
    }
    const std::uint32_t line = kernel.line(kernel.cfg.blocks[d.block].last - 1);
    for (std::size_t s = stored._Find_first(); s < kMaxObjects; s = stored._Find_next(s)) {
      const ObjectSet others = loaded | stored;
      for (std::size_t o = others._Find_first(); o < kMaxObjects; o = others._Find_next(o))
        if (o != s)
          result.add(static_cast<std::uint32_t>(s), static_cast<std::uint32_t>(o),
                     {"both are accessed where this branch may have sent threads apart", line});
    }
  }
}

}  // namespace

Interference find_interference(const Kernel& kernel, const Liveness& liveness) {
  const auto n = static_cast<std::uint32_t>(kernel.object_count());
  Interference result(n);
  for (std::uint32_t o = 0; o < n; ++o)
    if (const auto& pinned = kernel.use.objects[o].pinned)
      for (std::uint32_t other = 0; other < n; ++other) result.add(o, other, *pinned);
  for (const auto& [a, b] : kernel.use.compared) result.add(a, b, {"their addresses are compared", 0});
  for (const MetInFlight& m : kernel.use.in_flight)
    result.add(
        m.flying, m.other,
        {m.proxy
             ? "no fence.proxy.async with a barrier behind it keeps this bulk copy from the other's accesses"
             : "this access comes while an asynchronous copy or product of the other may be under way",
         kernel.line(m.instruction)});
  // One access that may go to either of two objects.
  for (const Access& a : kernel.use.accesses) {
    if (!a.write || a.objects.count() < 2) continue;
    for (std::uint32_t x = 0; x < n; ++x)
      for (std::uint32_t y = x + 1; y < n; ++y)
        if (a.objects[x] && a.objects[y])
          result.add(x, y, {"one access may go to either", kernel.line(a.instruction)});
  }
  forbid_living_together(kernel, liveness, result);
  forbid_divergent_neighbours(kernel, result);
  return result;
}

HazardSearch::HazardSearch(const Kernel& kernel) : kernel_(kernel) {
  // Both lists are in the order of the text, and so are the blocks: one merge makes a list for all.
  const std::vector<ptx::Block>& blocks = kernel.cfg.blocks;
  events_.reserve(kernel.uniformity.separators.size() + kernel.use.accesses.size());
  first_event_.resize(blocks.size() + 1);
  auto separator = kernel.uniformity.separators.begin();
  auto access = kernel.use.accesses.begin();
  for (std::uint32_t b = 0; b < blocks.size(); ++b) {
    const std::uint32_t end = blocks[b].last;
    for (;;) {
      const std::uint32_t s = separator == kernel.uniformity.separators.end() ? kNone : *separator;
      const std::uint32_t a = access == kernel.use.accesses.end() ? kNone : access->instruction;
      if (std::min(s, a) >= end) break;
      if (s <= a) {
        events_.push_back({s, s, nullptr});
        ++separator;
        continue;
      }
      const Access& next = *access++;
      if (events_.size() > first_event_[b] && events_.back().access != nullptr) {
        const Access& before = *events_.back().access;
        if (before.objects == next.objects && before.read == next.read && before.write == next.write) {
          events_.back().last = a;
          continue;
        }
      }
      events_.push_back({a, a, &next});
    }
    first_event_[b + 1] = events_.size();
  }
}

namespace {

/// Nearly all kernels have so few objects that a word holds a set of them.
template <class Set>
Set set_as(const ObjectSet& s) {
  if constexpr (std::is_same_v<Set, ObjectSet>)
    return s;
  else
    return s.to_ullong();
}

template <class F>
void each_of(const ObjectSet& set, F f) {
  for (std::size_t o = set._Find_first(); o < kMaxObjects; o = set._Find_next(o))
    f(static_cast<std::uint32_t>(o));
}

template <class F>
void each_of(std::uint64_t set, F f) {
  for (; set != 0; set &= set - 1) f(static_cast<std::uint32_t>(std::countr_zero(set)));
}

}  // namespace

std::vector<Hazard> HazardSearch::find(const std::vector<ObjectSet>& overlap,
                                       const Insertions& insertions) const {
  return kernel_.object_count() <= 64 ? find_with<std::uint64_t>(overlap, insertions)
                                      : find_with<ObjectSet>(overlap, insertions);
}

template <class Set>
std::vector<Hazard> HazardSearch::find_with(const std::vector<ObjectSet>& overlap,
                                            const Insertions& insertions) const {
  // What was accessed since the last block-wide barrier, on some path: as Triton's membar pass does.
  const ptx::Cfg& cfg = kernel_.cfg;
  struct Pending {
    Set loaded{}, stored{};
  };
  std::vector<Set> partners;
  for (const ObjectSet& of : overlap) partners.push_back(set_as<Set>(of));
  // An added barrier stands before its instruction. Visits what a block does, in order.
  const auto visit = [&](std::uint32_t b, const auto& barrier, const auto& access) {
    auto inserted = std::ranges::lower_bound(insertions, cfg.blocks[b].first);
    for (std::size_t at = first_event_[b]; at < first_event_[b + 1]; ++at) {
      const Event& e = events_[at];
      bool closed = e.access == nullptr;
      for (; inserted != insertions.end() && *inserted <= e.first; ++inserted) closed = true;
      if (closed) barrier();
      if (e.access == nullptr) continue;
      access(*e.access, e.first);
      for (closed = false; inserted != insertions.end() && *inserted <= e.last; ++inserted) closed = true;
      if (!closed) continue;
      barrier();
      access(*e.access, e.last);
    }
    if (inserted != insertions.end() && *inserted < cfg.blocks[b].last) barrier();
  };
  const auto add = [](Pending& p, const Access& a) {
    if (a.read) p.loaded |= set_as<Set>(a.objects);
    if (a.write) p.stored |= set_as<Set>(a.objects);
  };

  // Of each block what is open at its end, and whether that is all.
  std::vector<Pending> opened(cfg.blocks.size()), in(cfg.blocks.size());
  std::vector<bool> closed(cfg.blocks.size());
  for (const std::uint32_t b : cfg.order)
    visit(
        b, [&] { opened[b] = {}, closed[b] = true; },
        [&](const Access& a, std::uint32_t) { add(opened[b], a); });
  for (bool changed = true; changed;) {
    changed = false;
    for (const std::uint32_t b : cfg.order) {
      Pending out = opened[b];
      if (!closed[b]) out.loaded |= in[b].loaded, out.stored |= in[b].stored;
      for (const std::uint32_t s : cfg.graph.successors[b]) {
        const Set loaded = in[s].loaded | out.loaded, stored = in[s].stored | out.stored;
        if (loaded == in[s].loaded && stored == in[s].stored) continue;
        in[s] = {loaded, stored};
        changed = true;
      }
    }
  }
  std::vector<Hazard> hazards;
  for (const std::uint32_t b : cfg.order) {
    Pending p = in[b];
    visit(
        b, [&] { p = {}; },
        [&](const Access& a, std::uint32_t instruction) {
          const Set before = a.write ? p.loaded | p.stored : p.stored;
          each_of(set_as<Set>(a.objects), [&](std::uint32_t o) {
            each_of(partners[o] & before, [&](std::uint32_t m) { hazards.push_back({m, o, instruction}); });
          });
          add(p, a);
        });
  }
  return hazards;
}

std::vector<Hazard> find_hazards(const Kernel& kernel, const std::vector<ObjectSet>& overlap,
                                 const Insertions& insertions) {
  return HazardSearch(kernel).find(overlap, insertions);
}

}  // namespace warploom::reuse
