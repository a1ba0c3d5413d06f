#include "warploom/fold/parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <functional>
#include <optional>
#include <span>
#include <utility>

#include "fold/embedded.hpp"
#include "fold/energy_tables.hpp"
#include "fold/sections.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"

namespace warploom::fold {
namespace {

constexpr std::int32_t kMost = 10'000;

/// A word of a parameter file, or the line of a section's name.
struct Word {
  std::string_view text;
  unsigned line, column;
};

/// Words, without comments.
class Words {
 public:
  Words(std::string_view content, const std::string& name) : rest_(content), name_(name) {}

  /// Empty at the end. A section's name comes whole: "# stack" is "#stack".
  std::optional<Word> next() {
    if (ahead_) return std::exchange(ahead_, std::nullopt);
    skip_blanks();
    if (rest_.empty()) return std::nullopt;
    Word word{{}, line_, column_};
    if (rest_.front() == '#') {
      advance(1);
      while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\t')) advance(1);
      word.text = take(is_blank);
      section_ = true;
    } else {
      word.text = take([this](char c) { return is_blank(c) || rest_.starts_with("/*"); });
      section_ = false;
    }
    return word;
  }
  bool is_section() const { return section_; }
  void back(Word word, bool section) { ahead_ = word, section_ = section; }

  [[noreturn]] void fail(const Word& at, const std::string& what) const {
    throw ParseError({name_, at.line, at.column}, what);
  }
  Word end() const { return {{}, line_, column_}; }

 private:
  static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

  template <class Stop>
  std::string_view take(Stop stop) {
    const std::string_view from = rest_;
    std::size_t n = 0;
    while (!rest_.empty() && !stop(rest_.front())) advance(1), ++n;
    return from.substr(0, n);
  }
  void skip_blanks() {
    while (!rest_.empty()) {
      if (is_blank(rest_.front())) {
        advance(1);
      } else if (rest_.starts_with("/*")) {
        const Word at = end();
        const std::size_t close = rest_.find("*/", 2);
        if (close == std::string_view::npos)
          fail(at, "the comment that begins here does not end: '*/' is missing");
        advance(close + 2);
      } else {
        return;
      }
    }
  }
  void advance(std::size_t n) {
    for (; n > 0; --n) {
      if (rest_.front() == '\n')
        ++line_, column_ = 1;
      else
        ++column_;
      rest_.remove_prefix(1);
    }
  }

  std::string_view rest_;
  const std::string& name_;
  unsigned line_ = 1, column_ = 1;
  bool section_ = false;
  std::optional<Word> ahead_ = {};
};

/// Numbers of a section, in the order of the file.
using Places = std::vector<std::int32_t*>;

/// A place with N in int22, and which of its letters is that N. Behind those that it stands for.
struct Unknown {
  int at[4], place;
};
std::vector<Unknown> unknown_places() {
  std::vector<Unknown> all;
  for (int place = 0; place < 4; ++place)
    for (int code = 0; code < 625; ++code) {
      const Unknown u{{code / 125, code / 25 % 5, code / 5 % 5, code % 5}, place};
      if (u.at[place] == 0 && std::none_of(u.at + place + 1, u.at + 4, [](int b) { return b == 0; }))
        all.push_back(u);
    }
  return all;
}

/// int22 has no N in the file: the worst of the four letters stands for it.
void fill_unknown(Energies& e) {
  const std::vector<Unknown> all = unknown_places();
  for (auto& of_pair : e.int22)
    for (auto& t : of_pair)
      for (auto [at, place] : all) {
        std::int32_t& worst = t[at[0]][at[1]][at[2]][at[3]];
        worst = -kNone;
        for (at[place] = 1; at[place] < kBases; ++at[place])
          worst = std::max(worst, t[at[0]][at[1]][at[2]][at[3]]);
      }
}

class Reader {
 public:
  Reader(std::string_view content, const std::string& name, EnergyTables& tables)
      : words_(content, name), name_(name), tables_(tables) {}

  void read() {
    while (const std::optional<Word> word = words_.next()) {
      if (!words_.is_section())
        words_.fail(
            *word, fmt::format("a section's name was expected, as '# stack'; there stands '{}'", word->text));
      if (word->text == "END") return;
      section(*word);
    }
  }

 private:
  void section(const Word& name) {
    constexpr std::string_view kSuffix = "_enthalpies";
    const bool enthalpy = name.text.ends_with(kSuffix);
    const std::string_view stem = name.text.substr(0, name.text.size() - (enthalpy ? kSuffix.size() : 0));
    Energies& e = enthalpy ? tables_.enthalpy : tables_.free;
    bool known = false;
    visit_tables(e, [&](std::string_view table, auto& values, const Indices& indices, bool infinite) {
      if (table != stem) return;
      known = true;
      numbers(name, places_of<std::int32_t>(values, indices), infinite);
    });
    if (stem == "int22") fill_unknown(e);
    if (known) return;
    Energies &g = tables_.free, &h = tables_.enthalpy;
    std::int32_t unused = 0;
    if (name.text == "ML_params")
      return numbers(name, {&g.multi_base, &h.multi_base, &g.multi_closing, &h.multi_closing, &g.multi_intern,
                            &h.multi_intern});
    if (name.text == "NINIO") return numbers(name, {&g.asymmetry, &h.asymmetry, &tables_.most_asymmetry});
    if (name.text == "Misc") {
      numbers(name, {&unused, &unused, &g.terminal_au, &h.terminal_au}, false, true);
      return;
    }
    if (name.text == "Triloops") return loops(name, 5, g.triloops, h.triloops);
    if (name.text == "Tetraloops") return loops(name, 6, g.tetraloops, h.tetraloops);
    if (name.text == "Hexaloops") return loops(name, 8, g.hexaloops, h.hexaloops);
    words_.fail(name, fmt::format("'{}' is no section of a parameter file of format 2.0", name.text));
  }

  std::optional<Word> inside() {
    std::optional<Word> word = words_.next();
    if (word && words_.is_section()) {
      words_.back(*word, true);
      word.reset();
    }
    return word;
  }

  /// @param infinite  a loop may be impossible
  /// @param long_loop  two more numbers may follow: Misc's lxc
  void numbers(const Word& name, const Places& places, bool infinite = false, bool long_loop = false) {
    std::size_t count = 0;
    while (const std::optional<Word> word = inside()) {
      if (count < places.size()) {
        if (word->text != "DEF" && word->text != "*") *places[count] = number(*word, infinite);
      } else if (long_loop && count == places.size()) {
        const char* end = word->text.data() + word->text.size();
        double value = 0;
        if (std::from_chars(word->text.data(), end, value).ptr != end || !(std::abs(value) <= kMost))
          words_.fail(*word, fmt::format("'{}' is no number, or beyond +-{}", word->text, kMost));
        tables_.long_loop = value;
      } else if (!long_loop || count > places.size() + 1) {
        words_.fail(*word, fmt::format("section {} has {} numbers; one more stands here: '{}'", name.text,
                                       places.size(), word->text));
      }
      ++count;
    }
    if (count < places.size())
      words_.fail(name,
                  fmt::format("section {} has {} numbers; {} are here", name.text, places.size(), count));
  }

  std::int32_t number(const Word& word, bool infinite) {
    if (word.text == "INF" && infinite) return kNone;
    std::int32_t value = 0;
    const char* end = word.text.data() + word.text.size();
    const std::from_chars_result result = std::from_chars(word.text.data(), end, value);
    if (result.ec != std::errc() || result.ptr != end)
      words_.fail(word, fmt::format("'{}' is no whole number [0.01 kcal/mol]{} or DEF", word.text,
                                    infinite ? ", INF" : ""));
    if (value < -kMost || value > kMost)
      words_.fail(word, fmt::format("{} is beyond +-{} [0.01 kcal/mol]", value, kMost));
    return value;
  }

  void loops(const Word& name, std::size_t length, SpecialLoops& free, SpecialLoops& enthalpy) {
    free.clear(), enthalpy.clear();
    while (const std::optional<Word> word = inside()) {
      std::string letters(word->text);
      std::ranges::replace(letters, 'T', 'U');
      if (letters.size() != length || letters.find_first_not_of("ACGU") != std::string::npos)
        words_.fail(*word, fmt::format("{} letters of A, C, G, U were expected in {}; there stands '{}'",
                                       length, name.text, word->text));
      for (SpecialLoops* to : {&free, &enthalpy}) {
        const std::optional<Word> value = inside();
        if (!value) words_.fail(words_.end(), fmt::format("two numbers were expected behind {}", letters));
        to->emplace_back(letters, number(*value, false));
      }
    }
  }

  Words words_;
  const std::string& name_;
  EnergyTables& tables_;
};

std::shared_ptr<const EnergyTables> turner2004() {
  static const std::shared_ptr<const EnergyTables> tables = [] {
    auto made = std::make_shared<EnergyTables>();
    Reader(embedded::turner2004_par.substr(embedded::turner2004_par.find('\n')), "turner2004.par", *made)
        .read();
    return made;
  }();
  return tables;
}

}  // namespace

void give_unknown(const Energies& e, LoopNumbers<double>& said) {
  std::vector<Unknown> all = unknown_places();
  std::ranges::reverse(all);
  for (std::size_t outer = 0; outer < kPairs; ++outer)
    for (std::size_t inner = 0; inner < kPairs; ++inner)
      for (auto [at, place] : all) {
        const auto& t = e.int22[outer][inner];
        auto& to = said.int22[outer][inner];
        const double moved = std::exchange(to[at[0]][at[1]][at[2]][at[3]], 0.);
        const std::int32_t worst = t[at[0]][at[1]][at[2]][at[3]];
        at[place] = 1;
        while (t[at[0]][at[1]][at[2]][at[3]] != worst && at[place] < kBases - 1) ++at[place];
        to[at[0]][at[1]][at[2]][at[3]] += moved;
      }
}

Parameters::Parameters() : tables_(turner2004()) {}
Parameters::Parameters(std::shared_ptr<const EnergyTables> tables) : tables_(std::move(tables)) {
  if (!tables_) throw BadInput("parameters: no tables were given");
}
const EnergyTables& Parameters::tables() const {
  if (!tables_) throw BadInput("parameters: they were moved from");
  return *tables_;
}

Parameters parse_parameters(std::string_view content, const std::string& name) {
  const std::string_view first = content.substr(0, content.find('\n'));
  if (!first.starts_with("## RNAfold parameter file v2.0"))
    throw ParseError({name, 1, 1}, "the first line of a parameter file is '## RNAfold parameter file v2.0'");
  auto tables = std::make_shared<EnergyTables>(*turner2004());
  std::string blanked(first.size(), ' ');  // so that places in messages are the file's
  blanked += content.substr(first.size());
  Reader(blanked, name, *tables).read();
  return Parameters(std::move(tables));
}

Parameters read_parameters(const std::filesystem::path& path) {
  return parse_parameters(read_file(path), path.string());
}

}  // namespace warploom::fold
