#pragma once

#include <string_view>
#include <vector>

#include "table/model_checker.hpp"

namespace warploom::table::model {

/// Programs of which every one makes threads meet in a way of its own, for lines of so many slots.
struct Adversary {
  Program program;
  int slots;
};
const std::vector<Adversary>& adversaries();
const Adversary& adversary(std::string_view name);

/// The same for a map of one base chain that grows; lines of one slot.
const std::vector<Program>& growth_adversaries();
const Program& growth_adversary(std::string_view name);
/// A random program whose map grows with the next insertion, or has just grown.
Program random_growth_program(int threads, int operations, std::uint32_t seed);

/// A program of `threads` threads of `operations` operations each on two keys, the same for the same seed.
Program random_program(int threads, int operations, std::uint32_t seed);

}  // namespace warploom::table::model
