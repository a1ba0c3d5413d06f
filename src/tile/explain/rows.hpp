#pragma once

#include "warploom/tile/explain.hpp"

/// What people are shown of an explanation: rows in which entries that say the same are put together.
namespace warploom::tile {

/// "A[i][j] = A[i][j - 1]"
std::string assignment_text(const Statement& statement);

/// An element that a statement names, once, however often. Scalars that are only read have no row.
struct ReferenceRow {
  int statement = 0;
  std::string element;          ///< "A[i][j]"
  std::string access;           ///< "read", "write", "update"
  std::vector<int> references;  ///< numbers of its mentions
  std::vector<std::string>
      by_loop;  ///< of each of the statement's loops: "temporal", "spatial", "2 apart", ""
};
std::vector<ReferenceRow> reference_rows(const Nest& nest, const std::vector<Reuse>& reuse);

/// References that use each other's data along one loop.
struct GroupRow {
  struct Member {
    int row = 0;             ///< of reference_rows
    std::int64_t later = 0;  ///< iterations of the loop after the first member; spatial reuse alone: 0
  };
  bool temporal = false, spatial = false;
  std::string loop;             ///< empty: within one iteration
  std::vector<Member> members;  ///< the earliest first
};
std::vector<GroupRow> group_rows(const std::vector<ReferenceRow>& rows, const std::vector<Reuse>& reuse);
/// "A[j + 1], 1 later A[j], 2 later A[j - 1]"; statements are named where there are several.
std::string to_text(const Nest& nest, const std::vector<ReferenceRow>& rows, const GroupRow& group);

/// Dependences that differ in kind or in the pair of references only.
struct DependenceRow {
  std::vector<int> members;  ///< of the list, the first one's witness stands for all
  std::string kinds;         ///< "flow, anti"
};
std::vector<DependenceRow> dependence_rows(const Nest& nest, const std::vector<Dependence>& dependences);
/// "(0, +)"
std::string distance_text(const Dependence& dependence);
/// "(0, 2) -> (1, 1)"
std::string pair_text(const Witness& witness);

/// What was tried on one chain of loops with one outcome.
struct JudgedRow {
  std::vector<int> statements;     ///< all there are: empty
  std::vector<std::string> tried;  ///< "(j, i)" for permutations, "tile i=32, j=32" otherwise
  bool all = false;                ///< every order of the chain's loops was tried, with this outcome
  Verdict verdict;
  std::string cure;  ///< "skew j=1*i"
};
std::vector<JudgedRow> judged_rows(const Nest& nest, const std::vector<Judged>& judged);
/// "S0, S2"; of none: empty
std::string labels(const Nest& nest, const std::vector<int>& statements);

}  // namespace warploom::tile
