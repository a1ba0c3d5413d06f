// Where a nest stands in its file, and the variables of its function that it speaks of.
#include <algorithm>

#include "tile/clang/translate.hpp"

namespace warploom::tile {
namespace {

class Mentioned {
 public:
  explicit Mentioned(const Run& run)
      : run_(run), first_(run.statements.front()->first), last_(run.statements.back()->last) {
    for (const Syntax* s : run.statements) walk(*s);
  }

  std::vector<SourceText::Local> locals() const {
    std::vector<SourceText::Local> all;
    for (const Syntax* declared : run_.survey.declarations())
      if (found_.count(declared->id) || (run_.whole && declared->is("ParmVarDecl")))
        all.push_back({declared->name, declared->type, std::string(value_of(*declared))});
    return all;
  }

 private:
  void walk(const Syntax& node) {
    const Syntax* declared = node.is("DeclRefExpr") ? run_.survey.declaration(node.target) : nullptr;
    const bool outside = declared && (declared->first < first_ || declared->first > last_);
    if (outside && found_.insert(declared->id).second && declared->is("VarDecl"))
      for (const Syntax& child : declared->children) walk(child);
    for (const Syntax& child : node.children) walk(child);
  }

  std::string_view value_of(const Syntax& declared) const {
    return declared.is("VarDecl") && !declared.children.empty() ? run_.file.text(declared.children.back())
                                                                : std::string_view();
  }

  const Run& run_;
  std::size_t first_, last_;
  std::set<std::string> found_;
};

}  // namespace

void locate(const Run& run, SourceText& text) {
  text.locals = Mentioned(run).locals();
  const Syntax &first = *run.statements.front(), &last = *run.statements.back();
  if (first.file != last.file || last.end <= first.begin) return;
  text.begin = first.begin;
  text.end = last.end;
}

}  // namespace warploom::tile
