#include "imaging/quality/maps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "imaging/voxels.hpp"
#include "warploom/imaging/maps.hpp"

namespace warploom::imaging {
namespace {

using Rgb = std::array<double, 3>;

Rgb grey(double value) { return {value, value, value}; }

/// The values of `value` over the sample, in order.
template <typename Function>
std::vector<float> sorted(const std::vector<std::size_t>& voxels, Function value) {
  std::vector<float> out;
  out.reserve(voxels.size());
  for (const std::size_t v : voxels) out.push_back(static_cast<float>(value(v)));
  std::ranges::sort(out);
  return out;
}

double quantile(const std::vector<float>& values, double share) {
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

/// Sets the quantity whose change is shown, and how large a change has a full colour.
void set_quantity(MapRow& row, const std::vector<std::size_t>& voxels, Value before, Value after,
                  const std::string& quantity, const std::string& unit) {
  row.quantity = quantity;
  row.unit = unit;
  row.value_before = std::move(before);
  row.value_after = std::move(after);
  double squares = 0;
  for (const std::size_t v : voxels) squares += change(row, v) * change(row, v);
  row.full_change = std::max(1e-30, 3 * std::sqrt(squares / static_cast<double>(voxels.size())));
}

double mean_diffusivity(const std::array<double, 6>& d) { return (d[0] + d[3] + d[5]) / 3; }

std::vector<MapRow> tensor_rows(const QualityPage& page) {
  const std::vector<std::size_t> voxels = sample_voxels(page);
  const Image &noisy = page.noisy, &clean = page.clean;
  const Anatomy body = anatomy(page.affine);

  MapRow colour;
  colour.title = "Main direction";
  colour.scale = "red left&#8211;right, green back&#8211;front, blue feet&#8211;head, brighter with FA";
  const auto direction = [&page, body](const Image& image) -> Colour {
    return [&page, &image, body](std::size_t v) -> Rgb {
      if (!inside(page.mask, v)) return grey(0);
      const auto d = tensor_at(image, v);
      Rgb rgb = direction_colour(to_image_axes(eigen(d).vectors[0], page), body);
      for (double& part : rgb) part *= fractional_anisotropy(d);
      return rgb;
    };
  };
  colour.before = direction(noisy);
  colour.after = direction(clean);
  const auto element = [](const Image& image) -> Value {
    return [values = image.channel(1)](std::size_t v) { return static_cast<double>(values[v]); };
  };
  set_quantity(colour, voxels, element(noisy), element(clean), "element xy", " &#181;m&#178;/ms");

  MapRow fa;
  fa.title = "FA";
  fa.scale = "black 0, white 1";
  const auto anisotropy = [&page](const Image& image, std::size_t v) {
    return inside(page.mask, v) ? fractional_anisotropy(tensor_at(image, v)) : 0;
  };
  fa.before = [&, anisotropy](std::size_t v) { return grey(anisotropy(noisy, v)); };
  fa.after = [&, anisotropy](std::size_t v) { return grey(anisotropy(clean, v)); };
  set_quantity(
      fa, voxels, [&, anisotropy](std::size_t v) { return anisotropy(noisy, v); },
      [&, anisotropy](std::size_t v) { return anisotropy(clean, v); }, "FA", "");

  MapRow md;
  md.title = "MD";
  const auto mean = [&page](const Image& image, std::size_t v) {
    return inside(page.mask, v) ? mean_diffusivity(tensor_at(image, v)) : 0;
  };
  const double white =
      std::max(1e-30, quantile(sorted(voxels, [&](auto v) { return mean(clean, v); }), 0.98));
  md.scale = fmt::format("black 0, white {:.2g} &#181;m&#178;/ms", white);
  md.before = [&, mean, white](std::size_t v) { return grey(mean(noisy, v) / white); };
  md.after = [&, mean, white](std::size_t v) { return grey(mean(clean, v) / white); };
  set_quantity(
      md, voxels, [&, mean](std::size_t v) { return mean(noisy, v); },
      [&, mean](std::size_t v) { return mean(clean, v); }, "MD", " &#181;m&#178;/ms");
  return {colour, fa, md};
}

MapRow channel_row(const QualityPage& page, const std::vector<std::size_t>& voxels, int c) {
  const std::span<const float> noisy = page.noisy.channel(c), clean = page.clean.channel(c);
  const std::vector<float> values = sorted(voxels, [&](auto v) { return noisy[v]; });
  const double low = quantile(values, 0.01), high = quantile(values, 0.99),
               range = std::max(high - low, 1e-30);
  MapRow row;
  row.title = fmt::format("Channel {}", c);
  row.scale = fmt::format("black {:.3g}, white {:.3g}", low, high);
  row.before = [noisy, low, range](std::size_t v) { return grey((noisy[v] - low) / range); };
  row.after = [clean, low, range](std::size_t v) { return grey((clean[v] - low) / range); };
  const auto value = [](std::span<const float> channel) -> Value {
    return [channel](std::size_t v) { return static_cast<double>(channel[v]); };
  };
  set_quantity(row, voxels, value(noisy), value(clean), fmt::format("channel {}", c), "");
  return row;
}

}  // namespace

double change(const MapRow& row, std::size_t voxel) {
  return row.value_after(voxel) - row.value_before(voxel);
}

std::array<double, 3> change_colour(double share) {
  constexpr std::array<double, 3> kLower{0x21, 0x66, 0xac}, kSame{0xf7, 0xf7, 0xf7},
      kHigher{0xb2, 0x18, 0x2b};
  const std::array<double, 3>& end = share < 0 ? kLower : kHigher;
  const double part = std::min(1.0, std::abs(share));
  std::array<double, 3> colour{};
  for (std::size_t c = 0; c < 3; ++c) colour[c] = ((1 - part) * kSame[c] + part * end[c]) / 255;
  return colour;
}

ChangeNumbers change_numbers(const MapRow& row, const std::vector<std::size_t>& voxels) {
  ChangeNumbers out;
  const double each = 1 / std::max(1.0, static_cast<double>(voxels.size()));
  for (const std::size_t v : voxels) {
    const double difference = change(row, v);
    out.before += each * row.value_before(v);
    out.after += each * row.value_after(v);
    out.change += each * difference;
    out.lower += difference < 0 ? each : 0;
    out.higher += difference > 0 ? each : 0;
  }
  return out;
}

double fractional_anisotropy(const std::array<double, 6>& d) {
  const double mean = mean_diffusivity(d), off = 2 * (d[1] * d[1] + d[2] * d[2] + d[4] * d[4]);
  const double x = d[0] - mean, y = d[3] - mean, z = d[5] - mean;
  const double norm = d[0] * d[0] + d[3] * d[3] + d[5] * d[5] + off;
  return norm > 0 ? std::min(1.0, std::sqrt(1.5 * (x * x + y * y + z * z + off) / norm)) : 0;
}

std::array<double, 3> direction_colour(const std::array<double, 3>& v, const Anatomy& body) {
  std::array<double, 3> colour{};
  for (std::size_t d = 0; d < 3; ++d) colour[d] = std::abs(v[static_cast<std::size_t>(body.axis[d])]);
  return colour;
}

std::array<double, 3> to_image_axes(const std::array<double, 3>& v, const QualityPage& page) {
  const auto turn = io::frame_change(page.frame, io::Frame::image, page.affine);
  std::array<double, 3> out{};
  for (std::size_t r = 0; r < 3; ++r)
    for (std::size_t c = 0; c < 3; ++c) out[r] += turn[r][c] * v[c];
  return out;
}

std::vector<std::size_t> sample_voxels(const QualityPage& page) {
  const auto size = static_cast<std::size_t>(page.clean.grid.voxels());
  const std::size_t all = page.mask.empty() ? size : size - std::ranges::count(page.mask, 0);
  const std::size_t stride = std::max<std::size_t>(1, all / 2000000);
  std::vector<std::size_t> voxels;
  std::size_t seen = 0;
  for (std::size_t v = 0; v < size; ++v)
    if (inside(page.mask, v) && seen++ % stride == 0) voxels.push_back(v);
  return voxels;
}

std::vector<MapRow> map_rows(const QualityPage& page) {
  if (page.tensors) return tensor_rows(page);
  const std::vector<std::size_t> voxels = sample_voxels(page);
  std::vector<int> channels{0};
  for (const int c : {page.clean.channels / 2, page.clean.channels - 1})
    if (c > channels.back()) channels.push_back(c);
  std::vector<MapRow> rows;
  for (const int c : channels) rows.push_back(channel_row(page, voxels, c));
  return rows;
}

}  // namespace warploom::imaging
