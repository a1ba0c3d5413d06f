#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tile/c/loop_head.hpp"
#include "tile/clang/c_type.hpp"
#include "tile/clang/records.hpp"
#include "tile/clang/survey.hpp"

namespace warploom::tile {

/// What a whole file says, to those who read its functions.
class SourceFile {
 public:
  explicit SourceFile(const Translation& of);

  const Translation& translation;
  Records records;
  std::vector<const Syntax*> functions;  ///< with a body, each once, instances of templates among them
  /// The definition of a function that is called by its name. @return nullptr if the file has none
  const Syntax* definition(const Syntax& callee) const;
  const Syntax* global(const std::string& id) const;
  std::optional<std::int64_t> enumerator(const std::string& id) const;
  /// Of a template, which has the same text for others.
  bool is_instance(const Syntax& function) const { return instances_.count(&function) > 0; }
  /// All of a file; empty if it cannot be read.
  const std::string& whole_text(int file) const;
  /// The characters of a node, where they stand in a file that can be read and are no macro's.
  std::string_view text(const Syntax& node) const;
  CType type(const std::string& text) const { return read_type(text, translation.aliases); }
  /// What a message calls a node: "while loop", or what stands there: "icc->trc[i]".
  std::string construct(const Syntax& node) const;
  /// "gemm", "Matrix_scale"
  std::string name(const Syntax& function) const;

 private:
  void visit(const Syntax& node, const std::string& scope, bool instance);

  std::set<const Syntax*> instances_;
  std::map<std::string, const Syntax*> by_id_, by_name_, globals_;
  std::map<std::string, std::int64_t> enumerators_;
  std::map<std::string, std::string> names_;  ///< of functions, by their ids
  mutable std::map<int, std::string> texts_;
};

/// A construct outside of the subset.
struct NotRead {
  Refusal refusal;
};

/// An integer variable that was to be replaced by its value has to be kept as data.
struct Demoted {
  std::string key;
};

/// What a region is made from: statements of one block.
struct Run {
  const SourceFile& file;
  const Syntax& function;
  const Survey& survey;
  std::vector<const Syntax*> statements;
  bool whole = false;          ///< all of the function's
  std::set<std::string> data;  ///< integer variables that are data
};

/// Sets Region::text, and where its text may be replaced.
void locate(const Run& run, Region& region);

/// Statements of Clang's tree as a region, each file for what stands in its part of the list.
class Translator {
 public:
  explicit Translator(const Run& run);
  /// @param failed  set to the statement at which NotRead is thrown
  /// @throws NotRead, Demoted
  Region region(std::size_t& failed);

 private:
  struct Operand {
    Expression expression = {};
    bool index = false;  ///< made of integers, sizes and loops alone
  };
  /// A variable of the source, or a member of one.
  struct Entity {
    std::string key, name, shown;
    CType type;
    Position at;
    bool parameter = false, global = false, reference = false, is_static = false, inside = false,
         initialised = false;
    std::size_t declared = 0;  ///< Syntax::first of its declaration
  };
  /// Where a pointer points, or an array begins.
  struct Address {
    const Entity* entity = nullptr;
    std::vector<Expression> subscripts;
    std::optional<Expression> offset;  ///< of the next subscript
  };
  /// A part of a structure that is an element.
  struct InElement {
    Address element;
    CType type;              ///< of the part
    std::int64_t bytes = 0;  ///< from the structure's begin, besides the terms
    std::vector<std::pair<Expression, std::int64_t>> terms;
    std::string shown;  ///< ".v"
  };
  /// What followed variables are at one place.
  struct Known {
    std::map<std::string, std::optional<Operand>> values;
    std::map<std::string, std::optional<Address>> pointers;
  };

  // translate_statement.cpp
  void statement(const Syntax& s, std::vector<Node>& out);
  template <class Read>
  void leaf(const Syntax& s, Read read);
  void loop(const Syntax& s, std::vector<Node>& out);
  Node loop_head(const Syntax& s);
  Expression value_before(const Syntax& loop, const Entity& variable);
  void leave_last_value(const Syntax& loop, const std::string& id, std::vector<Node>& out);
  void beside_iterator(const Syntax& loop, const Syntax& list, const std::string& id, std::vector<Node>& out);
  void loop_step(const Syntax& list, const std::string& id, Node& node);
  void refuse_if(const Syntax& at, const std::optional<HeadRefusal>& bad) const;
  void branch(const Syntax& s, std::vector<Node>& out);
  void declaration(const Syntax& variable, std::vector<Node>& out);
  bool is_copy(const Syntax& variable) const;
  void initialise(const Syntax& list, const Entity& entity, std::vector<Expression>& subscripts,
                  std::vector<Node>& out);
  void assignment(const Syntax& s, std::vector<Node>& out);
  void assign(Expression target, const std::string& op, Expression value, Position at,
              std::vector<Node>& out);
  Expression target(const Syntax& lvalue);
  static const Syntax& without_conversion(const Syntax& e);
  void returned(const Syntax& s);
  /// Where variables that are changed within are is not known any more.
  void forget(const Syntax& within);
  void check_iterator(const Syntax& s, const Entity& entity) const;
  // induction.cpp
  bool is_followed(const std::string& key) const;
  bool can_be_followed(const std::string& key) const;
  void follow_from_before();
  bool is_invariant(const Syntax& e, const Syntax& loop, const std::string& but) const;
  std::optional<Expression> trips_of(const Syntax& inner, const Syntax& outer);
  static Expression trips_of(const Node& loop);
  static Expression last_value(const Node& loop);
  std::optional<Expression> growth(const Syntax& s, const std::string& key, const Syntax& loop);
  static std::optional<Expression> grown(const Expression& start, const Expression& by,
                                         Expression iterations);
  static Expression iterations_before(const Node& loop);
  Known enter_loop(const Syntax& s, const Node& loop);
  void wrap_around(const Syntax& s, const Node& loop, const Known& before);
  void leave_loop(Known after);
  bool advance(const Syntax& lvalue, Expression by);
  bool advance_within(const Syntax& e);
  void advance_later();

  // translate_expression.cpp
  Operand value(const Syntax& e);
  Operand value_within(const Syntax& e);
  Operand literal(const Syntax& e, bool negated);
  Operand unary(const Syntax& e);
  Operand binary(const Syntax& e);
  Operand bits_of_index(const Syntax& e, Operand left, const Operand& right) const;
  Operand narrowed(const Syntax& e);
  void keep_type(const Syntax& e, Operand& operand, const Operand& other) const;
  Operand conditional(const Syntax& e);
  Operand cast(const Syntax& e);
  Operand size_of_type(const Syntax& e);
  Operand variable(const Syntax& e);
  Operand element(const Syntax& e);
  std::optional<Operand> element_as_size(const Address& place);
  Operand index_value(const Syntax& e);
  Expression index(const Syntax& e, std::string_view what);
  Expression as_index(const Syntax& e, std::string_view what, Operand operand) const;
  Expression subscript(const Syntax& e);
  /// With C's conversion to the type that stands there, written out.
  Operand converted(const Syntax& e);
  std::optional<Operand> constant_value(const Entity& what);
  std::optional<Expression> constant_of(const CType& type, const Operand& value) const;

  // translate_call.cpp
  Operand call(const Syntax& e);
  template <class Read>
  auto within_call(const Syntax& e, const Syntax& function, Read read);
  Operand inlined(const Syntax& e, const Syntax& function);
  const Syntax& returned_by(const Syntax& body, const std::vector<const Syntax*>& statements) const;
  Address place_of(const Syntax& e, const Syntax& function);
  Operand value_at(const Syntax& e, const Syntax& function);
  Operand result_of(const Syntax& at, const std::vector<const Syntax*>& body, std::size_t from);
  void bind(const Syntax& parameter, const Syntax& argument);
  Operand least_or_most(const Syntax& e, const std::string& name, std::vector<Operand> arguments);

  // members.cpp
  bool is_in_element(const Syntax& expression) const;
  InElement in_element(const Syntax& expression);
  Address member_address(const Syntax& e);

  // address.cpp
  const Entity& entity(const Syntax& e);
  Entity described(const std::string& id, const Syntax& e);
  Address address(const Syntax& e);
  Address pointee(const Syntax& variable);
  bool points_elsewhere(const std::string& key) const;
  bool points_to_own(const std::string& key) const;
  static bool has_row_pointers(const Entity& entity);
  Address step(Address from, Expression subscript, const Syntax& at) const;
  Expression element_of(const Address& at, const Syntax& e);
  std::vector<Expression> extents(const Entity& entity);
  Expression extent(const std::string& text, const Entity& entity);

  bool writes_elements_of(const std::string& type) const;
  std::string name_in_region(const Entity& entity);
  std::string fresh_name(const std::string& name, bool loop) const;
  bool is_size(const Entity& entity) const;
  bool is_seen_outside(const Entity& entity) const;
  [[noreturn]] void refuse(const Syntax& at, std::string construct, std::string why) const;

  /// A counter that is one higher while something is read.
  struct Raised {
    explicit Raised(int& counter) : counter(counter) { ++counter; }
    ~Raised() { --counter; }
    Raised(const Raised&) = delete;
    int& counter;
  };

  const Run& run_;
  const SourceFile& file_;
  const Survey& survey_;
  std::size_t first_ = 0, last_ = 0;  ///< nodes of the run
  Region region_;
  std::set<std::string> iterators_;  ///< of loops in the run
  std::map<std::string, Entity> entities_;
  std::map<std::string, std::string> named_;              ///< key: name in the region
  std::map<std::string, bool> used_;                      ///< names in the region: of a loop?
  std::vector<std::pair<const Syntax*, Node*>> loops_;    ///< around: what they repeat
  std::map<std::string, std::string> running_;            ///< loops around: id, name
  std::map<std::string, std::optional<Operand>> values_;  ///< what is written for a variable; none: not known
  /// Pointers that stand for another's element, or that move; none: where it points is not known.
  std::map<std::string, std::optional<Address>> pointers_;
  mutable std::map<std::string, bool> followed_;
  const Syntax* statement_ = nullptr;  ///< that is being read, if it has no statements within
  int conditional_ = 0;                ///< of it, what may not be evaluated
  int places_ = 0;                     ///< names and pointers that are looked up for one another
  int as_index_ = 0;                   ///< what is read has to be an index
  std::vector<std::pair<const Syntax*, Expression>> later_;  ///< x++ within it
  std::map<std::string, const Syntax*> objects_;  ///< parameters of calls that stand for a variable
  std::vector<const Syntax*> calls_;              ///< functions that are being read
  int depth_ = 0;
};
/// The nests of a file, and what is refused.
std::vector<Region> nests_of(Translation translation, const std::string& name, const SourceOptions& source);

}  // namespace warploom::tile
