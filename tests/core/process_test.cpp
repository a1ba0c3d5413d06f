#include "warploom/core/process.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <fstream>

#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"

namespace warploom {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

TEST(Process, IsFoundAsAShellFindsIt) {
  EXPECT_TRUE(find_program("sh"));
  EXPECT_EQ(find_program("/bin/sh"), "/bin/sh");
  EXPECT_FALSE(find_program("no such program"));
  EXPECT_FALSE(find_program("/bin"));
}

TEST(Process, AnswersWithAllItSaysAndItsStatus) {
  const Answer answer = ask_program({"sh", "-c", "cat; echo error >&2; exit 3"}, 10s, "input;\n");
  EXPECT_EQ(answer.output, "input;\nerror\n");
  EXPECT_EQ(answer.failure, "");
  EXPECT_EQ(WEXITSTATUS(answer.status), 3);
}

TEST(Process, WhatItSaysMayGoToAFileOfAnyLength) {
  const TemporaryDirectory place;
  const auto out = place.path() / "out";
  const Answer answer = ask_program({"sh", "-c", "echo error >&2; head -c 70000000 /dev/zero"}, 60s, "", out);
  EXPECT_EQ(answer.output, "error\n");
  EXPECT_EQ(answer.failure, "");
  EXPECT_EQ(std::filesystem::file_size(out), 70'000'000u);
}

TEST(Process, ThatDoesNotEndOrSaysTooMuchIsKilled) {
  EXPECT_THAT(ask_program({"sleep", "300"}, 100ms).failure, HasSubstr("time limit"));
  EXPECT_THAT(ask_program({"cat", "/dev/zero"}, 60s).failure, HasSubstr("more than 64 MiB"));
}

TEST(Process, ThatCannotBeStartedIsSaid) {
  EXPECT_EQ(ask_program({"/no/such/program"}, 10s).failure, "cannot be started: No such file or directory");
  EXPECT_THROW(run_program({"/no/such/program"}), BadInput);
}

TEST(Process, OutputGoesWhereItIsSent) {
  const TemporaryDirectory directory;
  const Redirect to{directory.path() / "out", directory.path() / "err"};
  const int status = run_program({"sh", "-c", "echo one; echo two >&2"}, to);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(read_file(to.out), "one\n");
  EXPECT_EQ(read_file(to.err), "two\n");
}

TEST(TemporaryDirectory, GoesWithAllThatIsInIt) {
  std::filesystem::path path;
  {
    const TemporaryDirectory directory;
    path = directory.path();
    std::ofstream(path / "file") << "text";
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace warploom
