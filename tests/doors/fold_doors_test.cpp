#include "doors/doors.hpp"
#include "warploom/fold/accessibility.hpp"
#include "warploom/fold/dot_plot.hpp"
#include "warploom/fold/ensemble.hpp"
#include "warploom/fold/fold.hpp"
#include "warploom/fold/formats.hpp"
#include "warploom/fold/parameters.hpp"
#include "warploom/fold/picture.hpp"
#include "warploom/fold/probing.hpp"
#include "warploom/fold/scan.hpp"

namespace warploom::doors {
namespace {

using namespace fold;

const std::string kSequence = "GGGGAAAACCCC", kStructure = "((((....))))";

std::vector<Model> broken_models() {
  std::vector<Model> all(12);
  all[0].temperature = kNan;
  all[1].temperature = kInfinity;
  all[2].dangles = 4;
  all[3].dangles = static_cast<int>(kMost32);
  all[4].max_span = -1;
  all[5].max_span = kLeast;
  move_away(all[6].parameters);
  all[7].circular = true, all[7].dangles = 1;
  all[8].pseudo.stack = {1, 2, 3};
  all[9].pseudo.paired.assign(kSequence.size(), kNan);
  all[10].pseudo.unpaired.assign(kSequence.size(), std::numeric_limits<std::int32_t>::min());
  all[11].pseudo.unpaired.assign(100'000, 0);
  return all;
}

DOOR(SequencesToFold, "fold::fold(std::string_view, const Model &, const Run &, std::string_view)",
     "fold::fold(std::span<const std::string>, const Model &, const Run &, std::span<const std::string>)",
     "fold::check_sequence", "fold::bytes_to_fold", "fold::device_for") {
  for (const std::string& none : {std::string(), std::string("AC GU"), std::string("AC\0GU", 5),
                                  std::string("\xFF"), std::string(100'001, 'A')}) {
    refused([&] { return fold::fold(none).energy; });
    refused([&] { return fold::fold(std::vector<std::string>{kSequence, none}).size(); });
    refused([&] { return check_sequence(none), 0; });
  }
  for (const Model& model : broken_models()) refused([&] { return fold::fold(kSequence, model).energy; });
  for (const std::string& none : {std::string("("), std::string(12, '('), std::string("\0", 1),
                                  std::string(13, '.'), std::string(12, ')')}) {
    refused([&] { return fold::fold(kSequence, {}, {}, none).energy; });
    refused([&] { return check_sequence(kSequence, none), 0; });
    refused([&] { return fold::fold(std::vector{kSequence}, {}, {}, std::vector{none}).size(); });
  }
  refused([] {
    return fold::fold(std::vector{kSequence}, {}, {}, std::vector{kSequence, kSequence}).size();
  });
  survives([] { return fold::fold(std::vector<std::string>{}).size(); });
  survives([] { return device_for(std::vector<std::string>{}).is_gpu(); });
  survives([] { return device_for(std::vector<std::string>{"", "AC GU"}, {.dangles = -1}).is_gpu(); });
  survives([] { return fold::fold(kSequence, {.max_span = kMost}, {.threads = ~0u}).energy; });
  survives([] { return fold::fold(kSequence, {.max_span = 1}).energy; });
  survives([] { return fold::fold(kSequence, {.temperature = -273.15}).energy; });
  survives([] { return fold::fold(kSequence, {.temperature = 1000}).energy; });
  for (const std::int64_t n : {kLeast, std::int64_t{-1}, std::int64_t{0}, std::int64_t{100'000}})
    survives([&] { return bytes_to_fold(n); });
  for (const std::int64_t n : {std::int64_t{100'001}, kMost}) refused([&] { return bytes_to_fold(n); });
}

DOOR(Ensembles, "fold::ensemble", "fold::ensembles", "fold::bytes_to_sum", "fold::pairing_letters",
     "fold::dot_plot_svg", "fold::Ensemble::probability_of") {
  for (const std::string& none :
       {std::string(), std::string("AC GU"), std::string("\xFF"), std::string(100'001, 'A')}) {
    refused([&] { return ensemble(none).energy; });
    refused([&] { return ensembles(std::vector<std::string>{kSequence, none}).size(); });
  }
  for (const Model& model : broken_models()) refused([&] { return ensemble(kSequence, model).energy; });
  for (const std::string& none : {std::string("("), std::string(12, '('), std::string(13, '.')})
    refused([&] { return ensemble(kSequence, {}, {}, {}, none).energy; });
  refused([] {
    return ensembles(std::vector{kSequence}, {}, {}, {}, std::vector{kSequence, kSequence}).size();
  });
  for (const double number : {kNan, -1., 1.5, kInfinity})
    refused([&] { return ensemble(kSequence, {}, {.cutoff = number}).energy; });
  for (const double number : {kNan, -1., kInfinity})
    refused([&] { return ensemble(kSequence, {}, {.gamma = number}).energy; });
  survives([] { return ensemble(kSequence, {}, {.gamma = 0}).energy; });
  for (const std::int64_t count : {std::int64_t{-1}, kMost, kLeast})
    refused([&] { return ensemble(kSequence, {}, {.samples = count}).energy; });
  refused([] { return ensemble(kSequence, {.temperature = -273.15}).energy; });
  survives([] { return ensemble(kSequence, {.temperature = 1000}).energy; });
  survives([] {
    return ensemble(kSequence, {.max_span = 1}, {.samples = 3, .seed = ~0ull}, {.threads = ~0u}).energy;
  });
  survives([] { return ensembles(std::vector<std::string>{}).size(); });
  survives([] { return ensemble(kSequence, {.max_span = kMost}, {.gradient = true}).energy; });
  refused([] { return ensemble(kSequence, {}, {.probabilities = false, .gradient = true}).energy; });
  for (const std::int64_t n : {kLeast, std::int64_t{-1}, std::int64_t{0}, std::int64_t{100'000}})
    survives([&] { return bytes_to_sum(n) + bytes_to_sum(n, {}, kMost) + bytes_to_sum(n, {}, kLeast); });
  for (const std::int64_t n : {std::int64_t{100'001}, kMost}) refused([&] { return bytes_to_sum(n); });
  survives([] { return Ensemble{}.probability_of(kNan); });
  survives([] { return pairing_letters({}).size(); });
  Ensemble odd;
  odd.unpaired.assign(12, kNan), odd.pairs = {{0, 13, 1}};
  refused([&] { return pairing_letters(odd).size(); });
  refused([&] { return dot_plot_svg(kSequence, kStructure, odd).size(); });
  refused([] { return dot_plot_svg(kSequence, kStructure, {}).size(); });
  refused([] { return dot_plot_svg("", "", {}).size(); });
}

DOOR(AccessibilityOfWindows, "fold::accessibility") {
  for (const std::string& none :
       {std::string(), std::string("AC GU"), std::string("\xFF"), std::string(100'001, 'A')})
    refused([&] { return accessibility(none).pairs.size(); });
  for (const Model& model : broken_models())
    refused([&] { return accessibility(kSequence, {}, model).pairs.size(); });
  for (const std::int64_t none : {kLeast, std::int64_t{-1}})
    refused([&] { return accessibility(kSequence, {.window = none}).pairs.size(); });
  for (const std::int64_t none : {kLeast, std::int64_t{0}, std::int64_t{10'001}, kMost})
    refused([&] { return accessibility(kSequence, {.stretch = none}).pairs.size(); });
  for (const double number : {kNan, -1., 1.5, kInfinity})
    refused([&] { return accessibility(kSequence, {.cutoff = number}).pairs.size(); });
  survives([] { return accessibility(kSequence, {.window = kMost, .stretch = 10'000}).pairs.size(); });
  survives([] { return accessibility(kSequence, {.window = 1}, {.max_span = kMost}).pairs.size(); });
  survives([] { return accessibility("A", {}, {.max_span = 1}, {.threads = ~0u}).pairs.size(); });
}

DOOR(SuboptimalStructures, "fold::suboptimal") {
  const auto of = [](const std::string& sequence, std::int32_t delta, const Model& model = {},
                     std::string_view constraint = {}) {
    return suboptimal(
        sequence, delta, [](const Folding&) { return true; }, model, {}, constraint);
  };
  refused([] { return suboptimal(kSequence, 100, nullptr); });
  for (const std::int32_t delta : {-1, kMostDelta + 1, std::numeric_limits<std::int32_t>::max(),
                                   std::numeric_limits<std::int32_t>::min()})
    refused([&] { return of(kSequence, delta); });
  for (const Model& model : broken_models()) refused([&] { return of(kSequence, 100, model); });
  for (const std::string& none : {std::string(), std::string("AC GU"), std::string(100'001, 'A')})
    refused([&] { return of(none, 100); });
  refused([&] { return of(kSequence, 100, {.dangles = 1}); });
  survives([&] { return of(kSequence, 100, {.circular = true}); });
  refused([&] { return of(kSequence, 100, {}, "("); });
  survives([&] { return of("A", 0); });
  survives([&] { return of(kSequence, kMostDelta); });
}

DOOR(WindowsOfSequences, "fold::fold_windows", "fold::count_windows", "fold::shuffled") {
  const WindowOptions one{.window = 12};
  std::vector<WindowOptions> broken(9, one);
  broken[0].window = 0, broken[1].window = kLeast, broken[2].window = 100'001, broken[3].step = 0;
  broken[4].step = kLeast, broken[5].shuffles = 1, broken[6].shuffles = kMostShuffles + 1;
  broken[7].shuffles = kLeast, broken[8].shuffle = static_cast<Shuffle>(2);
  for (const WindowOptions& options : broken) {
    refused([&] { return fold_windows(kSequence, options).energies.size(); });
    refused([&] { return count_windows(12, options); });
  }
  for (const Model& model : broken_models())
    refused([&] { return fold_windows(kSequence, one, model).energies.size(); });
  for (const std::string& none :
       {std::string(), std::string(11, 'A'), std::string(12, '-'), std::string(12, '\0')})
    refused([&] { return fold_windows(none, one).energies.size(); });
  refused([&] { return count_windows(-1, one); });
  refused([&] { return count_windows(kLeast, one); });
  survives([&] { return count_windows(kMost, one); });
  survives([&] { return fold_windows(kSequence, {.window = 12, .step = kMost}).energies.size(); });
  survives([&] { return fold_windows(kSequence, {.window = 1}).energies.size(); });
  for (const std::string& none : {std::string("A-"), std::string("\0", 1), std::string("\xFF")})
    refused([&] { return shuffled(none, Shuffle::dinucleotides, 1).size(); });
  refused([] { return shuffled("A", static_cast<Shuffle>(-1), 1).size(); });
  survives([] { return shuffled("", Shuffle::dinucleotides, 0).size(); });
  survives([] { return shuffled("AC", Shuffle::dinucleotides, ~std::uint64_t{0}).size(); });
}

DOOR(MutantsOfASequence, "fold::fold_mutants") {
  for (const std::int64_t none : {kLeast, std::int64_t{0}, std::int64_t{13}, kMost})
    refused([&] { return fold_mutants(kSequence, {.positions = {none}}).energies.size(); });
  refused([] { return fold_mutants(kSequence, {.positions = {1, 1}}).energies.size(); });
  for (const Model& model : broken_models())
    refused([&] { return fold_mutants(kSequence, {}, model).energies.size(); });
  for (const std::string& none : {std::string(), std::string("AC GU"), std::string(100'001, 'A')})
    refused([&] { return fold_mutants(none).energies.size(); });
  survives([] { return fold_mutants("N").energies.size(); });
}

DOOR(Reactivities, "fold::parse_reactivities", "fold::deigan", "fold::zarringhalam") {
  for (const std::string& none :
       {std::string(), std::string("\0", 1), std::string("1 2 3"), std::string("0 1"), std::string("13 1"),
        std::string("1 1e999"), std::string("99999999999999999999 1")})
    refused([&] { return parse_reactivities(none, "none", 12).size(); });
  for (const std::int64_t n : {kLeast, std::int64_t{0}})
    refused([&] { return parse_reactivities("1 1", "none", n).size(); });
  for (const double none : {kNan, kInfinity, -kInfinity}) {
    refused([&] { return deigan(std::vector{none}).stack.size(); });
    refused([&] { return deigan(std::vector{1.}, none).stack.size(); });
    refused([&] { return zarringhalam(std::vector{none}).paired.size(); });
    refused([&] { return zarringhalam(std::vector{1.}, none).paired.size(); });
    refused([&] { return zarringhalam(std::vector{1.}, 1, "O", none).paired.size(); });
  }
  for (const char* none : {"", "X", "Os", "Os0", "Osx", "Mx", "C1x", "Oi1s1"})
    refused([&] { return zarringhalam(std::vector{1.}, 1, none).paired.size(); });
  survives([] { return deigan({}).stack.size() + zarringhalam({}).paired.size(); });
}

DOOR(StructuresToEvaluate, "fold::evaluate", "fold::partners") {
  for (const std::string& none :
       {std::string(), std::string("((((....)))"), std::string("((((....(((("), std::string("))))....))))"),
        std::string("((((.\0..))))", 12), std::string(12, '('), std::string("((((([]))))).")})
    refused([&] { return evaluate(kSequence, none).energy; });
  refused([] { return evaluate("", "").energy; });
  for (const Model& model : broken_models())
    refused([&] { return evaluate(kSequence, kStructure, model).energy; });
  survives([] { return partners("").size(); });
  refused([] { return partners("(").size(); });
  refused([] { return partners(")").size(); });
}

DOOR(FoldingParameters, "fold::Parameters::Parameters()",
     "fold::Parameters::Parameters(std::shared_ptr<const EnergyTables>)", "fold::Parameters::tables",
     "fold::parse_parameters", "fold::read_parameters") {
  refused([] { return Parameters(nullptr), 0; });
  Parameters moved;
  move_away(moved);
  refused([&] { return &moved.tables(); });
  for (const std::string& none : {std::string(), std::string("## RNAfold"), std::string("\0", 1),
                                  std::string("## RNAfold parameter file v2.0\n# stack\n1"),
                                  std::string("## RNAfold parameter file v2.0\n#\n"),
                                  std::string("## RNAfold parameter file v2.0\n/*")})
    refused([&] { return parse_parameters(none, "none"), 0; });
  survives([] { return parse_parameters("## RNAfold parameter file v2.0", "head"), 0; });
  refused([] { return read_parameters("/absent.par"), 0; });
  refused([] { return read_parameters("/"), 0; });
}

DOOR(FoldingPictures, "fold::radial_layout", "fold::radial_svg") {
  for (const std::string& none : {std::string("("), std::string("((((....)))))"), std::string(12, ')')}) {
    refused([&] { return radial_layout(none); });
    refused([&] { return radial_svg(kSequence, none); });
  }
  survives([] { return radial_layout(""); });
  refused([] { return radial_svg("", ""); });
  refused([] { return radial_svg(std::string(12, '<'), kStructure); });
  refused([] { return radial_svg(kSequence, kStructure, std::vector<double>(3, 0.5)); });
  refused([] { return radial_svg(kSequence, kStructure, std::vector<double>(12, kNan)); });
  survives([] { return radial_svg("A", "."); });
  survives([] { return radial_svg("AA", "()"); });
}

DOOR(FoldingFormats, "fold::kcal", "fold::connectivity_table", "fold::bpseq") {
  for (const std::string& none :
       {std::string("("), std::string("((((....)))))"), std::string("((((....(((("), std::string()}) {
    refused([&] { return connectivity_table(kSequence, none, 0, ""); });
    refused([&] { return bpseq(kSequence, none, ""); });
  }
  survives([] { return connectivity_table("", "", 0, ""); });
  survives([] { return kcal(std::numeric_limits<std::int32_t>::min()); });
}

}  // namespace
}  // namespace warploom::doors
