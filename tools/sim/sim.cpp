#include "warploom/sim/sim.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <limits>
#include <memory>

#include "cli/output_files.hpp"
#include "cli/verb.hpp"
#include "report.hpp"
#include "warploom/core/demangle.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"
#include "warploom/core/npy.hpp"
#include "warploom/hw/occupancy.hpp"
#include "warploom/json/json.hpp"
#include "warploom/sim/element_type.hpp"
#include "warploom/sim/launch_text.hpp"

namespace warploom::tool {
namespace {

using sim::LaunchText;
using sim::Schedule;

struct Options {
  std::string path, launches, schedule = "in-order";
  LaunchText launch;               ///< of --kernel, --grid, --block, --cluster, --dynamic-shared and --arg
  std::vector<std::string> given;  ///< those of them that were
  std::vector<std::string> dumps;
  std::uint64_t seed = 1, max_instructions = sim::LaunchOptions{}.max_instructions;
  unsigned threads = 0;
  bool races = false, strict = false, json = false, force = false;
};

/// --dump: where the contents of which argument go.
struct Dump {
  std::size_t argument = 0;
  std::string path;
};

std::vector<Schedule> parse_schedules(std::string_view text) {
  const std::vector<Schedule> all{Schedule::in_order, Schedule::random, Schedule::adversarial};
  if (text == "all") return all;
  for (const Schedule schedule : all)
    if (text == name(schedule)) return {schedule};
  throw BadInput(fmt::format("--schedule: '{}' is none of in-order, random, adversarial and all", text));
}

/// "0 (f32, 1024 elements), 2 (i32, 64 elements)".
std::string buffers_text(const LaunchText& launch) {
  std::string text;
  for (std::size_t i = 0; i < launch.arguments.size(); ++i) {
    const sim::ArgumentText& argument = launch.arguments[i];
    if (!argument.buffer) continue;
    text += fmt::format("{}{} ({}, {})", text.empty() ? "" : ", ", i, argument.type,
                        fmt::format("{} elements", argument.count));
  }
  return text;
}

Dump parse_dump(const std::string& text, const LaunchText& launch) {
  const auto is_buffer = [&](std::size_t i) {
    return i < launch.arguments.size() && launch.arguments[i].buffer;
  };
  const std::size_t buffers = static_cast<std::size_t>(
      std::ranges::count_if(launch.arguments, [](const sim::ArgumentText& a) { return a.buffer; }));
  if (buffers == 0)
    throw BadInput(fmt::format("--dump {}: no --arg is a buffer (buf:TYPE:COUNT:FILL)", text));

  Dump dump{0, text};
  const std::size_t colon = text.find(':');
  if (colon != text.npos && parse_whole(text.substr(0, colon), dump.argument)) {
    dump.path = text.substr(colon + 1);
    if (!is_buffer(dump.argument))
      throw BadInput(fmt::format("--dump {}: argument {} is no buffer; buffers are {}", text, dump.argument,
                                 buffers_text(launch)));
  } else if (buffers == 1) {
    while (!is_buffer(dump.argument)) ++dump.argument;
  } else {
    throw BadInput(fmt::format("--dump {0}: the launch has {1} buffers; say which, as --dump N:{0}: {2}",
                               text, buffers, buffers_text(launch)));
  }
  if (dump.path == "-")
    throw BadInput(fmt::format("--dump {}: a dump cannot go to standard output, '-'; name a file", text));
  return dump;
}

/// The launches that are asked for, with the kernels' names in the PTX and the counts of all buffers.
std::vector<LaunchText> read_launches(const Options& options, const ptx::Module& module) {
  std::vector<LaunchText> launches;
  const auto has = [&](std::string_view option) { return std::ranges::count(options.given, option) > 0; };
  if (!options.launches.empty()) {
    if (!options.given.empty() || !options.dumps.empty())
      throw BadInput(fmt::format("{} and --launches do not go together: the file's lines say it",
                                 options.given.empty() ? "--dump" : options.given.front()));
    launches = sim::parse_launches(read_file(options.launches), options.launches);
    if (launches.empty())
      throw BadInput(
          fmt::format("{}: there is no launch in it (--kernel NAME --grid X,Y,Z --block X,Y,Z --arg ...)",
                      options.launches));
  } else {
    for (const char* needed : {"--grid", "--block"})
      if (!has(needed)) throw BadInput(fmt::format("{0} is missing: give {0} X, X,Y or X,Y,Z", needed));
    launches.push_back(options.launch);
  }
  for (LaunchText& launch : launches) {
    launch.kernel = kernel_name(module, launch.kernel);
    for (sim::ArgumentText& argument : launch.arguments)
      if (argument.buffer && argument.count == 0) argument.count = read_npy(argument.path).count();
  }
  return launches;
}

/// Shared memory that the module's target has not; the simulator runs it all the same.
std::string shared_remark(const ptx::Module& module, std::uint32_t static_bytes,
                          std::uint32_t dynamic_bytes) {
  const auto all = hw::architectures();
  const std::string target = fmt::format("sm_{}", module.sm);
  const auto at = std::ranges::find(all, target, &hw::Architecture::name);
  if (at == all.end()) return "";
  if (static_bytes > at->shared_per_block_static)
    return fmt::format("{} takes {} bytes of static shared memory a block, not {}; make them dynamic", target,
                       at->shared_per_block_static, static_bytes);
  const std::uint64_t both = std::uint64_t{static_bytes} + dynamic_bytes;
  return both <= at->shared_per_block_optin
             ? ""
             : fmt::format("{} launches no block with {} bytes of shared memory; it has {}", target, both,
                           at->shared_per_block_optin);
}

SimRun run_launch(sim::Machine& machine, const LaunchText& launch, const sim::Prepared& prepared,
                  const Options& options, Schedule schedule) {
  SimRun run;
  run.launch = &launch;
  run.options.grid = launch.grid;
  run.options.block = launch.block;
  run.options.cluster = launch.cluster;
  run.options.dynamic_shared = launch.dynamic_shared;
  run.options.schedule = schedule;
  run.options.seed = options.seed;
  run.options.races = options.races;
  run.options.strict_initialisation = options.strict;
  run.options.run.threads = options.threads;
  run.options.max_instructions = options.max_instructions;
  const auto begin = std::chrono::steady_clock::now();
  run.outcome = machine.launch(launch.kernel, prepared.arguments, run.options);
  run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  run.remark = shared_remark(machine.module(), run.outcome.static_shared, launch.dynamic_shared);
  return run;
}

std::vector<std::byte> contents_of(const sim::Machine& machine, sim::Address address, std::uint64_t bytes) {
  std::vector<std::byte> out(bytes);
  machine.copy_from_device(out, address);
  return out;
}

/// The buffers of a launch, and the module's variables, as they are now.
std::vector<SimMemory> memory_after(const sim::Machine& machine, const LaunchText& launch,
                                    const sim::Prepared& prepared) {
  std::vector<SimMemory> out;
  for (std::size_t i = 0; i < launch.arguments.size(); ++i)
    if (launch.arguments[i].buffer)
      out.push_back(
          {fmt::format("argument {}", i), launch.arguments[i].type,
           contents_of(machine, prepared.buffers[i],
                       launch.arguments[i].count * sim::find_element_type(launch.arguments[i].type)->bytes)});
  for (const ptx::Variable& v : machine.module().variables) {
    const bool own = v.space == ptx::Space::global && v.function == ptx::kNone &&
                     v.linkage != ptx::Linkage::external && v.bytes > 0;
    if (!own) continue;
    const sim::ElementType* type = sim::find_element_type(v.type);
    out.push_back({fmt::format("variable {}", demangle(v.name)),
                   type == nullptr ? "u8" : std::string(type->name),
                   contents_of(machine, machine.variable(v.name), v.bytes)});
  }
  return out;
}

void write_dumps(OutputFiles& files, const std::vector<Dump>& dumps, const LaunchText& launch,
                 const std::vector<SimMemory>& memory) {
  for (const Dump& dump : dumps) {
    const auto label = fmt::format("argument {}", dump.argument);
    const SimMemory& buffer = *std::ranges::find(memory, label, &SimMemory::label);
    files.write(dump.path, [&](const std::filesystem::path& staged) {
      write_npy(staged, {std::string(sim::find_element_type(buffer.type)->dtype),
                         {launch.arguments[dump.argument].count},
                         buffer.bytes});
    });
  }
  files.commit();
}

int run(const Options& options) {
  const std::vector<Schedule> schedules = parse_schedules(options.schedule);
  const std::string text = read_input(options.path);
  ptx::Module module = ptx::parse(text, input_name(options.path));
  const std::vector<LaunchText> launches = read_launches(options, module);
  std::vector<Dump> dumps;
  for (const std::string& dump : options.dumps) dumps.push_back(parse_dump(dump, launches.front()));
  OutputFiles files;  // what cannot be written is known before a long run
  for (const Dump& dump : dumps) files.add(dump.path, options.force);

  std::vector<SimRun> first;                     // of each launch, under the first schedule
  std::vector<std::vector<SimMemory>> memories;  // after it
  Json runs = Json::array();
  std::vector<std::string> differing;
  std::size_t findings = 0;
  for (const Schedule schedule : schedules) {
    // A machine of its own, since launches leave their marks on the module's variables.
    sim::Machine machine(schedule == schedules.front() ? std::move(module)
                                                       : ptx::parse(text, input_name(options.path)));
    for (std::size_t i = 0; i < launches.size(); ++i) {
      const sim::Prepared prepared = sim::prepare(machine, launches[i]);
      SimRun done = run_launch(machine, launches[i], prepared, options, schedule);
      std::vector<SimMemory> memory;
      if (schedules.size() > 1 || !dumps.empty()) memory = memory_after(machine, launches[i], prepared);
      for (const sim::Address buffer : prepared.buffers)
        if (buffer != 0) machine.free(buffer);
      findings += done.outcome.findings.size();
      if (options.json)
        runs.push_back(as_json(done));
      else
        print(as_text(done) + "\n");
      if (schedule == schedules.front()) {
        first.push_back(std::move(done));
        memories.push_back(std::move(memory));
      } else if (first[i].outcome.completed && done.outcome.completed) {
        std::ranges::move(differences(first[i], memories[i], done, memory), std::back_inserter(differing));
      }
    }
  }
  findings += differing.size();
  if (options.json) {
    print_json({{"file", input_name(options.path)},
                {"clean", findings == 0},
                {"runs", std::move(runs)},
                {"differences", differing}});
  } else {
    for (const std::string& line : differing) print(line + "\n");
    print(findings == 0 ? "clean\n" : fmt::format("{} finding{}\n", findings, findings == 1 ? "" : "s"));
  }
  write_dumps(files, dumps, launches.front(), memories.front());
  return findings == 0 ? kDone : kFinding;
}

/// An option whose value is a whole number from `least` to `most`.
template <typename Number>
void add_number(Command& command, const std::string& option, Number& value, Number least, Number most,
                const std::string& help) {
  command.add(
      option + " N",
      [=, &value](const std::string& text) {
        if (!parse_whole(text, value) || value < least || value > most)
          throw BadInput(
              fmt::format("{}: '{}' is not a whole number from {} to {}", option, text, least, most));
      },
      help);
}

std::function<int()> add(Command& command) {
  auto options = std::make_shared<Options>();
  command.add("FILE", &options->path, "PTX to run, '-' for standard input").required();
  command.group("Launch");
  const auto add_launch_option = [&](const std::string& option, const std::string& type,
                                     const std::string& help) -> Option& {
    return command.add(
        option + " " + type,
        [options, option](const std::string& value) {
          sim::set_launch_option(options->launch, option, value);
          options->given.push_back(option);
        },
        help);
  };
  add_launch_option(
      "--kernel", "NAME",
      "Kernel to run: its name in the PTX, or its C++ name or a part of its declaration [the only one]");
  add_launch_option("--grid", "X,Y,Z", "Blocks of the grid, X, X,Y or X,Y,Z");
  add_launch_option("--block", "X,Y,Z", "Threads of a block, at most 1024,1024,64 and 1024 in all");
  add_launch_option("--cluster", "X,Y,Z", "Blocks of a cluster, at most 16 [what the kernel requires, or 1]");
  add_launch_option("--dynamic-shared", "BYTES", "Dynamic shared memory [bytes a block] [0]");
  add_launch_option(
      "--arg", "ARG",
      "The kernel's next argument: TYPE:VALUE (i32:64), buf:TYPE:COUNT:FILL or bytes:COUNT:HEX; TYPE "
      "is i8 to i64, u8 to u64, f16, bf16, f32 or f64; FILL is zero, ones, index, random, "
      "random(LOW,HIGH), random(LOW,HIGH,SEED) or FILE.npy; repeatable")
      .repeated();
  command.add(
      "--launches FILE.sim", &options->launches,
      "Instead of the six above: a file with a launch a line, in the same options; they run in order");
  command.group("Run");
  command.add("--race", &options->races,
              "Look for races in shared and global memory, too; this takes longer");
  command.add(
      "--strict", &options->strict,
      "A load of shared memory that nobody wrote is a finding by itself, not only where something comes of it");
  command
      .add("--schedule SCHEDULE", &options->schedule,
           "Who runs next: in-order, random, adversarial (another warp at every access to memory), or all: "
           "one after the other, and compare what they leave in memory [in-order]")
      .suggest({"in-order", "random", "adversarial", "all"});
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  add_number(command, "--seed", options->seed, std::uint64_t{0}, most,
             "Of random and adversarial schedules, and of what shared memory holds at first [1]");
  add_number(
      command, "--max-instructions", options->max_instructions, std::uint64_t{1}, most,
      fmt::format("Instructions of all threads together, more is a finding [{}]", options->max_instructions));
  command.group("Output");
  command
      .add(
          "--dump [N:]FILE.npy", &options->dumps,
          "Write a buffer as it is after the launch: FILE.npy of the only one, N:FILE.npy of argument N, from 0; repeatable")
      .repeated();
  command.add_json(options->json);
  command.add_force(options->force);
  command.add_threads(options->threads);
  return [options] { return run(*options); };
}

}  // namespace

Verb sim_verb() {
  return {
      "sim", "Run a kernel of a PTX file on the CPU and report its races and other faults",
      "warploom sim k.ptx --kernel scale --grid 4 --block 256 --arg buf:f32:1024:random --arg i32:1024 --race --dump out.npy\n"
      "No GPU is needed. Reported are races, accesses out of bounds, reads of uninitialised shared memory, and "
      "barriers that not all threads reach.\n"
      "Exit codes: 0 clean, 1 findings, 2 bad usage or input.",
      &add};
}

}  // namespace warploom::tool
