#include "words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <optional>

#include "cli/verb.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/core/threads.hpp"
#include "warploom/io/gzip.hpp"
#include "warploom/table/hash.hpp"

namespace warploom::tool {
namespace {

using table::Outcome;

constexpr std::size_t kPiece = 1 << 22;  // bytes of text a batch
/// Marks numbers that are places in the batch until its new words have theirs.
constexpr std::uint64_t kInBatch = std::uint64_t{1} << 63;

template <class Body>
void for_each_of(std::size_t count, const Body& body) {
  constexpr std::size_t kChunk = 4096;
  parallel_for(static_cast<std::int64_t>((count + kChunk - 1) / kChunk), [&](std::int64_t chunk) {
    const std::size_t begin = static_cast<std::size_t>(chunk) * kChunk;
    for (std::size_t k = begin; k < std::min(count, begin + kChunk); ++k) body(k);
  });
}

}  // namespace

Dictionary::Dictionary(const table::Options& options) : table_(options) {}

void Dictionary::keep(std::string_view word) {
  char* place = static_cast<char*>(letters_.allocate(std::max<std::size_t>(word.size(), 1), 1));
  std::ranges::copy(word, place);
  words_.emplace_back(place, word.size());
}

// A word has the first key of its own sequence, hash, mix(hash + 1), ..., that no other word has taken.
void Dictionary::number(std::span<const std::string_view> words, std::span<std::uint64_t> numbers) {
  std::vector<std::uint64_t> keys(words.size()), places(words.size()), found(words.size());
  std::vector<std::size_t> open(words.size());
  std::vector<Outcome> outcomes(words.size());
  for_each_of(words.size(), [&](std::size_t k) {
    keys[k] = std::hash<std::string_view>()(words[k]);
    places[k] = kInBatch | k;
    open[k] = k;
  });
  while (!open.empty()) {
    const table::BatchReport report = table_.run(table::Operation::insert, keys, places, outcomes, found);
    if (report.tally.full > 0) throw OutOfMemory("no memory for more different words");
    std::vector<std::uint64_t> new_keys, new_numbers;
    for (std::size_t k = 0; k < open.size(); ++k)
      if (outcomes[k] == Outcome::inserted) {
        numbers[open[k]] = words_.size();
        new_keys.push_back(keys[k]);
        new_numbers.push_back(words_.size());
        keep(words[open[k]]);
      }
    if (!new_keys.empty()) table_.run(table::Operation::assign, new_keys, new_numbers, {}, {});
    for_each_of(open.size(), [&](std::size_t k) {
      if (outcomes[k] == Outcome::inserted) return;
      const std::uint64_t number = (found[k] & kInBatch) != 0 ? numbers[found[k] & ~kInBatch] : found[k];
      if (word(number) == words[open[k]])
        numbers[open[k]] = number;
      else
        outcomes[k] = Outcome::absent;  // another word's key: try the next
    });
    std::size_t left = 0;
    for (std::size_t k = 0; k < open.size(); ++k)
      if (outcomes[k] == Outcome::absent) {
        keys[left] = table::mix(keys[k] + 1);
        places[left] = places[k];
        open[left++] = open[k];
      }
    open.resize(left);
    keys.resize(left);
    places.resize(left);
    found.resize(left);
    outcomes.resize(left);
  }
}

namespace {

class Fields {
 public:
  Fields(const Column& column, std::string name) : column_(column), name_(std::move(name)) {}

  /// The word of the next line, if it has one.
  std::optional<std::string_view> take(std::string_view line) {
    ++line_;
    if (line.ends_with('\r')) line.remove_suffix(1);
    constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
    const bool first = line_ == 1;
    if (first && line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
    if (column_.asked.empty()) return first && column_.header ? std::nullopt : std::optional(line);
    if (line.find_first_not_of(" \t") == line.npos) return std::nullopt;
    if (field_ == 0 && start(line)) return std::nullopt;
    return field(line, field_);
  }

 private:
  /// Finds the column in the first line with fields. @return whether that is a header
  bool start(std::string_view line) {
    separator_ = column_.separator;
    for (const char c : {'\t', ',', ';'})
      if (separator_ == 0 && line.find(c) != line.npos) separator_ = c;
    if (separator_ == 0) separator_ = ' ';
    if (parse_whole(column_.asked, field_)) {
      if (field_ == 0) throw BadInput("--column 0: columns are counted from 1");
      return column_.header;
    }
    std::string names;
    for (std::size_t k = 1; !at_end(line); ++k) {
      const std::string_view name = next(line);
      if (name == column_.asked) {
        field_ = k;
        return true;
      }
      names += fmt::format("{}{}", k == 1 ? "" : ", ", name);
    }
    throw BadInput(fmt::format("{}: no column '{}' in its first line; there is {}", name_, column_.asked,
                               names.size() > 200 ? names.substr(0, 200) + "..." : names));
  }

  std::string_view field(std::string_view line, std::size_t number) const {
    const std::string_view whole = line;
    for (std::size_t k = 1; !at_end(line); ++k) {
      const std::string_view found = next(line);
      if (k == number) return found;
    }
    throw ParseError({name_, static_cast<unsigned>(line_), static_cast<unsigned>(whole.size() + 1)},
                     fmt::format("the line has no column {}, the fields are separated by {}", number,
                                 separator_ == ' '    ? "blanks"
                                 : separator_ == '\t' ? "tabs"
                                                      : fmt::format("'{}'", separator_)));
  }

  bool at_end(std::string_view line) const {
    return line.data() == nullptr || (separator_ == ' ' && line.find_first_not_of(" \t") == line.npos);
  }

  /// Takes a field off the line, which is null after the last one.
  std::string_view next(std::string_view& line) const {
    if (separator_ == ' ') line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    std::size_t from = 0;
    if (line.starts_with('"'))
      if (const std::size_t quote = line.find('"', 1); quote != line.npos) from = quote;
    const std::size_t end = separator_ == ' ' ? line.find_first_of(" \t", from) : line.find(separator_, from);
    std::string_view found = line.substr(0, end);
    line = end == line.npos ? std::string_view() : line.substr(end + 1);
    if (found.size() > 1 && found.starts_with('"') && found.ends_with('"'))
      found = found.substr(1, found.size() - 2);
    return found;
  }

  const Column& column_;
  std::string name_;
  std::uint64_t line_ = 0;
  std::size_t field_ = 0;  // from 1; 0: not known yet
  char separator_ = 0;
};

}  // namespace

void for_each_words(const std::string& path, const Column& column,
                    const std::function<void(std::span<const std::string_view>)>& take) {
  const std::string name = input_name(path);
  Fields fields(column, name);
  std::vector<std::string_view> words;
  // Takes all lines that are complete, or all of the last piece. @return what is left
  const auto take_lines = [&](std::string_view text, bool last) {
    words.clear();
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      if (end == text.npos && !last) break;
      if (const auto word = fields.take(text.substr(0, end))) words.push_back(*word);
      text.remove_prefix(end == text.npos ? text.size() : end + 1);
    }
    if (!words.empty()) take(words);
    return text;
  };
  const auto take_all = [&](std::string_view text) {
    Progress progress("counting", text.size(), "bytes");
    while (!text.empty()) {
      // To the end of a line, however long.
      const std::size_t end = text.size() <= kPiece ? text.npos : text.find('\n', kPiece);
      const std::string_view piece = text.substr(0, end == text.npos ? end : end + 1);
      take_lines(piece, true);
      text.remove_prefix(piece.size());
      progress.advance(piece.size());
    }
  };
  if (path == "-") {
    const std::string text = read_standard_input();
    return take_all(io::is_gzip(text) ? io::gunzip(text, name, kMaxFileBytes) : text);
  }

  const InputFile file(path);
  std::string text(kPiece, '\0');
  const bool seekable = file.size().has_value();
  const std::size_t begin =
      seekable ? file.read_at(0, std::span(text).first(std::min<std::size_t>(kPiece, 64))) : 0;
  if (!seekable || io::is_gzip(std::string_view(text).substr(0, begin))) {
    const std::string whole = file.contents();
    return take_all(io::is_gzip(whole) ? io::gunzip(whole, name, kMaxFileBytes) : whole);
  }
  Progress progress("counting", *file.size(), "bytes");
  std::size_t kept = 0;  // of the text, an incomplete line
  for (std::uint64_t offset = 0;;) {
    if (text.size() < 2 * kept) text.resize(2 * kept);
    const std::size_t read = file.read_at(offset, std::span(text).subspan(kept));
    const bool last = read < text.size() - kept;
    const std::string_view left = take_lines(std::string_view(text).substr(0, kept + read), last);
    kept = left.size();
    std::memmove(text.data(), left.data(), kept);
    offset += read;
    progress.advance(read);
    if (last) return;
  }
}

}  // namespace warploom::tool
