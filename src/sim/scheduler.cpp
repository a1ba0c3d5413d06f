// Who runs when. A warp holds groups of threads, each at one step; one group runs, for as long as it can.
// Groups that come to one step are one again, and of several the one at the lowest step runs first: since
// joins come after what they join (decode_function.cpp), this brings threads together as soon as a GPU does.
// A group that has run long while others of its warp could is set aside, so that a thread that waits for
// another of its warp does not wait for ever.
#include <algorithm>
#include <cstring>

#include "sim/block.hpp"
#include "sim/decode.hpp"
#include "sim/poison.hpp"
#include "sim/races.hpp"

namespace warploom::sim {
namespace {

/// Warp instructions that a group runs before the others of its warp, and a warp before the others of its
/// block: few enough for threads that spin until another has done something.
constexpr std::uint64_t kGroupTurn = 250, kWarpTurn = 2000;

/// Takes a group that can run; the lowest step, or any by `choice`.
bool pick_group(Warp& w, std::uint64_t choice, bool lowest) {
  std::size_t chosen = w.groups.size(), ready = 0;
  for (std::size_t g = 0; g < w.groups.size(); ++g) {
    if (w.groups[g].wait != Wait::none) continue;
    ++ready;
    if (chosen == w.groups.size() || (lowest ? w.groups[g].pc < w.groups[chosen].pc : choice % ready == 0))
      chosen = g;
  }
  if (chosen == w.groups.size()) return false;
  const Group group = w.groups[chosen];
  w.groups[chosen] = w.groups.back();
  w.groups.pop_back();
  w.pc = group.pc;
  w.activate(group.lanes);
  return true;
}

/// The running group goes back among the others.
void put_back(Warp& w) {
  if (w.active == 0) return;
  for (Group& g : w.groups)
    if (g.pc == w.pc && g.wait == Wait::none) {
      g.lanes |= w.active;
      return w.activate(0);
    }
  w.groups.push_back({w.pc, w.active, Wait::none, 0, 0, nullptr});
  w.activate(0);
}

/// Runs the group at hand for up to `budget` warp instructions.
void run_group(Warp& w, std::uint64_t budget) {
  Worker& worker = *w.block->worker;
  const Step* const steps = w.block->program->steps.data();
  std::uint64_t left = budget, threads = 0;
  w.stop = Stop::none;
  w.added_steps = w.added_threads = 0;
  while (left != 0 && w.stop == Stop::none) {
    if (w.poisoned != 0) {
      run_poisoned(w, left, threads);
      continue;
    }
    const Step& s = steps[w.pc++];
    --left;
    threads += w.active_count;
    Mask lanes = w.active;
    if (s.guard != kNoSlot) {
      lanes &= s.guard_negated ? ~w.predicate(s.guard) : w.predicate(s.guard);
      if (lanes == 0) continue;
    }
    s.run(w, s, lanes);
  }
  w.block->clock += budget - left;
  worker.warp_instructions += budget - left - w.added_steps;
  worker.thread_instructions += threads - w.added_threads;
}

/// Of a group that may, some threads alone.
void split(Warp& w, std::uint64_t random) {
  const auto some = static_cast<Mask>(random >> 3) & w.active;
  if ((random & 7) != 0 || some == 0 || some == w.active) return;
  w.groups.push_back({w.pc, w.active & ~some, Wait::none, 0, 0, nullptr});
  w.activate(some);
}

/// Runs the warp until none of its threads can go on, its turn is over, or another is to run.
void run_warp(Warp& w, std::uint64_t turn) {
  Worker& worker = *w.block->worker;
  const Schedule schedule = worker.options->schedule;
  const bool in_order = schedule == Schedule::in_order;
  const std::uint64_t end = w.block->clock + turn;
  w.behind_first = in_order;
  while (!worker.halted && w.block->clock < end) {
    if (!pick_group(w, in_order && w.behind_first ? 0 : worker.next_random() >> 33, w.behind_first)) return;
    if (schedule == Schedule::adversarial) split(w, worker.next_random() >> 27);
    const std::uint64_t left = end - w.block->clock;
    run_group(w, w.groups.empty() ? left : std::min(left, kGroupTurn));
    // A whole turn without an end: it may wait for another of its warp, which has to be behind for that no
    // more.
    w.behind_first = in_order && (w.stop != Stop::none || !w.behind_first);
    put_back(w);
    if (w.stop == Stop::yield && !in_order) return;
  }
}

}  // namespace

void branch(Warp& w, Mask taken, std::uint32_t target) {
  if (taken == w.active) {
    w.pc = target;
  } else {
    ++w.block->worker->divergent_branches;
    const Mask stay = w.active & ~taken;
    if (target < w.pc) {
      w.groups.push_back({w.pc, stay, Wait::none, 0, 0, nullptr});
      w.pc = target;
      w.activate(taken);
    } else {
      w.groups.push_back({target, taken, Wait::none, 0, 0, nullptr});
      w.activate(stay);
    }
  }
  if (!w.groups.empty()) reconverge(w);
}

void reconverge(Warp& w) {
  for (std::size_t g = 0; g < w.groups.size();) {
    if (w.groups[g].wait == Wait::none && w.groups[g].pc == w.pc) {
      w.activate(w.active | w.groups[g].lanes);
      w.groups[g] = w.groups.back();
      w.groups.pop_back();
    } else {
      ++g;
    }
  }
  std::size_t behind = w.groups.size();
  for (std::size_t g = 0; g < w.groups.size(); ++g)
    if (w.groups[g].wait == Wait::none && w.groups[g].pc < w.pc &&
        (behind == w.groups.size() || w.groups[g].pc < w.groups[behind].pc))
      behind = g;
  if (behind == w.groups.size() || !w.behind_first) return;
  std::swap(w.pc, w.groups[behind].pc);
  const Mask running = w.active;
  w.activate(w.groups[behind].lanes);
  w.groups[behind].lanes = running;
}

void suspend(Warp& w, Mask lanes, const Group& as) {
  w.activate(w.active & ~lanes);
  for (Group& g : w.groups)
    if (g.wait == as.wait && g.at == as.at && g.barrier == as.barrier && g.members == as.members &&
        g.pc == as.pc) {
      g.lanes |= lanes;
      lanes = 0;
    }
  if (lanes != 0) {
    w.groups.push_back(as);
    w.groups.back().lanes = lanes;
  }
  if (w.active == 0) w.stop = Stop::blocked;
}

void leave(Warp& w, Mask lanes) {
  w.block->fruitless_waits = 0;
  if (!w.bulk_groups.empty()) finish_bulk_stores(w, lanes);
  w.alive &= ~lanes;
  const auto left = static_cast<std::uint32_t>(std::popcount(lanes));
  w.block->alive -= left;
  w.activate(w.active & ~lanes);
  if (w.active == 0) w.stop = Stop::blocked;
  // Others of the warp may have waited for these.
  for (std::size_t g = 0; g < w.groups.size(); ++g)
    if (w.groups[g].wait == Wait::lanes) release_if_all_there(w, *w.groups[g].at, w.groups[g].members);
  threads_left(*w.block);
  if (w.alive == 0)  // nor do the others of its warpgroup wait for it
    for (Warp& other : w.block->warps)
      for (Group& g : other.groups)
        if (g.wait == Wait::warpgroup && other.index / 4 == w.index / 4) g.wait = Wait::none;
  std::uint32_t arrived = 0;
  for (Mask rest = lanes & w.cluster_arrived; rest != 0; rest &= rest - 1)
    arrived += w.arrived_in[static_cast<unsigned>(std::countr_zero(rest))] == w.block->cluster->phase ? 1 : 0;
  threads_left_cluster(*w.block, left, arrived);
}

bool gather(Warp& w, const Step& s, Mask lanes, Mask members) {
  const Mask needed = members & w.alive;
  if ((needed & ~lanes) == 0) return true;
  const auto here = static_cast<std::uint32_t>(&s - w.block->program->steps.data());
  suspend(w, lanes, {here, lanes, Wait::lanes, 0, members, &s});
  release_if_all_there(w, s, members);
  return false;
}

void run_jump(Registers& r, const Step& s, Mask lanes) {
  branch(warp_of(r), lanes, static_cast<std::uint32_t>(s.immediate));
}

void run_join(Registers& r, const Step&, Mask) {
  Warp& w = warp_of(r);
  not_counted(w);
  if (!w.groups.empty()) reconverge(w);
}

void run_on(Registers& r, const Step& s, Mask lanes) {
  Warp& w = warp_of(r);
  not_counted(w);
  branch(w, lanes, static_cast<std::uint32_t>(s.immediate));
}

void run_switch(Registers& r, const Step& s, Mask lanes) {
  Warp& w = warp_of(r);
  const std::vector<std::uint32_t>& targets = w.block->program->jumps[s.extra];
  const auto* index = r.read<std::uint32_t>(s.a);
  std::uint32_t to[kLanes];
  for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    if (index[lane] >= targets.size()) {
      w.block->worker->findings.add(
          *w.block, FindingKind::illegal, s, w.index, lane, "indirect branch",
          "index " + std::to_string(index[lane]) + " of " + std::to_string(targets.size()) + " targets");
      w.block->worker->halted = true;
      w.stop = Stop::halt;
      return;
    }
    to[lane] = targets[index[lane]];
  }
  for (Mask rest = lanes; rest != 0;) {
    const std::uint32_t target = to[std::countr_zero(rest)];
    Mask same = 0;
    for (unsigned i = 0; i < kLanes; ++i)
      if ((rest >> i & 1) != 0 && to[i] == target) same |= Mask{1} << i;
    rest &= ~same;
    if (same == w.active) return branch(w, same, target);
    ++w.block->worker->divergent_branches;
    w.groups.push_back({target, same, Wait::none, 0, 0, nullptr});
    w.activate(w.active & ~same);
  }
  if (w.active == 0)
    w.stop = Stop::blocked;
  else
    reconverge(w);
}

void run_leave(Registers& r, const Step&, Mask lanes) { leave(warp_of(r), lanes); }
void run_nothing(Registers&, const Step&, Mask) {}

void run_trap(Registers& r, const Step& s, Mask lanes) {
  Warp& w = warp_of(r);
  w.block->worker->findings.add(*w.block, FindingKind::trap, s, w.index,
                                static_cast<unsigned>(std::countr_zero(lanes)), "trap", "");
  w.block->worker->halted = true;
  w.stop = Stop::halt;
}

void run_refused(Registers& r, const Step& s, Mask) {
  throw Unsupported(warp_of(r).block->program->refusals[s.extra]);
}

namespace {

template <typename T>
void run_clock(Registers& r, const Step& s, Mask lanes) {
  const auto value = static_cast<T>(warp_of(r).block->clock >> s.immediate);
  T* to = r.write<T>(s.destination);
  for (unsigned i = 0; i < kLanes; ++i)
    if ((lanes >> i & 1) != 0) to[i] = value;
}

std::uint64_t special_value(const Block& b, Special special, std::uint32_t warp, unsigned lane) {
  const std::uint32_t t = warp * kLanes + lane;
  switch (special) {
    case Special::tid_x:
      return t % b.size.x;
    case Special::tid_y:
      return t / b.size.x % b.size.y;
    case Special::tid_z:
      return t / b.size.x / b.size.y;
    case Special::ntid_x:
      return b.size.x;
    case Special::ntid_y:
      return b.size.y;
    case Special::ntid_z:
      return b.size.z;
    case Special::ctaid_x:
      return b.index[0];
    case Special::ctaid_y:
      return b.index[1];
    case Special::ctaid_z:
      return b.index[2];
    case Special::nctaid_x:
      return b.grid.x;
    case Special::nctaid_y:
      return b.grid.y;
    case Special::nctaid_z:
      return b.grid.z;
    case Special::cluster_ctaid_x:
      return b.rank % b.cluster->size.x;
    case Special::cluster_ctaid_y:
      return b.rank / b.cluster->size.x % b.cluster->size.y;
    case Special::cluster_ctaid_z:
      return b.rank / b.cluster->size.x / b.cluster->size.y;
    case Special::cluster_nctaid_x:
      return b.cluster->size.x;
    case Special::cluster_nctaid_y:
      return b.cluster->size.y;
    case Special::cluster_nctaid_z:
      return b.cluster->size.z;
    case Special::cluster_ctarank:
      return b.rank;
    case Special::cluster_nctarank:
      return b.cluster->size.count();
    case Special::clusterid_x:
      return b.index[0] / b.cluster->size.x;
    case Special::clusterid_y:
      return b.index[1] / b.cluster->size.y;
    case Special::clusterid_z:
      return b.index[2] / b.cluster->size.z;
    case Special::nclusterid_x:
      return b.grid.x / b.cluster->size.x;
    case Special::nclusterid_y:
      return b.grid.y / b.cluster->size.y;
    case Special::nclusterid_z:
      return b.grid.z / b.cluster->size.z;
    case Special::laneid:
      return lane;
    case Special::warpid:
      return warp;
    case Special::nwarpid:
      return 32;
    case Special::smid:
      return b.number % 4;
    case Special::nsmid:
      return 4;
    case Special::lanemask_eq:
      return Mask{1} << lane;
    case Special::lanemask_lt:
      return (Mask{1} << lane) - 1;
    case Special::lanemask_le:
      return (Mask{2} << lane) - 1;
    case Special::lanemask_gt:
      return ~((Mask{2} << lane) - 1);
    case Special::lanemask_ge:
      return ~((Mask{1} << lane) - 1);
    case Special::dynamic_smem_size:
      return b.worker->options->dynamic_shared;
    case Special::workspace_high:
      return b.worker->workspace >> 32;
    case Special::workspace_low:
      return b.worker->workspace & 0xffffffff;
    case Special::total_smem_size:
      return b.program->static_shared + b.worker->options->dynamic_shared;
    case Special::aggregate_smem_size:
      return b.program->static_shared + b.worker->options->dynamic_shared + kReservedShared;
    default:
      return 0;
  }
}

}  // namespace

Handler clock_handler(unsigned bytes) {
  return bytes == 8 ? &run_clock<std::uint64_t> : &run_clock<std::uint32_t>;
}

void start_block(Worker& worker, Block& b, std::uint64_t number, std::shared_ptr<Cluster> cluster) {
  const Program& p = *worker.program;
  const LaunchOptions& o = *worker.options;
  const bool fresh = b.warps.empty();
  b.number = number;
  b.index = {static_cast<std::uint32_t>(number % o.grid.x),
             static_cast<std::uint32_t>(number / o.grid.x % o.grid.y),
             static_cast<std::uint32_t>(number / o.grid.x / o.grid.y)};
  b.alive = b.threads = static_cast<std::uint32_t>(o.block.count());
  b.clock = 0;
  b.next_warp = 0;
  b.rank = static_cast<std::uint32_t>(cluster->blocks.size());
  b.cluster = std::move(cluster);
  b.cluster->blocks.push_back(&b);
  b.cluster->alive += b.threads;
  if (fresh) {
    b.worker = &worker;
    b.program = &p;
    b.grid = o.grid;
    b.size = o.block;
    const std::uint32_t warps = (b.threads + kLanes - 1) / kLanes;
    const std::size_t thread_bytes = (std::size_t{p.thread_bytes} * kLanes + 63) / 64 * 64;
    const std::size_t register_bytes = (std::size_t{p.register_bytes} + 63) / 64 * 64;
    b.storage.resize((register_bytes + thread_bytes) * warps + 64);
    auto* at =
        reinterpret_cast<std::byte*>((reinterpret_cast<std::uintptr_t>(b.storage.data()) + 63) / 64 * 64);
    b.warps.resize(warps);
    for (std::uint32_t w = 0; w < warps; ++w) {
      Warp& warp = b.warps[w];
      warp.block = &b;
      warp.index = w;
      warp.base[0] = at;
      warp.base[1] = p.constant_base;
      warp.thread_memory = at + register_bytes;
      at += register_bytes + thread_bytes;
      for (const SpecialSlot& s : p.specials)
        for (unsigned lane = 0; lane < kLanes; ++lane) {
          const std::uint64_t value = special_value(b, s.special, w, lane);
          std::memcpy(warp.base[0] + s.offset + std::size_t{lane} * s.bytes, &value, s.bytes);
        }
    }
    b.shared.resize(std::size_t{p.shared_bytes} + o.dynamic_shared);
    b.untouched.assign(b.shared.size(), kGap);
    std::fill_n(b.untouched.begin(), p.reserved_shared, kUnwritten);
    for (const Placed& v : p.shared) std::fill_n(b.untouched.begin() + v.begin, v.bytes, kUnwritten);
    std::fill(b.untouched.begin() + p.shared_bytes, b.untouched.end(), kUnwritten);
    for (Barrier& barrier : b.barriers) {
      barrier.waiting.assign(warps, 0);
      barrier.announced.assign(warps, 0);
    }
  } else {
    for (Warp& warp : b.warps)
      for (const SpecialSlot& s : p.specials)
        if ((s.special >= Special::ctaid_x && s.special <= Special::ctaid_z) ||
            (s.special >= Special::cluster_ctaid_x && s.special <= Special::clusterid_z))
          for (unsigned lane = 0; lane < kLanes; ++lane) {
            const std::uint64_t value = special_value(b, s.special, warp.index, lane);
            std::memcpy(warp.base[0] + s.offset + std::size_t{lane} * s.bytes, &value, s.bytes);
          }
  }
  // What nobody wrote differs from block to block and seed to seed, so that who reads it is seen to.
  b.written = b.untouched;
  std::uint64_t word = (o.seed + 1) * 0x9E3779B97F4A7C15ULL + number * 0xBF58476D1CE4E5B9ULL;
  for (std::size_t i = 0; i + 8 <= b.shared.size(); i += 8) {
    word = word * 6364136223846793005ULL + 1442695040888963407ULL;
    std::memcpy(b.shared.data() + i, &word, 8);
  }
  for (Warp& w : b.warps) {
    const std::uint32_t threads = std::min(kLanes, b.threads - w.index * kLanes);
    w.alive = threads == kLanes ? kAllLanes : (Mask{1} << threads) - 1;
    w.groups.assign(1, {p.entry, w.alive, Wait::none, 0, 0, nullptr});
    w.activate(0);
    w.copies.clear();
    w.copy_groups.clear();
    w.bulk_groups.clear();
    w.warpgroup_products = {};
    w.cluster_arrived = 0;
    clear_poison(w);
  }
  for (Barrier& barrier : b.barriers) clear(barrier);
  b.mbarriers.clear();
  b.fruitless_waits = 0;
  if (worker.races) worker.races->begin(b);
}

bool can_run(const Block& b) {
  return std::any_of(b.warps.begin(), b.warps.end(), [](const Warp& w) {
    return std::any_of(w.groups.begin(), w.groups.end(), [](const Group& g) { return g.wait == Wait::none; });
  });
}

bool run_block(Block& b, std::uint64_t budget) {
  Worker& worker = *b.worker;
  const Schedule schedule = worker.options->schedule;
  const std::uint64_t end = b.clock + budget;
  const auto count = static_cast<std::uint32_t>(b.warps.size());
  const auto warp_can_run = [](const Warp& w) {
    return std::any_of(w.groups.begin(), w.groups.end(), [](const Group& g) { return g.wait == Wait::none; });
  };
  while (b.alive != 0 && !worker.halted && b.clock < end) {
    if (schedule == Schedule::in_order) {
      std::uint32_t tried = 0;
      while (tried < count && !warp_can_run(b.warps[b.next_warp])) {
        b.next_warp = (b.next_warp + 1) % count;
        ++tried;
      }
      if (tried == count) {
        if (b.cluster->blocks.size() > 1) return true;  // others of the cluster may help
        if (give_up_waiting(b)) continue;
        report_stuck(b);
        break;
      }
      run_warp(b.warps[b.next_warp], std::min(end - b.clock, kWarpTurn));
      b.next_warp = (b.next_warp + 1) % count;
    } else {
      // The first that can run from a random one on.
      const auto from = static_cast<std::uint32_t>((worker.next_random() >> 33) % count);
      std::uint32_t tried = 0;
      while (tried < count && !warp_can_run(b.warps[(from + tried) % count])) ++tried;
      if (tried == count) {
        if (b.cluster->blocks.size() > 1) return true;  // others of the cluster may help
        if (give_up_waiting(b)) continue;
        report_stuck(b);
        break;
      }
      // Mostly short turns, now and then a long one: a thread that is far ahead of the others finds other
      // faults.
      const std::uint64_t random = worker.next_random() >> 33;
      const std::uint64_t turn = random % 16 == 0 ? 200 + random / 16 % 2000 : 1 + random / 16 % 40;
      run_warp(b.warps[(from + tried) % count], std::min(end - b.clock, turn));
    }
  }
  const bool over = b.alive == 0 || worker.halted;
  if (over && worker.races) {
    if (b.alive == 0) finish_copies(b);
    worker.races->end(b);
  }
  return !over;
}

}  // namespace warploom::sim
