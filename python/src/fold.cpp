#include "warploom/fold/fold.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "module.hpp"
#include "warploom/fold/accessibility.hpp"
#include "warploom/fold/ensemble.hpp"

namespace warploom::python {
namespace {

/// Folding n bases takes some 50 ns a pair of them.
Length length_of_bases(const std::vector<std::string>& sequences) {
  double seconds = 5e-6;
  for (const std::string& sequence : sequences) {
    const auto n = static_cast<double>(sequence.size());
    seconds += 50e-9 * n * n + 1e-6;
  }
  return length_of(seconds);
}

/// Structures, and energies [0.01 kcal/mol].
auto fold_all(const std::vector<std::string>& sequences, const std::vector<std::string>& constraints,
              const fold::Model& model, const Asked& asked) {
  std::vector<fold::Folding> foldings = run_asked(asked, length_of_bases(sequences), [&](const Run& run) {
    return fold::fold(sequences, model, run, constraints);
  });
  std::vector<std::string> structures;
  std::vector<std::int32_t> energies;
  for (fold::Folding& folding : foldings) {
    structures.push_back(std::move(folding.structure));
    energies.push_back(folding.energy);
  }
  return std::tuple(std::move(structures), array_of(std::move(energies)));
}

const char* name_of(fold::Loop::Kind kind) {
  switch (kind) {
    case fold::Loop::Kind::exterior:
      return "exterior";
    case fold::Loop::Kind::hairpin:
      return "hairpin";
    case fold::Loop::Kind::interior:
      return "interior";
    case fold::Loop::Kind::multi:
      return "multi";
    case fold::Loop::Kind::quadruplex:
      return "quadruplex";
  }
  return "";
}

/// Structures, energies [0.01 kcal/mol], and whether these are all.
auto suboptimal(const std::string& sequence, std::int32_t delta, std::int64_t most,
                const std::string& constraint, const fold::Model& model, const Asked& asked) {
  std::vector<std::string> structures;
  std::vector<std::int32_t> energies;
  bool all = true;
  const auto take = [&](const fold::Folding& folding) {
    all = static_cast<std::int64_t>(energies.size()) < most;
    if (!all) return false;
    structures.push_back(folding.structure);
    energies.push_back(folding.energy);
    return true;
  };
  run_asked(asked, Length::long_,
            [&](const Run& run) { return fold::suboptimal(sequence, delta, take, model, run, constraint); });
  return std::tuple(std::move(structures), array_of(std::move(energies)), all);
}

/// An ensemble takes some 100 ns a pair of bases, and of long ones half a nanosecond for three.
Length length_of_sums(const std::vector<std::string>& sequences, const fold::EnsembleOptions& options) {
  double seconds = 2e-5;
  for (const std::string& sequence : sequences) {
    const auto n = static_cast<double>(sequence.size());
    seconds += n * n * (150e-9 + .1e-9 * n) + static_cast<double>(options.samples) * n * 50e-9;
  }
  return length_of(seconds);
}

/// [m, 2], counted from 0, and their probabilities.
std::pair<Array<std::int64_t>, Array<double>> arrays_of(const std::vector<fold::PairProbability>& list) {
  std::vector<std::int64_t> pairs;
  std::vector<double> probabilities;
  for (const fold::PairProbability& pair : list) {
    pairs.insert(pairs.end(), {pair.i - 1, pair.j - 1});
    probabilities.push_back(pair.probability);
  }
  return {array_of<std::int64_t, std::int64_t>(std::move(pairs), {list.size(), 2}),
          array_of(std::move(probabilities))};
}

/// Of each: energy, kT, pairs [m, 2] counted from 0, their probabilities, those of unpaired bases, diversity,
/// centroid and its distance, the most accurate structure and its accuracy, samples, sections of the gradient
/// (name, shape, numbers) and that of stacks, quadruplexes as pairs, and bases in their runs.
auto ensembles(const std::vector<std::string>& sequences, const std::vector<std::string>& constraints,
               const fold::Model& model, const fold::EnsembleOptions& options, const Asked& asked) {
  std::vector<fold::Ensemble> all = run_asked(asked, length_of_sums(sequences, options), [&](const Run& run) {
    return fold::ensembles(sequences, model, options, run, constraints);
  });
  using Section = std::tuple<std::string, std::vector<std::int64_t>, Array<double>>;
  std::vector<
      std::tuple<double, double, Array<std::int64_t>, Array<double>, Array<double>, double, std::string,
                 double, std::string, double, std::vector<std::string>, std::vector<Section>, Array<double>,
                 Array<std::int64_t>, Array<double>, Array<double>>>
      out;
  for (fold::Ensemble& one : all) {
    auto [pairs, probabilities] = arrays_of(one.pairs);
    auto [quadruplexes, of_quadruplexes] = arrays_of(one.quadruplexes);
    std::vector<Section> sections;
    for (fold::SectionGradient& section : one.gradient.sections)
      sections.emplace_back(section.name, std::move(section.shape), array_of(std::move(section.values)));
    out.emplace_back(one.energy, one.kt, std::move(pairs), std::move(probabilities),
                     array_of(std::move(one.unpaired)), one.diversity, std::move(one.centroid),
                     one.centroid_distance, std::move(one.mea), one.accuracy, std::move(one.samples),
                     std::move(sections), array_of(std::move(one.gradient.stack)), std::move(quadruplexes),
                     std::move(of_quadruplexes), array_of(std::move(one.in_quadruplexes)));
  }
  return out;
}

/// Probabilities [bases, stretch] of stretches that end with each base; pairs [m, 2] counted from 0, theirs.
auto unpaired(const std::string& sequence, const fold::AccessibilityOptions& options,
              const fold::Model& model, const Asked& asked) {
  const auto n = static_cast<double>(sequence.size()), window = static_cast<double>(options.window),
             wide = options.window == 0 ? n : std::min(n, window);
  fold::Accessibility found = run_asked(asked, length_of(1e-4 + n * wide * wide * 5e-9), [&](const Run& run) {
    return fold::accessibility(sequence, options, model, run);
  });
  auto [pairs, probabilities] = arrays_of(found.pairs);
  return std::tuple(array_of<double, double>(std::move(found.unpaired),
                                             {sequence.size(), static_cast<std::size_t>(found.stretch)}),
                    std::move(pairs), std::move(probabilities));
}

/// The energy [0.01 kcal/mol]; of each loop its kind, i, j, p, q (from 1, 0: none) and energy.
auto evaluate(const std::string& sequence, const std::string& structure, const fold::Model& model) {
  const fold::Evaluation evaluation = fold::evaluate(sequence, structure, model);
  std::vector<std::tuple<std::string, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int32_t>>
      loops;
  for (const fold::Loop& loop : evaluation.loops)
    loops.emplace_back(name_of(loop.kind), loop.i, loop.j, loop.p, loop.q, loop.energy);
  return std::tuple(evaluation.energy, std::move(loops));
}

}  // namespace

void bind_fold(nb::module_& module) {
  // What Python's layer calls by the same names: an option that C++ gets is a line here and a keyword there.
  nb::class_<fold::Model>(module, "FoldModel")
      .def(nb::init<>())
      .def("read_parameters", [](fold::Model& model,
                                 const std::string& path) { model.parameters = fold::read_parameters(path); })
      .def("deigan", [](fold::Model& model, const std::vector<double>& reactivities, double slope,
                        double intercept) { model.pseudo = fold::deigan(reactivities, slope, intercept); })
      .def("zarringhalam",
           [](fold::Model& model, const std::vector<double>& reactivities, double beta,
              const std::string& conversion) {
             model.pseudo = fold::zarringhalam(reactivities, beta, conversion);
           })
      .def_rw("quadruplexes", &fold::Model::quadruplexes)
      .def_rw("temperature", &fold::Model::temperature)
      .def_rw("dangles", &fold::Model::dangles)
      .def_rw("lonely_pairs", &fold::Model::lonely_pairs)
      .def_rw("gu", &fold::Model::gu)
      .def_rw("gu_closing", &fold::Model::gu_closing)
      .def_rw("max_span", &fold::Model::max_span)
      .def_rw("circular", &fold::Model::circular)
      .def_rw("enforce_constraint", &fold::Model::enforce_constraint);
  nb::class_<fold::EnsembleOptions>(module, "EnsembleOptions")
      .def(nb::init<>())
      .def_rw("cutoff", &fold::EnsembleOptions::cutoff)
      .def_rw("gamma", &fold::EnsembleOptions::gamma)
      .def_rw("samples", &fold::EnsembleOptions::samples)
      .def_rw("seed", &fold::EnsembleOptions::seed)
      .def_rw("gradient", &fold::EnsembleOptions::gradient);
  nb::class_<fold::AccessibilityOptions>(module, "AccessibilityOptions")
      .def(nb::init<>())
      .def_rw("window", &fold::AccessibilityOptions::window)
      .def_rw("stretch", &fold::AccessibilityOptions::stretch)
      .def_rw("cutoff", &fold::AccessibilityOptions::cutoff);
  module.def("fold_unpaired", &unpaired);
  module.def("fold", &fold_all);
  module.def("fold_ensemble", &ensembles);
  module.def("fold_suboptimal", &suboptimal);
  module.def("fold_eval", &evaluate);
}

}  // namespace warploom::python
