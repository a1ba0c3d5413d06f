#include "sim/kernel_oracles.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <sstream>
#include <type_traits>

#include "oracle/curvature.hpp"
#include "oracle/registration_sweep.hpp"
#include "sim/christiansen_oracle.hpp"
#include "sim/rectangular_oracle.hpp"

namespace warploom::sim {
namespace {

/// Calls `use` with a value of the element's type.
template <typename Use>
std::string with_type(const std::string& type, Use use) {
  if (type == "u8") return use(std::uint8_t{});
  if (type == "i32") return use(std::int32_t{});
  if (type == "u32") return use(std::uint32_t{});
  if (type == "u64") return use(std::uint64_t{});
  if (type == "f32") return use(float{});
  if (type == "f64") return use(double{});
  throw BadInput("no oracle works on " + type);
}

/// Half-open ranges of a tile each.
struct Tiles {
  std::size_t count, tile;
  template <typename Use>
  void each(Use use) const {
    for (std::size_t begin = 0; begin < count; begin += tile) use(begin, std::min(begin + tile, count));
  }
};

/// A sum, exact in the type or as near as its precision can say.
template <typename T>
struct Sum {
  using Wide =
      std::conditional_t<std::is_floating_point_v<T>, long double,
                         std::make_unsigned_t<std::conditional_t<std::is_floating_point_v<T>, int, T>>>;
  Wide value = 0;
  long double magnitude = 0;
  std::size_t count = 0;
  void add(T x) {
    value = static_cast<Wide>(value + static_cast<Wide>(x));
    magnitude += std::abs(static_cast<long double>(x));
    ++count;
  }
  bool is(T got) const {
    if constexpr (std::is_floating_point_v<T>)
      return std::abs(value - static_cast<long double>(got)) <=
             static_cast<long double>(count) * magnitude * std::numeric_limits<T>::epsilon();
    else
      return static_cast<T>(value) == got;
  }
};

class Oracle {
 public:
  Oracle(const KernelCase& kernel, const Buffers& after)
      : arguments_(kernel.launch.arguments), after_(after) {
    std::istringstream words(kernel.oracle);
    words >> name_ >> tile_;
  }

  std::string check() const {
    if (name_ == "curvature") return curvature();
    if (name_ == "registration") return registration();
    if (name_ == "copy") return after_[1] == after_[0] ? "" : "argument 1 is not argument 0";
    if (tile_ == 0) throw BadInput(fmt::format("there is no oracle '{}', or it needs a tile", name_));
    if (name_ == "sorted") return typed(0, [&](auto zero) { return sorted(zero); });
    if (name_ == "sorted-pairs")
      return typed(0,
                   [&](auto key) { return typed(1, [&](auto value) { return sorted_pairs(key, value); }); });
    if (name_ == "inclusive-sum") return typed(0, [&](auto zero) { return running(zero, true); });
    if (name_ == "exclusive-sum") return typed(0, [&](auto zero) { return running(zero, false); });
    if (name_ == "sum") return typed(0, [&](auto zero) { return sums(zero, 1); });
    if (name_ == "ranks") return ranks();
    throw BadInput(fmt::format("there is no oracle '{}'", name_));
  }

 private:
  template <typename Use>
  std::string typed(std::size_t argument, Use use) const {
    return with_type(arguments_[argument].type, use);
  }
  template <typename T>
  std::vector<T> before(std::size_t argument) const {
    return values<T>(arguments_[argument].bytes());
  }
  template <typename T>
  std::vector<T> after(std::size_t argument) const {
    return values<T>(after_[argument]);
  }
  template <typename T>
  T scalar(std::size_t argument) const {
    return before<T>(argument).at(0);
  }
  template <typename T>
  static std::string equal(std::size_t argument, const std::vector<T>& got, const std::vector<T>& want) {
    const auto [a, b] = std::ranges::mismatch(got, want);
    if (a == got.end() && b == want.end()) return "";
    return fmt::format("argument {}, element {}: {}, not {}", argument, a - got.begin(), *a, *b);
  }

  template <typename T>
  std::string sorted(T) const {
    std::vector<T> want = before<T>(0);
    Tiles{want.size(), tile_}.each(
        [&](auto begin, auto end) { std::sort(want.begin() + begin, want.begin() + end); });
    return equal(1, after<T>(1), want);
  }

  template <typename Key, typename Value>
  std::string sorted_pairs(Key, Value) const {
    const std::vector<Key> keys = before<Key>(0);
    const std::vector<Value> payloads = before<Value>(1);
    std::vector<std::size_t> order(keys.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    Tiles{keys.size(), tile_}.each([&](auto begin, auto end) {
      std::stable_sort(order.begin() + begin, order.begin() + end,
                       [&](std::size_t a, std::size_t b) { return keys[a] < keys[b]; });
    });
    std::vector<Key> want_keys;
    std::vector<Value> want_values;
    for (const std::size_t i : order) want_keys.push_back(keys[i]), want_values.push_back(payloads[i]);
    return equal(2, after<Key>(2), want_keys) + equal(3, after<Value>(3), want_values);
  }

  template <typename T>
  std::string running(T, bool inclusive) const {
    const std::vector<T> in = before<T>(0), out = after<T>(1);
    std::string wrong;
    Tiles{in.size(), tile_}.each([&](auto begin, auto end) {
      Sum<T> sum;
      for (std::size_t i = begin; i < end; ++i) {
        if (inclusive) sum.add(in[i]);
        if (!sum.is(out[i]) && wrong.empty()) wrong = fmt::format("running sum {} is wrong: {}", i, out[i]);
        if (!inclusive) sum.add(in[i]);
      }
    });
    return inclusive ? wrong : wrong + sums(T{}, 2);
  }

  template <typename T>
  std::string sums(T, std::size_t argument) const {
    const std::vector<T> in = before<T>(0), out = after<T>(argument);
    std::string wrong;
    Tiles{in.size(), tile_}.each([&](auto begin, auto end) {
      Sum<T> sum;
      for (std::size_t i = begin; i < end; ++i) sum.add(in[i]);
      const T got = out.at(begin / tile_);
      if (!sum.is(got) && wrong.empty()) wrong = fmt::format("sum {} is wrong: {}", begin / tile_, got);
    });
    return wrong;
  }

  std::string ranks() const {
    using Key = std::uint64_t;
    std::vector<Key> sorted_keys = before<Key>(0), rank(sorted_keys.size()), sum;
    Tiles{sorted_keys.size(), tile_}.each([&](auto begin, auto end) {
      std::sort(sorted_keys.begin() + begin, sorted_keys.begin() + end);
      for (std::size_t i = begin + 1; i < end; ++i)
        rank[i] = rank[i - 1] + (sorted_keys[i] != sorted_keys[i - 1] ? 1 : 0);
      sum.push_back(std::accumulate(rank.begin() + begin, rank.begin() + end, Key{0}));
    });
    return equal(1, after<Key>(1), sorted_keys) + equal(2, after<Key>(2), rank) +
           equal(3, after<Key>(3), sum);
  }

  std::string curvature() const {
    const bool flat = arguments_.size() == 6;  // an image, without nz and dz
    const std::vector<float> image = before<float>(0), out = after<float>(1);
    const int nx = scalar<int>(2), ny = scalar<int>(3), nz = flat ? 1 : scalar<int>(4);
    const std::size_t spacing = flat ? 4 : 5;
    const oracle::Curvature reference({image, nx, ny, nz, scalar<float>(spacing), scalar<float>(spacing + 1),
                                       flat ? 1.0 : scalar<float>(spacing + 2)});
    for (int z = 0, i = 0; z < nz; ++z)
      for (int y = 0; y < ny; ++y)
        for (int x = 0; x < nx; ++x, ++i) {
          const oracle::Estimate want = reference(x, y, z);
          if (!(std::abs(out[i] - want.value) <= want.bound))
            return fmt::format("voxel {},{},{}: {}, not {} +- {}", x, y, z, out[i], want.value, want.bound);
        }
    return "";
  }

  std::string registration() const {
    const std::vector<float> reference = before<float>(0), moving = before<float>(1);
    const oracle::RegistrationSweeps sweeps{reference,      moving,           scalar<int>(6),
                                            scalar<int>(7), scalar<float>(8), scalar<float>(9)};
    for (int axis = 0; axis < 2; ++axis) {
      const std::vector<float> start = before<float>(2 + axis), got = after<float>(4 + axis);
      const std::vector<double> want = sweeps(start, axis);
      for (std::size_t i = 0; i < want.size(); ++i)
        if (!(std::abs(got[i] - want[i]) <= sweeps.bound(1)))
          return fmt::format("component {}, pixel {}: {}, not {}", axis, i, got[i], want[i]);
    }
    return "";
  }

  const std::vector<ArgumentText>& arguments_;
  const Buffers& after_;
  std::string name_;
  std::size_t tile_ = 0;
};

}  // namespace

std::string check_oracle(const KernelCase& kernel, const Buffers& after) {
  if (kernel.oracle == "christiansen") return check_christiansen(kernel, after);
  if (kernel.oracle == "rectangular") return check_rectangular(kernel, after);
  return Oracle(kernel, after).check();
}

}  // namespace warploom::sim
