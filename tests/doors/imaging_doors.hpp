#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "doors/doors.hpp"
#include "warploom/imaging/image.hpp"

/// Images for the doors of `imaging`: whole ones, and those that no function may believe.
namespace warploom::doors {

using imaging::Image;
using imaging::Mask;

/// Six voxels along every axis, with values that differ.
inline Image whole(int channels, std::int64_t nz = 6) {
  Image image({6, 6, nz}, channels);
  for (std::size_t k = 0; k < image.data.size(); ++k)
    image.data[k] = static_cast<float>(1 + (k * 2654435761U) % 97);
  return image;
}

/// Images whose data and shape disagree, or that have none.
inline std::vector<Image> broken(int channels) {
  std::vector<Image> all;
  const auto add = [&](const std::function<void(Image&)>& change) {
    all.push_back(whole(channels));
    change(all.back());
  };
  add([](Image& i) { i.data.pop_back(); });
  add([](Image& i) { i.data.push_back(0); });
  add([](Image& i) { i.data.clear(); });
  add([](Image& i) { move_away(i); });
  add([](Image& i) { i.grid.nx = std::int64_t{1} << 40, i.grid.ny = std::int64_t{1} << 40; });
  add([](Image& i) { i.grid.nx = kMost; });
  add([](Image& i) { i.grid.ny = -6; });
  add([](Image& i) { i.grid.nx = -6, i.grid.ny = -6; });
  add([](Image& i) { i.grid.nz = 0; });
  add([](Image& i) { i.channels = 0; });
  add([](Image& i) { i.channels = -1; });
  add([](Image& i) { i.channels = std::numeric_limits<int>::max(); });
  all.emplace_back();
  return all;
}

/// Calls a function with each broken image, and with masks that do not fit a whole one.
template <class Call>
void refused_if_broken(int channels, Call call) {
  for (Image& image : broken(channels)) refused([&] { return call(image, Mask{}); });
}
template <class Call>
void refused_if_mask_is_broken(int channels, Call call) {
  for (const std::size_t size : {std::size_t{1}, std::size_t{215}, std::size_t{217}, std::size_t{216 * 6}}) {
    Image image = whole(channels);
    refused([&] { return call(image, Mask(size, 1)); });
  }
}
template <class Call>
void survives_numbers(int channels, Call call) {
  for (const float value : {0.0F, -1.0F, 1e38F, static_cast<float>(kInfinity), static_cast<float>(kNan)}) {
    Image image = whole(channels);
    std::ranges::fill(image.data, value);
    survives([&] { return call(image, Mask{}); });
    image.data[7] = 3;
    survives([&] { return call(image, Mask(216, 0)); });
    survives([&] { return call(image, Mask(216, 255)); });
  }
}

/// All of the above.
template <class Call>
void door_of_images(int channels, Call call) {
  refused_if_broken(channels, call);
  refused_if_mask_is_broken(channels, call);
  survives_numbers(channels, call);
}

}  // namespace warploom::doors
