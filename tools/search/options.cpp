#include "options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "cli/verb.hpp"
#include "warploom/core/error.hpp"

namespace warploom::tool {
namespace {

constexpr double kMost = 1e300;
constexpr double kLeast = 1e-300;  // of numbers that have to be above 0

template <typename Set>
void add(Command& command, const std::string& option, const std::string& type, Set set,
         const std::string& help) {
  command
      .add(
          option, [set](const std::string& text) { set(text); }, help)
      .type(type);
}

std::vector<double> parse_numbers(const std::string& option, const std::string& text, double least,
                                  double most) {
  std::vector<double> numbers;
  for (const std::string& word : split(text, ',')) numbers.push_back(parse_number(option, word, least, most));
  return numbers;
}

/// "0.8:1.25:5", in equal ratios, or "0.8,1,1.25".
std::vector<double> parse_scales(const std::string& text) {
  const std::vector<std::string> parts = split(text, ':');
  if (parts.size() == 1) return parse_numbers("--scales", text, 0.1, 10);
  std::int64_t count = 0;
  if (parts.size() != 3 || !parse_whole(parts[2], count) || count < 2 || count > 100)
    throw BadInput(fmt::format(
        "--scales {}: FIRST:LAST:COUNT with 2 to 100 scales, as 0.8:1.25:5, or a list, as 0.9,1,1.1", text));
  const double first = parse_number("--scales", parts[0], 0.1, 10),
               last = parse_number("--scales", parts[1], 0.1, 10);
  std::vector<double> scales;
  for (std::int64_t k = 0; k < count; ++k) {
    const double scale =
        first * std::pow(last / first, static_cast<double>(k) / static_cast<double>(count - 1));
    scales.push_back(std::abs(scale - 1) < 1e-9 ? 1 : scale);  // the query as it is, unrounded
  }
  return scales;
}

double parse_time_unit(const std::string& text) {
  static const std::vector<std::pair<std::string, double>> units{
      {"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}, {"min", 60}};
  for (const auto& [name, seconds] : units)
    if (text == name) return seconds;
  throw BadInput(fmt::format("--time-unit: '{}' is none of s, ms, us, ns, min", text));
}

void add_query_options(Command& command, SearchSettings& s) {
  command.group("Query");
  command
      .add("QUERY RECORDING", &s.inputs,
           "The query's file, unless --query names it, then the recordings: files, and folders, which are "
           "searched through for files of the formats below")
      .type("...");
  add(
      command, "--from", "T", [&s](const auto& t) { s.from = parse_number("--from", t, 0, kMost); },
      "The query is a range of its file that begins here [s; samples where no rate is known] [its begin]");
  add(
      command, "--to", "T", [&s](const auto& t) { s.to = parse_number("--to", t, 0, kMost); },
      "...and ends here [s] [its end]");
  command
      .add(
          "--query LABEL=FILE[@FROM-TO]",
          [&s](const std::string& text) { s.queries.push_back(parse_query(text)); },
          "A query and its label, perhaps a range of its file [s]; several times for several queries. All that stands "
          "without an option is a recording then")
      .repeated();
  command.add(
      "--label LABEL", &s.examples,
      "Every annotation of the query's file with this label is a query, an example; several times for several labels. Implies --labels");
  command.add(
      "--labels", &s.labels,
      "Of several queries give each place the label of the one that fits best [each query's matches]");
  command.add(
      "--exclude-self", &s.exclude_self,
      "Leave out matches of which more than a tenth lies where a query of their label was taken from [they are marked]");
  add(
      command, "--query-select", "LIST", [&s](const std::string& t) { s.query_select = split(t, ','); },
      "Channels of the query, where they are not those of --select");
  add(
      command, "--channels-by", "name|number",
      [&s](const std::string& text) {
        if (text != "name" && text != "number")
          throw BadInput(fmt::format("--channels-by: '{}' is neither name nor number", text));
        s.by_number = text == "number";
      },
      "How the query's channels are those of the recording [name where all have names, else number]");
}

void add_signal_options(Command& command, signal::PrepareOptions& s) {
  command.group("Signal");
  add(
      command, "--resample", "RATE",
      [&s](const auto& t) { s.resample = parse_number("--resample", t, kLeast, kMost); },
      "Bring queries and recordings to this rate [Hz] [the highest of a recording's channels]");
  add(
      command, "--band-pass", "LOW:HIGH",
      [&s](const std::string& text) {
        const std::vector<std::string> corners = split(text, ':');
        if (corners.size() != 2)
          throw BadInput(fmt::format("--band-pass {}: LOW:HIGH is expected, as 0.5:20", text));
        s.low = parse_number("--band-pass", corners[0], kLeast, kMost);
        s.high = parse_number("--band-pass", corners[1], kLeast, kMost);
      },
      "Keep frequencies between these, by a Butterworth filter of order 4 forwards and backwards [Hz]");
  add(
      command, "--high-pass", "LOW",
      [&s](const auto& t) { s.low = parse_number("--high-pass", t, kLeast, kMost); },
      "Keep frequencies above this one [Hz]");
  add(
      command, "--low-pass", "HIGH",
      [&s](const auto& t) { s.high = parse_number("--low-pass", t, kLeast, kMost); },
      "Keep frequencies below this one [Hz]");
  command.add("--detrend", &s.detrend, "Take away each channel's straight line of least squares");
}

void add_distance_options(Command& command, SearchSettings& s) {
  command.group("Distance");
  add(
      command, "--method", "dtw|euclidean",
      [&s](const std::string& text) {
        if (text != "dtw" && text != "euclidean")
          throw BadInput(fmt::format("--method: '{}' is neither dtw nor euclidean", text));
        s.euclidean = text == "euclidean";
      },
      "dtw: this search; euclidean: the sum of the channels' distances at one offset, to compare with; of the "
      "options below it heeds --normalize, --best and --exclusion [dtw]");
  add(
      command, "--band", "SHARE|none",
      [&s](const std::string& text) {
        s.find.band = text == "none" ? 1 : parse_number("--band", text, 0, 1);
      },
      "How far warping may shift a sample, as a share of the query's length [0.05]");
  add(
      command, "--normalize", "z|none",
      [&s](const std::string& text) {
        if (text != "z" && text != "none")
          throw BadInput(fmt::format("--normalize: '{}' is neither z nor none", text));
        s.normalization = text == "z" ? search::Normalization::z : search::Normalization::none;
      },
      "z: mean 0 and deviation 1, the query and each window by itself; none: as it is [z]");
  command.add("--best N", &s.find.limit, "Matches wanted of each recording and query [20]")
      .range(std::int64_t{1}, std::int64_t{1'000'000});
  command.add("--candidates N", &s.find.candidates, "Places kept of each pair of channels [200]")
      .range(std::int64_t{1}, std::int64_t{10'000'000});
  add(
      command, "--exclusion", "SHARE",
      [&s](const auto& t) { s.find.exclusion = parse_number("--exclusion", t, 0, 10); },
      "Matches begin farther apart than this share of the query's length [0.5]");
  add(
      command, "--max-distance", "D",
      [&s](const auto& t) { s.find.max_distance = parse_number("--max-distance", t, 0, kMost); },
      "Matches count up to this distance; free: each pair of channels does, and the column distance adds them up "
      "[unit of the samples; none where normalised] [by --significance]");
  add(
      command, "--significance", "CHANCE",
      [&s](const auto& t) {
        s.find.significance = parse_number("--significance", t, kLeast, 1);
        s.only_significant = true;
      },
      "auto: only matches so near that fewer than this many come by chance in a recording without the query [all]; "
      "free: up to the distance that a channel reaches by accident with this chance where it does not occur, divided "
      "evenly among the channels, lags, scales and signs that are tried at a place; 1: no threshold [0.05]");
}

void add_match_options(Command& command, SearchSettings& s) {
  command.group("Matches");
  add(
      command, "--match", "auto|in-place|free",
      [&s](const std::string& text) {
        using search::MatchBy;
        for (const MatchBy match : {MatchBy::automatic, MatchBy::in_place, MatchBy::free})
          if (text == match_text(match)) s.match_by = match;
        if (!s.match_by) throw BadInput(fmt::format("--match: '{}' is none of auto, in-place, free", text));
      },
      "in-place: each channel of the query in the recording's of its name or number, all warped together, free: each by "
      "itself, wherever and whenever it comes, auto: in place, unless another reading of the whole recording is nearer "
      "than chance explains, with channels switched, late, missing or turned or patterns stretched, or each match by "
      "itself where none explains it [auto; free where an option of it is given]");
  add(
      command, "--gain", "auto|FACTOR",
      [&s](const std::string& text) {
        s.gain.reset();
        if (text != "auto") s.gain = parse_number("--gain", text, 1e-12, 1e12);
      },
      "What the query is multiplied by to be in the recording's units (1: it is), auto: as the files' units say, or found "
      "out where the query is larger or smaller than all of the recording [auto]");
  add(
      command, "--max-lag", "SHARE|Ts",
      [&s](const std::string& text) {
        s.lag_in_seconds = text.ends_with('s');
        s.find.max_lag =
            parse_number("--max-lag", s.lag_in_seconds ? text.substr(0, text.size() - 1) : text, 0, kMost);
      },
      "The channels of a match begin at most this far apart: a share of the query's length, or seconds, as 0.2s [0.5]");
  command
      .add("--neighbours N", &s.find.neighbours,
           "A query's channel may be found in its own and so many to either side [3]")
      .range(0, 1'000'000);
  command.add("--adjacency FILE", &s.adjacency,
              "...or in those that stand behind it in this file: a line a channel, names or numbers from 1, "
              "separated by commas; its own always counts");
  add(
      command, "--alpha", "X|FILE",
      [&s](const std::string& text) {
        if (double number = 0; parse_whole(text, number))
          s.find.switched_weight = parse_number("--alpha", text, 0, kMost);
        else
          s.weights = text;
      },
      "Weight of the distance of a channel that is found in another, or a file with the weight of each pair, a row a channel [1]");
  add(
      command, "--scales", "A:B:N", [&s](const auto& t) { s.find.scales = parse_scales(t); },
      "Try the query at N lengths from A to B times its own, in equal ratios, or at those of a list [1]");
  command.add("--negated,!--no-negated", &s.find.negated,
              "A channel may be found with its sign changed, if normalised [yes]");
  command
      .add("--rotations N", &s.find.rotations,
           "Try so many rotations of sensors of three axes, spread evenly over all orientations [0]")
      .range(0, 100'000);
  command.add(
      "--sensor X,Y,Z", &s.sensors,
      "The channels of the query that are a sensor's axes; several times for several [its channels, if there are three]");
  command
      .add("--segments N", &s.find.segments,
           "Search so many parts of the query as well, so that parts of a channel count [1]")
      .range(1, 64);
  add(
      command, "--exhaust", "B,...",
      [&s](const auto& t) { s.find.exhaust = parse_numbers("--exhaust", t, 0, 1); },
      "Search channels that a match lacks again with these bands, growing");
  command.add("--min-channels N", &s.find.min_channels, "A match has at least so many [half the query's]")
      .range(1, 1'000'000);
  command.add("--alternatives N", &s.find.alternatives, "So many combinations of channels at one place [1]")
      .range(1, 1000);
}

void add_run_options(Command& command, SearchSettings& s) {
  command.group("Running");
  command.add_run(s.run);
  command
      .add(
          "--device-memory MIB",
          [&s](const std::string& text) {
            std::uint64_t mib = 0;
            if (parse_whole(text, mib)) s.run.memory = mib << 20;
          },
          "Use no more of the GPU's memory; longer recordings go through it in chunks [MiB] [what is free]")
      .range(std::uint64_t{1}, std::uint64_t{1} << 30);
  add(
      command, "--prune", "auto|always|never",
      [&s](const std::string& text) {
        if (text != "auto" && text != "always" && text != "never")
          throw BadInput(fmt::format("--prune: '{}' is none of auto, always, never", text));
        s.prune = text == "auto"     ? search::Prune::automatic
                  : text == "always" ? search::Prune::always
                                     : search::Prune::never;
      },
      "Leave out windows of which lower bounds tell that they are too far; the result does not depend on it [auto: where it pays]");
  command.add(
      "--stream", &s.stream,
      "Read samples from standard input as they come, a row a sample, and print each match as a line of "
      "JSON as soon as it is certain; needs --max-distance");
  command.group("Output");
  command.add("-o,--output DIR", &s.output,
              "Folder for NAME.matches.jsonl, NAME.matches.csv (a row a pair of channels) and "
              "NAME.annotations.csv of each recording, and ranking.csv over all");
  command.add("--html", &s.html, "Write NAME.html there as well, a page to look at");
  command.add(
      "--resume", &s.resume,
      "Leave recordings alone whose outputs are there and were made with the same options and queries");
  command.add_force(s.force);
  command.add_json(s.json);
}

/// Options that only the free search heeds; empty: none was given.
std::string free_option(const SearchSettings& s) {
  const search::FindOptions plain;
  const search::FindOptions& f = s.find;
  if (s.labels) return s.examples.empty() ? "--labels" : "--label";
  if (s.stream) return "--stream";
  if (f.candidates != plain.candidates) return "--candidates";
  if (f.switched_weight != plain.switched_weight || !s.weights.empty()) return "--alpha";
  if (f.rotations != plain.rotations) return "--rotations";
  if (f.segments != plain.segments) return "--segments";
  if (f.exhaust != plain.exhaust) return "--exhaust";
  if (f.min_channels != plain.min_channels) return "--min-channels";
  if (f.alternatives != plain.alternatives) return "--alternatives";
  return "";
}

}  // namespace

std::string match_text(search::MatchBy match) {
  switch (match) {
    case search::MatchBy::in_place:
      return "in-place";
    case search::MatchBy::free:
      return "free";
    case search::MatchBy::automatic:
      break;
  }
  return "auto";
}

double parse_number(const std::string& option, const std::string& text, double least, double most) {
  double value = 0;
  if (parse_whole(text, value) && std::isfinite(value) && value >= least && value <= most) return value;
  const std::string limits = most < kMost
                                 ? fmt::format("a number from {} to {}", least == kLeast ? 0 : least, most)
                             : least == kLeast ? "a number above 0"
                                               : fmt::format("a number of at least {}", least);
  throw BadInput(fmt::format("{} {}: {} is expected", option, text.empty() ? "''" : text, limits));
}

QuerySource parse_query(const std::string& text) {
  QuerySource query;
  const std::size_t equals = text.find('=');
  if (equals != text.npos) query.label = text.substr(0, equals);
  query.file = text.substr(equals == text.npos ? 0 : equals + 1);
  if (const std::size_t at = query.file.rfind('@'); at != query.file.npos) {
    const std::string range = query.file.substr(at + 1);
    const std::size_t dash = range.find('-');
    double from = 0, to = 0;
    // Else it belongs to the file's name.
    if (dash != range.npos && parse_whole(std::string_view(range).substr(0, dash), from) &&
        parse_whole(std::string_view(range).substr(dash + 1), to)) {
      query.from = from;
      query.to = to;
      query.file.resize(at);
      if (!(to > from))
        throw BadInput(
            fmt::format("--query {}: the range ends at {} s, before it begins at {} s", text, to, from));
    }
  }
  if (query.file.empty())
    throw BadInput(fmt::format("--query {}: LABEL=FILE or LABEL=FILE@FROM-TO is expected", text));
  return query;
}

void add_reading_options(Command& command, io::RecordingOptions& reading) {
  command.group("Recordings");
  command.add(
      "--format FORMAT", &reading.format,
      "csv (any text), npy, f32, f64, ts, edf, c3d, mat, wfdb [by the name's ending: .csv .tsv .txt, .npy, .f32 .raw, "
      ".f64, .ts, .edf .bdf, .c3d, .mat, .hea .dat; text also with .gz]");
  add(
      command, "--rate", "HZ",
      [&reading](const auto& t) { reading.rate = parse_number("--rate", t, kLeast, kMost); },
      "Samples a second where the file does not tell [Hz]");
  command.add("--channels N", &reading.channels, "Channels of raw samples (f32, f64) [1]")
      .range(1, 1'000'000);
  add(
      command, "--select", "LIST", [&reading](const std::string& t) { reading.select = split(t, ','); },
      "Channels wanted, names, numbers from 1 or ranges as 1-8, in this order [all]");
  command.add(
      "--time-column WHICH", &reading.time_column,
      "Column of text that holds the time; none: no column does [one named time, t or timestamp; without a header the first if it grows evenly]");
  add(
      command, "--time-unit", "UNIT", [&reading](const auto& t) { reading.time_unit = parse_time_unit(t); },
      "Its unit: s, ms, us, ns, min [as in its name, time [ms]; else s, but ms where it holds whole numbers 2 or more apart]");
  command.add(
      "--label-column WHICH", &reading.label_column,
      "Column of text whose runs of equal values are annotations; none: no column does [the last if it holds few whole numbers in long runs]");
  add(
      command, "--series", "N|all",
      [&reading](const std::string& text) {
        if (text == "all")
          reading.series = kAllSeries;
        else if (!parse_whole(text, reading.series) || reading.series < 1)
          throw BadInput(fmt::format("--series {}: a number from 1, or all, is expected", text));
      },
      "Which series of .ts files, from 1, or all of them, each a recording; FILE.ts#3 is the third whatever stands here [1]");
}

void add_search_options(Command& command, SearchSettings& settings) {
  add_query_options(command, settings);
  add_reading_options(command, settings.reading);
  add_signal_options(command, settings.prepare);
  add_distance_options(command, settings);
  add_match_options(command, settings);
  add_run_options(command, settings);
}

void check_together(SearchSettings& s) {
  const auto refuse = [](bool wrong, const std::string& message) {
    if (wrong) throw BadInput(message);
  };
  if (s.queries.empty()) {
    refuse(s.inputs.empty(),
           "no query given: warploom search QUERY RECORDING... (see warploom search --help)");
    refuse(s.inputs.front().empty(), "the query's file name is empty");
    s.queries.push_back({"", s.inputs.front(), s.from, s.to});
    s.inputs.erase(s.inputs.begin());
    refuse(s.from && s.to && !(*s.to > *s.from),
           fmt::format("--to {}: the query begins at --from {}, and must end after it", s.to.value_or(0),
                       s.from.value_or(0)));
  } else {
    refuse(s.from || s.to,
           "--from and --to are of QUERY; of --query the range is given as LABEL=FILE@FROM-TO");
    refuse(!s.examples.empty(),
           "--label takes examples from QUERY's annotations; it does not go with --query");
  }
  refuse(!s.examples.empty() && (s.from || s.to),
         "--label and --from, --to do not go together: the annotations tell where the queries are");
  if (!s.examples.empty()) s.labels = true;
  refuse(s.euclidean && s.labels, "--labels is of --method dtw");
  refuse(s.euclidean && s.match_by.has_value(), "--match is of --method dtw");
  const std::string free = free_option(s);
  refuse(
      s.match_by && *s.match_by != search::MatchBy::free && !free.empty(),
      fmt::format("{} is of the free search, and --match {} is another: give --match free, or leave {} out",
                  free, match_text(s.match_by.value_or(search::MatchBy::free)), free));
  s.match = s.match_by.value_or(free.empty() ? search::MatchBy::automatic : search::MatchBy::free);
  refuse(s.gain && s.match != search::MatchBy::automatic,
         "--gain is of --match auto, the others compare shapes alone: leave it out");
  refuse(s.only_significant && s.match == search::MatchBy::in_place,
         "--significance is of --match auto and free; with in-place give --max-distance, or leave it out");
  s.only_significant = s.only_significant && s.match == search::MatchBy::automatic;
  refuse(!s.sensors.empty() && s.find.rotations == 0, "--sensor is for --rotations; say how many are tried");
  refuse(!s.adjacency.empty() && s.find.neighbours != search::FindOptions().neighbours,
         "--adjacency and --neighbours do not go together: give one");
  const auto& [resample, low, high, detrend] = s.prepare;
  refuse(low && high && !(*low < *high),
         fmt::format("--band-pass {}:{}: the first corner must lie below the second", low.value_or(0),
                     high.value_or(0)));
  refuse(s.stream && !s.inputs.empty(), "--stream searches standard input; leave the recordings out");
  refuse(s.stream && !s.output.empty(), "--stream prints what it finds; it does not go with --output");
  refuse(s.stream && !s.find.max_distance,
         "--stream needs --max-distance: it cannot know what is still to come");
  refuse(s.stream && s.euclidean, "--stream is of --method dtw");
  refuse(
      !s.stream && s.inputs.empty(),
      "no recording given: warploom search QUERY RECORDING... (QUERY again to search the query's own file)");
  refuse(s.output.empty() && (s.html || s.resume || s.force),
         fmt::format("{} is about files, and none are written: give --output DIR", s.html     ? "--html"
                                                                                   : s.resume ? "--resume"
                                                                                              : "--force"));
  refuse(s.resume && s.force, "--resume and --force do not go together: keep what is there, or replace it");
}

std::vector<std::pair<std::string, std::string>> described(const SearchSettings& s) {
  const search::FindOptions& f = s.find;
  std::vector<std::pair<std::string, std::string>> all;
  const auto say = [&all](std::string_view name, const auto& value) {
    all.emplace_back(name, fmt::format("{}", value));
  };
  const auto say_some = [&](std::string_view name, const auto& list) {
    if (!list.empty()) say(name, fmt::format("{}", fmt::join(list, ",")));
  };
  const auto say_if = [&](bool given, std::string_view name, const auto& value) {
    if (given) say(name, value);
  };
  say("method", s.euclidean ? "euclidean" : "dtw");
  say("normalize", s.normalization == search::Normalization::z ? "z" : "none");
  say("best", f.limit);
  say("exclusion", f.exclusion);
  if (!s.euclidean) {
    say("band", f.band >= 1 ? "none" : fmt::format("{}", f.band));
    say("match", match_text(s.match));
    if (s.gain) say("gain", *s.gain);
    say("candidates", f.candidates);
    if (f.max_distance)
      say("max-distance", *f.max_distance);
    else if (s.match == search::MatchBy::free || s.only_significant)
      say("significance", f.significance);
    say("max-lag", fmt::format("{}{}", f.max_lag, s.lag_in_seconds ? "s" : ""));
    if (s.adjacency.empty())
      say("neighbours", f.neighbours);
    else
      say("adjacency", s.adjacency);
    say("alpha", s.weights.empty() ? fmt::format("{}", f.switched_weight) : s.weights);
    say_some("scales", f.scales);
    say("negated", f.negated ? "yes" : "no");
    say_if(f.rotations > 0, "rotations", f.rotations);
    if (!s.sensors.empty()) say("sensors", fmt::format("{}", fmt::join(s.sensors, " ")));
    say_if(f.segments > 1, "segments", f.segments);
    say_some("exhaust", f.exhaust);
    say_if(f.min_channels > 0, "min-channels", f.min_channels);
    say_if(f.alternatives > 1, "alternatives", f.alternatives);
    say_if(s.labels, "labels", "yes");
  }
  say_if(s.exclude_self, "exclude-self", "yes");
  say_if(s.by_number, "channels-by", "number");
  say_some("select", s.reading.select);
  say_if(s.reading.rate.has_value(), "rate", s.reading.rate.value_or(0));
  say_if(!s.reading.format.empty(), "format", s.reading.format);
  say_if(s.reading.channels > 0, "channels", s.reading.channels);
  say_if(!s.reading.time_column.empty(), "time-column", s.reading.time_column);
  say_if(s.reading.time_unit > 0, "time-unit", s.reading.time_unit);
  say_if(!s.reading.label_column.empty(), "label-column", s.reading.label_column);
  say_if(s.reading.series != 1, "series",
         s.reading.series == kAllSeries ? "all" : fmt::format("{}", s.reading.series));
  say_if(s.prepare.resample.has_value(), "resample", s.prepare.resample.value_or(0));
  say_if(s.prepare.low.has_value(), "high-pass", s.prepare.low.value_or(0));
  say_if(s.prepare.high.has_value(), "low-pass", s.prepare.high.value_or(0));
  say_if(s.prepare.detrend, "detrend", "yes");
  return all;
}

}  // namespace warploom::tool
