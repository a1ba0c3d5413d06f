#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "module.hpp"
#include "warploom/fold/scan.hpp"

namespace warploom::python {
namespace {

/// Cells take some 50 ns each; windows share theirs, shuffles and mutants share nothing.
constexpr double kCell = 50e-9;

/// Energies [0.01 kcal/mol], structures; means, deviations, z-scores and p-values of shuffles.
auto fold_windows(const std::string& sequence, const fold::WindowOptions& options, const fold::Model& model,
                  const Asked& asked) {
  const auto windows = static_cast<double>(fold::count_windows(std::ssize(sequence), options));
  const auto window = static_cast<double>(options.window);
  const double cells = windows * window * (2 + static_cast<double>(options.shuffles) * window / 2);
  fold::Windows found = run_asked(asked, length_of(1e-3 + kCell * cells), [&](const Run& run) {
    return fold::fold_windows(sequence, options, model, run);
  });
  return std::tuple(array_of(std::move(found.energies)), std::move(found.structures),
                    array_of(std::move(found.means)), array_of(std::move(found.deviations)),
                    array_of(std::move(found.z_scores)), array_of(std::move(found.p_values)));
}

/// The wild type's structure and energy; positions from 1; energies [positions, 4]; structures.
auto fold_mutants(const std::string& sequence, const std::vector<std::int64_t>& positions, bool structures,
                  const fold::Model& model, const Asked& asked) {
  const auto n = static_cast<double>(sequence.size());
  const double mutants = 3 * (positions.empty() ? n : static_cast<double>(positions.size()));
  fold::Mutants found = run_asked(asked, length_of(1e-3 + kCell * mutants * n * n), [&](const Run& run) {
    return fold::fold_mutants(sequence, {.positions = positions, .structures = structures}, model, run);
  });
  const std::size_t count = found.positions.size();
  return std::tuple(std::move(found.wild_type.structure), found.wild_type.energy,
                    array_of(std::move(found.positions)),
                    array_of<std::int32_t, std::int32_t>(std::move(found.energies), {count, 4}),
                    std::move(found.structures));
}

}  // namespace

void bind_fold_scan(nb::module_& module) {
  nb::class_<fold::WindowOptions>(module, "FoldWindowOptions")
      .def(nb::init<>())
      .def_rw("window", &fold::WindowOptions::window)
      .def_rw("step", &fold::WindowOptions::step)
      .def_rw("structures", &fold::WindowOptions::structures)
      .def_rw("shuffles", &fold::WindowOptions::shuffles)
      .def_rw("seed", &fold::WindowOptions::seed)
      .def("keep_letters",
           [](fold::WindowOptions& options) { options.shuffle = fold::Shuffle::mononucleotides; });
  module.def("fold_windows", &fold_windows);
  module.def("fold_mutants", &fold_mutants);
}

}  // namespace warploom::python
