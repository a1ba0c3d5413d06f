#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "warploom/tile/clang.hpp"
#include "warploom/tile/nest.hpp"

/// C that was written for a nest, run beside the nest's own text: that text, in a function of its own at the
/// end of its file, with the variables that it finds there; the same values for both; every output compared,
/// bit by bit.
namespace warploom::tile::test {

struct BesideOptions {
  ClangOptions clang;                       ///< as the nest was read with
  std::vector<std::filesystem::path> with;  ///< objects or sources that the file needs to run
  std::vector<int> bases{1, 2, 7, 13, 40};  ///< sizes are near these, and 3 more each
  bool threads = false;  ///< what is written is compiled by gcc -O3 -fopenmp besides and runs on four threads
};

struct Beside {
  enum class Kind {
    equal,         ///< wherever the source runs
    not_compiled,  ///< the text by itself is no C: `why`
    source_fails,  ///< for all sizes: it leaves its arrays, overflows, takes too long
    too_large,
    wrong,  ///< other values, or a sanitizer's finding in what was written alone
  };
  Kind kind = Kind::equal;
  std::string why = {};
  int runs = 0;     ///< sizes that were compared
  int failing = 0;  ///< sizes for which the source fails
};

/// A nest with its code, which may have copies that the source's nest has not.
struct BesidePart {
  const Nest& nest;
  const Node& code;
};

/// One program for all. If it cannot be compiled, one each.
/// @param file  that was read, which may include the nests'
/// @return of each part
std::vector<Beside> run_beside_source(const std::filesystem::path& file, const std::vector<BesidePart>& parts,
                                      const BesideOptions& options);

}  // namespace warploom::tile::test
