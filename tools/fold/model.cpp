#include "model.hpp"

#include <fmt/format.h>

#include "warploom/core/error.hpp"
#include "warploom/core/parse.hpp"

namespace warploom::tool {

void add_model_options(Command& command, ModelSettings& settings) {
  command.group("Energy model");
  command.add("-T,--temperature C", &settings.temperature, "Of the RNA [degrees Celsius, 37]")
      .range(-273.15, 1000.0);
  command
      .add(
          "-d,--dangles N", &settings.dangles,
          "Energy of bases beside a stem: 0, none; 1, of an unpaired one, for one stem; 2, of both neighbours; 3, as 1, and "
          "stems of a multiloop stack [2]")
      .among(std::vector<int>{0, 1, 2, 3});
  command.add("-P,--parameters FILE", &settings.parameters,
              "Energies in RNAfold's format 2.0 [Turner 2004]; what it leaves out stays Turner 2004's");
  command.add("--no-gu,--noGU", &settings.no_gu, "No G-U pairs");
  command.add("--no-gu-closing,--noClosingGU", &settings.no_gu_closing,
              "G-U pairs close no loop; they stack, and begin stems");
  command.add("--circular,--circ", &settings.circular,
              "The last base is joined to the first; with -d 0 or 2");
  command.add("-g,--quadruplexes,--gquad", &settings.quadruplexes,
              "G-quadruplexes form: four runs of 2 to 7 G with 1 to 15 bases between; with -d 0 or 2");
  command.add(
      "--shape FILE", &settings.reactivities,
      "Reactivities of one sequence (SHAPE, DMS), as RNAfold reads them: lines of a position, counted from 1, "
      "perhaps a letter, and a reactivity; negative: none");
  command.add(
      "--shape-method,--shapeMethod METHOD", &settings.method,
      "From reactivities to energies, as RNAfold's: D, of stacks (Deigan; Dm1.8b-0.6), or Z, of pairs and "
      "unpaired bases (Zarringhalam; Zb0.89) [D]");
  command.add(
      "--shape-conversion,--shapeConversion RULE", &settings.conversion,
      "With Z: from reactivities to probabilities of being unpaired, as RNAfold's: O, L, M, S or C, with numbers "
      "as Os1.6i-2.29 [O]");
}

void add_pair_options(Command& command, ModelSettings& settings) {
  command.add("--no-lonely-pairs,--noLP", &settings.no_lonely_pairs, "Each pair stacks on another");
  command.add("--max-span N", &settings.max_span, "Bases from one of a pair to the other at most; 0: any [0]")
      .range(std::int64_t{0}, std::int64_t{1'000'000'000});
}

fold::Model model_of(const ModelSettings& settings) {
  fold::Model model;
  model.temperature = settings.temperature;
  model.dangles = settings.dangles;
  model.circular = settings.circular;
  model.quadruplexes = settings.quadruplexes;
  model.max_span = settings.max_span;
  if (!settings.parameters.empty())
    model.parameters =
        fold::parse_parameters(read_input(settings.parameters), input_name(settings.parameters));
  model.gu = !settings.no_gu;
  model.gu_closing = !settings.no_gu_closing;
  model.lonely_pairs = !settings.no_lonely_pairs;
  return model;
}

namespace {

struct Method {
  bool deigan;
  double m = 1.8, b = 0;
};
Method method_of(const std::string& method) {
  Method parsed{.deigan = method.starts_with('D'), .b = method.starts_with('Z') ? 0.89 : -0.6};
  std::string_view rest = method;
  const auto number = [&](char name, double& value) {
    if (!rest.starts_with(name)) return;
    rest.remove_prefix(1);
    const std::string_view word = rest.substr(0, rest.find('b'));
    if (parse_whole(word, value)) rest.remove_prefix(word.size());
  };
  if (parsed.deigan || method.starts_with('Z')) {
    rest.remove_prefix(1);
    if (parsed.deigan) number('m', parsed.m);
    number('b', parsed.b);
  }
  if (!rest.empty() || method.empty())
    throw BadInput(fmt::format(
        "--shape-method {}: it is D or Z, perhaps with numbers, as Dm1.8b-0.6 or Zb0.89", method));
  return parsed;
}

}  // namespace

std::vector<double> reactivities_of(const ModelSettings& settings, std::int64_t n) {
  if (settings.reactivities.empty()) return {};
  method_of(settings.method);  // is named before what the file may lack
  return fold::parse_reactivities(read_input(settings.reactivities), input_name(settings.reactivities), n);
}

fold::PseudoEnergies pseudo_of(const ModelSettings& settings, std::span<const double> reactivities) {
  if (settings.reactivities.empty()) return {};
  const Method method = method_of(settings.method);
  return method.deigan ? fold::deigan(reactivities, method.m, method.b)
                       : fold::zarringhalam(reactivities, method.b, settings.conversion);
}

Json model_json(const ModelSettings& settings) {
  return {{"temperature", settings.temperature},
          {"dangles", settings.dangles},
          {"parameters", settings.parameters.empty() ? "Turner 2004" : settings.parameters},
          {"circular", settings.circular},
          {"quadruplexes", settings.quadruplexes},
          {"reactivities", settings.reactivities.empty() ? Json() : Json(settings.reactivities)},
          {"gu", !settings.no_gu},
          {"gu_closing", !settings.no_gu_closing}};
}

Json folding_model_json(const ModelSettings& settings) {
  Json json = model_json(settings);
  json.update({{"lonely_pairs", !settings.no_lonely_pairs}, {"max_span", settings.max_span}});
  return json;
}

}  // namespace warploom::tool
