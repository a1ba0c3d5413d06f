// The verbs that tell of the tool itself: help, completion and man.

#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "completion.hpp"
#include "help.hpp"
#include "man_page.hpp"
#include "output_files.hpp"
#include "verb.hpp"
#include "warploom/core/error.hpp"

namespace warploom::tool {
namespace {

/// The verb, or its own verb, that the words name; of no words the tool.
const Command& command_named(const Command& tool, const std::vector<std::string>& words) {
  const Command* at = &tool;
  for (const std::string& word : words) {
    const Command* next = at->find(word);
    if (next == nullptr) {
      std::vector<std::string> names;
      for (const Command::Sub& sub : at->subs()) names.push_back(sub.command->name);
      const std::string guess = nearest(word, names);
      throw BadInput(fmt::format("'{}' is not a verb{}{} ({} --help lists them)", word,
                                 at == &tool ? "" : " of " + at->name,
                                 guess.empty() ? "" : fmt::format("; did you mean {}?", guess), at->path()));
    }
    at = next;
  }
  return *at;
}

std::function<int()> add_help(Command& command) {
  auto words = std::make_shared<std::vector<std::string>>();
  command.add("VERB", words.get(), "The verb, and perhaps a verb of its own, as dp chain");
  return [words, &command] {
    print(help_text(command_named(command.root(), *words), bold_headings()));
    return kDone;
  };
}

std::function<int()> add_completion(Command& command) {
  auto shell = std::make_shared<std::string>();
  command.add("SHELL", shell.get(), "Which shell").among({"bash", "zsh", "fish"}).required();
  return [shell, &command] {
    print(*shell == "bash"  ? bash_completion(command.root())
          : *shell == "zsh" ? zsh_completion(command.root())
                            : fish_completion(command.root()));
    return kDone;
  };
}

struct ManSettings {
  std::vector<std::string> words;
  std::string folder;
  bool force = false;
};

std::function<int()> add_man(Command& command) {
  auto s = std::make_shared<ManSettings>();
  command.add("VERB", &s->words, "Whose page; without one, the tool's");
  command.add("--all FOLDER", &s->folder, "Write the pages of the tool and of all verbs into this folder");
  command.add_force(s->force);
  return [s, &command] {
    const Command& tool = command.root();
    if (s->folder.empty()) {
      print(man_page(command_named(tool, s->words)));
      return kDone;
    }
    OutputFiles files;
    const auto write = [&](const Command& one, const std::string& name) {
      const std::filesystem::path path = std::filesystem::path(s->folder) / name;
      files.add(path, s->force);
      files.write(path, man_page(one));
    };
    write(tool, "warploom.1");
    for (const Command::Sub& sub : tool.subs()) write(*sub.command, "warploom-" + sub.command->name + ".1");
    files.commit();
    return kDone;
  };
}

}  // namespace

Verb help_verb() {
  return {"help", "Print how the tool or a verb is used", "warploom help dp chain", &add_help};
}

Verb completion_verb() {
  return {"completion", "Print a script by which a shell completes verbs, options and values",
          "warploom completion bash > ~/.local/share/bash-completion/completions/warploom\n"
          "warploom completion zsh > ~/.zfunc/_warploom\n"
          "warploom completion fish > ~/.config/fish/completions/warploom.fish",
          &add_completion};
}

Verb man_verb() {
  return {"man", "Print the manual page of the tool or of a verb, with every option's whole text",
          "warploom man denoise | man -l -\nwarploom man --all /usr/local/share/man/man1", &add_man};
}

}  // namespace warploom::tool
