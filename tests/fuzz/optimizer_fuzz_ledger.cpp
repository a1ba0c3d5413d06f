#include "fuzz/optimizer_fuzz_ledger.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "oracle/random_kernel.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"

namespace warploom::fuzz {

using Json = nlohmann::ordered_json;

void add_to_ledger(const std::filesystem::path& file, const Job& job, const Findings& findings,
                   const std::string& date) {
  if (findings.tally.wrong != 0 || findings.to == job.from) return;
  const Json now{{"generator", oracle::kGeneratorVersion},
                 {"from", job.from},
                 {"to", findings.to},
                 {"date", date},
                 {"kernels", findings.tally.kernels},
                 {"outside_contract", findings.tally.outside_contract},
                 {"rewritten", findings.tally.rewritten},
                 {"barrier_inserted", findings.tally.barrier_inserted},
                 {"runs", findings.tally.runs}};
  try {
    Json ledger = Json::parse(read_file(file));
    bool merged = false;
    for (Json& range : ledger.at("ranges")) {
      if (range.at("generator") != now["generator"]) continue;
      if (range.at("from") < now["to"] && now["from"] < range.at("to"))
        throw BadInput(
            fmt::format("{}: seeds [{}, {}) overlap [{}, {}), which are there already; choose --from",
                        file.string(), job.from, findings.to, range["from"].dump(), range["to"].dump()));
      if (merged || range.at("date") != now["date"] || range.at("to") != now["from"]) continue;
      merged = true;
      range["to"] = now["to"];
      for (const char* sum : {"kernels", "outside_contract", "rewritten", "barrier_inserted", "runs"})
        range[sum] = range.at(sum).get<std::uint64_t>() + now[sum].get<std::uint64_t>();
    }
    if (!merged) ledger["ranges"].push_back(now);
    write_file_atomically(file, ledger.dump(2) + "\n");
  } catch (const Json::exception& e) {
    throw BadInput(fmt::format("{}: is no ledger of seeds: {}", file.string(), e.what()));
  }
}

}  // namespace warploom::fuzz
