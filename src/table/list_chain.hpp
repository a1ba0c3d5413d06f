#pragma once

/// The dissertation's list: Michael's sorted lock-free list (its Figures 20 to 24; M. M. Michael, SPAA 2002),
/// for any number of threads at once. Names are those of the figures: Find, prev, cur, next; A, B, C, D are
/// their lines.
///
/// Everything is a node with a number: the heads of the n m buckets first, then the tops of the free lists,
/// which have a link only, then the pool. A node's words:
///
///   word 0   link <tag, mark, next>: who comes next (lower half), whether the node is deleted, and a tag
///   word 1   key and value of 32 bits (lower half the key), or the key
///   word 2   the value, of wide pairs
///
/// Where we depart from the figures, and why (docs/design/0006-table.md, section 6, has the proof):
/// * The tag. Every change of a link makes it one more, in a bucket as in a free list, so that a CAS, or line
/// A,
///   notices a link that changed and changed back because its node was used again.
/// * DeleteNode puts a node into a free list, of which there are many. It is taken from there at once.
/// * Key and value are read before line A: read after it, they could be those of the node's next life.
/// * A node is taken from the pool when the key was seen to be absent, not before.
/// * assign, add, min and max, which the dissertation lacks, put a node with the new value where the old one
/// is:
///   one CAS deletes the old node and links the new one behind it. Pairs never change, so Find needs no more.
///
/// `Memory` is what differs between CPU, GPU and the model checker, as in chain.hpp:
///   Word load(node, word)                    relaxed
///   Word load_acquire(node, word)            later accesses stay behind it
///   void store(node, word, Word)             of a node that is the caller's own, after what made it so: a
///   thread
///                                            that reads this word and then another sees what happened before
///   bool compare_exchange(node, word, Word& expected, Word desired)   sequential
///   void load_acquire_two(node, Word& link, Word& key_word)   if it has it: words 0 and 1 in any order
///   NodeIndex allocate()                     pop_any() below, or kNoNode
///   void release(NodeIndex)                  push() below

#include <cstdint>
#include <type_traits>

#include "warploom/table/line.hpp"
#include "warploom/table/operation.hpp"

namespace warploom::table::list {

using NodeIndex = std::uint32_t;

/// Node 0 is a head, which nothing links to.
inline constexpr NodeIndex kNoNode = 0;
inline constexpr int kLinkWord = 0;
inline constexpr int kKeyWord = 1;

/// <tag, mark, next>
struct Link {
  Word bits = 0;

  WARPLOOM_HOST_DEVICE constexpr NodeIndex next() const { return static_cast<NodeIndex>(bits); }
  WARPLOOM_HOST_DEVICE constexpr bool marked() const { return (bits >> 32 & 1) != 0; }
  /// What may take this one's place
  WARPLOOM_HOST_DEVICE constexpr Link to(NodeIndex next, bool mark = false) const {
    return {((bits >> 33) + 1) << 33 | Word{mark} << 32 | next};
  }
};

/// Keys and values of 32 bits
struct NarrowPairs {
  static constexpr int kNodeWords = 2;
  WARPLOOM_HOST_DEVICE static constexpr Word key(Word key_word) { return key_word & 0xFFFFFFFF; }
  template <class Memory>
  WARPLOOM_HOST_DEVICE static Word value(Memory&, NodeIndex, Word key_word) {
    return key_word >> 32;
  }
  template <class Memory>
  WARPLOOM_HOST_DEVICE static void store(Memory& memory, NodeIndex node, Word key, Word value) {
    memory.store(node, kKeyWord, key | value << 32);
  }
};

/// One of them has 64. A fourth word is left unused: a node is then one sector of a GPU's memory, not two.
template <class Value>
struct WidePairs {
  static constexpr int kNodeWords = 4;
  WARPLOOM_HOST_DEVICE static constexpr Word key(Word key_word) { return key_word; }
  template <class Memory>
  WARPLOOM_HOST_DEVICE static Word value(Memory& memory, NodeIndex node, Word) {
    return memory.load_acquire(node, kKeyWord + 1);
  }
  template <class Memory>
  WARPLOOM_HOST_DEVICE static void store(Memory& memory, NodeIndex node, Word key, Word value) {
    memory.store(node, kKeyWord, key);
    memory.store(node, kKeyWord + 1, static_cast<Value>(value));
  }
};

/// One operation under way
struct Attempt {
  Operation operation = Operation::find;
  NodeIndex home = 0;  ///< the head of the key's bucket
  Word key = 0;
  Word operand = 0;  ///< the value inserted, assigned or added
  Outcome outcome = Outcome::absent;
  Word value = 0;             ///< with found and updated
  std::uint32_t retries = 0;  ///< walks that began again
};

/// What Find leaves to its callers: the figures' private variables, as the words they were read from. `value`
/// is that of cur if its key is the one looked for.
struct Position {
  NodeIndex prev = kNoNode;
  Link prev_link;  ///< <tag, 0, cur>
  Link cur_link;   ///< <tag, mark, next>
  Word value = 0;

  WARPLOOM_HOST_DEVICE NodeIndex cur() const { return prev_link.next(); }
};

template <class Key, class Value>
using PairsOf = std::conditional_t<sizeof(Key) == 4 && sizeof(Value) == 4, NarrowPairs, WidePairs<Value>>;

template <class Memory>
WARPLOOM_HOST_DEVICE void load_node(Memory& memory, NodeIndex node, Word& link, Word& key_word) {
  if constexpr (requires { memory.load_acquire_two(node, link, key_word); }) {
    memory.load_acquire_two(node, link, key_word);
  } else {
    link = memory.load_acquire(node, kLinkWord);
    key_word = memory.load_acquire(node, kKeyWord);
  }
}

template <class Memory>
WARPLOOM_HOST_DEVICE bool swing(Memory& memory, NodeIndex node, Link expected, Link desired) {
  return memory.compare_exchange(node, kLinkWord, expected.bits, desired.bits);
}

enum class Walk : std::uint8_t { found, absent, try_again };

/// Find from the head to the first key that is not less, taking deleted nodes out on the way.
template <class Pairs, class Memory>
WARPLOOM_HOST_DEVICE Walk walk(Memory& memory, const Attempt& attempt, Position& at) {
  at.prev = attempt.home;
  at.prev_link = {memory.load_acquire(at.prev, kLinkWord)};
  while (at.cur() != kNoNode) {
    const NodeIndex cur = at.cur();
    Word key_word = 0;
    load_node(memory, cur, at.cur_link.bits, key_word);
    const Word key = Pairs::key(key_word);
    if (key == attempt.key) at.value = Pairs::value(memory, cur, key_word);
    // A: prev has linked to cur since its link was read, so cur was in the list, and what was read is of this
    // life.
    if (memory.load(at.prev, kLinkWord) != at.prev_link.bits) return Walk::try_again;
    if (!at.cur_link.marked()) {
      if (key >= attempt.key) return key == attempt.key ? Walk::found : Walk::absent;
      at.prev = cur;
      at.prev_link = at.cur_link;
    } else {
      const Link over = at.prev_link.to(at.cur_link.next());
      if (!swing(memory, at.prev, at.prev_link, over)) return Walk::try_again;
      memory.release(cur);
      at.prev_link = over;
    }
  }
  return Walk::absent;
}

/// @return whether the key is there, in at.cur()
template <class Pairs, class Memory>
WARPLOOM_HOST_DEVICE bool find(Memory& memory, Attempt& attempt, Position& at) {
  for (;; ++attempt.retries) {
    const Walk end = walk<Pairs>(memory, attempt, at);
    if (end != Walk::try_again) return end == Walk::found;
  }
}

/// D: after cur was marked, with `next` behind it
template <class Pairs, class Memory>
WARPLOOM_HOST_DEVICE void take_out(Memory& memory, Attempt& attempt, Position at, NodeIndex next) {
  if (swing(memory, at.prev, at.prev_link, at.prev_link.to(next)))
    memory.release(at.cur());
  else
    find<Pairs>(memory, attempt, at);
}

/// Figure 22
template <class Pairs, class Memory>
WARPLOOM_HOST_DEVICE void search(Memory& memory, Attempt& attempt) {
  Position at;
  if (!find<Pairs>(memory, attempt, at)) return;
  attempt.outcome = Outcome::found;
  attempt.value = at.value;
}

/// Figure 22: Delete
template <class Pairs, class Memory>
WARPLOOM_HOST_DEVICE void erase(Memory& memory, Attempt& attempt) {
  Position at;
  for (;; ++attempt.retries) {
    if (!find<Pairs>(memory, attempt, at)) return;
    const NodeIndex next = at.cur_link.next();
    if (!swing(memory, at.cur(), at.cur_link, at.cur_link.to(next, true))) continue;  // C
    take_out<Pairs>(memory, attempt, at, next);
    attempt.outcome = Outcome::erased;
    return;
  }
}

/// The value that takes the place of one that is there
WARPLOOM_HOST_DEVICE constexpr Word combined(Operation operation, Word before, Word operand) {
  switch (operation) {
    case Operation::assign:
      return operand;
    case Operation::add:
      return before + operand;
    case Operation::min:
      return before < operand ? before : operand;
    case Operation::max:
      return before > operand ? before : operand;
    default:
      return before;
  }
}

/// Figure 21: Insert; and the operations that put a pair in another's place
template <class Pairs, class Memory>
WARPLOOM_HOST_DEVICE void put(Memory& memory, Attempt& attempt) {
  Position at;
  NodeIndex node = kNoNode;
  for (;; ++attempt.retries) {
    const bool there = find<Pairs>(memory, attempt, at);
    Word value = attempt.operand;
    if (there) {
      attempt.value = at.value;
      attempt.outcome = attempt.operation == Operation::insert ? Outcome::found : Outcome::updated;
      value = combined(attempt.operation, at.value, attempt.operand);
      if (value == at.value) break;  // as if searched for
    }
    if (node == kNoNode && (node = memory.allocate()) == kNoNode) {
      attempt.outcome = Outcome::full;
      attempt.value = 0;
      return;
    }
    Pairs::store(memory, node, attempt.key, value);
    // Of nobody's interest now; its tag tells threads that stand on the node since its last life.
    const Link link{memory.load(node, kLinkWord)};
    const NodeIndex next = there ? at.cur_link.next() : at.cur();
    memory.store(node, kLinkWord, link.to(next).bits);
    if (!there) {
      if (!swing(memory, at.prev, at.prev_link, at.prev_link.to(node))) continue;  // B
      attempt.outcome = Outcome::inserted;
      attempt.value = 0;
    } else {
      if (!swing(memory, at.cur(), at.cur_link, at.cur_link.to(node, true))) continue;  // C, with a successor
      take_out<Pairs>(memory, attempt, at, node);
    }
    return;
  }
  if (node != kNoNode) memory.release(node);
}

/// The whole of an operation. Lock-free; expected cost: three dependent reads a pair that is passed, half of
/// the bucket.
template <class Pairs, class Memory>
WARPLOOM_HOST_DEVICE void run(Memory& memory, Attempt& attempt) {
  switch (attempt.operation) {
    case Operation::find:
      return search<Pairs>(memory, attempt);
    case Operation::erase:
      return erase<Pairs>(memory, attempt);
    case Operation::insert:
    case Operation::assign:
    case Operation::add:
    case Operation::min:
    case Operation::max:
      return put<Pairs>(memory, attempt);
  }
  attempt.outcome = Outcome::invalid;
}

/// A free list is a stack (Treiber) with its top's link as the head. A node in it stays marked, so that a
/// thread that comes upon it can do nothing with it.
template <class Memory>
WARPLOOM_HOST_DEVICE void push(Memory& memory, NodeIndex top, NodeIndex node) {
  for (;;) {
    const Link first{memory.load_acquire(top, kLinkWord)};
    const Link link{memory.load(node, kLinkWord)};
    memory.store(node, kLinkWord, link.to(first.next(), true).bits);
    if (swing(memory, top, first, first.to(node))) return;
  }
}

template <class Memory>
WARPLOOM_HOST_DEVICE NodeIndex pop(Memory& memory, NodeIndex top) {
  for (;;) {
    const Link first{memory.load_acquire(top, kLinkWord)};
    if (first.next() == kNoNode) return kNoNode;
    // If somebody else has it by now, this is not the free list's link, and the tag of top has changed.
    const Link link{memory.load(first.next(), kLinkWord)};
    if (swing(memory, top, first, first.to(link.next()))) return first.next();
  }
}

/// From free list number `from` of those that begin at `tops`, or from the first of the others that has a
/// node; `from` becomes its number. Lists that are used together are empty together: so the search leaps.
/// @param lists  a power of two
template <class Memory>
WARPLOOM_HOST_DEVICE NodeIndex pop_any(Memory& memory, NodeIndex tops, std::uint32_t lists,
                                       std::uint32_t& from) {
  constexpr std::uint32_t kLeap = 0x9E3779B1;  // odd: all lists are seen
  for (std::uint32_t i = 0; i < lists; ++i, from = (from + kLeap) % lists) {
    const NodeIndex node = pop(memory, tops + from);
    if (node != kNoNode) return node;
  }
  return kNoNode;
}

/// For one that does not come back.
template <class Memory>
WARPLOOM_HOST_DEVICE NodeIndex pop_any(Memory& memory, NodeIndex tops, std::uint32_t lists,
                                       std::uint32_t&& from) {
  return pop_any(memory, tops, lists, from);
}

}  // namespace warploom::table::list
