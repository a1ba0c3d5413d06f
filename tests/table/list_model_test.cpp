// The operations of list_chain.hpp in every order of their accesses to memory, those of the free list among
// them.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "table/list_chain.hpp"
#include "table/model_checker.hpp"
#include "table/model_programs.hpp"
#include "warploom/table/chain.hpp"

namespace warploom::table::model {
namespace {

// Node 0 is the head of the only bucket, node 1 the top of the only free list.
constexpr list::NodeIndex kHead = 0, kTop = 1, kFirstNode = 2;
constexpr int kStride = list::NarrowPairs::kNodeWords;

struct ListMemory : Memory {
  using Memory::Memory;
  list::NodeIndex allocate() { return list::pop_any(*this, kTop, 1, 0); }
  void release(list::NodeIndex node) { list::push(*this, kTop, node); }
};

bool list_step(std::span<const Word> answers, Attempt& attempt) {
  list::Attempt own;
  own.operation = attempt.operation;
  own.home = kHead;
  own.key = attempt.key;
  own.operand = attempt.operand;
  ListMemory memory(answers);
  list::run<list::NarrowPairs>(memory, own);
  attempt.outcome = own.outcome;
  attempt.value = own.value;
  return true;
}

void prepare(Words& memory, const Program& program) {
  for (int i = 0; i < program.pool; ++i) {
    const list::NodeIndex node = kFirstNode + static_cast<list::NodeIndex>(i);
    memory[node * kStride] = list::Link{}.to(i + 1 < program.pool ? node + 1 : list::kNoNode, true).bits;
  }
  if (program.pool > 0) memory[kTop * kStride] = list::Link{}.to(kFirstNode).bits;
}

std::string inspect(const Words& memory, const Program& program, std::uint32_t, Pairs& pairs) {
  std::vector<bool> used(kFirstNode + program.pool);
  const auto walk = [&](list::NodeIndex from, const auto& visit) -> std::string {
    for (list::NodeIndex node = list::Link{memory[from * kStride]}.next(); node != list::kNoNode;) {
      if (used[node]) return "a node is in two places";
      used[node] = true;
      const list::Link link{memory[node * kStride]};
      visit(link, memory[node * kStride + 1]);
      node = link.next();
    }
    return {};
  };
  std::string wrong;
  Word least = 0;
  const std::string bucket = walk(kHead, [&](list::Link link, Word pair) {
    const Word key = pair & 0xFFFFFFFF;
    if (link.marked()) wrong = "a deleted node stays in the bucket";
    if (key < least) wrong = "keys are not in order";
    least = key + 1;
    pairs.at(key) = pair >> 32;
  });
  const std::string free = walk(kTop, [&](list::Link link, Word) {
    if (!link.marked()) wrong = "a free node is not marked";
  });
  for (int i = 0; i < program.pool; ++i)
    if (!used[kFirstNode + i] && bucket.empty() && free.empty()) wrong = "a node is lost";
  return bucket + free + wrong;
}

constexpr Variant kList{kStride, 0, list_step, prepare, inspect};

TEST(ListModel, AdversariesNeverGetAWrongAnswer) {
  std::uint64_t states = 0;
  for (const Adversary& one : adversaries()) {
    Program program = one.program;
    if (program.homes != 1) continue;
    // An operation that puts a pair in another's place needs a node as well: enough for all at once.
    program.pool = 6;
    const Result result = check(program, kList, {.preemptions = 3});
    EXPECT_FALSE(result.violation) << *result.violation;
    EXPECT_TRUE(result.complete) << program.name;
    states += result.states;
  }
  EXPECT_GT(states, 10'000u);
}

TEST(ListModel, TwoThreadsOfThreeOperationsNeverGetAWrongAnswerWithThreePreemptions) {
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    Program program = random_program(2, 3, seed);
    program.pool = 6;
    const Result result = check(program, kList, {.preemptions = 3});
    ASSERT_FALSE(result.violation) << *result.violation;
    EXPECT_TRUE(result.complete) << program.name;
  }
}

// Nodes are used again at once: there is one to spare.
TEST(ListModel, NodeUsedAgainNeverGivesAWrongAnswer) {
  const Step insert{Operation::insert, 0, 5}, erase{Operation::erase, 0}, other{Operation::insert, 1, 6};
  for (const Program& program :
       {Program{"node used again for its key", {insert}, {{erase, insert}, {erase}}, 1, 2},
        Program{"node used again for another key", {insert}, {{erase, other}, {erase, insert}}, 1, 2},
        Program{"node used again beside another", {other}, {{insert, erase}, {insert, erase}}, 1, 3}}) {
    const Result result = check(program, kList);
    EXPECT_FALSE(result.violation) << *result.violation;
    EXPECT_TRUE(result.complete);
  }
}

TEST(ListModel, OthersFinishWhereverThreadsAreStopped) {
  std::uint64_t suspensions = 0;
  for (std::uint32_t seed = 0; seed < 10; ++seed) {
    Program program = random_program(3, 1, seed);
    program.pool = 6;
    const Result result = check(program, kList, {.most_states = 5'000, .suspend = true});
    EXPECT_FALSE(result.violation) << *result.violation;
    suspensions += result.suspensions;
  }
  EXPECT_GT(suspensions, 10'000u);
}

}  // namespace
}  // namespace warploom::table::model
