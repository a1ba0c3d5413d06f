// All verbs keep to one manner, which is asked of them from outside: help, JSON, outputs, errors.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "cli/run_tool.hpp"
#include "cli/search_recordings.hpp"
#include "io/scratch.hpp"
#include "warploom/io/nifti.hpp"
#include "warploom/io/png.hpp"

namespace warploom {
namespace {

using testing::AnyOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// What stands under a heading of --help, up to the next empty line.
std::vector<std::string> section(const std::string& help, const std::string& heading) {
  std::vector<std::string> inside;
  bool in = false;
  for (const std::string& line : lines_of(help)) {
    if (line.empty()) in = false;
    if (in) inside.push_back(line);
    if (line == heading + ":") in = true;
  }
  return inside;
}

/// "", "reuse", ..., "dp", "dp chain", ...: the tool, all verbs and theirs, from --help.
std::vector<std::string> verbs_under(const std::string& path) {
  std::vector<std::string> all{path};
  for (const std::string& line : section(run_tool(path + " --help").out, "Verbs")) {
    if (!line.starts_with("  ") || line[2] == ' ') continue;
    const std::string name = line.substr(2, line.find(' ', 2) - 2);
    for (const std::string& inner : verbs_under(path.empty() ? name : path + " " + name))
      all.push_back(inner);
  }
  return all;
}
const std::vector<std::string>& every_verb() {
  static const std::vector<std::string> all = verbs_under("");
  return all;
}

class EveryVerb : public Scratch {
 protected:
  EveryVerb() {
    std::filesystem::create_directory_symlink(WARPLOOM_TESTS_DIR "/../examples", directory / "examples");
    make(
        "k.ptx",
        ".version 7.8\n.target sm_90\n.address_size 64\n.visible .entry nothing(.param .u64 out)\n{\n\tret;\n}\n");
    make("p.txt", ".2\n.1\n");
    make("q.txt", ".3\n.2\n.2\n");
    make("points.csv", "0,0\n1,0\n1,1\n0,1\n");
    make("rna.fa", ">a\nGGGAAACCC\n");
    make("folded.txt", "GGGGAAAACCCC\n((((....))))\n");
    make("costs.csv", "1,2\n0,3\n");
    make("words.txt", "a\nb\na\n");
    make("build.log", "{\"source\":\"k.cu\",\"kernel\":\"k\",\"verdict\":\"unchanged\",\"reason\":\"r\"}\n");
    make("step.csv", csv_of(pattern()));
    make("day.csv", csv_of(noise_with(20, 1, {{.at = 5}})));
    make("found.csv", "onset,duration,label\n5,1.2,step\n");
    in_folder("table count rna.fa --kmer 4 --top 1 --database rna.kmers");
    std::filesystem::create_directories(directory / "study/sub-1/dwi");
    std::filesystem::create_directories(directory / "derivatives/sub-1/dwi");
    make("study/dataset_description.json", "{}");
    make("study/sub-1/dwi/sub-1_dwi.nii", "");
    io::Nifti channels;
    channels.shape = {8, 8, 8, 2};
    for (int i = 0; i < 1024; ++i) channels.data.push_back(static_cast<float>(i * 7919 % 101 + (i % 64) / 8));
    io::write_nifti(directory / "c.nii", channels);
    for (const char* map : {"fa", "md"})
      io::write_nifti(
          directory / fmt::format("derivatives/sub-1/dwi/sub-1_model-tensor_param-{}_dwimap.nii", map),
          channels);
    io::Picture cells{.width = 16, .height = 16, .channels = 1, .data = {}};
    for (int i = 0; i < 256; ++i) cells.data.push_back(i / 16 > 4 && i % 16 > 6 ? 200 : 20);
    io::write_png(directory / "cells.png", cells);
  }

  static std::string csv_of(const Samples& samples) {
    std::string text = "time,x,y,z\n";
    for (std::size_t i = 0; i < samples[0].size(); ++i)
      text += fmt::format("{},{},{},{}\n", static_cast<double>(i) / kRate, samples[0][i], samples[1][i],
                          samples[2][i]);
    return text;
  }

  ToolRun in_folder(const std::string& arguments) const {
    return run_shell("cd '" + directory.string() + "' && \"$WARPLOOM\" " + arguments);
  }
};

/// A small case of each verb that reads or computes something.
const std::map<std::string, std::string> kCases{
    {"reuse", "reuse examples/cub_tempstorage.sm_90.ptx --no-ptxas"},
    {"check", "check k.ptx k.ptx"},
    {"wrap", "wrap --summary build.log"},
    {"occupancy", "occupancy k.ptx --no-ptxas"},
    {"sim", "sim k.ptx --grid 1 --block 32 --arg buf:f32:4:zero"},
    {"tile", "tile examples/tile/lecture/matmul.c"},
    {"denoise", "denoise c.nii --vector --lambda 1 --epsilon 1 --format nii --force -o denoised"},
    {"segment", "segment cells.png --force -o mask.png"},
    {"register", "register cells.png cells.png --method rigid --init header --force -o warped.png"},
    {"register apply", "register apply cells.png --reference cells.png --force -o warped.png"},
    {"dp chain", "dp chain 30 35 15"},
    {"dp search-tree", "dp search-tree p.txt q.txt"},
    {"dp polygon", "dp polygon points.csv"},
    {"dp nussinov", "dp nussinov rna.fa"},
    {"dp solve", "dp solve costs.csv"},
    {"fold", "fold rna.fa"},
    {"fold eval", "fold eval folded.txt"},
    {"fold windows", "fold windows rna.fa --window 8"},
    {"fold mutants", "fold mutants rna.fa --positions 2"},
    {"fold unpaired", "fold unpaired rna.fa -W 8 -u 2"},
    {"table count", "table count words.txt"},
    {"table dump", "table dump rna.kmers"},
    {"table query", "table query rna.kmers GGGA"},
    {"table merge", "table merge rna.kmers rna.kmers --force -o both.kmers"},
    {"table intersect", "table intersect rna.kmers rna.kmers --force -o both.kmers"},
    {"table subtract", "table subtract rna.kmers rna.kmers --force -o both.kmers"},
    {"table bench", "table bench --preload 2^10 --batch 2^10 --rounds 1"},
    {"table applications", "table applications --preload 2^10 --rounds 1"},
    {"search", "search step.csv day.csv"},
    {"search evaluate", "search evaluate found.csv --annotations found.csv"},
    {"bids-denoise", "bids-denoise study derivatives group"},
    {"cohort", "cohort rna.fa -o cohort --json -- fold {}"},
    {"devices", "devices"},
};

/// The option of each verb that writes a file, and the file. search writes a folder.
const std::map<std::string, std::pair<std::string, std::string>> kOutputs{
    {"reuse", {"reuse examples/cub_tempstorage.sm_90.ptx --no-ptxas -o ", "out.ptx"}},
    {"sim", {kCases.at("sim") + " --dump ", "out.npy"}},
    {"tile", {kCases.at("tile") + " --cuda ", "out.cu"}},
    {"denoise",
     {"denoise c.nii --vector --lambda 1 --epsilon 1 --format nii -o out --report ", "report.json"}},
    {"segment", {"segment cells.png -o ", "mask.png"}},
    {"register", {"register cells.png cells.png --method rigid --init header -o ", "warped.png"}},
    {"register apply", {"register apply cells.png --reference cells.png -o ", "warped.png"}},
    {"dp chain", {kCases.at("dp chain") + " -o ", "out.txt"}},
    {"dp search-tree", {kCases.at("dp search-tree") + " -o ", "out.txt"}},
    {"dp polygon", {kCases.at("dp polygon") + " --svg ", "out.svg"}},
    {"dp nussinov", {kCases.at("dp nussinov") + " --svg ", "out.svg"}},
    {"dp solve", {kCases.at("dp solve") + " --save-table ", "out.npy"}},
    {"fold", {kCases.at("fold") + " --svg ", "out.svg"}},
    {"fold windows", {kCases.at("fold windows") + " -o ", "out.tsv"}},
    {"fold mutants", {kCases.at("fold mutants") + " --svg ", "out.svg"}},
    {"fold unpaired", {kCases.at("fold unpaired") + " -o ", "out.tsv"}},
    {"table count", {kCases.at("table count") + " -o ", "out.json"}},
    {"table bench", {kCases.at("table bench") + " --svg ", "out.svg"}},
    {"table applications", {kCases.at("table applications") + " --svg ", "out.svg"}},
};

TEST_F(EveryVerb, HasAHelpInOneForm) {
  for (const std::string& path : every_verb()) {
    const ToolRun run = run_tool(path + " --help");
    EXPECT_EQ(run.code, 0) << path;
    EXPECT_EQ(run.err, "") << path;
    EXPECT_EQ(run_tool("help " + path).out, run.out) << path;
    const std::string whole = path.empty() ? "warploom" : "warploom " + path;
    for (const std::string& line : lines_of(run.out)) {
      EXPECT_LE(line.size(), 80U) << path << ": " << line;
      EXPECT_THAT(line, Not(EndsWith(" "))) << path;
    }
    EXPECT_THAT(run.out, HasSubstr("\nUsage: " + whole + " ")) << path;
    EXPECT_THAT(run.out, AnyOf(HasSubstr("\nExample:\n  warploom"), HasSubstr("\nExamples:\n  warploom")))
        << path;
    const std::vector<std::string> common = section(run.out, "Common options");
    EXPECT_THAT(common, testing::Contains(StartsWith("  -h, --help"))) << path;
    EXPECT_THAT(common, testing::Contains(StartsWith("  -q, --quiet"))) << path;
    EXPECT_LT(run.out.find("Usage:"), run.out.find("Example")) << path;
    EXPECT_EQ(run.out.find("\n\n", run.out.find("Common options:")), run.out.rfind("\n\n")) << path;
  }
}

TEST_F(EveryVerb, SaysWhatItDoesInOneStyle) {
  for (const std::string& path : every_verb()) {
    const std::string help = run_tool(path + " --help").out, summary = help.substr(0, help.find("\n\n"));
    EXPECT_THAT(summary, testing::MatchesRegex("[A-Z][a-z]+ [^A].*[^.]")) << path;
    EXPECT_THAT(summary, Not(AnyOf(StartsWith("The "), StartsWith("How "), StartsWith("A ")))) << path;
    EXPECT_LE(summary.size(), 145U) << path;
  }
}

TEST_F(EveryVerb, WithManyOptionsGroupsThem) {
  for (const std::string& path : every_verb()) {
    const std::string help = run_tool(path + " --help").out;
    if (path.empty()) continue;
    std::size_t groups = 0, options = 0;
    for (const std::string& line : lines_of(help)) {
      if (line == "Common options:") break;
      if (line.ends_with(":") && !line.starts_with(" ") && line != "Arguments:" && line != "Notes:" &&
          line != "Verbs:" && !line.starts_with("Example"))
        ++groups;
      if (line.starts_with("  -")) ++options;
    }
    EXPECT_GE(groups, options > 10 ? 2U : 0U) << path;
  }
}

TEST_F(EveryVerb, GivesJsonWithTheSameFirstKeys) {
  for (const std::string& path : every_verb()) {
    if (run_tool(path + " --help").out.find("--json") == std::string::npos || path.empty()) continue;
    ASSERT_TRUE(kCases.contains(path)) << path << " has no case here";
    const ToolRun run = in_folder(kCases.at(path) + " --json");
    ASSERT_EQ(run.code, 0) << path << run.err;
    const auto json = nlohmann::ordered_json::parse(run.out);
    auto pair = json.begin();
    EXPECT_EQ(pair.key(), "schema") << path;
    EXPECT_EQ(pair.value(), "warploom." + path.substr(0, path.find(' ')) + "/1") << path;
    EXPECT_EQ((++pair).key(), "version") << path;
    EXPECT_EQ((++pair).key(), "command") << path;
    EXPECT_EQ(pair.value(), path);
  }
}

TEST_F(EveryVerb, SuggestsTheOptionThatWasMeant) {
  for (const std::string& path : every_verb()) {
    if (path == "wrap") continue;  // what it does not know is nvcc's
    const ToolRun run = in_folder(path + " --quite");
    EXPECT_EQ(run.code, 2) << path;
    EXPECT_EQ(run.out, "") << path;
    EXPECT_EQ(lines_of(run.err).size(), 1U) << run.err;
    EXPECT_THAT(run.err, AnyOf(HasSubstr("did you mean --quiet?"), HasSubstr("required"))) << path;
  }
  EXPECT_THAT(run_tool("denoise c.nii -o out --kernel 3").err, Not(HasSubstr("did you mean")));
}

TEST_F(EveryVerb, ThatIsUnknownIsAnErrorWithHelpToo) {
  for (const std::string command : {"tabel --help", "help tabel", "tabel"}) {
    const ToolRun run = run_tool(command);
    EXPECT_EQ(run.code, 2) << command;
    EXPECT_THAT(run.err, HasSubstr("'tabel' is not a verb; did you mean table?")) << command;
  }
  EXPECT_EQ(run_tool("dp chian --help").code, 2);
  EXPECT_THAT(run_tool("dp chian --help").err, HasSubstr("did you mean chain?"));
  EXPECT_THAT(run_tool("help dp chian").err, HasSubstr("did you mean chain?"));
}

TEST_F(EveryVerb, RefusesAFileThatIsMissing) {
  for (const auto& [path, arguments] : kCases) {
    if (path == "devices" || path == "table bench" || path == "table applications") continue;
    std::string missing =
        std::regex_replace(arguments, std::regex("[\\w./]+\\.(ptx|nii|png|txt|csv|fa|kmers|c|log)"),
                           "absent.$1", std::regex_constants::format_first_only);
    if (path == "dp chain") missing = "dp chain --file absent.txt";
    if (path == "bids-denoise") missing = "bids-denoise absent.study derivatives group";
    const ToolRun run = in_folder(missing);
    EXPECT_EQ(run.code, 2) << missing;
    EXPECT_EQ(lines_of(run.err).size(), 1U) << missing << run.err;
    EXPECT_THAT(run.err, HasSubstr("absent.")) << missing;
  }
}

TEST_F(EveryVerb, ReplacesAnOutputOnlyWhenTold) {
  for (const auto& [path, output] : kOutputs) {
    const auto& [arguments, file] = output;
    const std::string name = "new/" + std::regex_replace(path, std::regex(" "), "-") + "/" + file;
    const ToolRun first = in_folder(arguments + name);
    EXPECT_EQ(first.code, 0) << path << ": missing folders are made: " << first.err;
    const std::string before = content_of(directory / name);
    EXPECT_NE(before, "") << path;
    const ToolRun second = in_folder(arguments + name);
    EXPECT_EQ(second.code, 2) << path;
    EXPECT_THAT(second.err, HasSubstr("exists; give --force to replace it, or another name")) << path;
    EXPECT_EQ(in_folder(arguments + name + " --force").code, 0) << path;
    EXPECT_EQ(in_folder(arguments + "/dev/null/" + file + " --force").code, 2) << path;
  }
}

TEST_F(EveryVerb, SaysNothingBesideItsResultWhenQuiet) {
  for (const auto& [path, arguments] : kCases) {
    const std::string verb = path.substr(0, path.find(' '));
    const ToolRun run = in_folder(verb + " -q" + arguments.substr(verb.size()));
    EXPECT_EQ(run.code, 0) << path << run.err;
    EXPECT_EQ(run.err, "") << path;
  }
}

TEST_F(EveryVerb, EndsAsUsualWhereStandardErrorIsFull) {
  for (const auto& [path, arguments] : kCases) {
    EXPECT_EQ(in_folder(arguments + " 2>/dev/full").code, 0) << path;
    EXPECT_EQ(in_folder(path + " --quite --log-level loud 2>/dev/full").code, 2) << path;
  }
  EXPECT_EQ(in_folder("reuse examples/cub_tempstorage.sm_90.ptx --no-ptxas -v -v -o - 2>/dev/full").code, 0);
}

TEST(Messages, ALongWordIsCut) {
  const ToolRun run = run_tool("devices --" + std::string(5000, 'a'));
  EXPECT_EQ(run.code, 2);
  EXPECT_LT(run.err.size(), 200U);
  EXPECT_THAT(run.err, HasSubstr("aaa..."));
}

TEST(Version, IsLongerWithDetails) {
  const ToolRun run = run_tool("--version -v");
  EXPECT_EQ(run.code, 0);
  EXPECT_THAT(run.out, testing::AllOf(StartsWith("warploom "), HasSubstr("\ncommit  "),
                                      HasSubstr("\ncompiler  "), HasSubstr("\nCUDA  "),
                                      HasSubstr("\ninstruction sets  "), HasSubstr("\nGPUs  ")));
  EXPECT_EQ(run_tool("-v --version").out, run.out);
}

TEST(Help, IsBoldOnATerminalOnly) {
  if (run_shell("script -qec true /dev/null").code != 0) GTEST_SKIP() << "script(1) makes no terminal here";
  const auto on_terminal = [](const std::string& environment) {
    return run_shell(environment + " TERM=xterm script -qec '\"$WARPLOOM\" --help' /dev/null").out;
  };
  EXPECT_THAT(on_terminal("NO_COLOR="), HasSubstr("\033[1mUsage:\033[0m"));
  EXPECT_THAT(on_terminal("NO_COLOR=1"), Not(HasSubstr("\033")));
}

class Completion : public Scratch {
 protected:
  /// What bash offers for the last word.
  std::string bash(const std::string& words) const {
    return run_shell("\"$WARPLOOM\" completion bash > '" + (directory / "c.bash").string() + "'; bash -n '" +
                     (directory / "c.bash").string() +
                     "' && bash -c 'source \"$0\"; COMP_WORDS=(\"$@\"); "
                     "COMP_CWORD=$(($# - 1)); _warploom; echo ${COMPREPLY[*]}' '" +
                     (directory / "c.bash").string() + "' warploom " + words)
        .out;
  }
};

TEST_F(Completion, OfBashKnowsVerbsOptionsAndValues) {
  EXPECT_EQ(bash("den"), "denoise\n");
  EXPECT_EQ(bash("search --ba"), "--band-pass --band\n");
  EXPECT_EQ(bash("dp ch"), "chain\n");
  EXPECT_EQ(bash("dp chain --dev"), "--device\n");
  EXPECT_EQ(bash("dp chain --device c"), "cpu cuda cuda:all\n");
  EXPECT_EQ(bash("help oc"), "occupancy\n");
  EXPECT_EQ(bash("completion z"), "zsh\n");
  EXPECT_EQ(bash("reuse -o ''"), "\n");  // files, which bash offers itself
}

TEST_F(Completion, OfZshAndFishIsTakenByThem) {
  for (const std::string shell : {"zsh", "fish"}) {
    const std::string script = run_tool("completion " + shell).out;
    EXPECT_THAT(script, testing::AllOf(HasSubstr("denoise"), HasSubstr("band"))) << shell;
    if (run_shell("command -v " + shell).code != 0) continue;
    make("script", script);
    const ToolRun run = run_shell(shell + " -n '" + (directory / "script").string() + "'");
    EXPECT_EQ(run.code, 0) << shell << run.err;
  }
}

TEST_F(Completion, ManPagesAreWithoutWarnings) {
  const std::string pages = (directory / "man1").string();
  ASSERT_EQ(run_tool("man --all " + pages).code, 0);
  EXPECT_THAT(content_of(directory / "man1/warploom-denoise.1"), HasSubstr(".SH SYNOPSIS"));
  if (run_shell("command -v groff").code != 0) GTEST_SKIP() << "no groff";
  const ToolRun run =
      run_shell("for page in " + pages + "/*.1; do groff -ww -man -Tutf8 \"$page\" >/dev/null; done");
  EXPECT_EQ(run.code, 0);
  EXPECT_EQ(run.err, "");
  EXPECT_EQ(run_tool("man dp").out, content_of(directory / "man1/warploom-dp.1"));
}

/// The string literals of a C++ source; raw ones, which hold pages' scripts, are left out.
std::string literals_of(const std::string& source) {
  std::string literals;
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source.compare(i, 2, "//") == 0) {
      i = std::min(source.find('\n', i), source.size());
    } else if (source[i] == '\'' && i + 2 < source.size()) {
      i += source[i + 1] == '\\' ? 3 : source[i + 2] == '\'' ? 2 : 0;
    } else if (source[i] == '"') {
      for (++i; i < source.size() && source[i] != '"' && source[i] != '\n'; ++i) {
        if (source[i] == '\\')
          ++i, literals += ' ';
        else
          literals += source[i];
      }
      literals += '\n';
    }
  }
  return literals;
}

TEST(Messages, NameOnlyOptionsThatThereAre) {
  std::set<std::string> known{
      // of nvcc, ptxas, cicc and CMake
      "--compile-only",
      "--device-c",
      "--device-debug",
      "--dont-use-profile",
      "--dryrun",
      "--generate-code",
      "--generate-line-info",
      "--gpu-architecture",
      "--maxrregcount",
      "--options-file",
      "--relocatable-device-code",
      "--orig_src_path_name",
      "--x",
      // of the pages' style sheets
      "--h",
      "--lag",
      "--least",
      "--most",
      "--wave",
      // hidden: how nvcc's steps call `warploom wrap`
      "--tool",
      "--shadow",
      // of ANTs' CompositeTransformUtil
      "--disassemble",
  };
  const std::regex option("--[a-z][a-z0-9_-]*[a-z0-9]|--[a-z]");
  const auto each_option = [&](const std::string& text, const auto& take) {
    for (auto at = std::sregex_iterator(text.begin(), text.end(), option); at != std::sregex_iterator(); ++at)
      take(at->str());
  };
  each_option(run_tool("completion bash").out, [&](const std::string& name) { known.insert(name); });
  for (const std::string folder : {"tools", "src"})
    for (const auto& entry : std::filesystem::recursive_directory_iterator(
             std::filesystem::path(WARPLOOM_TESTS_DIR) / ".." / folder)) {
      const std::string ending = entry.path().extension().string();
      if (ending != ".cpp" && ending != ".cu" && ending != ".hpp") continue;
      each_option(literals_of(content_of(entry.path())), [&](const std::string& name) {
        EXPECT_TRUE(known.contains(name)) << entry.path() << " tells of " << name << ", which there is not";
      });
    }
}

}  // namespace
}  // namespace warploom
