#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "cli/verb.hpp"
#include "log.hpp"
#include "nvcc_shadow.hpp"
#include "reuse/options.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"
#include "warploom/core/log.hpp"
#include "warploom/core/process.hpp"
#include "warploom/core/version.hpp"
#include "warploom/reuse/ptxas.hpp"

namespace warploom::tool {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string log;     // of --summary
  std::string tool;    // nvcc's sub-program that we stand for, or empty
  std::string shadow;  // then: the shadow toolkit's directory
  bool json = false, whole_program = false;
};

std::string name_of(const std::string& word) { return fs::path(word).filename().string(); }

bool set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

// ---- the launcher: warploom wrap [ccache] nvcc ...

/// True unless the command line shows that no CUDA source is compiled.
bool may_compile_cuda(const Words& words) {
  if (set("NVCC_PREPEND_FLAGS") || set("NVCC_APPEND_FLAGS")) return true;
  return std::ranges::any_of(words, [](const std::string& word) {
    return word.ends_with(".cu") || word.starts_with("-x") || word.starts_with("--x") ||
           word.starts_with("@") || word.starts_with("-optf") || word.starts_with("--options-file");
  });
}

/// Where nvcc stands in the command line, or why the command is not ours.
std::string find_nvcc(const Words& words, std::size_t& at) {
  at = name_of(words[0]) == "ccache" ? 1 : 0;
  if (at >= words.size() || name_of(words[at]) != "nvcc")
    return fmt::format("{} is not nvcc", words[std::min(at, words.size() - 1)]);
  const std::optional<fs::path> nvcc = find_program(words[at]);
  return nvcc ? ShadowToolkit::missing_part(*nvcc) : fmt::format("{} is not found", words[at]);
}

std::string why_untouched(const Words& words, std::size_t& at) {
  if (rewriting_disabled()) return "WARPLOOM_DISABLE is set";
  if (std::string why = find_nvcc(words, at); !why.empty()) return why;
  for (const char* option : {"--dryrun", "-dryrun", "--dont-use-profile", "-dont-use-profile"})
    if (std::ranges::find(words, option) != words.end()) return fmt::format("{} is given", option);
  return may_compile_cuda(words) ? "" : "no CUDA source is compiled";
}

/// Everything that our output depends on beside nvcc's input: this program and its options.
std::string cache_key() {
  std::string key = fmt::format("warploom {}\n", version());
  struct stat self {};
  if (stat("/proc/self/exe", &self) == 0) key += fmt::format("{} {}\n", self.st_size, self.st_mtime);
  for (const char* variable : {"WARPLOOM_REUSE_FLAGS", "WARPLOOM_ONLY", "WARPLOOM_EXCEPT"})
    key += fmt::format("{}={}\n", variable, set(variable) ? std::getenv(variable) : "");
  return key;
}

/// Keeps ccache from giving rewritten objects to a build without us, or the other way round.
void tell_ccache(const fs::path& key_file) {
  const std::string others =
      set("CCACHE_EXTRAFILES") ? std::string(std::getenv("CCACHE_EXTRAFILES")) + ":" : "";
  setenv("CCACHE_EXTRAFILES", (others + key_file.string()).c_str(), 1);
}

/// Asks ptxas about one rewritten file; one it does not take gets its original text back.
void prove(const RewrittenFiles& rewritten, const fs::path& ptx, const fs::path& ptxas) {
  const std::string text = read_file(ptx);
  const std::size_t target = text.find("sm_", text.find("\n.target"));
  const std::string arch = text.substr(target, text.find_first_of(" ,\t\r\n", target) - target);
  reuse::PtxasOptions options;
  options.executable = ptxas;
  options.arguments = {"--compile-only"};
  const std::optional<reuse::PtxasRun> run = reuse::run_ptxas(text, arch, options);
  if (run && run->ok()) return rewritten.mark_assembled(ptx);
  const std::string reason = "ptxas did not take the rewritten PTX: " + (run ? run->error : "it is absent");
  log(LogLevel::warning, fmt::format("{}: {}; the original is used", rewritten.source(ptx), reason));
  log_module(rewritten.source(ptx), "failed", reason);
  rewritten.restore(ptx);
}

/// nvcc's option for code that is linked with other device code, if it is given.
std::string separate_compilation(const Words& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "-dc" || word == "--device-c") return word;
    for (const std::string_view option : {"-rdc", "--relocatable-device-code"}) {
      if (!word.starts_with(option)) continue;
      const std::string value = word.size() > option.size() ? word.substr(option.size() + 1)
                                : i + 1 < words.size()      ? words[i + 1]
                                                            : "";
      if (value == "true") return word;
    }
  }
  return "";
}

/// What nvcc's sub-programs, which are us again, read.
void tell_whole_program(const Words& words) {
  if (const std::string option = separate_compilation(words); !option.empty())
    throw BadInput(
        fmt::format("wrap --whole-program: nvcc's {} makes code that is linked with other "
                    "modules, which may use its .visible arrays; leave out one of the two",
                    option));
  const std::string flags = set("WARPLOOM_REUSE_FLAGS") ? std::getenv("WARPLOOM_REUSE_FLAGS") : "";
  setenv("WARPLOOM_REUSE_FLAGS", (flags + (flags.empty() ? "" : " ") + "--whole-program").c_str(), 1);
}

int launch(Words words) {
  std::size_t at = 0;
  std::unique_ptr<ShadowToolkit> shadow;
  std::string why = why_untouched(words, at);
  if (why.empty()) {
    reuse_options_of_environment();  // throws now, not in the middle of nvcc
    try {
      shadow = std::make_unique<ShadowToolkit>(*find_program(words[at]), cache_key());
    } catch (const std::exception& error) {  // of Warploom or of std::filesystem
      why = error.what();
    }
  }
  if (!shadow) {
    log(LogLevel::info, fmt::format("passed through untouched: {}", why));
    replace_process(words);
  }
  const fs::path ptxas = find_program(words[at])->parent_path() / "ptxas";
  words[at] = shadow->nvcc();
  tell_ccache(shadow->cache_key_file());
  const int status = run_program(words);
  // With -ptx no ptxas ran.
  const RewrittenFiles rewritten(shadow->path());
  for (const fs::path& ptx : rewritten.not_assembled()) prove(rewritten, ptx, ptxas);
  if (status == 0)
    for (const auto& [source, kernels] : rewritten.kept())
      remark(fmt::format("{}: {} kernel{} rewritten", source, kernels, kernels == 1 ? "" : "s"));
  shadow.reset();
  return end_like(status);
}

// ---- nvcc's sub-programs

/// The argument after the last `option`, or empty.
std::string argument_of(const Words& words, std::string_view option) {
  for (std::size_t i = words.size(); i-- > 1;)
    if (words[i - 1] == option) return words[i];
  return "";
}

/// Rewrites a PTX file that cicc wrote.
void rewrite(const RewrittenFiles& rewritten, const RewrittenFiles::File& file) {
  reuse::Options options = reuse_options_of_environment();
  options.assemble = false;         // nvcc runs ptxas anyway
  options.launches_change = false;  // nor does a build change what host code passes
  const std::string text = read_file(file.ptx);
  const bool some_only = !options.only.empty();
  resolve_kernel_names(options, text, file.source);  // a name may be of another file's kernel
  if (some_only && options.only.empty()) return;
  const reuse::Result result = reuse::optimize(text, options, file.source);
  for (const reuse::KernelReport& kernel : result.report.kernels) {
    if (kernel.verdict == reuse::Verdict::unchanged) continue;
    log(kernel.verdict == reuse::Verdict::failed ? LogLevel::warning : LogLevel::info,
        fmt::format("{}, {}: {}: {}: {}", file.source, result.report.architecture, kernel.name,
                    name(kernel.verdict), kernel.reason));
  }
  log_kernels(file.source, result.report);
  if (!result.report.note.empty()) log_module(file.source, "untouched", result.report.note);
  if (result.text == text) return;
  RewrittenFiles::File counted = file;
  counted.kernels = static_cast<int>(
      std::ranges::count(result.report.kernels, reuse::Verdict::rewritten, &reuse::KernelReport::verdict));
  rewritten.replace(counted, text, result.text);
}

void leave(const std::string& source, std::string_view verdict, const std::string& reason) {
  log(verdict == "failed" ? LogLevel::warning : LogLevel::info,
      fmt::format("{}: passed through untouched: {}", source, reason));
  log_module(source, verdict, reason);
}

/// rewrite() in a process of its own: whatever becomes of that, the build goes on.
void rewrite_apart(const RewrittenFiles& rewritten, const RewrittenFiles::File& file) {
  const pid_t child = fork();
  if (child == 0) {
    try {
      rewrite(rewritten, file);
    } catch (const BadInput& error) {
      leave(file.source, "untouched", error.what());
    } catch (const std::exception& error) {
      leave(file.source, "failed", error.what());
    }
    _exit(0);
  }
  int status = 0;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (child < 0 || status != 0)
    leave(file.source, "failed",
          child < 0 ? "cannot fork" : fmt::format("signal {} ended it", status & 0x7f));
}

int cicc(const Words& words, const RewrittenFiles& rewritten, const fs::path& shadow) {
  const int status = run_program(words);
  if (status != 0) return end_like(status);
  if (!fs::exists(shadow)) return kDone;  // nvcc was ended meanwhile
  const std::string source = argument_of(words, "--orig_src_path_name");
  const RewrittenFiles::File file{argument_of(words, "-o"), source.empty() ? "<cuda>" : source};
  const bool lto =
      std::ranges::any_of(words, [](const std::string& w) { return w == "-lto" || w == "-olto"; });
  if (lto)  // the link takes NVVM's intermediate code and drops any PTX
    leave(file.source, "untouched", "link-time optimisation (-dlto): its code is made by the linker");
  else
    rewrite_apart(rewritten, file);
  return kDone;
}

int ptxas(const Words& words, const RewrittenFiles& rewritten, const fs::path& shadow) {
  const auto input =
      std::ranges::find_if(words, [&](const std::string& word) { return rewritten.contains(word); });
  if (input == words.end()) replace_process(words);
  // Held back, since a failure is ours and nobody's business if the original is taken.
  const std::string id = std::to_string(getpid());
  const Redirect held{shadow / (id + ".out"), shadow / (id + ".err")};
  const int status = run_program(words, held);
  if (status == 0) {
    rewritten.mark_assembled(*input);
    print(read_file(held.out));
    print_error(read_file(held.err));
    return kDone;
  }
  const std::string messages = read_file(held.err);
  rewritten.restore(*input);
  const int again = run_program(words);
  if (again == 0)
    leave(rewritten.source(*input), "failed",
          "ptxas did not take the rewritten PTX: " + messages.substr(0, messages.find('\n')));
  return end_like(again);
}

int fatbinary(const Words& words, const RewrittenFiles& rewritten) {
  const fs::path ptxas = fs::path(words[0]).parent_path() / "ptxas";
  for (const fs::path& ptx : rewritten.not_assembled())
    if (std::ranges::any_of(words,
                            [&](const std::string& word) { return word.ends_with(ptx.filename().string()); }))
      prove(rewritten, ptx, ptxas);
  replace_process(words);
}

int run(const Options& options, const Words& words) {
  if (!options.log.empty()) {
    print(summary(read_input(options.log), options.json));
    return kDone;
  }
  if (words.empty()) throw BadInput("wrap: no command given (see warploom wrap --help)");
  if (words.front().empty())
    throw BadInput(
        "wrap: the first word of the command is empty, as an empty variable makes it in a compiler launcher "
        "of "
        "CMake; leave it out: -DCMAKE_CUDA_COMPILER_LAUNCHER=\"warploom;wrap\"");
  const RewrittenFiles rewritten(options.shadow);
  if (options.tool == "cicc") return cicc(words, rewritten, options.shadow);
  if (options.tool == "ptxas") return ptxas(words, rewritten, options.shadow);
  if (options.tool == "fatbinary") return fatbinary(words, rewritten);
  if (options.whole_program) tell_whole_program(words);
  return launch(words);
}

std::function<int()> add(Command& command) {
  auto options = std::make_shared<Options>();
  command.pass_on();
  command.add("--summary LOG", &options->log,
              "Tell what a build did, from the file that WARPLOOM_LOG named; '-' for standard input");
  command.add("--whole-program", &options->whole_program,
              "No other module is linked with those that nvcc compiles: .visible shared arrays may share "
              "storage; not with -rdc=true");
  command.add_json(options->json);
  command.add("--tool", &options->tool).hidden();  // how nvcc's sub-programs call us
  command.add("--shadow", &options->shadow).hidden();
  return [options, &command] { return run(*options, command.rest()); };
}

}  // namespace

Verb wrap_verb() {
  return {
      "wrap", "Run nvcc and rewrite every kernel it compiles, as `warploom reuse` does",
      "warploom wrap nvcc -c k.cu -o k.o\n"
      "         cmake -DCMAKE_CUDA_COMPILER_LAUNCHER=\"warploom;wrap\" ..., or \"warploom;wrap;ccache\"\n"
      "Environment: WARPLOOM_REUSE_FLAGS: options of warploom reuse that choose the rewriting (--when always); "
      "WARPLOOM_ONLY, WARPLOOM_EXCEPT: kernels, separated by ';'; WARPLOOM_LOG: a file that gets a line of JSON "
      "a kernel; WARPLOOM_DISABLE=1: run nvcc untouched.\n"
      "Exit code: nvcc's; 2 if an option of ours is wrong.",
      add};
}

}  // namespace warploom::tool
