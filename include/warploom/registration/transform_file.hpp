#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "warploom/registration/transform.hpp"

/// Transforms in the files of other programs. All are pull-backs: they lead from the fixed image to the
/// moving one.
///
/// Displacement fields of ITK, ANTs and greedy: NIfTI [X,Y,Z,1,3] (in two dimensions [X,Y,1,1,2]), intent
/// 1007, displacements in mm along the axes of LPS. Affines of ITK and ANTs: `.txt`, `.tfm` ("#Insight
/// Transform File") and
/// `.mat` (MATLAB 4), of LPS. Affines of greedy and c3d: four lines of four numbers, of RAS. FSL's: in FSL's
/// scaled millimetres, which need both images.
namespace warploom::registration {

/// The transforms of a file, told apart by content: ITK's AffineTransform, MatrixOffsetTransformBase,
/// Euler3DTransform, VersorRigid3DTransform, VersorTransform, Similarity3DTransform, TranslationTransform,
/// IdentityTransform, Rigid2DTransform, Euler2DTransform, Similarity2DTransform and a CompositeTransform of
/// these (its last one takes the points first, so it is the first of the chain); a matrix of greedy; a
/// displacement field. `name` is for messages.
/// @throws BadInput (another kind of transform, HDF5, a truncated or empty file, numbers that are not finite,
/// a matrix
///         that cannot be inverted or whose last row is not 0 0 0 1, another intent or shape), OutOfMemory
TransformChain parse_transform(std::string_view bytes, const std::string& name,
                               std::uint64_t max_bytes = std::uint64_t{1} << 38);
/// @throws as read_file() and parse_transform()
TransformChain read_transform(const std::filesystem::path& path,
                              std::uint64_t max_bytes = std::uint64_t{1} << 38);

/// FLIRT's matrix, which leads from the moving ("in") to the reference image, inverted; or a field of FNIRT
/// or applywarp in relative coordinates, [X,Y,Z,3]. @throws as parse_transform()
TransformChain parse_fsl_transform(std::string_view bytes, const std::string& name, const Space& fixed,
                                   const Space& moving, std::uint64_t max_bytes = std::uint64_t{1} << 38);

enum class AffineFormat {
  itk,     ///< AffineTransform_double_3_3: MATLAB 4 if the name ends in .mat, as ANTs has it, else text
  matrix,  ///< greedy's and c3d's
};
/// @throws BadInput (check_affine(), no enumerator), as write_file_atomically()
void write_affine(const std::filesystem::path& path, const Affine& affine,
                  AffineFormat format = AffineFormat::itk);
/// FLIRT's matrix. @throws BadInput (check_affine(), Space::check()), as write_file_atomically()
void write_fsl_affine(const std::filesystem::path& path, const Affine& affine, const Space& fixed,
                      const Space& moving);

/// As .nii or .nii.gz, as a whole or not at all. With nz = 1 and no displacement along the third axis of the
/// world it has two components. @throws BadInput (DisplacementField::check()), as write_nifti()
void write_field(const std::filesystem::path& path, const DisplacementField& field);
/// FNIRT's relative coordinates, intent 2006, for applywarp --rel.
void write_fsl_field(const std::filesystem::path& path, const DisplacementField& field, const Space& moving);

}  // namespace warploom::registration
