// fuzz_optimizer: runs random kernels before and after `reuse`, and reports every difference.

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "fuzz/optimizer_fuzz_judge.hpp"
#include "fuzz/optimizer_fuzz_ledger.hpp"
#include "fuzz/optimizer_fuzz_workers.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"

namespace {

using namespace warploom;
using namespace warploom::fuzz;

constexpr std::string_view kUsage =
    R"(fuzz_optimizer: runs random kernels before and after `reuse`, and reports every difference

  --from N         first seed (1); "day": one that depends on the date alone
  --count N        so many seeds (until the time is over)
  --seconds S      so long (until all seeds are done)
  --jobs J         processes (1)
  --ledger FILE    add the range of seeds to this file, if all went well
  --failures DIR   write failing kernels there (fuzz-failures)
  --minimize       reduce them first
  --features       say how many kernels have which feature
  --seed N         the same as --from N --count 1
  --print SEED     print that kernel, and do nothing else
)";

struct Arguments {
  Job job;
  std::filesystem::path ledger, failures = "fuzz-failures";
  bool minimize = false, features = false;
  std::optional<std::uint64_t> print;
};

std::uint64_t number(std::string_view option, const std::string& text) {
  std::size_t used = 0;
  unsigned long long value = 0;
  try {
    value = std::stoull(text, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  if (used == 0 || used != text.size()) throw BadInput(fmt::format("{}: '{}' is no number", option, text));
  return value;
}

Arguments arguments_from(int argc, char** argv) {
  Arguments a;
  for (int k = 1; k < argc; ++k) {
    const std::string_view option = argv[k];
    if (option == "--minimize" || option == "--features") {
      (option == "--minimize" ? a.minimize : a.features) = true;
      continue;
    }
    if (k + 1 == argc)
      throw BadInput(fmt::format("{}: unknown, or its value is missing\n{}", option, kUsage));
    const std::string value = argv[++k];
    if (option == "--from" && value == "day")  // a million seeds a day
      a.job.from = static_cast<std::uint64_t>(std::time(nullptr)) / 86400 * 1'000'000;
    else if (option == "--from")
      a.job.from = number(option, value);
    else if (option == "--count")
      a.job.count = number(option, value);
    else if (option == "--seconds")
      a.job.seconds = static_cast<double>(number(option, value));
    else if (option == "--jobs")
      a.job.jobs = static_cast<unsigned>(number(option, value));
    else if (option == "--ledger")
      a.ledger = value;
    else if (option == "--failures")
      a.failures = value;
    else if (option == "--seed")
      a.job.from = number(option, value), a.job.count = 1;
    else if (option == "--print")
      a.print = number(option, value);
    else
      throw BadInput(fmt::format("{}: unknown\n{}", option, kUsage));
  }
  if (a.job.jobs == 0) throw BadInput("--jobs: at least 1");
  if (!a.print && a.job.count == 0 && a.job.seconds == 0)
    throw BadInput(fmt::format("say how long: --count or --seconds\n{}", kUsage));
  return a;
}

double percent(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

/// Writes the failing kernel to a file, and says where.
void keep(const Failure& failure, const Arguments& arguments) {
  oracle::RandomKernel kernel = oracle::random_kernel(failure.seed);
  std::vector<Way> all = ways(failure.seed, kernel);
  Judgement judgement;
  std::size_t w = 0;
  for (; w < all.size(); ++w)
    if (judgement = judge_apart(kernel, {all[w]}); judgement.verdict == Verdict::wrong) break;
  if (w == all.size()) {
    fmt::print("seed {}: {}; but not when run again\n", failure.seed, failure.kind);
    return;
  }
  if (arguments.minimize) {
    kernel = minimize(std::move(kernel), all[w], judgement.kind,
                      [](const oracle::RandomKernel& k, const Way& way) { return judge_apart(k, {way}); });
    judgement = judge_apart(kernel, {all[w]});
  }
  std::filesystem::create_directories(arguments.failures);
  const std::filesystem::path file = arguments.failures / fmt::format("seed-{}.ptx", failure.seed);
  write_file_atomically(file, case_text(failure.seed, kernel, all[w], judgement));
  fmt::print("seed {}: {} ({}): {}\n", failure.seed, judgement.kind, all[w].text(), file.string());
}

int run(const Arguments& a) {
  if (a.print) {
    fmt::print("{}", oracle::random_kernel(*a.print).text);
    return 0;
  }
  const Findings f = judge_all(a.job);
  const Tally& t = f.tally;
  fmt::print(
      "generator {}, seeds [{}, {}): {} kernels, {} ({:.2f} %) outside the contract, {} ({:.0f} %) rewritten, {} "
      "({:.0f} %) with an inserted barrier, {} runs, {} wrong; {:.0f} s, {:.0f} kernels a second\n",
      oracle::kGeneratorVersion, a.job.from, f.to, t.kernels, t.outside_contract,
      percent(t.outside_contract, t.kernels), t.rewritten, percent(t.rewritten, t.kernels),
      t.barrier_inserted, percent(t.barrier_inserted, t.kernels), t.runs, t.wrong, f.seconds,
      static_cast<double>(t.kernels) / f.seconds);
  if (a.features)
    for (std::size_t k = 0; k < t.features.size(); ++k)
      fmt::print("{:20} {:5.1f} %\n", oracle::name(static_cast<oracle::Feature>(k)),
                 percent(t.features[k], t.kernels));
  for (const Failure& failure : f.failures) keep(failure, a);
  if (!a.ledger.empty()) {
    const std::time_t now = std::time(nullptr);
    std::array<char, 16> date{};
    std::strftime(date.data(), date.size(), "%F", std::gmtime(&now));
    add_to_ledger(a.ledger, a.job, f, date.data());
  }
  return t.wrong == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    Arguments arguments = arguments_from(argc, argv);
    arguments.job.progress = isatty(STDERR_FILENO) != 0;
    arguments.job.failed = [](const Failure& f) {
      fmt::print("seed {}: {}\n", f.seed, f.kind);
      std::fflush(stdout);
    };
    return run(arguments);
  } catch (const std::exception& e) {
    fmt::print(stderr, "fuzz_optimizer: {}\n", e.what());
    return 2;
  }
}
