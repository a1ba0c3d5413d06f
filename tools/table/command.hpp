#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/output_files.hpp"
#include "cli/verb.hpp"
#include "warploom/json/json.hpp"
#include "warploom/page/text.hpp"
#include "warploom/table/hash_table.hpp"

/// What the commands of `warploom table`, verbs of its own, share. A command is one file, table_NAME.cpp.
namespace warploom::tool {

Verb table_bench();
Verb table_applications();
Verb table_count();
Verb table_dump();
Verb table_query();
Verb table_merge();
Verb table_intersect();
Verb table_subtract();

/// Where the result goes, and which table it is made with.
struct TableSettings {
  table::Options table;
  std::string output = "-", svg;
  bool json = false, force = false;
};

/// --device, --structure, --threads, --threads-per-block, -o, --json and --force.
void add_table_options(Command& command, TableSettings& settings);

/// A run's outputs: made first, so that a bad name is known before the work is done. While it lives, all runs
/// as the options say.
class TableRun {
 public:
  /// @throws BadInput as OutputFiles::add; --svg of another ending than .svg
  /// @param others  more files, for write(); those without a name are none
  explicit TableRun(const TableSettings& settings, const std::vector<std::string>& others = {});

  /// Whether finish() writes JSON.
  bool as_json() const;
  /// Writes the picture, if one was asked for.
  void write_svg(const std::function<std::string()>& picture);
  void write(const std::string& other, std::string_view content) { files_.write(other, content); }
  void write(const std::string& other, const std::function<void(const std::filesystem::path&)>& writer) {
    files_.write(other, writer);
  }
  /// Gives all files their names, then prints what is to be printed: `text`, or `json` with --json and in a
  /// FILE.json.
  int finish(const std::string& text, const Json& json);

 private:
  const TableSettings& settings_;
  RunScope scope_;
  OutputFiles files_;
};

/// Whole numbers: "4096", "2^12", lists of them separated by commas, and A..B, which doubles from A to B.
/// @throws BadInput naming the option, the text and the limits
std::vector<std::uint64_t> parse_counts(std::string_view option, std::string_view text, std::uint64_t least,
                                        std::uint64_t most);
/// One of them.
std::uint64_t parse_count(std::string_view option, std::string_view text, std::uint64_t least,
                          std::uint64_t most);

/// Bins of a histogram of k-mers, as `jellyfish histo` has them.
inline constexpr std::size_t kHistogramBins = 10001;
/// As it writes them: how often, and how many different ones came so often; the last line gathers. Of a file
/// that ends in .svg a picture of them.
std::string kmer_histogram_text(const std::vector<std::uint64_t>& histogram, std::string_view file, int k);

using page::grouped;
/// "850 ns", "12.3 us", "4.56 ms", "1.23 s"
std::string seconds_text(double seconds);
/// "850 k/s", "12.3 M/s", "1.04 G/s"
std::string rate_text(double per_second);

/// Rows of equally many fields as columns, the first aligned left and the others right.
std::string columns(const std::vector<std::vector<std::string>>& rows);

}  // namespace warploom::tool
