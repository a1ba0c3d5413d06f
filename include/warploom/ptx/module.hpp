#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "warploom/ptx/opcode.hpp"

/// PTX as data. A Module keeps the text it was parsed from; everything below points into it by
/// byte spans, and a change is an edit of those spans. So an unchanged module prints byte for byte
/// as it came, comments and all, and a changed one differs only where it was edited.
namespace warploom::ptx {

inline constexpr std::uint32_t kNone = 0xffffffffu;  ///< "no such index"

struct Span {
  std::uint32_t begin = 0, end = 0;  ///< bytes [begin, end) of Module::text
};

enum class OperandKind : std::uint8_t {
  reg,       ///< id: Function::registers
  special,   ///< %tid.x, %laneid, WARP_SZ: only the span says which
  integer,   ///< value
  real,      ///< value: bit pattern, of a double unless written 0f........
  symbol,    ///< id: Module::variables; value: byte offset, `sym+4`
  label,     ///< id: Function::labels
  function,  ///< id: Module::functions
  address,   ///< [base+value]; children: base, then coordinates of a texture
  vector,    ///< {a, b}; children
  list,      ///< (a, b) of a call; children
  pair,      ///< a|b: two destinations; children
  sink,      ///< _
  unknown,   ///< an identifier nothing declares, or a form not modelled: only the span says what
};

struct Operand {
  OperandKind kind = OperandKind::unknown;
  bool negated = false;           ///< !p
  std::uint8_t component = 0xff;  ///< .x .y .z .w of a vector register: 0 to 3
  std::uint8_t reserved = 0;
  std::uint32_t id = kNone;  ///< see OperandKind; of a composite: its first child in Function::operands
  std::int64_t value = 0;
  std::uint32_t count = 0;  ///< children of a composite
  Span span = {};           ///< of an address: without the brackets
};

struct Instruction {
  Span span = {};                   ///< guard to semicolon, both included
  std::uint32_t opcode = kNone;     ///< Module::opcodes
  std::uint32_t guard = kNone;      ///< register of @p, or kNone
  bool guard_negated = false;       ///< @!p
  std::uint16_t operand_count = 0;  ///< of Op::unknown: the names and numbers it mentions, flat
  std::uint32_t first_operand = 0;  ///< Function::operands
  std::uint32_t line = 0;           ///< of the PTX text, 1-based
  std::uint32_t location = kNone;   ///< Module::locations: the .loc in force
};

struct Register {
  std::string_view name = {};
  std::string_view type = {};  ///< "b32", "pred", "f64"
  std::uint8_t vector = 1;     ///< 2 or 4 for .v2 .v4
};

struct Label {
  std::string_view name = {};
  std::uint32_t instruction = kNone;        ///< the instruction that follows (may be one past the last)
  std::vector<std::uint32_t> targets = {};  ///< of a `.branchtargets` label: labels
};

enum class Linkage : std::uint8_t { none, external, visible, weak, common };

/// A .global, .shared, .const, .local or .param variable.
struct Variable {
  std::string_view name = {};
  Space space = Space::none;
  Linkage linkage = Linkage::none;
  std::uint32_t align = 1;         ///< as declared, or the natural one of its type [bytes]
  std::uint64_t bytes = 0;         ///< 0: unsized (extern .shared .b8 x[])
  std::string_view type = {};      ///< "b8", "f32"
  std::uint32_t function = kNone;  ///< the function whose body or header declares it; kNone: module scope
  std::uint32_t line = 0;
  Span declaration = {};  ///< first token to semicolon (a parameter: without the comma)
  Span name_span = {};
  bool alone = true;                                 ///< false: one declaration names several variables
  std::array<std::uint32_t, 2> users{kNone, kNone};  ///< the first two functions whose code names it
  bool used_by_function = false;                     ///< the code of a .func names it, not of kernels alone
};

/// A name used where no instruction stands: initialisers, debug sections, aliases, unknown directives.
struct Reference {
  std::uint32_t variable = kNone;
  Span span = {};
};

struct Location {
  std::uint32_t file = 0, line = 0, column = 0;
  std::uint32_t inlined_at = kNone;  ///< Module::locations: the call this code was inlined at
};

struct Function {
  std::string_view name = {};
  bool entry = false;  ///< .entry (a kernel) or .func
  bool has_body = false;
  Linkage linkage = Linkage::none;
  std::uint32_t line = 0;
  Span span = {};    ///< first linkage token to closing brace or semicolon
  Span header = {};  ///< up to the opening brace or semicolon
  Span body = {};    ///< braces included
  std::vector<std::uint32_t> parameters = {}, results = {};  ///< Module::variables
  std::optional<std::array<std::uint32_t, 3>> required_threads = {},
                                              maximal_threads = {};  ///< .reqntid, .maxntid
  Span required_threads_span = {}, maximal_threads_span = {};        ///< the whole directive
  std::optional<std::uint32_t> minimal_blocks_per_sm = {}, maximal_registers = {};
  bool cluster = false;  ///< .reqnctapercluster, .explicitcluster or .maxclusterrank
  std::optional<std::array<std::uint32_t, 3>> required_cluster = {};  ///< .reqnctapercluster [blocks]
  std::vector<Register> registers = {};                               ///< those that the body uses
  std::vector<Instruction> instructions = {};
  std::vector<Operand> operands = {};
  std::vector<Label> labels = {};
  std::vector<std::uint32_t> variables = {};  ///< declared in the body: Module::variables

  // Unchecked, for inner loops: instructions and operands are this function's, as parse() made them.
  std::span<const Operand> operands_of(const Instruction& i) const {
    return {operands.data() + i.first_operand, i.operand_count};
  }
  std::span<const Operand> children(const Operand& o) const { return {operands.data() + o.id, o.count}; }
};

struct Module {
  std::string file;  ///< for messages
  std::string text;
  std::string_view version, target;  ///< "8.0", "sm_90, debug"
  std::uint32_t sm = 0;              ///< 90 of sm_90a; 0 when unreadable
  std::uint32_t address_bits = 32;
  bool debug = false;          ///< .target ..., debug: compiled with -G
  std::deque<Opcode> opcodes;  ///< each distinct instruction name once
  std::vector<Variable> variables;
  std::vector<Function> functions;  ///< in order of appearance; a declaration and its definition are two
  std::vector<Location> locations;
  std::unordered_map<std::uint32_t, std::string> files;  ///< .file
  std::vector<Reference> references;                     ///< uses outside instructions

  /// @throws BadInput (a span that does not lie in the text)
  std::string_view text_of(Span s) const;
  /// Unchecked, for inner loops: an instruction of this module.
  const Opcode& opcode(const Instruction& i) const { return opcodes[i.opcode]; }
  /// Definition of that name (else its declaration); nullptr when there is none.
  const Function* find_function(std::string_view name) const;

  Module() = default;
  Module(Module&&) = default;
  Module& operator=(Module&&) = default;
  Module(const Module&) = delete;  // string_views point into `text`
};

/// Reads PTX of ISA 6.0 to 9.0. An instruction it does not know is kept verbatim, as Op::unknown.
/// Time and memory are linear in the text; below 20 bytes a byte of text.
/// @throws ParseError (file, line, column, what was expected), BadInput (text of 4 GiB and more)
Module parse(std::string text, std::string file = "<ptx>");

/// The module's text.
std::string print(const Module& module);

/// Symbols of the kernels that a person may mean: of the one with this symbol; else of those with this C++
/// name, with or without parameters; else of those whose C++ declaration holds the text. All of them for an
/// empty text.
std::vector<std::string> kernels_named(const Module& module, std::string_view asked);

/// Changes to a text, kept apart from it until they are applied together.
class Edits {
 public:
  /// Spans of different calls may not overlap; insertions at one place keep the order of the calls.
  void replace(Span span, std::string text);
  void insert(std::uint32_t at, std::string text) { replace({at, at}, std::move(text)); }
  void append(const Edits& more) {
    const std::size_t count = more.edits_.size();  // `more` may be these edits themselves
    edits_.reserve(edits_.size() + count);
    for (std::size_t k = 0; k < count; ++k) edits_.push_back(more.edits_[k]);
  }
  bool empty() const { return edits_.empty(); }
  /// @throws Internal when two edits overlap
  std::string apply(std::string_view text) const;

 private:
  struct Edit {
    Span span;
    std::string text;
  };
  std::vector<Edit> edits_;
};

}  // namespace warploom::ptx
