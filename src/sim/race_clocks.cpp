#include "sim/race_clocks.hpp"

#include <algorithm>
#include <bit>

namespace warploom::sim {

Time BlockClock::of(std::uint32_t t) const {
  Time time = floor;
  if (t / 32 == warp) time = std::max(time, warp_floor);
  if (t == thread) time = std::max(time, thread_time);
  if (each && t < each->size()) time = std::max(time, (*each)[t]);
  return time;
}

bool BlockClock::covers(const BlockClock& other) const {
  if (floor < other.floor) return false;
  if (other.each && other.each != each)
    for (std::uint32_t t = 0; t < other.each->size(); ++t)
      if ((*other.each)[t] > of(t)) return false;
  if (other.warp_floor > floor && !(warp == other.warp && warp_floor >= other.warp_floor))
    for (std::uint32_t t = other.warp * 32; t < other.warp * 32 + 32; ++t)
      if (other.warp_floor > of(t)) return false;
  return other.thread_time <= of(other.thread);
}

BlockClock join(const BlockClock& a, const BlockClock& b) {
  if (a.covers(b)) return a;
  if (b.covers(a)) return b;
  BlockClock result;
  result.floor = std::max(a.floor, b.floor);
  result.each = std::make_shared<std::vector<Time>>();
  const auto add = [&](std::uint32_t t, Time time) {
    std::vector<Time>& each = *result.each;
    if (t >= each.size()) each.resize(t / 32 * 32 + 32);
    each[t] = std::max(each[t], time);
  };
  a.for_each(add);
  b.for_each(add);
  return result;
}

/// A leaf (bit is 0) or a branch: of the keys that agree with `prefix` above `bit`, those without it are on
/// the left, those with it on the right.
struct Clock::Node {
  std::uint64_t prefix = 0, bit = 0;
  std::shared_ptr<const Node> left, right;
  BlockClock known;
};

namespace {

using Tree = std::shared_ptr<const Clock::Node>;

std::uint64_t above(std::uint64_t key, std::uint64_t bit) { return key & ~(2 * bit - 1); }
/// The key lies below the branch.
bool below(std::uint64_t key, const Clock::Node& n) { return above(key, n.bit) == n.prefix; }

Tree branch(std::uint64_t prefix, std::uint64_t bit, Tree left, Tree right) {
  return std::make_shared<const Clock::Node>(
      Clock::Node{prefix, bit, std::move(left), std::move(right), BlockClock{}});
}

Tree leaf(std::uint64_t block, const BlockClock& known) {
  return std::make_shared<const Clock::Node>(Clock::Node{block, 0, nullptr, nullptr, known});
}

Tree unite(const Tree& a, const Tree& b);

/// Branch `a` with what is in `b` besides, all of whose keys lie below `a` on one side.
Tree into(const Tree& a, const Tree& b) {
  const bool right = (b->prefix & a->bit) != 0;
  const Tree& side = right ? a->right : a->left;
  Tree more = unite(side, b);
  if (more == side) return a;
  return right ? branch(a->prefix, a->bit, a->left, std::move(more))
               : branch(a->prefix, a->bit, std::move(more), a->right);
}

Tree unite(const Tree& a, const Tree& b) {
  if (a == b || !b) return a;
  if (!a) return b;
  if (a->bit == b->bit && a->prefix == b->prefix) {
    if (a->bit == 0) {
      if (a->known.covers(b->known)) return a;
      if (b->known.covers(a->known)) return b;
      return leaf(a->prefix, join(a->known, b->known));
    }
    Tree left = unite(a->left, b->left), right = unite(a->right, b->right);
    if (left == a->left && right == a->right) return a;
    if (left == b->left && right == b->right) return b;
    return branch(a->prefix, a->bit, std::move(left), std::move(right));
  }
  if (a->bit > b->bit && below(b->prefix, *a)) return into(a, b);
  if (b->bit > a->bit && below(a->prefix, *b)) return into(b, a);
  const std::uint64_t bit = std::bit_floor(a->prefix ^ b->prefix);
  return (a->prefix & bit) == 0 ? branch(above(a->prefix, bit), bit, a, b)
                                : branch(above(a->prefix, bit), bit, b, a);
}

}  // namespace

const BlockClock* Clock::find(std::uint64_t block) const {
  const Node* n = root_.get();
  while (n != nullptr && n->bit != 0) {
    if (!below(block, *n)) return nullptr;
    n = (block & n->bit) != 0 ? n->right.get() : n->left.get();
  }
  return n != nullptr && n->prefix == block ? &n->known : nullptr;
}

void Clock::join(const Clock& other) { root_ = unite(root_, other.root_); }

void Clock::join(std::uint64_t block, const BlockClock& known) {
  if (const BlockClock* have = find(block); have == nullptr || !have->covers(known))
    root_ = unite(root_, leaf(block, known));
}

}  // namespace warploom::sim
