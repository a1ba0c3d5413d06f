#include "warploom/search/page.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "search/embedded.hpp"
#include "search/page/panels.hpp"
#include "search/page/tracks.hpp"
#include "search/windows.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/version.hpp"
#include "warploom/page/html.hpp"
#include "warploom/page/page.hpp"
#include "warploom/page/text.hpp"

namespace warploom::search {
namespace {

using page::escaped;
using page::grouped;
using page::json_string;

constexpr std::size_t kMostRows = 500, kMostAnnotations = 3'000;
constexpr std::size_t kMostBoxes = 4'000;  // of pairs

std::int64_t samples_of(const io::Recording& recording) {
  return static_cast<std::int64_t>(recording.channels.front().samples.size());
}

void check(const SearchPage& page) {
  if (page.recording == nullptr || page.found == nullptr || page.recording->channels.empty())
    throw BadInput("a search page needs a recording with channels, and a result");
  const std::size_t samples = page.recording->channels.front().samples.size();
  for (const io::Channel& channel : page.recording->channels)
    if (channel.samples.size() != samples)
      throw BadInput(fmt::format(
          "a search page needs channels of one length: '{}' has {} samples, the first {}; resample first",
          channel.name, channel.samples.size(), samples));
  if (samples == 0) throw BadInput("a search page needs samples: the channels are empty");
  const auto outside = [](std::int32_t number, std::size_t size) {
    return number < 0 || std::cmp_greater_equal(number, size);
  };
  check(page.normalization);
  const auto require = [](std::string_view what, double value, double least, double most) {
    if (!(value >= least && value <= most))
      throw BadInput(
          fmt::format("{} of a search page is {}: it must be from {} to {}", what, value, least, most));
  };
  require("the recording's rate", page.recording->channels.front().rate, 1e-9, 1e12);
  require("the number of rotations", page.options.rotations, 0, 10'000);
  for (const Query& query : page.queries)
    for (const std::span<const float>& channel : query.channels)
      if (channel.empty() || channel.size() != query.channels.front().size())
        throw BadInput(fmt::format("a query of a search page has channels of {} and {} samples",
                                   query.channels.front().size(), channel.size()));
  for (const Query& query : page.queries)
    for (const std::int32_t place : query.places)
      if (outside(place, page.recording->channels.size()))
        throw BadInput(fmt::format("a query's channel belongs to channel {} of a recording with {}",
                                   std::int64_t{place} + 1, page.recording->channels.size()));
  for (const Match& match : page.found->matches) {
    if (outside(match.query, page.queries.size()))
      throw BadInput(fmt::format("a match is of query {}, but there are {}", std::int64_t{match.query} + 1,
                                 page.queries.size()));
    for (const Pair& pair : match.pairs)
      if (outside(pair.channel, page.recording->channels.size()) ||
          outside(pair.query_channel, page.queries[static_cast<std::size_t>(match.query)].channels.size()))
        throw BadInput(fmt::format(
            "a match joins channel {} of a query with channel {} of the recording, which are not there",
            std::int64_t{pair.query_channel} + 1, std::int64_t{pair.channel} + 1));
    // What a search finds begins and ends near the recording, and not before it begins.
    constexpr double kFar = 1e12;
    const auto channels =
        static_cast<double>(page.queries[static_cast<std::size_t>(match.query)].channels.size());
    for (const Boundaries& at : {Boundaries{match.first, match.last}, match.boundaries()}) {
      require("a match's begin", static_cast<double>(at.first), -kFar, static_cast<double>(at.last));
      require("a match's end", static_cast<double>(at.last), static_cast<double>(at.first), kFar);
    }
    require("a match's number of channels", match.channels, 0, channels);
    for (const Pair& pair : match.pairs) {
      require("a pair's offset", static_cast<double>(pair.offset), -kFar, kFar);
      require("a pair's begin", static_cast<double>(pair.begin), -kFar, kFar);
      require("a pair's length", static_cast<double>(pair.length), 1, kFar);
      require("a pair's rotation", pair.rotation, 0, page.options.rotations);
      require("a pair's part", pair.segment, -1, std::max(1, page.options.segments) - 1);
      if (pair.rotation == 0) continue;
      for (const SensorAxes& sensor : page.options.sensors)
        for (const std::int32_t axis : {sensor.x, sensor.y, sensor.z})
          require("a sensor's axis", axis, 0, channels - 1);
    }
  }
}

/// Annotations that the page shows: all, or so many, evenly picked.
std::vector<io::Annotation> shown_annotations(const io::Recording& recording) {
  const auto& all = recording.annotations;
  std::vector<io::Annotation> out;
  const std::size_t count = std::min(all.size(), kMostAnnotations);
  for (std::size_t k = 0; k < count; ++k) out.push_back(all[k * all.size() / count]);
  return out;
}

/// In how many of the matches the overview shows each channel.
std::size_t matches_with_boxes(const SearchPage& page) {
  std::size_t boxes = 0, count = 0;
  for (const Match& match : page.found->matches) {
    boxes += match.pairs.size();
    if (boxes > kMostBoxes || count == kMostRows) break;
    ++count;
  }
  return count;
}

/// What the script needs, as JSON that cannot end the element it stands in.
std::string script_data(const SearchPage& page) {
  const io::Recording& recording = *page.recording;
  const TimeText time(recording);
  std::vector<std::string> channels, matches, notes, labels;
  for (std::size_t c = 0; c < recording.channels.size(); ++c) {
    const io::Channel& channel = recording.channels[c];
    const std::string name = channel.name.empty() ? fmt::format("channel {}", c + 1) : channel.name;
    channels.push_back(
        fmt::format(R"({{"name":{},"unit":{}}})", json_string(name), json_string(channel.unit)));
  }
  const std::size_t boxed = matches_with_boxes(page);
  for (const Match& match :
       std::span(page.found->matches).first(std::min(kMostRows, page.found->matches.size()))) {
    std::vector<std::string> pairs;
    for (const Pair& pair : match.pairs)
      if (matches.size() < boxed)
        pairs.push_back(fmt::format("[{},{},{}]", pair.channel, pair.begin, pair.length));
    const auto [first, last] = match.boundaries();
    matches.push_back(
        fmt::format(R"({{"first":{},"last":{},"pairs":[{}]}})", first, last, fmt::join(pairs, ",")));
  }
  std::map<std::string, std::size_t> numbers;  // of labels
  for (const io::Annotation& annotation : shown_annotations(recording)) {
    const auto [at, added] = numbers.try_emplace(annotation.label, labels.size());
    if (added) labels.push_back(json_string(annotation.label));
    notes.push_back(fmt::format("[{},{},{}]", time.samples(annotation.onset),
                                time.samples(annotation.duration), at->second));
  }
  return fmt::format(
      R"({{"timed":{},"rate":{},"samples":{},"channels":[{}],"matches":[{}],"notes":[{}],"labels":[{}],"tracks":{}}})",
      recording.timed, recording.channels.front().rate, samples_of(recording), fmt::join(channels, ","),
      fmt::join(matches, ","), fmt::join(notes, ","), fmt::join(labels, ","),
      recording_tracks(recording, page.found->matches));
}

std::string facts(const SearchPage& page) {
  const io::Recording& recording = *page.recording;
  const TimeText time(recording);
  const std::int64_t samples = samples_of(recording);
  std::vector<page::Fact> facts;
  const auto tile = [&](const std::string& what, const std::string& value, const std::string& more) {
    facts.push_back({what, value, more});
  };
  std::int64_t missing = 0;
  for (const io::Channel& channel : recording.channels)
    missing += std::ranges::count_if(channel.samples, [](float sample) { return std::isnan(sample); });
  std::string more = fmt::format("{} channel{} of {} samples", recording.channels.size(),
                                 recording.channels.size() == 1 ? "" : "s", grouped(samples));
  if (recording.timed) more += fmt::format(" at {:.6g} Hz", recording.channels.front().rate);
  if (missing > 0)
    more += fmt::format("; {:.2g} % of the samples are missing",
                        100 * static_cast<double>(missing) / static_cast<double>(samples) /
                            static_cast<double>(recording.channels.size()));
  tile("Recording", time.duration(samples), more);
  for (std::size_t q = 0; q < std::min<std::size_t>(page.queries.size(), 8); ++q) {
    const Query& query = page.queries[q];
    const std::string source = q < page.query_sources.size() ? "; " + escaped(page.query_sources[q]) : "";
    tile(query.label.empty() ? "Query" : "Query " + escaped(query.label), time.duration(query.length()),
         fmt::format("{} channel{} of {} samples{}", query.channels.size(),
                     query.channels.size() == 1 ? "" : "s", grouped(query.length()), source));
  }
  if (page.queries.size() > 8)
    tile("Further queries", std::to_string(page.queries.size() - 8), "not listed here");
  tile("Found",
       fmt::format("{} match{}", grouped(std::ssize(page.found->matches)),
                   page.found->matches.size() == 1 ? "" : "es"),
       fmt::format("chosen from {} places in {} pairs of channels", grouped(page.found->candidates),
                   grouped(page.found->pairs)));
  if (!recording.annotations.empty()) {
    std::map<std::string, std::int64_t> counts;
    for (const io::Annotation& annotation : recording.annotations) ++counts[annotation.label];
    std::string said;
    for (const auto& [label, count] : counts) {
      if (said.size() > 200) {
        said += ", ...";
        break;
      }
      said += fmt::format("{}{} &#215; {}", said.empty() ? "" : ", ", grouped(count),
                          label.empty() ? "no label" : escaped(label));
    }
    tile("Annotations", grouped(std::ssize(recording.annotations)), said);
  }
  std::string out = page::facts(facts);
  if (page.found->remarks.empty()) return out;
  out += "<ul class=\"remarks\">";
  for (const std::string& remark : page.found->remarks) out += "<li>" + escaped(remark) + "</li>";
  return out + "</ul>";
}

/// What of a match is not as in the query.
std::string differences(const SearchPage& page, const Match& match, const TimeText& time) {
  const Query& query = page.queries[static_cast<std::size_t>(match.query)];
  std::int64_t lag = 0;
  int switched = 0, negated = 0, rotated = 0, exhausted = 0;
  std::set<double> scales;
  std::vector<std::string> missing;
  for (const Pair& pair : match.pairs) {
    lag = std::max(lag, match.lag(pair));
    switched += pair.switched;
    negated += pair.negated;
    rotated += pair.rotation > 0;
    exhausted += pair.exhausted;
    if (pair.scale != 1) scales.insert(pair.scale);
  }
  for (std::size_t c = 0; c < query.channels.size(); ++c)
    if (!std::ranges::binary_search(match.pairs, static_cast<std::int32_t>(c), {}, &Pair::query_channel)) {
      if (missing.size() == 4) {
        missing.push_back("...");
        break;
      }
      missing.push_back(channel_name(*page.recording, query.places[c]));
    }
  std::vector<std::string> said;
  if (lag > 0) said.push_back("channels up to " + time.duration(lag) + " late");
  if (switched > 0) said.push_back(fmt::format("{} switched", switched));
  if (negated > 0) said.push_back(fmt::format("{} negated", negated));
  if (rotated > 0) said.push_back(fmt::format("{} rotated", rotated));
  if (!scales.empty())
    said.push_back(scales.size() == 1
                       ? fmt::format("{:.3g} times as long", *scales.begin())
                       : fmt::format("{:.3g} to {:.3g} times as long", *scales.begin(), *scales.rbegin()));
  if (exhausted > 0) said.push_back(fmt::format("{} with a wider band", exhausted));
  if (!missing.empty()) said.push_back(fmt::format("without {}", fmt::join(missing, ", ")));
  return fmt::format("{}", fmt::join(said, "; "));
}

std::string table(const SearchPage& page) {
  const auto& matches = page.found->matches;
  if (matches.empty()) return "<section class=\"card\"><h2>Matches</h2><p>Nothing was found.</p></section>";
  const TimeText time(*page.recording);
  const bool labelled = std::ranges::any_of(matches, [](const Match& match) { return !match.label.empty(); });
  std::string rows;
  for (std::size_t k = 0; k < std::min(matches.size(), kMostRows); ++k) {
    const Match& match = matches[k];
    const std::string differs = differences(page, match, time);
    const auto [first, last] = match.boundaries();
    rows += fmt::format(
        "<tr id=\"r{0}\" data-match=\"{1}\" data-said=\"match {0}: {2}, {3} of {4} channels\">"
        "<td data-label=\"Rank\"><span><button type=\"button\" aria-label=\"Show match {0}\">{0}</button></span></td>{5}"
        "<td class=\"number\" data-label=\"Begin\">{2}</td><td class=\"number\" data-label=\"Duration\">{6}</td>"
        "<td class=\"number\" data-label=\"Channels\">{3} of {4}</td><td class=\"number\" data-label=\"Share found\">{7:.3g} %</td>"
        "<td class=\"number\" data-label=\"Distance\">{8}</td><td class=\"differs\" data-label=\"Differences\">{9}</td></tr>",
        k + 1, k, time.place(first), match.matched, match.channels,
        labelled ? "<td class=\"name\" data-label=\"Label\">" + escaped(match.label) + "</td>" : "",
        time.duration(last - first), 100 * match.coverage, distance_text(match.distance, page.normalization),
        differs);
  }
  std::vector<page::Column> columns = {{"Rank"},
                                       {"Begin", "number"},
                                       {"Duration", "number"},
                                       {"Channels", "number"},
                                       {"Share found", "number"},
                                       {"Distance", "number"},
                                       {"Differences"}};
  if (labelled) columns.insert(columns.begin() + 1, {"Label"});
  return fmt::format(
      "<section class=\"card\"><h2>Matches</h2><p>The best match stands first: the larger the share of the query that was found, "
      "the better; of equal shares, the smaller distance wins. A match's distance is the sum over its channels, {}.{}</p>{}</section>",
      page.normalization == Normalization::z ? "of normalised curves, without a unit"
                                             : "in the unit of the samples",
      matches.size() > kMostRows
          ? fmt::format(" The first {} of {} are listed.", kMostRows, grouped(std::ssize(matches)))
          : "",
      page::table(columns, rows, "cards"));
}

std::string overview(const SearchPage& page) {
  const auto& recording = *page.recording;
  std::string left_out;
  if (recording.annotations.size() > kMostAnnotations)
    left_out = fmt::format(" {} of {} annotations are drawn, evenly picked.", grouped(kMostAnnotations),
                           grouped(std::ssize(recording.annotations)));
  const std::size_t boxed = matches_with_boxes(page);
  if (boxed < page.found->matches.size())
    left_out += fmt::format(" Channels are boxed in the first {} matches{}.", boxed,
                            page.found->matches.size() > kMostRows
                                ? fmt::format(", those after the first {} are not drawn", kMostRows)
                                : "");
  return fmt::format(fmt::runtime(embedded::overview_html), left_out,
                     grouped(std::ssize(page.found->matches)), grouped(std::ssize(recording.annotations)));
}

std::string panels(const SearchPage& page) {
  const std::int64_t count = matches_with_panels(page);
  if (count == 0) return "";
  std::string shown;
  if (count < std::ssize(page.found->matches)) shown = fmt::format(" The first {} are drawn.", count);
  return fmt::format(
             "<section class=\"card\"><h2>Channel by channel</h2><p>The query's curve is drawn over the recording where it was "
             "found{}. {}{}</p><ul class=\"key\"><li><i style=\"color:var(--wave)\"></i>recording</li><li><i "
             "style=\"color:var(--query)\"></i>query</li><li><i class=\"box\"></i>what was found</li><li><i "
             "style=\"color:var(--lag)\"></i>lag: how much later than the first channel it begins</li></ul><div "
             "class=\"tools\"><button type=\"button\" id=\"all\">Open or close all</button></div></section>",
             page.normalization == Normalization::z
                 ? ". Both are normalised as in the search: the mean is subtracted, and the rest divided by the "
                   "standard deviation"
                 : ", in the unit of the samples",
             "A query that was stretched, negated or rotated to match is drawn that way.", shown) +
         match_panels(page);
}

}  // namespace

std::string search_page(const SearchPage& page) {
  check(page);
  const std::string name = page.recording->name.empty() ? "recording" : page.recording->name;
  const bool one = page.queries.size() == 1 && !page.queries[0].label.empty();
  std::string foot;
  if (!page.settings.empty()) foot = escaped(fmt::format("{}", fmt::join(page.settings, "; "))) + "<br/>";
  return page::to_html(
      {.title = name + ": search",
       .heading = (one ? page.queries[0].label : "Matches") + " in " + name,
       .lead = "<p>" + (page.query_sources.empty() ? "" : "Looked for: " + escaped(page.query_sources[0])) +
               "</p>",
       .body = "<main><section class=\"card\">" + facts(page) + "</section>" + overview(page) + table(page) +
               panels(page) + "</main><script type=\"application/json\" id=\"data\">" + script_data(page) +
               "</script>",
       .footer = fmt::format("{}warploom {} search", foot, version()),
       .styles = {embedded::page_css},
       .scripts = {embedded::page_js, page::reveal_script()}});
}

}  // namespace warploom::search
