// A test of a kernel on a machine without a GPU: it runs, and no two threads race.

#include <iostream>
#include <vector>
#include <warploom/sim/sim.hpp>

constexpr const char* kScale = R"(
.version 7.0
.target sm_75
.address_size 64
.visible .entry scale(.param .u64 x, .param .f32 factor, .param .u32 n) {
  .reg .pred %p; .reg .f32 %f<3>; .reg .b32 %r<5>; .reg .b64 %d<3>;
  ld.param.u64 %d0, [x];
  ld.param.f32 %f0, [factor];
  ld.param.u32 %r0, [n];
  mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;
  mad.lo.s32 %r4, %r1, %r2, %r3;
  setp.ge.u32 %p, %r4, %r0;
  @%p ret;
  mul.wide.u32 %d1, %r4, 4;
  add.s64 %d2, %d0, %d1;
  ld.global.f32 %f1, [%d2];
  mul.f32 %f2, %f1, %f0;
  st.global.f32 [%d2], %f2;
  ret;
}
)";

int main() {
  using namespace warploom;
  std::vector<float> values{1, 2, 3, 4, 5};
  sim::Machine machine(ptx::parse(kScale, "scale.ptx"));
  const sim::Address x = machine.upload(std::span(values), "x");
  sim::Arguments arguments;
  arguments.add(x).add(2.0F).add(static_cast<std::uint32_t>(values.size()));
  const sim::Outcome outcome = machine.launch("scale", arguments, {.grid = {2}, .block = {4}, .races = true});
  for (const sim::Finding& finding : outcome.findings) std::cout << finding.text() << "\n";
  machine.download(x, std::span(values));
  for (const float value : values) std::cout << value << " ";
  std::cout << (outcome.clean() ? "and nothing found\n" : "\n");
}
