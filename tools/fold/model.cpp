#include "model.hpp"

namespace warploom::tool {

void add_model_options(Command& command, ModelSettings& settings) {
  command.group("Energy model");
  command.add("-T,--temperature C", &settings.model.temperature, "Of the RNA [degrees Celsius, 37]")
      .range(-273.15, 1000.0);
  command
      .add(
          "-d,--dangles N", &settings.model.dangles,
          "What bases beside a stem add, at ends and in multiloops: 2, both neighbours; 1, unpaired ones, each for one stem; "
          "3, as 1, and stems stack on each other in multiloops; 0, nothing [2]")
      .among(std::vector<int>{0, 1, 2, 3});
  command.add("-P,--parameters FILE", &settings.parameters,
              "Energies in RNAfold's format 2.0 [Turner 2004]; what it leaves out stays Turner 2004's");
  command.add("--no-gu,--noGU", &settings.no_gu, "No G-U pairs");
  command.add("--no-gu-closing,--noClosingGU", &settings.no_gu_closing,
              "G-U pairs close no loop; they stack, and begin stems");
}

fold::Model model_of(const ModelSettings& settings) {
  fold::Model model = settings.model;
  if (!settings.parameters.empty())
    model.parameters =
        fold::parse_parameters(read_input(settings.parameters), input_name(settings.parameters));
  model.gu = !settings.no_gu;
  model.gu_closing = !settings.no_gu_closing;
  return model;
}

Json model_json(const ModelSettings& settings) {
  return {{"temperature", settings.model.temperature},
          {"dangles", settings.model.dangles},
          {"parameters", settings.parameters.empty() ? "Turner 2004" : settings.parameters},
          {"gu", !settings.no_gu},
          {"gu_closing", !settings.no_gu_closing}};
}

}  // namespace warploom::tool
