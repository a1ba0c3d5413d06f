#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "tile/c/wellformed.hpp"
#include "tile/explain/rows.hpp"

namespace warploom::tile {
namespace {

class ReportWriter {
 public:
  ReportWriter(const Nest& nest, const Explanation& explanation) : nest_(nest), explanation_(explanation) {}

  std::string run() {
    heading();
    reuses();
    footprints();
    dependence_list();
    bands();
    judged("Orders of loops", explanation_.permutations);
    judged("Tilings", explanation_.tilings);
    judged("Asked for", explanation_.asked);
    return std::move(out_);
  }

 private:
  template <typename... T>
  void line(fmt::format_string<T...> format, T&&... values) {
    out_ += fmt::format(format, std::forward<T>(values)...);
    out_.erase(out_.find_last_not_of(' ') + 1);
    out_ += "\n";
  }

  void heading() {
    const Region& region = nest_.region();
    line("{}:{}: {}({})", region.file, region.at.line, region.function, fmt::join(region.sizes, ", "));
    std::size_t width = 0;
    for (const Statement& s : nest_.statements()) width = std::max(width, loops_text(s.loops).size());
    for (const Statement& s : nest_.statements())
      line("  {:<4}line {:<4}  {:<{}}  {}{}", s.label, s.assignment.at.line, loops_text(s.loops), width,
           assignment_text(s), s.reduction.empty() ? "" : fmt::format("   reduction by {}", s.reduction));
    for (const std::string& remark : explanation_.remarks) line("  {}", remark);
  }

  /// A table of references and loops; below it, who shares with whom.
  void reuses() {
    const std::vector<ReferenceRow> rows = reference_rows(nest_, explanation_.reuse);
    std::vector<std::string> loops;
    std::size_t width = 12;
    for (const ReferenceRow& row : rows) {
      width = std::max(width, row.element.size() + 2);
      for (const std::string& loop : nest_.statements()[row.statement].loops)
        if (std::ranges::find(loops, loop) == loops.end()) loops.push_back(loop);
    }
    std::string head;
    for (const std::string& loop : loops) head += fmt::format("{:<11}", loop);
    line("\n{:<{}}{}", "Reuse", 14 + width, head);
    for (const ReferenceRow& row : rows) {
      const Statement& statement = nest_.statements()[row.statement];
      std::string cells;
      for (const std::string& loop : loops) {
        const auto at = std::ranges::find(statement.loops, loop) - statement.loops.begin();
        const bool around = at < std::ssize(statement.loops);
        cells += fmt::format("{:<11}", !around ? "" : row.by_loop[at].empty() ? "-" : row.by_loop[at]);
        if (cells.back() != ' ') cells += "  ";
      }
      line("  {:<4}{:<{}}{:<8}{}", statement.label, row.element, width, row.access, cells);
    }
    for (const GroupRow& group : group_rows(rows, explanation_.reuse))
      line("  group-{} {}: {}",
           !group.temporal ? "spatial"
           : group.spatial ? "temporal and group-spatial"
                           : "temporal",
           group.loop.empty() ? "within an iteration" : "in " + group.loop, to_text(nest_, rows, group));
  }

  void footprints() {
    if (explanation_.footprint.empty()) return;
    std::vector<std::string> extents;
    for (const auto& [loop, extent] : explanation_.tile)
      extents.push_back(fmt::format("T{} = {}", loop, extent));
    line("\nFootprint of a tile with {}", fmt::join(extents, ", "));
    std::size_t name = 8, formula = 8;
    std::int64_t total = 0;
    for (const Footprint& f : explanation_.footprint) {
      name = std::max(name, f.array.size());
      formula = std::max(formula, f.formula.size());
      total += f.bytes;
    }
    for (const Footprint& f : explanation_.footprint)
      line("  {:<{}}  {:<{}}  {:>9} elements {:>10} bytes{}", f.array, name, f.formula, formula, f.elements,
           f.bytes, f.exact ? "" : " at most");
    if (explanation_.footprint.size() > 1)
      line("  {:<{}}  {:<{}}  {:>18} {:>10} bytes", "together", name, "", formula, "", total);
  }

  void dependence_list() {
    line("\nDependences{}", explanation_.dependences.empty() ? ": none" : "");
    struct Columns {
      std::string what, distance, carried, witness;
    };
    std::vector<Columns> all;
    Columns widest;
    for (const DependenceRow& row : dependence_rows(nest_, explanation_.dependences)) {
      const Dependence& d = explanation_.dependences[row.members.front()];
      const Statement &source = nest_.statements()[d.source], &sink = nest_.statements()[d.sink];
      const bool carried = d.level < static_cast<int>(d.distance.size());
      all.push_back({fmt::format("{} -> {} on {}: {}", source.label, sink.label,
                                 source.references[d.source_reference].element.text, row.kinds),
                     distance_text(d),
                     fmt::format("carried by {}{}", carried ? source.loops[d.level] : "no loop",
                                 d.reduction ? ", reduction" : ""),
                     pair_text(d.witness)});
      for (auto member : {&Columns::what, &Columns::distance, &Columns::carried})
        if ((widest.*member).size() < (all.back().*member).size()) widest.*member = all.back().*member;
    }
    for (const Columns& row : all)
      line("  {:<{}}  {:<{}}  {:<{}}  as {}", row.what, widest.what.size(), row.distance,
           widest.distance.size(), row.carried, widest.carried.size(), row.witness);
  }

  void bands() {
    line("\nFully permutable bands");
    for (const Band& band : explanation_.bands)
      line("  {} around {}", loops_text(band.loops), labels(nest_, band.statements));
  }

  void judged(std::string_view title, const std::vector<Judged>& all) {
    if (all.empty()) return;
    line("\n{}", title);
    for (const JudgedRow& row : judged_rows(nest_, all)) {
      const std::string of = row.statements.empty() || nest_.statements().size() == 1
                                 ? std::string()
                                 : fmt::format("{:<10}  ", labels(nest_, row.statements));
      line("  {}{:<7}  {}", of, row.verdict.legal ? "legal" : "illegal", tried_text(row));
      const std::string indent(2 + of.size() + 9, ' ');
      if (!row.verdict.legal) line("{}{}", indent, row.verdict.reason);
      if (!row.cure.empty()) line("{}legal after {}", indent, row.cure);
    }
  }

  std::string tried_text(const JudgedRow& row) const {
    constexpr std::size_t most = 6;
    if (row.all && row.tried.size() > 1)
      return "every other order than " + loops_text(nest_.statements()[row.statements.front()].loops);
    const auto last = row.tried.begin() + static_cast<std::ptrdiff_t>(std::min(most, row.tried.size()));
    return fmt::format("{}{}", fmt::join(row.tried.begin(), last, "; "),
                       row.tried.size() > most ? fmt::format(" and {} more", row.tried.size() - most) : "");
  }

  static std::string loops_text(const std::vector<std::string>& loops) {
    return fmt::format("({})", fmt::join(loops, ", "));
  }

  const Nest& nest_;
  const Explanation& explanation_;
  std::string out_;
};

}  // namespace

std::string to_text(const Nest& nest, const Explanation& explanation) {
  check(nest, explanation);
  return ReportWriter(nest, explanation).run();
}

}  // namespace warploom::tile
