// Where in a recording a second of it occurs again.

#include <iostream>
#include <warploom/search/recordings.hpp>
#include <warploom/signal/prepare.hpp>

int main(int count, char** arguments) {
  using namespace warploom;
  const std::string file = count > 1 ? arguments[1] : "walk.csv";
  io::Recording walk = signal::read_prepared(file, {.select = {"heel", "arch", "ball", "toe"}}, {});
  const std::vector queries{search::query_of_range(walk, file, "step", 10.0, 11.0)};
  search::SearchOptions options;
  options.run.devices = {Device::cpu};
  options.find.limit = 3;
  options.find.neighbours = 0;  // each channel is looked for where it was
  const search::SearchResult result = search::search_recording(walk, file, queries, options);
  for (const search::Hit& hit : result.hits)
    std::cout << hit.match.label << " at " << hit.onset << " s, " << hit.match.matched << " channels\n";
}
