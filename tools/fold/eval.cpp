#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/verb.hpp"
#include "model.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/parse.hpp"
#include "warploom/fold/fold.hpp"
#include "warploom/fold/formats.hpp"

namespace warploom::tool {
namespace {

struct Settings : ModelSettings {
  std::string input;
  bool json = false, loops = false;
};

/// A sequence and its structure, as `fold` and RNAfold print them: what follows the structure is not looked
/// at.
struct Structured {
  std::string name, sequence, structure;
  std::size_t line = 0;
};

std::vector<Structured> read(const Settings& s) {
  std::vector<Structured> all;
  std::string name;
  std::size_t number = 0, sequence_line = 0;
  std::string sequence;
  for (std::string line : split(read_input(s.input), '\n')) {
    ++number;
    if (line.ends_with('\r')) line.pop_back();
    if (line.find_first_not_of(" \t") == line.npos) continue;
    if (line.starts_with('>')) {
      if (!sequence.empty()) break;
      name = line.substr(1);
    } else if (sequence.empty()) {
      sequence = line.substr(0, line.find_first_of(" \t"));
      sequence_line = number;
    } else {
      all.push_back({name, sequence, line.substr(0, line.find_first_of(" \t")), number});
      name.clear(), sequence.clear();
    }
  }
  if (!sequence.empty())
    throw BadInput(fmt::format("{}:{}: a sequence without a structure; the structure is the line below it",
                               input_name(s.input), sequence_line));
  if (all.empty())
    throw BadInput(fmt::format("{}: it holds no sequence with a structure", input_name(s.input)));
  return all;
}

std::string_view kind_of(fold::Loop::Kind kind) {
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

std::string loops_text(const Structured& one, const fold::Evaluation& evaluation) {
  const auto pair = [&](std::int64_t i, std::int64_t j) {
    return fmt::format("{}-{} {}{}", i, j, one.sequence[static_cast<std::size_t>(i - 1)],
                       one.sequence[static_cast<std::size_t>(j - 1)]);
  };
  std::string text;
  for (const fold::Loop& loop : evaluation.loops) {
    std::string where = loop.i > 0 ? pair(loop.i, loop.j) : "";
    if (loop.p > 0) where += "; " + pair(loop.p, loop.q);
    text += fmt::format("  {:<10} {:<28} {:>7}\n", kind_of(loop.kind), where, fold::kcal(loop.energy));
  }
  return text;
}

Json loops_json(const fold::Evaluation& evaluation) {
  Json loops = Json::array();
  for (const fold::Loop& loop : evaluation.loops) {
    Json one{{"kind", kind_of(loop.kind)}, {"energy", loop.energy / 100.}};
    if (loop.i > 0) one["closing"] = Json::array({loop.i, loop.j});
    if (loop.p > 0) one["inner"] = Json::array({loop.p, loop.q});
    loops.push_back(std::move(one));
  }
  return loops;
}

int run(const Settings& s) {
  fold::Model model = model_of(s);
  std::string text;
  Json list = Json::array();
  bool refused = false;
  const std::vector<Structured> all = read(s);
  if (!s.reactivities.empty()) {
    if (all.size() != 1)
      throw BadInput(fmt::format("--shape {}: reactivities are of one sequence; {} has {}", s.reactivities,
                                 input_name(s.input), all.size()));
    model.pseudo = pseudo_of(s, reactivities_of(s, std::ssize(all.front().sequence)));
  }
  for (const Structured& one : all) {
    try {
      const fold::Evaluation evaluation = fold::evaluate(one.sequence, one.structure, model);
      if (!one.name.empty()) text += ">" + one.name + "\n";
      text += fmt::format("{}\n{} ({:>6})\n", one.sequence, one.structure, fold::kcal(evaluation.energy));
      if (s.loops) text += loops_text(one, evaluation);
      list.push_back({{"name", one.name},
                      {"sequence", one.sequence},
                      {"structure", one.structure},
                      {"energy", evaluation.energy / 100.},
                      {"loops", loops_json(evaluation)}});
    } catch (const BadInput& error) {
      refused = true;
      print_error(fmt::format("warploom: {}:{}: {}\n", input_name(s.input), one.line, error.what()));
    }
  }
  if (s.json)
    print_json({{"unit", "kcal/mol"}, {"model", model_json(s)}, {"records", std::move(list)}});
  else
    print(text);
  return refused ? kFinding : kDone;
}

std::function<int()> add(Command& command) {
  auto s = std::make_shared<Settings>();
  command
      .add(
          "STRUCTURES", &s->input,
          "Text as fold prints it: perhaps a header, a sequence, below it its structure in dot-bracket; '-' for standard input")
      .required();
  add_model_options(command, *s);
  command.group("Output");
  command.add("--loops", &s->loops,
              "A line for each loop: its kind, its closing pair, its energy [kcal/mol]");
  command.add_json(s->json);
  return [s] { return run(*s); };
}

}  // namespace

Verb fold_eval() {
  return {
      "eval", "Tell the free energy of given structures, loop by loop",
      "warploom fold eval folded.txt --loops\n"
      "  warploom fold examples/trna_phe.fa | warploom fold eval - --loops\n"
      "Exit codes: 0 done, 1 some structures have no energy (the others have), 2 bad usage or input, 130 Ctrl-C.",
      &add};
}

}  // namespace warploom::tool
