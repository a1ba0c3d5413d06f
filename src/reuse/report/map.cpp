#include "reuse/report/map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include "reuse/report/parts.hpp"

namespace warploom::reuse {

std::string object_id(std::size_t kernel, std::size_t object) {
  return fmt::format("k{}-o{}", kernel, object);
}

namespace {

/// The stretches of an object's life. Gaps of up to four lines are closed: labels, blank lines and .loc
/// directives leave them between instructions that follow each other.
std::vector<std::pair<std::uint32_t, std::uint32_t>> lives(const ObjectReport& object) {
  constexpr std::uint32_t kEmptyLines = 4;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> out;
  for (const auto& [begin, end] : object.live_lines) {
    if (!out.empty() && begin <= out.back().second + kEmptyLines)
      out.back().second = std::max(out.back().second, end);
    else
      out.emplace_back(begin, end);
  }
  return out;
}

/// Program points across: the lines where something happens, and between them space that grows with the
/// logarithm of the lines left out.
class Axis {
 public:
  explicit Axis(const KernelReport& kernel) {
    for (const ObjectReport& object : kernel.objects)
      for (const auto& [begin, end] : lives(object)) points_.insert(points_.end(), {begin, end});
    for (const BarrierReport& barrier : kernel.barriers) points_.push_back(barrier.at.ptx_line);
    for (const ObjectReport& object : kernel.objects)
      for (const auto* lines : {&object.store_lines, &object.load_lines})
        for (const std::uint32_t line : *lines) {
          low_ = std::min(low_, line);
          high_ = std::max(high_, line);
        }
    if (low_ <= high_) points_.insert(points_.end(), {low_, high_ + 1});
    if (points_.empty()) points_ = {kernel.first_line, kernel.last_line + 1};
    std::ranges::sort(points_);
    points_.erase(std::unique(points_.begin(), points_.end()), points_.end());
    if (points_.size() == 1) points_.push_back(points_.front() + 1);
    percent_.push_back(0);
    for (std::size_t i = 1; i < points_.size(); ++i)
      percent_.push_back(percent_.back() + std::log2(2.0 + (points_[i] - points_[i - 1])));
    for (double& x : percent_) x *= 100 / percent_.back();
  }

  /// Where a PTX line lies [percent of the width].
  double operator()(std::uint32_t line) const {
    if (line <= points_.front()) return 0;
    if (line >= points_.back()) return 100;
    const auto next = static_cast<std::size_t>(std::ranges::upper_bound(points_, line) - points_.begin());
    const double begin = points_[next - 1], end = points_[next];
    return percent_[next - 1] + (percent_[next] - percent_[next - 1]) * (line - begin) / (end - begin);
  }

  const std::vector<std::uint32_t>& points() const { return points_; }

 private:
  std::vector<std::uint32_t> points_;
  std::vector<double> percent_;
  std::uint32_t low_ = UINT32_MAX, high_ = 0;
};

constexpr double kNarrowScreen = 290,
                 kWideScreen = 520;  // what a map measures at least on phone and desk [px]
constexpr double kLetter = 6.6;      // of the map's font [px]

/// "" where `text` fits on every screen, "wide" where it only fits on a wide one, nullptr if on none.
const char* fits(double percent, std::string_view text) {
  const double needed = static_cast<double>(text.size()) * kLetter + 10;
  if (percent / 100 * kNarrowScreen >= needed) return "";
  return percent / 100 * kWideScreen >= needed ? " wide" : nullptr;
}

/// The lines with a number: the barriers, or the ends of lives where there are none.
std::vector<std::uint32_t> ticks(const KernelReport& kernel, const std::vector<std::uint32_t>& points) {
  std::vector<std::uint32_t> lines;
  for (const BarrierReport& barrier : kernel.barriers) lines.push_back(barrier.at.ptx_line);
  if (lines.size() < 2) lines.insert(lines.end(), points.begin(), points.end());
  std::ranges::sort(lines);
  return lines;
}

/// Source lines tell the ticks apart only where not most of them come from the same one (an inlined call).
bool in_source_lines(const KernelReport& kernel, const std::vector<std::uint32_t>& lines) {
  std::set<std::pair<std::string, std::uint32_t>> different;
  for (const std::uint32_t line : lines)
    if (const SourcePosition at = source_of(kernel, line); !at.file.empty())
      different.emplace(at.file, at.line);
  return 2 * different.size() >= lines.size();
}

/// The file that source lines on the axis mean: other files' lines get no number.
std::string main_file(const KernelReport& kernel) {
  return !kernel.at.file.empty() || kernel.lines.empty() ? kernel.at.file : kernel.lines.front().file;
}

class Map {
 public:
  Map(const KernelReport& kernel, std::size_t number, const Axis& axis, double height, double pixels_per_byte)
      : kernel_(kernel), number_(number), axis_(axis), height_(height), scale_(pixels_per_byte) {}

  std::string draw(const Layout& layout, bool after) {
    top_ = std::max(height_ - static_cast<double>(layout.bytes) * scale_, 0.0);
    out_ = fmt::format(
        "<svg class=\"map\" width=\"100%\" height=\"{:.0f}\" role=\"group\" aria-label=\"Memory map {}, {} bytes\">"
        "<rect class=\"ground\" y=\"{:.1f}\" width=\"100%\" height=\"{:.1f}\"/>",
        height_, after ? "after" : "before", grouped(layout.bytes), top_, height_ - top_);
    if (top_ >= 1) out_ += fmt::format("<rect class=\"saved\" width=\"100%\" height=\"{:.1f}\"/>", top_);
    if (top_ >= 56)  // room for the words above the marks of inserted barriers
      out_ += fmt::format(
          "<text class=\"axis\" x=\"50%\" y=\"{:.1f}\" text-anchor=\"middle\">{} bytes saved</text>",
          (top_ - 20) / 2 + 4,
          grouped(kernel_.bytes_before - std::min(kernel_.bytes_before, kernel_.bytes_after)));
    byte_axis(layout);
    for (std::size_t i = 0; i < kernel_.objects.size(); ++i) object(i, layout.offsets[i], after);
    for (const BarrierReport& barrier : kernel_.barriers)
      if (after || !barrier.inserted) this->barrier(barrier);
    program_axis();
    out_ += labels_ + "</svg>";
    return std::move(out_);
  }

 private:
  struct Box {
    double top, height;
  };
  /// Small objects keep four pixels, so that they can be seen.
  Box box(std::uint64_t offset, std::uint64_t bytes) const {
    const double tall = std::max(static_cast<double>(bytes) * scale_, 4.0);
    const double bottom = std::max(height_ - static_cast<double>(offset) * scale_, tall);
    return {bottom - tall, tall};
  }

  void byte_axis(const Layout& layout) {
    std::vector<std::uint64_t> marks = {0, layout.bytes};
    for (std::size_t i = 0; i < layout.offsets.size(); ++i)
      for (const std::uint64_t mark : {layout.offsets[i], layout.offsets[i] + kernel_.objects[i].bytes}) {
        const bool free = std::ranges::all_of(marks, [&](std::uint64_t known) {
          return std::abs(static_cast<double>(known) - static_cast<double>(mark)) * scale_ >= 16;
        });
        if (free) marks.push_back(mark);
      }
    for (const std::uint64_t mark : marks) {
      const double y = height_ - static_cast<double>(mark) * scale_;
      out_ += fmt::format(
          "<line class=\"grid\" x1=\"-4\" x2=\"100%\" y1=\"{0:.1f}\" y2=\"{0:.1f}\"/>"
          "<text class=\"axis\" x=\"-8\" y=\"{1:.1f}\" text-anchor=\"end\">{2}</text>",
          y, y + 4, grouped(mark));
    }
  }

  void object(std::size_t i, std::uint64_t offset, bool after) {
    const ObjectReport& of = kernel_.objects[i];
    const Box at = box(offset, of.bytes);
    out_ += fmt::format("<g class=\"object\" data-o=\"{}\" style=\"--h:{}\">", i, hue(i));
    if (!after || !of.shares)
      out_ += fmt::format("<rect class=\"reserved\" y=\"{:.1f}\" width=\"100%\" height=\"{:.1f}\"/>", at.top,
                          at.height);
    for (const auto& [begin, end] : lives(of)) {
      const double x = axis_(begin), wide = std::max(axis_(end) - x, 0.4);
      const std::string about =
          fmt::format("{}: {} bytes at offset {}, alive from {} to {}", escaped(of.name), grouped(of.bytes),
                      grouped(offset), place(begin), place(end > begin ? end - 1 : end));
      out_ += fmt::format(
          "<a href=\"#{}\" aria-label=\"{}\"><title>{}</title><svg x=\"{:.2f}%\" y=\"{:.1f}\" width=\"{:.2f}%\" height=\"{:.1f}\">"
          "<rect class=\"life\" width=\"100%\" height=\"100%\"/>",
          object_id(number_, i), about, about, x, at.top, wide, at.height);
      accesses(of.store_lines, begin, end, x, wide, at.height, true);
      accesses(of.load_lines, begin, end, x, wide, at.height, false);
      out_ += "</svg></a>";
      label(i, x, wide, at);
    }
    out_ += "</g>";
  }

  /// Name and size in the middle of a rectangle, where they fit; drawn last, above the barriers.
  void label(std::size_t i, double x, double wide, const Box& at) {
    const ObjectReport& of = kernel_.objects[i];
    const bool two_lines = at.height >= 40;
    const auto text = [&](const std::string& words, double y, const char* kind) {
      if (const char* screens = fits(wide, words); screens && at.height >= 14)
        labels_ += fmt::format(
            "<svg class=\"label{}\" data-o=\"{}\" style=\"--h:{}\" x=\"{:.2f}%\" y=\"{:.1f}\" width=\"{:.2f}%\" height=\"{:.1f}\">"
            "<text class=\"{}\" x=\"50%\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text></svg>",
            screens, i, hue(i), x, at.top, wide, at.height, kind, y, escaped(words));
    };
    text(of.name, at.height / 2 + (two_lines ? -3 : 4), "name");
    if (two_lines) text(grouped(of.bytes) + " B", at.height / 2 + 12, "size");
  }

  /// Stores as marks on the lower edge, loads on the upper one; at most one each half percent of the map.
  void accesses(const std::vector<std::uint32_t>& lines, std::uint32_t begin, std::uint32_t end, double x,
                double wide, double tall, bool store) {
    if (tall < 18) return;
    double last = -1;
    for (const std::uint32_t line : lines) {
      const double at = axis_(line);
      if (line < begin || line >= end || (last >= 0 && at - last < 0.5)) continue;
      last = at;
      out_ += fmt::format("<rect class=\"{}\" x=\"{:.1f}%\" y=\"{:.1f}\" width=\"2\" height=\"5\"/>",
                          store ? "store" : "load", std::min((at - x) / wide * 100, 99.0),
                          store ? tall - 5 : 0.0);
    }
  }

  void barrier(const BarrierReport& of) {
    std::vector<std::string> pairs;
    for (const auto& [first, second] : of.separates)
      pairs.push_back(kernel_.objects.at(first).name + " from " + kernel_.objects.at(second).name);
    const std::string about =
        fmt::format("{} before {}{}", of.inserted ? "Inserted barrier" : "Barrier", where_both(of.at),
                    pairs.empty() ? "" : ", keeps " + listed(pairs) + " apart");
    const double x = axis_(of.at.ptx_line);
    out_ += fmt::format(
        "<g class=\"barrier {0}\" role=\"img\" aria-label=\"{1}\"><title>{1}</title>"
        "<line class=\"touch\" x1=\"{2:.2f}%\" x2=\"{2:.2f}%\" y1=\"{3:.1f}\" y2=\"100%\"/>"
        "<line x1=\"{2:.2f}%\" x2=\"{2:.2f}%\" y1=\"{3:.1f}\" y2=\"100%\"/>",
        of.inserted ? "inserted" : "found", escaped(about), x, top_ - 6);
    if (of.inserted)
      out_ += fmt::format(
          "<circle cx=\"{0:.2f}%\" cy=\"{1:.1f}\" r=\"8\"/><text x=\"{0:.2f}%\" y=\"{2:.1f}\" text-anchor=\"middle\">+</text>",
          x, top_ - 12, top_ - 7.5);
    out_ += "</g>";
  }

  /// Line numbers at barriers, or at the ends of lives where there are none.
  void program_axis() {
    const std::vector<std::uint32_t> lines = ticks(kernel_, axis_.points());
    const bool source = in_source_lines(kernel_, lines);
    double last_wide = -100, last_narrow = -100;
    for (const std::uint32_t line : lines) {
      const SourcePosition at = source_of(kernel_, line);
      if (source && at.file != main_file(kernel_)) continue;
      const double x = axis_(line);
      if (x - last_wide < 8) continue;
      last_wide = x;
      const bool narrow_too = x - last_narrow >= 15;
      if (narrow_too) last_narrow = x;
      out_ +=
          fmt::format("<text class=\"axis{}\" x=\"{:.2f}%\" y=\"{:.0f}\" text-anchor=\"middle\">{}</text>",
                      narrow_too ? "" : " wide", x, height_ + 16, source ? at.line : line);
    }
  }

  std::string place(std::uint32_t ptx_line) const {
    return escaped(where_both(source_of(kernel_, ptx_line)));
  }

  const KernelReport& kernel_;
  std::size_t number_;
  const Axis& axis_;
  double height_, scale_, top_ = 0;  ///< pixels; pixels per byte; the upper end of the memory [pixels]
  std::string out_, labels_;
};

}  // namespace

std::string memory_map(const KernelReport& kernel, std::size_t number) {
  const Layout before = layout_before(kernel), after = layout_after(kernel);
  const Axis axis(kernel);
  const double rows = static_cast<double>(kernel.objects.size());
  const double tall = kernel.objects.size() == 1 ? 72 : std::clamp(34 * rows, 220.0, 560.0);
  const double scale = tall / static_cast<double>(std::max({before.bytes, after.bytes, std::uint64_t{1}}));
  const std::string unit = in_source_lines(kernel, ticks(kernel, axis.points()))
                               ? "line of " + escaped(file_name(main_file(kernel)))
                               : "PTX line";
  const auto figure = [&](const Layout& layout, std::uint64_t bytes, bool is_after,
                          const std::string& title) {
    return fmt::format(
        "<figure><figcaption>{} <b>{} bytes</b></figcaption><div class=\"plot\">{}</div><p class=\"axis-title\">{} &#8594;</p></figure>",
        title, grouped(bytes), Map(kernel, number, axis, tall, scale).draw(layout, is_after), unit);
  };
  if (kernel.verdict != Verdict::rewritten) return figure(before, kernel.bytes_before, false, "As it is:");
  return figure(before, kernel.bytes_before, false, "Before:") +
         figure(after, kernel.bytes_after, true, "After:");
}

}  // namespace warploom::reuse
