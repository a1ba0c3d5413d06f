// Every example nest: the compiled source against the interpreter, the C that was made of it against the
// source.
#include <gtest/gtest.h>

#include "case_memory.hpp"

namespace warploom::tile {
namespace {

class EveryNest : public testing::TestWithParam<Case> {
 protected:
  Region region() const {
    return read_source(GetParam().text, std::string(GetParam().name) + ".c", {}).front();
  }
};

TEST_P(EveryNest, CompiledDoesWhatTheInterpreterDoes) {
  const Region nest = region();
  Memory memory = make_case_memory(nest, 9, 1);
  CaseMemory compiled(nest, memory);
  ASSERT_EQ(compiled.call(GetParam().source), 0);
  interpret(nest, nest.body, memory);
  for (std::size_t k = 0; k < compiled.names().size(); ++k)
    EXPECT_LE(relative_difference(compiled.values(k), memory.arrays.at(compiled.names()[k])), 1e-6)
        << compiled.names()[k];
}

TEST_P(EveryNest, OrderedAndTiledForACpuGivesTheSameBits) {
  const Region nest = region();
  for (const std::int64_t least : {1, 2, 5, 33, 70}) {
    const Memory memory = make_case_memory(nest, least, 2);
    CaseMemory source(nest, memory), transformed(nest, memory);
    ASSERT_EQ(source.call(GetParam().source), 0);
    ASSERT_EQ(transformed.call(GetParam().cpu), 0);
    for (std::size_t k = 0; k < source.names().size(); ++k)
      EXPECT_EQ(source.buffers()[k], transformed.buffers()[k])
          << source.names()[k] << " for sizes from " << least;
  }
}

INSTANTIATE_TEST_SUITE_P(Examples, EveryNest, testing::ValuesIn(cases()),
                         [](const auto& nest) { return "of_" + std::string(nest.param.name); });

}  // namespace
}  // namespace warploom::tile
