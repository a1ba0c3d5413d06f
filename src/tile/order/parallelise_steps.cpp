// Strips that a person asked for, where threads want the whole loops.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "tile/order/locals.hpp"
#include "tile/order/schedule.hpp"
#include "warploom/tile/parallelise.hpp"

namespace warploom::tile {
namespace {

using Times = std::vector<std::vector<TimeDimension>>;

struct Strip {
  std::string name, loop;  ///< "ii", the loop through it: "i"
  std::int64_t size = 0;
  std::set<int> statements;  ///< that share it: loops of one name may stand in several places
};

/// Whether two statements have the same positions and loops up to this one.
bool share(const std::vector<TimeDimension>& a, const std::vector<TimeDimension>& b, std::size_t slot) {
  if (a.size() <= slot || b.size() <= slot) return false;
  for (std::size_t d = 0; d <= slot; ++d)
    if (a[d].kind != b[d].kind || a[d].name != b[d].name || a[d].value != b[d].value) return false;
  return true;
}

/// The strips of a schedule, outermost first.
std::vector<Strip> strips_of(const Times& times) {
  std::vector<Strip> strips;
  for (int s = 0; s < static_cast<int>(times.size()); ++s)
    for (std::size_t d = 0; d < times[s].size(); ++d) {
      const TimeDimension& time = times[s][d];
      if (time.kind != TimeDimension::Kind::strip) continue;
      if (std::ranges::any_of(strips, [&](const Strip& strip) {
            return strip.name == time.name && strip.statements.contains(s);
          }))
        continue;
      strips.push_back({time.name, time.strip_of, time.size, {}});
      for (int other = s; other < static_cast<int>(times.size()); ++other)
        if (share(times[s], times[other], d)) strips.back().statements.insert(other);
    }
  return strips;
}

/// The schedule without a strip's loop. None where statements within it are apart: the position behind it
/// says so.
std::optional<Schedule> without(const Schedule& schedule, const Strip& strip) {
  const Nest& nest = schedule.impl().nest;
  return with_isl(nest.polyhedra(), [&]() -> std::optional<Schedule> {
    Times times = schedule.impl().times;
    for (const int s : strip.statements) {
      auto& times_of = times[s];
      for (std::size_t d = 0; d < times_of.size(); ++d) {
        if (times_of[d].kind != TimeDimension::Kind::strip || times_of[d].name != strip.name) continue;
        if (d + 1 >= times_of.size() || times_of[d + 1].kind != TimeDimension::Kind::position ||
            times_of[d + 1].value != 0)
          return std::nullopt;
        const auto at = times_of.begin() + static_cast<std::ptrdiff_t>(d);
        times_of.erase(at, at + 2);
        break;
      }
    }
    return schedule_of({nest, std::move(times)});
  });
}

void collect_statements_of(const Node& node, std::set<int>& statements) {
  if (node.kind == Node::Kind::assignment) statements.insert(node.statement);
  for (const Node& child : node.children) collect_statements_of(child, statements);
}

/// What a tree says of the loops that are called `strip` and of those through it.
struct BetweenLoops {
  bool found = false, strip_parallel = true, loop_parallel = true, loop_sequential = true;
  bool only_parallel = true;           ///< all loops between are
  bool only_parallel_or_strip = true;  ///< those that are not are strips
  bool no_strip = true;                ///< none is a strip
};

class StripReader {
 public:
  StripReader(const Strip& strip, const std::set<std::string>& strips) : strip_(strip), strips_(strips) {}

  BetweenLoops read(const Node& code) {
    visit(code, false, {});
    return result_;
  }

 private:
  void visit(const Node& node, bool inside, BetweenLoops between) {
    if (node.kind == Node::Kind::loop) {
      if (node.iterator == strip_.name && is_of_strip(node)) {
        between = {};
        between.strip_parallel = node.parallel;
        inside = true;
      } else if (inside && node.iterator == strip_.loop) {
        result_.found = true;
        result_.strip_parallel &= between.strip_parallel;
        result_.loop_parallel &= node.parallel;
        result_.loop_sequential &= !node.parallel;
        result_.only_parallel &= between.only_parallel;
        result_.only_parallel_or_strip &= between.only_parallel_or_strip;
        result_.no_strip &= between.no_strip;
        inside = false;
      } else if (inside) {
        const bool is_strip = strips_.contains(node.iterator);
        between.only_parallel &= node.parallel;
        between.only_parallel_or_strip &= node.parallel || is_strip;
        between.no_strip &= !is_strip;
      }
    }
    for (const Node& child : node.children) visit(child, inside, between);
  }

  bool is_of_strip(const Node& node) const {
    std::set<int> statements;
    collect_statements_of(node, statements);
    return std::ranges::any_of(statements, [&](int s) { return strip_.statements.contains(s); });
  }

  const Strip& strip_;
  const std::set<std::string>& strips_;
  BetweenLoops result_;
};

/// For each loop's name and statement within, whether all such loops are parallel.
using ParallelLoops = std::map<std::pair<std::string, int>, bool>;
void collect_parallel(const Node& node, ParallelLoops& parallel) {
  if (node.kind == Node::Kind::loop) {
    std::set<int> statements;
    collect_statements_of(node, statements);
    for (const int s : statements)
      parallel.try_emplace({node.iterator, s}, true).first->second &= node.parallel;
  }
  for (const Node& child : node.children) collect_parallel(child, parallel);
}

bool keeps_parallel(const Node& before, const Node& after) {
  ParallelLoops was, is;
  collect_parallel(before, was);
  collect_parallel(after, is);
  return std::ranges::all_of(
      is, [&](const auto& loop) { return loop.second || !was.contains(loop.first) || !was.at(loop.first); });
}

class StepsForThreads {
 public:
  explicit StepsForThreads(const Schedule& schedule) : now_(schedule), code_(schedule.code()) {}

  ParallelNest run() && {
    // A sequential strip may go once the parallel ones around it are gone.
    for (const bool parallel : {true, false})
      for (const Strip& strip : strips()) give_up(strip, parallel);
    ParallelNest result;
    result.nest = now_.impl().nest;
    result.privatised = privatised_in(result.nest, code_);
    result.code = std::move(code_);
    result.tiles = std::move(tiles_);
    result.by_steps = true;
    if (!given_up_.empty())
      result.wave_reasons.push_back(
          fmt::format("threads get the loop{} {} whole: the order without strips keeps every dependence and "
                      "every parallel loop",
                      given_up_.size() > 1 ? "s" : "", fmt::join(given_up_, ", ")));
    result.reasons = result.wave_reasons;
    return result;
  }

 private:
  std::vector<Strip> strips() const { return strips_of(now_.impl().times); }

  void give_up(const Strip& strip, bool parallel) {
    std::set<std::string> all;
    for (const Strip& one : strips()) all.insert(one.name);
    const BetweenLoops between = StripReader(strip, all).read(code_);
    const bool wanted =
        parallel ? between.strip_parallel && between.loop_parallel && between.only_parallel_or_strip
                 : between.loop_sequential && between.only_parallel && between.no_strip;
    if (!between.found || !wanted) return;
    const std::optional<Schedule> next = without(now_, strip);
    if (!next || !next->verdict().legal) return;
    Node code = next->code();
    if (!keeps_parallel(code_, code)) return;
    now_ = *next;
    code_ = std::move(code);
    if (parallel) tiles_.try_emplace(strip.loop, strip.size);
    if (std::ranges::find(given_up_, strip.loop) == given_up_.end()) given_up_.push_back(strip.loop);
  }

  Schedule now_;
  Node code_;
  std::map<std::string, std::int64_t> tiles_;
  std::vector<std::string> given_up_;
};

}  // namespace

ParallelNest parallelise(const Schedule& schedule) { return StepsForThreads(schedule).run(); }

}  // namespace warploom::tile
