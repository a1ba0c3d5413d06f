#include "sim/other_process.hpp"

#include <gmock/gmock.h>

#include <csignal>
#include <stdexcept>

namespace warploom::sim {
namespace {

TEST(OtherProcess, GoesOnInAFreshOneAfterACallThatFailed) {
  int calls = 0;
  OtherProcess other([&](const std::string& request) -> std::string {
    if (request == "throw") throw std::runtime_error("it does not go");
    if (request == "crash") std::raise(SIGKILL);
    return request + std::to_string(++calls);
  });
  EXPECT_EQ(other.call("a"), "a1");
  EXPECT_EQ(other.call(""), "2");
  EXPECT_EQ(other.started(), 1);
  EXPECT_THAT([&] { other.call("throw"); }, testing::ThrowsMessage<std::runtime_error>("it does not go"));
  EXPECT_EQ(other.call("b"), "b1");  // what the first child knew is gone
  EXPECT_THAT([&] { other.call("crash"); },
              testing::ThrowsMessage<std::runtime_error>(testing::HasSubstr("signal 9")));
  const std::string large(3'000'000, 'x');
  EXPECT_EQ(other.call(large), large + "1");
  EXPECT_EQ(other.started(), 3);
  EXPECT_EQ(calls, 0);
}

}  // namespace
}  // namespace warploom::sim
