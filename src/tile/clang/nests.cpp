// The largest pieces of functions that are nests.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "tile/clang/inline_calls.hpp"
#include "tile/sets/inferred_extents.hpp"
#include "warploom/core/error.hpp"
#include "warploom/tile/clang.hpp"
#include "warploom/tile/nest.hpp"

namespace warploom::tile {
namespace {

using Block = std::vector<const Syntax*>;
constexpr int kMostData = 100;  // variables of a run that turn out to be data

bool is_iterator(const Node& node, const std::string& name) {
  return (node.kind == Node::Kind::loop && node.iterator == name) ||
         std::ranges::any_of(node.children, [&](const Node& child) { return is_iterator(child, name); });
}

Block children_of(const Syntax& node) {
  Block all;
  if (!node.is("CompoundStmt")) return {&node};
  for (const Syntax& child : node.children) all.push_back(&child);
  return all;
}

/// "file:3:4: construct: why", as the analysis says it.
Refusal refusal_of(const std::string& message, const Region& region) {
  Refusal refusal{region.at, "nest", message};
  std::string_view rest = message;
  if (!rest.starts_with(region.file + ":")) return refusal;
  rest.remove_prefix(region.file.size() + 1);
  unsigned line = 0, column = 0;
  const auto number = [&](unsigned& value) {
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    if (error != std::errc() || end == rest.data() + rest.size() || *end != ':') return false;
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()) + 1);
    return true;
  };
  if (!number(line) || !number(column) || !rest.starts_with(" ")) return refusal;
  rest.remove_prefix(1);
  const std::size_t colon = rest.find(": ");
  if (colon == rest.npos) return refusal;
  return {{line, column}, std::string(rest.substr(0, colon)), std::string(rest.substr(colon + 2))};
}

/// An array whose subscripts memory holds gets a size of its own.
void name_extent(Region& region, const std::string& array, std::size_t dimension) {
  const auto variable = std::ranges::find(region.variables, array, &Variable::name);
  std::string size = array + (dimension == 0 ? "_length" : "_row_length");
  const auto taken = [&](const std::string& name) {
    return std::ranges::count(region.sizes, name) > 0 || find_variable(region, name) ||
           is_iterator(region.body, name);
  };
  while (taken(size)) size += "_";
  variable->extents[dimension] = Expression::name(size);
  variable->extents[dimension].at = variable->at;
  region.sizes.push_back(size);
  region.size_declarations[size] = {"int", false, variable->at};
  region.parameters.insert(region.parameters.begin(), size);
  region.remarks.push_back(fmt::format("{} is taken to have {} {}, which is asked for besides", array, size,
                                       variable->extents.size() > dimension + 1 ? "rows" : "elements"));
}

/// What can be read has to be affine, too. @throws BadInput
void check_affine(Region& region) {
  while (true) {
    try {
      sets_of(region, {});
      return;
    } catch (const UnknownExtents& unknown) {
      for (const auto& [array, dimension] : unknown.extents) name_extent(region, array, dimension);
    } catch (const Internal& error) {  // of isl, as for numbers at the end of 64 bits
      throw BadInput(to_text(region.file, Refusal{region.at, "nest", error.what()}));
    }
  }
}

class NestFinder {
 public:
  NestFinder(const SourceFile& file, const Syntax& function, std::vector<Region>& out)
      : file_(file), function_(function), survey_(function), out_(out) {}

  void run() {
    for (const Syntax& child : function_.children)
      if (child.is("CompoundStmt") && has_loop(child)) block(children_of(child), true);
    if (refused_.refusals.empty()) return;
    refused_.function = file_.name(function_);
    out_.push_back(std::move(refused_));
  }

 private:
  struct Attempt {
    std::optional<Region> region;
    std::size_t failed = 0;
    Refusal refusal;
  };

  Attempt attempt(const Block& statements, bool whole) const {
    return attempt(statements, whole, function_, survey_);
  }
  Attempt attempt(const Block& statements, bool whole, const Syntax& function, const Survey& survey) const {
    Run run{file_, function, survey, statements, whole, {}};
    Attempt result;
    while (true) {
      try {
        result.region = Translator(run).region(result.failed);
        return result;
      } catch (const Demoted& variable) {
        if (run.data.size() >= kMostData || !run.data.insert(variable.key).second) {
          result.refusal = {statements[result.failed]->at, "integer variable", "its value is not known"};
          return result;
        }
      } catch (const NotRead& error) {
        result.refusal = error.refusal;
        return result;
      }
    }
  }

  void refuse(const Refusal& refusal, const Syntax& within) {
    const auto same = [&](const Refusal& other) {
      return other.at.line == refusal.at.line && other.at.column == refusal.at.column &&
             other.construct == refusal.construct;
    };
    if (std::ranges::any_of(refused_.refusals, same)) return;
    if (refused_.file.empty()) {
      refused_.file = within.file < 0 ? "" : file_.translation.files[static_cast<std::size_t>(within.file)];
      refused_.at = within.at;
    }
    refused_.refusals.push_back(refusal);
  }

  /// Block of one block.
  void block(const Block& statements, bool whole) {
    for (std::size_t begin = 0; begin < statements.size();) {
      const Block rest(statements.begin() + static_cast<std::ptrdiff_t>(begin), statements.end());
      if (std::ranges::none_of(rest, [](const Syntax* s) { return has_loop(*s); })) return;
      Attempt all = attempt(rest, whole && begin == 0);
      if (all.region) {
        nest(rest, std::move(*all.region), whole && begin == 0);
        return;
      }
      const Block before(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(all.failed));
      piece(before);
      // By itself it may do: what changes a size of it may come after it.
      if (const Syntax& failed = *rest[all.failed]; is_loop(failed) && rest.size() > 1)
        alone(failed);
      else
        within(failed, all.refusal);
      begin += all.failed + 1;
    }
  }

  /// Whether a statement at the edge of a nest is part of it: sums, not the reckoning of sizes before.
  static bool belongs(const Syntax& s) {
    if (has_loop(s)) return true;
    const Syntax* e = &s;
    if (s.is("DeclStmt") && s.children.size() == 1 && s.children[0].is("VarDecl") &&
        !s.children[0].children.empty())
      e = &s.children[0];
    else if (!s.is("BinaryOperator") && !s.is("CompoundAssignOperator"))
      return false;
    return e->type.find("float") != std::string::npos || e->type.find("double") != std::string::npos;
  }

  /// Whether a statement sets what the loops after it move: `k = 0`, `float *p = a`.
  bool starts_counter(const Syntax& s, const Syntax& last) const {
    return std::ranges::any_of(parts_of(s), [&](const Syntax* part) {
      const std::string id = part->is("VarDecl") && part->children.empty() ? "" : set_by(*part);
      return !id.empty() && survey_.written(id, s.last + 1, last.last);
    });
  }

  void piece(Block statements) {
    while (!statements.empty() && !belongs(*statements.back())) statements.pop_back();
    while (!statements.empty() && !belongs(*statements.front()) &&
           !starts_counter(*statements.front(), *statements.back()))
      statements.erase(statements.begin());
    if (std::ranges::none_of(statements, [](const Syntax* s) { return has_loop(*s); })) return;
    Attempt all = attempt(statements, false);
    if (all.region)
      nest(statements, std::move(*all.region), false);
    else  // what stood before it gave a variable its value
      for (const Syntax* s : statements)
        if (has_loop(*s)) alone(*s);
  }

  void alone(const Syntax& s) {
    Attempt one = attempt({&s}, false);
    if (one.region)
      nest({&s}, std::move(*one.region), false);
    else
      within(s, one.refusal);
  }

  void nest(const Block& statements, Region region, bool whole) {
    if (!whole) region.function += fmt::format("_line{}", region.at.line);
    Refusal refusal;
    try {
      check_affine(region);
      out_.push_back(std::move(region));
      return;
    } catch (const BadInput& error) {
      refusal = refusal_of(error.what(), region);
    }
    if (statements.size() > 1) {
      for (const Syntax* s : statements)
        if (has_loop(*s)) alone(*s);
      return;
    }
    within(*statements[0], refusal);
  }

  /// A loop that is refused for a call, with what it calls written in its place. @return whether it is taken
  bool with_calls(const Syntax& loop) {
    const std::optional<Inlined> inlined = with_calls_inlined(file_, function_, loop);
    if (!inlined) return false;
    const Survey survey(inlined->function);
    Attempt one = attempt({&*inlined->loop}, false, inlined->function, survey);
    if (!one.region) return false;
    one.region->function += fmt::format("_line{}", one.region->at.line);
    try {
      check_affine(*one.region);
    } catch (const BadInput&) {
      return false;
    }
    one.region->text.kept = "functions that it calls are written out in it";
    out_.push_back(std::move(*one.region));
    return true;
  }

  /// What is refused as a whole may hold loops that are not.
  void within(const Syntax& s, const Refusal& refusal) {
    if (!has_loop(s)) return;
    if (is_loop(s)) {
      if (refusal.construct.starts_with("call of ") && with_calls(s)) return;
      refuse(refusal, s);
      if (s.children.empty()) return;
      return block(children_of(s.children.back().is("CompoundStmt") || !s.is("DoStmt") ? s.children.back()
                                                                                       : s.children.front()),
                   false);
    }
    if (s.is("CompoundStmt")) return block(children_of(s), false);
    for (const Syntax& child : s.children)
      if (has_loop(child)) {
        if (is_loop(child))
          alone(child);
        else
          within(child, refusal);
      }
  }

  const SourceFile& file_;
  const Syntax& function_;
  const Survey survey_;
  std::vector<Region>& out_;
  Region refused_;
};

}  // namespace

std::vector<Region> nests_of(Translation translation, const std::string& name, const SourceOptions& source) {
  mark_incomplete(translation.root);
  const SourceFile file(translation);
  std::vector<Region> regions;
  bool found = source.function.empty();
  for (const Syntax* function : file.functions) {
    if (!source.function.empty() && function->name != source.function &&
        file.name(*function) != source.function)
      continue;
    found = true;
    NestFinder(file, *function, regions).run();
  }
  if (!found) throw BadInput(fmt::format("{}: there is no function {} with a body", name, source.function));
  return regions;
}

std::vector<Region> read_syntax_tree(std::string_view json, const std::string& name,
                                     const SourceOptions& source) {
  return nests_of(read_syntax(json, name), name, source);
}

}  // namespace warploom::tile
