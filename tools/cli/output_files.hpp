#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace warploom::tool {

/// What holds for the OutputFiles of a thread that works for others, see OutputRulesScope.
struct OutputRules {
  std::string tag;  ///< stands in hidden names, so that somebody else can tell whose they are
  std::function<bool(const std::filesystem::path&)> may_replace;  ///< also without --force
  std::function<void(const std::vector<std::filesystem::path>&)> before_commit;
};

/// While it lives, OutputFiles of its thread follow these rules.
class OutputRulesScope {
 public:
  explicit OutputRulesScope(const OutputRules& rules);
  OutputRulesScope(const OutputRulesScope&) = delete;
  OutputRulesScope& operator=(const OutputRulesScope&) = delete;
  ~OutputRulesScope();

 private:
  const OutputRules* outer_;
};

/// The files of one run, which appear all together or not at all: each is written under a hidden name beside
/// its own and gets its own when all are complete. What is not committed is removed, and so are folders that
/// were made for it. All verbs write their files through this.
class OutputFiles {
 public:
  OutputFiles();
  OutputFiles(const OutputFiles&) = delete;
  OutputFiles& operator=(const OutputFiles&) = delete;
  ~OutputFiles();

  /// Folders that are missing on the way to it are made. What is there and no regular file (/dev/null, a
  /// pipe) is written in place.
  /// @param replace  an existing file is no error: --force
  /// @throws BadInput (an empty name; its folder cannot be made or written to; it exists, is a folder, or was
  /// added
  ///         before)
  void add(const std::filesystem::path& path, bool replace);

  /// Calls `writer` with the name under which to write a file that was added: the same directory and ending.
  /// Safe from any thread. @throws what it throws, about the file's own name
  void write(const std::filesystem::path& path,
             const std::function<void(const std::filesystem::path&)>& writer) const;
  void write(const std::filesystem::path& path, std::string_view content) const;

  /// Gives every file its name. @throws BadInput; then those that already have theirs are removed, except
  /// where they replaced others
  void commit();

 private:
  struct File {
    std::filesystem::path path, target, staged;  ///< target: behind a link
    bool replaces = false;
    bool in_place = false;  ///< staged is the target itself
  };
  void make_folders(const std::filesystem::path& path, const std::filesystem::path& folder);
  std::vector<std::filesystem::path> targets() const;
  const OutputRules* rules_;  // null: none
  std::vector<File> files_;
  std::vector<std::filesystem::path> made_;  ///< folders, the inner ones last
  bool committed_ = false;
};

}  // namespace warploom::tool
