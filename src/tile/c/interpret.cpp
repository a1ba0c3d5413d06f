#include "warploom/tile/interpret.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "tile/c/program.hpp"
#include "tile/c/scalar_types.hpp"
#include "tile/c/wellformed.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/progress.hpp"

namespace warploom::tile {
namespace {

class Compiler {
 public:
  Compiler(const Region& region, Coder& coder) : region_(region), coder_(coder) {}

  Program program(const Node& node) {
    Program p;
    p.kind = node.kind;
    switch (node.kind) {
      case Node::Kind::block:
        children(p, node);
        break;
      case Node::Kind::loop:
        p.first = integer(node.first);
        p.iterator = coder_.enter(node.iterator);
        p.limit = integer(node.limit);
        p.step = node.step;
        p.rising = node.comparison[0] == '<';
        p.inclusive = node.comparison.size() == 2;
        if (node.step == 0 || p.rising != (node.step > 0))
          fail_at(region_, node.at, "loop that does not end");
        for (const std::string& name : node.locals) p.locals.push_back(coder_.variable(name, node.at));
        children(p, node);
        coder_.leave(node.iterator);
        break;
      case Node::Kind::branch:
        p.first = coder_.code(node.condition);
        children(p, node);
        break;
      case Node::Kind::assignment:
        assignment(p, node);
        break;
      case Node::Kind::launch:
        fail_at(region_, node.at, "a launch of a GPU's kernel cannot be interpreted");
    }
    return p;
  }

 private:
  void children(Program& p, const Node& node) {
    for (const Node& child : node.children) p.children.push_back(program(child));
  }
  Code integer(const Expression& e) {
    Code code = coder_.code(e);
    if (code.type != ValueType::integer)
      fail_at(region_, e.at, fmt::format("bound {} is no integer", to_text(e)));
    return code;
  }
  void assignment(Program& p, const Node& node) {
    p.target = coder_.code(node.target);
    if (p.target.op != Code::Op::element && p.target.op != Code::Op::scalar)
      fail_at(region_, node.at, fmt::format("{} is no variable", to_text(node.target)));
    p.value = coder_.assigned(p.target, node.op, node.value);
    p.type = find_variable(region_, node.target.text)->type;
    p.statement = node.statement;
  }

  const Region& region_;
  Coder& coder_;
};

}  // namespace

Program compile(const Region& region, Coder& coder, const Node& node) {
  return Compiler(region, coder).program(node);
}

void Runner::run(const Program& p) {
  switch (p.kind) {
    case Node::Kind::block:
      for (const Program& child : p.children) run(child);
      break;
    case Node::Kind::loop:
      loop(p);
      break;
    case Node::Kind::branch:
      branch(p);
      break;
    case Node::Kind::assignment:
      assign(p);
      break;
    case Node::Kind::launch:
      break;
  }
}

void Runner::loop(const Program& p) {
  const std::int64_t limit = p.limit.as_integer(values_);
  std::int64_t i = p.first.as_integer(values_);
  while ((p.rising ? i < limit : i > limit) || (p.inclusive && i == limit)) {
    values_.integers[p.iterator] = i;
    if (++iterations_ % 65536 == 0) check_interrupt();
    for (const Code& local : p.locals) forget(local);
    for (const Program& child : p.children) run(child);
    if (__builtin_add_overflow(i, p.step, &i)) break;
  }
}

/// What a declaration leaves in memory is anything; here what a program that reads it would show.
void Runner::forget(const Code& local) {
  const double nothing =
      local.type == ValueType::integer ? -1'111'111'111 : std::numeric_limits<double>::quiet_NaN();
  if (local.op == Code::Op::scalar) {
    values_.scalars[local.slot] = nothing;
    return;
  }
  const Values::Array& array = values_.arrays[local.slot];
  std::int64_t elements = 1;
  for (const std::int64_t extent : array.extents) elements *= extent;
  std::fill_n(array.elements, elements, nothing);
}

void Runner::branch(const Program& p) {
  if (p.first.as_real(values_) != 0) {
    run(p.children[0]);
  } else if (p.children.size() > 1) {
    run(p.children[1]);
  }
}

void Runner::assign(const Program& p) {
  // Integers wrap around where they are stored.
  const double value =
      is_integer(p.type) ? stored(p.type, p.value.as_integer(values_)) : p.value.as_real(values_);
  (p.target.op == Code::Op::scalar ? values_.scalars[p.target.slot] : *p.target.address(values_)) = value;
}

namespace {

/// SplitMix64: Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (OOPSLA 2014).
std::uint64_t next_random(std::uint64_t& state) {
  std::uint64_t z = state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

double random_value(ScalarType type, std::uint64_t& state) {
  const std::uint64_t bits = next_random(state);
  if (is_integer(type)) return static_cast<double>(1 + bits % 8);
  if (type == ScalarType::float32) return 0.5 + static_cast<double>(bits >> 41) * 0x1p-23;
  return 0.5 + static_cast<double>(bits >> 12) * 0x1p-52;
}

}  // namespace

Memory make_memory(const Region& region, const std::map<std::string, std::int64_t>& sizes,
                   std::uint64_t seed) {
  for (const Variable& variable : region.variables) {
    size_of(variable.type);
    for (const Expression& extent : variable.extents) check(extent);
  }
  Memory memory;
  for (const std::string& size : region.sizes) {
    const auto found = sizes.find(size);
    if (found == sizes.end()) fail_at(region, region.at, fmt::format("size {} is missing", size));
    memory.sizes.insert(*found);
  }
  constexpr std::int64_t kMostElements = std::int64_t{1} << 31;
  std::int64_t left = kMostElements;
  for (const Variable& variable : region.variables) {
    std::int64_t elements = 1;
    for (const Expression& extent : variable.extents) {
      const bool overflow =
          __builtin_mul_overflow(elements, extent_value(region, variable, extent, sizes), &elements);
      if (overflow || elements > left)
        fail_at(region, variable.at,
                fmt::format("arrays up to {} have more than 2^31 elements", variable.name));
    }
    std::uint64_t state = seed;
    for (const char c : variable.name) state = next_random(state) ^ static_cast<unsigned char>(c);
    if (variable.extents.empty()) {
      memory.scalars[variable.name] = random_value(variable.type, state);
      continue;
    }
    left -= elements;
    std::vector<double>& values = memory.arrays[variable.name];
    values.resize(static_cast<std::size_t>(elements));
    for (double& value : values) value = random_value(variable.type, state);
  }
  return memory;
}

void interpret(const Region& region, const Node& code, Memory& memory) {
  check(code);
  for (const Variable& variable : region.variables)
    for (const Expression& extent : variable.extents) check(extent);
  Coder coder(region, memory);
  const Program program = compile(region, coder, code);
  Runner(coder.values()).run(program);
  coder.store();
}

}  // namespace warploom::tile
