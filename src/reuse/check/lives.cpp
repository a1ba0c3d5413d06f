#include "reuse/check/lives.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace warploom::reuse::checking {
namespace {

using ptx::kNone;

/// Runs a forward "may" analysis to its fixpoint; step(state, instruction) changes the state.
template <typename State, typename Step>
std::vector<State> forward(const Kernel& k, State entry, const State& empty, Step step) {
  std::vector<State> in(k.cfg.blocks.size(), empty);
  in[0] = std::move(entry);
  for (bool changed = true; changed;) {
    changed = false;
    for (const std::uint32_t b : k.cfg.order) {
      State state = in[b];
      for (std::uint32_t i = k.cfg.blocks[b].first; i < k.cfg.blocks[b].last; ++i) step(state, i);
      for (const std::uint32_t s : k.cfg.graph.successors[b]) changed |= in[s].merge(state);
    }
  }
  return in;
}

/// `written`: objects that may hold data; `lost`: (pair, side) whose data the partner may have overwritten.
struct Lives {
  Bits written, lost;
  bool merge(const Lives& other) {
    const bool a = written.merge(other.written);
    return lost.merge(other.lost) || a;
  }
};

struct Pending {
  Bits loads, stores;
  bool merge(const Pending& other) {
    const bool a = loads.merge(other.loads);
    return stores.merge(other.stores) || a;
  }
};

const Access* access(const Kernel& k, std::uint32_t i) {
  return k.access_of[i] == kNone ? nullptr : &k.accesses[k.access_of[i]];
}

std::vector<Pending> pending_at_blocks(const Kernel& k) {
  const Bits none(k.objects.size());
  return forward<Pending>(k, {none, none}, {none, none}, [&](Pending& state, std::uint32_t i) {
    if (separates(k, i)) {
      state.loads.clear();
      state.stores.clear();
    } else if (const Access* a = access(k, i)) {
      if (a->load) state.loads.merge(a->objects);
      if (a->store) state.stores.merge(a->objects);
    }
  });
}

}  // namespace

std::vector<Clobbered> find_clobbered(const Kernel& k, const std::vector<DeadPoint>& dead) {
  std::map<std::uint32_t, std::vector<std::uint32_t>> dead_at;
  for (const DeadPoint& d : dead) dead_at[d.instruction].push_back(d.object);
  std::vector<std::vector<std::uint32_t>> sides(k.objects.size());  // bits of `lost` that are about an object
  for (std::uint32_t p = 0; p < k.pairs.size(); ++p) {
    sides[k.pairs[p].first].push_back(2 * p);
    sides[k.pairs[p].second].push_back(2 * p + 1);
  }
  const auto partner = [&](std::uint32_t side) {
    return side % 2 == 0 ? k.pairs[side / 2].second : k.pairs[side / 2].first;
  };
  std::vector<Clobbered> found;
  const auto step = [&](Lives& state, std::uint32_t i, bool report) {
    if (const auto d = dead_at.find(i); d != dead_at.end())
      for (const std::uint32_t o : d->second) {
        state.written.reset(o);
        for (const std::uint32_t side : sides[o]) state.lost.reset(side);
      }
    const Access* a = access(k, i);
    if (a == nullptr) return;
    if (report && a->load)
      a->objects.for_each([&](std::uint32_t o) {
        for (const std::uint32_t side : sides[o])
          if (state.lost.test(side)) found.push_back({side / 2, o, i});
      });
    if (!a->store) return;
    a->objects.for_each([&](std::uint32_t o) {
      state.written.set(o);
      for (const std::uint32_t side : sides[o])  // this store overwrites the partner
        if (state.written.test(partner(side))) state.lost.set(side ^ 1);
    });
  };
  const Lives empty{Bits(k.objects.size()), Bits(2 * k.pairs.size())};
  std::vector<Lives> in =
      forward<Lives>(k, empty, empty, [&](Lives& s, std::uint32_t i) { step(s, i, false); });
  for (const std::uint32_t b : k.cfg.order)
    for (std::uint32_t i = k.cfg.blocks[b].first; i < k.cfg.blocks[b].last; ++i) step(in[b], i, true);
  return found;
}

std::vector<std::string> find_unseparated(const Kernel& k) {
  std::vector<Pending> in = pending_at_blocks(k);
  std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
  std::vector<std::string> problems;
  const auto report = [&](std::uint32_t a, std::uint32_t b, std::uint32_t i) {
    if (seen.emplace(std::min(a, b), std::max(a, b)).second)
      problems.push_back(
          fmt::format("line {}: '{}' is accessed, and no barrier lies on a path from an access of '{}'",
                      k.line(i), k.objects[a].name, k.objects[b].name));
  };
  for (const std::uint32_t b : k.cfg.order)
    for (std::uint32_t i = k.cfg.blocks[b].first; i < k.cfg.blocks[b].last; ++i) {
      Pending& state = in[b];
      if (separates(k, i)) {
        state.loads.clear();
        state.stores.clear();
        continue;
      }
      const Access* a = access(k, i);
      if (a == nullptr) continue;
      // Threads may access different ones of several objects here at once, so this access counts as pending
      // too.
      if (a->load) state.loads.merge(a->objects);
      if (a->store) state.stores.merge(a->objects);
      a->objects.for_each([&](std::uint32_t o) {
        k.partners[o].for_each([&](std::uint32_t other) {
          if (state.stores.test(other) || (a->store && state.loads.test(other))) report(o, other, i);
        });
      });
    }
  return problems;
}

std::vector<std::string> find_divergent_pairs(const Kernel& k, const Uniformity& uniformity) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
  std::vector<std::string> problems;
  std::vector<Pending> per_block(k.cfg.blocks.size(),
                                 Pending{Bits(k.objects.size()), Bits(k.objects.size())});
  for (const Access& a : k.accesses) {
    Pending& block = per_block[k.cfg.block_of[a.instruction]];
    if (a.load) block.loads.merge(a.objects);
    if (a.store) block.stores.merge(a.objects);
  }
  for (const Uniformity::Region& region : uniformity.regions) {
    if (region.spread == Spread::uniform) continue;
    Pending sum{Bits(k.objects.size()), Bits(k.objects.size())};
    for (const std::uint32_t b : region.blocks) sum.merge(per_block[b]);
    for (const auto& [a, b] : k.pairs) {
      const bool conflict = (sum.stores.test(a) && (sum.loads.test(b) || sum.stores.test(b))) ||
                            (sum.loads.test(a) && sum.stores.test(b));
      if (conflict && seen.emplace(a, b).second)
        problems.push_back(
            fmt::format("line {}: '{}' and '{}' are both accessed where threads may part at this branch",
                        k.line(k.cfg.blocks[region.branch].last - 1), k.objects[a].name, k.objects[b].name));
    }
  }
  return problems;
}

std::vector<std::string> separating_barriers(const Kernel& k) {
  std::vector<Pending> in = pending_at_blocks(k);
  std::vector<std::string> lines(k.pairs.size());
  for (std::uint32_t block = 0; block < k.cfg.blocks.size(); ++block) {
    if (!k.cfg.reachable[block]) continue;
    Pending& state = in[block];
    for (std::uint32_t i = k.cfg.blocks[block].first; i < k.cfg.blocks[block].last; ++i) {
      if (separates(k, i)) {
        state.loads.merge(state.stores);
        for (std::uint32_t p = 0; p < k.pairs.size(); ++p) {
          const auto [a, b] = k.pairs[p];
          if (state.loads.test(a) || state.loads.test(b))
            lines[p] += fmt::format("{}{}{}", lines[p].empty() ? "" : ", ", k.line(i),
                                    k.inserted[i] ? " (added)" : "");
        }
        state.loads.clear();
        state.stores.clear();
      } else if (const Access* access_here = access(k, i)) {
        if (access_here->load) state.loads.merge(access_here->objects);
        if (access_here->store) state.stores.merge(access_here->objects);
      }
    }
  }
  return lines;
}

}  // namespace warploom::reuse::checking
