#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "cli/output_files.hpp"
#include "input.hpp"
#include "warploom/imaging/maps.hpp"

namespace warploom::tool {

/// The files that `warploom denoise` writes.
class DenoiseOutputs {
 public:
  /// Names and checks them all, before any work. @throws BadInput as OutputFiles::add
  explicit DenoiseOutputs(const DenoiseSettings& settings);

  /// The denoised image, and of tensors the maps; all in the input's output_frame already. Takes their
  /// contents.
  /// @throws BadInput (disk full and the like)
  void write_images(DenoiseInput& input, imaging::TensorMaps& maps);
  /// One of --report and --qc.
  void write_text(const std::string& path, std::string_view content) const;
  /// Gives all files their names.
  void commit() { files_.commit(); }

  /// "out_tensor.nii.gz", "out_FA.nii.gz" ...
  std::vector<std::string> image_paths() const;

 private:
  struct ImageFile {
    std::string map;  ///< as in --maps; empty: the image itself
    std::filesystem::path path;
  };
  const DenoiseSettings& settings_;
  std::vector<ImageFile> images_;
  OutputFiles files_;
};

}  // namespace warploom::tool
