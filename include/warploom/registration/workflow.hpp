#pragma once

#include <cstdint>
#include <future>
#include <optional>
#include <string_view>

#include "warploom/registration/align.hpp"
#include "warploom/registration/deform.hpp"
#include "warploom/registration/folding.hpp"

/// What `warploom register` does: an affine map, then a deformation, then the moving image in the fixed one's
/// space.
namespace warploom::registration {

enum class Method {
  rigid,  ///< the affine stage alone, as Motion has it
  similarity,
  affine,
  greedy,     ///< affine, then estimate_deformation()
  curvature,  ///< affine, then estimate_deformation() by DeformMethod::curvature
  demons,     ///< affine, then estimate_deformation() by DeformMethod::demons
};
/// @throws BadInput naming them
Method parse_method(std::string_view text);
std::string_view name(Method method);

struct RegisterOptions {
  Method method = Method::greedy;
  /// `motion` of the affine stage goes by the method; its measure, radius, masks and `run` are those of both
  /// stages. A GPU has affine maps by Measure::lncc and the deformations that DeformOptions::run names.
  AlignOptions align = {};
  /// Its method, measure, radius, masks and `run` are not looked at.
  DeformOptions deform = {};
  /// Take the start as it is.
  bool keep_start = false;
};

struct Registration {
  Affine affine = identity_affine();                       ///< of the affine stage
  std::optional<AlignReport> align{};                      ///< none where the start was kept
  DisplacementField field = {};                            ///< all of the map, the affine stage included
  std::optional<DeformReport> deform{};                    ///< of the last three methods
  FoldCertificate certificate = {};                        ///< of `field`
  double mean_displacement = 0, largest_displacement = 0;  ///< of `field` [mm]
  double certificate_seconds = 0;
};

/// What register_images() and what is done with its result take at most, both images included [bytes]: of
/// each voxel of the fixed image 70 with an affine method, 90 with demons and semi-implicit steps, 160 with
/// Gauss and Newton's, and with greedy 85, or 105 by lncc and 110 by ngf; and 10 of each of the moving one.
/// @throws BadInput (an extent below 1, options that are none of their enumerators)
std::uint64_t memory_for(const imaging::Grid& fixed, const imaging::Grid& moving,
                         const RegisterOptions& options = {});

/// Starts the GPU that register_images() would take, if it would take one: some tenths of a second, in which
/// images can be read. Get the result, or let it go, before `options.align.run` ends. What goes wrong goes
/// wrong again there.
/// @throws BadInput (options that are none of their enumerators)
std::future<void> start_device(const RegisterOptions& options = {});

/// @throws BadInput (as estimate_affine() and estimate_deformation(); keep_start without a start),
/// NoDevice, OutOfMemory, Interrupted
Registration register_images(const PlacedView& fixed, const PlacedView& moving,
                             const RegisterOptions& options = {});

}  // namespace warploom::registration
