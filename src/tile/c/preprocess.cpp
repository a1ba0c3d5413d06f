#include "tile/c/preprocess.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "tile/c/macros.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"

namespace warploom::tile {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostIncludes = 1000, kDeepestInclude = 50, kDeepestConditional = 200;

class Preprocessor {
 public:
  explicit Preprocessor(const SourceOptions& options) : options_(options), macros_(result_.files) {}

  Preprocessed run(std::string_view text, const std::string& file) {
    for (const auto& [name, value] : options_.macros) {
      result_.files = {"-D " + name};
      macros_.define(tokenise(name + ' ' + value, 0, result_.files[0]));
    }
    result_.files = {file};
    for (const char* standard : {"__STDC__ 1", "__STDC_VERSION__ 201112L"})
      macros_.define(tokenise(standard, 0, file));
    this->text(tokenise(text, 0, file), fs::path(file).parent_path());
    return std::move(result_);
  }

 private:
  /// Of an #if: whether its group is read, whether one of its groups was, whether #else has been.
  struct Conditional {
    Token at;
    bool active = false, taken = false, last = false, outer_active = false;
  };

  [[noreturn]] void fail(const Token& at, const std::string& what) const {
    throw ParseError({result_.files[at.file], at.at.line, at.at.column}, what);
  }

  void text(std::vector<Token> tokens, const fs::path& folder) {
    std::vector<Conditional> conditionals;
    std::vector<Token> plain;
    const auto flush = [&] {
      macros_.expand(std::move(plain), result_.tokens);
      plain.clear();
    };
    std::size_t at = 0;
    while (tokens[at].kind != Token::Kind::end) {
      std::size_t end = at + 1;
      while (!tokens[end].line_start) ++end;
      const bool active = conditionals.empty() || conditionals.back().active;
      if (tokens[at].is("#")) {
        flush();
        std::vector<Token> line(tokens.begin() + static_cast<std::ptrdiff_t>(at),
                                tokens.begin() + static_cast<std::ptrdiff_t>(end));
        Token closing;
        closing.file = line.back().file;
        closing.at = line.back().at;
        closing.at.column += static_cast<unsigned>(line.back().text.size());
        line.push_back(closing);
        directive(line, active, conditionals, folder);
      } else if (active) {
        std::move(tokens.begin() + static_cast<std::ptrdiff_t>(at),
                  tokens.begin() + static_cast<std::ptrdiff_t>(end), std::back_inserter(plain));
      }
      at = end;
    }
    flush();
    if (!conditionals.empty()) fail(conditionals.back().at, "conditional without #endif");
    if (depth_ == 0) result_.tokens.push_back(tokens[at]);
  }

  /// @param line  from '#' to an `end`
  void directive(const std::vector<Token>& line, bool active, std::vector<Conditional>& conditionals,
                 const fs::path& folder) {
    const Token& name = line[1];
    if (name.kind == Token::Kind::end) return;
    if (conditional(line, active, conditionals) || !active) return;
    const std::vector<Token> rest(line.begin() + 2, line.end());
    if (name.is_name("define")) {
      macros_.define(rest);
    } else if (name.is_name("undef")) {
      if (rest[0].kind != Token::Kind::identifier) fail(rest[0], "#undef: expected a name");
      macros_.undefine(rest[0].text);
    } else if (name.is_name("include")) {
      include(line, rest, folder);
    } else if (name.is_name("pragma")) {
      if (!rest[0].is_name("scop") && !rest[0].is_name("endscop")) return;
      Token mark = line[0];
      mark.kind = rest[0].text == "scop" ? Token::Kind::scop : Token::Kind::endscop;
      mark.text = "#pragma " + rest[0].text;
      result_.tokens.push_back(mark);
    } else if (name.is_name("error")) {
      std::string message = "#error";
      for (std::size_t i = 2; i + 1 < line.size(); ++i) message += ' ' + line[i].text;
      fail(line[0], message);
    } else if (!name.is_name("line") && !name.is_name("warning") && name.kind != Token::Kind::number) {
      fail(name, fmt::format("unknown directive '#{}'", name.text));
    }
  }

  /// @return whether it was one of #if's family
  bool conditional(const std::vector<Token>& line, bool active, std::vector<Conditional>& conditionals) {
    const Token& name = line[1];
    if (name.is_name("if") || name.is_name("ifdef") || name.is_name("ifndef")) {
      if (conditionals.size() == kDeepestConditional)
        fail(name, fmt::format("conditionals nested deeper than {}", kDeepestConditional));
      const bool holds = active && condition(line);
      conditionals.push_back({line[0], holds, holds, false, active});
      return true;
    }
    if (!name.is_name("elif") && !name.is_name("else") && !name.is_name("endif")) return false;
    if (conditionals.empty()) fail(line[0], fmt::format("#{} without #if", name.text));
    Conditional& open = conditionals.back();
    if (name.text == "endif") {
      conditionals.pop_back();
      return true;
    }
    if (open.last) fail(line[0], fmt::format("#{} after #else", name.text));
    open.last = name.text == "else";
    open.active = open.outer_active && !open.taken && (open.last || condition(line));
    open.taken = open.taken || open.active;
    return true;
  }

  bool condition(const std::vector<Token>& line) {
    if (line[1].text == "ifdef" || line[1].text == "ifndef") {
      if (line[2].kind != Token::Kind::identifier)
        fail(line[2], fmt::format("#{}: expected a name", line[1].text));
      return macros_.defined(line[2].text) == (line[1].text == "ifdef");
    }
    std::vector<Token> tokens;
    for (std::size_t i = 2; i + 1 < line.size(); ++i) {
      if (!line[i].is_name("defined")) {
        tokens.push_back(line[i]);
        continue;
      }
      const bool parentheses = line[i + 1].is("(");
      const std::size_t name = i + (parentheses ? 2 : 1);
      if (line[name].kind != Token::Kind::identifier) fail(line[name], "defined: expected a name");
      if (parentheses && !line[name + 1].is(")")) fail(line[name + 1], "defined: expected ')'");
      Token value = line[i];
      value.kind = Token::Kind::number;
      value.text = std::string(1, macros_.defined(line[name].text) ? '1' : '0');
      tokens.push_back(value);
      i = name + (parentheses ? 1 : 0);
    }
    std::vector<Token> expanded;
    macros_.expand(std::move(tokens), expanded);
    expanded.push_back(line.back());
    return evaluate_condition(expanded, result_.files[line[0].file]);
  }

  void include(const std::vector<Token>& line, const std::vector<Token>& rest, const fs::path& folder) {
    std::string name;
    const bool quoted = rest[0].kind == Token::Kind::string;
    if (quoted) {
      name = rest[0].text.substr(1, rest[0].text.size() - 2);
    } else if (rest[0].is("<")) {
      for (std::size_t i = 1; i < rest.size() && !rest[i].is(">"); ++i) name += rest[i].text;
    } else {
      fail(rest[0], "#include: expected \"file\" or <file>");
    }
    std::vector<fs::path> folders(options_.include_folders.begin(), options_.include_folders.end());
    if (quoted) folders.insert(folders.begin(), folder);
    for (const fs::path& from : folders) {
      const fs::path path = from / name;
      std::error_code error;
      if (!fs::is_regular_file(path, error)) continue;
      if (depth_ == kDeepestInclude)
        fail(line[0], fmt::format("#include nested deeper than {}", kDeepestInclude));
      if (result_.files.size() > kMostIncludes)
        fail(line[0], fmt::format("more than {} files included", kMostIncludes));
      const std::string content = read_file(path);
      result_.files.push_back(path.string());
      ++depth_;
      text(tokenise(content, static_cast<std::uint16_t>(result_.files.size() - 1), path.string()),
           path.parent_path());
      --depth_;
      return;
    }
    if (quoted)
      fail(line[0],
           fmt::format("#include \"{}\": no such file beside this one or in the include folders", name));
  }

  const SourceOptions& options_;
  Preprocessed result_;
  Macros macros_;
  std::size_t depth_ = 0;
};

}  // namespace

Preprocessed preprocess(std::string_view text, const std::string& file, const SourceOptions& options) {
  return Preprocessor(options).run(text, file);
}

}  // namespace warploom::tile
