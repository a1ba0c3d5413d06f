#include "table/model_checker.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <tuple>
#include <type_traits>
#include <unordered_map>

#include "oracle/linearizability.hpp"
#include "warploom/table/chain.hpp"

namespace warploom::table::model {
namespace {

using oracle::KeyState;

// ---- What one thread does next ----

/// Where an operation stands: after the answers on the way from its root, it makes this request.
struct Node {
  Attempt attempt;  ///< at the walk's beginning
  std::vector<Word> answers;
  Request request;
};

struct Successor {
  bool done = false;
  std::uint32_t node = 0;
  Outcome outcome = Outcome::absent;
  Word value = 0;
};

class LocalStates {
 public:
  explicit LocalStates(const Variant& variant) : variant_(variant) {}

  const Node& operator[](std::uint32_t node) const { return nodes_[node]; }

  /// The node at which a walk of this attempt begins
  std::uint32_t root(const Attempt& a) {
    const Key key{a.operation, a.home,       a.key,           a.operand,    a.outcome,
                  a.value,     a.claim_line, a.claim_ordinal, a.claim_slot, a.first_ordinal,
                  a.patience,  a.level,      a.least_split,   a.guessed};
    const auto known = roots_.find(key);
    if (known != roots_.end()) return known->second;
    const std::uint32_t node = replay({a, {}, {}}).node;
    return roots_[key] = node;
  }

  const Successor& after(std::uint32_t node, Word answer) {
    const auto known = successors_.find({node, answer});
    if (known != successors_.end()) return known->second;
    Node next = nodes_[node];
    next.answers.push_back(answer);
    const Successor successor = replay(std::move(next));
    return successors_[{node, answer}] = successor;
  }

 private:
  using Key = std::tuple<Operation, LineIndex, Word, Word, Outcome, Word, LineIndex, std::uint32_t, int,
                         std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, bool>;
  using Edge = std::pair<std::uint32_t, Word>;
  struct EdgeHash {
    std::size_t operator()(const Edge& e) const {
      return (e.second ^ (Word{e.first} << 40)) * 0x9e3779b97f4a7c15 >> 7;
    }
  };

  Successor replay(Node node) {
    Attempt attempt = node.attempt;
    try {
      if (variant_.step(node.answers, attempt)) return {true, 0, attempt.outcome, attempt.value};
    } catch (const Memory::Stop& stop) {
      node.request = stop.next;
      nodes_.push_back(std::move(node));
      return {false, static_cast<std::uint32_t>(nodes_.size() - 1)};
    }
    return {false, root(attempt)};
  }

  Variant variant_;
  std::vector<Node> nodes_;
  std::map<Key, std::uint32_t> roots_;
  std::unordered_map<Edge, Successor, EdgeHash> successors_;
};

// ---- What is known of the history ----

/// The histories of one key so far, as far as they matter: the states it can be in, each with the answers
/// that the operations under way have if they had their effect.
class Histories {
 public:
  static constexpr std::uint32_t kImpossible = 0xFFFFFFFF;

  std::uint32_t initial(KeyState state) { return intern({{}, {{state, {}}}}); }

  std::uint32_t call(std::uint32_t id, int thread, const Step& step) {
    Knowledge next = *known_[id];
    next.under_way[thread] = {true, step.operation, step.operand};
    return intern(std::move(next));
  }

  std::uint32_t leave(std::uint32_t id, int thread, Outcome outcome, Word value) {
    const auto key = std::tuple(id, thread, outcome, value);
    const auto known = left_.find(key);
    if (known != left_.end()) return known->second;
    Knowledge next;
    next.under_way = known_[id]->under_way;
    for (const Possible& possible : known_[id]->possible) explore(possible, thread, {outcome, value}, next);
    next.under_way[thread] = {};
    std::sort(next.possible.begin(), next.possible.end());
    next.possible.erase(std::unique(next.possible.begin(), next.possible.end()), next.possible.end());
    return left_[key] = next.possible.empty() ? kImpossible : intern(std::move(next));
  }

  bool explains(std::uint32_t id, KeyState state) const {
    const auto& all = known_[id]->possible;
    return std::any_of(all.begin(), all.end(), [&](const Possible& p) { return p.state == state; });
  }

 private:
  using Answer = std::pair<Outcome, Word>;
  struct Possible {
    KeyState state;
    std::array<std::optional<Answer>, kMostThreads> answers;
    auto operator<=>(const Possible&) const = default;
  };
  struct UnderWay {
    bool is = false;
    Operation operation = Operation::find;
    Word operand = 0;
    auto operator<=>(const UnderWay&) const = default;
  };
  struct Knowledge {
    std::array<UnderWay, kMostThreads> under_way;
    std::vector<Possible> possible;  // sorted
    auto operator<=>(const Knowledge&) const = default;
  };

  void explore(const Possible& from, int thread, const Answer& answer, Knowledge& next) const {
    if (from.answers[thread]) {
      if (*from.answers[thread] != answer) return;
      next.possible.push_back(from);
      next.possible.back().answers[thread].reset();
      return;
    }
    for (int t = 0; t < kMostThreads; ++t) {
      const UnderWay& operation = next.under_way[t];
      if (!operation.is || from.answers[t]) continue;
      const oracle::Effect effect = oracle::effect(operation.operation, operation.operand, from.state);
      Possible to = from;
      to.state = effect.after;
      to.answers[t] = {effect.outcome, effect.value};
      explore(to, thread, answer, next);
      if (effect.outcome == Outcome::inserted) {  // or it found no room
        to.state = from.state;
        to.answers[t] = {Outcome::full, 0};
        explore(to, thread, answer, next);
      }
    }
  }

  std::uint32_t intern(Knowledge knowledge) {
    const auto [at, added] = ids_.try_emplace(std::move(knowledge), static_cast<std::uint32_t>(ids_.size()));
    if (added) known_.push_back(&at->first);
    return at->second;
  }

  std::map<Knowledge, std::uint32_t> ids_;
  std::vector<const Knowledge*> known_;
  std::map<std::tuple<std::uint32_t, int, Outcome, Word>, std::uint32_t> left_;
};

// ---- All of it ----

struct State {
  Words memory;
  std::uint32_t free_lines;                      ///< bit i: line i is in the pool
  std::array<std::uint32_t, kMostThreads> step;  ///< each thread's operation
  std::array<std::uint32_t, kMostThreads> called;
  std::array<std::uint32_t, kMostThreads> node;
  std::array<std::uint32_t, kMostKeys> history;
  std::uint32_t schedule;  ///< with a bound: thread that ran last + kMostThreads * pre-emptions
};
static_assert(std::has_unique_object_representations_v<State>);

struct Hash128 {
  std::uint64_t low = 0, high = 0;
  friend bool operator==(const Hash128&, const Hash128&) = default;
};

Hash128 hash_of(const State& state) {
  std::array<std::uint64_t, sizeof(State) / 8> words;
  std::memcpy(words.data(), &state, sizeof(State));
  Hash128 hash{0x243f6a8885a308d3, 0x13198a2e03707344};
  for (std::uint64_t word : words) {
    hash.low = (hash.low ^ word) * 0x9e3779b97f4a7c15;
    hash.low ^= hash.low >> 29;
    hash.high = (hash.high + word) * 0xd6e8feb86659fd93;
    hash.high ^= hash.high >> 32;
  }
  return hash;
}

/// The states that were visited: open addressing.
class Visited {
 public:
  bool insert(Hash128 hash) {
    if (++count_ * 2 > table_.size()) grow();
    return put(table_, hash) || (--count_, false);
  }

 private:
  static bool put(std::vector<Hash128>& table, Hash128 hash) {
    std::size_t i = hash.low & (table.size() - 1);
    while (table[i] != Hash128{}) {
      if (table[i] == hash) return false;
      i = (i + 1) & (table.size() - 1);
    }
    table[i] = hash;
    return true;
  }
  void grow() {
    std::vector<Hash128> larger(table_.size() * 2);
    for (const Hash128& hash : table_)
      if (hash != Hash128{}) put(larger, hash);
    table_ = std::move(larger);
  }
  std::vector<Hash128> table_ = std::vector<Hash128>(1 << 12);
  std::size_t count_ = 0;
};

std::string hex(Word word) {
  std::string text;
  for (int shift = 60; shift >= 0; shift -= 4) {
    const unsigned digit = (word >> shift) & 15;
    if (digit != 0 || !text.empty() || shift == 0) text += "0123456789abcdef"[digit];
  }
  return text;
}

std::string header_text(Word bits) {
  const Header header{bits};
  std::string text = "{version " + std::to_string(header.version());
  if (header.pending() != 0)
    text +=
        ", pending " + std::to_string(header.pending() / 16) + ":" + std::to_string(header.pending() % 16);
  for (int slot = 0; slot < 4; ++slot)
    text += header.live(slot) ? " L" : header.state(slot) == SlotState::claimed ? " c" : " .";
  return text + "}";
}

class Checker {
 public:
  Checker(const Program& program, const Variant& variant, const Options& options)
      : program_(program), variant_(variant), options_(options), local_(variant) {}

  Result run() {
    start();
    if (result_.violation) return result_;
    visited_.insert(hash_of(stack_.front().state));
    while (!stack_.empty() && !result_.violation) {
      Frame& frame = stack_.back();
      if (frame.next == threads() * kMostChoices) {
        stack_.pop_back();
        continue;
      }
      const int thread = frame.next / kMostChoices, choice = frame.next % kMostChoices;
      ++frame.next;
      if (done(frame.state, thread)) continue;
      if (choice >= choices(frame.state, thread) || (frame.only >= 0 && thread != frame.only)) continue;
      Frame child{frame.state, {}, 0, -1};
      if (!schedule(child.state, thread, frame.only >= 0)) continue;
      if (const char* wrong = take(child.state, thread, choice)) {
        fail(wrong);
        break;
      }
      child.hash = hash_of(child.state);
      if (visited_.insert(child.hash)) {
        visit(child);
      } else if (std::any_of(stack_.begin(), stack_.end(),
                             [&](const Frame& f) { return f.hash == child.hash; })) {
        fail("threads take steps for ever and no operation is completed");
      }
      if (result_.states >= options_.most_states) {
        result_.complete = false;
        break;
      }
    }
    return result_;
  }

 private:
  static constexpr int kMostChoices = 4;
  struct Frame {
    State state;
    Hash128 hash;
    int next;  ///< thread * kMostChoices + choice
    int only;  ///< the thread whose next step is nobody else's business, so that it may as well be the next;
               ///< or -1
  };

  int threads() const { return static_cast<int>(program_.threads.size()); }
  bool done(const State& state, int thread) const {
    return state.step[thread] == program_.threads[thread].size();
  }
  /// A choice, or a store into a line that is in no chain yet.
  int private_step(const State& state) const {
    for (int t = 0; t < threads(); ++t) {
      if (done(state, t) || state.called[t] == 0) continue;
      const Request& request = local_[state.node[t]].request;
      if (request.access == Access::choose) return t;
      if (request.access == Access::store && !linked(state, request.line)) return t;
    }
    return -1;
  }
  bool linked(const State& state, LineIndex wanted) const {
    for (int home = 0; home < homes(); ++home) {
      LineIndex line = home;
      for (int i = 0; i < kMemoryWords && line != kNoLine; ++i) {
        if (line == wanted) return true;
        line = Tail{word(state, line, kTailWord)}.next();
      }
    }
    return false;
  }
  /// @return whether this thread may be next
  bool schedule(State& state, int thread, bool frame_only) const {
    if (options_.preemptions < 0) return true;
    const int last = static_cast<int>(state.schedule) % kMostThreads;
    int count = static_cast<int>(state.schedule) / kMostThreads;
    const bool began = state.node != first_nodes_ || state.step != decltype(state.step){};
    if (frame_only) return true;
    if (began && thread != last && !done(state, last) && ++count > options_.preemptions) return false;
    state.schedule = static_cast<std::uint32_t>(count * kMostThreads + thread);
    return true;
  }
  int choices(const State& state, int thread) const {
    const Request& request = local_[state.node[thread]].request;
    return request.access == Access::choose ? __builtin_popcountll(request.operand) : 1;
  }
  int homes() const { return program_.homes << variant_.levels; }
  /// Whether the map's level gives it home lines that far.
  bool there(const State& state, LineIndex line) const {
    const bool home = line < static_cast<LineIndex>(homes());
    return line == kLevelLine ||
           (home ? variant_.levels == 0 || line < Word(program_.homes) << word(state, kLevelLine, 0)
                 : line != kNowhere);
  }
  std::size_t place(LineIndex line, int word) const {
    // To look at kNowhere before it is refused does no harm.
    return line >= kNowhere ? kMemoryWords - 1 : line * variant_.stride + word;
  }
  Word& word(State& state, LineIndex line, int word) const { return state.memory.at(place(line, word)); }
  Word word(const State& state, LineIndex line, int word) const { return state.memory.at(place(line, word)); }

  std::uint32_t root(const Step& step) {
    Attempt attempt;
    attempt.operation = step.operation;
    attempt.base = attempt.home = static_cast<LineIndex>(step.key) % program_.homes;
    attempt.spread = spread_of(step.key);
    attempt.key = step.key;
    attempt.operand = step.operand;
    return local_.root(attempt);
  }

  void start() {
    State state{};
    variant_.prepare(state.memory, program_);
    for (int i = 0; i < program_.pool; ++i) state.free_lines |= 1u << (homes() + i);
    std::array<KeyState, kMostKeys> keys;
    for (const Step& step : program_.before) {
      Successor at{false, root(step)};
      while (!at.done) at = local_.after(at.node, perform(state, local_[at.node].request));
      const oracle::Effect right = oracle::effect(step.operation, step.operand, keys[step.key]);
      if (at.outcome == right.outcome)
        keys[step.key] = right.after;
      else if (at.outcome != Outcome::full || keys[step.key])
        result_.violation = "wrong before any concurrency";
    }
    for (int t = 0; t < threads(); ++t)
      if (!program_.threads[t].empty()) state.node[t] = root(program_.threads[t].front());
    first_nodes_ = state.node;
    for (int k = 0; k < kMostKeys; ++k) state.history[k] = histories_.initial(keys[k]);
    stack_.push_back({state, hash_of(state), 0, -1});
  }

  /// @param choice  which of several, where the request is for any
  Word perform(State& state, const Request& request, int choice = 0) const {
    if (request.access == Access::choose) {
      Word bits = request.operand;
      while (choice-- > 0) bits &= bits - 1;
      return bits & -bits;
    }
    if (request.access == Access::allocate) {
      if (state.free_lines == 0) return kNoLine;
      const auto line = static_cast<LineIndex>(__builtin_ctz(state.free_lines));
      state.free_lines &= state.free_lines - 1;
      // What its slots held stays there, as on a device: nothing may depend on it.
      word(state, line, kHeaderWord) = word(state, line, kTailWord) = 0;
      return line;
    }
    if (request.access == Access::release) {
      state.free_lines |= 1u << request.line;
      return 0;
    }
    Word& at = word(state, request.line, request.word);
    const Word before = at;
    switch (request.access) {
      case Access::store:
        at = request.operand;
        return 0;
      case Access::exchange:
        at = request.operand;
        break;
      case Access::fetch_add:
        at += request.operand;
        break;
      case Access::fetch_or:
        at |= request.operand;
        break;
      case Access::compare_exchange:
        if (before == request.expected) at = request.operand;
        break;
      default:
        break;
    }
    return before;
  }

  /// One access of one thread; the operation is called just before its first access and returns just after
  /// its last.
  /// @return what is wrong, or null
  const char* take(State& state, int thread, int choice = 0) {
    const Step& step = program_.threads[thread][state.step[thread]];
    std::uint32_t& history = state.history[step.key];
    if (state.called[thread] == 0) {
      history = histories_.call(history, thread, step);
      state.called[thread] = 1;
    }
    const Request request = local_[state.node[thread]].request;
    const bool touches = request.access != Access::choose && request.access != Access::allocate;
    if (touches && !there(state, request.line)) return "touches a home line that there is not yet";
    const Successor next = local_.after(state.node[thread], perform(state, request, choice));
    if (!next.done) {
      state.node[thread] = next.node;
      return nullptr;
    }
    const bool valued = next.outcome == Outcome::found || next.outcome == Outcome::updated;
    history = histories_.leave(history, thread, next.outcome, valued ? next.value : 0);
    if (history == Histories::kImpossible) return "an answer that no order of the operations explains";
    result_.fulls += next.outcome == Outcome::full;
    ++state.step[thread];
    state.called[thread] = 0;
    state.node[thread] = done(state, thread) ? 0 : root(program_.threads[thread][state.step[thread]]);
    return nullptr;
  }

  void visit(Frame& child) {
    ++result_.states;
    bool all_done = true;
    for (int t = 0; t < threads(); ++t) all_done &= done(child.state, t);
    child.only = private_step(child.state);
    stack_.push_back(child);
    result_.longest = std::max<std::uint64_t>(result_.longest, stack_.size() - 1);
    if (all_done) {
      ++result_.ends;
      if (const std::string wrong = at_end(child.state); !wrong.empty()) fail(wrong);
    } else if (options_.suspend) {
      suspend(child.state);
    }
  }

  void suspend(const State& from) {
    for (unsigned running = 1; running + 1 < 1u << threads(); ++running) {
      State state = from;
      int steps = 0;
      for (int t = 0; t < threads(); ++t)
        while ((running >> t & 1) != 0 && !done(state, t)) {
          if (const char* wrong = take(state, t)) return fail(wrong);
          if (++steps > 10000) return fail("a thread waits for one that stands still");
        }
      ++result_.suspensions;
    }
  }

  std::string at_end(const State& state) const {
    Pairs pairs;
    std::string wrong = variant_.inspect(state.memory, program_, state.free_lines, pairs);
    for (int key = 0; key < kMostKeys && wrong.empty(); ++key)
      if (!histories_.explains(state.history[key], pairs[key]))
        wrong = "the pairs left are not those of the history";
    return wrong;
  }

  void fail(const std::string& what) {
    if (result_.violation) return;
    std::string text = what + "\n" + to_string(program_) + "\n";
    for (const Frame& frame : stack_) {
      if (frame.next == 0) break;
      text += describe(frame.state, (frame.next - 1) / kMostChoices, (frame.next - 1) % kMostChoices);
    }
    result_.violation = text;
  }

  std::string describe(State state, int thread, int choice) {
    static constexpr const char* kNames[] = {"load",      "store",    "compare_exchange",
                                             "fetch_add", "fetch_or", "exchange",
                                             "allocate",  "release",  "choose"};
    const Request request = local_[state.node[thread]].request;
    const bool begins = state.called[thread] == 0;
    const auto step = state.step[thread];
    const Word answer = perform(state, request, choice);
    const Successor next = local_.after(state.node[thread], answer);
    const auto value = [&](Word bits) { return request.word == kHeaderWord ? header_text(bits) : hex(bits); };
    std::string text = "  thread " + std::to_string(thread) + ": " + kNames[static_cast<int>(request.access)];
    if (request.access < Access::allocate || request.access == Access::release)
      text += " line " + std::to_string(request.line);
    if (request.access < Access::allocate) {
      text += request.word == 0   ? " header"
              : request.word == 1 ? " tail"
                                  : " word " + std::to_string(request.word);
      if (request.access == Access::compare_exchange)
        text += answer == request.expected ? " done" : " failed";
      if (request.access != Access::load) text += " " + value(request.operand);
      if (request.access != Access::store) text += " was " + value(answer);
    } else {
      text += " " + hex(answer);
    }
    const Step& operation = program_.threads[thread][step];
    if (begins)
      text += "   <- begins " + std::string(name(operation.operation)) + " " + std::to_string(operation.key);
    if (next.done)
      text += "   -> " + std::string(name(operation.operation)) + " " + std::to_string(operation.key) + " " +
              std::string(name(next.outcome)) + " " + std::to_string(next.value);
    return text + "\n";
  }

  const Program& program_;
  const Variant& variant_;
  const Options& options_;
  LocalStates local_;
  Histories histories_;
  Visited visited_;
  std::array<std::uint32_t, kMostThreads> first_nodes_{};
  std::vector<Frame> stack_;
  Result result_;
};

std::string to_string(const std::vector<Step>& steps) {
  std::string text;
  for (const Step& step : steps) {
    text += (text.empty() ? "" : "; ") + std::string(name(step.operation)) + " " + std::to_string(step.key);
    if (step.operation != Operation::find && step.operation != Operation::erase)
      text += " = " + std::to_string(step.operand);
  }
  return text;
}

}  // namespace

std::string to_string(const Program& program) {
  std::string text = "{" + to_string(program.before) + "}";
  for (const auto& thread : program.threads) text += " || " + to_string(thread);
  return program.name + ": " + text + " (pool " + std::to_string(program.pool) + ")";
}

Result check(const Program& program, const Variant& variant, const Options& options) {
  return Checker(program, variant, options).run();
}

}  // namespace warploom::table::model
