// How much of C as people write it does `warploom tile` read? Every .c, .cc and .cpp of a folder goes through
// Clang as it is; nests that are taken and loops that are refused are counted, these by reason. What several
// files include counts once. A loop that is refused may hold nests that are taken.
//   study_tile_public [--out=FILE.json] [--name=TEXT] [--list] [--clang=PATH] FOLDER_OR_FILE... --
//   FLAGS_OF_CLANG
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <map>
#include <set>

#include "tile/beside_source.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"
#include "warploom/json/json.hpp"
#include "warploom/tile/clang.hpp"
#include "warploom/tile/nest.hpp"
#include "warploom/tile/transform.hpp"

namespace warploom::tile {
namespace {

namespace fs = std::filesystem;

/// A refusal's kind: what stands there without the program's own names.
std::string reason_of(const Refusal& refusal) {
  struct Kind {
    std::string_view construct, why, name;
  };
  static const std::vector<Kind> kinds{
      {"call", "", "call of a function that is no expression"},
      {"while loop", "", "while"},
      {"do loop", "", "while"},
      {"for over a range", "", "while"},
      {"for without", "", "for without a first value, condition or step"},
      {"break", "", "break, continue, goto, return"},
      {"continue", "", "break, continue, goto, return"},
      {"goto", "", "break, continue, goto, return"},
      {"return", "", "break, continue, goto, return"},
      {"switch", "", "switch"},
      {"", "arrays of structures", "members of elements"},
      {"", "elements are of type", "type of elements"},
      {"", "values are of type", "type of a variable"},
      {"", "pointers to pointers", "pointers to pointers"},
      {"pointer ", "", "pointer that moves otherwise"},
      {"assignment to pointer", "", "pointer that moves otherwise"},
      {"", "bit operations", "bit operation"},
      {"", "changes within the nest", "structure that changes"},
      {"", "is no loop variable, size or integer", "bound or subscript of data"},
      {"", "which is not affine", "not affine"},
      {"", "is not affine", "not affine"},
      {"", "value is not known before the nest runs", "bound or subscript of data"},
      {"", "used after its loop", "loop variable used after its loop"},
      {"loop variable", "", "loop variable that is changed otherwise"},
      {"assignment to loop variable", "", "loop variable that is changed otherwise"},
      {"loop condition", "", "loop condition"},
      {"step", "", "step of a loop"},
      {"first part of for", "", "step of a loop"},
      {"second", "", "step of a loop"},
      {"if", "", "condition on data"},
      {"data-dependent if", "", "condition on data"},
      {"", "how many elements it has", "length of an array"},
      {"", "pairs", "size"},
      {"", "within an expression", "assignment within an expression"},
      {"", "outside of the extent", "subscript outside of its array"},
      {"'", "", "assignment within an expression"},
      {"operator", "", "operator"},
      {"cast", "", "cast"},
  };
  for (const Kind& kind : kinds) {
    const bool construct = refusal.construct.starts_with(kind.construct);
    const bool why = (refusal.construct + ": " + refusal.why).find(kind.why) != std::string::npos;
    if (construct && why) return std::string(kind.name);
  }
  return "other";
}

struct Options {
  std::string name, out;
  bool list = false, run = false;
  std::vector<fs::path> with;
  std::vector<fs::path> sources;
  ClangOptions clang;
};

Options options_of(int count, char** words) {
  Options options;
  int k = 1;
  for (; k < count && std::strcmp(words[k], "--") != 0; ++k) {
    const std::string word = words[k];
    if (word.starts_with("--out="))
      options.out = word.substr(6);
    else if (word.starts_with("--name="))
      options.name = word.substr(7);
    else if (word.starts_with("--clang="))
      options.clang.compiler = word.substr(8);
    else if (word == "--list")
      options.list = true;
    else if (word == "--run")
      options.run = true;
    else if (word.starts_with("--with="))
      options.with.emplace_back(word.substr(7));
    else if (word.starts_with("--"))
      throw BadInput(word +
                     ": options are --out=FILE, --name=TEXT, --clang=PATH, --list, --run and --with=FILE");
    else
      options.sources.emplace_back(word);
  }
  options.clang.flags.assign(words + std::min(k + 1, count), words + count);
  if (options.sources.empty()) throw BadInput("a folder or files, then -- and flags for Clang");
  return options;
}

std::vector<fs::path> files_of(const std::vector<fs::path>& sources) {
  static const std::set<std::string> kinds{".c", ".cc", ".cpp", ".cxx"};
  std::set<fs::path> files;
  for (const fs::path& source : sources) {
    if (!fs::is_directory(source)) {
      files.insert(source);
      continue;
    }
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(source))
      if (entry.is_regular_file() && kinds.count(entry.path().extension().string()))
        files.insert(entry.path());
  }
  return {files.begin(), files.end()};
}

int loops_in(const Node& node) {
  int loops = node.kind == Node::Kind::loop;
  for (const Node& child : node.children) loops += loops_in(child);
  return loops;
}

/// What came of running the nests.
class Runs {
 public:
  explicit Runs(const Options& options) : options_(options) {}

  /// A nest that is taken: planned now, run with the others of its file.
  void add(const Region& region) {
    try {
      CpuPlan plan = plan_for_cpu(Nest::analyse(region));
      Node code = transform(plan.nest, plan.steps).code();
      planned_.push_back({std::move(plan.nest), std::move(code)});
    } catch (const Error& error) {
      tell(region, "not written", error.what());
    }
  }

  void run(const fs::path& file, const ClangOptions& clang) {
    std::vector<test::BesidePart> parts;
    for (const auto& [nest, code] : planned_) parts.push_back({nest, code});
    const std::vector<test::Beside> results =
        test::run_beside_source(file, parts, {.clang = clang, .with = options_.with, .threads = true});
    static constexpr std::array<std::string_view, 5> kNames{
        "equal", "text is no C by itself", "source fails for all sizes", "too large", "wrong"};
    for (std::size_t k = 0; k < results.size(); ++k) {
      compared_ += results[k].runs;
      const bool partly = results[k].kind == test::Beside::Kind::equal && results[k].failing > 0;
      tell(planned_[k].first.region(),
           partly ? "equal where the source runs" : kNames.at(static_cast<std::size_t>(results[k].kind)),
           fmt::format("{} runs, {} fail: {}", results[k].runs, results[k].failing, results[k].why));
    }
    planned_.clear();
  }

  void record(Json& to) const {
    to["sizes_compared"] = compared_;
    for (const auto& [kind, number] : kinds_) to["nests"][kind] = number;
  }

 private:
  void tell(const Region& region, std::string_view kind, const std::string& more) {
    ++kinds_[std::string(kind)];
    if (options_.list)
      fmt::print("N {}:{} {}: {}: {}\n", region.file, region.at.line, region.function, kind, more);
    std::fflush(stdout);
  }

  const Options& options_;
  std::vector<std::pair<Nest, Node>> planned_;
  std::map<std::string, int> kinds_;
  int compared_ = 0;
};

int study(const Options& options) {
  std::set<std::string> seen;
  std::map<std::string, int> reasons;
  std::map<std::string, std::string> broken;
  Runs runs(options);
  int files = 0, nests = 0, loops = 0, refused = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (const fs::path& file : files_of(options.sources)) {
    std::vector<Region> regions;
    ClangOptions clang = options.clang;
    try {
      clang.flags.push_back("-I" + file.parent_path().string());
      regions = read_with_clang(file, {}, clang);
    } catch (const BadInput& error) {
      std::string message = error.what();
      const std::size_t at = message.find("error:");
      broken[file.string()] = at == message.npos ? message : message.substr(at, message.find('\n', at) - at);
      continue;
    }
    ++files;
    for (const Region& region : regions) {
      const auto fresh = [&](Position at, std::string_view what) {
        return seen.insert(fmt::format("{}:{}:{}:{}", region.file, at.line, at.column, what)).second;
      };
      for (const Refusal& refusal : region.refusals) {
        if (!fresh(refusal.at, refusal.construct)) continue;
        ++refused;
        const std::string reason = reason_of(refusal);
        ++reasons[reason];
        if (options.list) fmt::print("R {:34} {}\n", reason, to_text(region.file, refusal));
      }
      if (!region.refusals.empty() || !fresh(region.at, "nest")) continue;
      ++nests;
      loops += loops_in(region.body);
      if (options.list)
        fmt::print("T {} {}:{}: {} loops\n", region.function, region.file, region.at.line,
                   loops_in(region.body));
      if (options.run) runs.add(region);
    }
    if (options.run) runs.run(file, clang);
  }
  std::vector<std::pair<int, std::string>> order;
  for (const auto& [reason, number] : reasons) order.emplace_back(-number, reason);
  std::ranges::sort(order);
  Json record;
  record["program"] = options.name;
  record["files"] = files;
  record["files_that_clang_refuses"] = static_cast<int>(broken.size());
  record["nests_there"] = nests + refused;
  record["nests_taken"] = nests;
  record["loops_in_them"] = loops;
  record["loops_refused"] = refused;
  Json& by_reason = record["by_reason"] = Json::object();
  for (const auto& [number, reason] : order) by_reason[reason] = -number;
  if (options.run) runs.record(record["run"]);
  record["seconds"] = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  for (const auto& [file, why] : broken) fmt::print(stderr, "{}: {}\n", file, why);
  fmt::print("{}\n", record.dump(1));
  if (!options.out.empty()) write_file_atomically(options.out, record.dump(1) + "\n");
  return 0;
}

}  // namespace
}  // namespace warploom::tile

int main(int count, char** words) try {
  return warploom::tile::study(warploom::tile::options_of(count, words));
} catch (const warploom::Error& error) {
  fmt::print(stderr, "{}\n", error.what());
  return 2;
}
