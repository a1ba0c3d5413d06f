#include "verb.hpp"
#include "version_text.hpp"

namespace warploom::tool {

std::vector<Verb> verbs() {
  return {reuse_verb(),   wrap_verb(),    check_verb(),   occupancy_verb(),  sim_verb(),
          tile_verb(),    denoise_verb(), segment_verb(), register_verb(),   dp_verb(),
          fold_verb(),    table_verb(),   search_verb(),  cohort_verb(),     bids_denoise_verb(),
          devices_verb(), example_verb(), help_verb(),    completion_verb(), man_verb()};
}

std::string_view built_commit() { return WARPLOOM_COMMIT; }  // from ../CMakeLists.txt

}  // namespace warploom::tool
