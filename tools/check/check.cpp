#include "warploom/reuse/check.hpp"

#include <fmt/format.h>

#include <charconv>
#include <memory>

#include "cli/verb.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/json.hpp"

namespace warploom::tool {
namespace {

struct Options {
  std::string input, output, block;
  bool strict = false, json = false;
};

/// "256", "16,16" or "8,8,4" threads; empty: not known.
std::vector<std::uint32_t> parse_block(std::string_view text) {
  std::vector<std::uint32_t> block;
  for (std::string_view rest = text; !text.empty();) {
    const std::size_t comma = rest.find(',');
    const std::string_view part = rest.substr(0, comma);
    std::uint32_t threads = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), threads);
    if (error != std::errc{} || end != part.data() + part.size() || threads < 1 || threads > 1024 ||
        block.size() == 3)
      throw BadInput(
          fmt::format("--block: '{}' is not X, X,Y or X,Y,Z in threads, each from 1 to 1024", text));
    block.push_back(threads);
    if (comma == rest.npos) break;
    rest.remove_prefix(comma + 1);
  }
  std::uint64_t product = 1;
  for (const std::uint32_t threads : block) product *= threads;
  if (product > 1024)
    throw BadInput(fmt::format("--block: '{}' are {} threads; a block has at most 1024", text, product));
  return block;
}

int run(const Options& options) {
  if (options.input == "-" && options.output == "-")
    throw BadInput("check: only one of INPUT and OUTPUT can be standard input; give the other a file name");
  reuse::CheckOptions with;
  with.strict = options.strict;
  with.block = parse_block(options.block);
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
    for (const std::string& line : result.problems) print(line + "\n");
    print(result.ok ? "ok\n"
                    : fmt::format("{} problem{}\n", result.problems.size(),
                                  result.problems.size() == 1 ? "" : "s"));
  }
  return result.ok ? kDone : kFinding;
}

std::function<int()> add(Command& command) {
  auto options = std::make_shared<Options>();
  command.add("INPUT", &options->input, "PTX before, '-' for standard input").required();
  command.add("OUTPUT", &options->output, "PTX after `warploom reuse`, '-' for standard input").required();
  command.add("--block", &options->block, "threads a block, X or X,Y or X,Y,Z, for kernels without .reqntid");
  command.add("--strict", &options->strict, "do not assume that no uninitialised shared memory is read");
  command.add_json(options->json);
  return [options] { return run(*options); };
}

}  // namespace

Verb check_verb() {
  return {"check", "prove that a rewritten PTX module computes what the original does",
          "warploom check k.ptx k.reuse.ptx --block 16,16", &add};
}

}  // namespace warploom::tool
