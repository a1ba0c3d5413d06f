#pragma once

/// The transforms that ITK writes as text and as MATLAB's file of version 4.

#include <string>
#include <string_view>
#include <vector>

#include "warploom/registration/transform.hpp"

namespace warploom::registration {

/// One transform as ITK stores it.
struct ItkTransform {
  std::string type;  ///< "AffineTransform_double_3_3"
  std::vector<double> parameters, fixed;
};

bool is_itk_text(std::string_view bytes);
bool is_itk_matlab(std::string_view bytes);
/// @throws BadInput naming the file and what is wrong
std::vector<ItkTransform> parse_itk_text(std::string_view bytes, const std::string& name);
std::vector<ItkTransform> parse_itk_matlab(std::string_view bytes, const std::string& name);

/// In the world's axes (RAS). @throws BadInput (a kind that is not read, numbers missing or not finite)
Affine affine_of(const ItkTransform& transform, const std::string& name);
/// In the order in which points pass: a composite's last transform first.
TransformChain chain_of(const std::vector<ItkTransform>& transforms, const std::string& name);

ItkTransform itk_transform(const Affine& affine);
std::string itk_text(const ItkTransform& transform);
std::string itk_matlab(const ItkTransform& transform);

}  // namespace warploom::registration
