#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "warploom/tile/source.hpp"

namespace warploom::tile {

/// A known size, or what is known of it: `--size N=1024`, `--size N=1..4096`.
struct SizeRange {
  std::string name = {};
  std::optional<std::int64_t> least = {}, most = {};
};

/// One mention of an array (or scalar) in a statement.
struct Reference {
  int number = 0;           ///< within the statement, writes last
  bool is_write = false;    ///< the target of "+=" gives two references, a read and a write
  Expression element = {};  ///< as in the text: A[i][j + 1]
  bool is_exact = true;  ///< false: a subscript is read from memory (x[index[i]]), so it may be any element
  /// Subscript d is constants[d] + sum over l of coefficients[d][l] * loop l + sum over s of
  /// size_coefficients[d][s] * Region::sizes[s]. Where it has no such form (i / 2), both lists of d are
  /// empty.
  std::vector<std::vector<std::int64_t>> coefficients = {}, size_coefficients = {};
  std::vector<std::int64_t> constants = {};
  /// Whether every subscript has such a form. @param loops  around the statement
  bool is_linear(std::size_t loops) const {
    return std::ranges::all_of(coefficients, [&](const auto& of_loops) { return of_loops.size() == loops; });
  }
};

struct Statement {
  int number = 0;
  std::string label = {};               ///< "S0"
  std::vector<std::string> loops = {};  ///< iterators around it, outermost first
  Node assignment = {};
  /// What depends on data in the branches around it, outermost first: an iteration runs where all hold. Of
  /// dependences it is taken to run everywhere, and never to hide an earlier write. References hold what is
  /// read here, too.
  std::vector<Expression> conditions = {};
  std::vector<Reference> references = {};
  /// The statement combines one element with a value in which the same iteration does not read that element
  /// otherwise: "+" (`x += v`, `x -= v`, `x = x + v`, `x = v + x`, `x = x - v`), "*" (`x *= v`, `x = x * v`),
  /// "min" or "max" (`x = min(x, v)`, `x = x < v ? x : v`); else empty.
  std::string reduction = {};
};

struct Polyhedra;  // sets and relations, src/tile/sets/polyhedra.hpp

/// A region whose loops are affine, with its iteration sets and access relations. Cheap to copy (shared,
/// never changed). Threads that transform one, or its copies, take turns. Functions that are given one that
/// analyse() did not make, or that was moved from, throw BadInput.
class Nest {
 public:
  /// @throws BadInput with file, line and construct: the region's own refusals, subscripts or bounds that are
  /// not affine, extents missing, subscripts provably out of bounds, sizes whose products leave 63 bits
  /// @note milliseconds; exact integer sets of isl.
  static Nest analyse(Region region, std::vector<SizeRange> sizes = {});

  const Region& region() const;
  const std::vector<Statement>& statements() const;
  const std::vector<SizeRange>& sizes() const;
  /// Remarks for people: arrays assumed not to overlap, loops that never run, sizes that are assumed because
  /// others leave an array ("assumes n >= 2").
  const std::vector<std::string>& remarks() const;
  const Polyhedra& polyhedra() const;

 private:
  std::shared_ptr<const Polyhedra> polyhedra_;
};

/// Sizes for which the nest is right, by sizes() and by what remarks() assume: near `wanted`, the first size
/// of the region first. @throws BadInput (a size of the region is not in `wanted`; no sizes are allowed)
std::map<std::string, std::int64_t> sizes_near(const Nest& nest,
                                               const std::map<std::string, std::int64_t>& wanted);

}  // namespace warploom::tile
