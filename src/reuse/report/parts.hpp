#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "warploom/page/text.hpp"
#include "warploom/reuse/reuse.hpp"

/// What the report's text, its page and the advice have in common.
namespace warploom::reuse {

using page::change;
using page::escaped;
using page::file_name;
using page::grouped;
using page::hue;
using page::listed;
using page::wrapped;

/// Of a report that is written: one may be made by hand. @throws BadInput (an object that is not there, an
/// alignment of 0, no such verdict)
void check(const KernelReport& kernel);
void check(const Report& report);

/// "k.cu:30" without directories; "PTX line 179" where .loc says nothing; empty for no position.
std::string where(const SourcePosition& at);

/// The same with both lines, "k.cu:30 (PTX line 179)".
std::string where_both(const SourcePosition& at);

/// Many positions, each once, a file's lines after its name: "k.cu:30, 41 and 52"; "PTX lines 7 and 9".
std::string where(const std::vector<SourcePosition>& positions);

/// " (k.cu:30)", or nothing for no position.
std::string in_brackets(const SourcePosition& at);

/// The names of the objects with these indices.
std::vector<std::string> object_names(const KernelReport& kernel, const std::vector<std::uint32_t>& indices);

/// The .loc of a PTX line, as far as the report has it; `file` is empty otherwise.
SourcePosition source_of(const KernelReport& kernel, std::uint32_t ptx_line);

/// Where each object lies in shared memory [bytes].
struct Layout {
  std::vector<std::uint64_t> offsets;  ///< one an object
  std::uint64_t bytes = 0;             ///< the end of the last one
};
/// One after the other, in the order and with the alignment of their declaration.
Layout layout_before(const KernelReport& kernel);
/// The pool, and after it the objects that keep storage of their own.
Layout layout_after(const KernelReport& kernel);

/// ", blocks of 128 threads (.maxntid)": of which blocks KernelReport::occupancy speaks; empty if not known.
std::string blocks_of(const KernelReport& kernel);

/// The occupancy that decides: of the report's architecture, or the first there is; null for none.
const OccupancyReport* decisive(const KernelReport& kernel, std::string_view architecture);

}  // namespace warploom::reuse
