#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "tensor_order.hpp"
#include "warploom/imaging/denoise.hpp"
#include "warploom/imaging/fit.hpp"

namespace CLI {
class App;
}

namespace warploom::tool {

/// What an input image is.
enum class ImageKind { tensors, series, channels };

/// What `warploom denoise` was asked to do.
struct DenoiseSettings {
  std::string input, prefix;

  std::string bval, bvec, grad;  ///< of a series
  bool vector = false;           ///< channels that are no tensor
  std::optional<TensorOrder> order, output_order;
  std::optional<io::Frame> frame, output_frame;
  bool square_micrometres = false;  ///< diffusivities of files are in um^2/ms, not in mm^2/s

  double b0_threshold = 50;  ///< [s/mm^2]
  std::vector<double> shells;
  std::optional<double> largest_b;
  std::optional<imaging::FitMethod> fit;

  std::string mask;  ///< a file, auto, nonzero or none; empty: by the kind of image
  imaging::DenoiseOptions solve;
  std::optional<double> epsilon;  ///< else by the solver and the kind of image

  std::vector<std::string> maps;  ///< lower case, in the order of all_maps()
  bool maps_listed = false;       ///< one by one
  bool gzip = true;
  int gzip_level = 1;
  std::string report, qc;
  bool json = false, force = false;

  ImageKind kind() const {
    return vector                         ? ImageKind::channels
           : bval.empty() && grad.empty() ? ImageKind::tensors
                                          : ImageKind::series;
  }
};

/// fa md ad rd mo l1 l2 l3 v1 v2 v3 s0 rgb
const std::vector<std::string>& all_maps();

/// Declares every option; `settings` has to outlive the parser.
void add_denoise_options(Command& command, DenoiseSettings& settings);

/// What shows only when all options are known. @throws BadInput (options that contradict each other)
void check_together(DenoiseSettings& settings);

}  // namespace warploom::tool
