#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"
#include "warploom/core/parse.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/count/count.hpp"
#include "warploom/io/gzip.hpp"

namespace warploom::table {
namespace {

constexpr std::size_t kBatchBytes = 1 << 22;  // bytes of text a batch

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
      if (field_ == 0) throw BadInput("`column` 0: columns are counted from 1");
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

/// Hands the words of lines on.
class Lines {
 public:
  Lines(const Column& column, const std::string& name, const TakeWords& take)
      : fields_(column, name), take_(take) {}

  /// Takes all lines that are complete, or all of the last piece. @return what is left
  std::string_view take(std::string_view text, bool last) {
    words_.clear();
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      if (end == text.npos && !last) break;
      if (const auto word = fields_.take(text.substr(0, end))) words_.push_back(*word);
      text.remove_prefix(end == text.npos ? text.size() : end + 1);
    }
    if (!words_.empty()) take_(words_);
    return text;
  }

 private:
  Fields fields_;
  const TakeWords& take_;
  std::vector<std::string_view> words_;
};

}  // namespace

void for_each_words(std::string content, const std::string& name, const Column& column, const TakeWords& take,
                    std::uint64_t max_bytes) {
  if (!take) throw BadInput(fmt::format("{}: no function was given that takes the words", name));
  const std::string whole = io::uncompressed(std::move(content), name, max_bytes);
  Lines lines(column, name, take);
  Progress progress("counting", whole.size(), "bytes");
  for (std::string_view text = whole; !text.empty();) {
    // To the end of a line, however long.
    const std::size_t end = text.size() <= kBatchBytes ? text.npos : text.find('\n', kBatchBytes);
    const std::string_view piece = text.substr(0, end == text.npos ? end : end + 1);
    lines.take(piece, true);
    text.remove_prefix(piece.size());
    progress.advance(piece.size());
  }
}

void for_each_words(const std::filesystem::path& path, const Column& column, const TakeWords& take,
                    std::uint64_t max_bytes) {
  if (!take) throw BadInput(fmt::format("{}: no function was given that takes the words", path.string()));
  const InputFile file(path);
  std::string text(kBatchBytes, '\0');
  const bool seekable = file.size().has_value();
  const std::size_t begin =
      seekable ? file.read_at(0, std::span(text).first(std::min<std::size_t>(kBatchBytes, 64))) : 0;
  if (!seekable || io::is_gzip(std::string_view(text).substr(0, begin)))
    return for_each_words(file.contents(max_bytes), path.string(), column, take, max_bytes);
  Lines lines(column, path.string(), take);
  Progress progress("counting", *file.size(), "bytes");
  std::size_t kept = 0;  // of the text, an incomplete line
  for (std::uint64_t offset = 0;;) {
    if (text.size() < 2 * kept) text.resize(2 * kept);
    const std::size_t read = file.read_at(offset, std::span(text).subspan(kept));
    const bool last = read < text.size() - kept;
    const std::string_view left = lines.take(std::string_view(text).substr(0, kept + read), last);
    kept = left.size();
    std::memmove(text.data(), left.data(), kept);
    offset += read;
    progress.advance(read);
    if (last) return;
  }
}

}  // namespace warploom::table
