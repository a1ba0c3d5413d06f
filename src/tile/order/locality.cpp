#include "warploom/tile/locality.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "core/doors.hpp"
#include "tile/order/loop_paths.hpp"

namespace warploom::tile {
namespace {

bool is_invariant(const Reference& reference, std::size_t loop) {
  return std::ranges::all_of(reference.coefficients,
                             [&](const auto& subscript) { return subscript[loop] == 0; });
}

/// Elements between one iteration and the next, if only the last subscript moves.
std::optional<std::int64_t> contiguous_step(const Reference& reference, std::size_t loop) {
  if (reference.coefficients.empty()) return std::nullopt;
  for (std::size_t d = 0; d + 1 < reference.coefficients.size(); ++d)
    if (reference.coefficients[d][loop] != 0) return std::nullopt;
  const std::int64_t step = reference.coefficients.back()[loop];
  return step == 0 ? std::nullopt : std::optional(step);
}

/// Iterations of `loop` after which `later` touches what `earlier` touches now, all other loops alike.
std::optional<std::int64_t> iterations_between(const Reference& earlier, const Reference& later,
                                               std::size_t loop) {
  std::optional<std::int64_t> distance;
  for (std::size_t d = 0; d < earlier.constants.size(); ++d) {
    const std::int64_t difference = earlier.constants[d] - later.constants[d],
                       step = later.coefficients[d][loop];
    if (step == 0 ? difference != 0 : difference % step != 0) return std::nullopt;
    if (step == 0) continue;
    if (distance && *distance != difference / step) return std::nullopt;
    distance = difference / step;
  }
  return distance;
}

/// Same coefficients, perhaps other constants ("uniformly generated").
bool is_uniform(const Reference& a, const Reference& b) {
  return a.element.text == b.element.text && a.coefficients == b.coefficients &&
         a.size_coefficients == b.size_coefficients;
}

class Finder {
 public:
  Finder(const Nest& nest, int line_bytes) : nest_(nest), line_bytes_(line_bytes), paths_(loop_paths(nest)) {}

  std::vector<Reuse> run() {
    for (const Statement& statement : nest_.statements())
      for (const Reference& reference : statement.references) {
        if (!reference.is_linear(statement.loops.size())) continue;
        alone(statement, reference);
        together(statement, reference);
      }
    return std::move(found_);
  }

 private:
  std::int64_t elements_of_line(const Reference& reference) const {
    return line_bytes_ / size_of(find_variable(nest_.region(), reference.element.text)->type);
  }

  void alone(const Statement& statement, const Reference& reference) {
    for (std::size_t l = 0; l < statement.loops.size(); ++l) {
      Reuse reuse{ReuseKind::self_temporal, statement.number, reference.number, statement.loops[l]};
      if (is_invariant(reference, l)) {
        found_.push_back(reuse);
      } else if (const auto step = contiguous_step(reference, l);
                 step && std::abs(*step) < elements_of_line(reference)) {
        reuse.kind = ReuseKind::self_spatial;
        reuse.distance = std::abs(*step);
        found_.push_back(reuse);
      }
    }
  }

  /// With references that stand later in the text, within the same loops.
  void together(const Statement& statement, const Reference& reference) {
    for (const Statement& other : nest_.statements())
      for (const Reference& partner : other.references) {
        const bool later = other.number > statement.number ||
                           (other.number == statement.number && partner.number > reference.number);
        if (!later || paths_[other.number] != paths_[statement.number] ||
            !partner.is_linear(other.loops.size()) || !is_uniform(reference, partner))
          continue;
        pair(statement, reference, other, partner);
      }
  }

  void pair(const Statement& statement, const Reference& reference, const Statement& other,
            const Reference& partner) {
    Reuse reuse{
        ReuseKind::group_temporal, statement.number, reference.number, {}, 0, other.number, partner.number};
    if (reference.constants == partner.constants) {
      found_.push_back(reuse);  // in the same iteration
      return;
    }
    for (std::size_t l = 0; l < statement.loops.size(); ++l) {
      reuse.loop = statement.loops[l];
      if (const auto distance = iterations_between(reference, partner, l)) {
        reuse.kind = ReuseKind::group_temporal;
        reuse.distance = *distance;
        found_.push_back(reuse);
      }
      const bool same_row =
          std::equal(reference.constants.begin(), reference.constants.end() - 1, partner.constants.begin());
      const std::int64_t apart = partner.constants.back() - reference.constants.back();
      if (contiguous_step(reference, l) && same_row && std::abs(apart) < elements_of_line(reference)) {
        reuse.kind = ReuseKind::group_spatial;
        reuse.distance = std::abs(apart);
        found_.push_back(reuse);
      }
    }
  }

  const Nest& nest_;
  int line_bytes_;
  std::vector<std::vector<const Node*>> paths_;
  std::vector<Reuse> found_;
};

}  // namespace

std::string_view name(ReuseKind kind) {
  switch (kind) {
    case ReuseKind::self_temporal:
      return "self-temporal";
    case ReuseKind::self_spatial:
      return "self-spatial";
    case ReuseKind::group_temporal:
      return "group-temporal";
    case ReuseKind::group_spatial:
      return "group-spatial";
  }
  refuse_enumerator(kind, "the kind of reuse");
}

std::vector<Reuse> reuse(const Nest& nest, int line_bytes) {
  constexpr int kMost = 1 << 20;
  if (line_bytes < 1 || line_bytes > kMost)
    throw BadInput(fmt::format("a cache line of {} bytes; from 1 to {}", line_bytes, kMost));
  return Finder(nest, line_bytes).run();
}

}  // namespace warploom::tile
