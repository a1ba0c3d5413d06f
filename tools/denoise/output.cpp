#include "output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"
#include "warploom/core/threads.hpp"

namespace warploom::tool {
namespace {

using imaging::Image;

constexpr int kVectorIntent = 1007;

/// The member of `maps` with this name, or the signal without weighting.
Image& find_map(const std::string& name, DenoiseInput& input, imaging::TensorMaps& maps) {
  const std::vector<std::pair<std::string_view, Image*>> known{
      {"fa", &maps.fa}, {"md", &maps.md}, {"ad", &maps.ad}, {"rd", &maps.rd},
      {"mo", &maps.mo}, {"l1", &maps.l1}, {"l2", &maps.l2}, {"l3", &maps.l3},
      {"v1", &maps.v1}, {"v2", &maps.v2}, {"v3", &maps.v3}, {"rgb", &maps.rgb}};
  for (const auto& [key, map] : known)
    if (key == name) return *map;
  return input.s0.value();
}

bool is_diffusivity(const std::string& map) {
  return map == "md" || map == "ad" || map == "rd" || map == "l1" || map == "l2" || map == "l3";
}

void scale(std::vector<float>& data, float factor) {
  if (factor != 1)
    for (float& value : data) value *= factor;
}

}  // namespace

DenoiseOutputs::DenoiseOutputs(const DenoiseSettings& settings) : settings_(settings) {
  const char* ending = settings.gzip ? "nii.gz" : "nii";
  const auto add_image = [&](const std::string& map, const std::string& name) {
    const char* joint = settings.prefix.back() == '/' ? "" : "_";
    images_.push_back({map, fmt::format("{}{}{}.{}", settings.prefix, joint, name, ending)});
    files_.add(images_.back().path, settings.force);
  };
  add_image("", settings.kind() == ImageKind::channels ? "denoised" : "tensor");
  for (const std::string& map : settings.maps) {
    std::string name = map;
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::toupper(c); });
    add_image(map, name);
  }
  for (const std::string& path : {settings.report, settings.qc})
    if (!path.empty()) files_.add(path, settings.force);
}

void DenoiseOutputs::write_images(DenoiseInput& input, imaging::TensorMaps& maps) {
  const bool tensors = input.kind != ImageKind::channels;
  const float unit = settings_.square_micrometres || !tensors ? 1.0F : 1e-3F;
  const imaging::Grid& grid = input.image.grid;
  io::Nifti geometry;
  geometry.spacing = input.header.spacing;
  geometry.affine = input.header.affine;
  geometry.nifti2 = input.header.nifti2;

  const auto write = [&](const ImageFile& file) {
    io::Nifti out = geometry;
    if (!file.map.empty()) {
      Image& map = find_map(file.map, input, maps);
      out.shape = {grid.nx, grid.ny, grid.nz};
      if (map.channels > 1) out.shape.push_back(map.channels);
      out.intent_name = file.map;
      if (map.channels > 1) {
        out.intent = kVectorIntent;
        out.description = fmt::format("warploom denoise, frame {}", name(input.output_frame));
      } else {
        out.description = "warploom denoise";
      }
      out.data = std::move(map.data);
      if (is_diffusivity(file.map)) scale(out.data, unit);
    } else if (tensors) {
      to_order(input.image.data, input.output_order, unit);
      mark_order(out, input.output_order, {grid.nx, grid.ny, grid.nz});
      out.description =
          fmt::format("warploom denoise, {}, frame {}", settings_.square_micrometres ? "um2/ms" : "mm2/s",
                      name(input.output_frame));
      out.data = std::move(input.image.data);
    } else {
      out.shape = input.header.shape;
      out.intent = input.header.intent;
      out.intent_name = input.header.intent_name;
      out.description = "warploom denoise";
      out.data = std::move(input.image.data);
    }
    files_.write(file.path, [&](const auto& path) { io::write_nifti(path, out, {settings_.gzip_level}); });
  };

  // Compression takes all threads for one file; plain files are written at the same time.
  if (settings_.gzip)
    for (const ImageFile& file : images_) write(file);
  else
    parallel_for(std::ssize(images_), [&](std::int64_t k) { write(images_[static_cast<std::size_t>(k)]); });
}

void DenoiseOutputs::write_text(const std::string& path, std::string_view content) const {
  files_.write(path, [&](const auto& staged) { write_file_atomically(staged, content); });
}

std::vector<std::string> DenoiseOutputs::image_paths() const {
  std::vector<std::string> paths;
  for (const ImageFile& file : images_) paths.push_back(file.path.string());
  return paths;
}

}  // namespace warploom::tool
