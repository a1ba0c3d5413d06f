// mutation_table JSON [FIRST COUNT]: tries every mutation of every named kernel and of COUNT random ones from
// seed FIRST (200 from 1), writes what became of them to a JSON file and the guide's tables, as Markdown, to
// the standard output.

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <string>

#include "trial.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"
#include "warploom/json/json.hpp"

namespace warploom::reuse::mutation {
namespace {

Json to_json(const Tally& t) {
  return {{"mutations", t.mutations},   {"unchanged", t.unchanged}, {"sound", t.sound},
          {"check_only", t.check_only}, {"both", t.both},           {"simulator_only", t.simulator_only},
          {"survivors", t.survivors}};
}

constexpr std::string_view kColumns =
    " mutations | no change | another right answer | check alone | simulator alone | both | survivors |\n";
constexpr std::string_view kRule = "| --- | --- | --- | --- | --- | --- | --- | --- |\n";

std::string row(std::string_view head, const Tally& t) {
  return fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} |\n", head, t.mutations, t.unchanged, t.sound,
                     t.check_only, t.simulator_only, t.both, t.survivors);
}

class Table {
 public:
  /// Rows of the random kernels are added up.
  void add(const CaseResult& result, bool random) {
    const std::string head = random ? "random kernels" : result.name;
    if (!result.skipped.empty()) {
      ++skipped_;
      if (!random) std::cerr << result.name << ": " << result.skipped << "\n";
      return;
    }
    if (!result.faultless.empty()) throw Internal(result.name + ", faultless: " + result.faultless);
    ++kernels_[head];
    if (order_.empty() || order_.back() != head) order_.push_back(head);
    for (const auto& [fault, tally] : tally(result)) {
      by_kernel_[head].add(tally);
      by_fault_[fault].add(tally);
      cells_[head][fault].add(tally);
    }
    const auto first = static_cast<std::ptrdiff_t>(survivors_.size());
    for (const Trial& t : result.trials)
      if (t.survives()) survivors_.emplace_back(result.name, t);
    std::stable_sort(survivors_.begin() + first, survivors_.end(),
                     [](const auto& a, const auto& b) { return a.second.violation < b.second.violation; });
  }

  void print() const {
    Tally all;
    std::string text = "| fault |" + std::string(kColumns) + std::string(kRule);
    for (const auto& [fault, tally] : by_fault_) text += row(name(fault), tally), all.add(tally);
    text += row("**all**", all) + "\n| kernel |" + std::string(kColumns) + std::string(kRule);
    for (const std::string& head : order_) text += row(label(head), by_kernel_.at(head));
    text += "\n";
    std::string last;
    for (const auto& [kernel, t] : survivors_) {
      const std::string head = fmt::format("\n* {}: {}.", kernel, t.violation);
      if (head != last) text += head;
      text += fmt::format("{} {}, {}", head == last ? ";" : "", name(t.fault), t.what);
      last = head;
    }
    text += "\n";
    std::cout << text;
  }

  std::string json() const {
    Json all;
    all["random_kernels_skipped"] = skipped_;
    for (const std::string& head : order_)
      for (const auto& [fault, tally] : cells_.at(head)) {
        Json record{{"kernel", head}, {"kernels", kernels_.at(head)}, {"fault", name(fault)}};
        record.update(to_json(tally));
        all["records"].push_back(record);
      }
    all["survivors"] = Json::array();
    for (const auto& [kernel, t] : survivors_)
      all["survivors"].push_back({{"kernel", kernel},
                                  {"fault", name(t.fault)},
                                  {"what", t.what},
                                  {"violation", t.violation},
                                  {"certificate", t.certificate}});
    return all.dump(1) + "\n";
  }

 private:
  std::string label(const std::string& head) const {
    return kernels_.at(head) == 1 ? fmt::format("`{}`", head) : fmt::format("{} {}", kernels_.at(head), head);
  }

  std::vector<std::string> order_;
  std::map<std::string, std::uint64_t> kernels_;
  std::map<std::string, Tally> by_kernel_;
  std::map<Fault, Tally> by_fault_;
  std::map<std::string, std::map<Fault, Tally>> cells_;
  std::vector<std::pair<std::string, Trial>> survivors_;  ///< by kernel, then by violation
  std::uint64_t skipped_ = 0;
};

int run(int argc, char** argv) {
  if (argc != 2 && argc != 4) {
    std::cerr << "usage: mutation_table JSON [FIRST COUNT]\n";
    return 2;
  }
  Table table;
  std::vector<std::string> missing;
  for (const Case& c : named_cases(missing)) {
    std::cerr << c.name << "\n";
    table.add(try_all(c), false);
  }
  for (const std::string& name : missing) std::cerr << name << ": skipped, there is no nvcc\n";
  const std::uint64_t first = argc == 4 ? std::strtoull(argv[2], nullptr, 10) : 1;
  const std::uint64_t count = argc == 4 ? std::strtoull(argv[3], nullptr, 10) : 200;
  for (const Case& c : random_cases(first, count)) table.add(try_all(c), true);
  table.print();
  write_file_atomically(argv[1], table.json());
  return 0;
}

}  // namespace
}  // namespace warploom::reuse::mutation

int main(int argc, char** argv) {
  try {
    return warploom::reuse::mutation::run(argc, argv);
  } catch (const std::exception& e) {
    std::cerr << e.what() << "\n";
    return 1;
  }
}
