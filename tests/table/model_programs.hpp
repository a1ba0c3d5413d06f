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

/// A program of `threads` threads of `operations` operations each on two keys, the same for the same seed.
Program random_program(int threads, int operations, std::uint32_t seed);

}  // namespace warploom::table::model
