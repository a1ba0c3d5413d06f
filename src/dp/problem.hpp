#pragma once

/// A problem checked and turned into a minimum.

#include <vector>

#include "dp/terms.hpp"
#include "warploom/dp/solve.hpp"

namespace warploom::dp {

/// @throws BadInput: see solve()
template <Value T>
void check(const Problem<T>& problem);

/// What no cell and no product exceeds in magnitude.
template <Value T>
long double magnitude_bound(const Problem<T>& problem);

/// @throws BadInput where in_range() is false
template <Value T>
void check_range(const Problem<T>& problem);

/// Whether a leaf or the weight of a cell says that there is no solution.
template <Value T>
bool has_unreachable_term(const Problem<T>& problem);

/// Terms of a problem that lives at least as long.
template <Value T>
class Minimum {
 public:
  explicit Minimum(const Problem<T>& problem);
  Minimum(Minimum&&) noexcept = default;
  const Terms<T>& terms() const { return terms_; }

 private:
  bool no_term_is_negative(const Problem<T>& problem) const;

  Terms<T> terms_;
  std::vector<T> leaves_, row_weight_, column_weight_, scores_;
  Triangle<T> cell_weight_;
};

}  // namespace warploom::dp
