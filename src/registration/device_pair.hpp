#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "registration/affine_objective.hpp"
#include "warploom/registration/deform.hpp"
#include "warploom/registration/folding.hpp"

namespace warploom::registration {

/// An image that is to go to a GPU.
struct ImageSource {
  Space space;
  imaging::ImageView values;               ///< they have to live until the pair is made
  std::optional<Brightness> brightness{};  ///< to be applied there; none: it was
  std::vector<std::uint8_t> counts{};      ///< empty: all count
};
ImageSource source_of(const Level& level);
/// What finest_level() has, without its array. @throws as that
ImageSource source_of(const PlacedView& image, const imaging::Mask& mask, const char* what);

/// A displacement field [mm], and what was found of it where it was made.
struct FoundField {
  std::vector<float> mm{};
  std::optional<FoldCertificate> certificate{};  ///< none: certify() tells, since cells have to be halved
  double mean = 0, largest = 0;                  ///< displacement [mm]
};

/// Two images on a GPU, where they stay for all stages of a registration.
class DevicePair {
 public:
  virtual ~DevicePair() = default;
  /// images_on_a_device(), by local correlation; they may not outlive this.
  virtual std::unique_ptr<AffineImages> affine_images(int radius, double finest) = 0;
  /// deform_greedily()
  virtual FoundField deform(const Affine& affine, const DeformOptions& options, DeformReport& report) = 0;
};

/// On the current device, in one stream. @param then  what later stages will take of its memory, about
/// [bytes]: what cannot succeed is refused before it begins
/// @throws BadInput (an extent above 2^20), OutOfMemory, Interrupted
std::unique_ptr<DevicePair> make_device_pair(const ImageSource& fixed, const ImageSource& moving,
                                             std::uint64_t then);

/// Starts CUDA on the current device, which takes tenths of a second; what goes wrong goes wrong again later.
void wake_gpu();

}  // namespace warploom::registration
