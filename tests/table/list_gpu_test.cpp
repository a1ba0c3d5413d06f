#include "table/list_on.hpp"

namespace warploom::table {
INSTANTIATE_TEST_SUITE_P(Cuda, ListOn, testing::Values(Device::cuda));
}  // namespace warploom::table
