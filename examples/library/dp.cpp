// Two problems of one kind: in which order to multiply six matrices, and which bases of a hairpin pair.

#include <iostream>
#include <vector>
#include <warploom/dp/base_pairs.hpp>
#include <warploom/dp/chain.hpp>

int main() {
  using namespace warploom;
  const dp::Options cpu{.run = {.devices = {Device::cpu}}};
  // Seven dimensions of six matrices: A1 is 30 x 35, A2 35 x 15, ...
  const std::vector<std::int64_t> dimensions{30, 35, 15, 5, 10, 20, 25};
  const dp::ChainOrder order = dp::chain_order(dimensions, {.solve = cpu});
  std::cout << order.parenthesisation << "\n";

  const dp::BasePairs hairpin = dp::base_pairs("GGGAAAUCCC", {.solve = cpu});
  std::cout << hairpin.sequence << "\n" << dp::dot_bracket(hairpin) << " " << hairpin.pairs << " pairs\n";
}
