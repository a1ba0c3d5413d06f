#include "problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cli/verb.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"
#include "warploom/core/threads.hpp"
#include "warploom/dp/bad_value.hpp"

namespace warploom::tool {

namespace {

/// The line, from 1, of a number of a text, from 0. What is no number, a header, does not count.
std::size_t line_of(const std::string& text, std::size_t number) {
  std::size_t line = 0, seen = 0;
  for (std::string row : split(text, '\n')) {
    ++line;
    row = row.substr(0, row.find('#'));
    std::ranges::replace_if(
        row, [](char c) { return c == ',' || c == ';' || c == '\t' || c == '\r'; }, ' ');
    for (const std::string& word : split(row, ' '))
      if (double value = 0; parse_whole(std::string_view(word).substr(word.starts_with('+') ? 1 : 0), value))
        if (seen++ == number) return line;
  }
  return line;
}

}  // namespace

void add_dp_options(Command& command, DpSettings& settings) {
  dp::Options& solve = settings.solve;
  command.group("Output");
  command.add("-o,--output FILE", &settings.output,
              "Result to write, as JSON if it ends in .json; '-' for standard output [-]");
  command.group("Solver");
  command
      .add(
          "--decomposition ORDER",
          [&solve](const std::string& text) { solve.decomposition = dp::parse_decomposition(text); },
          "Order in which blocks of cells are computed, for the speed alone: bottom-up, persistent (one kernel, "
          "GPU only), divide-and-conquer, printed (the dissertation's, which computes some blocks again) or "
          "auto [auto: persistent on a GPU, bottom-up on a CPU]")
      .suggest({"auto", "bottom-up", "persistent", "divide-and-conquer", "printed"});
  command.add(
      "--block N", &solve.block,
      "Edge of a block [cells]: 16, 32, 64, 128, 256 or 512; of persistent 32 or 64 [chosen by size and device]");
  command
      .add(
          "--triangular METHOD",
          [&solve](const std::string& text) { solve.triangular = dp::parse_triangular(text); },
          "How a GPU finishes a block, not of persistent: blocked, or the dissertation's two: merged, direct [blocked]")
      .suggest({"blocked", "merged", "direct"});
  command
      .add(
          "--storage STORAGE", [&solve](const std::string& text) { solve.storage = dp::parse_storage(text); },
          "Cells as plain, narrow (for int32: 16 bits, if they hold the differences, else solved again as plain) or auto: "
          "narrow where it is likely to hold [auto]")
      .suggest({"auto", "plain", "narrow"});
  command.add(
      "--timings", &settings.timings,
      "Tell time and memory: phases, transfers, pairs (an addition with its minimum) a second; costs some waiting");
  add_mpi(command, settings.mpi);
  command.add_json(settings.json);
  command.add_force(settings.force);
  command.add_run(solve.run);
}

void add_type_option(Command& command, dp::ValueType& type, const std::string& types) {
  command
      .add(
          "--type TYPE", [&type](const std::string& text) { type = dp::parse_value_type(text); },
          "Type of the cells: " + types)
      .suggest(split(
          types.find("int32") == types.npos ? "auto,float32,float64" : "auto,int32,int64,float32,float64",
          ','));
}

DpRun::DpRun(DpSettings& settings) : settings_(settings), mpi_(settings.mpi), scope_(settings.solve.run) {
  settings.solve.phases = settings.timings;
  settings.solve.ranks = mpi_.ranks();
  if (mpi_.leads() && settings.output != "-") files_.add(settings.output, settings.force);
}

void DpRun::add(std::string_view option, const std::string& path, std::string_view ending) {
  if (path.empty()) return;
  if (!path.ends_with(ending))
    throw BadInput(fmt::format("{} {}: the name must end in {}", option, path, ending));
  if (mpi_.leads()) files_.add(path, settings_.force);
}

void DpRun::write(const std::string& path, std::string_view content) {
  if (!mpi_.leads()) return;
  files_.write(path, [&](const auto& staged) { write_file_atomically(staged, content); });
}

bool DpRun::as_json() const { return settings_.json || settings_.output.ends_with(".json"); }

int DpRun::finish(const std::string& text, Json json, const dp::Report& report) {
  mpi_.end();
  if (!mpi_.leads()) return kDone;
  std::string result = text;
  if (as_json()) {
    json["solver"] = report_json(report, settings_.timings);
    result = json_text(json);
  }
  const bool to_file = settings_.output != "-";
  if (to_file) write(settings_.output, result);
  files_.commit();
  if (!to_file) print(result);
  if (settings_.timings && (to_file || !as_json())) print(timings_text(report));
  return kDone;
}

NumberText read_numbers(const std::string& path) { return {input_name(path), read_input(path), {}}; }

void with_lines(const std::vector<NumberText>& texts, const std::function<void()>& solve) {
  try {
    solve();
  } catch (const dp::BadValue& error) {
    if (!error.index() && !texts.empty())
      throw BadInput(fmt::format("{}: {}", texts.back().file, error.what()));
    for (const NumberText& text : texts)
      if (const auto number = text.number(error.list(), *error.index()))
        throw BadInput(fmt::format("{}:{}: {}", text.file, line_of(text.text, *number), error.what()));
    throw;
  }
}

std::string timings_text(const dp::Report& report) {
  const auto seconds = [](double s) {
    return s < 1 ? fmt::format("{:.3f} ms", 1e3 * s) : fmt::format("{:.3f} s", s);
  };
  const std::string others = report.devices > 1 ? fmt::format(" and {} more", report.devices - 1) : "";
  std::string text = fmt::format("  solved    on {}{}, {}, blocks of {}, cells in {}\n", name(report.device),
                                 others, name(report.decomposition), report.block, report.storage);
  if (!report.fallback.empty()) text += fmt::format("  again     {}\n", report.fallback);
  if (report.calls != dp::Calls{})
    text += fmt::format("  calls     {} triangular, {} rectangular\n", report.calls.triangular,
                        report.calls.rectangular);
  if (report.launches > 0) text += fmt::format("  launches  {}\n", report.launches);
  text += fmt::format("  time      {}", seconds(report.seconds));
  if (report.rectangular_seconds + report.triangular_seconds > 0)
    text += fmt::format(": rectangular {}, triangular {}", seconds(report.rectangular_seconds),
                        seconds(report.triangular_seconds));
  text += fmt::format("; transfers {}\n", seconds(report.transfer_seconds));
  text += fmt::format("  rate      {:.4g} Tpairs/s, {:.6g} pairs\n  memory    {}\n",
                      report.seconds > 0 ? report.pairs / report.seconds * 1e-12 : 0, report.pairs,
                      byte_text(report.bytes));
  return text;
}

Json report_json(const dp::Report& report, bool timings) {
  Json json{{"device", name(report.device)},
            {"devices", report.devices},
            {"decomposition", name(report.decomposition)},
            {"block", report.block},
            {"storage", report.storage},
            {"fallback", report.fallback},
            {"calls", {{"triangular", report.calls.triangular}, {"rectangular", report.calls.rectangular}}},
            {"launches", report.launches},
            {"pairs", report.pairs},
            {"bytes", report.bytes}};
  if (timings)
    json["seconds"] = {{"solve", report.seconds},
                       {"rectangular", report.rectangular_seconds},
                       {"triangular", report.triangular_seconds},
                       {"transfers", report.transfer_seconds}};
  return json;
}

Json as_json(const dp::Number& number) {
  return std::visit([](auto value) { return Json(value); }, number);
}

}  // namespace warploom::tool
