// Iteration spaces as drawings: points, dependence arrows, tiles and the path through them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "tile/explain/iteration_space.hpp"
#include "tile/explain/page_parts.hpp"
#include "tile/order/loop_paths.hpp"
#include "warploom/page/html.hpp"
#include "warploom/page/text.hpp"

namespace warploom::tile {
namespace {

using page::escaped;

constexpr double kCell = 42, kMargin = 40, kPointRadius = 4;
constexpr std::size_t kMostImplied = 3000;  // arrows that follow from others

struct Place {
  std::int64_t down = 0, across = 0;
  auto operator<=>(const Place&) const = default;
};

/// One drawing: a schedule of the chain that a space was made of.
struct Panel {
  std::string title;
  Schedule schedule;
  bool is_source = false;
};

class Drawing {
 public:
  Drawing(const IterationSpace& space, const std::array<std::string, 2>& loops,
          const std::array<int, 2>& directions, const std::vector<int>& row_of,
          const std::vector<DependenceKind>& kinds)
      : space_(space), loops_(loops), directions_(directions), row_of_(row_of), kinds_(kinds) {}

  /// @param own_loops  loops of the source; others are strips
  /// @param implied    pairs that follow from others are drawn, too
  std::string svg(const Schedule& schedule, const std::vector<std::string>& own_loops, bool implied,
                  std::string_view title) {
    times_ = times_of(space_, schedule);
    places_.clear();
    for (std::size_t k = 0; k < space_.instances.size(); ++k)
      places_.push_back(
          {times_.loops.at(loops_[0])[k] * directions_[0], times_.loops.at(loops_[1])[k] * directions_[1]});
    least_ = most_ = places_.front();
    for (const Place& place : places_) {
      least_ = {std::min(least_.down, place.down), std::min(least_.across, place.across)};
      most_ = {std::max(most_.down, place.down), std::max(most_.across, place.across)};
    }
    const double width = 2 * kMargin + kCell * static_cast<double>(most_.across - least_.across);
    const double height = 1.7 * kMargin + kCell * static_cast<double>(most_.down - least_.down);
    const std::string drawn = tiles(own_loops) + axes() + path() + arrows(implied) + points() + "</svg>";
    return fmt::format(
               "<svg class=\"space\" viewBox=\"0 0 {0:.0f} {1:.0f}\" style=\"max-width:{0:.0f}px\" role=\"img\" aria-label=\"{2}\">",
               width, height, in_words(title)) +
           drawn;
  }
  std::size_t reversed() const { return reversed_; }
  std::size_t left_out() const { return left_out_; }
  bool is_wide() const { return most_.across - least_.across > 11; }
  const std::set<DependenceKind>& kinds_drawn() const { return kinds_drawn_; }

 private:
  double x(std::int64_t across) const {
    return kMargin + kCell * static_cast<double>(across - least_.across);
  }
  double y(std::int64_t down) const { return kMargin + kCell * static_cast<double>(down - least_.down); }

  /// "Iterations of i and j, tiled 2 x 3: 15 points, 8 arrows, 4 of them turned round".
  std::string in_words(std::string_view title) const {
    std::string text =
        fmt::format("Iterations of {} and {}, {}: {} points, {} arrow{}", escaped(loops_[0]),
                    escaped(loops_[1]), title, visited().size(), arrows_, arrows_ == 1 ? "" : "s");
    if (reversed_ > 0) text += fmt::format(", {} of them turned round", reversed_);
    return text;
  }

  std::string axes() const {
    std::string out;
    for (std::int64_t a = least_.across; a <= most_.across; ++a)
      out +=
          fmt::format("<text class=\"tick\" x=\"{:.0f}\" y=\"15\" text-anchor=\"middle\">{}</text>", x(a), a);
    for (std::int64_t d = least_.down; d <= most_.down; ++d)
      out += fmt::format("<text class=\"tick\" x=\"18\" y=\"{:.0f}\" text-anchor=\"end\">{}</text>", y(d) + 4,
                         d);
    return out +
           fmt::format(
               "<text class=\"axis\" x=\"18\" y=\"15\" text-anchor=\"end\">{}&#8595;</text><text class=\"axis\" "
               "x=\"{:.0f}\" y=\"15\">{}&#8594;</text>",
               escaped(loops_[0]), x(most_.across) + 12, escaped(loops_[1]));
  }

  std::string tiles(const std::vector<std::string>& own_loops) const {
    std::vector<std::string> strips;
    for (const auto& [loop, values] : times_.loops)
      if (std::find(own_loops.begin(), own_loops.end(), loop) == own_loops.end()) strips.push_back(loop);
    if (strips.empty()) return "";
    std::map<std::vector<std::int64_t>, std::pair<Place, Place>> boxes;
    for (std::size_t k = 0; k < places_.size(); ++k) {
      std::vector<std::int64_t> tile;
      for (const std::string& strip : strips) tile.push_back(times_.loops.at(strip)[k]);
      auto& [least, most] = boxes.try_emplace(tile, places_[k], places_[k]).first->second;
      least = {std::min(least.down, places_[k].down), std::min(least.across, places_[k].across)};
      most = {std::max(most.down, places_[k].down), std::max(most.across, places_[k].across)};
    }
    std::string out;
    for (const auto& [tile, box] : boxes) {
      const auto& [least, most] = box;
      out += fmt::format(
          "<rect class=\"tile\" x=\"{:.0f}\" y=\"{:.0f}\" width=\"{:.0f}\" height=\"{:.0f}\" rx=\"9\"/>",
          x(least.across) - 17, y(least.down) - 17, x(most.across) - x(least.across) + 34,
          y(most.down) - y(least.down) + 34);
    }
    return out;
  }

  /// Points in the order in which they first run.
  std::vector<Place> visited() const {
    std::vector<std::size_t> order(places_.size());
    for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return times_.times[a] < times_.times[b]; });
    std::vector<Place> all;
    std::set<Place> seen;
    for (const std::size_t k : order)
      if (seen.insert(places_[k]).second) all.push_back(places_[k]);
    return all;
  }

  std::string path() const {
    const std::vector<Place> order = visited();
    std::string steps, jumps;
    for (std::size_t k = 1; k < order.size(); ++k) {
      const Place &a = order[k - 1], &b = order[k];
      const bool near = std::max(std::abs(a.down - b.down), std::abs(a.across - b.across)) <= 1;
      (near ? steps : jumps) +=
          fmt::format("M{:.0f} {:.0f}L{:.0f} {:.0f}", x(a.across), y(a.down), x(b.across), y(b.down));
    }
    return fmt::format("<path class=\"way\" d=\"{}\"/><path class=\"way jump\" d=\"{}\"/>", steps, jumps);
  }

  std::string arrows(bool with_implied) {
    struct Arrow {
      bool implied = true, reversed = false;
    };
    std::map<std::tuple<Place, Place, DependenceKind, int>, Arrow> all;
    reversed_ = arrows_ = 0;
    for (const IterationSpace::Pair& pair : space_.pairs) {
      if (places_[pair.source] == places_[pair.sink]) continue;
      Arrow& arrow =
          all[{places_[pair.source], places_[pair.sink], kinds_[pair.dependence], row_of_[pair.dependence]}];
      arrow.implied &= pair.implied;
      arrow.reversed |= times_.times[pair.sink] <= times_.times[pair.source];
    }
    std::string plain, red;
    std::size_t implied = 0;
    for (const auto& [key, arrow] : all) {
      const auto& [from, to, kind, row] = key;
      kinds_drawn_.insert(kind);
      if (arrow.implied && (!with_implied || ++implied > kMostImplied)) continue;
      ++arrows_;
      reversed_ += arrow.reversed && !arrow.implied;
      (arrow.reversed ? red : plain) += fmt::format(
          "<path class=\"arrow {}{}{}\" data-d=\"{}\" d=\"{}\"/>", name(kind), arrow.implied ? " far" : "",
          arrow.reversed ? " turned" : "", row, curve(from, to, kind));
    }
    left_out_ = implied - std::min(implied, kMostImplied);
    return plain + red;
  }

  /// Kinds bend to different sides, so that all show where they join the same points.
  std::string curve(const Place& from, const Place& to, DependenceKind kind) const {
    const double dx = x(to.across) - x(from.across), dy = y(to.down) - y(from.down);
    const bool leaps = std::max(std::abs(to.down - from.down), std::abs(to.across - from.across)) > 1;
    const double bend = kind == DependenceKind::flow   ? (leaps ? 0.1 : 0)
                        : kind == DependenceKind::anti ? 0.22
                                                       : -0.22;
    const double cx = dx / 2 - bend * dy, cy = dy / 2 + bend * dx, reach = std::hypot(cx, cy);
    const double gap = kPointRadius + 2;  // ends beside the points
    const double ex = dx - cx, ey = dy - cy, end_reach = std::hypot(ex, ey);
    return fmt::format("M{:.1f} {:.1f}Q{:.1f} {:.1f} {:.1f} {:.1f}", x(from.across) + cx / reach * gap,
                       y(from.down) + cy / reach * gap, x(from.across) + cx, y(from.down) + cy,
                       x(to.across) - ex / end_reach * (gap + 3), y(to.down) - ey / end_reach * (gap + 3));
  }

  std::string points() const {
    const std::vector<Place> order = visited();
    std::string out;
    for (std::size_t k = 0; k < order.size(); ++k)
      out += fmt::format(
          "<circle class=\"at{}\" cx=\"{:.0f}\" cy=\"{:.0f}\" r=\"{}\"><title>({}, {}), visited as number {}</title></circle>",
          k == 0                  ? " first"
          : k + 1 == order.size() ? " last"
                                  : "",
          x(order[k].across), y(order[k].down),
          k == 0 || k + 1 == order.size() ? kPointRadius + 2 : kPointRadius, order[k].down, order[k].across,
          k + 1);
    return out;
  }

  const IterationSpace& space_;
  const std::array<std::string, 2>& loops_;
  const std::array<int, 2>& directions_;
  const std::vector<int>& row_of_;
  const std::vector<DependenceKind>& kinds_;
  InstanceTimes times_;
  std::vector<Place> places_;
  Place least_, most_;
  std::size_t reversed_ = 0, arrows_ = 0, left_out_ = 0;
  std::set<DependenceKind> kinds_drawn_;
};

/// Which two loops of a chain are drawn: those of the skew that helps, else the first two of a band, else the
/// outermost.
std::array<std::string, 2> drawn_loops(const Band& chain, const Explanation& explanation,
                                       const std::vector<Skew>& cure) {
  if (!cure.empty()) return {cure.front().by, cure.front().loop};
  for (const Band& band : explanation.bands)
    if (band.loops.size() > 1 && std::find(band.statements.begin(), band.statements.end(),
                                           chain.statements.front()) != band.statements.end())
      return {band.loops[0], band.loops[1]};
  return {chain.loops[0], chain.loops[1]};
}

/// The skews that some order or tiling of the chain asks for.
std::vector<Skew> cure_of(const Band& chain, const Explanation& explanation) {
  for (const auto* list : {&explanation.tilings, &explanation.permutations})
    for (const Judged& judged : *list) {
      if (judged.cure.empty()) continue;
      const auto* tile = std::get_if<Tile>(&judged.steps.front());
      const auto* permute = std::get_if<Permute>(&judged.steps.front());
      if ((tile && tile->statements == chain.statements) ||
          (permute && permute->statements == chain.statements))
        return judged.cure;
    }
  return {};
}

int direction_of(const Nest& nest, int statement, const std::string& loop) {
  const std::vector<std::vector<const Node*>> paths = loop_paths(nest);
  for (const Node* node : paths[statement])
    if (node->iterator == loop) return node->step < 0 ? -1 : 1;
  return 1;
}

std::string sizes_text(const IterationSpace& space) {
  std::vector<std::string> texts;
  for (const auto& [name, value] : space.sizes) texts.push_back(fmt::format("{} = {}", escaped(name), value));
  return fmt::format("{}", fmt::join(texts, ", "));
}

class Section {
 public:
  Section(const Nest& nest, const Explanation& explanation, const Band& chain)
      : nest_(nest),
        explanation_(explanation),
        chain_(chain),
        cure_(cure_of(chain, explanation)),
        loops_(drawn_loops(chain, explanation, cure_)),
        directions_{direction_of(nest, chain.statements.front(), loops_[0]),
                    direction_of(nest, chain.statements.front(), loops_[1])},
        space_(iteration_space(nest, chain.statements, loops_)) {
    row_of_.resize(explanation.dependences.size());
    const std::vector<DependenceRow> rows = dependence_rows(nest, explanation.dependences);
    for (int r = 0; r < static_cast<int>(rows.size()); ++r)
      for (const int member : rows[r].members) row_of_[member] = r;
    for (const Dependence& dependence : explanation.dependences) kinds_.push_back(dependence.kind);
  }

  bool has_pairs() const { return !space_.pairs.empty(); }

  std::string html() {
    if (space_.instances.empty()) return "";
    const bool implied =
        std::any_of(space_.pairs.begin(), space_.pairs.end(), [](const auto& pair) { return pair.implied; });
    std::string out = fmt::format(
        "<h3>Iterations of {}: <code>{}</code> down, <code>{}</code> across</h3><p class=\"note\">{}</p>",
        escaped(labels(nest_, chain_.statements)), escaped(loops_[0]), escaped(loops_[1]), note());
    out += "<div class=\"spaces\">";
    if (implied)
      out +=
          "<label><input type=\"checkbox\" class=\"all-pairs\"> In the first drawing, also show the pairs that follow from two others</label>";
    out += fmt::format("<div class=\"panels\" style=\"--least:{}px\">",
                       space_.instances.size() > 36 ? 370 : 290);
    for (const Panel& panel : panels()) out += figure(panel);
    return out + "</div></div>" + key();
  }

 private:
  std::string note() const {
    std::string text;
    if (!space_.sizes.empty())
      text += fmt::format("The drawing is for {}. What is said of legality holds for all allowed sizes. ",
                          sizes_text(space_));
    if (chain_.loops.size() > 2) {
      std::vector<std::string> others;
      for (const std::string& loop : chain_.loops)
        if (loop != loops_[0] && loop != loops_[1]) others.push_back("<code>" + escaped(loop) + "</code>");
      text += fmt::format(
          "Iterations that differ only in {} fall on one point, and so do the dependences between them. ",
          fmt::join(others, ", "));
    }
    if (space_.cut) text += "Not all iterations are drawn. ";
    if (space_.pairs.empty()) text += "No dependence joins these iterations.";
    return text;
  }

  std::int64_t tile_extent(const std::string& loop) const {
    std::set<std::int64_t> values;
    const auto& loops = nest_.statements()[chain_.statements.front()].loops;
    const auto at = std::find(loops.begin(), loops.end(), loop) - loops.begin();
    for (const IterationSpace::Instance& instance : space_.instances) values.insert(instance.iteration[at]);
    const std::int64_t small = values.size() >= 8 ? 4 : values.size() >= 5 ? 3 : 2;
    return std::min(small, explanation_.tile.at(loop));
  }

  std::vector<Panel> panels() const {
    const Schedule source = Schedule::of_source(nest_);
    const std::int64_t down = tile_extent(loops_[0]), across = tile_extent(loops_[1]);
    const Tile tile{{{loops_[0], down}, {loops_[1], across}}, chain_.statements};
    const std::string tiled = fmt::format("tiled {} &#215; {}", down, across);
    std::vector<Panel> all = {{"As written", source, true}};
    all.push_back(
        {fmt::format("<code>{}</code> and <code>{}</code> exchanged", escaped(loops_[0]), escaped(loops_[1])),
         source.then(Permute{{loops_[1], loops_[0]}, chain_.statements})});
    all.push_back({"T" + tiled.substr(1), source.then(tile)});
    if (cure_.empty()) return all;
    Schedule skewed = source;
    std::vector<std::string> texts;
    for (const Skew& skew : cure_) {
      skewed = skewed.then(skew);
      texts.push_back(fmt::format("<code>{0}&#8242; = {0} + {1}{2}</code>", escaped(skew.loop),
                                  skew.factor == 1 ? "" : fmt::format("{} ", skew.factor), escaped(skew.by)));
    }
    all.push_back({fmt::format("Skewed, {}, then {}", fmt::join(texts, ", "), tiled), skewed.then(tile)});
    return all;
  }

  std::string figure(const Panel& panel) {
    Drawing drawing(space_, loops_, directions_, row_of_, kinds_);
    const std::string svg =
        drawing.svg(panel.schedule, chain_.loops, panel.is_source, page::without_tags(panel.title));
    const Verdict verdict = panel.is_source ? Verdict{} : panel.schedule.verdict();
    std::string said;
    if (drawing.left_out() > 0)
      said = fmt::format("<p class=\"note\">{} pairs that follow from others are left out.</p>",
                         drawing.left_out());
    if (!verdict.legal) {
      said = "<p class=\"said\">" + escaped(verdict.reason);
      if (drawing.reversed() > 0)
        said += fmt::format(". {} drawn pair{} turned round", drawing.reversed(),
                            drawing.reversed() == 1 ? " is" : "s are");
      said += ".</p>";
    }
    kinds_drawn_.insert(drawing.kinds_drawn().begin(), drawing.kinds_drawn().end());
    return fmt::format("<figure{}><figcaption>{}{}</figcaption><div class=\"plot\">{}</div>{}</figure>",
                       drawing.is_wide() ? " class=\"wide\"" : "", panel.title,
                       panel.is_source ? ""
                       : verdict.legal ? " <span class=\"badge good\">legal</span>"
                                       : " <span class=\"badge bad\">illegal</span>",
                       svg, said);
  }

  std::string key() const {
    std::string out = "<ul class=\"key\">";
    const auto entry = [&](std::string_view drawing, std::string_view text) {
      out +=
          fmt::format("<li><svg class=\"space\" viewBox=\"0 0 34 16\" aria-hidden=\"true\">{}</svg>{}</li>",
                      drawing, text);
    };
    entry(
        "<path class=\"way\" d=\"M3 8L31 8\"/><circle class=\"at first\" cx=\"5\" cy=\"8\" r=\"5\"/><circle "
        "class=\"at last\" cx=\"29\" cy=\"8\" r=\"5\"/>",
        "order of execution, first to last; thin where it jumps");
    for (const DependenceKind kind : kinds_drawn_)
      entry(fmt::format("<path class=\"sample {0}\" d=\"M2 8L25 8\" marker-end=\"url(#head-{0})\"/>",
                        name(kind)),
            kind == DependenceKind::flow   ? "flow: written, then read"
            : kind == DependenceKind::anti ? "anti: read, then overwritten"
                                           : "output: written twice");
    if (!kinds_drawn_.empty())
      entry("<path class=\"sample turned\" d=\"M2 8L25 8\" marker-end=\"url(#head-turned)\"/>",
            "turned round: this order breaks it");
    return out + "</ul>";
  }

  const Nest& nest_;
  const Explanation& explanation_;
  const Band& chain_;
  std::vector<Skew> cure_;
  std::array<std::string, 2> loops_;
  std::array<int, 2> directions_;
  IterationSpace space_;
  std::vector<int> row_of_;
  std::vector<DependenceKind> kinds_;
  std::set<DependenceKind> kinds_drawn_;
};

}  // namespace

std::string space_sections(const Nest& nest, const Explanation& explanation) {
  const std::vector<Band> all = loop_chains(nest);
  std::vector<Section> sections;
  for (const Band& chain : all)
    if (chain.loops.size() >= 2) sections.emplace_back(nest, explanation, chain);
  // Where something depends on something, chains without dependences show nothing new.
  const bool any = std::any_of(sections.begin(), sections.end(),
                               [](const Section& section) { return section.has_pairs(); });
  std::string out;
  for (Section& section : sections)
    if (section.has_pairs() || !any) out += section.html();
  return out;
}

}  // namespace warploom::tile
