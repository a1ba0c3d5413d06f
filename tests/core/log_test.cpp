#include "warploom/core/log.hpp"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "warploom/core/error.hpp"
#include "warploom/core/run.hpp"

namespace warploom {
namespace {

using Messages = std::vector<std::string>;

class Log : public testing::Test {
 protected:
  warploom::Run listen(LogLevel threshold) {
    return {.log =
                [this](LogLevel level, std::string_view message) {
                  messages.push_back(std::string(name(level)) + ": " + std::string(message));
                },
            .threshold = threshold};
  }
  Messages messages;
};

TEST_F(Log, NamesAndParsingAgree) {
  for (const LogLevel level :
       {LogLevel::off, LogLevel::error, LogLevel::warning, LogLevel::info, LogLevel::debug})
    EXPECT_EQ(parse_log_level(name(level)), level);
  EXPECT_THROW(parse_log_level("loud"), BadInput);
}

TEST_F(Log, MessagesBelowTheThresholdAreDropped) {
  const RunScope scope(listen(LogLevel::warning));
  log(LogLevel::error, "a");
  log(LogLevel::warning, "b");
  log(LogLevel::info, "c");
  EXPECT_EQ(messages, (Messages{"error: a", "warning: b"}));
}

TEST_F(Log, OffSilencesEvenErrors) {
  const RunScope scope(listen(LogLevel::off));
  log(LogLevel::error, "a");
  EXPECT_TRUE(messages.empty());
}

TEST_F(Log, WithoutASinkNothingIsEnabled) {
  EXPECT_FALSE(log_enabled(LogLevel::error));
  log(LogLevel::error, "nobody hears this");
}

TEST_F(Log, EnabledAgreesWithTheThreshold) {
  const RunScope scope(listen(LogLevel::info));
  EXPECT_TRUE(log_enabled(LogLevel::info));
  EXPECT_FALSE(log_enabled(LogLevel::debug));
  EXPECT_FALSE(log_enabled(LogLevel::off));
}

TEST_F(Log, ThreadsDeliverOneMessageAtATime) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      const RunScope scope(listen(LogLevel::info));
      for (int k = 0; k < 250; ++k) log(LogLevel::info, "x");
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(messages, Messages(1000, "info: x"));
}

}  // namespace
}  // namespace warploom
