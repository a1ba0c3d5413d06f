#pragma once

#include <string>
#include <vector>

#include "warploom/json/json.hpp"
#include "warploom/registration/points_file.hpp"
#include "warploom/registration/transform.hpp"

namespace warploom::tool {

/// How far points of the fixed image are from the same places in the moving one [mm].
struct Landmarks {
  std::vector<double> before;  ///< of each pair, where the headers put the images
  std::vector<double> affine;  ///< after the affine stage
  std::vector<double> after;   ///< after the whole map
};

struct LandmarkTables {
  std::vector<registration::Point> fixed, moving;
};
/// @throws BadInput (as parse_points(); tables of different length)
LandmarkTables read_landmarks(const std::string& fixed, const std::string& moving,
                              registration::PointAxes axes, std::uint64_t max_memory);

Landmarks measure_landmarks(const LandmarkTables& tables, const registration::Affine& affine,
                            const registration::TransformChain& map);

Json as_json(const Landmarks& landmarks);
/// A line for all of them and one for each.
std::string as_text(const Landmarks& landmarks);

}  // namespace warploom::tool
