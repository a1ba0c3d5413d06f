#include "count/kmer_resume.hpp"

#include <fmt/format.h>

#include <cstring>
#include <system_error>
#include <utility>

#include "count/kmer_file.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"

namespace warploom::table {
namespace {

constexpr std::string_view kStateBegins = "warploom k-mers that were read, 3\n";

template <class T>
T number_at(std::string_view text, std::size_t at) {
  T value{};
  std::memcpy(&value, text.data() + at, sizeof value);
  return value;
}

}  // namespace

KmerResume::KmerResume(const std::filesystem::path& folder, std::string asked, KmerStore& store)
    : records_(folder / "kmers.records"), state_(folder / "kmers.state"), asked_(std::move(asked)) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error || !std::filesystem::is_directory(folder, error))
    throw BadInput(fmt::format("cannot make the folder {}: {}; name another", folder.string(),
                               error ? error.message() : "it is no folder"));
  store.keep_in(records_);
  if (!std::filesystem::exists(state_, error)) return;
  const std::string state = read_file(state_);
  constexpr std::size_t kNumbers = 3 * sizeof(std::uint64_t), kCrc = sizeof(std::uint32_t);
  const auto refuse = [&](const std::string& why) {
    throw BadInput(fmt::format("{}: {}; remove {} to begin anew, or name another folder", state_.string(),
                               why, folder.string()));
  };
  if (!state.starts_with(kStateBegins)) refuse("not what a run of this version left");
  if (state.size() < kStateBegins.size() + kNumbers + kCrc ||
      number_at<std::uint32_t>(state, state.size() - kCrc) !=
          crc32(std::span(state).first(state.size() - kCrc)))
    refuse("corrupt");
  std::size_t at = kStateBegins.size();
  const auto length = number_at<std::uint64_t>(state, at);
  pieces_ = number_at<std::uint64_t>(state, at + 8);
  complete_ = number_at<std::uint64_t>(state, at + 16) != 0;
  at += kNumbers;
  const std::string_view rest = std::string_view(state).substr(at, state.size() - kCrc - at);
  if (rest.size() < length) refuse("corrupt");
  const std::string_view before = rest.substr(0, length);
  if (before != asked_) {
    std::size_t same = 0;  // where the first line that differs begins
    for (std::size_t k = 0; k < std::min(before.size(), asked_.size()) && before[k] == asked_[k]; ++k)
      if (before[k] == '\n') same = k + 1;
    const auto line = [&](std::string_view text) { return text.substr(same, text.find('\n', same) - same); };
    refuse(fmt::format("what was stopped there read '{}', this run '{}'", line(before), line(asked_)));
  }
  if (!store.restore(rest.substr(length)))
    refuse(fmt::format("{} does not have what it should", records_.string()));
}

void KmerResume::save(KmerStore& store, std::uint64_t pieces, bool complete) {
  std::string state(kStateBegins);
  for (const std::uint64_t number : {std::uint64_t{asked_.size()}, pieces, std::uint64_t{complete}})
    state.append(reinterpret_cast<const char*>(&number), sizeof number);
  state += asked_;
  state += store.checkpoint();
  const std::uint32_t crc = crc32(state);
  state.append(reinterpret_cast<const char*>(&crc), sizeof crc);
  write_file_atomically(state_, state);
  pieces_ = pieces;
  complete_ = complete;
}

void KmerResume::remove() const {
  std::error_code ignored;
  std::filesystem::remove(state_, ignored);
  std::filesystem::remove(records_, ignored);
}

}  // namespace warploom::table
