#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

/// Loop nests of C sources: what was read, as a tree that is also what transformations give back. The subset:
/// `for` loops with affine bounds, affine `if`, assignments to array elements and scalars, sizes as symbols.
namespace warploom::tile {

/// A place in the source, 1-based; {0, 0} for what no source shows.
struct Position {
  unsigned line = 0, column = 0;
};

enum class ScalarType {
  float32,
  float64,
  int32,
  character,  ///< C's char
  int8,
  uint8,
  int16,
  uint16,
  uint32,
  int64,
  uint64,
};
/// "float", "double", "int", "unsigned char", "long"
std::string_view c_name(ScalarType type);
/// Bytes of one element.
int size_of(ScalarType type);

/// An expression, as C has it.
struct Expression {
  enum class Kind {
    integer,  ///< value
    real,     ///< text, as written: "1.0f"
    name,     ///< text: a loop, a size, a scalar
    element,  ///< text: the array; operands: its subscripts
    unary,    ///< text: "-" "+" "!" "~"; one operand
    binary,   ///< text: "+" "-" "*" "/" "%" "<" "<=" ">" ">=" "==" "!=" "&&" "||", of integers of memory "&"
              ///< "|"
              ///< "^" "<<" ">>", too; two operands
    conditional,  ///< operands: condition, value if it holds, value if not
    call,         ///< text: "sqrt", "min", "max", "floord" (floor of a quotient); operands: arguments
    cast,         ///< text: the type's C name; one operand
  };
  Kind kind = Kind::integer;
  std::string text = {};
  std::int64_t value = 0;
  std::vector<Expression> operands = {};
  Position at = {};

  static Expression integer(std::int64_t value);
  static Expression name(std::string name);
  static Expression element(std::string array, std::vector<Expression> subscripts);
  static Expression unary(std::string op, Expression operand);
  static Expression binary(std::string op, Expression left, Expression right);
  static Expression conditional(Expression condition, Expression yes, Expression no);
  static Expression call(std::string function, std::vector<Expression> arguments);

  bool operator==(const Expression& other) const;  ///< the same expression, wherever it stands
};

/// C text with the fewest parentheses that keep its meaning: "alpha * A[i][k] + 1.0f".
std::string to_text(const Expression& expression);
/// The integer that an expression of sizes and iterators is.
/// @throws BadInput (a name without a value, an operation that integers do not have, division by 0)
std::int64_t value_of(const Expression& expression, const std::map<std::string, std::int64_t>& names);
/// Every name for which `by` has an entry, replaced.
Expression substitute(Expression expression, const std::map<std::string, Expression>& by);

/// A variable into which iterations combine their values in any order.
struct Reduction {
  std::string op = {};  ///< "+" "*" "min" "max"
  std::string variable = {};
};

/// A statement of C: a tree of loops, branches and assignments.
struct Node {
  enum class Kind {
    block,       ///< children one after the other
    loop,        ///< for (iterator = first; iterator COMPARISON limit; iterator += step) children
    branch,      ///< if (condition) children[0] else children[1], both blocks; the second may be absent
    assignment,  ///< target OP value
    launch,      ///< of a GPU's host program: `statement` is the kernel's number
  };
  Kind kind = Kind::block;
  Position at = {};
  std::vector<Node> children = {};

  std::string iterator = {};               ///< loop
  Expression first = {};                   ///< loop
  std::string comparison = {};             ///< loop: "<" "<=" ">" ">="; of generated code always "<" or "<="
  Expression limit = {};                   ///< loop
  std::int64_t step = 1;                   ///< loop; not 0; negative for decreasing loops
  bool parallel = false;                   ///< loop of generated code: no dependence is carried by it
  std::vector<Reduction> reductions = {};  ///< parallel loop: what it carries none the less
  bool vector = false;  ///< loop of C that is written: no loop is within it, and it carries nothing
  std::int64_t strip =
      0;  ///< loop of generated code: in a strip of so many iterations, which most are; else 0
  /// loop: variables that its body declares, so that each iteration has its own: nothing goes from one to
  /// another through them, and they hold nothing when it begins.
  std::vector<std::string> locals = {};
  /// loop of C that is written: elements that all its iterations read, by names that they have before it.
  std::vector<std::pair<std::string, Expression>> constants = {};

  Expression condition = {};  ///< branch; loop of C that is written: when it is shared, or runs

  int statement = -1;   ///< assignment: its number in the region, in the order of the text
  std::string op = {};  ///< assignment: "=" "+=" "-=" "*=" "/="
  Expression target = {}, value = {};
};

/// An array or scalar that the region names.
struct Variable {
  std::string name = {};
  ScalarType type = ScalarType::float32;
  std::vector<Expression> extents = {};  ///< outermost first, affine in the sizes; empty: a scalar
  bool is_parameter = false;             ///< lives outside of the region: its last value matters
  bool is_constant = false;              ///< const-qualified
  bool is_result =
      false;             ///< a scalar whose last value is seen outside: C and CUDA give it through a pointer
  bool is_flat = false;  ///< an array that the source has a pointer to the elements of, "float *A"
  bool has_row_pointers = false;  ///< an array that the source has pointers to the rows of, "float **A"
  Position at = {};
};

/// How the source declares a size.
struct SizeDeclaration {
  std::string type = {};        ///< as written: "int", "size_t"
  bool wider_than_int = false;  ///< it has values above 2^31 - 1
  Position at = {};
};

/// What stands outside of the subset, with what to do about it.
struct Refusal {
  Position at = {};
  std::string construct = {};  ///< "while loop", "subscript i * i"
  std::string why = {};        ///< one sentence
};
/// "gemm.c:12:7: while loop: the number of iterations is not known before it runs"
std::string to_text(const std::string& file, const Refusal& refusal);

/// Where a nest that Clang read stands, and what its names are there: for those who run it as it is.
struct SourceText {
  std::size_t begin = 0, end = 0;  ///< bytes of Region::file; `end` is 0 where they are not known
  /// A variable of the function that the text speaks of and does not declare.
  struct Local {
    std::string name = {}, type = {};  ///< as Clang has them: "A", "double[n][4]"
    std::string value = {};            ///< what its declaration sets it to; may be empty
  };
  std::vector<Local> locals = {};                       ///< in the order of their declarations
  std::map<std::string, std::string> expressions = {};  ///< of Region::parameters: "s_n" is "s->n"
  std::vector<std::string> views = {};  ///< of these: numbers in arrays of structures, as an array of numbers
  std::string kept = {};  ///< why other C cannot stand in its place; empty: Region::first and last say where
};

/// A static control part: a function's loops, or what stands between `#pragma scop` and `#pragma endscop`.
struct Region {
  std::string file = {}, function = {};
  Position at = {};
  /// The text of `file` that computes what `body` does, from `first` to before `last`: what may be replaced.
  /// {0, 0}: it is not in one piece there (a macro or an included file has a part of it).
  Position first = {}, last = {};
  SourceText text = {};
  std::vector<std::string> sizes =
      {};  ///< integer parameters that are never assigned, in the order of the text
  std::map<std::string, SizeDeclaration> size_declarations = {};  ///< of each of `sizes`
  /// What comes from outside, sizes, arrays and scalars: the function's parameters in their order, then
  /// others.
  std::vector<std::string> parameters = {};
  std::vector<Variable> variables =
      {};                     ///< arrays and scalars in the order of the text, sizes not among them
  std::string returned = {};  ///< the result that the function returns, not through a pointer; may be empty
  Node body = {};             ///< assignments are numbered
  int statements = 0;
  std::vector<std::string> remarks = {};  ///< for people: what was assumed, what names stand for
  std::vector<Refusal> refusals = {};     ///< not empty: outside of the subset, body holds what could be read
};
const Variable* find_variable(const Region& region, std::string_view name);

/// C text of a tree, two spaces an indentation level; loops declare their iterators: "for (int i = 0; i < n;
/// i++) {".
/// @param before_loop  text for the lines before a loop ("#pragma omp parallel for\n"), may be empty
/// @param region  of the locals' types: with it loops' bodies declare their locals
std::string to_text(const Node& node, int indentation = 0,
                    std::string (*before_loop)(const Node& loop) = nullptr,
                    std::string_view iterator_type = "int", const Region* region = nullptr);

struct SourceOptions {
  std::map<std::string, std::string> macros = {};  ///< as -D NAME=TEXT
  std::vector<std::string> include_folders = {};   ///< for #include "..."
  std::string function = {};                       ///< only this one; empty: all with loops
};

/// The regions of a C text: if there is a `#pragma scop` what such pragmas enclose, else every function with
/// loops. Understands macros, conditional compilation and #include "..."; #include <...> is skipped unless an
/// include folder has the file. A construct outside of the subset makes its region carry refusals, the others
/// are read all the same. Bounds, subscripts and conditions of `if` are refused here if they read memory;
/// whether they are affine (i * j is not) and whether unknown extents can do is left to Nest::analyse.
/// Integers of any width are taken not to wrap. What a declaration initialises and nothing assigns again is
/// replaced by its value if that is a literal or an index.
/// @throws ParseError (not C: "gemm.c:3:4: ...")  @throws BadInput (no such function; an included file)
/// @note O(length of the text after macros); nesting is limited to 200, operators in one another to 1000.
std::vector<Region> read_source(std::string_view text, const std::string& file, const SourceOptions& options);

}  // namespace warploom::tile
