#include <algorithm>
#include <bit>
#include <optional>

#include "sim/race_state.hpp"

namespace warploom::sim {
namespace {

bool within_block(Scope scope) { return scope == Scope::block || scope == Scope::none; }

/// A barrier or warp sync of the program may order some threads of a block, or of a warp, and not others.
bool has_partial_sync(const Program& program) {
  for (const Step& s : program.steps) {
    const ptx::Instruction& i = program.instruction(s);
    const ptx::Opcode& opcode = program.module->opcode(i);
    if (opcode.op != ptx::Op::bar && opcode.op != ptx::Op::barrier) continue;
    const auto operands = program.module->functions[s.function].operands_of(i);
    if (opcode.has("warp")) {
      const bool all = operands.size() == 1 && operands[0].kind == ptx::OperandKind::integer &&
                       static_cast<Mask>(operands[0].value) == kAllLanes;
      if (!all) return true;
    } else if (opcode.has("arrive") || operands.size() > (opcode.has("red") ? 3u : 1u)) {
      return true;
    }
  }
  return false;
}

/// Threads of a block may synchronise by flags in shared memory.
bool has_shared_flags(const Program& program) {
  bool fences = false, strong = false;
  for (const Step& s : program.steps) {
    const ptx::Op op = program.module->opcode(program.instruction(s)).op;
    fences = fences || op == ptx::Op::fence || op == ptx::Op::membar;
  }
  for (const MemoryForm& form : program.memory) {
    fences = fences || acquires(form.strength) || releases(form.strength);
    strong = strong || (form.strength != Strength::weak && form.space != ptx::Space::global);
  }
  return fences && strong;
}

unsigned shift_of(std::uint8_t cell) { return static_cast<unsigned>(std::countr_zero(cell)); }

}  // namespace

RaceDetector::State::State(const Program& p, Memory& m, Findings& f, bool of_clusters)
    : program(p),
      memory(m),
      findings(f),
      shared_shift(shift_of(p.shared_cell)),
      global_shift(shift_of(p.global_cell)),
      clusters(of_clusters) {
  has_mbarriers = std::any_of(p.steps.begin(), p.steps.end(), [&](const Step& s) {
    return p.module->opcode(p.instruction(s)).op == ptx::Op::mbarrier;
  });
  has_products = !p.warpgroup_products.empty();
  const bool partial = has_partial_sync(p) || has_mbarriers || has_products;
  shared_regime = clusters                         ? Regime::interleaved
                  : partial || has_shared_flags(p) ? Regime::exact
                                                   : Regime::simple;
  global_regime = p.communicates || clusters ? Regime::interleaved
                  : partial                  ? Regime::launch_exact
                                             : Regime::launch;
  numbers.resize(2 * p.steps.size());
  accessors.emplace_back();  // 0 is nobody
}

Who RaceDetector::State::number(const Access& a) {
  const auto step = static_cast<std::size_t>(a.step - program.steps.data());
  std::uint32_t& n = numbers[2 * step + (a.kind == Access::read ? 0 : 1)];
  if (n == 0) {
    n = static_cast<std::uint32_t>(accessors.size());
    accessors.push_back({a.step, a.kind, a.scope, a.bytes});
  }
  return n << kThreadBits;
}

Region& RaceDetector::State::page(Address address) {
  const auto index = static_cast<std::size_t>((address - kGlobalBegin) >> kPageShift);
  if (index >= pages.size()) pages.resize(index + 1);
  if (!pages[index]) pages[index] = std::make_unique<Region>(std::size_t{1} << (kPageShift - global_shift));
  return *pages[index];
}

void RaceDetector::State::weak_access(Warp& warp, const Access& a) {
  const Block& block = *warp.block;
  Tracked& t = tracked(block);
  Tracked& holder = a.owner != nullptr ? tracked(*a.owner) : t;
  const BlockOrder& order = t.order;
  const Present present{order.first(), order.now(), order.floor(),
                        std::max(order.floor(), order.warp_floor(warp.index))};
  const Who who = number(a) | warp.index * kLanes;
  const unsigned cell_shift = shift(a);
  const std::uint32_t lane_cells = cells_of(a);
  const bool joins = std::has_single_bit(a.bytes);  // else each lane is a run of its own
  const Regime how = regime(a);
  const bool reading = a.kind == Access::read;
  for (Mask rest = a.lanes; rest != 0;) {
    const auto first = static_cast<unsigned>(std::countr_zero(rest));
    const auto limit = static_cast<unsigned>(std::countr_one(rest >> first));
    const std::uint64_t address = a.address[first];
    unsigned lanes = 1;
    while (lanes < limit && joins && a.address[first + lanes] == address + std::uint64_t{lanes} * a.bytes)
      ++lanes;
    // Where all lanes read one place, two of them stand for all.
    unsigned skipped = 0;
    if (reading && lanes == 1 && !keeps_all(how))
      while (first + skipped + 2 < first + limit && a.address[first + skipped + 1] == address &&
             a.address[first + skipped + 2] == address)
        ++skipped;
    Run run;
    Region* region = &holder.shared;
    run.cell = address >> cell_shift;
    if (!a.shared) {
      region = &page(address);
      run.cell &= region->weak.cells() - 1;
      const auto fits = static_cast<unsigned>((region->weak.cells() - run.cell) / lane_cells);
      lanes = std::min(lanes, std::max(fits, 1u));
    }
    run.cells = lanes * lane_cells;
    run.shift = joins ? shift_of(static_cast<std::uint8_t>(lane_cells)) : 31;
    run.who = who + first;
    if (!(reading ? note_reads(how, *region, run, present) : note_writes(how, *region, run, present)))
      for (unsigned lane = first; lane < first + lanes; ++lane)
        examine({block, a, warp.index, lane, warp.thread(lane), who + lane, (a.silent >> lane & 1) != 0});
    rest &= ~static_cast<Mask>(((std::uint64_t{1} << (lanes + skipped)) - 1) << first);
  }
}

void RaceDetector::State::strong_access(Warp& warp, const Access& a) {
  const Block& block = *warp.block;
  Tracked& t = tracked(block);
  const Who who = number(a) | warp.index * kLanes;
  const unsigned cell_shift = shift(a);
  Synchronised& known = !a.shared ? released : a.owner != nullptr ? tracked(*a.owner).released : t.released;
  const std::uint32_t lane_cells = cells_of(a);
  for (Mask rest = a.lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const std::uint32_t thread = warp.thread(lane);
    const std::uint64_t first = a.address[lane] >> cell_shift;
    if (a.kind != Access::write && !known.empty())
      for (std::uint64_t cell = first; cell < first + lane_cells; ++cell)
        if (const auto found = known.find(cell); found != known.end())
          t.order.acquire(thread, found->second, acquires(a.strength), a.scope);
    examine({block, a, warp.index, lane, thread, who + lane, (a.silent >> lane & 1) != 0});
    if (a.kind == Access::read) continue;
    Released mine;
    if (releases(a.strength) || t.order.has_fenced())
      mine = t.order.release(thread, releases(a.strength), a.scope);
    for (std::uint64_t cell = first; cell < first + lane_cells; ++cell) {
      // An atomic continues the release sequence that it finds, a store ends it.
      if (a.kind == Access::write && !known.empty()) known.erase(cell);
      if (!mine.empty()) known[cell].join(mine);
    }
  }
  if (releases(a.strength)) t.order.released();
}

std::uint64_t RaceDetector::State::block_of(const LaneAccess& l, Time time) const {
  const BlockOrder& order = tracked(l.block).order;
  return (l.access.shared && !clusters) || (time >= order.first() && time <= order.now())
             ? order.number()
             : timeline.owner(time);
}

bool RaceDetector::State::before(const LaneAccess& l, Seen seen) const {
  if (seen.time == 0) return true;
  const BlockOrder& order = tracked(l.block).order;
  const std::uint64_t block = block_of(l, seen.time);
  return block == order.number() ? order.before(seen.time, seen.who & kThreadMask, l.thread)
                                 : order.before(seen.time, block, seen.who & kThreadMask, l.thread);
}

/// An earlier access to the cell that races with this one.
std::optional<Seen> RaceDetector::State::rival(const LaneAccess& l, Layer& layer, std::size_t cell,
                                               bool strong) const {
  const bool both_strong = strong && l.access.strength != Strength::weak;
  const auto races = [&](Seen seen) {
    if (before(l, seen)) return false;
    // Two strong accesses race only where one's scope leaves the other out.
    return !both_strong ||
           (block_of(l, seen.time) != l.block.number &&
            (within_block(l.access.scope) || within_block(accessors[seen.who >> kThreadBits].scope)));
  };
  if (const Seen write = layer.seen(Layer::write_time, cell); !l.silent && races(write)) return write;
  if (l.access.kind == Access::read) return {};
  Seen a = layer.seen(Layer::read_time, cell), b = layer.seen(Layer::read_time_2, cell);
  if (races(a)) return a;
  if (races(b)) return b;
  if (const std::vector<WarpReads>* reads = layer.reads(cell))
    for (const WarpReads& r : *reads)
      for (Mask rest = r.lanes; rest != 0; rest &= rest - 1)
        if (const Seen seen{r.seen.time, r.seen.who + static_cast<Who>(std::countr_zero(rest))}; races(seen))
          return seen;
  return {};
}

void RaceDetector::State::note_read(const LaneAccess& l, Layer& layer, std::size_t cell) const {
  const Regime how = regime(l.access);
  const Seen mine{tracked(l.block).order.now(), l.who};
  const Seen a = layer.seen(Layer::read_time, cell), b = layer.seen(Layer::read_time_2, cell);
  const bool of_launch = how == Regime::launch || how == Regime::launch_exact;
  if (of_launch && a.time != 0 && block_of(l, a.time) != l.block.number) return;
  if (before(l, a)) {
    // What comes after this read comes after that one too.
    layer.set(Layer::read_time, cell, mine);
  } else if (keeps_all(how)) {
    if (before(l, b))
      layer.set(Layer::read_time_2, cell, mine);
    else
      list_read(l, layer, cell);
  } else if (before(l, b) || ((a.who ^ b.who) & kWarpMask) == 0) {
    layer.set(Layer::read_time_2, cell, mine);
  }
}

void RaceDetector::State::list_read(const LaneAccess& l, Layer& layer, std::size_t cell) const {
  // So many reads by other blocks' warps are kept where nothing has ordered them.
  constexpr std::size_t kForeign = 64;
  const BlockOrder& order = tracked(l.block).order;
  std::vector<WarpReads>& reads = layer.make_reads(cell);
  const Mask bit = Mask{1} << l.lane;
  const Who warp_who = l.who - l.lane;
  std::size_t foreign = 0;
  bool merged = false;
  std::erase_if(reads, [&](WarpReads& r) {
    if (r.block != order.number()) return ++foreign, false;
    if (r.seen.time <= order.floor()) return true;
    if (((r.seen.who ^ warp_who) & kWarpMask) != 0) return false;
    r.lanes &= ~bit;
    if (!merged && r.seen.time == order.now() && r.seen.who == warp_who) {
      r.lanes |= bit;
      merged = true;
    }
    return r.lanes == 0;
  });
  if (merged) return;
  if (foreign > kForeign)
    reads.erase(std::find_if(reads.begin(), reads.end(),
                             [&](const WarpReads& r) { return r.block != order.number(); }));
  reads.push_back({order.number(), {order.now(), warp_who}, bit});
}

void RaceDetector::State::examine(const LaneAccess& l) {
  const Access& a = l.access;
  const unsigned cell_shift = shift(a);
  const std::uint64_t address = a.address[l.lane];
  Region& region = a.shared ? tracked(a.owner != nullptr ? *a.owner : l.block).shared : page(address);
  const std::uint64_t begin = address >> cell_shift, end = begin + cells_of(a);
  if (a.strength != Strength::weak && !region.strong)
    region.strong = std::make_unique<Layer>(region.weak.cells());
  Layer& own = a.strength == Strength::weak ? region.weak : *region.strong;
  const Seen mine{tracked(l.block).order.now(), l.who};
  std::optional<Seen> other;
  for (std::uint64_t c = begin; c < end; ++c) {
    const auto cell = static_cast<std::size_t>(a.shared ? c : c & (region.weak.cells() - 1));
    std::optional<Seen> here = rival(l, region.weak, cell, false);
    if (!here && region.strong) here = rival(l, *region.strong, cell, true);
    if (here && !other) {
      other = here;
      report(l, *here, std::max(c << cell_shift, address));
    }
    if (a.kind == Access::read)
      note_read(l, own, cell);
    else if (!l.silent || before(l, own.seen(Layer::write_time, cell)))
      own.set(Layer::write_time, cell, mine);
    // else: two writes of one value that nothing orders; the first stands for both.
  }
}

std::array<std::uint32_t, 3> RaceDetector::State::place_of(const Block& of_grid, std::uint64_t number) {
  const Dim& grid = of_grid.grid;
  return {static_cast<std::uint32_t>(number % grid.x), static_cast<std::uint32_t>(number / grid.x % grid.y),
          static_cast<std::uint32_t>(number / grid.x / grid.y)};
}

void RaceDetector::State::report(const LaneAccess& l, Seen other, std::uint64_t at) {
  const Who me = l.who >> kThreadBits, them = other.who >> kThreadBits;
  const Accessor& accessor = accessors[them];
  const Access& a = l.access;
  if (!reported.insert(pair(l.who, other.who)).second) {
    // The instructions were named already; this counts.
    Site line;
    line.ptx_line = program.instruction(*accessor.step).line;
    findings.add(l.block, FindingKind::race, *a.step, l.warp, l.lane, {}, {}, std::move(line));
    return;
  }
  const Tracked& t = tracked(l.block);
  Site site = Findings::site(l.block, *accessor.step, t.thread_of(other.who & kThreadMask), accessor.what());
  const std::uint64_t block = block_of(l, other.time);
  site.block = place_of(l.block, block);
  const std::uint32_t thread = t.thread_of(l.thread);
  const Block& holder = a.owner != nullptr ? *a.owner : l.block;
  findings.add(l.block, FindingKind::race, *a.step, thread / kLanes, thread % kLanes, accessors[me].what(),
               a.shared ? describe_shared(holder, at) +
                              (a.owner == nullptr ? ""
                                                  : fmt::format(" of block ({},{},{})", holder.index[0],
                                                                holder.index[1], holder.index[2]))
                        : describe_global(memory, at),
               std::move(site));
}

RaceDetector::RaceDetector(const Program& program, Memory& memory, Findings& findings, bool clusters)
    : state_(std::make_unique<State>(program, memory, findings, clusters)) {}

RaceDetector::~RaceDetector() = default;

void RaceDetector::begin(Block& block) {
  State& s = *state_;
  if (s.pool.empty())
    s.pool.push_back(std::make_shared<Tracked>(s.timeline, s.program.communicates || s.clusters,
                                               (block.shared.size() >> s.shared_shift) + 1));
  const std::shared_ptr<Tracked> t = std::move(s.pool.back());
  s.pool.pop_back();
  const std::uint32_t threads = (block.threads + kLanes - 1) / kLanes * kLanes;
  const std::uint32_t more = (s.has_mbarriers ? Tracked::kAgents : 0) +
                             (s.has_products ? Tracked::kAgents + Tracked::kProductAgents : 0);
  const std::uint32_t some = std::min(more, Tracked::kAgents + Tracked::kProductAgents);
  const bool agents = some != 0 && threads + some <= kThreadMask + 1;
  t->first_agent = agents ? threads : ptx::kNone;
  t->mbarriers.clear();
  t->order.begin(block.number, agents ? threads + some : threads);
  t->began = t->order.now();
  // What others of its cluster did there in an earlier block's time would be nobody's any more.
  if (s.clusters) t->shared = Region(t->shared.weak.cells());
  t->proxy_fences.clear();
  t->released.clear();
  t->shared.weak.drop_lists();
  if (t->shared.strong) t->shared.strong->drop_lists();
  block.race_state = t;
}

void RaceDetector::end(Block& block) {
  state_->pool.push_back(std::static_pointer_cast<Tracked>(block.race_state));
  block.race_state.reset();
}

void RaceDetector::access(Warp& warp, const Access& access) {
  if (!state_->ordinary_global_writes && !access.shared && access.kind != Access::read) {
    const ptx::Opcode& by = state_->program.module->opcode(state_->program.instruction(*access.step));
    state_->ordinary_global_writes = by.op != ptx::Op::cp;
  }
  if (access.strength == Strength::weak)
    state_->weak_access(warp, access);
  else
    state_->strong_access(warp, access);
}

void RaceDetector::announce(Warp& warp, Mask lanes, std::uint32_t number) {
  tracked(*warp.block).order.announce(warp.index, lanes, number);
}

void RaceDetector::barrier(Block& block, const std::vector<Mask>& waiting, const std::vector<Mask>& announced,
                           std::uint32_t number) {
  bool all = true;
  for (const Warp& w : block.warps)
    all = all && (w.alive & ~waiting[w.index]) == 0 && announced[w.index] == 0;
  if (all)
    tracked(block).order.barrier_of_all();
  else
    tracked(block).order.barrier(waiting, number);
}

void RaceDetector::warp_sync(Warp& warp, Mask lanes) {
  tracked(*warp.block).order.warp_sync(warp.index, lanes, (warp.alive & ~lanes) == 0);
}

void RaceDetector::fence(Warp& warp, Mask lanes, Scope scope, Strength sides) {
  tracked(*warp.block).order.fence(warp.index, lanes, scope, sides);
}

bool RaceDetector::conflicts(const RaceDetector& other) const {
  const State& a = *state_;
  const State& b = *other.state_;
  const auto of_block = [](const State& s, const Layer& l, std::size_t cell) {
    const auto narrow = [&](Layer::Row row) {
      const Seen seen = l.seen(row, cell);
      return seen.time != 0 && within_block(s.accessors[seen.who >> kThreadBits].scope);
    };
    return narrow(Layer::write_time) || narrow(Layer::read_time);
  };
  for (std::size_t p = 0; p < std::min(a.pages.size(), b.pages.size()); ++p) {
    if (!a.pages[p] || !b.pages[p]) continue;
    const Region& x = *a.pages[p];
    const Region& y = *b.pages[p];
    const auto clash = [](const Layer& u, const Layer& v, std::size_t c) {
      return (u.written(c) && (v.written(c) || v.read(c))) || (u.read(c) && v.written(c));
    };
    for (std::size_t c = 0; c < x.weak.cells(); ++c) {
      if (clash(x.weak, y.weak, c)) return true;
      if (y.strong && clash(x.weak, *y.strong, c)) return true;
      if (x.strong && clash(*x.strong, y.weak, c)) return true;
      if (x.strong && y.strong && clash(*x.strong, *y.strong, c) &&
          (of_block(a, *x.strong, c) || of_block(b, *y.strong, c)))
        return true;
    }
  }
  return false;
}

}  // namespace warploom::sim
