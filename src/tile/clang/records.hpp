#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tile/clang/c_type.hpp"
#include "tile/clang/syntax.hpp"

namespace warploom::tile {

/// Where the members of structures lie, as the ABIs of x86-64 and AArch64 have it: each at the next multiple
/// of its alignment. Structures with bit-fields, bases, virtual functions or attributes are left out, unions
/// too.
class Records {
 public:
  explicit Records(const Translation& translation);

  struct Member {
    std::int64_t offset = 0;  ///< bytes
    CType type = {};
  };
  std::optional<Member> member(const std::string& record, const std::string& name) const;
  /// Bytes of a value of this type. @return nothing if that is not known
  std::optional<std::int64_t> size(const CType& type) const;

 private:
  struct Layout {
    std::map<std::string, Member> members;
    std::int64_t bytes = 0, alignment = 1;
  };
  void visit(const Syntax& scope);
  std::optional<Layout> layout(const Syntax& record) const;
  std::optional<std::int64_t> alignment(const CType& type) const;

  const Translation& translation_;
  std::map<std::string, Layout> layouts_;
};

}  // namespace warploom::tile
