// Question: do matches begin and end where strides do? Fixed: each recording is searched once with each of
// some strides, of its own wearer ("same") or of another ("other"), by search_recording(), as `warploom
// search` does with --match auto, in-place and free and the other defaults; as many results as it has
// strides. A result is correct if it overlaps a stride by half (intersection over union, IoU) of what both
// cover, before or after its boundaries are refined. Reported: of the correct results the share of those with
// IoU >= .75 and .9, as their windows were found and as they are reported (of all strides, and of those
// without a turn), the time of searches and, within it, of refining.
//
// Plantar forces (gait of PhysioNet, 8 recordings, 16 sensors at 100 Hz): a stride lasts from the sample at
// which the foot's total force exceeds a twentieth of its 95th percentile (20 N at least) to the next such
// sample, if that takes .6 to 2 s; its first minute. Inertial (C. Voisard et al., Image Processing On Line
// 13, 2023: 110 trials of 19 healthy subjects, three sensors at 100 Hz, 18 channels, steps corrected by
// hand; notes count packets, and what sensors lost, a twentieth in the median, is filled in between its
// neighbours): from the end of a left foot's swing to the next, as noted there; queries are strides without
// the turn. Usage: boundaries PLANTAR INERTIAL QUERIES [file.json [METHODS]]; PLANTAR: folder with Ga*.txt.gz
// and others; INERTIAL: folder with N-N.json and N-N_{lb,lf,rf}.txt; "-" for none; METHODS:
// auto,in-place,free.

#include "warploom/search/boundaries.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "../json_records.hpp"
#include "warploom/core/file.hpp"
#include "warploom/io/recording.hpp"
#include "warploom/search/recordings.hpp"

namespace {

using namespace warploom;
using namespace warploom::search;

struct Walk {
  std::string name, subject;
  std::vector<std::vector<float>> channels;
  std::vector<Boundaries> strides;
  std::vector<Boundaries> straight = {};  ///< of them those without a turn, which queries are taken from
};

double overlap(const Boundaries& a, const Boundaries& b) {
  const auto common = std::max<std::int64_t>(0, std::min(a.last, b.last) - std::max(a.first, b.first));
  return static_cast<double>(common) /
         static_cast<double>(std::max(a.last, b.last) - std::min(a.first, b.first));
}

void add_stride(Walk& walk, std::int64_t first, std::int64_t last) {
  if (last - first > 60 && last - first < 200 && last <= std::ssize(walk.channels[0]))
    walk.strides.push_back({first, last});
}

std::vector<std::filesystem::path> files(const std::string& folder, const std::string& extension) {
  std::vector<std::filesystem::path> paths;
  if (folder == "-") return paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == extension) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::vector<Walk> plantar(const std::string& folder) {
  constexpr std::size_t kMinute = 6000, kSensors = 16;
  std::vector<Walk> walks;
  for (const auto& path : files(folder, ".gz")) {
    const io::Recording recording = io::read_recording(path);
    for (const std::size_t foot : {0, 1}) {
      Walk walk{path.stem().string() + (foot == 0 ? " L" : " R"), path.stem().string(), {}, {}};
      const std::vector<float>& total = recording.channels.at(kSensors + foot).samples;
      for (std::size_t c = 0; c < kSensors; ++c) {
        const auto& samples = recording.channels[c].samples;
        walk.channels.emplace_back(samples.begin(), samples.begin() + std::min(kMinute, samples.size()));
      }
      std::vector<float> sorted = total;
      std::sort(sorted.begin(), sorted.end());
      const float least = std::max(20.F, .05F * sorted[sorted.size() * 95 / 100]);
      std::int64_t before = -1;
      for (std::size_t t = 1; t < total.size(); ++t) {
        if (!(total[t - 1] <= least && total[t] > least)) continue;
        if (before >= 0) add_stride(walk, before, static_cast<std::int64_t>(t));
        before = static_cast<std::int64_t>(t);
      }
      walk.straight = walk.strides;
      walks.push_back(std::move(walk));
    }
  }
  return walks;
}

std::vector<Walk> inertial(const std::string& folder) {
  std::vector<Walk> walks;
  for (const auto& path : files(folder, ".json")) {
    std::string text = read_file(path);  // with NaN, which JSON has not
    for (std::size_t at; (at = text.find("NaN")) != std::string::npos;) text.replace(at, 3, "null");
    const auto notes = nlohmann::json::parse(text);
    Walk walk{path.stem().string(), std::to_string(notes.at("Subject").get<int>()), {}, {}};
    std::vector<std::map<int, std::vector<float>>> sensors;
    for (const char* sensor : {"_lb", "_lf", "_rf"}) {
      std::istringstream rows_text(read_file(path.parent_path() / (walk.name + sensor + ".txt")));
      std::string line;
      std::getline(rows_text, line);
      std::getline(rows_text, line);
      auto& rows = sensors.emplace_back();
      while (std::getline(rows_text, line)) {
        std::istringstream row(line);
        double counter = 0;
        std::vector<float> values(6);
        row >> counter;
        for (float& value : values) row >> value;
        rows[static_cast<int>(counter)] = values;
      }
    }
    // Notes count packets, of which sensors lost some: each sample lies at its packet's number.
    std::int64_t count = std::numeric_limits<std::int64_t>::max();
    for (const auto& rows : sensors) count = std::min(count, std::int64_t{rows.rbegin()->first} + 1);
    for (std::size_t c = 0; c < 18; ++c) {
      const auto& rows = sensors[c / 6];
      std::vector<float>& channel = walk.channels.emplace_back();
      for (int t = 0; t < count; ++t) {
        const auto after = rows.lower_bound(t), before = after == rows.begin() ? after : std::prev(after);
        const float x = after->second[c % 6], y = before->second[c % 6];
        const bool between = after->first > t && after != before;
        channel.push_back(between ? y + (x - y) * static_cast<float>(t - before->first) /
                                            static_cast<float>(after->first - before->first)
                                  : x);
      }
    }
    const auto& steps = notes.at("LeftFootEvents");
    const auto turn = notes.at("UTurnBoundaries").get<std::vector<std::int64_t>>();
    for (std::size_t s = 1; s < steps.size(); ++s) {
      const auto first = steps[s - 1][1].get<std::int64_t>(), last = steps[s][1].get<std::int64_t>();
      add_stride(walk, first, last);
    }
    for (const Boundaries& stride : walk.strides)
      if (stride.first >= turn[1] || stride.last <= turn[0]) walk.straight.push_back(stride);
    walks.push_back(std::move(walk));
  }
  return walks;
}

/// Shares of correct matches.
struct Shares {
  int correct = 0, good = 0, very_good = 0;
  void add(double iou) {
    ++correct;
    good += iou >= .75;
    very_good += iou >= .9;
  }
  std::string text() const {
    const auto share = [&](int part) {
      return json_number(static_cast<double>(part) / std::max(correct, 1));
    };
    return "{\"correct\": " + std::to_string(correct) + ", \"iou_75\": " + share(good) +
           ", \"iou_90\": " + share(very_good) + "}";
  }
};

/// The recording as its file would be read: sensors of three axes have names that say so.
io::Recording recording_of(const Walk& walk, bool named) {
  constexpr double kRate = 100;
  io::Recording recording;
  recording.name = walk.name;
  recording.timed = true;
  for (std::size_t c = 0; c < walk.channels.size(); ++c) {
    const std::string name =
        named ? "sensor" + std::to_string(c / 3) + static_cast<char>('x' + static_cast<char>(c % 3)) : "";
    recording.channels.push_back({name, "", kRate, walk.channels[c]});
  }
  return recording;
}

double seconds_of(const auto& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void study(const std::string& name, const std::vector<Walk>& walks, int queries, const std::string& methods,
           JsonRecords& records) {
  constexpr std::size_t kFewest = 8;  // strides of a recording
  const std::array<std::pair<std::string, MatchBy>, 3> all{
      {{"auto", MatchBy::automatic}, {"in-place", MatchBy::in_place}, {"free", MatchBy::free}}};
  for (const bool other : {false, true})
    for (const auto& [method, match_by] : all) {
      if (methods.find(method) == std::string::npos) continue;
      std::mt19937 engine(5);
      Shares found, reported, of_straight, of_reported;
      int searches = 0, results = 0;
      double time = 0, refining = 0;
      for (const Walk& walk : walks) {
        if (walk.strides.size() < kFewest) continue;
        std::vector<const Walk*> sources;
        for (const Walk& source : walks)
          if (source.strides.size() >= kFewest && (source.subject != walk.subject) == other &&
              (other ? source.name.back() == walk.name.back() || name == "inertial" : &source == &walk))
            sources.push_back(&source);
        io::Recording recording = recording_of(walk, name == "inertial");
        for (int q = 0; q < queries; ++q) {
          const Walk& source = *sources[engine() % sources.size()];
          const Boundaries stride = source.straight[engine() % source.straight.size()];
          RecordedQuery query{.label = "stride", .rate = 100, .timed = true};
          for (const io::Channel& channel : recording_of(source, name == "inertial").channels) {
            query.names.push_back(channel.name);
            query.samples.emplace_back(channel.samples.begin() + stride.first,
                                       channel.samples.begin() + stride.last);
          }
          SearchOptions options;
          options.run.devices = {Device::cpu};
          options.match = match_by;
          options.find.limit = static_cast<std::int64_t>(walk.strides.size());
          SearchResult result;
          time += seconds_of([&] { result = search_recording(recording, walk.name, {&query, 1}, options); });
          ++searches;
          std::vector<Match> matches;
          for (const Hit& hit : result.hits) matches.push_back(hit.match);
          const std::vector views = placed(result.compared, recording, walk.name, false);
          const std::vector<const Query*> of_matches(matches.size(), &views[0]);
          const Signal signal(walk.channels.begin(), walk.channels.end());
          refining += seconds_of([&] { refine_all(signal, of_matches, matches, Normalization::z); });
          for (const Match& match : matches) {
            const Boundaries as_found{match.first, match.last}, as_reported = match.boundaries();
            if (!other && overlap(as_found, stride) > .9) continue;  // the query itself
            ++results;
            const auto nearness = [&](const Boundaries& truth) {
              return std::max(overlap(truth, as_found), overlap(truth, as_reported));
            };
            const Boundaries truth = *std::max_element(
                walk.strides.begin(), walk.strides.end(),
                [&](const Boundaries& a, const Boundaries& b) { return nearness(a) < nearness(b); });
            if (nearness(truth) < .5) continue;
            found.add(overlap(truth, as_found));
            reported.add(overlap(truth, as_reported));
            if (overlap(truth, as_reported) >= .5) of_reported.add(overlap(truth, as_reported));
            if (std::find(walk.straight.begin(), walk.straight.end(), truth) != walk.straight.end())
              of_straight.add(overlap(truth, as_reported));
          }
        }
      }
      if (searches == 0) continue;
      records.add("{\"data\": \"" + name + "\", \"wearer\": \"" + (other ? "other" : "same") +
                  "\", \"match\": \"" + method + "\", \"searches\": " + std::to_string(searches) +
                  ", \"results\": " + std::to_string(results) + ", \"found\": " + found.text() +
                  ", \"reported\": " + reported.text() + ", \"reported_straight\": " + of_straight.text() +
                  ", \"correct_as_reported\": " + of_reported.text() +
                  ", \"search_ms\": " + json_number(1e3 * time / searches) +
                  ", \"of_it_refining_ms\": " + json_number(1e3 * refining / searches) + "}");
    }
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 4) {
    std::fprintf(
        stderr,
        "boundaries PLANTAR INERTIAL QUERIES [file.json [METHODS]]: see the first lines of the source\n");
    return 2;
  }
  const int queries = std::atoi(arguments[3]);
  JsonRecords records;
  records.list("boundaries");
  const std::string methods = count > 5 ? arguments[5] : "auto,in-place,free";
  study("plantar", plantar(arguments[1]), queries, methods, records);
  study("inertial", inertial(arguments[2]), queries, methods, records);
  if (count > 4) write_file_atomically(arguments[4], records.text());
}
