#include "verb.hpp"
#include "warploom/core/error.hpp"

namespace warploom::tool {
namespace {

/// A verb that is known by name alone, so that whoever asks for it learns where it is.
Verb absent(std::string_view name) {
  return {name, "Not in this program, which has only the verbs for kernels", "./dev install",
          [](Command& command) -> std::function<int()> {
            command.pass_on();
            return [&command]() -> int {
              throw BadInput(command.name +
                             ": this program has only the verbs for kernels; ./dev install builds them all");
            };
          }};
}

}  // namespace

std::vector<Verb> verbs() {
  return {reuse_verb(),      wrap_verb(),     check_verb(),      occupancy_verb(),
          sim_verb(),        absent("tile"),  absent("denoise"), absent("segment"),
          absent("dp"),      absent("table"), absent("search"),  devices_verb(),
          absent("example"), help_verb(),     completion_verb(), man_verb()};
}

}  // namespace warploom::tool
