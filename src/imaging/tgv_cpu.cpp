// Total generalised variation on the CPU: a pass goes through the voxels in the order of memory, in pieces
// whose work lies in the first cache.

#include <algorithm>
#include <limits>
#include <vector>

#include "core/instruction_sets.hpp"
#include "imaging/host_floats.hpp"
#include "imaging/tgv.hpp"
#include "imaging/tgv_rows.hpp"
#include "warploom/core/threads.hpp"

namespace warploom::imaging {
namespace {

class Cpu final : public TgvBackend {
 public:
  Cpu(const TvProblem& problem, const float* image)
      : shape_(tgv_shape(problem)),
        outside_(problem.outside),
        floats_(kTgvComponents * shape_.channels * shape_.stride + kTgvFields * shape_.padding) {
    float* at = floats_.get();
    const auto take = [&](std::int64_t components, float value) {
      const std::int64_t count = tgv_floats(shape_, components * shape_.channels);
      parallel_for((count + kLarge - 1) / kLarge, [&](std::int64_t piece) {
        std::fill(at + piece * kLarge, at + std::min(count, (piece + 1) * kLarge), value);
      });
      float* const field = at + shape_.padding;
      at += count;
      return field;
    };
    constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
    fields_.u = take(1, 0), fields_.u_bar = take(1, 0), fields_.noisy = take(1, 0);
    fields_.w = take(3, kNone), fields_.w_bar = take(3, kNone);
    fields_.p = take(3, 0), fields_.q = take(6, 0), fields_.q_mean = take(6, 0);
    for_pieces([&](std::int64_t begin, std::int64_t n) {
      for (int c = 0; c < shape_.channels; ++c) {
        const std::int64_t from = c * shape_.voxels + begin, to = c * shape_.stride + begin;
        std::copy_n(image + from, n, fields_.u + to);
        std::copy_n(image + from, n, fields_.u_bar + to);
        std::copy_n(problem.noisy + from, n, fields_.noisy + to);
        for (int axis = 0; axis < 3; ++axis)
          for (std::int64_t v = begin; v < begin + n; ++v)
            if (tgv_exists(problem.noisy, shape_, v, axis))
              fields_.w[(3 * c + axis) * shape_.stride + v] =
                  fields_.w_bar[(3 * c + axis) * shape_.stride + v] = 0;
      }
    });
  }

  void iterate(const TgvSteps& steps, int count) override {
    for (int k = 0; k < count; ++k) {
      for_pieces([&](std::int64_t begin, std::int64_t n) {
        alignas(kRowAlignment) float square[kPiece];
        rows_.dual(fields_, shape_, steps, begin, n, square);
      });
      for_pieces([&](std::int64_t begin, std::int64_t n) {
        Scratch scratch(shape_.channels);
        rows_.step_u(fields_, shape_, steps, begin, n, scratch.move);
        projected(fields_.u + begin, scratch, n);
        rows_.take_u(fields_, shape_, begin, n, {scratch.next.data, kPiece});
        rows_.step_w(fields_, shape_, steps, begin, n);
      });
    }
  }

  TgvSums measure(const TgvSteps& steps, float newest) override {
    for_pieces([&](std::int64_t begin, std::int64_t n) { rows_.average(fields_, shape_, newest, begin, n); });
    std::vector<TgvRowSums> parts(static_cast<std::size_t>((shape_.voxels + kPiece - 1) / kPiece));
    std::vector<double> duals(parts.size());
    for_pieces([&](std::int64_t begin, std::int64_t n) {
      Scratch scratch(shape_.channels);
      alignas(kRowAlignment) float square[kPiece];
      const auto piece = static_cast<std::size_t>(begin / kPiece);
      parts[piece] = rows_.measure(fields_, shape_, steps, begin, n, square, scratch.move);
      // As in denoise_cpu.cpp: the minimiser is z = P(noisy + div s / lambda), and since <a - P(a), P(a)> = 0
      // for a cone, the value is lambda <noisy - z, z> + lambda/2 |z - noisy|^2.
      const TvRowSums sums = projected(fields_.noisy + begin, scratch, n);
      duals[piece] = static_cast<double>(steps.lambda) *
                     (static_cast<double>(sums.turn) + 0.5 * static_cast<double>(sums.mapping));
    });
    TgvSums sums;
    for (std::size_t piece = 0; piece < parts.size(); ++piece) {
      sums.slope += static_cast<double>(parts[piece].slope);
      sums.strain += static_cast<double>(parts[piece].strain);
      sums.fidelity += static_cast<double>(parts[piece].fidelity);
      sums.largest = std::max(sums.largest, static_cast<double>(parts[piece].largest));
      sums.dual += duals[piece];
    }
    return sums;
  }

  void copy_to(float* image) const {
    for_pieces([&](std::int64_t begin, std::int64_t n) {
      for (int c = 0; c < shape_.channels; ++c)
        std::copy_n(fields_.u + c * shape_.stride + begin, n, image + c * shape_.voxels + begin);
    });
  }

 private:
  static constexpr std::int64_t kPiece = 512, kLarge = 1 << 16;
  /// Rows of one piece's channels.
  struct Scratch {
    explicit Scratch(int channels)
        : memory(static_cast<std::size_t>(2 * kPiece * channels)),
          move{memory.data(), kPiece},
          next{move.data + kPiece * channels, kPiece} {}
    std::vector<float> memory;
    TvRow<float> move, next;
  };

  /// scratch.next = P(from - scratch.move), and the sums with x = 0.
  TvRowSums projected(const float* from, const Scratch& scratch, std::int64_t n) const {
    static constexpr float kZeros[kPiece] = {};
    if (shape_.tensor)
      return tv_.project[outside_]({from, shape_.stride}, scratch.move, {kZeros, 0}, scratch.next, n);
    TvRowSums sums;
    for (int c = 0; c < shape_.channels; ++c) {
      const TvRowSums one = tv_.step[outside_](from + c * shape_.stride, scratch.move.data + c * kPiece,
                                               kZeros, scratch.next.data + c * kPiece, n);
      sums.mapping += one.mapping, sums.turn += one.turn;
    }
    return sums;
  }

  template <class Body>
  void for_pieces(const Body& body) const {
    // Several pieces at once: a pass over a small image should not wait for its threads.
    constexpr std::int64_t kAtOnce = 8;
    const std::int64_t pieces = (shape_.voxels + kPiece - 1) / kPiece;
    parallel_for((pieces + kAtOnce - 1) / kAtOnce, [&](std::int64_t some) {
      for (std::int64_t piece = some * kAtOnce; piece < std::min(pieces, (some + 1) * kAtOnce); ++piece)
        body(piece * kPiece, std::min(kPiece, shape_.voxels - piece * kPiece));
    });
  }

  TgvShape shape_;
  bool outside_;
  HostFloats floats_;
  TgvFields fields_;
  const TgvRows& rows_ = *WARPLOOM_PICK(tgv_rows);
  const TvRows& tv_ = *WARPLOOM_PICK(tv_rows);
};

}  // namespace

TvOutcome minimise_tgv_cpu(const TvProblem& problem, float* image) {
  Cpu backend(problem, image);
  TvOutcome outcome = minimise_tgv(problem, backend);
  backend.copy_to(image);
  return outcome;
}

}  // namespace warploom::imaging
