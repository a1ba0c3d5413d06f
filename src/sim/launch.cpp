// Machine: memory, and launches. Blocks that cannot see each other's writes run on all CPU threads; those
// that can run interleaved on one. A parallel launch that finds anything is done again on one thread from the
// memory that it found, so that what is reported does not depend on the number of threads.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <utility>

#include "core/doors.hpp"
#include "core/one_caller.hpp"
#include "sim/block.hpp"
#include "sim/initialisers.hpp"
#include "sim/memory.hpp"
#include "sim/program.hpp"
#include "sim/races.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/core/threads.hpp"

namespace warploom::sim {

using namespace ptx;

struct Machine::State {
  Module module;
  Memory memory;
  std::map<const Function*, std::unique_ptr<const Program>> programs;
  OneCaller caller;
};

namespace {

constexpr const char* kName = "sim::Machine";

}  // namespace

Machine::Machine(Module module) : state_(std::make_unique<State>()) {
  state_->module = std::move(module);
  const Module& m = state_->module;
  if (m.address_bits != 64)
    throw BadInput(
        fmt::format("{}: the simulator runs PTX of .address_size 64; this has {}", m.file, m.address_bits));
  std::vector<std::pair<std::uint32_t, Allocation*>> placed;
  for (std::uint32_t i = 0; i < m.variables.size(); ++i) {
    const Variable& v = m.variables[i];
    if ((v.space != Space::global && v.space != Space::constant) || v.bytes == 0) continue;
    Allocation& a = state_->memory.allocate(v.bytes, std::string(v.name), v.space == Space::constant);
    state_->memory.set_variable(i, a.begin);
    placed.emplace_back(i, &a);
  }
  for (const auto& [i, a] : placed) initialise(m, state_->memory, m.variables[i], {a->data.get(), a->bytes});
}

Machine::Machine(Machine&&) noexcept = default;
Machine& Machine::operator=(Machine&&) noexcept = default;
Machine::~Machine() = default;

Machine::State& Machine::state() const { return held(state_, "a simulated machine"); }
const Module& Machine::module() const { return state().module; }

Address Machine::allocate(std::uint64_t bytes, std::string label) {
  const OneCaller::Call call(state().caller, kName);
  return state().memory.allocate(bytes, std::move(label), false).begin;
}

void Machine::free(Address address) {
  const OneCaller::Call call(state().caller, kName);
  state().memory.free(address);
}

namespace {

std::byte* host(const Memory& memory, Address address, std::uint64_t bytes, std::string_view what) {
  Allocation* a = memory.page_owner(address);
  if (a == nullptr || !a->contains(address, bytes))
    throw BadInput(fmt::format("sim: {} of {} bytes at {:#x}: {}", what, bytes, address,
                               describe_global(memory, address)));
  return a->data.get() + (address - a->begin);
}

}  // namespace

void Machine::copy_to_device(Address to, std::span<const std::byte> from) {
  const OneCaller::Call call(state().caller, kName);
  if (!from.empty())
    std::memcpy(host(state().memory, to, from.size(), "a copy to the device"), from.data(), from.size());
}

void Machine::copy_from_device(std::span<std::byte> to, Address from) const {
  const OneCaller::Call call(state().caller, kName);
  if (!to.empty())
    std::memcpy(to.data(), host(state().memory, from, to.size(), "a copy from the device"), to.size());
}

Address Machine::variable(std::string_view name) const {
  const State& s = state();
  for (std::uint32_t i = 0; i < s.module.variables.size(); ++i)
    if (s.module.variables[i].name == name)
      if (const Address a = s.memory.variable(i); a != 0) return a;
  throw BadInput(fmt::format("{}: there is no .global or .const variable '{}'", s.module.file, name));
}

namespace {

void check_limits(const Module& module, const Function& kernel, const LaunchOptions& o) {
  const auto at = [&] { return fmt::format("{}:{}: kernel '{}'", module.file, kernel.line, kernel.name); };
  if (o.block.count() == 0 || o.block.count() > 1024 || o.block.x > 1024 || o.block.y > 1024 ||
      o.block.z > 64)
    throw BadInput(fmt::format(
        "{}: a block of {} x {} x {} threads; it must have 1 to 1024, and at most 1024 x 1024 x 64", at(),
        o.block.x, o.block.y, o.block.z));
  if (o.grid.x == 0 || o.grid.y == 0 || o.grid.z == 0 || o.grid.x > 0x7fffffffu || o.grid.y > 65535 ||
      o.grid.z > 65535)
    throw BadInput(fmt::format(
        "{}: a grid of {} x {} x {} blocks; it must have at least one, and at most 2147483647 x 65535 x 65535",
        at(), o.grid.x, o.grid.y, o.grid.z));
  if (kernel.required_threads) {
    const auto& r = *kernel.required_threads;
    if (r[0] != o.block.x || r[1] != o.block.y || r[2] != o.block.z)
      throw BadInput(
          fmt::format("{} is compiled for blocks of {} x {} x {} threads (.reqntid), not {} x {} x {}", at(),
                      r[0], r[1], r[2], o.block.x, o.block.y, o.block.z));
  }
  if (kernel.maximal_threads) {
    const auto& r = *kernel.maximal_threads;
    const std::uint64_t most = std::uint64_t{r[0]} * r[1] * r[2];
    if (o.block.count() > most)
      throw BadInput(fmt::format("{} is compiled for blocks of at most {} threads (.maxntid), not {}", at(),
                                 most, o.block.count()));
  }
  const Dim& c = o.cluster;
  constexpr std::uint64_t kMostInCluster = 16;
  if (c.x == 0 || c.y == 0 || c.z == 0 || c.count() > kMostInCluster || o.grid.x % c.x != 0 ||
      o.grid.y % c.y != 0 || o.grid.z % c.z != 0)
    throw BadInput(fmt::format(
        "{}: clusters of {} x {} x {} blocks; they must have 1 to {}, and divide the grid of {} x {} x {}",
        at(), c.x, c.y, c.z, kMostInCluster, o.grid.x, o.grid.y, o.grid.z));
  if (const auto& r = kernel.required_cluster; r && ((*r)[0] != c.x || (*r)[1] != c.y || (*r)[2] != c.z))
    throw BadInput(fmt::format(
        "{} is compiled for clusters of {} x {} x {} blocks (.reqnctapercluster), not {} x {} x {}", at(),
        (*r)[0], (*r)[1], (*r)[2], c.x, c.y, c.z));
  sim::name(o.schedule);
  if (o.max_instructions == 0)
    throw BadInput(fmt::format("{}: a limit of 0 instructions; give at least 1", at()));
  constexpr std::uint32_t kMostResident = 1 << 16;
  if (o.resident_blocks > kMostResident)
    throw BadInput(fmt::format("{}: {} blocks in flight together; {} are the limit", at(), o.resident_blocks,
                               kMostResident));
  if (o.dynamic_shared > 1u << 24)
    throw BadInput(
        fmt::format("{}: {} bytes of dynamic shared memory; the simulator gives a block at most 16 MiB", at(),
                    o.dynamic_shared));
}

std::vector<std::byte> parameter_bank(const Module& module, const Program& program,
                                      const Arguments& arguments) {
  const auto list = [&] {
    std::string text;
    for (const Placed& p : program.parameters)
      text += fmt::format("{}{} {} ({} bytes)", text.empty() ? "" : ", ", module.variables[p.variable].type,
                          module.variables[p.variable].name, p.bytes);
    return text.empty() ? std::string("none") : text;
  };
  const auto& values = arguments.values();
  if (values.size() != program.parameters.size())
    throw BadInput(fmt::format("kernel '{}' has {} parameter{}, {} argument{} given: {}",
                               program.kernel->name, program.parameters.size(),
                               program.parameters.size() == 1 ? "" : "s", values.size(),
                               values.size() == 1 ? " was" : "s were", list()));
  std::vector<std::byte> bank((std::size_t{program.parameter_bytes} + 15) / 16 * 16);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Placed& p = program.parameters[i];
    if (values[i].size() != p.bytes)
      throw BadInput(fmt::format("kernel '{}': argument {} ({}) has {} bytes, the parameter {}: {}",
                                 program.kernel->name, i, module.variables[p.variable].name, values[i].size(),
                                 p.bytes, list()));
    std::memcpy(bank.data() + p.begin, values[i].data(), p.bytes);
  }
  return bank;
}

struct Share {
  Worker worker;
  std::exception_ptr error;
  bool refused = false;  ///< a thread reached what the simulator does not have
  std::string printed;
};

/// What cooperative groups keep of a grid, for one launch of a kernel that asks for it.
class GridWorkspace {
 public:
  GridWorkspace(const Program& program, Memory& memory) : memory_(memory) {
    if (program.grid_workspace) address = memory.allocate(64, "workspace of the grid", false).begin;
  }
  ~GridWorkspace() {
    if (address != 0) memory_.free(address);
  }
  GridWorkspace(const GridWorkspace&) = delete;
  Address address = 0;

 private:
  Memory& memory_;
};

void prepare(Share& share, const Program& program, Memory& memory, const LaunchOptions& options,
             const std::byte* parameters, Address workspace) {
  Worker& w = share.worker;
  w.workspace = workspace;
  w.program = &program;
  w.memory = &memory;
  w.options = &options;
  w.parameters = parameters;
  w.yield_at_access = options.schedule == Schedule::adversarial;
  if (options.races)
    w.races = std::make_unique<RaceDetector>(program, memory, w.findings, options.cluster.count() > 1);
}

void seed_for(Worker& w, std::uint64_t block) {
  w.random = (w.options->seed * 0x9E3779B97F4A7C15ULL + block * 0xD1342543DE82EF95ULL) | 1;
}

void too_long(Worker& worker, Block& block) {
  Warp* warp = &block.warps.front();
  for (Warp& w : block.warps)
    if (w.alive != 0) {
      warp = &w;
      break;
    }
  const Group* group = warp->groups.empty() ? nullptr : &warp->groups.front();
  const Step& step = worker.program->steps[group == nullptr ? worker.program->entry : group->pc];
  const Mask lanes = group == nullptr ? 1 : group->lanes;
  worker.findings.add(
      block, FindingKind::endless, step, warp->index, static_cast<unsigned>(std::countr_zero(lanes)),
      "still running",
      fmt::format("the launch's limit of {} instructions is reached", worker.options->max_instructions));
  worker.halted = true;
}

/// Steps of a warp between two looks at the launch's limit of instructions, and at Ctrl-C.
std::uint64_t slice(const LaunchOptions& options) {
  constexpr std::uint64_t kMost = 100'000, kLanes = 32;
  return std::clamp<std::uint64_t>(options.max_instructions / kLanes, 1, kMost);
}

/// Blocks one after another, as `next` hands them out.
template <typename Next>
void run_alone(Share& share, Next next, const std::atomic<bool>& stop,
               std::atomic<std::uint64_t>& instructions) {
  Worker& w = share.worker;
  Block block;
  std::uint64_t reported = 0;
  for (std::uint64_t number = next(); number != ~std::uint64_t{0} && !w.halted; number = next()) {
    seed_for(w, number);
    start_block(w, block, number, std::make_shared<Cluster>());
    const auto beyond_limit = [&] {
      const std::uint64_t more = w.thread_instructions - std::exchange(reported, w.thread_instructions);
      return instructions.fetch_add(more) + more > w.options->max_instructions;
    };
    while (run_block(block, slice(*w.options))) {
      if (beyond_limit()) too_long(w, block);
      if (stop.load(std::memory_order_relaxed)) return;
      check_interrupt();
    }
    check_interrupt();
    if (beyond_limit() && !w.halted) too_long(w, block);
    share.printed += block.printed;
    block.printed.clear();
    if (stop.load(std::memory_order_relaxed)) return;
  }
}

/// The number of a cluster's block.
std::uint64_t block_number(const LaunchOptions& o, std::uint64_t cluster, std::uint32_t rank) {
  const std::uint64_t across = o.grid.x / o.cluster.x, down = o.grid.y / o.cluster.y;
  const std::uint64_t x = cluster % across * o.cluster.x + rank % o.cluster.x,
                      y = cluster / across % down * o.cluster.y + rank / o.cluster.x % o.cluster.y,
                      z = cluster / across / down * o.cluster.z + rank / o.cluster.x / o.cluster.y;
  return x + o.grid.x * (y + o.grid.y * z);
}

/// All threads of the cluster wait: as give_up_waiting and report_stuck for one block.
void go_on_or_report(const Cluster& cluster) {
  bool any = false;
  for (Block* b : cluster.blocks)
    if (b->alive != 0) any |= give_up_waiting(*b);
  if (any) return;
  report_stuck(**std::find_if(cluster.blocks.begin(), cluster.blocks.end(),
                              [](const Block* b) { return b->alive != 0; }));
}

/// Blocks that see each other, in turns: clusters as `next` hands them out, as many in flight as have
/// `resident` blocks together.
template <typename Next>
void run_interleaved(Share& share, Next next, std::uint64_t resident, const std::atomic<bool>& stop,
                     std::atomic<std::uint64_t>& instructions) {
  Worker& w = share.worker;
  const auto size = static_cast<std::uint32_t>(w.options->cluster.count());
  std::vector<std::unique_ptr<Block>> flying, idle, left;  // left: others of their cluster are in flight
  const bool in_order = w.options->schedule == Schedule::in_order;
  std::size_t at = 0;
  std::uint64_t reported = 0;
  std::map<std::uint64_t, std::string> printed;
  const auto hand_over = [&] {
    for (const auto& [number, text] : printed) share.printed += text;
    printed.clear();
  };
  for (bool more = true; !w.halted && (more || !flying.empty());) {
    while (more && (flying.empty() || flying.size() + size <= resident)) {
      if (flying.empty()) hand_over();
      const std::uint64_t number = next();
      if (number == ~std::uint64_t{0}) {
        more = false;
        break;
      }
      if (flying.empty()) seed_for(w, number);
      const auto cluster = std::make_shared<Cluster>();
      cluster->size = w.options->cluster;
      for (std::uint32_t rank = 0; rank < size; ++rank) {
        if (idle.empty()) idle.push_back(std::make_unique<Block>());
        flying.push_back(std::move(idle.back()));
        idle.pop_back();
        start_block(w, *flying.back(), block_number(*w.options, number, rank), cluster);
      }
    }
    if (flying.empty()) break;
    check_interrupt();
    if (stop.load(std::memory_order_relaxed)) return;
    if (!in_order) at = (w.next_random() >> 33) % flying.size();
    if (at >= flying.size()) at = 0;
    // Short turns, so that blocks meet; in order, long enough for each of its warps.
    const std::uint64_t turn = in_order ? 4'000 : 1 + (w.next_random() >> 33) % 400;
    Block& block = *flying[at];
    const Cluster& cluster = *block.cluster;
    if (run_block(block, std::min(turn, slice(*w.options)))) {
      if (size > 1 && std::none_of(cluster.blocks.begin(), cluster.blocks.end(),
                                   [](const Block* b) { return b->alive != 0 && can_run(*b); }))
        go_on_or_report(cluster);
      ++at;
    } else {
      if (!block.printed.empty()) printed[block.number] = std::move(block.printed);
      block.printed.clear();
      left.push_back(std::move(flying[at]));
      flying.erase(flying.begin() + static_cast<std::ptrdiff_t>(at));
      if (cluster.alive == 0)
        for (std::size_t i = left.size(); i-- > 0;)
          if (left[i]->cluster.get() == &cluster) {
            idle.push_back(std::move(left[i]));
            left.erase(left.begin() + static_cast<std::ptrdiff_t>(i));
          }
    }
    const std::uint64_t done = w.thread_instructions - std::exchange(reported, w.thread_instructions);
    if (instructions.fetch_add(done) + done > w.options->max_instructions && !flying.empty() && !w.halted)
      too_long(w, *flying[at % flying.size()]);
  }
  hand_over();
}

/// Of a program whose blocks see each other, or in clusters, or each alone.
template <typename Next>
void run_blocks(Share& share, Next next, const std::atomic<bool>& stop,
                std::atomic<std::uint64_t>& instructions) {
  const LaunchOptions& o = *share.worker.options;
  if (share.worker.program->communicates)
    run_interleaved(share, next, o.resident_blocks == 0 ? 1024 : o.resident_blocks, stop, instructions);
  else if (o.cluster.count() > 1)
    run_interleaved(share, next, o.cluster.count(), stop, instructions);
  else
    run_alone(share, next, stop, instructions);
}

void add(Outcome& outcome, Share& share) {
  outcome.thread_instructions += share.worker.thread_instructions;
  outcome.warp_instructions += share.worker.warp_instructions;
  outcome.barriers += share.worker.barriers;
  outcome.divergent_branches += share.worker.divergent_branches;
  outcome.completed &= !share.worker.halted;
}

}  // namespace

Outcome Machine::launch(std::string_view name, const Arguments& arguments, const LaunchOptions& given) {
  const RunScope scope(given.run);
  State& s = state();
  const OneCaller::Call call(s.caller, kName);
  const Function* kernel = s.module.find_function(name);
  if (kernel == nullptr || !kernel->entry || !kernel->has_body) {
    std::string known;
    for (const Function& f : s.module.functions)
      if (f.entry) known += fmt::format("{}{}", known.empty() ? "" : ", ", f.name);
    throw BadInput(fmt::format("{}: there is no kernel '{}'; there {}", s.module.file, name,
                               known.empty() ? "is none" : "is " + known));
  }
  LaunchOptions options = given;
  if (const auto& c = kernel->required_cluster; c && options.cluster.count() == 1)
    options.cluster = {(*c)[0], (*c)[1], (*c)[2]};
  check_limits(s.module, *kernel, options);
  std::unique_ptr<const Program>& program = s.programs[kernel];
  if (!program) program = decode(s.module, *kernel, s.memory);
  const std::vector<std::byte> bank = parameter_bank(s.module, *program, arguments);
  const GridWorkspace workspace(*program, s.memory);

  const std::uint64_t units =
      options.grid.count() / options.cluster.count();  // clusters, blocks where there are none
  const auto threads =
      static_cast<unsigned>(std::min<std::uint64_t>(program->communicates ? 1 : warploom::threads(), units));
  Outcome outcome;
  outcome.static_shared = program->static_shared;
  std::atomic<std::uint64_t> instructions = 0;
  std::atomic<bool> stop = false;

  if (threads > 1) {
    // Memory as it was, should something be found.
    std::vector<std::pair<Allocation*, std::unique_ptr<std::byte[]>>> before;
    for (const auto& [address, a] : s.memory.allocations())
      if (!a->constant) {
        before.emplace_back(a.get(), std::make_unique_for_overwrite<std::byte[]>(a->bytes));
        std::memcpy(before.back().second.get(), a->data.get(), a->bytes);
      }
    std::vector<Share> shares(threads);
    std::atomic<std::uint64_t> next = 0;
    const std::uint64_t chunk =
        std::max<std::uint64_t>(1, std::min<std::uint64_t>(64, units / (8 * threads)));
    std::vector<std::vector<std::pair<std::uint64_t, std::string>>> printed(threads);
    for (Share& share : shares) prepare(share, *program, s.memory, options, bank.data(), workspace.address);
    parallel_for(threads, [&](std::int64_t t) {
      Share& share = shares[t];
      try {
        std::uint64_t at = 0, end = 0, current = ~std::uint64_t{0};
        run_blocks(
            share,
            [&]() -> std::uint64_t {
              if (!share.printed.empty()) printed[t].emplace_back(current, std::move(share.printed));
              share.printed.clear();
              if (at == end) {
                at = next.fetch_add(chunk);
                end = std::min(at + chunk, units);
                if (at >= units) return ~std::uint64_t{0};
              }
              return current = at++;
            },
            stop, instructions);
      } catch (const Unsupported&) {
        share.refused = true;  // on one thread again, which says which comes first
      } catch (...) {
        share.error = std::current_exception();
      }
      if (share.error || share.refused || share.worker.halted) stop = true;
    });
    bool found = false;
    for (Share& share : shares) {
      if (share.error) std::rethrow_exception(share.error);
      found |= share.refused || !share.worker.findings.empty();
    }
    for (unsigned a = 0; options.races && !found && a < threads; ++a)
      for (unsigned b = a + 1; !found && b < threads; ++b)
        found = shares[a].worker.races->conflicts(*shares[b].worker.races);
    const bool endless = found && instructions > options.max_instructions;
    if (!found || endless) {
      std::vector<std::pair<std::uint64_t, std::string>> texts;
      for (unsigned t = 0; t < threads; ++t) {
        add(outcome, shares[t]);
        texts.insert(texts.end(), printed[t].begin(), printed[t].end());
        if (outcome.findings.empty()) outcome.findings = shares[t].worker.findings.take();
      }
      std::sort(texts.begin(), texts.end());
      for (const auto& [number, text] : texts) outcome.printed += text;
      outcome.cpu_threads = threads;
      return outcome;
    }
    for (auto& [a, bytes] : before) std::memcpy(a->data.get(), bytes.get(), a->bytes);
    instructions = 0;
    stop = false;
  }

  Share share;
  prepare(share, *program, s.memory, options, bank.data(), workspace.address);
  std::uint64_t at = 0;
  run_blocks(
      share, [&] { return at < units ? at++ : ~std::uint64_t{0}; }, stop, instructions);
  add(outcome, share);
  outcome.findings = share.worker.findings.take();
  outcome.printed = std::move(share.printed);
  return outcome;
}

}  // namespace warploom::sim
