#include "warploom/sim/launch_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "warploom/core/parse.hpp"
#include "warploom/ptx/launch.hpp"

namespace warploom::sim {
namespace {

Dim as_dim(const std::array<std::uint32_t, 3>& extents) { return {extents[0], extents[1], extents[2]}; }

struct Word {
  std::string text;
  TextPosition where;
};

/// One launch's words: a line and those that go on with it.
struct Line {
  std::vector<Word> words;
  std::string text;  ///< without comment and line ends
};

/// Splits a .sim file into launches and words, as a shell would: quotes of either kind hold blanks together.
class Splitter {
 public:
  Splitter(std::string_view text, std::string file) : text_(text) { where_.file = std::move(file); }

  std::vector<Line> lines() {
    std::vector<Line> out;
    while (at_ < text_.size()) {
      Line line = next();
      if (!line.words.empty()) out.push_back(std::move(line));
    }
    return out;
  }

 private:
  bool end_of_line() const { return at_ == text_.size() || text_[at_] == '\n'; }
  bool blank() const { return text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\r'; }
  void step() {
    ++where_.column;
    if (text_[at_++] == '\n') {
      ++where_.line;
      where_.column = 1;
    }
  }
  /// Of a backslash with nothing but blanks behind it on its line.
  bool goes_on() const {
    return text_[at_] == '\\' &&
           text_.substr(at_ + 1, text_.find('\n', at_) - at_ - 1).find_first_not_of(" \t\r") ==
               std::string_view::npos;
  }
  void skip_line() {
    while (!end_of_line()) step();
    if (at_ < text_.size()) step();
  }

  Line next() {
    Line line;
    while (!end_of_line()) {
      if (blank()) {
        step();
      } else if (text_[at_] == '#') {
        break;
      } else if (goes_on()) {
        skip_line();
      } else {
        const std::size_t begin = at_;
        line.words.push_back(word());
        line.text += fmt::format("{}{}", line.text.empty() ? "" : " ", text_.substr(begin, at_ - begin));
      }
    }
    skip_line();
    return line;
  }

  Word word() {
    Word word{"", where_};
    char quote = '\0';
    TextPosition opened;
    while (!end_of_line()) {
      const char c = text_[at_];
      if (quote == '\0' && (blank() || goes_on())) break;
      if (quote == '\0' && (c == '"' || c == '\'')) {
        quote = c;
        opened = where_;
      } else if (c == quote) {
        quote = '\0';
      } else {
        word.text += c;
      }
      step();
    }
    if (quote != '\0')
      throw ParseError(opened, fmt::format("expected the closing {} on the same line", quote));
    return word;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  TextPosition where_;
};

LaunchText parse_launch(const Line& line) {
  LaunchText launch;
  launch.line = line.text;
  std::vector<std::string> given;
  for (std::size_t i = 0; i < line.words.size(); ++i) {
    const Word& word = line.words[i];
    const std::size_t equals = word.text.starts_with("--") ? word.text.find('=') : std::string::npos;
    const std::string option = word.text.substr(0, equals);
    const auto fail = [&](const std::string& what) { throw ParseError(word.where, what); };
    std::string value;
    if (equals != std::string::npos)
      value = word.text.substr(equals + 1);
    else if (++i < line.words.size())
      value = line.words[i].text;
    else if (option.starts_with("--"))
      fail(fmt::format("{} has no value", option));
    if (option != "--arg" && std::ranges::count(given, option) > 0)
      fail(option + " stands twice in one launch");
    try {
      if (!set_launch_option(launch, option, value))
        fail(fmt::format("'{}' is none of --kernel, --grid, --block, --cluster, --dynamic-shared and --arg",
                         option));
    } catch (const ParseError&) {
      throw;
    } catch (const BadInput& error) {
      fail(error.what());
    }
    given.push_back(option);
  }
  for (const char* needed : {"--kernel", "--grid", "--block"})
    if (std::ranges::count(given, needed) == 0)
      throw ParseError(
          line.words.front().where,
          fmt::format("the launch has no {} (--kernel NAME --grid X,Y,Z --block X,Y,Z --arg ...)", needed));
  return launch;
}

}  // namespace

bool set_launch_option(LaunchText& launch, std::string_view option, std::string_view value) {
  if (option == "--kernel") {
    if (value.empty()) throw BadInput("--kernel: the name is empty");
    launch.kernel = value;
  } else if (option == "--grid") {
    launch.grid = as_dim(ptx::parse_grid(value, option));
  } else if (option == "--block") {
    launch.block = as_dim(ptx::parse_block(value, option));
  } else if (option == "--cluster") {
    launch.cluster = as_dim(ptx::parse_grid(value, option));
  } else if (option == "--dynamic-shared") {
    if (!parse_whole(value, launch.dynamic_shared))
      throw BadInput(fmt::format("--dynamic-shared: '{}' is not a number of bytes", value));
  } else if (option == "--arg") {
    ArgumentText argument = parse_argument(value);
    using Fill = ArgumentText::Fill;
    const bool random = argument.fill == Fill::random || argument.fill == Fill::range;
    if (random && argument.seed == 0) argument.seed = launch.arguments.size();
    launch.arguments.push_back(std::move(argument));
  } else {
    return false;
  }
  return true;
}

std::vector<LaunchText> parse_launches(std::string_view text, std::string file) {
  std::vector<LaunchText> launches;
  const std::filesystem::path directory = std::filesystem::path(file).parent_path();
  for (const Line& line : Splitter(text, std::move(file)).lines()) {
    launches.push_back(parse_launch(line));
    for (ArgumentText& argument : launches.back().arguments)
      if (!argument.path.empty())
        argument.path = (directory / argument.path).string();  // an absolute one stays
  }
  return launches;
}

}  // namespace warploom::sim
