#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "sim/step.hpp"

/// Matrices that the registers of a warp hold together: of mma, wmma, ldmatrix.
namespace warploom::sim {

enum class Element : std::uint8_t { f16, bf16, tf32, f32, f64, s32, s8, u8, e4m3, e5m2, s4, u4, b1 };
std::optional<Element> element_of(std::string_view type);
unsigned bits_of(Element element);

inline bool of_8_bit_floats(Element e) { return e == Element::e4m3 || e == Element::e5m2; }

/// A matrix of D = A B + C, spread over the lanes.
struct Fragment {
  enum Role : std::uint8_t { a, b, c };
  Role role = a;
  /// The fragments of wmma, which PTX leaves open: ours hold the matrix row by row, see place().
  bool of_wmma = false;
  Element element = Element::f16;
  std::uint16_t rows = 0, columns = 0;
  std::vector<Source> registers;  ///< of C that is written: all in registers

  unsigned register_bytes() const { return element == Element::f64 ? 8 : 4; }
  /// Elements that a lane's register holds, the low bits first.
  unsigned held() const { return 8 * register_bytes() / bits_of(element); }
  /// Registers of mma; of wmma also those that hold an element a second time.
  unsigned distinct_registers() const { return rows * columns / (kLanes * held()); }
};

struct Place {
  unsigned row, column;
};
/// Which element of the matrix is element `e` of register `reg` of a lane: PTX ISA, "Matrix Fragments for
/// mma".
inline Place place(const Fragment& f, unsigned reg, unsigned lane, unsigned e) {
  const unsigned held = f.held();
  if (f.of_wmma) {
    const unsigned at = ((reg % f.distinct_registers()) * kLanes + lane) * held + e;
    // Elements of less than a byte lie along k in memory.
    if (f.role == Fragment::b && held > 4) return {at % f.rows, at / f.rows};
    return {at / f.columns, at % f.columns};
  }
  const unsigned group = lane / 4, in_group = lane % 4;
  switch (f.role) {
    case Fragment::a: {
      // Of 16 rows the upper and the lower eight take turns.
      const unsigned halves = f.rows / 8;
      return {group + 8 * (reg % halves), reg / halves * 4 * held + in_group * held + e};
    }
    case Fragment::b:
      return {reg * 4 * held + in_group * held + e, group};
    default: {
      const unsigned at = reg * held + e;
      return {group + 8 * (at / 2), 2 * in_group + at % 2};
    }
  }
}

/// D has m x n elements, a sum goes over k.
struct MatrixShape {
  std::uint16_t m = 0, n = 0, k = 0;
};

/// mma and wmma.mma.
struct MatrixForm {
  Fragment a, b, c, d;
  bool saturate = false;
  bool exclusive_or = false;  ///< b1: products are `xor`, else `and`
  bool sparse = false;        ///< A has the half of a row that `metadata` names
  Source metadata;
  std::uint8_t selector = 0;  ///< which lanes of four hold it
  unsigned group = 0;         ///< of floats: terms that are added up at once, see tensor_sum
};

/// Where the elements of a sparse A lie in the whole one, of 16 rows. Of four units that lie together two are
/// there: a unit is an element, two of 4 bits, half one of 32. PTX ISA, "Sparse matrix storage".
struct SparseRows {
  /// @param metadata of the 32 lanes @param kept elements of a row of A, half of k
  SparseRows(const std::uint32_t* metadata, unsigned selector, Element element, unsigned kept);
  unsigned kept;
  std::vector<std::uint16_t> at;  ///< [16, kept]
  const std::uint16_t* row(unsigned number) const { return &at[std::size_t{number} * kept]; }
};

/// mma.m8n8k4 of f16, which makes four products at once.
struct QuadForm {
  bool a_by_rows = true, b_by_rows = false;
  Element before = Element::f32, after = Element::f32;  ///< of C and D
  Source a[2] = {}, b[2] = {}, c[8] = {};
  std::uint32_t d[8] = {};
};

/// wmma.load and wmma.store.
struct MatrixAccess {
  Fragment fragment;
  bool by_columns = false;
};

}  // namespace warploom::sim
