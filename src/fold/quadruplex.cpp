#include "fold/quadruplex.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "warploom/core/error.hpp"

namespace warploom::fold {
namespace {

constexpr Base kG = 3;

}  // namespace

void draw(const QuadruplexShape& shape, bool visible, std::string& structure) {
  std::int64_t at = shape.i - 1;
  for (int run = 0; run < 4; ++run) {
    structure.replace(static_cast<std::size_t>(at), static_cast<std::size_t>(shape.layers),
                      static_cast<std::size_t>(shape.layers), visible ? '+' : '.');
    at += shape.layers + (run < 3 ? shape.linkers[static_cast<std::size_t>(run)] : 0);
  }
  if (visible) structure[static_cast<std::size_t>(at - 1)] = '~';
}

std::vector<QuadruplexShape> quadruplexes_in(std::string_view structure, const Bases& s) {
  const auto is_run = [&](std::size_t at) {
    return at < structure.size() && (structure[at] == '+' || structure[at] == '~');
  };
  std::vector<QuadruplexShape> all;
  for (std::size_t k = 0; k < structure.size(); ++k) {
    if (!is_run(k)) continue;
    const auto fail = [&](const char* what) {
      throw BadInput(
          fmt::format("the quadruplex that begins at base {} {}: it is four runs of {} to {} '+' "
                      "of the same length, with {} to {} '.' between",
                      k + 1, what, kFewestLayers, kMostLayers, 1, kMostLinker));
    };
    QuadruplexShape one{.i = static_cast<std::int64_t>(k) + 1};
    std::size_t at = k;
    while (is_run(at)) ++at;
    one.layers = static_cast<int>(std::min<std::size_t>(at - k, kMostLayers + 1));
    if (one.layers < kFewestLayers || one.layers > kMostLayers) fail("has no run of such a length");
    for (int& linker : one.linkers) {
      while (linker <= kMostLinker && at < structure.size() && structure[at] == '.') ++linker, ++at;
      if (linker < 1 || linker > kMostLinker) fail("has a linker of another length");
      for (int layer = 0; layer < one.layers; ++layer, ++at)
        if (!is_run(at)) fail("has runs of different lengths");
    }
    for (std::size_t base = k; base < at; ++base)
      if (is_run(base) && s.codes[base + 1] != kG)
        throw BadInput(fmt::format("base {} is {}; a quadruplex ('+') is of G", base + 1, s.letters[base]));
    all.push_back(one);
    k = at - 1;
  }
  return all;
}

Quadruplexes::Quadruplexes(const Bases& s, const Loops& loops) : s_(s), loops_(loops) {
  if (!loops.quadruplexes()) return;
  const std::int64_t n = s.size();
  run_.assign(s.codes.size(), 0);
  for (std::int64_t k = n; k > 0; --k)
    if (s.codes[k] == kG) run_[k] = static_cast<std::int8_t>(std::min(run_[k + 1] + 1, kMostLayers));
  by_end_.resize(s.codes.size());
  for (std::int64_t i = 1; i <= n; ++i) {
    std::array<std::int32_t, kMostBasesOfOne + 1> least;  // by length
    least.fill(kNone);
    for (int layers = kFewestLayers; layers <= run_[i]; ++layers) {
      std::uint64_t linked = 1;  // bit l: l bases in linkers so far
      for (int run = 1; run < 4; ++run) {
        std::uint64_t next = 0;
        for (; linked != 0; linked &= linked - 1) {
          const int l = std::countr_zero(linked);
          next |= static_cast<std::uint64_t>(next_runs(i + run * layers + l, layers)) << l;
        }
        linked = next;
      }
      for (; linked != 0; linked &= linked - 1) {
        const int l = std::countr_zero(linked);
        std::int32_t& energy = least[static_cast<std::size_t>(4 * layers + l)];
        energy = std::min(energy, loops.quadruplex(layers, l));
      }
    }
    for (std::int64_t length = 1; length <= kMostBasesOfOne; ++length)
      if (const std::int32_t energy = least[static_cast<std::size_t>(length)]; energy < kNone) {
        by_end_[static_cast<std::size_t>(i + length - 1)].push_back({static_cast<std::int32_t>(i), energy});
      }
  }
}

/// Bit l: a run of `layers` begins behind a linker of l bases that begins at `at`.
std::uint32_t Quadruplexes::next_runs(std::int64_t at, int layers) const {
  std::uint32_t runs = 0;
  for (int l = 1; l <= kMostLinker && at + l <= s_.size(); ++l)
    if (run_[at + l] >= layers) runs |= 1u << l;
  return runs;
}

std::int32_t Quadruplexes::at(std::int64_t i, std::int64_t j) const {
  const std::span<const Quadruplex> all = ending(j);
  const auto one = std::ranges::lower_bound(all, i, {}, &Quadruplex::i);
  return one != all.end() && one->i == i ? one->energy : kNone;
}

void Quadruplexes::shapes(std::int64_t i, std::int64_t j,
                          const std::function<bool(const QuadruplexShape&, std::int32_t)>& take) const {
  for (int layers = kFewestLayers; layers <= run_[i]; ++layers) {
    const std::int64_t linked = j - i + 1 - 4 * layers, last = j - layers + 1;
    if (linked < 3 || linked > 3 * kMostLinker || run_[last] < layers) continue;
    const std::int32_t energy = loops_.quadruplex(layers, static_cast<int>(linked));
    for (int a = 1; a <= kMostLinker; ++a) {
      const std::int64_t second = i + layers + a;
      if (second > last || run_[second] < layers) continue;
      for (int b = 1; b <= kMostLinker; ++b) {
        const std::int64_t third = second + layers + b, c = last - third - layers;
        if (c < 1) break;
        if (c > kMostLinker || run_[third] < layers) continue;
        if (!take({i, layers, {a, b, static_cast<int>(c)}}, energy)) return;
      }
    }
  }
}

bool Quadruplexes::rows(std::int64_t first, int count, std::int64_t j, QuadruplexRows& rows) const {
  std::fill_n(rows.around, kRows, kNone);
  std::fill_n(rows.stems, kRows, kNone);
  bool any = false;
  for (const Quadruplex& one : ending(j))
    if (one.i >= first && one.i < first + count)
      rows.stems[one.i - first] = one.energy + loops_.quadruplex_stem(), any = true;
  const auto closes = [&](std::int64_t i) { return i >= 1 && loops_.pair(s_.codes[i], s_.codes[j]) != 0; };
  for (int right = 0; right <= kMaxLoop && right < j - 1; ++right) {
    const std::span<const Quadruplex> all = ending(j - 1 - right);
    for (auto one = std::ranges::lower_bound(all, first + 1, {}, &Quadruplex::i);
         one != all.end() && one->i <= first + count + kMaxLoop; ++one)
      for (int left = 0; left + right <= kMaxLoop; ++left) {
        const std::int64_t i = one->i - 1 - left;
        if (i < first) break;
        if (i >= first + count || !closes(i)) continue;
        const std::int32_t loop = loops_.around_quadruplex(s_, i, j, left, right);
        if (loop >= kNone / 2) continue;
        rows.around[i - first] = std::min(rows.around[i - first], one->energy + loop), any = true;
      }
  }
  return any;
}

}  // namespace warploom::fold
