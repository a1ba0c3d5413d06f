#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "ptx/lex.hpp"
#include "ptx/names.hpp"
#include "warploom/ptx/module.hpp"

namespace warploom::ptx {

/// Recursive descent over one module. parse.cpp reads what stands at module scope, parse_body.cpp what
/// stands between a function's braces.
class Parser {
 public:
  explicit Parser(Module& module)
      : module_(module), lex_(module.text, module.file), range_budget_(module.text.size() / 4) {}
  void run();

 private:
  // parse.cpp
  void top_level();
  void target();
  void function(bool entry, Linkage linkage, std::uint32_t begin);
  void function_directive(Function& f);
  std::vector<std::uint32_t> parameters(std::uint32_t function_index);
  void section();
  void file_directive();
  void location_directive();
  /// To its semicolon or past its braces; the variables it names become references.
  void unknown_directive();
  /// `.shared .align 4 .b8 name[1024], ...;` from the state space's directive on.
  void variables(Linkage linkage, std::uint32_t begin, std::uint32_t function_index);
  /// The type's directives; `bytes` is that of one element until name_and_shape has read the rest.
  Variable variable_type(Space space, Linkage linkage, std::uint32_t function_index);
  void name_and_shape(Variable& v);
  void attribute();
  void initializer();
  static Space space_of(std::string_view directive);

  // parse_body.cpp
  void body(std::uint32_t function_index);
  /// Room for the body that begins here, one allocation a table in what compilers print.
  void reserve_body();
  void statement();
  void body_directive();
  void registers();
  void label(std::string_view name, std::uint32_t at);
  void instruction();
  Operand operand(int depth);
  Operand named_operand();
  Operand number_operand(std::uint32_t begin, bool negative);
  /// `first`, or the pair `first|second` where a bar follows.
  Operand paired(Operand first);
  Operand composite(OperandKind kind, char close, int depth);
  Operand address(int depth);
  /// A constant expression: not evaluated, only its span is kept.
  Operand skip_expression(std::uint32_t begin);
  /// Operands of an instruction that is not known: the names and numbers up to the semicolon, flat.
  void unknown_operands();
  /// Moves the operands read since `mark` from `reading_` to the function, noting names that may be
  /// labels; returns the first index.
  std::uint32_t commit(std::size_t mark);
  void pop_scope();
  Name find(std::string_view name);
  void declare(std::string_view name, Name meaning, std::uint32_t at);

  Module& module_;
  Lexer lex_;
  std::unordered_map<std::string_view, std::uint32_t> opcodes_;
  std::unordered_map<std::string_view, std::uint32_t> globals_;       ///< variables at module scope
  std::unordered_multimap<std::string_view, std::uint32_t> demoted_;  ///< those in bodies, .param apart
  std::unordered_map<std::string_view, std::uint32_t> functions_;     ///< the latest of that name
  std::unordered_map<std::uint64_t, std::uint32_t> location_index_;
  std::uint32_t location_ = kNone;  ///< the .loc in force

  // The body being read.
  Function* function_ = nullptr;
  std::uint32_t function_index_ = kNone;
  std::vector<Scope> scopes_;
  Op op_ = Op::unknown;           ///< of the instruction being read
  std::vector<Operand> reading_;  ///< operands whose instruction or brackets are still open
  std::size_t reserved_to_ = 0;   ///< end of the text that reserve_body() has counted
  std::size_t range_budget_ = 0;  ///< registers that ranges may still keep in tables instead of in names
};

}  // namespace warploom::ptx
