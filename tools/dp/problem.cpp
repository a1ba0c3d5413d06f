#include "problem.hpp"

#include <fmt/format.h>

#include <utility>

#include "cli/verb.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"
#include "warploom/core/threads.hpp"

namespace warploom::tool {

void add_dp_options(Command& command, DpSettings& settings) {
  dp::Options& solve = settings.solve;
  command.add("-o,--output FILE", &settings.output,
              "Result to write, as JSON if it ends in .json; '-' for standard output [-]");
  command.add_device(solve.run.devices);
  command
      .add("--threads N", &settings.solve.run.threads,
           "Threads on the CPU; results do not depend on them [one a processor]")
      .range(1, 4096);
  command.add(
      "--decomposition ORDER",
      [&solve](const std::string& text) { solve.decomposition = dp::parse_decomposition(text); },
      "Order in which blocks of cells are computed, for the speed alone: bottom-up, persistent (one kernel, "
      "GPU only), divide-and-conquer, printed (the dissertation's, which computes some blocks again) or "
      "auto [auto: persistent on a GPU, bottom-up on a CPU]");
  command.add(
      "--block N", &solve.block,
      "Edge of a block [cells]: 16, 32, 64, 128, 256 or 512; of persistent 32 or 64 [chosen by size and device]");
  command.add(
      "--triangular METHOD",
      [&solve](const std::string& text) { solve.triangular = dp::parse_triangular(text); },
      "How a GPU finishes a block, not of persistent: blocked, or the dissertation's two: merged, direct [blocked]");
  command.add(
      "--storage STORAGE", [&solve](const std::string& text) { solve.storage = dp::parse_storage(text); },
      "Cells as plain, narrow (for int32: 16 bits, if they hold the differences, else solved again as plain) or auto: "
      "narrow where it is likely to hold [auto]");
  command.add(
      "--timings", &settings.timings,
      "Tell time and memory: phases, transfers, pairs (an addition with its minimum) a second; costs some waiting");
  command.add("--force", &settings.force, "Replace outputs that exist");
  command.add_json(settings.json);
}

void add_type_option(Command& command, dp::ValueType& type, const std::string& types) {
  command.add(
      "--type TYPE", [&type](const std::string& text) { type = dp::parse_value_type(text); },
      "Type of the cells: " + types);
}

DpRun::DpRun(DpSettings& settings) : settings_(settings), scope_(settings.solve.run) {
  settings.solve.phases = settings.timings;
  if (settings.output != "-") files_.add(settings.output, settings.force);
}

void DpRun::add(std::string_view option, const std::string& path, std::string_view ending) {
  if (path.empty()) return;
  if (!path.ends_with(ending))
    throw BadInput(fmt::format("{} {}: the name must end in {}", option, path, ending));
  files_.add(path, settings_.force);
}

void DpRun::write(const std::string& path, std::string_view content) {
  files_.write(path, [&](const auto& staged) { write_file_atomically(staged, content); });
}

bool DpRun::as_json() const { return settings_.json || settings_.output.ends_with(".json"); }

int DpRun::finish(const std::string& text, Json json, const dp::Report& report) {
  std::string result = text;
  if (as_json()) {
    json["solver"] = report_json(report, settings_.timings);
    result = json.dump(2) + "\n";
  }
  const bool to_file = settings_.output != "-";
  if (to_file) write(settings_.output, result);
  files_.commit();
  if (!to_file) print(result);
  if (settings_.timings && (to_file || !as_json())) print(timings_text(report));
  return kDone;
}

std::string timings_text(const dp::Report& report) {
  const auto seconds = [](double s) {
    return s < 1 ? fmt::format("{:.3f} ms", 1e3 * s) : fmt::format("{:.3f} s", s);
  };
  std::string text = fmt::format("  solved    on {}, {}, blocks of {}, cells in {}\n", name(report.device),
                                 name(report.decomposition), report.block, report.storage);
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
