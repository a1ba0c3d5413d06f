#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace warploom::fold {

struct EnergyTables;

/// Free energies at 37 C and enthalpies of the loops that RNA makes (the nearest-neighbour model). Copies
/// share what they hold, which does not change; several threads may use one.
class Parameters {
 public:
  /// Turner 2004. Source: Mathews et al., PNAS 101:7287 (2004); values as in ViennaRNA's rna_turner2004.par.
  Parameters();
  /// Those of parse_parameters(). @throws BadInput (null)
  explicit Parameters(std::shared_ptr<const EnergyTables> tables);
  /// @throws BadInput (moved from)
  const EnergyTables& tables() const;

 private:
  std::shared_ptr<const EnergyTables> tables_;
};

/// Parameters in RNAfold's format 2.0: "# section" lines, numbers [0.01 kcal/mol] or INF, comments /* */.
/// What a file leaves out, sections or single values (DEF, *), keeps Turner 2004's.
/// @param name  of the file, for messages
/// @throws ParseError with line and column: no such file's first line, an unknown section, a section with too
///         few or too many numbers, something that is no number or lies beyond +-10,000
Parameters parse_parameters(std::string_view content, const std::string& name);
/// @throws as parse_parameters() and read_file()
Parameters read_parameters(const std::filesystem::path& path);

}  // namespace warploom::fold
