#pragma once

#include <complex>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "warploom/imaging/image.hpp"
#include "warploom/io/nifti.hpp"
#include "warploom/io/png.hpp"

/// Images from files and masks back to them. Errors name settings in back quotes, as options have them.
namespace warploom::imaging {

/// The volumes of a series, or of a vector image: [X,Y,Z,C] or [X,Y,Z,1,C], trailing extents of 1 left out.
/// Takes the data out of `file`; `name` is for messages.
/// @throws BadInput (more extents, more than 100,000 volumes, data of another length than the extents say)
Image take_volumes(io::Nifti& file, const std::string& name);

/// The same of a file that may be complex: its values are moved to `complex`, and their magnitudes are
/// returned. @throws as take_volumes
Image take_measured_volumes(io::Nifti& file, const std::string& name,
                            std::vector<std::complex<float>>& complex);

/// An image of one value a voxel and, if it came from a NIfTI file, where it lies.
struct ScalarImage {
  Image image = {};
  std::optional<io::Nifti> geometry = {};  ///< without data
};

/// An image from the bytes of a PNG (in grey, as the eye weighs colours) or NIfTI file; of a series, `volume`
/// from 0. `name` is for messages.
/// @param volume     -1: not given
/// @param max_bytes  of memory, at most, or what is available if that is less: what the file's header says is
///                   compared with it before anything is allocated or unpacked
/// @throws BadInput (a series without `volume`, no such volume, more than four axes), as parse_nifti and
///         parse_png
ScalarImage parse_image(std::string_view bytes, const std::string& name, std::int64_t volume = -1,
                        std::uint64_t max_bytes = std::uint64_t{1} << 38);

/// The mask of a NIfTI file, not 0 and not NaN, for an image on the same grid; warns through log() if the two
/// lie apart in space. `name` is the image's. @throws BadInput (another grid), as read_nifti
Mask read_mask(const std::string& file, const Grid& grid, const io::Affine& affine, const std::string& name,
               std::uint64_t max_bytes = std::uint64_t{1} << 38);

/// Inside where the image is not 0. @throws BadInput (another grid, several channels, data of another
/// length); `name` is for messages
Mask nonzero_mask(const Image& image, const Grid& grid, const std::string& name);

/// A mask as a picture: 0 and 255. @throws BadInput (several slices, not a byte a voxel)
io::Picture mask_picture(const Mask& mask, const Grid& grid);
/// A mask as a file, 0 and 1, that lies where `like` does. @throws BadInput (not a byte a voxel)
io::Nifti mask_file(const Mask& mask, const ScalarImage& like);

}  // namespace warploom::imaging
