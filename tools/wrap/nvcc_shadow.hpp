#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "warploom/core/process.hpp"

/// How `warploom wrap` gets between nvcc's steps.
///
/// nvcc reads nvcc.profile in the directory by which it was called, and that file says where its
/// sub-programs are. A shadow toolkit is a temporary directory of links to the real one, but for the
/// profile, which names our own directory `tools` first. So nvcc itself runs, with its options, messages,
/// exit codes, temporary files and parallel steps, and calls `tools/cicc`: that runs the real cicc and
/// rewrites the PTX it wrote. Only once something was rewritten are there also `tools/ptxas` and
/// `tools/fatbinary`, which put the original PTX back if ptxas does not take the new one.
namespace warploom::tool {

class ShadowToolkit {
 public:
  /// @param nvcc    in a toolkit for which missing_part() finds nothing
  /// @param cache_key  what makes the output differ from nvcc's own; given to ccache
  ShadowToolkit(const std::filesystem::path& nvcc, const std::string& cache_key);

  /// Calls that nvcc through the shadow.
  std::string nvcc() const { return (directory_.path() / "top/bin/nvcc").string(); }
  std::filesystem::path cache_key_file() const { return directory_.path() / "cache_key"; }
  const std::filesystem::path& path() const { return directory_.path(); }

  /// Why this nvcc cannot be shadowed; empty if it can.
  static std::string missing_part(const std::filesystem::path& nvcc);

 private:
  TemporaryDirectory directory_;
};

/// What the sub-programs leave for each other in the shadow's directory: the PTX files rewritten.
class RewrittenFiles {
 public:
  struct File {
    std::filesystem::path ptx;
    std::string source;  ///< the CUDA file it came from
    int kernels = 0;     ///< that were rewritten in it
  };
  explicit RewrittenFiles(std::filesystem::path shadow) : shadow_(std::move(shadow)) {}

  /// Replaces the file's text; from now on ptxas and fatbinary are ours.
  void replace(const File& file, const std::string& original, const std::string& rewritten) const;
  /// Puts the original text back.
  void restore(const std::filesystem::path& ptx) const;
  bool contains(const std::filesystem::path& ptx) const;
  std::string source(const std::filesystem::path& ptx) const;
  /// ptxas took the new text.
  void mark_assembled(const std::filesystem::path& ptx) const;
  /// Those that ptxas has not seen.
  std::vector<std::filesystem::path> not_assembled() const;
  /// The kernels of each CUDA file whose new text stayed; of several architectures, the most.
  std::map<std::string, int> kept() const;

 private:
  std::filesystem::path record(const std::filesystem::path& ptx) const;

  std::filesystem::path shadow_;
};

}  // namespace warploom::tool
