#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "warploom/hw/occupancy.hpp"
#include "warploom/reuse/block_size.hpp"
#include "warploom/reuse/place.hpp"

/// Scratchpad reuse: shared-memory arrays whose lives do not meet share storage, in any kernel's PTX.
/// After Moazeni, Bui & Sarrafzadeh, "A memory optimization technique for software-managed scratchpad
/// memory in GPUs", 2009; what is assumed, proved and refused is in docs/design/0002-soundness.md.
namespace warploom::reuse {

enum class When {
  /// rewrite where more blocks become resident, or the kernel otherwise would not launch; where the block
  /// size is not known only the latter, since nobody can say how many blocks are resident then
  occupancy,
  always,  ///< rewrite wherever bytes are saved
  fits,    ///< rewrite only where the kernel otherwise would not launch
};
std::string_view name(When when);

struct Options {
  When when = When::occupancy;
  PlacementOptions placement = {};
  bool strict = false;         ///< do not assume that the kernel reads no uninitialised shared memory
  bool whole_program = false;  ///< no other module is linked: .visible arrays are this one's alone
  /// Accesses of the dynamic array of which it is not proved keep to their part of it, where parameters or
  /// the block size divide it: the report says which, and Result::assumption_test tests it.
  bool assume_parts = false;
  bool what_if = false;         ///< fill KernelReport::suggestions, which takes a second look at some kernels
  bool insert_barriers = true;  ///< false: only barriers that are there already
  bool dynamic_pool = false;    ///< turn the static arrays into one extern array, sized at launch
  std::optional<BlockShape> block = {};  ///< where the kernel does not say (.reqntid)
  std::vector<Launch> launches = {};     ///< as recorded; those of kernels not in the module do no harm
  /// false: launches will pass as many dynamic bytes as before, so parts of the dynamic array stay
  bool launches_change = true;
  std::string architecture = {};                    ///< decides `when`; empty: the module's .target
  std::vector<std::string> only = {}, except = {};  ///< kernels by (mangled or demangled) name
  std::vector<std::string> disabled = {};           ///< passes, by name; see passes()
  bool assemble = true;  ///< run ptxas, where there is one, on the result: pooling may change registers
  /// Called after each pass with its name and its data, printed; for --dump-after.
  std::function<void(std::string_view kernel, std::string_view pass, const std::string& text)> dump = {};
};

/// Names of the passes, in order.
std::vector<std::string_view> passes();

/// A position in the kernel's source, where .loc tells; `file` empty otherwise.
struct SourcePosition {
  std::string file = {};
  std::uint32_t line = 0;
  std::uint32_t ptx_line = 0;
};

struct ObjectReport {
  std::string name = {};    ///< as in the source: demangled, the enclosing function left out
  std::string symbol = {};  ///< as in the PTX
  std::uint64_t bytes = 0;
  std::uint32_t alignment = 0;
  SourcePosition declared = {};
  bool shares = false;
  std::optional<std::uint64_t> offset = {};     ///< in the pool [bytes]
  std::string place = {};                       ///< the same as C++ where the launch decides: DynamicFormula
  std::vector<std::uint32_t> shares_with = {};  ///< indices into KernelReport::objects
  std::string reason = {};                      ///< why it shares, or why it cannot
  SourcePosition reason_at = {};
  /// Where it is alive: half-open ranges of PTX lines, in the order of the text.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> live_lines = {};
  std::vector<std::uint32_t> store_lines = {}, load_lines = {};  ///< PTX lines
};

struct BarrierReport {
  SourcePosition at = {};  ///< the instruction it stands before
  bool inserted = false;   ///< false: it was there, and separates the objects named
  std::vector<std::pair<std::uint32_t, std::uint32_t>> separates = {};
};

/// Two objects that cannot overlap, and why.
struct InterferenceReport {
  std::uint32_t first = 0, second = 0;
  std::string reason = {};
  SourcePosition at = {};
};

struct OccupancyReport {
  std::string architecture = {};
  hw::Occupancy before = {}, after = {};
};

/// Blocks resident on the report's architecture, launched with so many threads.
struct ResidencyReport {
  std::uint32_t threads = 0;         ///< a block
  std::uint64_t shared_dynamic = 0;  ///< [bytes a block]
  hw::Occupancy before = {}, after = {};
};

/// Something taken for granted in this kernel, beyond the contract's general assumptions.
struct Assumption {
  std::string text = {};
  SourcePosition at = {};
};

enum class Verdict {
  rewritten,
  unchanged,  ///< on purpose: nothing to share, or nothing to win
  refused,    ///< something in the kernel is outside the contract
  failed,     ///< the independent check, or ptxas, did not accept the result: a bug; the kernel is kept
};
std::string_view name(Verdict verdict);

/// Dynamic shared memory of which the launch decides what is needed.
struct DynamicFormula {
  struct Argument {
    std::string name = {};     ///< in the formulas: `block_x`, `param_1`
    std::string meaning = {};  ///< "blockDim.x", "the kernel's parameter 1 (k_param_1)"
    bool parameter = false;    ///< the formula holds for 0 to kMostParameter; else nothing moved
    std::int64_t example = 0;
  };
  static constexpr std::int64_t kMostParameter = std::int64_t{1} << 18;
  std::vector<Argument> arguments = {};
  /// Bytes a block that the kernel reaches, as C++; "before": all that the launch passes.
  std::string before = {};
  std::vector<std::string> after =
      {};  ///< the greatest of these is enough [bytes a block]; empty: no formula
  std::uint64_t example_before = 0, example_after = 0;
  std::string text() const;  ///< "max(4 * block_x, 8 * param_1)"
};

struct KernelReport {
  std::string name = {};  ///< demangled
  std::string symbol = {};
  SourcePosition at = {};
  Verdict verdict = Verdict::unchanged;
  std::string reason = {};  ///< of the verdict
  SourcePosition reason_at = {};
  std::optional<BlockShape> block = {};  ///< .reqntid, or --block
  std::uint32_t threads = 0;             ///< a block, used for `occupancy`; 0: not known, or several sizes
  Origin threads_from = Origin::unknown;
  std::uint64_t bytes_before = 0, bytes_after = 0;  ///< static shared memory, as ptxas lays it out
  std::uint64_t bytes_possible = 0;  ///< with everything that may share sharing, whatever `when` says
  std::uint64_t pool_bytes = 0;
  bool dynamic_pool = false;  ///< pool_bytes must be passed at launch
  /// Where parts of the dynamic array have lives of their own: bytes of it that the kernel reaches, those
  /// that the launch has to pass now, and at best. 0: it has no such parts.
  std::uint64_t dynamic_before = 0, dynamic_after = 0, dynamic_possible = 0;
  /// The same where only the launch knows where such parts lie. `objects` has the numbers of its example
  /// then.
  DynamicFormula dynamic_formula = {};
  std::uint32_t registers_before = 0, registers_after = 0;  ///< 0: ptxas was not run
  std::vector<ObjectReport> objects = {};
  std::vector<InterferenceReport> interference = {};
  std::vector<std::vector<std::uint32_t>> partitions = {};  ///< sharing groups: objects connected by overlap
  std::vector<BarrierReport> barriers = {};
  /// Every architecture from the module's target on, for the first launch size that gains, else the first
  /// one; empty where no block size is known.
  std::vector<OccupancyReport> occupancy = {};
  /// Every launch size; where none is known, usual ones, and `after` with all that may share sharing.
  std::vector<ResidencyReport> residency = {};
  std::vector<Assumption> assumptions = {};
  /// Where the dynamic array stays in one piece: what could be overlaid, what that would save, and what would
  /// have to be proved (with Options::what_if).
  std::vector<std::string> suggestions = {};
  std::vector<std::string> certificate =
      {};  ///< of the independent check: for each overlapping pair, why it is safe
  std::uint32_t first_line = 0, last_line = 0;  ///< PTX lines of the body
  /// Where the source position changes: sorted by ptx_line; a line belongs to the last entry at or before
  /// it. Empty without -lineinfo.
  std::vector<SourcePosition> lines = {};
};

struct Report {
  std::string file = {};
  std::string architecture = {};
  std::string note = {};  ///< why the whole module was left alone, if it was
  std::vector<KernelReport> kernels = {};
};

struct Result {
  /// With Options::assume_parts, where something was assumed: the input with a test before each access of
  /// which it was. A launch that breaks the assumption ends in a failed assertion that names the access.
  std::string assumption_test = {};
  std::string text = {};  ///< the module's text; the input's, byte for byte, where nothing was rewritten
  Report report = {};
};

/// Rewrites the kernels of a PTX module. Deterministic for the same input and options, but for a
/// placement that ran into its time limit. @throws ParseError, BadInput
Result optimize(std::string ptx, const Options& options = {}, std::string file = "<ptx>");

/// The same report as text for people, as JSON, as one self-contained HTML page.
/// @throws BadInput (a report made by hand that names objects which are not there)
std::string to_text(const Report& report, bool verbose = false);
std::string to_json(const Report& report);
std::string to_html(const Report& report);
/// A C++ header for the launch sites: NAME_smem_bytes() of each kernel whose launch passes another number of
/// dynamic bytes now, NAME its symbol. @throws as to_text()
std::string launch_header(const Report& report);
/// Everything known of one object: its life, its partners, its enemies and why. @throws BadInput
std::string explain(const Report& report, std::string_view object);
/// What to change in the source to get the same: unions, barriers, lines, bytes. @throws as to_text()
std::string advice(const KernelReport& kernel);

}  // namespace warploom::reuse
