// Question: do matches begin and end where strides do? Fixed: each recording is searched once with each of
// some strides, of its own wearer ("same") or of another ("other"), in place and freely (defaults),
// z-normalised; as many results as it has strides. A result is correct if it overlaps a stride by half
// (intersection over union, IoU) of what both cover, before or after its boundaries are refined. Reported: of
// the correct results the share of those with IoU >= .75 and .9, as they are found and refined (of all
// strides, and of those without a turn), and the time that refining one takes.
//
// Plantar forces (gait of PhysioNet, 8 recordings, 16 sensors at 100 Hz): a stride lasts from the sample at
// which the foot's total force exceeds a twentieth of its 95th percentile (20 N at least) to the next such
// sample, if that takes .6 to 2 s; its first minute. Inertial (C. Voisard et al., Image Processing On Line
// 13, 2023: 110 trials of 19 healthy subjects, three sensors at 100 Hz, 18 channels, steps corrected by
// hand): from the end of a left foot's swing to the next, as noted there; queries are strides without the
// turn. Usage: boundaries PLANTAR INERTIAL QUERIES [file.json]; PLANTAR: folder with Ga*.txt.gz and others;
// INERTIAL: folder with N-N.json and N-N_{lb,lf,rf}.txt; "-" for none.

#include "warploom/search/boundaries.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "../json_records.hpp"
#include "warploom/core/file.hpp"
#include "warploom/io/recording.hpp"
#include "warploom/search/find.hpp"
#include "warploom/search/in_place.hpp"

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
    // Rows that all three sensors have, by their counter.
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
    walk.channels.resize(18);
    for (const auto& [counter, values] : sensors[0]) {
      if (!sensors[1].contains(counter) || !sensors[2].contains(counter)) continue;
      for (std::size_t c = 0; c < 18; ++c) walk.channels[c].push_back(sensors[c / 6].at(counter)[c % 6]);
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

void study(const std::string& name, const std::vector<Walk>& walks, int queries, JsonRecords& records) {
  constexpr std::size_t kFewest = 8;  // strides of a recording
  for (const bool other : {false, true})
    for (const bool free : {false, true}) {
      std::mt19937 engine(5);
      Shares found, refined, of_straight;
      int searches = 0, results = 0;
      double time = 0;
      for (const Walk& walk : walks) {
        if (walk.strides.size() < kFewest) continue;
        std::vector<const Walk*> sources;
        for (const Walk& source : walks)
          if (source.strides.size() >= kFewest && (source.subject != walk.subject) == other &&
              (other ? source.name.back() == walk.name.back() || name == "inertial" : &source == &walk))
            sources.push_back(&source);
        Index index(Signal(walk.channels.begin(), walk.channels.end()), {.run = {.devices = {Device::cpu}}});
        for (int q = 0; q < queries; ++q) {
          const Walk& source = *sources[engine() % sources.size()];
          const Boundaries stride = source.straight[engine() % source.straight.size()];
          Query query;
          for (std::size_t c = 0; c < source.channels.size(); ++c) {
            query.channels.push_back(std::span(source.channels[c])
                                         .subspan(static_cast<std::size_t>(stride.first),
                                                  static_cast<std::size_t>(stride.last - stride.first)));
            query.places.push_back(static_cast<std::int32_t>(c));
          }
          const auto limit = static_cast<std::int64_t>(walk.strides.size());
          std::vector<Match> matches;
          if (free) {
            FindOptions options;
            options.limit = limit;
            matches = find(index, query, options).matches;
          } else {
            matches = find_in_place(index, query, {.limit = limit});
          }
          ++searches;
          for (const Match& match : matches) {
            const Boundaries as_found{match.first, match.last};
            if (!other && overlap(as_found, stride) > .9) continue;  // the query itself
            const auto start = std::chrono::steady_clock::now();
            const Boundaries better = refine_boundaries(index.signal(), query, match, Normalization::z);
            time += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
            ++results;
            const auto nearness = [&](const Boundaries& truth) {
              return std::max(overlap(truth, as_found), overlap(truth, better));
            };
            const Boundaries truth = *std::max_element(
                walk.strides.begin(), walk.strides.end(),
                [&](const Boundaries& a, const Boundaries& b) { return nearness(a) < nearness(b); });
            if (nearness(truth) < .5) continue;
            found.add(overlap(truth, as_found));
            refined.add(overlap(truth, better));
            if (std::find(walk.straight.begin(), walk.straight.end(), truth) != walk.straight.end())
              of_straight.add(overlap(truth, better));
          }
        }
      }
      if (searches == 0) continue;
      records.add("{\"data\": \"" + name + "\", \"wearer\": \"" + (other ? "other" : "same") +
                  "\", \"match\": \"" + (free ? "free" : "in place") +
                  "\", \"searches\": " + std::to_string(searches) +
                  ", \"results\": " + std::to_string(results) + ", \"found\": " + found.text() +
                  ", \"refined\": " + refined.text() + ", \"refined_straight\": " + of_straight.text() +
                  ", \"refining_ms\": " + json_number(1e3 * time / std::max(results, 1)) + "}");
    }
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 4) {
    std::fprintf(stderr,
                 "boundaries PLANTAR INERTIAL QUERIES [file.json]: see the first lines of the source\n");
    return 2;
  }
  const int queries = std::atoi(arguments[3]);
  JsonRecords records;
  records.list("boundaries");
  study("plantar", plantar(arguments[1]), queries, records);
  study("inertial", inertial(arguments[2]), queries, records);
  if (count > 4) write_file_atomically(arguments[4], records.text());
}
