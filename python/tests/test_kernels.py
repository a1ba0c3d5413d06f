import json
import pathlib

import numpy as np
import pytest

import warploom as wl

SCALE = """
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
"""
RACE = """
.version 7.0
.target sm_75
.address_size 64
.visible .entry sum(.param .u64 out) {
  .reg .b32 %r<3>; .reg .b64 %d<2>;
  ld.param.u64 %d0, [out];
  ld.global.u32 %r0, [%d0];
  add.u32 %r1, %r0, 1;
  st.global.u32 [%d0], %r1;
  ret;
}
"""
CUB = pathlib.Path(__file__).parents[2] / "examples" / "cub_tempstorage.sm_90.ptx"
needs_examples = pytest.mark.skipif(not CUB.exists(), reason="the examples are not beside the tests")


def test_a_kernel_writes_into_numpy_arrays():
    x = np.arange(100, dtype=np.float32)
    outcome = wl.sim.run(SCALE, grid=4, block=32, args=[x, 2.5, 100])
    assert outcome.clean and outcome.completed and str(outcome) == "clean"
    np.testing.assert_array_equal(x, np.arange(100) * np.float32(2.5))
    y = np.ones((3, 4), np.float32)
    wl.sim.run(SCALE, "scale", (1,), (32, 1, 1), [y, np.float32(3), np.uint32(12)])
    assert (y == 3).all()


def test_an_array_that_may_not_be_written_is_not():
    x = np.ones(10, np.float32)
    x.flags.writeable = False
    assert wl.sim.run(SCALE, block=32, args=[x, 2, 10]).clean
    assert (x == 1).all()


def test_a_kernel_goes_by_its_name_in_cpp():
    x = np.ones(10, np.float32)
    mangled = SCALE.replace("scale", "_Z5scalePffi")
    for name in ("_Z5scalePffi", "scale", "scale(float*, float, int)"):
        assert wl.sim.run(mangled, name, block=32, args=[x, 2, 10]).clean
    with pytest.raises(wl.BadInput, match="'scales' is not defined"):
        wl.sim.run(mangled, "scales", block=32, args=[x, 2, 10])


def test_a_race_is_found():
    outcome = wl.sim.run(RACE, block=64, args=[np.zeros(1, np.uint32)])
    assert not outcome.clean
    assert {f.kind for f in outcome.findings} == {"race"}
    assert "argument 0" in outcome.findings[0].where and outcome.findings[0].other is not None
    assert wl.sim.run(RACE, block=64, args=[np.zeros(1, np.uint32)], race=False).clean


def test_an_access_out_of_bounds_is_found():
    x = np.zeros(10, np.float32)
    outcome = wl.sim.run(SCALE, block=32, args=[x, 2, 32])
    assert not outcome.completed and "bounds" in outcome.findings[0].kind.replace("-", " ")


def test_arguments_that_do_not_fit_are_named():
    x = np.zeros(10, np.float32)
    with pytest.raises(ValueError, match="takes 3"):
        wl.sim.run(SCALE, args=[x])
    with pytest.raises(ValueError, match=r"args\[2\]"):
        wl.sim.run(SCALE, args=[x, 2, -(2**40)])
    with pytest.raises(ValueError, match="there is scale"):
        wl.sim.run(SCALE, "scales", args=[x, 2, 3])
    with pytest.raises(ValueError, match=r"args\[0\]"):
        wl.sim.run(SCALE, args=[np.zeros((4, 4), np.float32).T[:2], 2, 3])
    with pytest.raises(ValueError, match="<ptx>:1"):
        wl.sim.run("this is no PTX")


@needs_examples
def test_optimize_gives_the_tools_bytes(tool, tmp_path):
    tool("reuse", CUB, "--no-ptxas", "-o", tmp_path / "out.ptx")
    optimized = wl.reuse.optimize(CUB.read_text(), ptxas=False)
    assert optimized.text == (tmp_path / "out.ptx").read_text()
    kernel, = optimized.report["kernels"]
    assert kernel["verdict"] == "rewritten"
    checked = wl.reuse.check(CUB.read_text(), optimized.text)
    assert checked.ok and not checked.problems and checked.certificate


@needs_examples
def test_check_refuses_a_module_without_its_barriers():
    optimized = wl.reuse.optimize(CUB.read_text(), ptxas=False).text
    broken = "\n".join(line for line in optimized.splitlines() if "bar" not in line.split("//")[0])
    assert broken != optimized
    found = wl.reuse.check(CUB.read_text(), broken)
    assert not found.ok and found.problems


@needs_examples
def test_occupancy_is_the_tools(tool):
    told = tool("occupancy", CUB, "--no-ptxas", "--arch", "sm_90,sm_100", "--json")["kernels"][0]["on"]
    found = wl.reuse.occupancy(CUB.read_text(), architectures=["sm_90", "sm_100"], ptxas=False)
    assert [(f.architecture, f.blocks, f.shared) for f in found] == [
        (t["architecture"], t["blocks_per_multiprocessor"], t["static_shared_bytes"]) for t in told]
