#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "core/large_pages.hpp"
#include "fold/constraint.hpp"
#include "fold/extras.hpp"
#include "fold/loops.hpp"
#include "fold/quadruplex.hpp"
#include "fold/rows.hpp"

namespace warploom::fold {

/// A column of a triangle after another, rows 0 .. j of each.
class Triangle {
 public:
  explicit Triangle(std::int64_t n) : cells_(std::make_unique_for_overwrite<std::int32_t[]>(cells(n))) {
    ask_for_large_pages(cells_.get(), cells(n) * sizeof(std::int32_t));
  }
  static std::int64_t offset(std::int64_t j) { return j * (j + 1) / 2; }
  static std::size_t cells(std::int64_t n) { return static_cast<std::size_t>(offset(n + 1)); }
  std::int32_t* column(std::int64_t j) { return cells_.get() + offset(j); }
  const std::int32_t* column(std::int64_t j) const { return cells_.get() + offset(j); }
  /// kNone where i and j are too near for a loop; there nothing is stored.
  std::int32_t at(std::int64_t i, std::int64_t j) const { return j - i > kMinHairpin ? column(j)[i] : kNone; }

 private:
  std::unique_ptr<std::int32_t[]> cells_;
};

/// The matrices of the recurrences, for i, j from 1.
struct Matrices {
  /// Of a sequence and loops that live as long.
  Matrices(const Bases& s, const Loops& loops) : Matrices(s, loops, Triangle(s.size()), Triangle(s.size())) {}
  Matrices(const Bases& s, const Loops& loops, Triangle c_cells, Triangle m_cells)
      : c(std::move(c_cells)), m(std::move(m_cells)), quadruplexes(s, loops) {}
  Triangle c, m;
  Quadruplexes quadruplexes;
  std::vector<std::int32_t> f;  ///< of the first j bases; empty of a circle
};

/// What a model's loops cost, as the rows of a strip want it; made once for many sequences.
class LoopTables {
 public:
  explicit LoopTables(const Loops& loops);
  const Loops& loops() const { return loops_; }
  const SmallLoops& small() const { return *small_; }
  const LoopConstants& constants() const { return constants_; }

 private:
  const Loops& loops_;
  std::unique_ptr<SmallLoops> small_;
  LoopConstants constants_ = {};
};

/// @throws OutOfMemory, Interrupted
Matrices fill(const Bases& s, const LoopTables& tables, const Marks& marks, const Extras& extras);

/// A sequence that is filled, from which those are that differ from it in one base: cells that do not see
/// that base stay, a third is left in the mean. Not with dangles 3, whose stacks of stems it does not keep.
class Refill {
 public:
  /// What is given lives as long. @throws as fill()
  Refill(const Bases& s, const LoopTables& tables, const Extras& extras);
  ~Refill();
  /// What one holds at most, and what a Cells does. No sequence below this length has cells to keep.
  static std::uint64_t bytes(std::int64_t n);
  static std::uint64_t cells_bytes(std::int64_t n) { return 2 * sizeof(std::int32_t) * Triangle::cells(n); }
  static constexpr std::int64_t kShortest = 2 * kRows;

  /// A thread's own.
  struct Cells {
    Triangle c, m;
  };
  Cells cells() const;
  /// Calls `use` with the matrices of a sequence that differs at `position` alone, counted from 1.
  void with(const Bases& s, std::int64_t position, const Extras& extras, Cells& cells,
            const std::function<void(const Matrices&)>& use) const;

  struct Kept;

 private:
  const LoopTables& tables_;
  std::int64_t n_;
  std::unique_ptr<Kept> kept_;
  Matrices filled_;
};

/// A piece of a structure: the pair (i, j), or stems of a multiloop from i to j.
struct Part {
  std::int64_t i, j;
  bool multi;
};
struct Circle {
  std::int32_t energy;
  std::vector<Part> parts;  ///< within the loop that joins the ends
};
/// Each way to join the ends of a circle by a loop with two stems at most whose energy is at most `limit`,
/// which `take` may lower.
void close_circle_by_few(const Bases& s, const Loops& loops, const Matrices& matrices,
                         const std::int32_t& limit,
                         const std::function<void(std::int32_t, const std::vector<Part>&)>& take);
/// The least energy of a circle.
Circle close_circle(const Bases& s, const Loops& loops, const Matrices& matrices);

/// The structure that has the energy f(n), or of `circle`. @throws Internal: there is none, a fault of ours
std::string trace(const Bases& s, const Loops& loops, const Matrices& matrices, const Extras& extras,
                  const Circle* circle);
/// That of the bases first..last alone, whose f is given.
std::string trace(const Bases& s, const Loops& loops, const Matrices& matrices, const Extras& extras,
                  std::int64_t first, std::int64_t last, const std::vector<std::int32_t>& f);

}  // namespace warploom::fold
