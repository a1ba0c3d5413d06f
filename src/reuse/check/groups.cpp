// What goes on behind its instruction: copies to and from shared memory, and matrix products, until a wait
// for their group.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "reuse/check/lives.hpp"

namespace warploom::reuse::checking {
namespace {

using ptx::kNone;
using ptx::Op;

/// Of one object: for each kind of group the numbers of commits that its accesses under way may have seen,
/// bit n for n of them; the last bit is for that many or more.
using Seen = std::array<std::uint64_t, kGroups>;
constexpr std::uint64_t kLast = std::uint64_t{1} << 63;

class Groups {
 public:
  explicit Groups(Kernel& k) : k_(k) {}

  std::vector<std::string> run() {
    const auto& cfg = k_.cfg;
    std::vector<std::vector<Seen>> in(cfg.blocks.size(), std::vector<Seen>(k_.objects.size()));
    for (bool changed = true; changed;) {
      changed = false;
      for (const std::uint32_t b : cfg.order) {
        std::vector<Seen> state = in[b];
        for (std::uint32_t i = cfg.blocks[b].first; i < cfg.blocks[b].last; ++i) step(state, i, nullptr);
        for (const std::uint32_t s : cfg.graph.successors[b])
          for (std::size_t o = 0; o < state.size(); ++o)
            for (std::size_t g = 0; g < kGroups; ++g) {
              const std::uint64_t joined = in[s][o][g] | state[o][g];
              changed |= joined != in[s][o][g];
              in[s][o][g] = joined;
            }
      }
    }
    std::vector<Access> ends;
    for (const std::uint32_t b : cfg.order) {
      std::vector<Seen> state = in[b];
      for (std::uint32_t i = cfg.blocks[b].first; i < cfg.blocks[b].last; ++i) {
        meets(state, i);
        if (leaves_kernel(k_, i)) left(state, k_.line(i));
        step(state, i, &ends);
      }
      if (cfg.graph.successors[b].empty()) left(state, k_.function.line);
    }
    add(std::move(ends));
    return std::move(problems_);
  }

 private:
  static std::size_t index(Group g) { return static_cast<std::size_t>(g) - 1; }

  void step(std::vector<Seen>& state, std::uint32_t i, std::vector<Access>* ends) const {
    if (const std::uint32_t a = k_.access_of[i]; a != kNone && k_.accesses[a].group != Group::none)
      k_.accesses[a].objects.for_each([&](std::uint32_t o) { state[o][index(k_.accesses[a].group)] |= 1; });
    const ptx::Opcode& opcode = k_.opcode(i);
    if (opcode.op != Op::cp && opcode.op != Op::wgmma) return;
    const Group group = opcode.op == Op::wgmma ? Group::products
                        : opcode.has("bulk")   ? Group::bulk_copies
                                               : Group::copies;
    const std::size_t g = index(group);
    if (opcode.has("commit_group")) {
      for (Seen& s : state)
        s[g] = (s[g] << 1) | (s[g] & kLast) | (k_.guarded(i) ? s[g] : 0);  // of a guarded one: both ways
      return;
    }
    std::uint64_t kept = ~std::uint64_t{0};
    if (opcode.has("wait_all")) {
      kept = 0;
    } else if (opcode.has("wait_group")) {
      const auto operands = k_.function.operands_of(k_.function.instructions[i]);
      if (operands.size() == 1 && operands[0].kind == ptx::OperandKind::integer && operands[0].value >= 0 &&
          operands[0].value < 63)
        kept = (std::uint64_t{2} << operands[0].value) - 1;  // those that saw no more commits than are left
    }
    if (k_.guarded(i)) return;
    Bits over(k_.objects.size());
    for (std::uint32_t o = 0; o < state.size(); ++o) {
      const bool open = state[o][g] != 0;
      state[o][g] &= kept;
      if (open && state[o][g] == 0) over.set(o);
    }
    if (ends != nullptr && over.any())
      ends->push_back({i, over, group != Group::copies, group == Group::copies, Group::none});
  }

  void meets(const std::vector<Seen>& state, std::uint32_t i) {
    const std::uint32_t a = k_.access_of[i];
    if (a == kNone) return;
    const Access& here = k_.accesses[a];
    for (std::uint32_t o = 0; o < state.size(); ++o) {
      const bool stored = state[o][index(Group::copies)] != 0;
      const bool loaded = (state[o][index(Group::bulk_copies)] | state[o][index(Group::products)]) != 0;
      if (!stored && !(loaded && here.store)) continue;
      here.objects.for_each([&](std::uint32_t other) {
        if (k_.partners[o].test(other) && told_.emplace(o, other).second)
          problems_.push_back(fmt::format(
              "line {}: '{}' is accessed, and what began to {} '{}' before may not be over: no wait ends it",
              k_.line(i), k_.objects[other].name, stored ? "copy to" : "read", k_.objects[o].name));
      });
    }
  }

  void left(const std::vector<Seen>& state, std::uint32_t line) {
    for (std::uint32_t o = 0; o < state.size(); ++o)
      if (k_.partners[o].any() && state[o] != Seen{} && told_.emplace(o, o).second)
        problems_.push_back(fmt::format(
            "line {}: a thread may leave while what it began with '{}', which overlaps others, is not over",
            line, k_.objects[o].name));
  }

  void add(std::vector<Access> ends) {
    k_.accesses.insert(k_.accesses.end(), std::make_move_iterator(ends.begin()),
                       std::make_move_iterator(ends.end()));
    std::ranges::stable_sort(k_.accesses, {}, &Access::instruction);
    for (std::uint32_t a = 0; a < k_.accesses.size(); ++a) k_.access_of[k_.accesses[a].instruction] = a;
  }

  Kernel& k_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> told_;
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<std::string> follow_groups(Kernel& k) {
  k.asynchronous = Bits(k.objects.size());
  for (const Access& a : k.accesses)
    if (a.group != Group::none) k.asynchronous.merge(a.objects);
  if (!k.asynchronous.any()) return {};
  return Groups(k).run();
}

}  // namespace warploom::reuse::checking
