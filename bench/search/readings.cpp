// Question: which of the matchings finds what was annotated, and which reading does `auto` choose?
//
//   bench_search_readings JOBS OUT.json [METHODS [REPEATS]]
//
// JOBS is text: a line a search, "ID QUERY RECORDING LIMIT SENSORS". QUERY and RECORDING are NPY arrays of
// [samples, channels]; SENSORS is "0,1,2;3,4,5" or "-". Written are, for each search and method, onsets and
// lengths of its matches, best first, its processor time (one thread, an index of its own, the median of the
// repeats, which take all methods in turn), and what `auto` tried. `mass` is what stumpy.mass gives, added up
// over channels. Who annotated judges elsewhere, by the same rules for all.
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <sstream>

#include "warploom/core/file.hpp"
#include "warploom/io/recording.hpp"
#include "warploom/json/json.hpp"
#include "warploom/search/euclidean.hpp"
#include "warploom/search/in_place.hpp"
#include "warploom/search/reading.hpp"

namespace {

using namespace warploom;
using search::Match;

io::Recording read(const std::string& file) { return io::read_recording(file, {}); }

search::Signal signal_of(const io::Recording& recording) {
  search::Signal signal;
  for (const io::Channel& channel : recording.channels) signal.push_back(channel.samples);
  return signal;
}

std::vector<search::SensorAxes> sensors_of(const std::string& text) {
  std::vector<search::SensorAxes> sensors;
  std::istringstream words(text);
  for (std::string word; text != "-" && std::getline(words, word, ';');) {
    search::SensorAxes axes;
    char comma = 0;
    std::istringstream(word) >> axes.x >> comma >> axes.y >> comma >> axes.z;
    sensors.push_back(axes);
  }
  return sensors;
}

Json places(const std::vector<Match>& matches) {
  Json list = Json::array();
  for (const Match& match : matches) {
    Json one = Json::array();
    one.push_back(match.first);
    one.push_back(match.last - match.first);
    list.push_back(std::move(one));
  }
  return list;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "bench_search_readings JOBS OUT.json [in-place,free,segments,mass,auto [REPEATS]]\n";
    return 2;
  }
  const std::string methods = argc > 3 ? argv[3] : "in-place,free,segments,mass,auto";
  const int repeats = argc > 4 ? std::atoi(argv[4]) : 1;
  const auto wanted = [&](const std::string& name) { return methods.find(name) != std::string::npos; };
  std::ifstream jobs(argv[1]);
  Json all = Json::array();
  std::map<std::string, io::Recording> kept;  // the recording of the jobs before
  for (std::string line; std::getline(jobs, line);) {
    std::istringstream words(line);
    std::string id, query_file, file, sensors;
    search::FindOptions options;
    if (!(words >> id >> query_file >> file >> options.limit >> sensors)) continue;
    if (!kept.contains(file)) {
      kept.clear();
      kept.emplace(file, read(file));
    }
    const io::Recording recorded_query = read(query_file);
    search::Query query;
    query.channels = signal_of(recorded_query);
    for (std::size_t c = 0; c < query.channels.size(); ++c)
      query.places.push_back(static_cast<std::int32_t>(c));
    search::IndexOptions one_thread;
    one_thread.run.threads = 1;
    search::FoundAs found;
    search::FindOptions parts = options, turned = options;
    parts.segments = 3;
    turned.sensors = sensors_of(sensors);
    search::InPlaceOptions in_place;
    in_place.limit = options.limit;
    using Run = std::function<std::vector<Match>(search::Index&)>;
    const std::vector<std::pair<std::string, Run>> all_methods = {
        {"in-place", [&](search::Index& index) { return search::find_in_place(index, query, in_place); }},
        {"free", [&](search::Index& index) { return search::find(index, query, options).matches; }},
        {"segments", [&](search::Index& index) { return search::find(index, query, parts).matches; }},
        {"mass",
         [&](search::Index& index) {
           return search::find_euclidean(index.signal(), query, search::Normalization::z, options.limit,
                                         query.length() / 2, one_thread.run);
         }},
        {"auto", [&](search::Index& index) {
           found = search::find_automatic(index, query, turned);
           return found.matches;
         }}};
    std::map<std::string, std::vector<double>> seconds;
    Json result{{"id", id}};
    for (int repeat = 0; repeat < std::max(1, repeats); ++repeat)
      for (const auto& [name, run] : all_methods) {
        if (!wanted(name)) continue;
        search::Index index(signal_of(kept.at(file)), one_thread);
        const std::clock_t start = std::clock();
        const std::vector<Match> matches = run(index);
        std::vector<double>& all_seconds = seconds[name];
        all_seconds.push_back(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
        std::ranges::sort(all_seconds);
        result[name] = {{"matches", places(matches)}, {"seconds", all_seconds[all_seconds.size() / 2]}};
      }
    Json tried = Json::array();
    for (const search::Tried& one : found.tried)
      tried.push_back(
          {{"name", one.name}, {"nearer", one.nearer}, {"price", one.price}, {"chosen", one.chosen}});
    result["tried"] = std::move(tried);
    Json chances = Json::array();
    for (const Match& match : found.matches) chances.push_back(match.chance.value_or(1));
    result["chances"] = std::move(chances);
    all.push_back(std::move(result));
    std::cerr << id << '\n';
  }
  write_file_atomically(argv[2], all.dump() + "\n");
  return 0;
}
