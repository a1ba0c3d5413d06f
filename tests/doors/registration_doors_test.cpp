#include <filesystem>

#include "doors/doors.hpp"
#include "doors/imaging_doors.hpp"
#include "warploom/registration/affine.hpp"
#include "warploom/registration/field.hpp"
#include "warploom/registration/folding.hpp"
#include "warploom/registration/space.hpp"

namespace warploom::doors {
namespace {

using namespace registration;

/// Affines that no function may believe.
std::vector<Affine> broken_affines() {
  std::vector<Affine> all{Affine{}};
  for (const double value : {kNan, kInfinity, 0.0, 1e308}) {
    Affine affine = identity_affine();
    affine[0][0] = value;
    if (value == 1e308) affine = {{{value, value, 0, 0}, {value, -value, 0, 0}, {0, 0, value, 0}}};
    all.push_back(affine);
  }
  return all;
}

Space whole_space() { return {{6, 6, 6, {1, 1, 1}}, identity_affine()}; }

std::vector<Space> broken_spaces() {
  std::vector<Space> all;
  for (const std::int64_t extent : {kMost, kLeast, std::int64_t{0}, std::int64_t{-6}}) {
    all.push_back(whole_space());
    all.back().grid.nx = extent;
    if (extent == kMost) all.back().grid.ny = extent;
  }
  for (const Affine& affine : broken_affines()) {
    all.push_back(whole_space());
    all.back().to_world = affine;
  }
  return all;
}

DOOR(Affines, "registration::map_point", "registration::check_affine", "registration::inverse",
     "registration::compose(const Affine &, const Affine &)", "registration::flip_world",
     "registration::identity_affine", "registration::picture_affine") {
  for (const Affine& affine : broken_affines()) {
    refused([&] { return check_affine(affine), 0; });
    refused([&] { return inverse(affine); });
    survives([&] { return map_point(affine, {kNan, kInfinity, 0}); });
    survives([&] { return compose(affine, flip_world(affine)); });
  }
  EXPECT_EQ(compose(identity_affine(), picture_affine()), picture_affine());
}

DOOR(Spaces, "registration::Space::check", "registration::zero_field", "registration::field_of") {
  for (const Space& space : broken_spaces()) {
    refused([&] { return space.check(), 0; });
    refused([&] { return zero_field(space).mm.size(); });
    refused([&] { return field_of(identity_affine(), space).mm.size(); });
  }
  for (const Affine& affine : broken_affines())
    refused([&] { return field_of(affine, whole_space()).mm.size(); });
  Space huge = whole_space();
  huge.grid = {std::int64_t{1} << 20, std::int64_t{1} << 20, 1, {1, 1, 1}};
  refused([&] { return zero_field(huge).mm.size(); });
}

/// Calls a function with fields that it has to refuse, and with numbers that it has to survive.
template <class Call>
void door_of_fields(Call call) {
  for (const Space& space : broken_spaces())
    refused([&] { return call(DisplacementField{space, std::vector<float>(648)}); });
  for (const std::size_t size : {0, 647, 649, 216})
    refused([&] { return call(DisplacementField{whole_space(), std::vector<float>(size)}); });
  for (const double value : {kNan, kInfinity, 1e38, -1e38}) {
    DisplacementField field = zero_field(whole_space());
    field.mm[100] = static_cast<float>(value);
    survives([&] { return call(field); });
    std::ranges::fill(field.mm, static_cast<float>(value));
    survives([&] { return call(field); });
  }
}

DOOR(Folding, "registration::certify", "registration::jacobian_determinant", "registration::name",
     "registration::FoldCertificate::proved") {
  door_of_fields([](const DisplacementField& field) { return certify(field).proved(); });
  door_of_fields([](const DisplacementField& field) { return jacobian_determinant(field).channels; });
  refused([] { return name(no_enumerator<FoldCertificate::Kind>()); });
}

DOOR(Fields, "registration::DisplacementField::check") {
  for (const Space& space : broken_spaces())
    refused([&] { return DisplacementField{space, std::vector<float>(648)}.check(), 0; });
  for (const std::size_t size : {0, 647, 649, 216})
    refused([&] { return DisplacementField{whole_space(), std::vector<float>(size)}.check(), 0; });
}

DOOR(PlacedImages, "registration::PlacedImage::check", "registration::PlacedImage::space",
     "registration::write_placed", "registration::read_placed", "registration::parse_placed") {
  for (Image& image : broken(1)) {
    const PlacedImage placed{image};
    EXPECT_EQ(placed.space().grid, image.grid);
    refused([&] { return placed.check(), 0; });
    refused([&] { return write_placed("unwritten.nii", placed), 0; });
  }
  for (const Affine& affine : broken_affines()) {
    const PlacedImage placed{whole(1), affine};
    refused([&] { return placed.check(), 0; });
    refused([&] { return write_placed("unwritten.nii", placed), 0; });
  }
  PlacedImage numbers{whole(1, 1)};
  numbers.image.data[0] = static_cast<float>(kNan), numbers.image.data[1] = 1e38F;
  const auto picture = std::filesystem::temp_directory_path() / "warploom-doors-placed.png";
  survives([&] { return write_placed(picture, numbers), 0; });
  std::filesystem::remove(picture);
  numbers.type = no_enumerator<io::NiftiType>();
  refused([&] { return write_placed("unwritten.nii", numbers), 0; });
  EXPECT_FALSE(std::filesystem::exists("unwritten.nii"));
  for (const std::string& text : odd_texts()) {
    refused([&] { return parse_placed(text, "text"); });
    refused([&] { return read_placed(text); });
  }
}

}  // namespace
}  // namespace warploom::doors
