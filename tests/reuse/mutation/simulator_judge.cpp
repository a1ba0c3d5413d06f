#include "simulator_judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace warploom::reuse::mutation {
namespace {

struct Order {
  sim::Schedule schedule;
  std::uint64_t seed;
};
constexpr std::array kOrders{Order{sim::Schedule::in_order, 1}, Order{sim::Schedule::adversarial, 2},
                             Order{sim::Schedule::random, 3}, Order{sim::Schedule::random, 4},
                             Order{sim::Schedule::random, 5}};

std::string in_order_of(std::size_t order, const sim::LaunchText& launch) {
  return fmt::format("{} (schedule {}, seed {})", launch.line, sim::name(kOrders[order].schedule),
                     kOrders[order].seed);
}

}  // namespace

SimulatorJudge::Run SimulatorJudge::run(const std::string& text, const sim::LaunchText& launch,
                                        std::size_t schedule, std::uint64_t max_instructions) {
  sim::Machine machine(ptx::parse(text, "k.ptx"));
  const sim::Prepared prepared = sim::prepare(machine, launch);
  sim::LaunchOptions options;
  options.grid = launch.grid;
  options.block = launch.block;
  options.dynamic_shared = launch.dynamic_shared;
  options.schedule = kOrders[schedule].schedule;
  options.seed = kOrders[schedule].seed;
  options.races = true;
  options.run.threads = 1;
  options.max_instructions = max_instructions;
  const sim::Outcome outcome = machine.launch(launch.kernel, prepared.arguments, options);
  Run result;
  result.instructions = outcome.thread_instructions;
  if (!outcome.clean()) result.finding = outcome.findings[0].text();
  for (std::size_t a = 0; a < launch.arguments.size(); ++a) {
    if (!launch.arguments[a].buffer) continue;
    result.buffers.emplace_back(launch.arguments[a].bytes().size());
    machine.copy_from_device(result.buffers.back(), prepared.buffers[a]);
  }
  return result;
}

SimulatorJudge::SimulatorJudge(const std::string& original, std::vector<sim::LaunchText> launches)
    : launches_(std::move(launches)) {
  for (const sim::LaunchText& launch : launches_)
    for (std::size_t order = 0; order < kOrders.size(); ++order) {
      Run now = run(original, launch, order, 1'000'000'000);
      if (!now.finding.empty())
        unusable_ = in_order_of(order, launch) + ": " + now.finding;
      else if (order > 0 && now.buffers != expected_.back().buffers)
        unusable_ = in_order_of(order, launch) + ": the original's result depends on the schedule";
      if (!unusable_.empty()) return;
      if (order == 0) expected_.push_back(std::move(now));
    }
}

std::string SimulatorJudge::objection(const std::string& text) const {
  // Launches inside: most faults show in any of them, under some schedule.
  for (std::size_t order = 0; order < kOrders.size(); ++order)
    for (std::size_t l = 0; l < launches_.size(); ++l) {
      const Run now = run(text, launches_[l], order, 4 * expected_[l].instructions + 100'000);
      if (!now.finding.empty()) return in_order_of(order, launches_[l]) + ": " + now.finding;
      if (now.buffers != expected_[l].buffers)
        return in_order_of(order, launches_[l]) + ": the result differs from the original's";
    }
  return "";
}

}  // namespace warploom::reuse::mutation
