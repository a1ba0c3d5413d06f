#pragma once

#include <array>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "warploom/tile/transform.hpp"

/// Small loop nests by chance, with an enumerator of their own: the oracle of dependences, legality and code.
namespace warploom::tile::test {

/// loops . (i, j, k) + size * n + constant
struct Linear {
  std::array<int, 3> loops{};
  int size = 0, constant = 0;
};

struct Access {
  int array = 0;  ///< of RandomNest::arrays
  std::vector<Linear> subscripts;
};

/// A loop or a statement. The loop at depth d is named "ijk"[d].
struct Item {
  bool is_loop = false;
  int number = 0;  ///< of the statements, or of the loops

  int depth = 0;        ///< loop
  Linear first, limit;  ///< loop: from first, to below limit (above it, if it decreases)
  int step = 1;         ///< loop
  std::vector<Item> children;

  Access target;  ///< = (3 * reads[0] + 5 * reads[1] + 7 * i + ... + number) % 1009
  std::vector<Access> reads;
  bool accumulates = false;     ///< += (... % 7)
  std::optional<Linear> guard;  ///< runs where it is >= 0
};

struct Array {
  std::string name;
  std::vector<int> extents;
};

struct RandomNest {
  int n = 0;  ///< the size
  std::vector<Array> arrays;
  std::vector<Item> body;
  int loops = 0, statements = 0;

  std::string text() const;
};
/// 1 to 3 loops deep, 1 to 3 statements, steps, triangular bounds, decreasing loops, guards.
RandomNest random_nest(std::mt19937& random);

struct Touch {
  int array = 0, element = 0;
  bool writes = false;
};
/// One run of a statement.
struct Instance {
  const Item* statement = nullptr;
  std::array<int, 3> iteration{};
  std::vector<Touch> touches;  ///< the reads, then the write
};
/// The order of the text.
std::vector<Instance> source_order(const RandomNest& nest);
/// The order after steps, by sorting. Several steps: of nests whose statements share all loops.
std::vector<Instance> transformed_order(const RandomNest& nest, const std::vector<Step>& steps);
/// Whether every two runs that touch one element, one writing it, keep their order.
bool keeps_dependences(const std::vector<Instance>& before, const std::vector<Instance>& after);
/// Contents of the arrays after these runs.
std::vector<std::vector<int>> run(const std::vector<Instance>& order, std::vector<std::vector<int>> arrays);

}  // namespace warploom::tile::test
