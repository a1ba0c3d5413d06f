#include "options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "cli/byte_size.hpp"
#include "cli/verb.hpp"
#include "warploom/core/error.hpp"
#include "warploom/hw/occupancy.hpp"

namespace warploom::tool {
namespace {

using tile::Step;

constexpr std::int64_t kMostStrip = std::int64_t{1} << 30;  // iterators are int
constexpr std::int64_t kMostSkew = 1000;

struct Texts {
  TileOptions options;
  std::vector<std::string> macros, sizes, footprint;
  std::vector<std::string> permute, tile, strip_mine, skew, jam, time_tile;
  const Option *permute_option = nullptr, *tile_option = nullptr, *strip_option = nullptr,
               *skew_option = nullptr, *jam_option = nullptr, *time_option = nullptr;
  std::string memory_cap;
  double time_limit = 0;  ///< [s]
  bool keep_order = false;
  std::string gpu_time_tiles = "best";
};

[[noreturn]] void refuse(std::string_view option, const std::string& text, std::string_view expected) {
  throw BadInput(fmt::format("{} {}: expected {}", option, text, expected));
}

std::int64_t whole(std::string_view option, const std::string& text, std::string_view number,
                   std::string_view expected) {
  std::int64_t value = 0;
  if (!parse_whole(number, value)) refuse(option, text, expected);
  return value;
}

/// "N=1024" -> {N, 1024}
std::pair<std::string, std::string> assignment(std::string_view option, const std::string& text,
                                               std::string_view expected, std::string_view part) {
  const std::size_t equals = part.find('=');
  if (equals == part.npos || equals == 0 || equals + 1 == part.size()) refuse(option, text, expected);
  return {std::string(part.substr(0, equals)), std::string(part.substr(equals + 1))};
}

tile::SizeRange parse_size(const std::string& text) {
  constexpr std::string_view expected =
      "NAME=VALUE or NAME=LEAST..MOST with whole numbers from 0 to 2^63 - 1, as N=1024 or N=1..4096";
  const auto [name, value] = assignment("--size", text, expected, text);
  const std::size_t dots = value.find("..");
  if (dots == value.npos) {
    const std::int64_t number = whole("--size", text, value, expected);
    if (number < 0) refuse("--size", text, expected);
    return {name, number, number};
  }
  tile::SizeRange range{name, {}, {}};
  if (dots > 0) range.least = whole("--size", text, value.substr(0, dots), expected);
  if (dots + 2 < value.size()) range.most = whole("--size", text, value.substr(dots + 2), expected);
  if (range.least.value_or(0) < 0 || range.most.value_or(0) < 0) refuse("--size", text, expected);
  if (range.least && range.most && *range.least > *range.most)
    refuse("--size", text, "the lesser size first");
  return range;
}

/// The "S1:" before what a step says: its statement.
std::vector<int> take_statement(std::string_view option, const std::string& text, std::string& rest) {
  const std::size_t colon = rest.find(':');
  if (colon == rest.npos) return {};
  int statement = 0;
  if (rest[0] != 'S' || !parse_whole(std::string_view(rest).substr(1, colon - 1), statement))
    refuse(option, text, "a statement before the colon, as S1");
  rest = rest.substr(colon + 1);
  return {statement};
}

std::vector<std::pair<std::string, std::int64_t>> parse_strips(std::string_view option,
                                                               const std::string& text,
                                                               const std::string& rest) {
  constexpr std::string_view expected = "LOOP=SIZE,... with sizes from 1 to 2^30, as i=32,j=64";
  std::vector<std::pair<std::string, std::int64_t>> strips;
  for (const std::string& part : split(rest, ',')) {
    const auto [loop, size] = assignment(option, text, expected, part);
    strips.emplace_back(loop, whole(option, text, size, expected));
    if (strips.back().second < 1 || strips.back().second > kMostStrip) refuse(option, text, expected);
  }
  return strips;
}

Step parse_permute(const std::string& text) {
  std::string rest = text;
  tile::Permute step;
  step.statements = take_statement("--permute", text, rest);
  step.order = split(rest, ',');
  if (std::ranges::count(step.order, std::string()) || step.order.size() < 2)
    refuse("--permute", text, "at least two loops, as k,i,j");
  if (std::set<std::string>(step.order.begin(), step.order.end()).size() < step.order.size())
    refuse("--permute", text, "each loop once");
  return step;
}

Step parse_tile(const std::string& text) {
  std::string rest = text;
  tile::Tile step;
  step.statements = take_statement("--tile", text, rest);
  step.sizes = parse_strips("--tile", text, rest);
  return step;
}

Step parse_strip_mine(const std::string& text) {
  std::string rest = text;
  tile::StripMine step;
  step.statements = take_statement("--strip-mine", text, rest);
  const auto strips = parse_strips("--strip-mine", text, rest);
  if (strips.size() != 1) refuse("--strip-mine", text, "one LOOP=SIZE, as i=32; --tile takes several");
  std::tie(step.loop, step.size) = strips.front();
  return step;
}

/// "j=2*i": j runs 2 * i later.
Step parse_skew(const std::string& text) {
  constexpr std::string_view expected =
      "LOOP=FACTOR*LOOP, two loops and a factor from -1000 to 1000, not 0, as j=1*i";
  std::string rest = text;
  tile::Skew step;
  step.statements = take_statement("--skew", text, rest);
  const auto [loop, by] = assignment("--skew", text, expected, rest);
  const std::size_t star = by.find('*');
  if (star == by.npos || star + 1 == by.size()) refuse("--skew", text, expected);
  step.loop = loop;
  step.factor = whole("--skew", text, by.substr(0, star), expected);
  step.by = by.substr(star + 1);
  if (step.by == step.loop || step.factor == 0 || step.factor < -kMostSkew || step.factor > kMostSkew)
    refuse("--skew", text, expected);
  return step;
}

Step parse_jam(const std::string& text) {
  std::string rest = text;
  tile::Jam step;
  step.statements = take_statement("--jam", text, rest);
  step.sizes = parse_strips("--jam", text, rest);
  return step;
}

/// "t=16,32,256"
Step parse_time_tile(const std::string& text) {
  constexpr std::string_view expected =
      "LOOP=SIZE,SIZE,... with sizes from 1 to 2^30, of the loop and of each dimension, as t=16,32,256";
  std::string rest = text;
  tile::TimeTile step;
  step.statements = take_statement("--time-tile", text, rest);
  const auto [loop, sizes] = assignment("--time-tile", text, expected, rest);
  step.loop = loop;
  for (const std::string& part : split(sizes, ',')) {
    step.sizes.push_back(whole("--time-tile", text, part, expected));
    if (step.sizes.back() < 1 || step.sizes.back() > kMostStrip) refuse("--time-tile", text, expected);
  }
  return step;
}

/// Steps of these options, in the order in which they were given.
std::vector<Step> steps_in_order(const Command& command, const Texts& texts) {
  std::vector<Step> steps;
  std::size_t permutes = 0, tiles = 0, strips = 0, skews = 0, jams = 0, time_tiles = 0;
  for (const Option* option : command.given()) {
    if (option == texts.permute_option) steps.push_back(parse_permute(texts.permute[permutes++]));
    if (option == texts.tile_option) steps.push_back(parse_tile(texts.tile[tiles++]));
    if (option == texts.strip_option) steps.push_back(parse_strip_mine(texts.strip_mine[strips++]));
    if (option == texts.skew_option) steps.push_back(parse_skew(texts.skew[skews++]));
    if (option == texts.jam_option) steps.push_back(parse_jam(texts.jam[jams++]));
    if (option == texts.time_option) steps.push_back(parse_time_tile(texts.time_tile[time_tiles++]));
  }
  return steps;
}

/// Options that would change nothing of what is asked for: most likely something is missing.
void refuse_unheard(const Command& command, const TileOptions& options) {
  const auto check = [&](bool heard, const char* subject, const char* add,
                         std::initializer_list<const char*> names) {
    for (const char* name : names)
      if (!heard && command.was_given(name))
        throw BadInput(fmt::format("{} speaks of {}, which is not asked for: add {}", name, subject, add));
  };
  check(options.explains() || options.emits_cuda(), "kernels for a GPU",
        "--cuda FILE, --html FILE, --verify or --explain",
        {"--arch", "--memory-cap", "--keep-order", "--gpu-time-tiles"});
  check(options.verify, "a verification", "--verify", {"--time-limit"});
  check(options.explains(), "an explanation", "--explain, --json or --html FILE", {"--footprint"});
  check(options.explains() || !options.c.empty() || options.in_place, "the C",
        "--c FILE, --in-place, --html FILE or --explain", {"--auto"});
  check(!options.steps.empty() || !options.c.empty() || options.in_place || !options.html.empty(),
        "the C or steps", "--c FILE, --in-place, --html FILE or steps", {"--reassociate"});
  check(!options.c.empty(), "functions of C", "--c FILE", {"--check-entry"});
}

TileOptions read(const Command& command, const Texts& texts) {
  TileOptions options = texts.options;
  for (const auto& [name, text] :
       {std::pair<const char*, const std::string&>{"--function", options.source.function},
        {"--c", options.c},
        {"--cuda", options.cuda},
        {"--html", options.html},
        {"--clang", options.clang.compiler},
        {"-p", options.database},
        {"--arch", options.gpu.architecture},
        {"--memory-cap", texts.memory_cap}})
    if (command.was_given(name) && text.empty())
      throw BadInput(fmt::format("{}: the text behind it is empty", name));
  for (const std::string& macro : texts.macros) {
    const std::size_t equals = macro.find('=');
    if (equals == 0 || macro.empty()) refuse("-D", macro, "NAME or NAME=TEXT, as N=1024");
    options.source.macros[macro.substr(0, equals)] = equals == macro.npos ? "1" : macro.substr(equals + 1);
  }
  for (const std::string& text : texts.sizes) {
    tile::SizeRange size = parse_size(text);
    for (const tile::SizeRange& other : options.sizes)
      if (other.name == size.name)
        throw BadInput(fmt::format("--size {}=... is given twice; give it once", size.name));
    options.sizes.push_back(std::move(size));
  }
  for (const std::string& text : texts.footprint)
    for (const auto& [loop, extent] : parse_strips("--footprint", text, text))
      if (!options.footprint.emplace(loop, extent).second)
        throw BadInput(fmt::format("--footprint {}=... is given twice; give it once", loop));
  if (!options.clang.flags.empty() && !options.clang.flags[0].starts_with('-'))
    throw BadInput(fmt::format("{}: one FILE is read at a time; flags for Clang stand behind --",
                               options.clang.flags[0]));
  const bool for_clang = !options.clang.flags.empty() || !options.database.empty();
  if (for_clang && options.front_end == "own")
    throw BadInput(
        "--front-end own reads without a compiler's flags: leave out -p and what stands behind --");
  if (for_clang) options.front_end = "clang";
  options.steps = steps_in_order(command, texts);
  if (!texts.memory_cap.empty()) options.gpu.memory_cap = parse_byte_size("--memory-cap", texts.memory_cap);
  options.gpu.reorder_reductions = !texts.keep_order;
  for (const auto& [name, tiles] : {std::pair{"registers", tile::TimeTiles::registers},
                                    {"shared", tile::TimeTiles::shared},
                                    {"none", tile::TimeTiles::none}})
    if (texts.gpu_time_tiles == name) options.gpu.time_tiles = tiles;
  if (command.was_given("--time-limit")) {
    constexpr double kDay = 24.0 * 3600;
    if (!(texts.time_limit > 0 && texts.time_limit <= kDay))
      throw BadInput(
          fmt::format("--time-limit {}: expected seconds above 0, at most {}", texts.time_limit, kDay));
    options.time_limit =
        std::chrono::milliseconds(std::max<std::int64_t>(1, std::llround(1000 * texts.time_limit)));
  }
  hw::architecture(options.gpu.architecture);  // refuses those that are unknown
  const auto outputs = {options.c, options.cuda, options.html};
  const auto to_standard_output = std::ranges::count(outputs, "-");
  if (to_standard_output + (options.json ? 1 : 0) > 1)
    throw BadInput(
        "--json, --c -, --cuda - and --html - write to standard output: only one of them can; name files");
  if (options.automatic && !options.steps.empty())
    throw BadInput(
        "--auto chooses the steps itself: leave out --permute, --tile, --strip-mine, --skew, --jam and --time-tile");
  if (options.in_place && options.path == "-")
    throw BadInput("--in-place: standard input is no file that could be written back; use --c -");
  if (options.c.empty() && options.cuda.empty() && options.html.empty() && !options.verify &&
      !options.in_place)
    options.explain = true;
  refuse_unheard(command, options);
  return options;
}

}  // namespace

std::function<TileOptions()> add_tile_options(Command& command) {
  const auto texts = std::make_shared<Texts>();
  TileOptions& options = texts->options;
  const auto list = [&](const std::string& name, std::vector<std::string>& to, const char* type,
                        const char* help) { return &command.add(name + " " + type, &to, help).repeated(); };
  command.add("FILE", &options.path, "C source with loop nests, '-' for standard input").required();
  command.group("Source");
  command.add("--function NAME", &options.source.function, "Only this function (default: all with loops)");
  list("-D", texts->macros, "NAME[=TEXT]", "A macro, as for a C compiler");
  command.add("-I DIR", &options.source.include_folders, "A folder for #include \"...\"");
  command
      .add(
          "--front-end NAME", &options.front_end,
          "What reads the source: own (plain C), clang (C and C++ as a compiler reads them, from Clang 14 on), or "
          "auto: own, and where that refuses something, clang")
      .among({"auto", "own", "clang"})
      .show_default();
  command.add("--clang PATH", &options.clang.compiler,
              "The Clang to ask (default: clang, clang-21 to clang-14)");
  command.add("-p DIR", &options.database, "A folder with compile_commands.json, which has the file's flags");
  command.add("FLAG", &options.clang.flags,
              "Flags for Clang, behind --: warploom tile FILE -- -Iinclude -std=c++20");
  list("--size", texts->sizes, "N=VALUE", "What is known of a size: N=1024 or N=1..4096");

  command.group("Explanation");
  command.add(
      "--explain", &options.explain,
      "Show reuse, footprints, dependences with witnesses, which orders and tilings are legal, where a GPU "
      "should keep each array and what that takes (default where no output is asked for)");
  list("--footprint", texts->footprint, "EXTENTS",
       "Tile for footprints and tilings, as i=32,k=8 (default: 32 of each loop)");
  command.add_json(options.json);
  command.add_force(options.force);
  command.add_threads(options.threads);

  command.group("Steps");
  texts->permute_option = list("--permute", texts->permute, "LOOPS",
                               "These loops in this order, in the places that they hold, as k,i,j");
  texts->tile_option = list("--tile", texts->tile, "STRIPS",
                            "Strips of each loop, as i=32,j=64; the strips' loops, ii and jj, go outside");
  texts->strip_option = list("--strip-mine", texts->strip_mine, "STRIP",
                             "Strips of one loop, as i=32; the order of iterations stays");
  texts->skew_option = list("--skew", texts->skew, "SKEW", "As j=1*i: j runs 1 * i later");
  texts->jam_option =
      list("--jam", texts->jam, "STRIPS",
           "As i=4,k=4: so many iterations of each loop run together in the innermost loop, written out");
  texts->time_option = list(
      "--time-tile", texts->time_tile, "STRIPS",
      "As t=16,32,256: strips of a loop over time, and of each dimension of what it writes, which move with time");
  command.add("--auto", &options.automatic, "Choose the steps, for the C");
  command.add(
      "--reassociate", &options.reassociate,
      "Steps and the C may combine sums, products, least and greatest values in any order (rounding, NaN and "
      "-0 change; of integers nothing does, so that their C may in any case)");

  command.group("Output");
  command.add("--c FILE", &options.c, "Write the transformed C here, '-' for standard output");
  command.add(
      "--in-place", &options.in_place,
      "Write FILE back with its nests replaced by what --c would hold and all else kept; with --force, since FILE exists");
  command.add(
      "--check-entry", &options.check_entry,
      "Functions that --c writes first look whether sizes are as the report assumes, and whether arrays of which one is "
      "written overlap; if so they say it and end the program");
  command.add("--cuda FILE", &options.cuda, "Write a CUDA program here, '-' for standard output");
  command.add("--html FILE", &options.html,
              "Write a page with pictures of the iteration spaces here, '-' for standard output");
  command.group("GPU");
  command.add("--arch SM", &options.gpu.architecture, "GPU for capacities and costs").show_default();
  command.add("--memory-cap BYTES", &texts->memory_cap,
              "Device memory to use; larger arrays pass through it in panels [bytes, or with K, M, G]");
  command.add("--keep-order", &texts->keep_order,
              "Keep the order of every sum (default: sums may be spread over threads)");
  command
      .add(
          "--gpu-time-tiles KIND", &texts->gpu_time_tiles,
          "Where several steps of a loop over stencils are taken in one launch: registers (rows stream through "
          "a warp's), shared (a block's memory), none, or best: registers where they fit, shared where arrays "
          "are known to be small")
      .among({"best", "registers", "shared", "none"})
      .show_default();
  command.add(
      "--verify", &options.verify,
      "Compile the CUDA with nvcc, run it in the simulator at small sizes, also rewritten by `reuse`, and compare every output with the nest's");
  command.add("--time-limit SECONDS", &texts->time_limit,
              "End --verify after so long and report what was compared until then [s] (default: none)");
  return [texts, &command] { return read(command, *texts); };
}

}  // namespace warploom::tool
