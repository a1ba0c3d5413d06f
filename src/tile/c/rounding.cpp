// Running error analysis of a nest.
#include "warploom/tile/rounding.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "tile/c/program.hpp"
#include "tile/c/scalar_types.hpp"

namespace warploom::tile {
namespace {

using Op = Code::Op;

double unit_roundoff(ValueType type) { return type == ValueType::single ? 0x1p-24 : 0x1p-53; }

/// A value as a sum of terms: what the terms carry, and what adding them up in any order costs.
struct Bounded {
  double value = 0;
  double terms_error = 0;  ///< of the terms themselves
  double magnitude = 0;    ///< sum of the terms' magnitudes
  double terms = 1;
  double u = 0;  ///< of the sum's type

  double error() const { return terms_error + (terms > 1 ? (terms - 1) * u * magnitude : 0); }
  static Bounded of(double value, double error) { return {value, error, std::fabs(value), 1, 0}; }
  Bounded as_one() const { return of(value, error()); }
};

class BoundRunner : public Runner {
 public:
  BoundRunner(const Nest& nest, Values& values)
      : Runner(values), nest_(nest), scalars_(values.scalars.size()) {
    for (const Values::Array& array : values.arrays) {
      std::size_t elements = 1;
      for (const std::int64_t extent : array.extents) elements *= static_cast<std::size_t>(extent);
      arrays_.emplace_back(elements);
    }
    for (std::size_t s = 0; s < scalars_.size(); ++s) scalars_[s] = Bounded::of(values.scalars[s], 0);
    for (std::size_t a = 0; a < arrays_.size(); ++a)
      for (std::size_t e = 0; e < arrays_[a].size(); ++e)
        arrays_[a][e] = Bounded::of(values.arrays[a].elements[e], 0);
  }

  /// @param memory  of the values; becomes that of the bounds
  void store(Memory& memory, const std::map<std::string, int>& scalar_slots) const {
    for (auto& [name, value] : memory.scalars) value = scalars_[scalar_slots.at(name)].error();
    for (auto& [name, elements] : memory.arrays) std::fill(elements.begin(), elements.end(), 0);
    for (std::size_t a = 0; a < arrays_.size(); ++a)
      std::transform(arrays_[a].begin(), arrays_[a].end(), memory.arrays.at(values_.arrays[a].name).begin(),
                     [](const Bounded& cell) { return cell.error(); });
  }

 protected:
  void branch(const Program& p) override {
    const bool doubt = in_doubt(p.first);
    Runner::branch(p);
    if (doubt) lose(p);
  }

  void assign(const Program& p) override {
    sums_up_ = p.statement >= 0 && p.statement < std::ssize(nest_.statements()) &&
               !nest_.statements()[p.statement].reduction.empty();
    target_ = cell(p.target);
    Bounded result = bounded(p.value);
    if (!sums_up_) result = result.as_one();
    Runner::assign(p);
    const bool scalar = p.target.op == Op::scalar;
    result.value = scalar ? values_.scalars[p.target.slot] : *p.target.address(values_);
    if (is_integer(p.type)) result = Bounded::of(result.value, 0);
    *target_ = result;
  }

 private:
  /// What is written where another program may decide otherwise has no bound.
  void lose(const Program& p) {
    if (p.kind == Node::Kind::assignment) {
      const bool scalar = p.target.op == Op::scalar;
      for (Bounded& one : scalar ? std::span(&scalars_[p.target.slot], 1) : std::span(arrays_[p.target.slot]))
        one.terms_error = HUGE_VAL;
    }
    for (const Program& child : p.children) lose(child);
  }

  Bounded* cell(const Code& code) {
    if (code.op == Op::scalar) return &scalars_[code.slot];
    return &arrays_[code.slot]
                   [static_cast<std::size_t>(code.address(values_) - values_.arrays[code.slot].elements)];
  }

  /// An operation's own rounding.
  static Bounded rounded(const Code& code, double value, double error, double roundings = 1) {
    return Bounded::of(value, error + roundings * unit_roundoff(code.type) * std::fabs(value));
  }

  Bounded bounded(const Code& code) {
    if (code.type == ValueType::integer) return Bounded::of(code.as_real(values_), 0);
    switch (code.op) {
      case Op::scalar:
      case Op::element: {
        const Bounded* read = cell(code);
        return sums_up_ && read == target_ ? *read : read->as_one();
      }
      case Op::negate: {
        Bounded a = bounded(code.operands[0]);
        a.value = -a.value;
        return a;
      }
      case Op::add:
      case Op::subtract:
        return sum(code, bounded(code.operands[0]), bounded(code.operands[1]));
      case Op::multiply: {
        const Bounded a = bounded(code.operands[0]), b = bounded(code.operands[1]);
        const double ea = a.error(), eb = b.error();
        return rounded(code, value(code, a.value * b.value),
                       std::fabs(a.value) * eb + std::fabs(b.value) * ea + ea * eb);
      }
      case Op::divide: {
        const Bounded a = bounded(code.operands[0]), b = bounded(code.operands[1]);
        const double quotient = value(code, a.value / b.value), least = std::fabs(b.value) - b.error();
        if (!(least > 0)) return Bounded::of(quotient, HUGE_VAL);
        return rounded(code, quotient, (a.error() + std::fabs(quotient) * b.error()) / least);
      }
      case Op::conditional:
        return choice(code);
      case Op::minimum:
      case Op::maximum: {
        const Bounded a = bounded(code.operands[0]).as_one(), b = bounded(code.operands[1]).as_one();
        const double chosen =
            code.op == Op::minimum ? std::min(a.value, b.value) : std::max(a.value, b.value);
        return Bounded::of(chosen, std::max(a.error(), b.error()));
      }
      case Op::convert: {
        Bounded a = bounded(code.operands[0]);
        if (code.type != ValueType::single || code.operands[0].type == ValueType::single) return a;
        a.value = static_cast<float>(a.value);
        a.terms_error += unit_roundoff(code.type) * a.magnitude;
        return a;
      }
      case Op::call:
        return call(code);
      default:
        return Bounded::of(code.as_real(values_), 0);
    }
  }

  /// As the type holds it.
  static double value(const Code& code, double exact) {
    return code.type == ValueType::single ? static_cast<double>(static_cast<float>(exact)) : exact;
  }

  static Bounded sum(const Code& code, const Bounded& a, const Bounded& b) {
    const double result = value(code, code.op == Op::add ? a.value + b.value : a.value - b.value);
    return {result, a.terms_error + b.terms_error, a.magnitude + b.magnitude, a.terms + b.terms,
            unit_roundoff(code.type)};
  }

  /// Which of the two is taken may be in doubt.
  Bounded choice(const Code& code) {
    const Code& condition = code.operands[0];
    const bool holds = condition.type == ValueType::integer ? condition.as_integer(values_) != 0
                                                            : condition.as_real(values_) != 0;
    const Bounded taken = bounded(code.operands[holds ? 1 : 2]).as_one();
    if (!in_doubt(condition)) return taken;
    const Bounded other = bounded(code.operands[holds ? 2 : 1]);
    return Bounded::of(taken.value,
                       std::max(taken.error(), other.error() + std::fabs(taken.value - other.value)));
  }

  bool in_doubt(const Code& condition) {
    switch (condition.op) {
      case Op::logical_and:
      case Op::logical_or:
        return in_doubt(condition.operands[0]) || in_doubt(condition.operands[1]);
      case Op::logical_not:
        return in_doubt(condition.operands[0]);
      case Op::less:
      case Op::less_equal:
      case Op::equal:
      case Op::not_equal: {
        const Bounded a = bounded(condition.operands[0]), b = bounded(condition.operands[1]);
        const double error = a.error() + b.error();
        return error > 0 && !(std::fabs(a.value - b.value) > error);
      }
      default:
        return false;
    }
  }

  /// By what the function gives at the ends of its arguments' ranges; C's are monotone between near points.
  Bounded call(const Code& code) {
    Code at = code;
    std::vector<Bounded> arguments;
    for (std::size_t k = 0; k < code.operands.size(); ++k) {
      arguments.push_back(bounded(code.operands[k]).as_one());
      Code constant;
      constant.op = Op::real;
      constant.type = ValueType::real;
      constant.real = arguments[k].value;
      at.operands[k] = constant;
    }
    const double result = at.as_real(values_);
    double error = 0;
    for (std::size_t k = 0; k < arguments.size(); ++k) {
      double worst = 0;
      for (const double side : {-1.0, 1.0}) {
        at.operands[k].real = arguments[k].value + side * arguments[k].error();
        const double apart = std::fabs(at.as_real(values_) - result);
        worst = std::isnan(apart) ? HUGE_VAL : std::max(worst, apart);
      }
      at.operands[k].real = arguments[k].value;
      error += arguments[k].error() > 0 ? worst : 0;
    }
    return rounded(code, result, error, 4);
  }

  const Nest& nest_;
  std::vector<Bounded> scalars_;
  std::vector<std::vector<Bounded>> arrays_;
  Bounded* target_ = nullptr;
  bool sums_up_ = false;  ///< the statement that runs is a reduction
};

}  // namespace

Memory rounding_bounds(const Nest& nest, Memory& memory) {
  const Region& region = nest.region();
  Coder coder(region, memory);
  const Program program = compile(region, coder, region.body);
  BoundRunner runner(nest, coder.values());
  runner.run(program);
  coder.store();
  Memory bounds = memory;
  runner.store(bounds, coder.scalar_slots());
  return bounds;
}

}  // namespace warploom::tile
