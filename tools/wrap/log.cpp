#include "log.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <map>
#include <system_error>
#include <tuple>

#include "cli/verb.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/log.hpp"
#include "warploom/json/json.hpp"

namespace warploom::tool {
namespace {

std::string line(const Json& json) { return json.dump() + "\n"; }

void append(const std::string& lines) {
  const char* path = std::getenv("WARPLOOM_LOG");
  if (path == nullptr || *path == '\0' || lines.empty()) return;
  const int file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  const bool written =
      file >= 0 && write(file, lines.data(), lines.size()) == static_cast<ssize_t>(lines.size());
  if (!written)
    log(LogLevel::warning,
        fmt::format("cannot append to WARPLOOM_LOG={}: {}", path, std::generic_category().message(errno)));
  if (file >= 0) close(file);
}

Json record(const std::string& source, const std::string& architecture, const reuse::KernelReport& kernel) {
  std::uint32_t inserted = 0;
  for (const reuse::BarrierReport& barrier : kernel.barriers) inserted += barrier.inserted ? 1 : 0;
  Json out = {{"source", source},
              {"architecture", architecture},
              {"kernel", kernel.name},
              {"verdict", name(kernel.verdict)},
              {"reason", kernel.reason},
              {"bytes_before", kernel.bytes_before},
              {"bytes_after", kernel.bytes_after},
              {"barriers_inserted", inserted}};
  if (!kernel.occupancy.empty()) {
    out["blocks_before"] = kernel.occupancy.front().before.blocks;
    out["blocks_after"] = kernel.occupancy.front().after.blocks;
  }
  return out;
}

}  // namespace

void log_kernels(const std::string& source, const reuse::Report& report) {
  std::string lines;
  for (const reuse::KernelReport& kernel : report.kernels)
    if (!kernel.objects.empty() || kernel.verdict != reuse::Verdict::unchanged)
      lines += line(record(source, report.architecture, kernel));
  append(lines);
}

void log_module(const std::string& source, std::string_view verdict, const std::string& reason) {
  append(line({{"source", source}, {"kernel", nullptr}, {"verdict", verdict}, {"reason", reason}}));
}

std::string summary(const std::string& log, bool json) {
  std::map<std::tuple<std::string, std::string, std::string>, Json> last;
  std::size_t unreadable = 0;
  for (std::size_t begin = 0; begin < log.size();) {
    const std::size_t end = std::min(log.find('\n', begin), log.size());
    const std::string_view row = std::string_view(log).substr(begin, end - begin);
    begin = end + 1;
    try {
      Json entry = Json::parse(row);
      const auto text = [&](const char* field) {
        return entry.contains(field) && entry.at(field).is_string() ? entry.at(field).get<std::string>() : "";
      };
      const std::tuple key{entry.at("source").get<std::string>(), text("architecture"), text("kernel")};
      entry.at("verdict").get<std::string>();
      last[key] = std::move(entry);
    } catch (const BadInput&) {
      ++unreadable;
    }
  }
  Json counts = Json::object(), reasons = Json::object(), rewritten = Json::array();
  const auto count = [](Json& in, const std::string& key) { in[key] = in.value(key, 0) + 1; };
  for (const auto& [key, entry] : last) {
    const std::string verdict = entry.at("verdict").get<std::string>();
    count(counts, verdict);
    if (verdict == "rewritten")
      rewritten.push_back(entry);
    else
      count(reasons, fmt::format("{}: {}", verdict, entry.value("reason", std::string())));
  }
  if (json)
    return json_text({{"verdicts", counts},
                      {"rewritten", rewritten},
                      {"others", reasons},
                      {"unreadable_lines", unreadable}});
  std::string text;
  for (const auto& [verdict, n] : counts.items()) text += fmt::format("{:6} {}\n", n.get<int>(), verdict);
  for (const Json& k : rewritten.elements()) {
    const auto word = [&](const char* key) { return k.value(key, std::string()); };
    text +=
        fmt::format("{}, {}: {}: {} -> {} bytes, {} -> {} blocks a multiprocessor, {} barriers inserted\n",
                    word("source"), word("architecture"), word("kernel"), k.value("bytes_before", 0),
                    k.value("bytes_after", 0), k.value("blocks_before", 0), k.value("blocks_after", 0),
                    k.value("barriers_inserted", 0));
  }
  for (const auto& [reason, n] : reasons.items()) text += fmt::format("{:6} {}\n", n.get<int>(), reason);
  if (unreadable > 0) text += fmt::format("{:6} lines of the log could not be read\n", unreadable);
  return text.empty() ? "the log is empty\n" : text;
}

}  // namespace warploom::tool
