#pragma once

namespace warploom {

/// A function for std::visit from one for each case: std::visit(Overloaded{[](int n) {...}, [](auto&) {...}},
/// value).
template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;  // Clang 16 does not do without

}  // namespace warploom
