#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/byte_source.hpp"
#include "warploom/io/recording.hpp"

// The parts of EDF, EDF+ and BDF below the whole. Sources: Kemp et al., Electroencephalogr. Clin.
// Neurophysiol. 82, 1992 (EDF); Kemp and Olivan, Clin. Neurophysiol. 114, 2003 (EDF+); BioSemi (BDF: samples
// of 24 bits).

namespace warploom::io {

struct EdfSignal {
  std::string name, unit;
  double physical_min = 0, physical_max = 0, digital_min = 0, digital_max = 0;
  std::uint64_t samples = 0;   ///< in a record
  std::uint64_t offset = 0;    ///< [bytes] in a record
  bool is_annotation = false;  ///< holds texts
};

struct EdfHeader {
  std::uint64_t bytes = 0;         ///< of the header
  std::uint64_t sample_bytes = 2;  ///< 3: BDF
  bool discontinuous = false;      ///< each record says when it begins
  std::uint64_t records = 0, record_bytes = 0;
  double record_seconds = 0;
  std::vector<EdfSignal> signals;
};

/// @throws BadInput: no EDF; a field that is no number, and which; other bytes than the header asks for
EdfHeader read_edf_header(ByteSource& source);

/// What an annotation signal holds in one record.
struct EdfTexts {
  std::vector<Annotation> annotations;  ///< onset [s] since the time in the header
  std::optional<double> onset;  ///< of a list at the very begin: in the first annotation signal, the record's
};

/// @param where  for messages
/// @throws BadInput (no lists of annotations)
EdfTexts parse_edf_texts(std::string_view bytes, const std::string& where);

}  // namespace warploom::io
