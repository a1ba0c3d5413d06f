#include "reuse/analysis/flights.hpp"

#include <algorithm>
#include <array>

namespace warploom::reuse {

using namespace ptx;

namespace {

constexpr std::uint8_t kLanded = 255;  ///< no flight is under way
constexpr std::uint8_t kMost = 60;     ///< commits that are counted
constexpr std::size_t kKinds = 3;

/// For each kind and object: commits since its youngest flight began, the fewest over all paths.
using Ages = std::vector<std::array<std::uint8_t, kKinds>>;

/// What an instruction is to groups of one kind.
struct Step {
  enum { none, commit, wait } what = none;
  std::size_t kind = 0;
  std::uint64_t left = 0;  ///< groups that a wait leaves under way
};

std::size_t index_of(Flight flight) { return static_cast<std::size_t>(flight) - 1; }

class Flights {
 public:
  Flights(const Cfg& cfg, SharedUse& use) : cfg_(cfg), module_(*cfg.module), f_(*cfg.function), use_(use) {}

  void run(bool pin) {
    steps_.resize(f_.instructions.size());
    for (std::uint32_t i = 0; i < steps_.size(); ++i) steps_[i] = step(f_.instructions[i]);
    met_.resize(use_.objects.size());
    access_at_.assign(f_.instructions.size(), kNone);
    for (std::uint32_t a = 0; a < use_.accesses.size(); ++a) access_at_[use_.accesses[a].instruction] = a;

    Ages none(use_.objects.size());
    for (auto& ages : none) ages.fill(kLanded);
    std::vector<Ages> in(cfg_.blocks.size(), none);
    for (bool changed = true; changed;) {
      changed = false;
      for (const std::uint32_t b : cfg_.order) {
        Ages out = in[b];
        for (std::uint32_t i = cfg_.blocks[b].first; i < cfg_.blocks[b].last; ++i) advance(out, i, nullptr);
        for (const std::uint32_t s : cfg_.graph.successors[b]) changed |= join(in[s], out);
      }
    }
    std::vector<Access> landings;
    for (const std::uint32_t b : cfg_.order) {
      Ages ages = in[b];
      for (std::uint32_t i = cfg_.blocks[b].first; i < cfg_.blocks[b].last; ++i) {
        meet(ages, i);
        const Op op = module_.opcode(f_.instructions[i]).op;
        if (pin && (op == Op::ret || op == Op::exit_ || op == Op::trap)) keep(ages, f_.instructions[i].line);
        advance(ages, i, &landings);
      }
      if (pin && cfg_.graph.successors[b].empty()) keep(ages, f_.line);
    }
    use_.accesses.insert(use_.accesses.end(), landings.begin(), landings.end());
    std::ranges::stable_sort(use_.accesses, {}, &Access::instruction);
  }

 private:
  Step step(const Instruction& i) const {
    const Opcode& o = module_.opcode(i);
    if (i.guard != kNone || (o.op != Op::cp && o.op != Op::wgmma)) return {};
    const std::size_t kind = index_of(o.op == Op::wgmma ? Flight::product
                                      : o.has("bulk")   ? Flight::bulk
                                                        : Flight::copy);
    if (o.has("commit_group")) return {Step::commit, kind, 0};
    if (o.has("wait_all")) return {Step::wait, kind, kMost};  // of what is not committed, too
    if (!o.has("wait_group") || i.operand_count != 1) return {};
    const Operand& left = f_.operands[i.first_operand];
    if (left.kind != OperandKind::integer || left.value < 0 || left.value >= kMost) return {};
    return {Step::wait, kind, static_cast<std::uint64_t>(left.value)};
  }

  static bool join(Ages& into, const Ages& from) {
    bool changed = false;
    for (std::size_t o = 0; o < into.size(); ++o)
      for (std::size_t k = 0; k < kKinds; ++k)
        if (from[o][k] < into[o][k]) into[o][k] = from[o][k], changed = true;
    return changed;
  }

  void advance(Ages& ages, std::uint32_t i, std::vector<Access>* landings) const {
    if (access_at_[i] != kNone)
      if (const Access& a = use_.accesses[access_at_[i]]; a.flight != Flight::none)
        for (std::size_t o = 0; o < ages.size(); ++o)
          if (a.objects[o]) ages[o][index_of(a.flight)] = 0;
    const Step& s = steps_[i];
    if (s.what == Step::none) return;
    ObjectSet landed;
    for (std::size_t o = 0; o < ages.size(); ++o) {
      std::uint8_t& age = ages[o][s.kind];
      if (age == kLanded) continue;
      if (s.what == Step::commit)
        age = std::min<std::uint8_t>(age + 1, kMost);
      else if (s.left == kMost || age > s.left)
        age = kLanded, landed.set(o);
    }
    if (landings == nullptr || landed.none()) return;
    const bool stores = s.kind == index_of(Flight::copy);
    landings->push_back({i, landed, !stores, stores, 0, kNone, Flight::none, true});
  }

  /// Who is accessed while somebody else is under way.
  void meet(const Ages& ages, std::uint32_t i) {
    if (access_at_[i] == kNone) return;
    const Access& a = use_.accesses[access_at_[i]];
    for (std::uint32_t flying = 0; flying < ages.size(); ++flying)
      for (std::size_t k = 0; k < kKinds; ++k) {
        if (ages[flying][k] == kLanded || (k != index_of(Flight::copy) && !a.write)) continue;
        for (std::size_t o = a.objects._Find_first(); o < kMaxObjects; o = a.objects._Find_next(o))
          if (o != flying && !met_[flying][o])
            met_[flying].set(o), use_.in_flight.push_back({flying, static_cast<std::uint32_t>(o), i});
      }
  }

  void keep(const Ages& ages, std::uint32_t line) {
    for (std::size_t o = 0; o < ages.size(); ++o) {
      Object& object = use_.objects[o];
      if (ages[o] == std::array<std::uint8_t, kKinds>{kLanded, kLanded, kLanded}) continue;
      if (object.pinned && !object.divisible) continue;
      object.divisible = false;
      object.obstacle = object.pinned =
          Reason{"no wait ends an asynchronous copy or product of it on every path", line};
    }
  }

  const Cfg& cfg_;
  const Module& module_;
  const Function& f_;
  SharedUse& use_;
  std::vector<Step> steps_;
  std::vector<std::uint32_t> access_at_;
  std::vector<ObjectSet> met_;  ///< pairs of in_flight
};

}  // namespace

void forget_flights(SharedUse& use) {
  std::erase_if(use.accesses, [](const Access& a) { return a.landing; });
  use.in_flight.clear();
}

void find_flights(const Cfg& cfg, SharedUse& use, bool pin) {
  forget_flights(use);
  if (std::ranges::any_of(use.accesses, [](const Access& a) { return a.flight != Flight::none; }))
    Flights(cfg, use).run(pin);
}

ObjectSet flying_objects(const SharedUse& use) {
  ObjectSet all;
  for (const Access& a : use.accesses)
    if (a.flight != Flight::none) all |= a.objects;
  return all;
}

}  // namespace warploom::reuse
