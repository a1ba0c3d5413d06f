#include "sim/kernel_cases.hpp"

#include <algorithm>
#include <cctype>
#include <sstream>

#include "warploom/core/file.hpp"

namespace warploom::sim {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

/// What follows `# WORD:` in a line, or nothing.
std::string_view remark(std::string_view line, std::string_view word) {
  if (!line.starts_with("# ") || !line.substr(2).starts_with(word)) return {};
  line.remove_prefix(2 + word.size());
  return line.starts_with(":") ? trimmed(line.substr(1)) : std::string_view{};
}

}  // namespace

KernelFile parse_kernel_file(std::string_view text, const std::string& file) {
  KernelFile result;
  std::vector<LaunchText> launches = parse_launches(text, file);
  KernelCase next;
  std::string part;
  bool goes_on = false;
  for (std::size_t at = 0, launch = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = trimmed(text.substr(at, end - at));
    at = end + 1;
    const auto read = [&line](std::string_view word, auto use) {
      if (const std::string_view value = remark(line, word); !value.empty()) use(value);
    };
    read("not run", [&](auto value) { result.not_run = value; });
    read("part", [&](auto value) { part = value; });
    read("oracle", [&](auto value) { next.oracle = value; });
    read("approximate", [&](auto value) { next.approximate = parse_tolerance(value); });
    read("contracted", [&](auto value) { next.contracted = parse_tolerance(value); });
    read("order-dependent", [&](auto value) { next.order_dependent = parse_tolerance(value); });
    if (line.empty() || line.starts_with("#")) continue;
    if (!goes_on) {
      next.launch = std::move(launches.at(launch++));
      next.part = part;
      result.cases.push_back(std::move(next));
      next = {};
    }
    goes_on = line.ends_with('\\');
  }
  return result;
}

KernelFile read_kernel_file(const std::filesystem::path& path) {
  return parse_kernel_file(read_file(path), path.string());
}

std::vector<KernelModule> find_kernel_modules(const std::filesystem::path& directory) {
  std::vector<KernelModule> modules;
  if (!std::filesystem::exists(directory / "modules")) return modules;
  std::istringstream lines(read_file(directory / "modules"));
  for (std::string line; std::getline(lines, line);) {
    KernelModule module;
    std::istringstream fields(line);
    for (std::string* field : {&module.architecture, &module.part, &module.name})
      std::getline(fields, *field, ':');
    const std::string part = module.part.empty() ? "" : "." + module.part;
    module.ptx = directory / (module.name + part + ".sm_" + module.architecture + ".ptx");
    module.sim = directory / (module.name + ".sim");
    modules.push_back(std::move(module));
  }
  return modules;
}

std::string test_name(const KernelModule& module) {
  std::string name =
      module.name + (module.part.empty() ? "" : "_" + module.part) + "_sm_" + module.architecture;
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return name;
}

Machine load(const KernelModule& module) {
  return Machine(ptx::parse(read_file(module.ptx), module.ptx.filename().string()));
}

std::vector<KernelCase> read_cases(const KernelModule& module, const Machine& machine) {
  std::vector<KernelCase> cases = read_kernel_file(module.sim).cases;
  std::erase_if(cases, [&](const KernelCase& kernel) { return kernel.part != module.part; });
  for (KernelCase& kernel : cases) {
    const std::vector<std::string> found = ptx::kernels_named(machine.module(), kernel.launch.kernel);
    if (found.size() == 1) kernel.launch.kernel = found.front();
  }
  return cases;
}

KernelRun run_case(Machine& machine, const KernelCase& kernel, Schedule schedule, bool races) {
  LaunchOptions options;
  options.grid = kernel.launch.grid;
  options.block = kernel.launch.block;
  options.cluster = kernel.launch.cluster;
  options.dynamic_shared = kernel.launch.dynamic_shared;
  options.schedule = schedule;
  options.races = races;
  const Prepared prepared = prepare(machine, kernel.launch);
  KernelRun run{machine.launch(kernel.launch.kernel, prepared.arguments, options), {}};
  for (std::size_t i = 0; i < prepared.buffers.size(); ++i) {
    std::vector<std::byte>& contents = run.buffers.emplace_back();
    if (prepared.buffers[i] == 0) continue;
    contents.resize(kernel.launch.arguments[i].bytes().size());
    machine.copy_from_device(contents, prepared.buffers[i]);
    machine.free(prepared.buffers[i]);
  }
  return run;
}

}  // namespace warploom::sim
