#include "worker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <new>
#include <optional>
#include <set>
#include <thread>

#include "claim.hpp"
#include "cli/captured_output.hpp"
#include "cli/option_names.hpp"
#include "cli/output_files.hpp"
#include "cli/parser.hpp"
#include "cli/stopwatch.hpp"
#include "cli/verb.hpp"
#include "core/spare_threads.hpp"
#include "memory_gate.hpp"
#include "record.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"
#include "warploom/core/log.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/core/run.hpp"
#include "warploom/core/threads.hpp"
#include "warploom/core/version.hpp"

namespace warploom::tool {
namespace fs = std::filesystem;
namespace {

/// A message as main prints it.
std::string message_of(const std::exception_ptr& problem) {
  try {
    std::rethrow_exception(problem);
  } catch (const Internal& error) {
    return fmt::format("internal error: {}; please report it with the input", error.what());
  } catch (const Error& error) {
    return with_option_names(error.what());
  } catch (const std::bad_alloc&) {
    return "out of memory";
  } catch (const std::exception& error) {
    return fmt::format("internal error: {}; please report it with the input", error.what());
  }
}

class Cohort {
 public:
  explicit Cohort(const CohortPlan& plan)
      : plan_(plan),
        records_(plan.folder / ".warploom"),
        claims_(records_.claims(), plan.beat),
        gate_(plan.memory),
        progress_("cohort", plan.items.size(), "items") {
    for (const CohortItem& item : plan.items) {
      outcomes_.push_back({.item = item});
      // What failed before is tried again, once; what fails from now on, at another worker, is not.
      const std::optional<CohortRecord> record = records_.read(item.name);
      if (record && !record->done()) failed_before_.insert(record->worker);
    }
  }

  std::vector<CohortOutcome> run() {
    const Run& around = current_run();
    std::vector<std::jthread> threads;
    working_ = plan_.at_once;
    for (unsigned k = 0; k < plan_.at_once; ++k)
      threads.emplace_back([this, k, &around] { work(k, around); });
    for (std::unique_lock lock(mutex_); working_ > 0;) {
      changed_.wait_for(lock, kLook);
      if (stop_requested()) stop_ = true;
    }
    threads.clear();  // joins
    if (stopped_) std::rethrow_exception(stopped_);
    clear_claims();
    return outcomes_;
  }

 private:
  void work(unsigned number, Run run) {
    // One of its own, and those that belong to nobody, which go where they are needed.
    run.threads = 1 + std::max(threads_, plan_.at_once) - plan_.at_once;
    if (run.devices.size() > 1) run.devices = {run.devices[number % run.devices.size()]};
    run.progress = {};
    run.stop = &stop_;  // what the scopes around this cohort ask for is heard on the thread that runs it
    const RunScope scope(run);
    const SpareThreads::Scope with_spare(spare_);
    try {
      while (const std::optional<std::size_t> next = take_next()) settle(*next, attempt(plan_.items[*next]));
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!stopped_) stopped_ = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    if (--working_ < threads_) spare_.give(1);  // the last items have it
    changed_.notify_all();
  }

  static bool stop_requested() {
    try {
      check_interrupt();
      return false;
    } catch (const Interrupted&) {
      return true;
    }
  }

  /// An item that nobody works on; none when there is nothing left to do.
  std::optional<std::size_t> take_next() {
    std::unique_lock lock(mutex_);
    while (!stopped_) {
      check_interrupt();
      const auto find = [&](CohortState state) {
        return std::ranges::find(outcomes_, state, &CohortOutcome::state);
      };
      // Once a beat, so that what a worker had that is gone does not wait for the end.
      if (Clock::now() - looked_ >= plan_.beat) look_at_others();
      if (auto open = find(CohortState::open); open != outcomes_.end()) {
        open->state = CohortState::taken;
        return open - outcomes_.begin();
      }
      if (find(CohortState::elsewhere) == outcomes_.end()) return std::nullopt;
      // Others have the rest. A look at each now and then tells whether they live.
      changed_.wait_for(lock, pause_);
      pause_ = std::min(2 * pause_, kLook);
      look_at_others();
    }
    return std::nullopt;
  }

  /// With the lock: what others had is tried again.
  void look_at_others() {
    for (CohortOutcome& outcome : outcomes_)
      if (outcome.state == CohortState::elsewhere) outcome.state = CohortState::open;
    looked_ = Clock::now();
  }

  void settle(std::size_t index, CohortOutcome outcome) {
    const std::lock_guard lock(mutex_);
    const bool is_over = outcome.state != CohortState::elsewhere;
    outcome.item = plan_.items[index];
    outcomes_[index] = std::move(outcome);
    changed_.notify_all();
    if (!is_over) return;
    pause_ = kFirstPause;
    progress_.advance();
  }

  /// What a record says, if it is of this command on these inputs and its results are there.
  std::optional<CohortOutcome> over(const CohortItem& item) const {
    const std::optional<CohortRecord> record = records_.read(item.name);
    if (!record || record->words != plan_.command.words() || record->version != version())
      return std::nullopt;
    if (!record->done()) {
      if (failed_before_.contains(record->worker)) return std::nullopt;
      return CohortOutcome{.state = CohortState::failed, .seconds = record->seconds, .error = record->error};
    }
    const std::vector<fs::path> inputs = plan_.command.inputs_of(item);
    if (inputs.size() != record->inputs.size()) return std::nullopt;
    std::error_code error;
    for (std::size_t k = 0; k < inputs.size(); ++k)
      if (!is_unchanged(record->inputs[k], inputs[k])) return std::nullopt;
    for (const RecordedFile& output : record->outputs)
      if (fs::file_size(output.path, error) != output.bytes || error) return std::nullopt;
    return CohortOutcome{
        .state = CohortState::there, .seconds = record->seconds, .outputs = record->outputs.size()};
  }

  CohortOutcome attempt(const CohortItem& item) {
    if (!item.error.empty()) return {.state = CohortState::failed, .error = item.error};
    std::error_code error;
    const bool is_claimed = fs::exists(records_.claims() / (item.name + ".claim"), error);
    if (!is_claimed && !records_.has_intent(item.name))
      if (const std::optional<CohortOutcome> before = over(item)) return *before;
    Claims::Answer claim;
    try {
      claim = claims_.take(item.name, [&](const std::string& tag) { clear_after(item, tag); });
    } catch (const BadInput& problem) {
      return {.state = CohortState::failed, .error = problem.what()};
    }
    if (claim.taken == Claims::Taken::busy) return {.state = CohortState::elsewhere};
    struct Release {
      Claims& claims;
      const std::string& item;
      ~Release() { claims.release(item); }
    } release{claims_, item.name};
    if (const std::optional<CohortOutcome> before = over(item)) {
      records_.remove_intent(item.name);
      return *before;
    }
    return run_claimed(item, claim.tag);
  }

  CohortOutcome run_claimed(const CohortItem& item, const std::string& tag) {
    CohortRecord record{.item = item.name, .words = plan_.command.words(), .version = std::string(version())};
    record.worker = tag;
    record.host = host_name();
    const Stopwatch watch;
    try {
      within_memory(gate_, memory_of(item), plan_.at_once > 1, item.name, [&] {
        record.inputs.clear();
        record.outputs.clear();
        for (const fs::path& input : plan_.command.inputs_of(item)) record.inputs.push_back(recorded(input));
        run_verb(item, tag, record);
      });
      for (const RecordedFile& input : record.inputs)
        if (!is_unchanged(input, input.path))
          throw BadInput(fmt::format("{} changed while it was read; run again", input.path.string()));
    } catch (const Interrupted&) {
      throw;
    } catch (...) {
      record.error = message_of(std::current_exception());
    }
    record.seconds = watch.seconds();
    CohortOutcome outcome{.state = record.done() ? CohortState::done : CohortState::failed,
                          .seconds = record.seconds,
                          .outputs = record.outputs.size(),
                          .error = record.error};
    try {
      records_.write(record, tag);
      records_.remove_intent(item.name);
    } catch (const BadInput& problem) {
      outcome.state = CohortState::failed;
      if (outcome.error.empty()) outcome.error = problem.what();
    }
    if (outcome.state == CohortState::failed)
      log(LogLevel::info, fmt::format("{}: {}", item.name, outcome.error));
    return outcome;
  }

  void run_verb(const CohortItem& item, const std::string& tag, CohortRecord& record) {
    std::vector<fs::path> ours = records_.intent(item.name);
    if (const std::optional<CohortRecord> before = records_.read(item.name))
      for (const RecordedFile& output : before->outputs) ours.push_back(output.path);
    std::vector<fs::path> written;
    const OutputRules rules{
        .tag = tag,
        .may_replace =
            [&](const fs::path& path) { return plan_.force || std::ranges::find(ours, path) != ours.end(); },
        .before_commit =
            [&](const std::vector<fs::path>& paths) {
              if (!claims_.holds(item.name))
                throw BadInput("another worker took this item over, for this one gave no sign of life");
              written.insert(written.end(), paths.begin(), paths.end());
              records_.write_intent(item.name, written, tag);
            }};
    const OutputRulesScope scope(rules);
    std::string out, said;
    const int code = run_words(plan_.command.of(item), out, said);
    if (code != kDone)
      throw BadInput(said.empty() ? fmt::format("ended with exit code {}", code)
                                  : said.substr(0, said.find_last_not_of('\n') + 1));
    if (!plan_.command.names_outputs()) {
      OutputFiles files;
      const fs::path path = plan_.folder / (item.name + (out.starts_with('{') ? ".json" : ".txt"));
      files.add(path, false);
      files.write(path, out);
      files.commit();
    }
    for (const fs::path& path : written) record.outputs.push_back(recorded(path));
  }

  /// Files that a worker which is gone was writing for the item.
  void clear_after(const CohortItem& item, const std::string& tag) const {
    std::set<fs::path> folders{plan_.folder, (plan_.folder / item.name).parent_path(), records_.claims()};
    for (const char* part : {"records", "intents"})
      folders.insert((records_.folder() / part / item.name).parent_path());
    for (const std::string& word : plan_.command.of(item)) folders.insert(fs::path(word).parent_path());
    for (const fs::path& folder : folders) {
      std::error_code error;
      for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
        // Of OutputFiles, and under it of write_file_atomically().
        const std::string name = at->path().filename().string();
        if (name.starts_with(fmt::format(".{}.", tag)) || name.starts_with(fmt::format("..{}.", tag)))
          fs::remove(at->path(), error);
      }
    }
  }

  /// Hidden files of workers that died before their claims had names, when no claim is left.
  void clear_claims() const {
    std::error_code error;
    std::vector<fs::path> hidden;
    for (fs::recursive_directory_iterator at(records_.claims(), error), end; !error && at != end;
         at.increment(error)) {
      if (at->path().extension() == ".claim") return;
      if (at->path().filename().string().starts_with('.')) hidden.push_back(at->path());
    }
    for (const fs::path& path : hidden) fs::remove(path, error);
  }

  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kLook{100}, kFirstPause{5};
  const CohortPlan& plan_;
  const CohortRecords records_;
  Claims claims_;
  MemoryGate gate_;
  const unsigned threads_ = threads();
  SpareThreads spare_;
  std::set<std::string> failed_before_;
  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  std::vector<CohortOutcome> outcomes_;
  Clock::time_point looked_ = Clock::now();        // at what others have
  std::chrono::milliseconds pause_ = kFirstPause;  // before the next look, where nothing else is left
  std::exception_ptr stopped_;
  unsigned working_ = 0;  // threads
  std::atomic<bool> stop_ = false;
  Progress progress_;
};

}  // namespace

std::string_view name(CohortState state) {
  switch (state) {
    case CohortState::there:
      return "there";
    case CohortState::done:
      return "done";
    case CohortState::failed:
      return "failed";
    default:
      return "open";
  }
}

std::uint64_t memory_of(const CohortItem& item) {
  static constexpr std::uint64_t kTimes = 12;
  return kTimes * item.unpacked;
}

namespace {

/// A command line, parsed, as long as what it declared lives.
struct Parsed {
  Command tool;
  CommonOptions common;
  std::function<int()> run;

  explicit Parsed(const std::vector<std::string>& words) {
    tool.name = "warploom";
    run = tool.add_verbs("verb", verbs());
    std::vector<std::string> texts{"warploom"};
    texts.insert(texts.end(), words.begin(), words.end());
    std::vector<char*> arguments;
    for (std::string& text : texts) arguments.push_back(text.data());
    if (parse_command_line(static_cast<int>(arguments.size()), arguments.data(), tool, common) != nullptr)
      throw BadInput("--help is no work to do on many inputs");
    const Command::Sub* chosen = tool.chosen();
    if (chosen == nullptr) throw BadInput("no verb is given behind -- (warploom --help lists them)");
    if (chosen->command->takes_command_line())
      throw BadInput("a cohort of cohorts makes no sense; name another verb behind --");
  }
};

}  // namespace

void check_words(const std::vector<std::string>& words) { const Parsed parsed(words); }

int run_words(const std::vector<std::string>& words, std::string& out, std::string& error) {
  const Parsed parsed(words);
  set_command_path(parsed.tool.chosen()->command->name);
  CapturedOutput captured;
  const int code = parsed.run();
  out = std::move(captured.out);
  error = std::move(captured.error);
  return code;
}

std::vector<CohortOutcome> run_cohort(const CohortPlan& plan) { return Cohort(plan).run(); }

}  // namespace warploom::tool
