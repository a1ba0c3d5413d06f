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

/// Lines of a text, by where they begin.
class Lines {
 public:
  explicit Lines(std::string_view text) : text_(text) {}

  std::size_t begin_of(std::size_t at) const { return at == 0 ? 0 : text_.rfind('\n', at - 1) + 1; }
  /// Of the line that begins there, without white space around.
  std::string_view line(std::size_t begin) const {
    std::string_view line = text_.substr(begin, std::min(text_.find('\n', begin), text_.size()) - begin);
    while (!line.empty() && std::isspace(static_cast<unsigned char>(line.front()))) line.remove_prefix(1);
    while (!line.empty() && std::isspace(static_cast<unsigned char>(line.back()))) line.remove_suffix(1);
    return line;
  }
  Position position(std::size_t at) const {
    const auto lines = std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at), '\n');
    return {static_cast<unsigned>(lines + 1), static_cast<unsigned>(at - begin_of(at) + 1)};
  }

 private:
  std::string_view text_;
};

/// "#pragma omp for", "#if", "": what a line of the preprocessor begins with, with one blank between words.
std::string directive(std::string_view line) {
  if (!line.starts_with('#')) return {};
  std::string text;
  for (const char c : line) {
    const bool blank = std::isspace(static_cast<unsigned char>(c)) || c == '(';
    if (!blank)
      text += c;
    else if (text != "#" && !text.ends_with(' '))
      text += ' ';
  }
  return text;
}

/// What OpenMP's threads do with the loop below: it can be left out.
bool is_for_one_loop(std::string_view directive) {
  return directive.starts_with("#pragma omp parallel for") || directive.starts_with("#pragma omp simd");
}

/// Directives that speak of the loop below them.
bool belongs_to_loop(const std::string& directive) {
  if (directive.starts_with("#pragma omp")) return is_for_one_loop(directive);
  return directive.starts_with("#pragma GCC ivdep") || directive.starts_with("#pragma GCC unroll") ||
         directive.starts_with("#pragma unroll") || directive.starts_with("#pragma ivdep") ||
         directive.starts_with("#pragma simd") || directive.starts_with("#pragma clang loop") ||
         directive.starts_with("#pragma acc parallel") || directive.starts_with("#pragma acc kernels");
}

/// Before the lines of directives that stand directly above.
std::size_t with_directives_above(std::string_view text, std::size_t begin) {
  const Lines lines(text);
  std::size_t at = lines.begin_of(begin);
  if (text.substr(at, begin - at).find_first_not_of(" \t") != text.npos) return begin;
  while (at > 0) {
    std::size_t above = lines.begin_of(at - 1);
    while (above > 0 && lines.line(lines.begin_of(above - 1)).ends_with('\\'))
      above = lines.begin_of(above - 1);
    const std::string_view line = lines.line(above);
    if (!belongs_to_loop(directive(line)) && !line.empty() && !line.starts_with("//")) break;
    if (line.starts_with('#')) begin = above + text.substr(above).find('#');
    at = above;
  }
  return begin;
}

/// Why the text of a run cannot be replaced.
/// @param statements  of the run, but for declarations that it begins with
/// @param end  of its last statement, with the semicolon
std::string why_kept(const Run& run, const std::vector<const Syntax*>& statements, const Region& region,
                     std::string_view text, std::size_t end) {
  const Lines lines(text);
  const Syntax& last = *run.statements.back();
  for (const Syntax* s : statements)
    if (s->in_macro || s->file != last.file) return "a macro or another file has a part of it";
  if (run.file.is_instance(run.function))
    return "it is one instance of a template, and its text is all of them";
  if (last.is("ReturnStmt") && region.returned.empty()) return "it ends in a return";
  for (std::size_t at = statements.front()->begin; at < end;
       at = std::min(text.find('\n', at), text.size() - 1) + 1) {
    const std::string word = directive(lines.line(at));
    if (!word.empty() && !word.starts_with("#pragma")) return "the preprocessor chooses parts of it: " + word;
  }
  // Threads that are there already would run all of it, each.
  if (run.function.file == last.file)
    for (std::size_t at = run.function.begin; at < std::min(run.function.end, text.size());
         at = std::min(text.find('\n', at), text.size() - 1) + 1) {
      const std::string word = directive(lines.line(at));
      if (word.starts_with("#pragma omp") && !is_for_one_loop(word))
        return "threads may run its function: " + word;
    }
  for (const Syntax* s : statements) {
    if (!s->is("DeclStmt")) continue;
    for (const Syntax& declared : s->children) {
      if (!declared.is("VarDecl")) return "it declares what is no variable";
      const std::vector<Use>& uses = run.survey.uses(declared.id);
      const bool behind = std::ranges::any_of(uses, [&](const Use& use) { return use.at > last.last; });
      const auto found = std::ranges::find_if(region.variables, [&](const Variable& variable) {
        return variable.at.line == declared.at.line && variable.at.column == declared.at.column;
      });
      if (behind && (found == region.variables.end() || !found->is_result || !found->extents.empty()))
        return "it declares " + declared.name + ", which is used behind it";
    }
  }
  return {};
}

}  // namespace

void locate(const Run& run, Region& region) {
  SourceText& text = region.text;
  text.locals = Mentioned(run).locals();
  const Syntax &first = *run.statements.front(), &last = *run.statements.back();
  text.kept = "a macro or another file has a part of it";
  if (first.file != last.file || last.end <= first.begin) return;
  text.begin = first.begin;
  text.end = last.end;
  const std::string_view whole = run.file.whole_text(last.file);
  if (text.end > whole.size()) return;
  // Of a statement that is an expression the tree does not have the semicolon.
  std::size_t end = text.end;
  if (whole[end - 1] != '}' && whole[end - 1] != ';') {
    end = whole.find_first_not_of(" \t\r\n", end);
    if (end == whole.npos || whole[end] != ';') return;
    ++end;
  }
  // Declarations that it begins with may stay: what they set is set again.
  std::vector<const Syntax*> statements = run.statements;
  while (statements.front()->is("DeclStmt") && statements.size() > 1) statements.erase(statements.begin());
  if (statements.front()->end <= statements.front()->begin || statements.front()->begin >= end) return;
  text.kept = why_kept(run, statements, region, whole, end);
  if (!text.kept.empty()) return;
  const Lines lines(whole);
  region.first = lines.position(with_directives_above(whole, statements.front()->begin));
  region.last = lines.position(end);
}

}  // namespace warploom::tile
