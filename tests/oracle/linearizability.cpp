#include "oracle/linearizability.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace warploom::oracle {
namespace {

using table::Operation;
using table::Outcome;

std::string to_string(KeyState state) { return state ? std::to_string(*state) : "nothing"; }

bool inserts(Operation operation) { return operation != Operation::find && operation != Operation::erase; }

/// The state that `operation` leaves if it takes effect in `before`; none: its answer would have been
/// another.
std::optional<KeyState> step(const MapOperation& operation, KeyState before, int value_bits) {
  if (operation.outcome == Outcome::full && inserts(operation.operation) && !before) return before;
  const Effect right = effect(operation.operation, operation.operand, before, value_bits);
  if (right.outcome != operation.outcome || right.value != operation.value) return {};
  return right.after;
}

bool alike(const MapOperation& a, const MapOperation& b) {
  return a.operation == b.operation && a.operand == b.operand && a.outcome == b.outcome && a.value == b.value;
}

/// Which operations under way have had their effect, sorted, and the state they left.
struct Configuration {
  std::vector<std::size_t> done;
  KeyState state;
  auto operator<=>(const Configuration&) const = default;

  bool has(std::size_t i) const { return std::binary_search(done.begin(), done.end(), i); }
  void take(std::size_t i) { done.insert(std::lower_bound(done.begin(), done.end(), i), i); }
  void forget(std::size_t i) { done.erase(std::lower_bound(done.begin(), done.end(), i)); }
};

class Search {
 public:
  Search(std::span<const MapOperation> history, KeyState initial, int value_bits)
      : history_(history), value_bits_(value_bits), configurations_{{{}, initial}} {}

  void call(std::size_t i) {
    // Sorted by when they return, so that the first of several alike is the one to take.
    const auto later = [&](std::size_t a, std::size_t b) {
      return history_[a].returned < history_[b].returned;
    };
    under_way_.insert(std::upper_bound(under_way_.begin(), under_way_.end(), i, later), i);
    std::set<Configuration> now;
    for (Configuration configuration : configurations_) {
      take_readers(configuration);
      now.insert(std::move(configuration));
    }
    configurations_ = std::move(now);
  }

  /// @return false: in no order can this operation have answered what it did
  bool leave(std::size_t i) {
    std::set<Configuration> seen, left;
    for (const Configuration& configuration : configurations_) explore(configuration, i, seen, left);
    std::erase(under_way_, i);
    configurations_ = std::move(left);
    return !configurations_.empty();
  }

  bool idle() const { return under_way_.empty(); }
  std::string states() const {
    std::set<KeyState> states;
    for (const Configuration& configuration : configurations_) states.insert(configuration.state);
    std::string text;
    for (KeyState state : states) text += (text.empty() ? "" : " or ") + to_string(state);
    return text;
  }

 private:
  void take_readers(Configuration& configuration) const {
    for (std::size_t i : under_way_) {
      if (configuration.has(i)) continue;
      const std::optional<KeyState> after = step(history_[i], configuration.state, value_bits_);
      if (after && *after == configuration.state) configuration.take(i);
    }
  }

  /// Adds to `left` what can follow from a configuration once operation i had its effect.
  void explore(Configuration configuration, std::size_t i, std::set<Configuration>& seen,
               std::set<Configuration>& left) const {
    if (configuration.has(i)) {
      configuration.forget(i);
      left.insert(std::move(configuration));
      return;
    }
    if (!seen.insert(configuration).second) return;
    for (auto j = under_way_.begin(); j != under_way_.end(); ++j) {
      if (configuration.has(*j)) continue;
      const bool repeats = std::any_of(under_way_.begin(), j, [&](std::size_t before) {
        return !configuration.has(before) && alike(history_[before], history_[*j]);
      });
      if (repeats) continue;
      const std::optional<KeyState> after = step(history_[*j], configuration.state, value_bits_);
      if (!after) continue;
      Configuration next = configuration;
      next.take(*j);
      next.state = *after;
      take_readers(next);
      explore(std::move(next), i, seen, left);
    }
  }

  std::span<const MapOperation> history_;
  int value_bits_;
  std::vector<std::size_t> under_way_;
  std::set<Configuration> configurations_;
};

}  // namespace

Effect effect(Operation operation, std::uint64_t operand, KeyState before, int value_bits) {
  const std::uint64_t mask = value_bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << value_bits) - 1;
  if (!before) {
    if (!inserts(operation)) return {Outcome::absent, 0, {}};
    return {Outcome::inserted, 0, operand};
  }
  const std::uint64_t value = *before;
  switch (operation) {
    case Operation::find:
    case Operation::insert:
      return {Outcome::found, value, value};
    case Operation::erase:
      return {Outcome::erased, 0, {}};
    case Operation::assign:
      return {Outcome::updated, value, operand};
    case Operation::add:
      return {Outcome::updated, value, (value + operand) & mask};
    case Operation::min:
      return {Outcome::updated, value, std::min(value, operand)};
    case Operation::max:
      return {Outcome::updated, value, std::max(value, operand)};
  }
  return {Outcome::invalid, 0, before};
}

std::string to_string(const MapOperation& operation) {
  std::string text = "thread " + std::to_string(operation.thread) + " [" + std::to_string(operation.called) +
                     ", " + std::to_string(operation.returned) + "] " +
                     std::string(name(operation.operation)) + "(" + std::to_string(operation.key);
  if (inserts(operation.operation)) text += ", " + std::to_string(operation.operand);
  text += ") -> " + std::string(name(operation.outcome));
  if (operation.outcome == Outcome::found || operation.outcome == Outcome::updated)
    text += " " + std::to_string(operation.value);
  return text;
}

std::optional<std::string> violation(std::vector<MapOperation> history, KeyState initial, int value_bits) {
  struct Event {
    std::uint64_t tick;
    bool returns;  // calls come before returns of the same tick
    std::size_t operation;
    auto operator<=>(const Event&) const = default;
  };
  std::stable_sort(history.begin(), history.end(),
                   [](const MapOperation& a, const MapOperation& b) { return a.called < b.called; });
  std::vector<Event> events;
  for (std::size_t i = 0; i < history.size(); ++i) {
    if (history[i].returned < history[i].called)
      return "returns before it is called: " + to_string(history[i]);
    events.push_back({history[i].called, false, i});
    events.push_back({history[i].returned, true, i});
  }
  std::sort(events.begin(), events.end());

  Search search(history, initial, value_bits);
  std::size_t window = 0;
  std::string before = search.states();
  for (const Event& event : events) {
    if (!event.returns) {
      if (search.idle()) {
        window = event.operation;
        before = search.states();
      }
      search.call(event.operation);
    } else if (!search.leave(event.operation)) {
      std::string text =
          "no order explains\n  " + to_string(history[event.operation]) + "\nfrom " + before + " with";
      for (std::size_t i = window; i < history.size() && history[i].called <= event.tick; ++i)
        if (i != event.operation) text += "\n  " + to_string(history[i]);
      return text;
    }
  }
  return {};
}

std::optional<std::string> batch_violation(std::span<const MapOperation> batch, KeyState initial,
                                           KeyState final, int value_bits) {
  // Per state: how often it is entered less how often it is left, and the states reached from it.
  struct Vertex {
    std::int64_t surplus = 0;
    std::vector<KeyState> neighbours;
  };
  std::map<KeyState, Vertex> graph;
  const auto edge = [&](KeyState from, KeyState to) {
    graph[from].surplus -= 1;
    graph[to].surplus += 1;
    graph[from].neighbours.push_back(to);
    graph[to].neighbours.push_back(from);
  };
  edge(final, initial);  // closes the path to a circuit
  std::int64_t erasures = 0;
  for (const MapOperation& operation : batch) {
    if (operation.outcome == Outcome::erased && operation.operation == Operation::erase) {
      ++erasures;  // from a state that the others will tell
      continue;
    }
    const bool present = operation.outcome == Outcome::found || operation.outcome == Outcome::updated;
    const KeyState from = present ? KeyState(operation.value) : std::nullopt;
    const std::optional<KeyState> to = step(operation, from, value_bits);
    if (!to) return "no state answers so: " + to_string(operation);
    edge(from, *to);
  }
  // What is entered more often than it is left was left by erasures.
  for (auto& [state, vertex] : graph) {
    if (!state) continue;
    if (vertex.surplus < 0) return "value " + to_string(state) + " was seen more often than it came about";
    if (vertex.surplus > 0) {
      vertex.neighbours.push_back({});
      graph[{}].neighbours.push_back(state);
      erasures -= vertex.surplus;
    }
  }
  if (erasures != 0) return std::to_string(erasures) + " erasures too many (negative: too few)";
  std::set<KeyState> reached{initial};
  for (std::vector<KeyState> next{initial}; !next.empty();) {
    const KeyState state = next.back();
    next.pop_back();
    for (KeyState neighbour : graph[state].neighbours)
      if (reached.insert(neighbour).second) next.push_back(neighbour);
  }
  for (const auto& [state, vertex] : graph)
    if (!reached.contains(state)) return "value " + to_string(state) + " was seen but never published";
  return {};
}

std::vector<std::vector<MapOperation>> by_key(std::vector<MapOperation> history) {
  std::map<std::uint64_t, std::vector<MapOperation>> keys;
  for (MapOperation& operation : history) keys[operation.key].push_back(operation);
  std::vector<std::vector<MapOperation>> parts;
  for (auto& [key, part] : keys) parts.push_back(std::move(part));
  return parts;
}

}  // namespace warploom::oracle
