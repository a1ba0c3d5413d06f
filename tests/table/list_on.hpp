#pragma once

#include <gtest/gtest.h>

#include "warploom/table/list_table.hpp"

namespace warploom::table {

/// Tests that run wherever their executable says: list_cpu_test.cpp, list_gpu_test.cpp.
class ListOn : public testing::TestWithParam<Device> {
 protected:
  Options options(std::uint32_t tables, std::uint32_t buckets, std::uint64_t capacity) const {
    Options result = options_of(Variant::gpu_ph, tables, buckets, capacity);
    result.run.devices = {GetParam()};
    return result;
  }
};

}  // namespace warploom::table
