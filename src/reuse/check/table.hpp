#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "reuse/check/evaluate.hpp"
#include "reuse/check/renaming.hpp"
#include "warploom/ptx/ranges.hpp"

/// The check's own proof that guards on quotients and remainders of an index keep an access in its part: it
/// walks through all values of the index, evaluates the branches passed for each, and looks where the
/// address is for those that come through.
namespace warploom::reuse::checking {

class Walk {
 public:
  /// `cfg`, `values` and `ranges` are of the input's kernel, `k` is the output's.
  Walk(const Kernel& k, const KernelMatch& match, const ptx::Cfg& cfg, const ptx::Values& values,
       ptx::AddressRanges& ranges);

  struct Reach {
    bool executed = true;
    std::int64_t least = 0, most = 0;  ///< of the address in its array
  };
  /// For an access by the input's instruction, from the linear range of its address, whose ends are at most
  /// tightened; none: not known.
  std::optional<Reach> reach(std::uint32_t instruction, const ptx::AddressRange& linear);

 private:
  struct Passed {
    std::uint32_t predicate;
    bool value;
  };
  struct Index {
    ptx::Linear sum;
    std::int64_t least = 0, most = 0;
    std::map<std::uint32_t, std::vector<std::optional<bool>>> predicates = {};  ///< value -> one a row
    std::map<std::uint32_t, std::vector<Value>> numbers = {};
  };

  struct Search {
    std::set<std::uint32_t> met = {};  ///< instructions, each looked at once
    std::vector<ptx::Linear> found = {};
  };

  std::vector<Passed> passed(std::uint32_t instruction) const;
  bool computes(std::uint32_t atom) const;
  void look_for_indices(std::uint32_t instruction, Search& search);
  void look_for_indices_in(const ptx::Linear& sum, Search& search);
  Index* index(const ptx::Linear& sum, std::uint32_t instruction);
  std::optional<std::pair<std::int64_t, std::int64_t>> ends(const ptx::Linear& sum,
                                                            std::uint32_t instruction);
  void go_to(const Index& of, std::int64_t row);
  unsigned width(std::uint32_t value) const;
  Value number(std::uint32_t value, unsigned depth = 0);
  Value by_instruction(std::uint32_t value, unsigned depth);
  std::optional<bool> truth(std::uint32_t value, unsigned depth = 0);
  std::optional<bool> truth_by_instruction(std::uint32_t value, unsigned depth);

  const Kernel& k_;
  const KernelMatch& match_;
  const ptx::Cfg& cfg_;
  const ptx::Function& f_;
  const ptx::Values& values_;
  ptx::AddressRanges& ranges_;
  std::vector<std::unique_ptr<Index>> indices_;
  // The row that is looked at, and what values hold in it.
  const Index* at_ = nullptr;
  std::int64_t row_ = 0;
  std::uint32_t time_ = 0;
  std::vector<Value> known_;
  std::vector<std::uint32_t> known_at_;
  std::uint64_t work_ = 0;
};

}  // namespace warploom::reuse::checking
