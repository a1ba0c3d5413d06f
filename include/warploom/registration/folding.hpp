#pragma once

#include <cstdint>
#include <string_view>

#include "warploom/imaging/image.hpp"
#include "warploom/registration/field.hpp"

/// Does a displacement field fold space? The map x + d(x) is trilinear in each cell, the box between eight
/// neighbouring voxel centres (four in two dimensions), and nowhere folds where its Jacobian determinant is
/// positive.
namespace warploom::registration {

/// What certify() found; determinants are ratios of volumes (areas in two dimensions): 1 where nothing is
/// stretched.
struct FoldCertificate {
  /// At the cells' corners, where it is attained. In two dimensions the least of all.
  double smallest_determinant = 0;
  /// Nowhere in any cell is the determinant less.
  double lower_bound = 0;
  std::int64_t cells = 0;
  std::int64_t subdivided = 0;  ///< cells whose coefficients alone did not decide, but those of their parts
  std::int64_t folded = 0;      ///< cells with a point at which it is 0 or less
  std::int64_t undecided = 0;   ///< cells with neither a proof nor such a point, to the depth of the search

  enum class Kind {
    bernstein,   ///< proved: all 27 Bernstein coefficients of every cell are positive
    subdivided,  ///< proved: those of every cell, or of parts of it
    corners,     ///< proved, in two dimensions: the four corners' determinants
    none,        ///< not proved: a cell folds or is undecided
  };
  Kind kind = Kind::none;
  bool proved() const { return kind != Kind::none; }
};
/// "Bernstein coefficients", as reports say it. @throws BadInput (no enumerator)
std::string_view name(FoldCertificate::Kind kind);

/// Proves that the field does not fold, or finds where it does.
///
/// In a cell the determinant is a polynomial of degree 2 in each coordinate. Its 27 Bernstein coefficients,
/// means of 1 to 8 triple products of the cell's edges, bound it from both sides, and the eight at the
/// corners are attained; that only the corners are positive does not suffice. Where a coefficient is not
/// positive the cell is halved along each axis, up to 6 times. Rounding is bounded: a proof holds for the
/// float values as they are and for an affine that a file rounds to float.
/// @throws BadInput as DisplacementField::check() @note All threads; 12 bytes and about 550 operations a
/// voxel
FoldCertificate certify(const DisplacementField& field);

/// The determinant at each voxel, by central differences (one-sided at the faces): what other programs' maps
/// of the Jacobian show. Not a proof. @throws BadInput as DisplacementField::check(), OutOfMemory
imaging::Image jacobian_determinant(const DisplacementField& field);

}  // namespace warploom::registration
