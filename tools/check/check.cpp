#include "warploom/reuse/check.hpp"

#include <fmt/format.h>

#include <memory>

#include "cli/verb.hpp"
#include "warploom/core/error.hpp"
#include "warploom/json/json.hpp"

namespace warploom::tool {
namespace {

struct Options {
  std::string input, output, block;
  bool strict = false, whole_program = false, assume_parts = false, json = false;
};

int run(const Options& options) {
  if (options.input == "-" && options.output == "-")
    throw BadInput("check: only one of INPUT and OUTPUT can be standard input; give the other a file name");
  reuse::CheckOptions with;
  with.strict = options.strict;
  with.whole_program = options.whole_program;
  with.assume_parts = options.assume_parts;
  with.input_file = input_name(options.input);
  with.output_file = input_name(options.output);
  if (!options.block.empty()) {
    const auto block = parse_block(options.block);
    with.block.assign(block.begin(), block.end());
  }
  const reuse::CheckResult result =
      reuse::check(read_input(options.input), read_input(options.output), {}, with);
  if (options.json) {
    print_json({{"input", input_name(options.input)},
                {"output", input_name(options.output)},
                {"ok", result.ok},
                {"problems", result.problems},
                {"certificate", result.certificate}});
  } else {
    for (const std::string& line : result.certificate) print(line + "\n");
    for (const std::string& line : result.problems) print(fmt::format("{}: {}\n", with.output_file, line));
    print(result.ok
              ? "ok\n"
              : fmt::format("{} is not proved to compute what {} does: {} problem{}\n", with.output_file,
                            with.input_file, result.problems.size(), result.problems.size() == 1 ? "" : "s"));
  }
  return result.ok ? kDone : kFinding;
}

std::function<int()> add(Command& command) {
  auto options = std::make_shared<Options>();
  command.add("INPUT", &options->input, "PTX before, '-' for standard input").required();
  command.add("OUTPUT", &options->output, "PTX after `warploom reuse`, '-' for standard input").required();
  command.add("--block X,Y,Z", &options->block,
              "Threads of a block, X or X,Y or X,Y,Z, for kernels without .reqntid");
  command.add("--strict", &options->strict, "Do not assume that no uninitialised shared memory is read");
  command.add("--whole-program", &options->whole_program,
              "No other module is linked with this one: .visible shared arrays may move");
  command.add(
      "--assume-parts", &options->assume_parts,
      "Accesses of a dynamic array keep to their part where that is not proved, as reuse --assume-parts");
  command.add_json(options->json);
  return [options] { return run(*options); };
}

}  // namespace

Verb check_verb() {
  return {"check", "Prove that a rewritten PTX module computes what the original does",
          "warploom check k.ptx k.reuse.ptx --block 16,16", &add};
}

}  // namespace warploom::tool
