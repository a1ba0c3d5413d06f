#include "table/model_programs.hpp"

#include <stdexcept>
#include <string>

#include "oracle/random.hpp"

namespace warploom::table::model {
namespace {

constexpr Step find(Word key) { return {Operation::find, key}; }
constexpr Step insert(Word key, Word value) { return {Operation::insert, key, value}; }
constexpr Step erase(Word key) { return {Operation::erase, key}; }
constexpr Step assign(Word key, Word value) { return {Operation::assign, key, value}; }
constexpr Step add(Word key, Word value) { return {Operation::add, key, value}; }
constexpr Step min(Word key, Word value) { return {Operation::min, key, value}; }
constexpr Step max(Word key, Word value) { return {Operation::max, key, value}; }

}  // namespace

const std::vector<Adversary>& adversaries() {
  static const std::vector<Adversary> all{
      {{"one key inserted, erased, inserted",
        {},
        {{insert(0, 5), erase(0), insert(0, 7)}, {insert(0, 6), find(0), erase(0)}}},
       2},
      {{"two insert a key while another is erased",
        {insert(1, 9)},
        {{insert(0, 5)}, {insert(0, 6)}, {erase(1)}}},
       2},
      {{"slot used again for its key", {insert(0, 5)}, {{erase(0), insert(0, 7)}, {find(0), find(0)}}}, 1},
      {{"slot used again for another key",
        {insert(0, 5)},
        {{erase(0), insert(1, 7)}, {find(0), find(1), insert(0, 8)}}},
       1},
      {{"erasures of a slot used again", {insert(0, 5)}, {{erase(0), insert(1, 7)}, {erase(0), erase(1)}}},
       1},
      {{"addition to a slot used again", {insert(0, 5)}, {{erase(0)}, {insert(1, 7)}, {add(0, 3)}}}, 1},
      {{"addition to a slot erased twice",
        {insert(0, 5)},
        {{erase(0), insert(1, 7), erase(1)}, {insert(2, 9), add(0, 3)}}},
       2},
      {{"additions while the key goes and comes",
        {insert(0, 5)},
        {{add(0, 1), add(0, 2)}, {erase(0), add(0, 4), find(0)}}},
       1},
      {{"assignments while the key goes and comes",
        {},
        {{assign(0, 5), erase(0)}, {assign(0, 6), find(0), assign(0, 7)}}},
       1},
      {{"least and greatest while the key goes",
        {insert(0, 5)},
        {{min(0, 3), find(0)}, {max(0, 7), erase(0), min(0, 9)}}},
       1},
      {{"two lines appended at once", {insert(1, 9)}, {{insert(0, 5)}, {insert(2, 6)}, {erase(1)}}}, 1},
      {{"pending insertion erased, its slot claimed",
        {insert(1, 9), insert(0, 4), erase(0)},
        {{insert(0, 5)}, {erase(0)}, {insert(2, 7)}}},
       1},
      {{"pending insertion of the key that is inserted",
        {insert(1, 9)},
        {{insert(0, 5), erase(0)}, {insert(0, 6), find(0)}}},
       1},
      {{"help that comes late",
        {insert(1, 9)},
        {{insert(0, 5), erase(0), insert(2, 6)}, {find(2), insert(0, 7)}}},
       1},
      {{"found while pending",
        {insert(1, 9), insert(0, 4), erase(0)},
        {{insert(0, 5)}, {find(0), find(0)}, {insert(0, 6)}}},
       1},
      {{"key moves from home to another line",
        {insert(0, 5), insert(1, 9)},
        {{erase(0), insert(0, 7)}, {insert(2, 8), find(0)}}},
       1},
      {{"three insert into a line", {}, {{insert(0, 5)}, {insert(1, 6)}, {insert(0, 7)}}}, 3},
      {{"erased and inserted again between walk and publication",
        {},
        {{insert(0, 5), erase(0)}, {insert(1, 6)}, {insert(0, 7)}}},
       2},
      {{"last line", {insert(1, 9)}, {{insert(0, 5), erase(0)}, {insert(2, 6), erase(2)}}, 1, 1}, 1},
      {{"no line left", {insert(1, 9)}, {{insert(0, 5), erase(1)}, {assign(0, 6), insert(0, 7)}}, 1, 0}, 1},
      {{"two chains and one line",
        {insert(0, 9), insert(1, 8)},
        {{insert(2, 5), erase(0)}, {insert(0, 6), insert(2, 7), erase(1)}},
        2,
        1},
       1},
  };
  return all;
}

const Adversary& adversary(std::string_view name) {
  for (const Adversary& one : adversaries())
    if (one.program.name == name) return one;
  throw std::invalid_argument("no such program: " + std::string(name));
}

// The first line appended doubles the home lines, and whoever comes next splits the chain.
const std::vector<Program>& growth_adversaries() {
  static const std::vector<Program> all{
      {"found while it moves",
       {insert(1, 5), insert(0, 9)},
       {{find(1), find(0)}, {erase(1), insert(1, 6)}},
       1,
       3},
      {"added while it moves", {insert(1, 5), insert(0, 9)}, {{add(1, 1), find(1)}, {add(1, 2), add(1, 4)}}},
      {"added in the second line while it moves",
       {insert(0, 9), insert(1, 5)},
       {{add(1, 1), find(1)}, {add(1, 2), find(0)}}},
      {"erased in the second line while it moves",
       {insert(0, 9), insert(1, 5)},
       {{erase(1), insert(1, 7)}, {find(1), erase(1)}}},
      {"inserted where it moves to",
       {insert(0, 9), insert(1, 5), erase(1)},
       {{insert(1, 6)}, {insert(1, 7)}}},
      {"first growth", {insert(1, 5)}, {{insert(0, 9), find(1)}, {add(1, 1), erase(1)}}},
      {"first growth by two", {insert(1, 5)}, {{insert(0, 9), erase(1)}, {insert(2, 6), insert(1, 7)}}, 1, 3},
      {"two move to a line of one slot",
       {insert(1, 5), insert(2, 6)},
       {{find(2), erase(1)}, {add(2, 1), insert(0, 3)}},
       1,
       3},
      {"no memory for what moves",
       {insert(1, 5), insert(2, 6)},
       {{find(2), add(2, 1)}, {erase(1), insert(1, 7)}},
       1,
       1},
      {"three of one key", {insert(0, 9), insert(1, 5)}, {{add(1, 1)}, {erase(1)}, {insert(1, 7)}}},
      {"copied when all is over",
       {insert(1, 5), insert(0, 9)},
       {{find(1)}, {add(1, 1), add(1, 2)}, {erase(1)}}},
      {"help that comes when all is over",
       {insert(1, 5), insert(0, 9)},
       {{find(1)}, {erase(1), insert(2, 6)}, {add(2, 1)}},
       1,
       3},
  };
  return all;
}

const Program& growth_adversary(std::string_view name) {
  for (const Program& one : growth_adversaries())
    if (one.name == name) return one;
  throw std::invalid_argument("no such program: " + std::string(name));
}

Program random_growth_program(int threads, int operations, std::uint32_t seed) {
  Program program = random_program(threads, operations, seed);
  Random random(seed);
  for (auto& thread : program.threads)
    for (Step& step : thread)
      if (random.chance(20)) step.key = 2;
  const Word there = random.below(3);
  program.before = {insert(there, 9)};
  if (random.chance(40)) program.before.push_back(insert((there + 1) % 3, 4));
  program.pool = 1 + static_cast<int>(random.below(3));
  return program;
}

Program random_program(int threads, int operations, std::uint32_t seed) {
  Random random(seed);
  Program program;
  program.name = "random program " + std::to_string(seed);
  const auto step = [&]() -> Step {
    // Half of them insertions and erasures, which is where danger lies.
    static constexpr Operation kChoices[] = {Operation::insert, Operation::erase,  Operation::insert,
                                             Operation::erase,  Operation::find,   Operation::add,
                                             Operation::assign, Operation::insert, Operation::max};
    return {kChoices[random.below(9)], random.chance(70) ? Word{0} : Word{1}, random.below(3) + 1};
  };
  if (random.chance(50)) program.before.push_back(insert(1, 9));
  if (random.chance(50)) program.before.push_back(insert(0, 4));
  if (random.chance(30)) program.before.push_back(erase(0));
  program.threads.resize(threads);
  for (auto& thread : program.threads)
    for (int i = 0; i < operations; ++i) thread.push_back(step());
  program.pool = static_cast<int>(random.below(3));
  return program;
}

}  // namespace warploom::table::model
