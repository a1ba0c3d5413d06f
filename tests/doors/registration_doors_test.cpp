#include <filesystem>
#include <limits>

#include "doors/doors.hpp"
#include "doors/imaging_doors.hpp"
#include "warploom/core/process.hpp"
#include "warploom/registration/affine.hpp"
#include "warploom/registration/align.hpp"
#include "warploom/registration/deform.hpp"
#include "warploom/registration/field.hpp"
#include "warploom/registration/folding.hpp"
#include "warploom/registration/measure.hpp"
#include "warploom/registration/overlap.hpp"
#include "warploom/registration/points_file.hpp"
#include "warploom/registration/quality_page.hpp"
#include "warploom/registration/resample.hpp"
#include "warploom/registration/space.hpp"
#include "warploom/registration/transform.hpp"
#include "warploom/registration/transform_file.hpp"
#include "warploom/registration/workflow.hpp"

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

DOOR(Affines, "registration::map_point", "registration::check_affine",
     "registration::inverse(const Affine &)", "registration::compose(const Affine &, const Affine &)",
     "registration::flip_world", "registration::identity_affine", "registration::picture_affine") {
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

DOOR(Folding, "registration::certify", "registration::jacobian_determinant", "registration::name(Kind)",
     "registration::FoldCertificate::proved") {
  door_of_fields([](const DisplacementField& field) { return certify(field).proved(); });
  door_of_fields([](const DisplacementField& field) { return jacobian_determinant(field).channels; });
  refused([] { return name(no_enumerator<FoldCertificate::Kind>()); });
}

DOOR(Overlap, "registration::label_overlap", "registration::mean_dice", "registration::LabelOverlap::dice") {
  for (const Image& image : broken(1)) {
    refused([&] { return label_overlap(image, whole(1)).size(); });
    refused([&] { return label_overlap(whole(1), image).size(); });
  }
  refused([] { return label_overlap(whole(2), whole(2)).size(); });
  Image odd = whole(1);
  odd.data[0] = static_cast<float>(kNan), odd.data[1] = static_cast<float>(kInfinity);
  survives([&] { return mean_dice(label_overlap(odd, whole(1))); });
  survives([] { return mean_dice({{}, {}}); });
}

/// An image of the size of whole(1) with something to align in it.
PlacedImage structured() {
  PlacedImage out{whole(1)};
  for (std::size_t i = 0; i < out.image.data.size(); ++i) out.image.data[i] = static_cast<float>(i * i % 23);
  return out;
}

DOOR(Measures, "registration::measure_images", "registration::parse_measure", "registration::name(Measure)") {
  const PlacedImage good = structured();
  for (Image& image : broken(1)) {
    refused([&] { return measure_images(image, good.image).value; });
    refused([&] { return measure_images(good.image, image).value; });
  }
  for (const int radius : {0, -1, 9, std::numeric_limits<int>::max(), std::numeric_limits<int>::min()})
    refused([&] { return measure_images(good.image, good.image, Measure::lncc, radius).value; });
  refused([&] { return measure_images(good.image, good.image, no_enumerator<Measure>()).value; });
  refused([] { return name(no_enumerator<Measure>()); });
  for (const std::string& text : odd_texts()) refused([&] { return parse_measure(text); });
  PlacedImage numbers = good;
  numbers.image.data[3] = static_cast<float>(kNan), numbers.image.data[7] = 1e38F;
  survives([&] { return measure_images(numbers.image, good.image).value; });
}

DOOR(Estimates, "registration::estimate_affine", "registration::estimate_deformation",
     "registration::parse_motion", "registration::name(Motion)", "registration::register_images",
     "registration::parse_method", "registration::name(Method)", "registration::memory_for",
     "registration::start_device") {
  const PlacedImage good = structured();
  const Affine same = identity_affine();
  const auto door = [&](const PlacedImage& fixed, const PlacedImage& moving) {
    refused([&] { return estimate_affine(fixed, moving).affine; });
    refused([&] { return estimate_deformation(fixed, moving, same).field.mm; });
    refused([&] { return register_images(fixed, moving).field.mm; });
  };
  refused([&] { return register_images(good, good, {.method = no_enumerator<Method>()}).field.mm; });
  refused([&] { return register_images(good, good, {.keep_start = true}).field.mm; });
  refused([] { return start_device({.method = no_enumerator<Method>()}).valid(); });
  survives([] { return start_device({.method = Method::curvature}).valid(); });
  refused([] { return name(no_enumerator<Method>()); });
  for (const std::string& text : odd_texts()) refused([&] { return parse_method(text); });
  refused([&] { return memory_for({1, 0, 1}, good.image.grid); });
  refused([&] { return memory_for(good.image.grid, {1, 1, -5}); });
  refused([&] { return memory_for(good.image.grid, good.image.grid, {.method = no_enumerator<Method>()}); });
  constexpr std::int64_t kMany = std::numeric_limits<std::int64_t>::max();
  survives([&] { return memory_for({kMany, kMany, kMany}, {kMany, kMany, kMany}); });
  for (Image& image : broken(1)) door({image}, good), door(good, {image});
  for (const Affine& affine : broken_affines()) {
    PlacedImage placed = good;
    placed.to_world = affine;
    door(placed, good), door(good, placed);
    refused([&] { return estimate_affine(good, good, {.start = affine}).affine; });
    refused([&] { return estimate_deformation(good, good, affine).field.mm; });
  }
  PlacedImage numbers = good;
  numbers.image.data[3] = static_cast<float>(kNan), numbers.image.data[7] = 1e38F;
  survives([&] { return estimate_affine(numbers, good, {.start = same}).affine; });
  survives([&] { return estimate_deformation(numbers, good, same, {.iterations = {2}}).field.mm; });
  refused([&] { return estimate_affine(good, good, {.motion = no_enumerator<Motion>()}).affine; });
  refused([&] { return estimate_affine(good, good, {.measure = no_enumerator<Measure>()}).affine; });
  refused([&] { return estimate_affine(good, good, {.radius = -1}).affine; });
  refused([&] { return estimate_affine(good, good, {.fixed_mask = imaging::Mask(5)}).affine; });
  for (const double value : {kNan, kInfinity, -1.0}) {
    for (double DeformOptions::*option : {&DeformOptions::step, &DeformOptions::smooth_update}) {
      DeformOptions options;
      options.*option = value;
      refused([&] { return estimate_deformation(good, good, same, options).field.mm; });
    }
    refused([&] { return estimate_deformation(good, good, same, {.smooth_field = value}).field.mm; });
  }
  for (const std::vector<int>& iterations : {std::vector<int>{-1}, std::vector<int>(11, 1)})
    refused([&] { return estimate_deformation(good, good, same, {.iterations = iterations}).field.mm; });
  refused([] { return name(no_enumerator<Motion>()); });
  for (const std::string& text : odd_texts()) refused([&] { return parse_motion(text); });
}

DOOR(Fields, "registration::DisplacementField::check") {
  for (const Space& space : broken_spaces())
    refused([&] { return DisplacementField{space, std::vector<float>(648)}.check(), 0; });
  for (const std::size_t size : {0, 647, 649, 216})
    refused([&] { return DisplacementField{whole_space(), std::vector<float>(size)}.check(), 0; });
}

DOOR(PlacedImages, "registration::PlacedImage::check", "registration::PlacedImage::space",
     "registration::PlacedView::PlacedView", "registration::PlacedView::check",
     "registration::PlacedView::space", "registration::write_placed", "registration::read_placed",
     "registration::parse_placed") {
  for (Image& image : broken(1)) {
    const PlacedImage placed{image};
    EXPECT_EQ(placed.space().grid, image.grid);
    EXPECT_EQ(PlacedView(placed).space(), placed.space());
    refused([&] { return placed.check(), 0; });
    refused([&] { return PlacedView(placed).check(), 0; });
    refused([&] { return write_placed("unwritten.nii", placed), 0; });
  }
  for (const Affine& affine : broken_affines()) {
    const PlacedImage placed{whole(1), affine};
    refused([&] { return placed.check(), 0; });
    refused([&] { return PlacedView(placed).check(), 0; });
    refused([&] { return write_placed("unwritten.nii", placed), 0; });
  }
  PlacedImage numbers{whole(1, 1)};
  numbers.image.data[0] = static_cast<float>(kNan), numbers.image.data[1] = 1e38F;
  const TemporaryDirectory folder;
  survives([&] { return write_placed(folder.path() / "placed.png", numbers), 0; });
  numbers.type = no_enumerator<io::NiftiType>();
  refused([&] { return write_placed("unwritten.nii", numbers), 0; });
  EXPECT_FALSE(std::filesystem::exists("unwritten.nii"));
  for (const std::string& text : odd_texts()) {
    refused([&] { return parse_placed(text, "text"); });
    refused([&] { return read_placed(text); });
  }
}

DOOR(Transforms, "registration::map_points", "registration::to_field", "registration::invert",
     "registration::inverse(TransformChain)") {
  door_of_fields([](const DisplacementField& field) {
    std::vector<Point> points{{1, 2, 3}, {-9, 0, 1e300}};
    map_points({{field}}, points);
    map_points(inverse(TransformChain{{field}}), points);
    return to_field({{field}}, whole_space()).mm.size() + invert(field, whole_space()).field.mm.size();
  });
  for (const Affine& affine : broken_affines())
    refused([&] { return to_field({{affine}}, whole_space()).mm.size(); });
  for (const Space& space : broken_spaces()) {
    refused([&] { return to_field({}, space).mm.size(); });
    refused([&] { return invert(zero_field(whole_space()), space).outside; });
  }
  for (const double value : {kNan, kInfinity}) {
    std::vector<Point> points{{0, value, 0}};
    refused([&] { return map_points({}, points), 0; });
  }
}

DOOR(Resampling, "registration::resample", "registration::resample_tensors",
     "registration::parse_interpolation", "registration::parse_turning", "registration::name(Interpolation)",
     "registration::name(Turning)") {
  using enum Interpolation;
  for (const Interpolation how : {linear, cubic, nearest, labels}) {
    for (Image& image : broken(1))
      refused([&] { return resample(PlacedImage{image}, whole_space(), {}, how).code; });
    survives_numbers(1, [&](Image& image, const Mask&) {
      return resample(PlacedImage{image}, whole_space(), {}, how).code;
    });
    for (const Space& space : broken_spaces())
      refused([&] { return resample(PlacedImage{whole(1)}, space, {}, how).code; });
    for (const Affine& affine : broken_affines()) {
      refused([&] { return resample(PlacedImage{whole(1), affine}, whole_space(), {}, how).code; });
      refused([&] { return resample(PlacedImage{whole(1)}, whole_space(), {{affine}}, how).code; });
    }
  }
  refused(
      [] { return resample(PlacedImage{whole(1)}, whole_space(), {}, no_enumerator<Interpolation>()).code; });
  for (Image& image : broken(6)) refused([&] { return resample_tensors({image}, whole_space(), {}).code; });
  for (const Turning how : {Turning::finite_strain, Turning::preserve_direction, Turning::none})
    survives_numbers(6, [&](Image& image, const Mask&) {
      DisplacementField folded = zero_field(whole_space());
      for (std::size_t v = 0; v < folded.mm.size(); ++v) folded.mm[v] = static_cast<float>(v * v % 7);
      return resample_tensors({image}, whole_space(), {{folded}}, how).code;
    });
  refused([] { return resample_tensors({whole(3)}, whole_space(), {}).code; });
  refused([] { return resample_tensors({whole(6)}, whole_space(), {}, no_enumerator<Turning>()).code; });
  refused([] { return name(no_enumerator<Interpolation>()); });
  refused([] { return name(no_enumerator<Turning>()); });
  for (const std::string& text : odd_texts()) {
    refused([&] { return parse_interpolation(text); });
    refused([&] { return parse_turning(text); });
  }
}

DOOR(TransformFiles, "registration::parse_transform", "registration::read_transform",
     "registration::parse_fsl_transform", "registration::write_affine", "registration::write_fsl_affine",
     "registration::write_field", "registration::write_fsl_field") {
  for (const std::string& text : odd_texts()) {
    refused([&] { return parse_transform(text, "text").size(); });
    refused([&] { return read_transform(text).size(); });
    refused([&] { return parse_fsl_transform(text, "text", whole_space(), whole_space()).size(); });
  }
  constexpr const char* kPath = "unwritten.nii";
  for (const Affine& affine : broken_affines()) {
    refused([&] { return write_affine(kPath, affine), 0; });
    refused([&] { return write_fsl_affine(kPath, affine, whole_space(), whole_space()), 0; });
  }
  refused([&] { return write_affine(kPath, identity_affine(), no_enumerator<AffineFormat>()), 0; });
  constexpr const char* kMatrix = "1 0 0 0\n0 1 0 0\n0 0 1 0\n0 0 0 1\n";
  for (const Space& space : broken_spaces()) {
    refused([&] { return write_fsl_affine(kPath, identity_affine(), space, whole_space()), 0; });
    refused([&] { return write_fsl_affine(kPath, identity_affine(), whole_space(), space), 0; });
    refused([&] { return parse_fsl_transform(kMatrix, "text", space, whole_space()).size(); });
    refused([&] { return parse_fsl_transform(kMatrix, "text", whole_space(), space).size(); });
    const DisplacementField field{space, std::vector<float>(648)};
    refused([&] { return write_field(kPath, field), 0; });
    refused([&] { return write_fsl_field(kPath, field, whole_space()), 0; });
    refused([&] { return write_fsl_field(kPath, zero_field(whole_space()), space), 0; });
  }
  EXPECT_FALSE(std::filesystem::exists(kPath));
}

DOOR(PointTables, "registration::parse_points", "registration::points_text",
     "registration::parse_point_axes") {
  for (const std::string& text : odd_texts()) {
    survives([&] { return parse_points(text, "text").points.size(); });  // a matrix is one, too
    refused([&] { return parse_point_axes(text); });
  }
  refused([] { return parse_points("1,2,3\n", "text", no_enumerator<PointAxes>()).points.size(); });
  PointTable table = parse_points("1,2,3\n", "text");
  refused([&] { return points_text(table, no_enumerator<PointAxes>()); });
  refused([&] { return points_text({table.points, {}}); });
  for (const std::int64_t size : {kMost, std::int64_t{-1}, std::int64_t{0}, std::int64_t{2}}) {
    PointTable broken = table;
    broken.table.rows = size;
    refused([&] { return points_text(broken); });
    broken.table.rows = 1, broken.table.columns = size;
    refused([&] { return points_text(broken); });
  }
}

DOOR(RegistrationPage, "registration::quality_page") {
  const PlacedImage image{whole(1)};
  const auto page = [](const PlacedImage& fixed, const PlacedImage& warped, const DisplacementField* field) {
    return quality_page(
               {.fixed_name = "f", .moving_name = "m", .fixed = fixed, .warped = warped, .field = field})
        .size();
  };
  for (Image& broken_image : broken(1)) {
    refused([&] { return page({broken_image}, image, nullptr); });
    refused([&] { return page(image, {broken_image}, nullptr); });
  }
  survives_numbers(
      1, [&](Image& odd, const Mask&) { return page({odd}, image, nullptr) + page(image, {odd}, nullptr); });
  door_of_fields([&](const DisplacementField& field) { return page(image, image, &field); });
}

}  // namespace
}  // namespace warploom::doors
