#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>

#include "cli/option_names.hpp"
#include "cli/verb.hpp"
#include "command.hpp"
#include "measure.hpp"
#include "warploom/core/error.hpp"
#include "warploom/count/statuses.hpp"
#include "warploom/count/timeline.hpp"
#include "warploom/io/gzip.hpp"
#include "warploom/page/chart.hpp"

namespace warploom::tool {
namespace {

using page::Panel;
using table::Application;
using table::Compared;
using table::Normal;
using table::Timeline;

struct Settings : TableSettings {
  std::vector<std::string> recordings;
  std::string application, status, batch = "4096", preload = "2^18";
  double window = 0.5;
  int search = 33, rounds = 3;
  std::uint64_t tables = 320;
};

std::string as_text(const Application& application, const std::vector<Compared>& variants) {
  std::vector<std::vector<std::string>> rows{{application.name, "n", "m", "rate", "us a batch", "retries",
                                              "longest chain", "fullest table", "speed-up"}};
  for (const auto& [name, m] : variants)
    rows.push_back({name, grouped(m.experiment.table.tables), grouped(m.experiment.table.buckets),
                    rate_text(m.rate()), fmt::format("{:.1f}", 1e6 * m.kernel_seconds()),
                    fmt::format("{:.4f}", m.retries_per_operation()), grouped(m.longest_chain()),
                    fmt::format("{:.2f}", m.fullest_table()),
                    fmt::format("{:.2f}", m.rate() / variants.front().measurement.rate())});
  std::string keys;
  for (const Normal& part : application.keys)
    keys += fmt::format("{}{} +- {}", keys.empty() ? "" : " and ", part.mean, part.deviation);
  return fmt::format("Keys {}, batches of {}:\n{}\n", keys, grouped(application.batch), columns(rows));
}

/// Figure 41.
Panel histogram(const Application& application) {
  constexpr std::size_t kBins = 100;
  const std::vector<double> shares = table::key_shares(application, kBins);
  Panel panel{.title = fmt::format("{}: batches of {}", application.name, grouped(application.batch)),
              .x = {.title = "key"},
              .y = {.title = "keys, % a bin of 0.01"},
              .series = {{.label = "", .points = {}, .filled = true}}};
  for (std::size_t bin = 0; bin < kBins; ++bin)
    for (const std::size_t edge : {bin, bin + 1})
      panel.series[0].points.emplace_back(static_cast<double>(edge) / kBins, shares[bin]);
  return panel;
}

/// "12:03.25", minutes
std::string clock(double seconds) {
  const auto hundredths = static_cast<std::int64_t>(std::llround(100 * seconds));
  return fmt::format("{}:{:02}.{:02}", hundredths / 6000, hundredths / 100 % 60, hundredths % 100);
}

struct Recorded {
  std::string text;
  Json json;
  Timeline timeline;
};

/// Statuses in text and picture.
constexpr std::size_t kListed = 12;

table::StatusRecording read_recording(const std::string& path, double window) {
  const std::string file = input_name(path);
  auto recording = table::statuses_of(io::parse_table<double>(io::uncompressed(read_input(path), file), file),
                                      file, window);
  recording.name = std::filesystem::path(path).filename().string();
  recording.name.resize(std::min(recording.name.find('.'), recording.name.size()));
  return recording;
}

Recorded run_recordings(const Settings& s) {
  const std::uint64_t batch = parse_count("--batch", s.batch, 1, 1 << 30);
  const std::string status = s.status.empty() ? "freeze" : s.status;
  const std::vector<std::uint32_t> asked = table::parse_status(status);
  std::vector<table::StatusRecording> recordings;
  for (const std::string& path : s.recordings) recordings.push_back(read_recording(path, s.window));
  const table::StatusReport report = table::find_statuses(recordings, asked, batch, s.table);

  Recorded result;
  result.text = fmt::format(
      "{} recordings, {}, {} time slots; {}\nstored in batches of {}: {} of fetch_add and insert\n\n",
      recordings.size(), clock(report.recorded_seconds), grouped(report.slots), report.table, grouped(batch),
      seconds_text(report.store_seconds));
  std::vector<std::vector<std::string>> rows{{"status", "time slots", "share"}};
  Json by_status = Json::array();
  for (const auto& [code, count] : report.counts) {
    const std::string name = table::Status::of_code(code).text();
    const double share = 100 * static_cast<double>(count) / static_cast<double>(report.slots);
    if (rows.size() <= kListed) rows.push_back({name, grouped(count), fmt::format("{:.2f} %", share)});
    if (result.timeline.shares.size() < kListed) result.timeline.shares.emplace_back(name, share);
    by_status.push_back({{"status", name}, {"slots", count}});
  }
  result.text += columns(rows);
  if (by_status.size() + 1 > rows.size())
    result.text += fmt::format("and {} more\n", by_status.size() + 1 - rows.size());

  result.text +=
      fmt::format("\nWhen {}: {} time slots in {} intervals, found in {}\n", status, grouped(report.found),
                  report.intervals.size(), seconds_text(report.find_seconds));
  Json when = Json::array();
  for (const table::StatusRecording& recording : recordings)
    result.timeline.rows.push_back(
        {.name = recording.name, .seconds = recording.seconds.back(), .periods = {}});
  rows = {{"recording", "from", "to", "seconds"}};
  for (const table::StatusInterval& interval : report.intervals) {
    const table::StatusRecording& recording = recordings[interval.first.recording];
    const double from = recording.seconds[interval.first.sample], to = recording.seconds[interval.last];
    when.push_back({{"recording", recording.name}, {"from", from}, {"to", to}});
    result.timeline.rows[interval.first.recording].periods.emplace_back(from, to);
    if (rows.size() <= 20)
      rows.push_back({recording.name, clock(from), clock(to), fmt::format("{:.2f}", to - from)});
  }
  if (!report.intervals.empty()) result.text += columns(rows);
  if (report.intervals.size() + 1 > rows.size())
    result.text += fmt::format("and {} more\n", report.intervals.size() + 1 - rows.size());
  result.timeline.title = "Time slots by status";
  result.timeline.subtitle =
      fmt::format("{} time slots of {} recordings", grouped(report.slots), recordings.size());
  result.timeline.asked = status;
  result.json = {{"files", s.recordings},
                 {"table", report.table},
                 {"slots", report.slots},
                 {"seconds",
                  {{"recorded", report.recorded_seconds},
                   {"store", report.store_seconds},
                   {"find", report.find_seconds}}},
                 {"batch", batch},
                 {"statuses", std::move(by_status)},
                 {"status", status},
                 {"intervals", std::move(when)}};
  return result;
}

int run_applications(const Settings& s, TableRun& run) {
  std::string text;
  Json list = Json::array();
  std::vector<Panel> panels;
  for (const Application& application : table::applications()) {
    if (!s.application.empty() && s.application != application.name) continue;
    const std::uint64_t preload = parse_count("--preload", s.preload, 0, 1 << 30);
    const std::vector<Compared> variants =
        table::compare_structures(application, {.table = s.table,
                                                .preload = preload,
                                                .find = s.search,
                                                .rounds = s.rounds,
                                                .tables = static_cast<std::uint32_t>(s.tables)});
    if (text.empty()) text = variants.back().measurement.description + "\n\n";
    text += as_text(application, variants);
    Json measured = Json::array();
    for (const auto& [name, measurement] : variants) {
      measured.push_back({{"variant", name}}).update(as_json(measurement));
    }
    list.push_back({{"application", application.name}, {"variants", std::move(measured)}});
    panels.push_back(histogram(application));
  }
  run.write_svg([&] { return svg("Keys of the applications", "", panels); });
  return run.finish(text, {{"applications", std::move(list)}});
}

int run(Settings& s) {
  if (s.recordings.empty() && !s.status.empty())
    throw BadInput("--status: it is of recordings; say --recording FILE");
  if (!s.recordings.empty() && !s.application.empty())
    throw BadInput("--application: recordings take the place of the dissertation's keys");
  TableRun run(s);
  if (s.recordings.empty()) return run_applications(s, run);
  const Recorded recorded = run_recordings(s);
  run.write_svg([&] { return svg(recorded.timeline); });
  return run.finish(recorded.text, {{"recordings", recorded.json}});
}

std::function<int()> add(Command& command) {
  auto s = std::make_shared<Settings>();
  command.group("Recordings");
  command.add("--recording FILE...", &s->recordings,
              "Recordings of wearable sensors, perhaps gzipped, as Daphnet's: time [ms], three axes [mg] of "
              "ankle, thigh and trunk, annotation 0, 1 or 2; in place of the dissertation's distributions");
  command.add(
      "--status STATUS", &s->status,
      "Which time slots to retrieve: ACTIVITY (outside, free, freeze), perhaps /AXIS (of the trunk that "
      "points up: +1 to -3), perhaps /MOTION (still, moving, striding) [freeze]");
  command.add("--window S", &s->window, "Of the samples that make a status, up to the moment [s] [0.5]")
      .range(0.0, 3600.0);
  command.add("--batch N", &s->batch, "Time slots of recordings stored at a time [4096]");
  command.group("Applications");
  command
      .add("--application NAME", &s->application,
           "One of the two: emergencies (batches of 4,096) or statistics (262,144) [both]")
      .among(std::vector<std::string>{"emergencies", "statistics"});
  command.add("--preload N", &s->preload, "Pairs put in before [2^18]");
  command.add("--tables N", &s->tables, "n of the parallel hash table [320]").range(2, 1 << 16);
  command.add("--search P", &s->search, "Finds [%] [33]").range(0, 100);
  command.add("--rounds N", &s->rounds, "Batches that are timed, after one that is not [3]").range(1, 10000);
  command.add(
      "--svg FILE", &s->svg,
      "Picture to write (.svg): histograms of the keys, the dissertation's Figure 41, or the statuses of recordings "
      "and when there is the one asked for");
  add_table_options(command, *s);
  return [s] { return with_option_names([s] { return run(*s); }); };
}

}  // namespace

Verb table_applications() {
  return {
      "applications",
      "Run the dissertation's two applications, or find time slots by status from recordings of wearable sensors",
      "warploom table applications --svg keys.svg\n"
      "  warploom table applications --recording S01R02.txt.gz --recording S03R03.txt.gz --status free/+2\n"
      "Without recordings: keys from two normal distributions (deviations .05 and .1) in batches of 4,096, "
      "and from one (.58) in batches of 262,144, in a hash table of m = 1024 lists (BASIC), n of them (PH), and ours.",
      &add};
}

}  // namespace warploom::tool
