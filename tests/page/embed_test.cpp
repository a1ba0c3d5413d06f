#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "test_page/embedded.hpp"

namespace warploom {
namespace {

std::string content_of(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(std::filesystem::path(WARPLOOM_TESTS_DIR) / path, std::ios::binary).rdbuf();
  return out.str();
}

// Read back are "quotes", \\backslashes, ${variables}, @VARIABLES@, [brackets; semicolons];, \u00B5 and
// )"delimiters".
TEST(Embed, GivesTextByteForByte) {
  EXPECT_EQ(test_page::embedded::embed_test_cpp, content_of("page/embed_test.cpp"));
}

TEST(Embed, GivesAnyBytesAndMoreThanALiteralHolds) {
  ASSERT_GT(test_page::embedded::denoise_qc_png.size(), 65536u);
  EXPECT_TRUE(test_page::embedded::denoise_qc_png == content_of("../docs/guide/denoise-qc.png"));
}

}  // namespace
}  // namespace warploom
