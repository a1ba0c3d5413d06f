#include "ensemble.hpp"

#include <fmt/format.h>

#include <array>
#include <cstring>

#include "warploom/core/error.hpp"
#include "warploom/core/log.hpp"
#include "warploom/core/memory.hpp"
#include "warploom/core/npy.hpp"
#include "warploom/fold/dot_plot.hpp"
#include "warploom/fold/formats.hpp"

namespace warploom::tool {

void add_ensemble_options(Command& command, EnsembleSettings& settings) {
  command.group("Ensemble");
  command.add(
      "-p,--ensemble", &settings.on,
      "All structures, each weighing exp(-energy / kT), as RNAfold -p: ensemble energy, how bases pair, centroid, "
      "diversity; -d 1 and 3 are taken as 2 for it, as there");
  command.add(
      "--bpp FILE", &settings.pairs,
      "Probabilities of pairs to write: a table (.tsv), or of one sequence a matrix (.npy, [n, n], symmetric) or a dot "
      "plot (.svg), which has the structure of least energy below its diagonal");
  command.add("--cutoff P", &settings.options.cutoff, "Leave out pairs that are less probable [1e-5]")
      .range(0.0, 1.0);
  command.add(
      "--MEA,--gamma G", &settings.gamma,
      "The structure of greatest expected accuracy, too: a pair counts 2 G times its probability, an unpaired base its own [1]");
  command
      .add("--samples N", &settings.options.samples,
           "Draw N structures, each with its probability in the ensemble; on the CPU")
      .range(std::int64_t{0}, std::int64_t{10'000'000});
  command.add("--seed N", &settings.options.seed, "Of these [1]");
  command.add("--gradient", &settings.options.gradient,
              "In JSON, the derivative of the ensemble's energy by each number of the parameter file, too");
}

void check_ensemble(const EnsembleSettings& settings, std::string_view format, bool json, bool suboptimal) {
  const std::array<std::pair<bool, std::string_view>, 4> needs = {{
      {!settings.pairs.empty(), "--bpp"},
      {settings.gamma > 0, "--gamma"},
      {settings.options.samples > 0, "--samples"},
      {settings.options.gradient, "--gradient"},
  }};
  for (const auto& [given, name] : needs)
    if (given && !settings.on) throw BadInput(fmt::format("{} without --ensemble", name));
  if (!settings.on) return;
  if (suboptimal) throw BadInput("--ensemble with --suboptimal: one of them at a time");
  if (format == "ct" || format == "bpseq")
    throw BadInput(fmt::format("--ensemble with --format {}; it gives dot-bracket or JSON", format));
  if (settings.options.gradient && !json) throw BadInput("--gradient without --json, which has it");
  if (!settings.pairs.empty() && !settings.pairs.ends_with(".tsv") && !settings.pairs.ends_with(".svg") &&
      !settings.pairs.ends_with(".npy"))
    throw BadInput(fmt::format("--bpp {}: the name must end in .tsv, .npy or .svg", settings.pairs));
}

fold::Model model_of_ensemble(const EnsembleSettings& settings, const fold::Model& model) {
  fold::Model own = model;
  if (!settings.on || model.dangles % 2 == 0) return own;
  own.dangles = 2;
  log(LogLevel::warning,
      fmt::format(
          "--ensemble with -d {}: the ensemble is of -d 2, as RNAfold's, the structure of least energy of -d {}",
          model.dangles, model.dangles));
  return own;
}

double probability_of_best(const io::SequenceRecord& record, const fold::Folding& best,
                           const fold::Model& model, const fold::Ensemble& ensemble,
                           const fold::Model& of_ensemble) {
  return ensemble.probability_of((model.dangles == of_ensemble.dangles
                                      ? best.energy
                                      : fold::evaluate(record.sequence, best.structure, of_ensemble).energy) /
                                 100.);
}

std::string ensemble_text(const EnsembleSettings& settings, const io::SequenceRecord& record,
                          const fold::Folding& best, double probability, const fold::Ensemble& ensemble,
                          const fold::Model& model) {
  // Its pairs are each of some structure, and together they may enclose a loop that no structure has.
  const auto energy = [&](const std::string& structure) -> std::string {
    try {
      return fold::kcal(fold::evaluate(record.sequence, structure, model).energy);
    } catch (const BadInput&) {
      return "-";
    }
  };
  const std::string header = title(record).empty() ? "" : fmt::format(">{}\n", title(record));
  std::string text =
      fmt::format("{}{}\n{} ({:>6})\n", header, record.sequence, best.structure, fold::kcal(best.energy));
  text += fmt::format("{} [{:6.2f}]\n", fold::pairing_letters(ensemble), ensemble.energy);
  text += fmt::format("{} {{{:>6} d={:.2f}}}\n", ensemble.centroid, energy(ensemble.centroid),
                      ensemble.centroid_distance);
  if (settings.gamma > 0)
    text += fmt::format("{} {{{:>6} MEA={:.2f}}}\n", ensemble.mea, energy(ensemble.mea), ensemble.accuracy);
  text += fmt::format(" frequency of mfe structure in ensemble {:g}; ensemble diversity {:.2f}\n",
                      probability, ensemble.diversity);
  for (const std::string& sample : ensemble.samples) text += sample + '\n';
  return text;
}

Json ensemble_json(const EnsembleSettings& settings, double probability, const fold::Ensemble& ensemble,
                   const fold::Model& model) {
  Json pairs = Json::array();
  for (const fold::PairProbability& pair : ensemble.pairs)
    pairs.push_back({pair.i, pair.j, pair.probability});
  Json quadruplexes = Json::array();
  for (const fold::PairProbability& one : ensemble.quadruplexes)
    quadruplexes.push_back({one.i, one.j, one.probability});
  Json out = {{"energy", ensemble.energy},
              {"dangles", model.dangles},
              {"mfe_probability", probability},
              {"diversity", ensemble.diversity},
              {"pairing", fold::pairing_letters(ensemble)},
              {"centroid", {{"structure", ensemble.centroid}, {"distance", ensemble.centroid_distance}}},
              {"unpaired", ensemble.unpaired},
              {"pairs", std::move(pairs)}};
  if (model.quadruplexes)
    out["quadruplexes"] = std::move(quadruplexes), out["in_quadruplexes"] = ensemble.in_quadruplexes;
  if (settings.gamma > 0) out["mea"] = {{"structure", ensemble.mea}, {"accuracy", ensemble.accuracy}};
  if (settings.options.samples > 0) out["samples"] = ensemble.samples;
  if (settings.options.gradient) {
    Json sections = Json::object();
    for (const fold::SectionGradient& section : ensemble.gradient.sections) {
      Json values = Json::array();
      for (std::size_t k = 0; k < section.values.size(); ++k)
        if (section.values[k] != 0) values.push_back({k, section.values[k]});
      if (!values.empty()) sections[section.name] = {{"shape", section.shape}, {"values", std::move(values)}};
    }
    out["gradient"] = {{"sections", std::move(sections)}, {"stack", ensemble.gradient.stack}};
  }
  return out;
}

std::string pairs_table(const std::vector<io::SequenceRecord>& records,
                        const std::vector<fold::Ensemble>& ensembles) {
  std::string text = "name\ti\tj\tprobability\n";
  for (std::size_t k = 0; k < records.size(); ++k)
    for (const fold::PairProbability& pair : ensembles[k].pairs)
      text += fmt::format("{}\t{}\t{}\t{:.9g}\n", records[k].name, pair.i, pair.j, pair.probability);
  return text;
}

std::string pairs_npy(const fold::Ensemble& ensemble) {
  const std::size_t n = ensemble.unpaired.size();
  require_memory(3 * n * n * sizeof(double), fmt::format("a matrix of {} bases", n));
  NpyArray matrix{"f8", {n, n}, std::vector<std::byte>(n * n * sizeof(double))};
  for (const fold::PairProbability& pair : ensemble.pairs) {
    const auto i = static_cast<std::size_t>(pair.i - 1), j = static_cast<std::size_t>(pair.j - 1);
    for (const std::size_t cell : {i * n + j, j * n + i})
      std::memcpy(matrix.data.data() + cell * sizeof(double), &pair.probability, sizeof(double));
  }
  return format_npy(matrix);
}

}  // namespace warploom::tool
