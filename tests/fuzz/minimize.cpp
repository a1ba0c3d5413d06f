#include "fuzz/minimize.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <vector>

namespace warploom::fuzz {
namespace {

using Lines = std::vector<std::string>;

Lines split(const std::string& text) {
  Lines lines(1);
  for (const char c : text)
    if (c == '\n')
      lines.emplace_back();
    else
      lines.back() += c;
  if (lines.back().empty()) lines.pop_back();
  return lines;
}

std::string join(const Lines& lines) {
  std::string text;
  for (const std::string& line : lines) (text += line) += '\n';
  return text;
}

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '%' || c == '$';
}

class Minimizer {
 public:
  Minimizer(const std::string& text, const std::function<bool(const std::string&)>& fails)
      : lines_(split(text)), fails_(fails) {}

  std::string run() {
    bool smaller = true;
    while (smaller) {
      smaller = leave_out_lines();
      smaller = leave_out_labels() || smaller;
      smaller = simplify_lines() || smaller;
    }
    return join(lines_);
  }

 private:
  bool try_lines(Lines candidate) {
    if (!fails_(join(candidate))) return false;
    lines_ = std::move(candidate);
    return true;
  }

  bool leave_out_lines() {
    bool any = false;
    for (std::size_t chunk = std::max<std::size_t>(1, lines_.size() / 2); chunk > 0; chunk /= 2) {
      // From the end: what comes later depends on what comes before.
      for (std::size_t end = lines_.size(); end > 0;) {
        const std::size_t begin = end > chunk ? end - chunk : 0;
        Lines candidate(lines_.begin(), lines_.begin() + static_cast<std::ptrdiff_t>(begin));
        candidate.insert(candidate.end(), lines_.begin() + static_cast<std::ptrdiff_t>(end), lines_.end());
        any = try_lines(std::move(candidate)) || any;
        end = std::min(begin, lines_.size());
      }
    }
    return any;
  }

  /// A label and what branches to it go only together.
  bool leave_out_labels() {
    bool any = false;
    for (std::size_t l = 0; l < lines_.size(); ++l) {
      if (lines_[l].size() < 2 || lines_[l].back() != ':') continue;
      const std::string label = lines_[l].substr(0, lines_[l].size() - 1);
      Lines candidate;
      for (const std::string& line : lines_)
        if (!names(line, label)) candidate.push_back(line);
      if (candidate.size() < lines_.size() && try_lines(std::move(candidate))) any = true, l = 0;
    }
    return any;
  }

  static bool names(const std::string& line, const std::string& word) {
    for (std::size_t at = line.find(word); at != std::string::npos; at = line.find(word, at + 1))
      if ((at == 0 || !is_word(line[at - 1])) &&
          (at + word.size() == line.size() || !is_word(line[at + word.size()])))
        return true;
    return false;
  }

  bool simplify_lines() {
    bool any = false;
    for (std::size_t l = 0; l < lines_.size(); ++l)
      for (const std::string& simpler : simpler_lines(lines_[l])) {
        Lines candidate = lines_;
        candidate[l] = simpler;
        if (!try_lines(std::move(candidate))) continue;
        any = true;
        --l;  // and simpler still
        break;
      }
    return any;
  }

  /// Each is shorter, or has a smaller number or a constant in place of a register: there is an end.
  static Lines simpler_lines(const std::string& line) {
    Lines all;
    if (line.empty() || line.starts_with(".reg")) return all;
    if (line[0] == '@')
      if (const std::size_t end = line.find(' '); end != std::string::npos)
        all.push_back(line.substr(end + 1));
    for (const std::string_view part : {".volatile", ".uni", ".warp"})
      if (const std::size_t at = line.find(part); at != std::string::npos)
        all.push_back(line.substr(0, at) + line.substr(at + part.size()));
    bool first_operand = true;
    for (std::size_t at = 0; at < line.size();) {
      if (!is_word(line[at])) {
        first_operand = first_operand && line[at] != ',';
        ++at;
        continue;
      }
      std::size_t end = at;
      while (end < line.size() && is_word(line[end])) ++end;
      const std::string word = line.substr(at, end - at);
      const auto with = [&](const std::string& other) {
        all.push_back(line.substr(0, at) + other + line.substr(end));
      };
      if (std::all_of(word.begin(), word.end(), [](unsigned char c) { return std::isdigit(c) != 0; }) &&
          word.size() < 10 && !line.substr(0, at).ends_with(".align ")) {
        const long value = std::stol(word);
        for (const long smaller : {0L, 1L, 4L, value / 2, value - 1})
          if (smaller < value && smaller >= 0 && (smaller < value - 1 || value < 100))
            with(std::to_string(smaller));
      } else if (word[0] == '%' && !first_operand) {
        with("1");
      }
      at = end;
    }
    return all;
  }

  Lines lines_;
  const std::function<bool(const std::string&)>& fails_;
};

}  // namespace

std::string minimize_text(std::string text, const std::function<bool(const std::string&)>& fails) {
  return Minimizer(text, fails).run();
}

}  // namespace warploom::fuzz
