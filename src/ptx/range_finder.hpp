#pragma once

// Intervals of integers over the SSA values, whose ends are linear in what is equal in all threads.
//
// Each value has a form, a base address and a sum of atoms with integer factors; an atom is a value that is
// no such sum, a thread index or a number known at launch. Bounds of a sum come from those of its atoms and
// from the comparisons that hold at the place. Of a loop's values that advance by constant steps, one, which
// an exit compares, stays an atom, and the others are sums of it: compilers make pointers of such. Its bounds
// are guessed from the comparison and then verified to be kept by an iteration.

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "ptx/conditions.hpp"
#include "warploom/ptx/linear.hpp"
#include "warploom/ptx/ranges.hpp"

namespace warploom::ptx {

inline constexpr std::int64_t kMostOffset = std::int64_t{1} << 24;  // of an address inside its array

/// An integer type of PTX.
struct Integer {
  unsigned bits = 0;  ///< 0: no integer type
  bool is_signed = false;
  /// Of wider types than 40 bits a part that holds all numbers we reckon with.
  std::int64_t least() const { return is_signed ? -(std::int64_t{1} << (std::min(bits, 40u) - 1)) : 0; }
  std::int64_t most() const { return (std::int64_t{1} << (std::min(bits, 40u) - is_signed)) - 1; }
};

/// Of "u32" and its like.
Integer integer(std::string_view type);

struct Bounds {
  MaybeLinear least, most;
};

/// What a value is: the address of a shared variable, or 0, and a sum of atoms.
struct Form {
  std::uint32_t base = kNone;
  Linear sum;
  bool operator==(const Form&) const = default;
};

struct AddressRanges::Finder {
  Finder(const Cfg& c, const Values& v, const RangeOptions& o);

  const Cfg& cfg;
  const Module& module;
  const Function& f;
  const Values& values;
  Conditions conditions;
  std::optional<std::array<std::uint32_t, 3>> block;

  // Atoms: values by their number, then these.
  std::uint32_t index(unsigned axis) const { return static_cast<std::uint32_t>(values.all.size()) + axis; }
  std::uint32_t extent(unsigned axis) const { return index(3 + axis); }
  std::uint32_t lane() const { return index(6); }
  std::map<std::uint32_t, Unknown> unknowns;  ///< atoms that are equal in all threads
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> parameter_atoms;  ///< (variable, offset)

  // What is found, and an account of it: what rests on a guess is forgotten with it.
  std::vector<std::optional<Form>> forms;
  std::vector<std::optional<Bounds>> bounds;
  std::map<std::uint32_t, std::vector<Linear>> facts;  ///< by 2 * instruction + holds: sums of at most 0
  struct Entry {
    enum { form, bound, fact } kind;
    std::uint32_t id;
  };
  std::vector<Entry> account;
  struct Step {
    Linear step;
    std::optional<Form> first;  ///< before the loop
  };
  std::map<std::uint32_t, Step> steps;  ///< of phis that advance by the same in all iterations
  bool trust_comparisons = false;       ///< to make a guess: they are taken not to overflow

  void forget(std::size_t from);

  // ---- numbers equal in all threads
  bool is_uniform(std::uint32_t atom) const { return atom >= extent(0) && unknowns.contains(atom); }
  std::optional<std::int64_t> extreme(const Linear& a, bool greatest) const;
  bool at_most(const Linear& a, const Linear& b) const;
  bool at_most(const Linear& a, std::int64_t b) const { return at_most(a, number(b)); }
  bool at_least(const Linear& a, std::int64_t b) const { return at_most(number(b), a); }
  MaybeLinear greater(const MaybeLinear& a, const MaybeLinear& b) const;
  MaybeLinear lesser(const MaybeLinear& a, const MaybeLinear& b) const;
  Bounds joined(const Bounds& a, const Bounds& b) const;
  bool within(const Bounds& b, std::int64_t least, std::int64_t most) const;
  static Bounds between(std::int64_t least, std::int64_t most) { return {number(least), number(most)}; }
  Bounds of_type(Integer t) const;
  /// Constant ends, 0 <= least.
  std::optional<std::pair<std::int64_t, std::int64_t>> natural(const Bounds& b) const;

  // ---- forms
  /// Bits below the lowest one of these are 0 in every value of the sum.
  static std::int64_t low_bits(const Linear& sum);
  Form atom(std::uint32_t id) const { return {kNone, {{{id, 1}}, 0}}; }
  std::optional<Form> special(std::string_view name);
  /// None: not of this kind.
  std::optional<Form> operand_form(std::uint32_t at, unsigned bits);
  static std::optional<Form> shifted(const Form& a, const Linear& b, std::int64_t factor);
  static std::optional<Form> sum_of(const std::optional<Form>& a, const std::optional<Form>& b);
  static std::optional<Form> difference(const std::optional<Form>& a, const std::optional<Form>& b);
  static std::optional<Form> product(const std::optional<Form>& a, const std::optional<Form>& b);
  /// Unchanged if its bits, read as this type, are the number itself.
  std::optional<Form> read_as(const std::optional<Form>& a, Integer type, std::uint32_t instruction);
  const Form& form(std::uint32_t v);
  void set_form(std::uint32_t v, Form value);
  bool plainly_guarded(const Value& v) const;
  std::vector<Form> edge_inputs(const Value& phi);
  /// Of a value that may be each of these.
  Form joined_form(std::uint32_t v, const std::vector<Form>& all) const;
  std::optional<Form> instruction_form(std::uint32_t at);
  std::optional<Form> parameter(const Instruction& i);
  /// Parameters that stand in addresses of shared memory become numbers known at launch.
  void allow_parameters();

  // ---- parts of the dynamic array, taken for granted
  bool assume_parts = false;
  std::map<std::uint32_t, std::vector<Linear>> carved;  ///< by array: where its parts begin, ascending
  /// For example: any launch will do, where it is proved that all agree.
  std::int64_t at_example(const Linear& a) const;
  const std::vector<Linear>& parts_of(std::uint32_t variable);
  /// The bounds that are not proved.
  void assume(AddressRange& range, const Linear& sum, std::uint32_t instruction);

  // ---- loops
  const Loop* headed_by(std::uint32_t b) const;
  /// The forms of all phis at the head.
  void analyse(const Loop& loop);
  /// Of the phis that advance evenly, one that an exit of the loop compares.
  std::uint32_t counter_of(const Loop& loop);
  std::optional<Form> in_terms_of(std::uint32_t counter, const Step& of) const;

  // ---- bounds
  Bounds bounds_of(const Linear& sum, const std::vector<Condition>& where);
  /// Of AddressRange, too.
  AddressRange all_bounds_of(const Linear& sum, const std::vector<Condition>& where);
  /// Sums of at most 0. They stay where they are until what was found before them is forgotten.
  struct Facts {
    std::vector<const Linear*> all;
    std::vector<Linear> of_terms;  ///< that no condition says; all points into it
    Facts() = default;
    Facts(Facts&&) = default;
  };
  Facts facts_at(const Linear& sum, const std::vector<Condition>& where);
  /// Of what advances evenly in a loop from a number that threads differ in: at most 0, for it only advances.
  MaybeLinear not_before_first(std::uint32_t id);
  std::pair<Linear, Linear> parted(const Linear& sum) const;
  /// A bound of `sum`, where each of `known` is at most 0.
  /// @param all  gets every bound that is found and not worse than another
  MaybeLinear upper(const Linear& sum, const Facts& known, unsigned depth,
                    std::vector<Linear>* all = nullptr);
  Bounds atom_bounds(std::uint32_t id);
  Integer signed_register(std::uint32_t reg) const;
  Bounds joined_inputs(std::uint32_t phi);
  Bounds loop_bounds(std::uint32_t phi, const Loop& loop);
  Bounds instruction_bounds(std::uint32_t at, std::uint32_t reg);

  // ---- comparisons
  const std::vector<Linear>& facts_of(const Condition& c);
  Integer type_of(const Instruction& i) const { return integer(module.opcode(i).parts.back()); }
  std::vector<Linear> compare(const Condition& c, const Linear& a, const Linear& b, bool addresses);
  /// Where it is defined; kNone: nowhere.
  std::uint32_t block_of(const Value& v) const;
  /// A loop that runs until its counter equals a bound, which it meets exactly: before that it is below
  /// (above, counting down) by a step at least.
  std::vector<Linear> never_met(const Condition& c, const Linear& a, const Linear& b);
};

}  // namespace warploom::ptx
