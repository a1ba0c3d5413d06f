#include "warploom/reuse/ptxas.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <charconv>

#include "warploom/core/process.hpp"

namespace warploom::reuse {
namespace {

/// The lines that say what is wrong, under the text's own name.
std::string complaint(std::string_view output, const std::string& file) {
  constexpr std::string_view kAlias = "/dev/stdin";
  constexpr std::size_t kMaxBytes = 2000;
  std::string out;
  for (std::size_t at = 0; at < output.size() && out.size() < kMaxBytes;) {
    const std::size_t end = std::min(output.find('\n', at), output.size());
    std::string line(output.substr(at, std::min(end - at, kMaxBytes)));
    at = end + 1;
    if (line.empty() || line.starts_with("ptxas info") || line.starts_with("    ")) continue;
    if (const std::size_t i = line.find(kAlias); i != line.npos) line.replace(i, kAlias.size(), file);
    out += (out.empty() ? "" : "\n") + line;
  }
  return out;
}

/// The number that stands before `what` in "Used 4 registers, used 0 barriers, 52 bytes smem".
template <typename Integer>
bool number_before(std::string_view line, std::string_view what, Integer& value) {
  const std::size_t end = line.find(what);
  if (end == line.npos || end == 0) return false;
  const std::size_t begin = line.find_last_not_of("0123456789", end - 1) + 1;
  const auto [rest, error] = std::from_chars(line.data() + begin, line.data() + end, value);
  return error == std::errc{} && rest == line.data() + end;
}

}  // namespace

std::optional<std::filesystem::path> find_ptxas() { return find_cuda_tool("ptxas"); }

std::map<std::string, PtxasUsage, std::less<>> parse_ptxas_output(std::string_view output) {
  std::map<std::string, PtxasUsage, std::less<>> kernels;
  std::string entry;      // of the last "Compiling entry function" line
  bool of_entry = false;  // the last "Function properties" line named it, not a function it calls
  PtxasUsage usage;
  while (!output.empty()) {
    const std::size_t end = std::min(output.find('\n'), output.size());
    const std::string_view line = output.substr(0, end);
    output.remove_prefix(std::min(end + 1, output.size()));
    constexpr std::string_view kCompiling = "Compiling entry function '",
                               kProperties = "Function properties for ";
    if (const std::size_t at = line.find(kCompiling); at != line.npos) {
      const std::size_t begin = at + kCompiling.size();
      entry = line.substr(begin, std::min(line.find('\'', begin), line.size()) - begin);
      usage = {};
      of_entry = false;
    } else if (const std::size_t named = line.find(kProperties); named != line.npos) {
      of_entry = line.substr(named + kProperties.size()) == entry;
    } else if (of_entry && number_before(line, " bytes stack frame", usage.stack)) {
      number_before(line, " bytes spill stores", usage.spill_stores);
      number_before(line, " bytes spill loads", usage.spill_loads);
    } else if (!entry.empty() && number_before(line, " registers", usage.registers)) {
      number_before(line, " bytes smem", usage.shared);
      kernels[entry] = usage;
      entry.clear();
    }
  }
  return kernels;
}

std::optional<PtxasRun> run_ptxas(std::string_view text, std::string_view arch, const PtxasOptions& options) {
  const auto program = options.executable.empty() ? find_ptxas() : std::optional(options.executable);
  if (!program) return std::nullopt;

  PtxasRun run;
  const auto failed = [&](std::string why) {
    run.error = fmt::format("{}: {} -arch={}: {}", options.file, program->string(), arch, why);
    return run;
  };
  // Read through /dev/stdin, and no output file: nothing to clean up, however we end.
  Words words{program->string(), "--verbose", fmt::format("-arch={}", arch)};
  words.insert(words.end(), options.arguments.begin(), options.arguments.end());
  words.insert(words.end(), {"/dev/stdin", "-o", "/dev/null"});
  const auto [output, status, failure] = ask_program(words, options.time_limit, text);
  if (!failure.empty()) return failed(failure);
  if (WIFSIGNALED(status)) return failed(fmt::format("ended by signal {}", WTERMSIG(status)));
  if (WEXITSTATUS(status) != 0)
    return failed(fmt::format("exit code {}: {}", WEXITSTATUS(status), complaint(output, options.file)));
  run.kernels = parse_ptxas_output(output);
  // With --verbose even a module without kernels is answered by a line on its global memory.
  if (run.kernels.empty() && output.find("ptxas info") == output.npos)
    return failed(fmt::format("its output is not understood: {}", complaint(output, options.file)));
  return run;
}

}  // namespace warploom::reuse
