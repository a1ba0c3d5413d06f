#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace warploom::tool {

/// A file of a BIDS data set, as its name says: "sub-01_ses-2_dir-AP_dwi.nii.gz".
struct BidsFile {
  std::filesystem::path path;
  std::map<std::string, std::string> entities;  ///< "sub" -> "01"
  std::string suffix;                           ///< "dwi"
  std::string ending;                           ///< ".nii.gz"
};

/// None if the name is none of BIDS.
std::optional<BidsFile> parse_bids_name(const std::filesystem::path& path);

/// Which participants and sessions; empty: all.
struct BidsChoice {
  std::vector<std::string> participants, sessions;  ///< labels with or without "sub-", "ses-"
};

/// Diffusion series, sub-*/[ses-*/]dwi/*_dwi.nii[.gz], by their paths.
/// @throws BadInput (no data set; there is none; a participant or session that is not there)
std::vector<BidsFile> diffusion_series(const std::filesystem::path& dataset, const BidsChoice& choice);

/// The file of that ending which describes an image by the inheritance principle: in its folder or one above,
/// with no entity that the image does not have; the nearest folder counts, there the one with most entities.
/// Empty: none.
/// @throws BadInput (two say the same)
std::filesystem::path inherited(const std::filesystem::path& dataset, const BidsFile& image,
                                const std::string& ending);

}  // namespace warploom::tool
