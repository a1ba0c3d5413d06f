#include "warploom/page/html.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "reuse/embedded.hpp"
#include "reuse/report/map.hpp"
#include "reuse/report/parts.hpp"
#include "warploom/core/version.hpp"
#include "warploom/page/page.hpp"
#include "warploom/reuse/reuse.hpp"

namespace warploom::reuse {
namespace {

std::string from_to(std::uint64_t before, std::uint64_t after, std::string_view unit = "") {
  return before == after ? fmt::format("{}{}", grouped(before), unit)
                         : fmt::format("{} &#8594; {}{}", grouped(before), grouped(after), unit);
}

/// A position in the source, as a soft remark after a text.
std::string remark(const SourcePosition& at) {
  const std::string text = where(at);
  return text.empty() ? text
                      : fmt::format(" <span class=\"where\" title=\"{}\">{}</span>",
                                    escaped(at.file.empty() ? text : where_both(at)), escaped(text));
}

std::string badge(Verdict verdict) {
  return fmt::format("<span class=\"badge {0}\">{0}</span>", name(verdict));
}

std::string short_figures(const KernelReport& kernel, std::string_view architecture) {
  std::string text = from_to(kernel.bytes_before, kernel.bytes_after, " bytes");
  if (const OccupancyReport* of = decisive(kernel, architecture))
    text += fmt::format(" &#183; {} blocks", from_to(of->before.blocks, of->after.blocks));
  return text;
}

std::string figures(const KernelReport& kernel, std::string_view architecture) {
  std::vector<page::Fact> facts = {
      {"Shared memory per block", from_to(kernel.bytes_before, kernel.bytes_after),
       "bytes, " + change(kernel.bytes_before, kernel.bytes_after) +
           (kernel.bytes_possible > 0 && kernel.bytes_possible < kernel.bytes_after
                ? fmt::format("; --when always would reach {}", grouped(kernel.bytes_possible))
                : "")}};
  if (const OccupancyReport* of = decisive(kernel, architecture)) {
    const hw::Occupancy& now = of->after;
    facts.push_back(
        {"Blocks per multiprocessor", from_to(of->before.blocks, now.blocks),
         fmt::format("{}, {}", escaped(of->architecture),
                     now.blocks == 0                ? "cannot launch"
                     : kernel.registers_before == 0 ? "at most: registers may allow fewer, ptxas was not run"
                                                    : fmt::format("limited by {}", name(now.limit)))});
  }
  const auto sharing = std::ranges::count_if(kernel.objects, &ObjectReport::shares);
  facts.push_back({"Arrays that share", fmt::format("{} of {}", sharing, kernel.objects.size()), ""});
  const auto inserted = std::ranges::count_if(kernel.barriers, &BarrierReport::inserted);
  facts.push_back({"Barriers inserted", std::to_string(inserted),
                   fmt::format("{} were there already", std::ssize(kernel.barriers) - inserted)});
  if (kernel.registers_before > 0)
    facts.push_back({"Registers per thread", from_to(kernel.registers_before, kernel.registers_after), ""});
  if (kernel.dynamic_pool)
    facts.push_back({"Pass this at launch", grouped(kernel.pool_bytes), "bytes of dynamic shared memory"});
  return page::facts(facts);
}

std::string about(const KernelReport& kernel, const ObjectReport& object) {
  std::string text = fmt::format("{}: {} bytes", object.name, grouped(object.bytes));
  if (object.offset) text += fmt::format(" at offset {}", grouped(*object.offset));
  if (const std::string at = where(object.declared); !at.empty()) text += ", declared at " + at;
  if (!object.shares_with.empty())
    text += "; shares with " + listed(object_names(kernel, object.shares_with));
  if (!object.reason.empty()) text += "; " + object.reason;
  return text;
}

std::string map_section(const KernelReport& kernel, std::size_t number) {
  const bool inserted = std::ranges::any_of(kernel.barriers, &BarrierReport::inserted);
  std::string out =
      "<h3>Memory map</h3><div class=\"maps\">" + memory_map(kernel, number) + "</div><ul class=\"key\">";
  const auto key = [&](std::string_view drawing, std::string_view text) {
    out += fmt::format("<li><svg class=\"map\" aria-hidden=\"true\">{}</svg>{}</li>", drawing, text);
  };
  key("<rect class=\"life\" width=\"22\" height=\"16\"/>", "alive");
  key("<rect class=\"reserved\" width=\"22\" height=\"16\"/>", "reserved, but empty");
  key("<rect class=\"store\" x=\"10\" y=\"9\" width=\"2\" height=\"6\"/>", "store, lower edge");
  key("<rect class=\"load\" x=\"10\" y=\"1\" width=\"2\" height=\"6\"/>", "load, upper edge");
  if (!kernel.barriers.empty())
    key("<g class=\"barrier\"><line x1=\"11\" x2=\"11\" y1=\"0\" y2=\"16\"/></g>", "barrier");
  if (inserted)
    key("<g class=\"barrier inserted\"><line x1=\"11\" x2=\"11\" y1=\"0\" y2=\"16\"/></g>",
        "inserted barrier (+)");
  out += "</ul><ul class=\"chips\">";
  for (std::size_t i = 0; i < kernel.objects.size(); ++i) {
    const ObjectReport& object = kernel.objects[i];
    out += fmt::format(
        "<li><a href=\"#{}\" data-o=\"{}\" data-about=\"{}\" style=\"--h:{}\">{}<small>{} B</small></a></li>",
        object_id(number, i), i, escaped(about(kernel, object)), hue(i), escaped(object.name),
        grouped(object.bytes));
  }
  return out +
         "</ul><output class=\"told\" data-hint=\"Choose an array to see where it lies in the map.\"></output>";
}

std::string object_table(const KernelReport& kernel, std::size_t number) {
  std::string rows;
  for (std::size_t i = 0; i < kernel.objects.size(); ++i) {
    const ObjectReport& object = kernel.objects[i];
    const std::string partners = listed(object_names(kernel, object.shares_with));
    rows += fmt::format(
        "<tr id=\"{}\"><td data-label=\"Array\"><span>{}<code title=\"{}\">{}</code>{}</span></td>"
        "<td class=\"number\" data-label=\"Bytes\">{}</td><td class=\"number\" data-label=\"Offset\">{}</td>"
        "<td data-label=\"Shares with\">{}</td><td data-label=\"Why\"><span>{}{}</span></td></tr>",
        object_id(number, i), page::swatch(hue(i)), escaped(object.symbol), escaped(object.name),
        object.declared.file.empty() ? "" : remark(object.declared), grouped(object.bytes),
        object.offset ? grouped(*object.offset) : "&#8211;", partners.empty() ? "none" : escaped(partners),
        escaped(object.reason), remark(object.reason_at));
  }
  return "<h3>Arrays</h3>" +
         page::table({{"Array"}, {"Bytes", "number"}, {"Offset", "number"}, {"Shares with"}, {"Why"}}, rows,
                     "cards");
}

std::string warps_bar(const hw::Occupancy& of, std::string_view kind) {
  return fmt::format("<span class=\"bar {}\"><i style=\"width:{:.0f}%\"></i></span>", kind,
                     of.fraction * 100);
}

std::string occupancy_table(const KernelReport& kernel) {
  if (kernel.occupancy.empty()) return "";
  std::string rows;
  for (const OccupancyReport& of : kernel.occupancy) {
    const auto percent = [](const hw::Occupancy& o) {
      return static_cast<std::uint64_t>(o.fraction * 100 + 0.5);
    };
    const auto limit = [](const hw::Occupancy& o) {
      return o.blocks == 0 ? escaped("cannot launch: " + o.reason) : std::string(name(o.limit));
    };
    const bool same = percent(of.before) == percent(of.after);
    rows += fmt::format(
        "<tr><td data-label=\"Architecture\">{}</td><td class=\"number\" data-label=\"Blocks\">{}</td>"
        "<td class=\"number\" data-label=\"Threads\">{}</td>"
        "<td data-label=\"Warps in use\"><span>{}{}{}</span></td><td data-label=\"Limited by\"><span>{}</span></td></tr>",
        escaped(of.architecture), from_to(of.before.blocks, of.after.blocks),
        from_to(of.before.active_threads, of.after.active_threads),
        from_to(percent(of.before), percent(of.after), " %"), same ? "" : warps_bar(of.before, "before"),
        warps_bar(of.after, same ? "before" : "after"),
        limit(of.before) == limit(of.after) ? limit(of.after)
                                            : limit(of.before) + " &#8594; " + limit(of.after));
  }
  return fmt::format(
      "<h3>Occupancy of one multiprocessor{}</h3>{}", blocks_of(kernel),
      page::table(
          {{"Architecture"}, {"Blocks", "number"}, {"Threads", "number"}, {"Warps in use"}, {"Limited by"}},
          rows, "cards"));
}

std::string barrier_section(const KernelReport& kernel) {
  if (kernel.barriers.empty()) return "";
  std::vector<std::string> points;
  for (const BarrierReport& barrier : kernel.barriers) {
    std::vector<std::string> pairs;
    for (const auto& [first, second] : barrier.separates)
      pairs.push_back(kernel.objects.at(first).name + " from " + kernel.objects.at(second).name);
    points.push_back(fmt::format("before {}: {}{}", escaped(where_both(barrier.at)),
                                 barrier.inserted ? "<b>inserted</b>" : "already there",
                                 pairs.empty() ? "" : ", keeps " + escaped(listed(pairs)) + " apart"));
  }
  return "<h3>Barriers that keep arrays apart</h3>" + page::bullets(points);
}

std::string assumption_section(const KernelReport& kernel) {
  if (kernel.assumptions.empty()) return "";
  constexpr std::size_t kFew = 5;
  std::vector<std::string> points;
  for (const Assumption& assumption : kernel.assumptions)
    points.push_back(escaped(assumption.text) + remark(assumption.at));
  return points.size() <= kFew ? "<h3>What the result relies on</h3>" + page::bullets(points)
                               : page::collapsed(fmt::format("What the result relies on ({})", points.size()),
                                                 page::bullets(points));
}

std::string further_details(const KernelReport& kernel) {
  std::string out;
  if (kernel.verdict == Verdict::rewritten)
    out += page::collapsed("How to write this in the source",
                           page::block(escaped(advice(kernel)), "How to write this in the source"));
  const auto list = [&](std::string_view title, const std::vector<std::string>& points) {
    if (!points.empty())
      out += page::collapsed(fmt::format("{} ({})", title, points.size()), page::bullets(points));
  };
  std::vector<std::string> pairs, sentences;
  for (const InterferenceReport& pair : kernel.interference)
    pairs.push_back(fmt::format("{} and {}: {}{}", page::code(kernel.objects.at(pair.first).name),
                                page::code(kernel.objects.at(pair.second).name), escaped(pair.reason),
                                remark(pair.at)));
  for (const std::string& sentence : kernel.certificate) sentences.push_back(escaped(sentence));
  list("Pairs of arrays that must not overlap", pairs);
  list("Certificate of the independent check", sentences);
  return out;
}

std::string kernel_section(const Report& report, std::size_t number, bool open) {
  const KernelReport& kernel = report.kernels[number];
  std::string out = fmt::format(
      "<details class=\"card kernel\" id=\"k{}\"{}><summary><h2><code title=\"{}\">{}</code></h2>{}"
      "<span class=\"short\">{}</span></summary><p class=\"reason\">{}{}</p>",
      number, open ? " open" : "", escaped(kernel.symbol), escaped(kernel.name), badge(kernel.verdict),
      short_figures(kernel, report.architecture), escaped(kernel.reason), remark(kernel.reason_at));
  out += figures(kernel, report.architecture);
  if (!kernel.objects.empty()) out += map_section(kernel, number) + object_table(kernel, number);
  out += barrier_section(kernel) + occupancy_table(kernel) + assumption_section(kernel) +
         further_details(kernel);
  return out + "</details>";
}

std::string index(const Report& report) {
  if (report.kernels.size() < 2) return "";
  std::string rows;
  for (std::size_t i = 0; i < report.kernels.size(); ++i) {
    const KernelReport& kernel = report.kernels[i];
    rows += fmt::format(
        "<tr><td><a href=\"#k{}\">{}</a></td><td data-label=\"Outcome\"><span>{}</span></td><td>{}</td><td><span>{}{}</span></td></tr>",
        i, page::code(kernel.name), badge(kernel.verdict), short_figures(kernel, report.architecture),
        escaped(kernel.reason), remark(kernel.reason_at));
  }
  return "<nav aria-label=\"Kernels\"><div class=\"card index\">" +
         page::table({{"Kernel"}, {"Outcome"}, {"Shared memory, blocks"}, {"Why"}}, rows) + "</div></nav>";
}

}  // namespace

std::string to_html(const Report& report) {
  check(report);
  std::map<Verdict, std::size_t> count;
  for (const KernelReport& kernel : report.kernels) ++count[kernel.verdict];
  std::vector<std::string> outcome;
  for (const auto& [verdict, kernels] : count)
    outcome.push_back(fmt::format("{} {}", kernels, name(verdict)));
  std::string lead = fmt::format("<p>{}{}{} kernel{}{}</p>", page::where_it_lies(report.file),
                                 report.architecture.empty() ? "" : escaped(report.architecture) + " &#183; ",
                                 report.kernels.size(), report.kernels.size() == 1 ? "" : "s",
                                 outcome.empty() ? "" : " &#183; " + listed(outcome));
  if (!report.note.empty()) lead += "<p class=\"reason\">" + escaped(report.note) + "</p>";
  std::string body = index(report) + "\n<main>";
  // Many kernels: only the first that was rewritten is open.
  const auto first = std::ranges::find(report.kernels, Verdict::rewritten, &KernelReport::verdict);
  for (std::size_t i = 0; i < report.kernels.size(); ++i)
    body += kernel_section(report, i,
                           report.kernels.size() == 1 ||
                               first - report.kernels.begin() == static_cast<std::ptrdiff_t>(i)) +
            "\n";
  const std::string title = "Shared memory of " + page::file_name(report.file);
  return page::to_html(
      {.title = title,
       .heading = title,
       .lead = lead,
       .body = body + "</main>",
       .footer = fmt::format(
           "<p>warploom {}. In the maps the program runs from left to right. Stretches where nothing happens "
           "are shortened. Bytes run upwards, to the same scale before and after.</p>",
           version()),
       .styles = {embedded::report_css},
       .scripts = {page::reveal_script(), embedded::report_js}});
}

}  // namespace warploom::reuse
