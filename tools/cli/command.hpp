#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "warploom/core/device.hpp"
#include "warploom/core/run.hpp"

/// What a verb can be asked, as data. parser.cpp alone knows the library that reads command lines; the help,
/// the man pages and the completion of shells are written from the same data.
namespace warploom::tool {

struct Verb;

/// Of a flag: how often it stands there.
struct Count {
  int* value = nullptr;
};

/// Where a value goes. A function is called with each value as it was written, and throws BadInput if it is
/// none.
using Target = std::variant<std::string*, std::vector<std::string>*, int*, unsigned*, std::int64_t*,
                            std::uint64_t*, double*, std::optional<int>*, std::optional<double>*,
                            std::function<void(const std::string&)>, bool*, Count,
                            std::function<void()>>;  // the last three of flags, which have no value

/// An option, flag or positional.
struct Option {
  using Whole = std::pair<std::int64_t, std::int64_t>;
  using Natural = std::pair<std::uint64_t, std::uint64_t>;
  using Real = std::pair<double, double>;

  std::string names;  ///< "-o,--output"; without dashes a positional
  Target target;
  std::string help;       ///< with unit and [default]
  std::string type_name;  ///< what stands for the value in --help: "N"
  std::string group;      ///< the heading under which --help lists it
  std::variant<std::monostate, Whole, Natural, Real> limits;
  std::variant<std::monostate, std::vector<int>, std::vector<std::string>> choices;
  std::vector<std::string> suggested;  ///< what completion offers where any text is taken
  bool is_required = false, is_repeated = false, is_hidden = false, shows_default = false;

  /// Of a positional; of an option it stands behind its name.
  Option& type(std::string_view text) { return type_name = text, *this; }
  Option& required() { return is_required = true, *this; }
  /// May stand several times, with one value each, as an option with a vector may without this.
  Option& repeated() { return is_repeated = true, *this; }
  Option& hidden() { return is_hidden = true, *this; }
  Option& show_default() { return shows_default = true, *this; }
  /// The least and the greatest value that is taken.
  template <class T>
  Option& range(T least, T most) {
    if constexpr (std::is_floating_point_v<T>)
      limits = Real{least, most};
    else if constexpr (std::is_unsigned_v<T>)
      limits = Natural{least, most};
    else
      limits = Whole{least, most};
    return *this;
  }
  Option& among(std::vector<int> values) { return choices = std::move(values), *this; }
  Option& among(std::vector<std::string> values) { return choices = std::move(values), *this; }

  /// What completion offers; the target itself refuses what is none.
  Option& suggest(std::vector<std::string> values) { return suggested = std::move(values), *this; }

  /// The last of its names, "--output".
  std::string_view name() const { return std::string_view(names).substr(names.find_last_of(',') + 1); }
  bool is_positional() const { return names.front() != '-'; }
  bool is_flag() const;  ///< has no value
  /// May stand, or its value may, more than once.
  bool takes_many() const { return is_repeated || std::holds_alternative<std::vector<std::string>*>(target); }
  /// What stands for its value: "FILE"; empty of a flag.
  std::string value_name() const;
  /// Values that completion offers: those it takes, or those suggested.
  std::vector<std::string> values() const;
};

/// The options of the tool or of one verb, and its own verbs, as `chain` of dp.
class Command {
 public:
  struct Sub {
    std::unique_ptr<Command> command;
    std::function<int()> action;
    bool chosen = false;
  };

  std::string name;     ///< of the verb; "warploom" of the tool itself
  std::string summary;  ///< as Verb::summary
  std::string example;  ///< as Verb::example
  const Command* parent = nullptr;

  /// @param names  "-o,--output FILE", with what stands for the value in --help; "FILE" is a positional
  Option& add(std::string_view names, Target target, std::string help = "");
  /// The heading of --help for what is declared from here on; "" is "Options".
  void group(std::string_view heading) { group_ = heading; }
  /// `--json`: the result for machines, on standard output, instead of text.
  void add_json(bool& json);
  /// `--force`: what OutputFiles::add() is told.
  void add_force(bool& force);
  /// `--device`, as parse_devices() takes it, for Run::devices.
  void add_device(std::vector<Device>& devices);
  /// `--threads`, for Run::threads.
  void add_threads(unsigned& threads);
  /// Both, of a verb that computes on the CPU or on a GPU.
  void add_run(Run& run);
  /// Declares verbs of this verb's own, and returns what runs the one that was chosen. What this verb has, -v
  /// among it, may stand behind them too.
  /// @param kind  of them, for the message where none was chosen: "problem"
  std::function<int()> add_verbs(std::string_view kind, std::span<const Verb> verbs);
  /// What is not known is another program's: rest() has it.
  void pass_on() { passes_on_ = true; }

  /// What stands behind "--" is another command line: rest() has it.
  void take_command_line() { takes_command_line_ = true; }

  const std::deque<Option>& options() const { return options_; }
  const std::deque<Sub>& subs() const { return subs_; }
  bool passes_on() const { return passes_on_; }
  bool takes_command_line() const { return takes_command_line_; }
  /// Its verb of that name; null for none.
  const Command* find(std::string_view sub) const;
  const Command& root() const { return parent == nullptr ? *this : parent->root(); }
  /// "warploom dp chain"
  std::string path() const { return parent == nullptr ? name : parent->path() + " " + name; }

  // After parsing:
  /// One for each occurrence, in the order of the command line.
  const std::vector<const Option*>& given() const { return given_; }
  bool was_given(std::string_view option) const;
  const Sub* chosen() const;  ///< its verb that was given; null for none
  const std::vector<std::string>& rest() const { return rest_; }

 private:
  friend class Parser;
  std::string group_;
  std::deque<Option> options_;
  std::deque<Sub> subs_;
  bool passes_on_ = false, takes_command_line_ = false;
  std::vector<const Option*> given_;
  std::vector<std::string> rest_;
};

}  // namespace warploom::tool
