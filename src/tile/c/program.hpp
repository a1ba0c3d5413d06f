#pragma once

#include <vector>

#include "tile/c/evaluate.hpp"

namespace warploom::tile {

/// A tree of statements whose names are numbers.
struct Program {
  Node::Kind kind = Node::Kind::block;
  std::vector<Program> children;
  int iterator = 0;                       ///< loop
  Code first, limit;                      ///< loop; a branch's condition is `first`
  std::int64_t step = 1;                  ///< loop
  bool rising = true, inclusive = false;  ///< loop
  Code target, value;                     ///< assignment
  ScalarType type = ScalarType::float32;
  std::vector<Code> locals;  ///< loop
  int statement = -1;        ///< assignment: its number
};

/// @throws BadInput (a loop that does not end, a launch, names and types that do not fit)
Program compile(const Region& region, Coder& coder, const Node& node);

/// Runs a program's loops and branches.
class Runner {
 public:
  explicit Runner(Values& values) : values_(values) {}
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;
  virtual ~Runner() = default;

  void run(const Program& program);

 protected:
  virtual void branch(const Program& program);
  virtual void assign(const Program& program);
  Values& values_;

 private:
  void loop(const Program& program);
  void forget(const Code& local);
  std::uint64_t iterations_ = 0;
};

}  // namespace warploom::tile
