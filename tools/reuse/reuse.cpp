#include "warploom/reuse/reuse.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/wait.h>

#include <algorithm>
#include <memory>

#include "cli/output_files.hpp"
#include "cli/verb.hpp"
#include "options.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"
#include "warploom/core/log.hpp"
#include "warploom/core/process.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/json/json.hpp"

namespace warploom::tool {
namespace {

struct Options {
  std::shared_ptr<reuse::Options> rewriting = std::make_shared<reuse::Options>();
  std::string path, output, html, launch_header, assumption_test, object;
  std::vector<std::string> nvcc_options, dump_after;
  bool list_passes = false, advice = false, json = false, force = false;
};

bool begins_with_any(const Words& words, std::initializer_list<std::string_view> prefixes) {
  return std::ranges::any_of(words, [&](const std::string& word) {
    return std::ranges::any_of(prefixes, [&](std::string_view prefix) { return word.starts_with(prefix); });
  });
}

/// What nvcc makes of a .cu file.
std::string compile(const Options& options) {
  const std::optional<std::filesystem::path> nvcc = find_cuda_tool("nvcc");
  if (!nvcc)
    throw BadInput(
        fmt::format("{}: CUDA source needs nvcc, which is neither in $PATH nor in $CUDA_HOME/bin nor in "
                    "/usr/local/cuda/bin; install the CUDA toolkit or give PTX instead",
                    options.path));
  const TemporaryDirectory directory;
  const std::filesystem::path ptx = directory.path() / "k.ptx";
  Words words{nvcc->string(), "-ptx", "-o", ptx.string()};
  // For names of files and lines in the report; -G has its own.
  if (!begins_with_any(options.nvcc_options, {"-G", "--device-debug", "-lineinfo", "--generate-line-info"}))
    words.push_back("-lineinfo");
  if (!options.rewriting->architecture.empty() &&
      !begins_with_any(options.nvcc_options, {"-arch", "--gpu-architecture", "-gencode", "--generate-code"}))
    words.push_back("-arch=" + options.rewriting->architecture);
  words.insert(words.end(), options.nvcc_options.begin(), options.nvcc_options.end());
  words.push_back(options.path);
  const int status = run_program(words);
  check_interrupt();  // nvcc ends with a code of its own
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGINT) throw Interrupted();
  if (status != 0 && !find_program("gcc"))
    throw BadInput(
        fmt::format("{}: {} needs the C++ compiler gcc, which is not in $PATH; install it (Debian: g++)",
                    options.path, nvcc->string()));
  if (status != 0)
    throw BadInput(fmt::format("{}: {} failed; it was called as {}", options.path, nvcc->string(),
                               fmt::join(words, " ")));
  return read_file(ptx);
}

std::string read_ptx(const Options& options) {
  if (options.path.ends_with(".cu")) {
    read_file(options.path);  // our message if it cannot be read
    return compile(options);
  }
  if (!options.nvcc_options.empty())
    throw BadInput(fmt::format("'{}': options after the file are nvcc's and need a .cu file; '{}' is none",
                               options.nvcc_options.front(), options.path));
  return read_input(options.path);
}

std::function<void(std::string_view, std::string_view, const std::string&)> dumper(const Options& options) {
  if (options.dump_after.empty()) return nullptr;
  std::vector<std::string> names;
  for (const std::string_view pass : reuse::passes()) names.emplace_back(pass);
  for (const std::string& asked : options.dump_after) {
    if (asked == "all" || std::ranges::find(names, asked) != names.end()) continue;
    const std::string guess = nearest(asked, names);
    throw BadInput(fmt::format("--dump-after: '{}' is not a pass{}; they are {} and all", asked,
                               guess.empty() ? "" : fmt::format("; did you mean {}?", guess),
                               fmt::join(names, ", ")));
  }
  const bool to_error = options.output == "-" || options.json;
  return [wanted = options.dump_after, to_error](std::string_view kernel, std::string_view pass,
                                                 const std::string& text) {
    const auto is = [&](const std::string& name) { return name == pass || name == "all"; };
    if (std::ranges::none_of(wanted, is)) return;
    const std::string dump = fmt::format("== {}: after {}\n{}\n", kernel, pass, text);
    if (to_error)
      print_error(dump);
    else
      print(dump);
  };
}

reuse::Result rewrite(const Options& options, std::string ptx) {
  const std::string file = input_name(options.path);
  if (rewriting_disabled()) {
    reuse::Result result;
    result.report.file = file;
    result.report.note = "WARPLOOM_DISABLE is set: nothing is rewritten";
    result.text = std::move(ptx);
    log(LogLevel::info, result.report.note);
    return result;
  }
  reuse::Options with = *options.rewriting;
  with.dump = dumper(options);
  with.what_if = options.advice || options.json;
  if (const std::vector<std::string> unknown = resolve_kernel_names(with, ptx, file); !unknown.empty())
    throw BadInput(fmt::format(
        "{}: no kernel is called '{}' or has that in its C++ declaration (warploom occupancy lists the kernels)",
        file, unknown.front()));
  return reuse::optimize(std::move(ptx), with, file);
}

std::string advice(const reuse::Report& report) {
  std::string text;
  for (const reuse::KernelReport& kernel : report.kernels) text += reuse::advice(kernel);
  return text.empty() ? fmt::format("{}: nothing to change\n", report.file) : text;
}

std::string report_text(const Options& options, const reuse::Report& report) {
  if (options.json) return json_text(Json::parse(reuse::to_json(report)));
  if (!options.object.empty()) return reuse::explain(report, options.object);
  if (options.advice) return advice(report);
  return reuse::to_text(report, log_enabled(LogLevel::info));
}

int run(const Options& options) {
  if (options.list_passes) {
    for (const std::string_view pass : reuse::passes()) print(fmt::format("{}\n", pass));
    return kDone;
  }
  if (options.path.empty()) throw BadInput("reuse: no file given (see warploom reuse --help)");
  if (options.output == "-" && options.json)
    throw BadInput("--json and -o - both want standard output; give -o a file");
  OutputFiles files;
  for (const std::string& path :
       {options.html, options.launch_header, options.assumption_test, options.output})
    if (!path.empty() && path != "-") files.add(path, options.force);
  const std::string input = read_ptx(options);
  const reuse::Result result = rewrite(options, input);

  const std::string report =
      report_text(options, result.report);  // before any file: an unknown OBJECT throws
  const auto write = [&](const std::string& path, const auto& content) {
    if (path == "-") return print(content());
    if (!path.empty()) files.write(path, content());
  };
  write(options.html, [&] { return reuse::to_html(result.report); });
  write(options.launch_header, [&] { return reuse::launch_header(result.report); });
  // Where nothing was assumed there is nothing to test, and the input is as good.
  write(options.assumption_test,
        [&] { return result.assumption_test.empty() ? input : result.assumption_test; });
  write(options.output, [&] { return result.text; });
  files.commit();
  if (options.output == "-")
    print_error(report);
  else
    print(report.empty() || report.back() == '\n' ? report : report + "\n");
  const bool failed = std::ranges::any_of(result.report.kernels, [](const reuse::KernelReport& kernel) {
    return kernel.verdict == reuse::Verdict::failed;
  });
  return failed ? kFinding : kDone;
}

std::function<int()> add(Command& command) {
  auto options = std::make_shared<Options>();
  command.add("FILE", &options->path,
              "PTX to rewrite, '-' for standard input; a .cu file goes through nvcc first");
  command.add("NVCC_OPTIONS", &options->nvcc_options, "After --: options for nvcc, if FILE is a .cu file");
  command.group("Output");
  command.add(
      "-o,--output FILE", &options->output,
      "Write the rewritten PTX here, '-' for standard output (the report then goes to standard error); without it there is only the report");
  command.add("--launch-header FILE", &options->launch_header,
              "Write a C++ header that says how many dynamic bytes a launch of each rewritten kernel passes "
              "now: NAME_smem_bytes()");
  command.add(
      "--assumption-test FILE", &options->assumption_test,
      "Write the input with assertions of what --assume-parts assumed; run it with warploom sim, or on a "
      "GPU: it names an access that leaves its part");
  add_reuse_options(command, options->rewriting);
  command.group("Report");
  command
      .add("--dump-after PASS", &options->dump_after,
           "Print what a pass found, or every pass with all; repeatable")
      .repeated();
  command.add("--list-passes", &options->list_passes, "Print the names of the passes, in order, and stop");
  command.add(
      "--explain OBJECT", &options->object,
      "Instead of the report: all that is known of one shared-memory object, and why it shares or not");
  command.add("--advice", &options->advice,
              "Instead of the report: what to change in the source to get the same");
  command.add("--html FILE", &options->html,
              "Write the report as one self-contained page, with the memory map");
  command.add_json(options->json);
  command.add_force(options->force);
  return [options] { return run(*options); };
}

}  // namespace

Verb reuse_verb() {
  return {
      "reuse", "Let shared-memory arrays whose lives do not meet share storage, in the PTX of any kernel",
      "warploom reuse k.ptx -o out.ptx --block 16,16 --html map.html\n"
      "         warploom reuse k.cu --when always --arch sm_90 -- -std=c++17 -Iinclude\n"
      "Exit codes: 0 done, also if kernels are left unchanged on purpose; 1 the independent check or ptxas did "
      "not accept a rewritten kernel, which is kept as it was; 2 bad usage or input.\n"
      "Environment: WARPLOOM_DISABLE=1 passes everything through unchanged.",
      add};
}

}  // namespace warploom::tool
