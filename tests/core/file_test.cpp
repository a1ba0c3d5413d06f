#include "warploom/core/file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <fstream>
#include <functional>

#include "child.hpp"
#include "warploom/core/error.hpp"

namespace warploom {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// A directory of its own for each test, open to every user, and removed afterwards.
class File : public testing::Test {
 protected:
  File() {
    std::string pattern = (fs::temp_directory_path() / "warploom_file_XXXXXX").string();
    directory = mkdtemp(pattern.data());
    fs::permissions(directory, fs::perms::all);
  }
  ~File() override { fs::remove_all(directory); }

  fs::path make(const std::string& name, const std::string& content) const {
    std::ofstream(directory / name, std::ios::binary) << content;
    return directory / name;
  }
  std::size_t entries() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(directory), fs::directory_iterator()));
  }
  fs::path directory;
};

std::string content_of(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

mode_t mode_of(const fs::path& path) {
  struct stat status {};
  EXPECT_EQ(stat(path.c_str(), &status), 0);
  return status.st_mode & 07777;
}

// Permission bits do not bind root: become an ordinary user.
bool without_root() { return geteuid() != 0 || setuid(65534) == 0; }

TEST_F(File, ReadsEveryByte) {
  std::string content;
  for (int k = 0; k < 300'000; ++k) content.push_back(static_cast<char>(k * 7));
  EXPECT_EQ(read_file(make("bytes", content)), content);
}

TEST_F(File, ReadsAnEmptyFile) { EXPECT_EQ(read_file(make("empty", "")), ""); }

TEST_F(File, ReadsAPipe) {
  const fs::path path = directory / "pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const std::string content(200'000, 'x');
  const pid_t child = fork();
  if (child == 0) {
    std::ofstream(path) << content;
    _exit(0);
  }
  EXPECT_EQ(read_file(path), content);
  waitpid(child, nullptr, 0);
}

TEST_F(File, ReadingAMissingFileNamesIt) {
  EXPECT_THAT(message_of([&] { read_file(directory / "none"); }),
              HasSubstr("none: No such file or directory"));
}

TEST_F(File, ReadingADirectoryIsRefused) {
  EXPECT_THAT(message_of([&] { read_file(directory); }), HasSubstr("Is a directory; name a file"));
}

TEST_F(File, ReadingThroughAFileIsRefused) {
  const fs::path path = make("file", "x") / "below";
  EXPECT_THAT(message_of([&] { read_file(path); }), HasSubstr("Not a directory"));
}

TEST_F(File, ReadingWithoutPermissionSaysWhatToCheck) {
  const fs::path path = make("secret", "x");
  fs::permissions(path, fs::perms::none);
  EXPECT_THAT(message_in_child(without_root, [&] { read_file(path); }),
              HasSubstr("secret: Permission denied; check the owner and mode"));
}

TEST_F(File, AFileAboveTheLimitIsRefusedWithBothNumbers) {
  const fs::path path = make("large", "12345678901");
  EXPECT_EQ(read_file(path, 11), "12345678901");
  EXPECT_THAT(message_of([&] { read_file(path, 10); }), HasSubstr("has 11 bytes, the limit is 10"));
}

TEST_F(File, AnEndlessDeviceStopsAtTheLimit) {
  EXPECT_THAT(message_of([] { read_file("/dev/zero", 100'000); }),
              HasSubstr("has more bytes, the limit is 100000"));
}

TEST_F(File, AnInputFileIsReadAtAnyPlace) {
  const InputFile file(make("digits", "0123456789"));
  EXPECT_EQ(file.size(), 10U);
  std::string buffer(4, '?');
  EXPECT_EQ(file.read_at(3, buffer), 4U);
  EXPECT_EQ(buffer, "3456");
  EXPECT_EQ(file.read_at(8, buffer), 2U);  // the end comes first
  EXPECT_EQ(buffer, "8956");
  EXPECT_EQ(file.read_at(100, buffer), 0U);
  EXPECT_EQ(file.contents(), "0123456789");
}

TEST_F(File, ADeviceHasNoSize) {
  EXPECT_EQ(InputFile("/dev/null").size(), std::nullopt);
  EXPECT_EQ(InputFile("/dev/null").contents(), "");
}

TEST_F(File, AnInputFileThatCannotBeReadIsNamed) {
  EXPECT_THAT(message_of([&] { InputFile(directory / "none"); }),
              HasSubstr("none: No such file or directory"));
  EXPECT_THAT(message_of([&] { InputFile{directory}; }), HasSubstr("Is a directory"));
  EXPECT_THAT(message_of([&] { InputFile(make("large", "12345")).contents(4); }),
              HasSubstr("has 5 bytes, the limit is 4"));
}

TEST_F(File, WritesPiecesInOrder) {
  const std::string_view pieces[] = {"one ", "", "two"};
  write_file_atomically(directory / "pieces", pieces);
  EXPECT_EQ(content_of(directory / "pieces"), "one two");
}

TEST_F(File, WritesANewFileWithTheUmasksMode) {
  const mode_t before = umask(027);
  write_file_atomically(directory / "new", "content");
  umask(before);
  EXPECT_EQ(content_of(directory / "new"), "content");
  EXPECT_EQ(mode_of(directory / "new"), 0640U);
}

TEST_F(File, ReplacingKeepsTheMode) {
  const fs::path path = make("script", "old content");
  fs::permissions(path, fs::perms(0751));
  write_file_atomically(path, "new");
  EXPECT_EQ(content_of(path), "new");
  EXPECT_EQ(mode_of(path), 0751U);
  EXPECT_EQ(entries(), 1U);
}

TEST_F(File, ANameWithoutDirectoryIsWrittenHere) {
  const fs::path before = fs::current_path();
  fs::current_path(directory);
  write_file_atomically("plain name", "x");
  fs::current_path(before);
  EXPECT_EQ(content_of(directory / "plain name"), "x");
}

TEST_F(File, ALinkStaysALink) {
  const fs::path path = make("target", "old");
  fs::create_symlink("target", directory / "link");
  write_file_atomically(directory / "link", "new");
  EXPECT_TRUE(fs::is_symlink(directory / "link"));
  EXPECT_EQ(content_of(path), "new");
}

TEST_F(File, ADanglingLinksTargetIsMade) {
  fs::create_symlink("target", directory / "link");
  write_file_atomically(directory / "link", "new");
  EXPECT_TRUE(fs::is_symlink(directory / "link"));
  EXPECT_EQ(content_of(directory / "target"), "new");
}

TEST_F(File, ADeviceIsWrittenInPlace) {
  write_file_atomically("/dev/null", "gone");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(File, AFullDeviceIsAnError) {
  EXPECT_THAT(message_of([] { write_file_atomically("/dev/full", "x"); }),
              HasSubstr("No space left on device; free some space"));
}

TEST_F(File, AFailedWriteKeepsTheOldContentAndLeavesNothingBeside) {
  const fs::path path = make("old", "old content");
  const auto limited = [] {
    const rlimit limit{4096, 4096};
    std::signal(SIGXFSZ, SIG_IGN);
    return setrlimit(RLIMIT_FSIZE, &limit) == 0;
  };
  const std::string message =
      message_in_child(limited, [&] { write_file_atomically(path, std::string(8192, 'x')); });
  EXPECT_THAT(message, HasSubstr("File too large; raise the file size limit"));
  EXPECT_EQ(content_of(path), "old content");
  EXPECT_EQ(entries(), 1U);
}

TEST_F(File, WritingOverADirectoryIsRefused) {
  fs::create_directory(directory / "sub");
  EXPECT_THAT(message_of([&] { write_file_atomically(directory / "sub", "x"); }),
              HasSubstr("Is a directory"));
  EXPECT_THAT(message_of([&] { write_file_atomically(directory / "sub/", "x"); }),
              HasSubstr("Is a directory"));
}

TEST_F(File, WritingIntoAMissingDirectoryIsRefused) {
  EXPECT_THAT(message_of([&] { write_file_atomically(directory / "none" / "file", "x"); }),
              HasSubstr("file: No such file or directory; check the path"));
}

TEST_F(File, WritingIntoAReadOnlyDirectoryIsRefused) {
  fs::create_directory(directory / "sub");
  fs::permissions(directory / "sub", fs::perms(0555));
  EXPECT_THAT(message_in_child(without_root, [&] { write_file_atomically(directory / "sub" / "file", "x"); }),
              HasSubstr("Permission denied"));
}

TEST_F(File, AReadOnlyFileIsNotReplaced) {
  const fs::path path = make("guarded", "old");
  fs::permissions(path, fs::perms(0444));
  EXPECT_THAT(message_in_child(without_root, [&] { write_file_atomically(path, "new"); }),
              HasSubstr("Permission denied"));
  EXPECT_EQ(content_of(path), "old");
}

}  // namespace
}  // namespace warploom
