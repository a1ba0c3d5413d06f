#include "reuse/analysis/barrier_kind.hpp"

#include <gtest/gtest.h>

#include "kernel_text.hpp"

namespace warploom::reuse {
namespace {

struct Case {
  const char* name;
  const char* text;
  BarrierKind kind;
};
class BarrierKinds : public testing::TestWithParam<Case> {};

TEST_P(BarrierKinds, AreTold) {
  const ptx::Module module = ptx::parse(kernel_text(GetParam().text, 90));
  const ptx::Function& f = module.functions[0];
  EXPECT_EQ(barrier_kind(module, f, f.instructions.at(0)), GetParam().kind);
}

INSTANTIATE_TEST_SUITE_P(
    BarrierKind, BarrierKinds,
    testing::Values(Case{"sync", "bar.sync 0;", BarrierKind::full},
                    Case{"sync_of_the_block", "bar.cta.sync 0;", BarrierKind::full},
                    Case{"unaligned_sync", "barrier.sync 0;", BarrierKind::full},
                    Case{"aligned_sync", "barrier.sync.aligned 0;", BarrierKind::full},
                    Case{"unaligned_sync_of_the_block", "barrier.cta.sync 0;", BarrierKind::full},
                    Case{"hexadecimal_id", "bar.sync 0x0;", BarrierKind::full},
                    Case{"guarded", "@%p1 bar.sync 0;", BarrierKind::full},
                    Case{"reduction", "bar.red.popc.u32 %r1, 0, %p1;", BarrierKind::full},
                    Case{"reduction_of_a_negated_predicate", "bar.red.and.pred %p2, 0, !%p1;",
                         BarrierKind::full},
                    Case{"unaligned_reduction", "barrier.red.or.pred %p2, 0, %p1;", BarrierKind::full},
                    Case{"named", "bar.sync 1;", BarrierKind::partial},
                    Case{"named_by_a_register", "bar.sync %r1;", BarrierKind::partial},
                    Case{"with_a_count", "bar.sync 0, 64;", BarrierKind::partial},
                    Case{"with_a_count_in_a_register", "barrier.sync 0, %r1;", BarrierKind::partial},
                    Case{"arrival", "bar.arrive 0, 64;", BarrierKind::partial},
                    Case{"unaligned_arrival", "barrier.cta.arrive 0, 64;", BarrierKind::partial},
                    Case{"named_reduction", "bar.red.popc.u32 %r1, 2, %p1;", BarrierKind::partial},
                    Case{"reduction_with_a_count", "bar.red.popc.u32 %r1, 0, 64, %p1;", BarrierKind::partial},
                    Case{"warp", "bar.warp.sync 0xffffffff;", BarrierKind::none},
                    Case{"fence", "membar.cta;", BarrierKind::none},
                    Case{"mbarrier", "mbarrier.init.shared.b64 [A], 1;", BarrierKind::none},
                    Case{"other_instruction", "mov.u32 %r1, 0;", BarrierKind::none},
                    Case{"cluster_arrival", "barrier.cluster.arrive;", BarrierKind::cluster},
                    Case{"cluster_wait", "barrier.cluster.wait.aligned;", BarrierKind::cluster}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace warploom::reuse
