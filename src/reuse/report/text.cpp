#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "reuse/report/parts.hpp"
#include "warploom/core/error.hpp"
#include "warploom/reuse/reuse.hpp"

namespace warploom::reuse {
namespace {

/// Text for people, line by line.
class Page {
 public:
  template <typename... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    std::string text = fmt::format(format, std::forward<Args>(args)...);
    text.erase(text.find_last_not_of(' ') + 1);
    text_ += text + '\n';
  }
  void blank() { text_ += '\n'; }

  /// page::wrapped(), as lines of the page.
  void wrapped(const std::string& first, std::string_view text) { text_ += page::wrapped(first, text); }
  /// The same after a label that may be longer than its column.
  void entry(const std::string& label, std::size_t column, std::string_view text) {
    if (label.size() + 1 > column) {
      line("{}", label);
      wrapped(std::string(column, ' '), text);
    } else {
      wrapped(fmt::format("{:<{}}", label, column), text);
    }
  }

  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

std::string from_to(std::uint64_t before, std::uint64_t after) {
  return before == after ? grouped(before) : fmt::format("{} -> {}", grouped(before), grouped(after));
}

std::string limit_from_to(const OccupancyReport& row) {
  const auto text = [](const hw::Occupancy& occupancy) {
    return std::string(occupancy.blocks == 0 ? "cannot launch" : name(occupancy.limit));
  };
  return text(row.before) == text(row.after) ? text(row.before)
                                             : fmt::format("{} -> {}", text(row.before), text(row.after));
}

/// Architectures in which everything is the same share one row.
void occupancy_table(Page& page, const KernelReport& kernel) {
  if (kernel.occupancy.empty()) return;
  struct Row {
    std::string architectures, blocks, threads, share, limit;
    bool operator==(const Row&) const = default;
  };
  std::vector<Row> rows;
  for (const OccupancyReport& of : kernel.occupancy) {
    const auto percent = [](const hw::Occupancy& o) {
      return static_cast<std::uint64_t>(o.fraction * 100 + 0.5);
    };
    Row row{"", from_to(of.before.blocks, of.after.blocks),
            from_to(of.before.active_threads, of.after.active_threads),
            from_to(percent(of.before), percent(of.after)) + " %", limit_from_to(of)};
    const auto same = std::ranges::find_if(rows, [&](Row known) {
      known.architectures.clear();
      return known == row;
    });
    if (same != rows.end()) {
      same->architectures += ", " + of.architecture;
    } else {
      row.architectures = of.architecture;
      rows.push_back(std::move(row));
    }
  }
  rows.insert(rows.begin(), {"on", "blocks", "threads", "warps in use", "limited by"});
  const auto column = [&](std::string Row::*field) {
    std::size_t most = 0;
    for (const Row& row : rows) most = std::max(most, (row.*field).size());
    return most;
  };
  const std::size_t blocks = column(&Row::blocks), threads = column(&Row::threads),
                    share = column(&Row::share), limit = column(&Row::limit);
  page.blank();
  page.line("  Occupancy of one multiprocessor{}", blocks_of(kernel));
  for (const Row& row : rows)
    page.wrapped(fmt::format("    {:<{}}  {:<{}}  {:<{}}  {:<{}}  ", row.blocks, blocks, row.threads, threads,
                             row.share, share, row.limit, limit),
                 row.architectures);
}

/// Of several block sizes: of recorded launches, or the usual ones where none is known.
void residency_list(Page& page, const KernelReport& kernel, std::string_view architecture) {
  if (kernel.residency.size() < 2) return;
  if (kernel.threads_from == Origin::unknown)
    page.line("  Blocks a multiprocessor, {}: not known, since the block size is not (--block, --launches)",
              architecture);
  else
    page.line("  Blocks a multiprocessor, {}, as launched", architecture);
  for (const ResidencyReport& row : kernel.residency)
    page.line("    {:>5} threads{}: {}", grouped(row.threads),
              row.shared_dynamic == 0 ? "" : fmt::format(", {} dynamic bytes", grouped(row.shared_dynamic)),
              row.after.blocks == 0 ? "cannot launch" : from_to(row.before.blocks, row.after.blocks));
}

void partition_table(Page& page, const KernelReport& kernel) {
  std::size_t name_width = 6;
  for (const ObjectReport& object : kernel.objects) name_width = std::max(name_width, object.name.size());
  name_width = std::min(name_width, std::size_t{40});
  const auto row = [&](const std::string& label, const ObjectReport& object, const std::string& why) {
    const std::string head =
        fmt::format("    {:>9} {:>9}  {:<{}}", label, grouped(object.bytes), object.name, name_width);
    page.entry(head, 27 + name_width, why);
  };
  bool any = false;
  for (std::size_t p = 0; p < kernel.partitions.size(); ++p) {
    std::vector<std::uint32_t> members = kernel.partitions[p];
    if (members.size() < 2) continue;
    if (!any) {
      page.blank();
      page.line("  Shared storage: objects that overlap");
      page.line("    {:>9} {:>9}  {:<{}}  {}", "offset", "bytes", "object", name_width, "why it may share");
    } else {
      page.line("    {:>9}", "-");
    }
    any = true;
    std::ranges::stable_sort(members, {},
                             [&](std::uint32_t i) { return kernel.objects.at(i).offset.value_or(0); });
    for (const std::uint32_t i : members) {
      const ObjectReport& object = kernel.objects.at(i);
      row(object.offset ? grouped(*object.offset) : "", object,
          object.reason.empty() ? "with " + listed(object_names(kernel, object.shares_with))
                                : object.reason + in_brackets(object.reason_at));
    }
  }
  any = false;
  for (const ObjectReport& object : kernel.objects) {
    if (object.shares) continue;
    if (!any) {
      page.blank();
      page.line("  Storage of its own");
      page.line("    {:>9} {:>9}  {:<{}}  {}", "offset", "bytes", "object", name_width, "why");
    }
    any = true;
    row(object.offset ? grouped(*object.offset) : "", object, object.reason + in_brackets(object.reason_at));
  }
}

std::string pairs_text(const KernelReport& kernel, const BarrierReport& barrier) {
  std::vector<std::string> pairs;
  for (const auto& [first, second] : barrier.separates)
    pairs.push_back(kernel.objects.at(first).name + " / " + kernel.objects.at(second).name);
  return listed(pairs);
}

void barrier_list(Page& page, const KernelReport& kernel, bool verbose) {
  if (kernel.barriers.empty()) return;
  const auto inserted = std::ranges::count_if(kernel.barriers, &BarrierReport::inserted);
  page.blank();
  page.line("  Barriers between objects that share: {} inserted, {} already there", inserted,
            std::ssize(kernel.barriers) - inserted);
  std::vector<SourcePosition> found;
  for (const BarrierReport& barrier : kernel.barriers) {
    if (barrier.inserted || verbose)
      page.wrapped(
          fmt::format("    {} before {}: ", barrier.inserted ? "inserted" : "found", where_both(barrier.at)),
          pairs_text(kernel, barrier));
    else
      found.push_back(barrier.at);
  }
  if (found.empty()) return;
  std::vector<SourcePosition> ptx;
  for (const SourcePosition& at : found) ptx.push_back({.file = {}, .line = 0, .ptx_line = at.ptx_line});
  page.wrapped("    found before ",
               where(found) == where(ptx) ? where(ptx) : where(found) + "; " + where(ptx));
}

void assumption_list(Page& page, const KernelReport& kernel, bool verbose) {
  if (kernel.assumptions.empty()) return;
  page.blank();
  page.line("  Assumed");
  const std::size_t shown =
      verbose ? kernel.assumptions.size() : std::min(kernel.assumptions.size(), std::size_t{5});
  for (std::size_t i = 0; i < shown; ++i)
    page.wrapped("    - ", kernel.assumptions[i].text + in_brackets(kernel.assumptions[i].at));
  if (shown < kernel.assumptions.size())
    page.line("    - and {} more of this kind (--verbose)", kernel.assumptions.size() - shown);
}

std::string ranges_text(const std::vector<std::pair<std::uint32_t, std::uint32_t>>& ranges) {
  std::vector<std::string> words;
  for (const auto& [begin, end] : ranges)
    words.push_back(fmt::format("{} to {}", begin, end == begin ? end : end - 1));
  return words.empty() ? "never" : listed(words);
}

/// "PTX lines 179 and 181 to 190; in the source k.cu:12 and 14"
std::string lines_text(const KernelReport& kernel, const std::vector<std::uint32_t>& lines) {
  if (lines.empty()) return "none";
  std::vector<std::string> ptx;
  std::vector<SourcePosition> source;
  for (std::size_t i = 0, last = 0; i < lines.size(); i = last + 1) {
    last = i;
    while (last + 1 < lines.size() && lines[last + 1] <= lines[last] + 1) ++last;
    ptx.push_back(last == i ? fmt::format("{}", lines[i]) : fmt::format("{} to {}", lines[i], lines[last]));
  }
  for (const std::uint32_t line : lines)
    if (const SourcePosition at = source_of(kernel, line); !at.file.empty()) source.push_back(at);
  return "PTX lines " + listed(ptx) + (source.empty() ? "" : "; in the source " + where(source));
}

void everything(Page& page, const KernelReport& kernel) {
  page.blank();
  page.line("  Objects");
  for (const ObjectReport& object : kernel.objects) {
    page.line("    {}: {} bytes, aligned to {}, {}{}", object.name, grouped(object.bytes), object.alignment,
              object.symbol, in_brackets(object.declared));
    page.wrapped("      alive on PTX lines ", ranges_text(object.live_lines));
    page.wrapped("      stores: ", lines_text(kernel, object.store_lines));
    page.wrapped("      loads:  ", lines_text(kernel, object.load_lines));
  }
  if (!kernel.interference.empty()) {
    page.blank();
    page.line("  Pairs that may not overlap");
    for (const InterferenceReport& pair : kernel.interference)
      page.wrapped(fmt::format("    {} / {}: ", kernel.objects.at(pair.first).name,
                               kernel.objects.at(pair.second).name),
                   pair.reason + in_brackets(pair.at));
  }
  if (!kernel.certificate.empty()) {
    page.blank();
    page.line("  Certificate of the independent check");
    for (const std::string& sentence : kernel.certificate) page.wrapped("    ", sentence);
  }
}

/// What the kernel could save beyond what it does.
std::string left_over(const KernelReport& kernel) {
  if (kernel.bytes_possible == 0 || kernel.bytes_possible >= kernel.bytes_after) return "";
  return fmt::format("{} bytes are possible with --when always", grouped(kernel.bytes_possible));
}

void in_full(Page& page, const Report& report, const KernelReport& kernel, bool verbose) {
  page.line("{}{}: {}", kernel.name, in_brackets(kernel.at), name(kernel.verdict));
  if (!kernel.reason.empty()) page.wrapped("  ", kernel.reason + in_brackets(kernel.reason_at));
  if (kernel.dynamic_before > 0)
    page.line("  Dynamic shared memory a block: {} bytes, {}{}",
              from_to(kernel.dynamic_before, kernel.dynamic_after),
              change(kernel.dynamic_before, kernel.dynamic_after),
              kernel.dynamic_after < kernel.dynamic_before ? ", if the launch passes so many" : "");
  if (const DynamicFormula& formula = kernel.dynamic_formula; !formula.after.empty()) {
    std::vector<std::string> example, meanings;
    for (const DynamicFormula::Argument& a : formula.arguments) {
      example.push_back(fmt::format("{} = {}", a.name, a.example));
      meanings.push_back(fmt::format("{} is {}", a.name, a.meaning));
    }
    page.line("  Dynamic shared memory a block: {} -> {} bytes, if the launch passes so many", formula.before,
              formula.text());
    page.wrapped("    ",
                 fmt::format("{}{}", fmt::join(meanings, "; "),
                             std::ranges::any_of(formula.arguments, &DynamicFormula::Argument::parameter)
                                 ? fmt::format("; with a parameter beyond 0 to {} nothing moves",
                                               grouped(DynamicFormula::kMostParameter))
                                 : ""));
    page.wrapped("    ",
                 fmt::format("For example, also in the table below: with {} {} bytes, {}",
                             fmt::join(example, ", "), from_to(formula.example_before, formula.example_after),
                             change(formula.example_before, formula.example_after)));
  }
  if ((kernel.dynamic_before == 0 && kernel.dynamic_formula.after.empty()) || kernel.bytes_before > 0)
    page.line("  Shared memory a block: {} bytes, {}{}", from_to(kernel.bytes_before, kernel.bytes_after),
              change(kernel.bytes_before, kernel.bytes_after),
              kernel.dynamic_pool
                  ? fmt::format("; pass {} bytes of dynamic shared memory at launch", kernel.pool_bytes)
                  : "");
  if (const std::string more = left_over(kernel); !more.empty()) page.line("  {}", more);
  const bool registers_known = kernel.registers_before > 0;
  if (registers_known)
    page.line("  Registers a thread: {}", from_to(kernel.registers_before, kernel.registers_after));
  if (const OccupancyReport* of = decisive(kernel, report.architecture))
    page.line("  Blocks a multiprocessor, {}: {}{}{}", of->architecture, registers_known ? "" : "at most ",
              from_to(of->before.blocks, of->after.blocks),
              of->after.blocks == 0 ? ""
              : registers_known     ? fmt::format(", now limited by {}", name(of->after.limit))
                                    : "; registers may allow fewer, ptxas was not run");
  residency_list(page, kernel, report.architecture);
  partition_table(page, kernel);
  barrier_list(page, kernel, verbose);
  occupancy_table(page, kernel);
  assumption_list(page, kernel, verbose);
  if (verbose) everything(page, kernel);
  page.blank();
}

std::string summary(const Report& report) {
  std::map<Verdict, std::size_t> count;
  for (const KernelReport& kernel : report.kernels) ++count[kernel.verdict];
  std::vector<std::string> words;
  for (const auto& [verdict, kernels] : count) words.push_back(fmt::format("{} {}", kernels, name(verdict)));
  return fmt::format("{}{}: {} kernel{}{}", report.file,
                     report.architecture.empty() ? "" : " for " + report.architecture, report.kernels.size(),
                     report.kernels.size() == 1 ? "" : "s", words.empty() ? "" : ": " + listed(words));
}

/// One object of one kernel.
struct Found {
  const KernelReport* kernel;
  std::uint32_t object;
  std::string name() const { return kernel->name + "::" + kernel->objects[object].name; }
};

std::vector<std::string> names_of(const std::vector<Found>& found) {
  constexpr std::size_t most = 40;
  std::vector<std::string> names;
  for (const Found& of : found) {
    if (names.size() == most) {
      names.push_back(fmt::format("{} more", found.size() - most));
      break;
    }
    names.push_back("'" + of.name() + "'");
  }
  return names;
}

Found find_object(const Report& report, std::string_view wanted) {
  std::vector<Found> all, found;
  for (const KernelReport& kernel : report.kernels) {
    for (std::uint32_t i = 0; i < kernel.objects.size(); ++i) {
      const ObjectReport& object = kernel.objects[i];
      all.push_back({&kernel, i});
      const auto is = [&](const std::string& kernel_name) {
        return wanted == kernel_name + "::" + object.name || wanted == kernel_name + "::" + object.symbol;
      };
      if (wanted == object.name || wanted == object.symbol || is(kernel.name) || is(kernel.symbol))
        found.push_back(all.back());
    }
  }
  if (found.size() == 1) return found.front();
  if (found.size() > 1)
    throw BadInput(fmt::format("'{}' is the name of {} objects; say which: {}", wanted, found.size(),
                               listed(names_of(found))));
  if (all.empty())
    throw BadInput(fmt::format("no object '{}' in {}: no kernel there has an array in shared memory", wanted,
                               report.file));
  throw BadInput(
      fmt::format("no object '{}' in {}; there are {}", wanted, report.file, listed(names_of(all))));
}

}  // namespace

std::string to_text(const Report& report, bool verbose) {
  check(report);
  Page page;
  page.line("{}", summary(report));
  if (!report.note.empty()) page.wrapped("  ", report.note);
  page.blank();
  std::vector<const KernelReport*> brief;
  for (const KernelReport& kernel : report.kernels) {
    if (verbose || kernel.verdict == Verdict::rewritten || kernel.verdict == Verdict::failed)
      in_full(page, report, kernel, verbose);
    else
      brief.push_back(&kernel);
  }
  for (const KernelReport* kernel : brief) {
    const std::string more = left_over(*kernel);
    page.line("{}: {}: {}{}{}", kernel->name, name(kernel->verdict), kernel->reason,
              in_brackets(kernel->reason_at), more.empty() ? "" : "; " + more);
  }
  std::string text = page.take();
  while (text.ends_with("\n\n")) text.pop_back();
  return text;
}

std::string explain(const Report& report, std::string_view object_name) {
  check(report);
  const Found found = find_object(report, object_name);
  const KernelReport& kernel = *found.kernel;
  const ObjectReport& object = kernel.objects[found.object];
  Page page;
  page.line("{} in {}{}", object.name, kernel.name, in_brackets(object.declared));
  page.line("  symbol     {}", object.symbol);
  page.line("  size       {} bytes, aligned to {}", grouped(object.bytes), object.alignment);
  page.wrapped(
      "  storage    ",
      fmt::format("{}{}", object.shares ? "shared" : "its own",
                  object.offset ? fmt::format(", at offset {} of the pool", grouped(*object.offset)) : ""));
  if (!object.reason.empty()) page.wrapped("  because    ", object.reason + in_brackets(object.reason_at));
  page.wrapped("  alive      ", "PTX lines " + ranges_text(object.live_lines));
  page.wrapped("  stores     ", lines_text(kernel, object.store_lines));
  page.wrapped("  loads      ", lines_text(kernel, object.load_lines));
  if (!object.shares_with.empty()) {
    page.blank();
    page.line("  Overlaps");
    for (const std::uint32_t other : object.shares_with) {
      std::vector<std::string> barriers;
      for (const BarrierReport& barrier : kernel.barriers)
        for (const auto& [first, second] : barrier.separates)
          if ((first == found.object && second == other) || (second == found.object && first == other))
            barriers.push_back(fmt::format("the {} barrier before {}",
                                           barrier.inserted ? "inserted" : "existing",
                                           where_both(barrier.at)));
      page.wrapped(fmt::format("    {}: ", kernel.objects.at(other).name),
                   barriers.empty() ? "never alive at the same time" : "separated by " + listed(barriers));
    }
  }
  bool any = false;
  for (const InterferenceReport& pair : kernel.interference) {
    if (pair.first != found.object && pair.second != found.object) continue;
    if (!any) {
      page.blank();
      page.line("  May not overlap");
    }
    any = true;
    page.wrapped(fmt::format("    {}: ",
                             kernel.objects.at(pair.first == found.object ? pair.second : pair.first).name),
                 pair.reason + in_brackets(pair.at));
  }
  return page.take();
}

}  // namespace warploom::reuse
