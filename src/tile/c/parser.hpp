#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tile/c/preprocess.hpp"

namespace warploom::tile {

/// A construct outside of the subset: ends its statement, which is skipped.
struct Refused {
  Refusal refusal;
};

/// What a name stands for.
struct Symbol {
  std::string type_name;           ///< as written: "unsigned long"
  std::optional<ScalarType> type;  ///< none: no type of elements, perhaps of sizes and loops
  bool integer = false, is_unsigned = false;
  bool wider_than_int = false;  ///< an integer with values above 2^31 - 1
  bool is_array = false, is_const = false;
  bool from_outside = false;  ///< its value before or after the region matters
  std::vector<Expression> extents;
  std::string unsupported;          ///< why it may not be used
  std::optional<Expression> value;  ///< of a constant: what is written in its place
  std::string loop;                 ///< the name of the loop that runs over it now
  Node* home = nullptr;             ///< the loop of the region whose body declares it, while that is read
  Position at;
};

/// An expression and what is known of it.
struct Operand {
  Expression expression;
  int height = 1;      ///< of the tree
  bool index = false;  ///< made of integers, sizes and loops alone
};

/// Recursive descent over a preprocessed file. parse.cpp reads the file's scope and finds regions;
/// parse_declaration.cpp, parse_statement.cpp and parse_expression.cpp read what their names say.
class Parser {
 public:
  Parser(Preprocessed source, const SourceOptions& options);
  std::vector<Region> run();

 private:
  struct Specifiers {
    Symbol symbol;  ///< what the declarators start from
    bool is_typedef = false, is_static = false, is_void = false;
  };
  struct Declarator {
    Token name;  ///< `end`: none
    std::size_t name_index = 0;
    Symbol symbol;
    std::size_t parameters = 0;  ///< of a function: index of its '('
    bool from_pointer = false;
  };
  using Scope = std::map<std::string, Symbol*>;

  // parse.cpp
  void match_brackets();
  void external_declaration();
  void function(const Declarator& declarator);
  void regions_of(const std::string& name, std::size_t parameters, std::size_t open);
  void survey(std::size_t begin, std::size_t end);
  void declare_before(std::size_t begin, std::size_t region);
  Region region(const std::string& function, const Token& at, std::size_t begin, std::size_t end);

  // parse_declaration.cpp
  bool starts_type(std::size_t index) const;
  bool starts_declaration() const;
  Specifiers specifiers();
  bool built_in_specifier(Specifiers& s, std::set<std::string>& words);
  void enumeration();
  Declarator declarator(const Specifiers& s, bool pointers_are_arrays);
  void extents(Declarator& d);
  void skip_attributes();
  void skip_initialiser();
  void parameters(std::size_t open);
  void global_initialiser(Symbol& symbol);
  void local_declaration(std::vector<Node>& out);
  void local_variable(Declarator d, bool is_static, std::vector<Node>& out);
  void array_initialiser(const Declarator& d, std::vector<Node>& out);
  void list(const Declarator& d, std::vector<std::int64_t>& subscripts,
            const std::vector<std::int64_t>& extents, std::vector<Node>& out);
  static std::optional<Expression> constant_of(const Symbol& symbol, const Operand& value);
  Symbol* declare(const std::string& name, Symbol symbol);
  /// Declares what stands outside of the region: pointers are arrays.
  void declare_outside(Declarator d, bool is_static);

  // parse_statement.cpp
  void statement(std::vector<Node>& out);
  void statement_within(std::vector<Node>& out);
  void block(std::vector<Node>& out);
  void loop(std::vector<Node>& out);
  void loop_step(Node& node, const std::string& source_name);
  void branch(std::vector<Node>& out);
  void jump(const Token& token);
  void expressions(std::vector<Node>& out);
  void assignment(std::vector<Node>& out);
  void assign(Expression target, const std::string& op, Expression value, Position at,
              std::vector<Node>& out);
  std::size_t end_of_statement(std::size_t begin) const;

  // parse_expression.cpp
  Operand expression();
  Operand conditional();
  Operand binary(int least);
  Operand unary();
  Operand unary_within();
  Operand primary();
  Operand number(bool negated);
  Operand cast();
  Operand call();
  Operand name();
  Operand element(const Token& token, Symbol& symbol);
  Operand subscript();
  Operand index(std::string_view what);  ///< @throws Refused unless made of integers, sizes and loops
  void check_height(const Operand& operand, const Token& at) const;

  // symbols
  Symbol* find(const std::string& name);
  std::string fresh_name(const std::string& name, bool loop);
  const std::string& name_in_region(Symbol& symbol, const std::string& name);
  void name_extents(const Symbol& symbol, const std::string& name, const Expression& extent);
  /// Whether a scalar that the region assigns is seen after it: all but the parameters of a whole function.
  bool is_result(const Symbol& symbol, const std::string& name) const;
  bool is_size(const Symbol& symbol, const std::string& name) const;
  /// `return s;` at the end of a function: s is its result.
  void returned(const Token& name);
  Operand dereference();
  bool assigned_between(const std::string& name, std::size_t begin, std::size_t end) const;
  void enter_scope() { scopes_.emplace_back(); }
  void leave_scope() { scopes_.pop_back(); }

  // tokens
  const Token& here() const { return tokens_[at_]; }
  const Token& next(std::size_t ahead = 1) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
  }
  bool take(std::string_view punctuator);
  bool take_name(std::string_view name);
  void expect(std::string_view punctuator, std::string_view where);
  [[noreturn]] void fail(const Token& at, const std::string& what) const;
  [[noreturn]] void fail_expected(const std::string& what) const;
  [[noreturn]] static void refuse(const Token& at, std::string construct, std::string why);

  const SourceOptions& options_;
  std::vector<std::string> files_;
  std::vector<Token> tokens_;
  std::vector<std::size_t> match_;  ///< of a bracket: where its partner is
  std::size_t at_ = 0;
  static constexpr int kDeepest = 200;
  int depth_ = 0;  // of statements, or of parentheses, subscripts and calls, in one another
  bool any_scop_ = false, found_function_ = false;
  int open_linkage_ = 0;  ///< of extern "C" {

  std::deque<Symbol> symbols_;
  std::vector<Scope> scopes_;  ///< the first is the file's
  std::map<std::string, Specifiers> typedefs_;
  std::set<std::string> functions_;  ///< that the file defines

  /// Of the function that is read: where names stand, and where they get a value.
  std::map<std::string, std::vector<std::size_t>> mentions_, assignments_;
  std::size_t body_begin_ = 0, body_end_ = 0;
  std::optional<ScalarType> result_type_;

  // Of the region that is read.
  bool in_region_ = false, whole_function_ = false;
  Region region_;
  std::size_t region_begin_ = 0, region_end_ = 0, block_end_ = 0;
  std::set<std::string> iterators_;  ///< declared outside of the `for` that runs over them
  enum class Use { loop, other };
  std::map<std::string, Use> used_;             ///< names in the region
  std::set<std::string> running_;               ///< loops around what is read
  Node* body_of_ = nullptr;                     ///< the innermost of them
  std::map<const Symbol*, std::string> named_;  ///< variables and sizes of the region
  std::vector<Region> regions_;
};

}  // namespace warploom::tile
