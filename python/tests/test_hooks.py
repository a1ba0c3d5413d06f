"""warploom.hooks: stand-ins have the inside of the compilers that are hooked, as far as a hook touches it; where a package itself is
installed it compiles a kernel, which the simulator runs before and after."""

import os
import shutil
import subprocess
import sys
import types

import numpy as np
import pytest

import warploom as wl
from warploom import hooks

PTX = """
.version 7.0
.target sm_75
.address_size 64
.visible .shared .align 4 .b8 a[1024];
.visible .shared .align 4 .b8 b[1024];
.visible .entry turn(.param .u64 x) {
  .reg .f32 %f<3>; .reg .b32 %r<8>; .reg .b64 %d<4>;
  ld.param.u64 %d0, [x];
  mov.u32 %r0, %tid.x;
  mul.wide.u32 %d1, %r0, 4;
  add.s64 %d2, %d0, %d1;
  shl.b32 %r1, %r0, 2;
  mov.u32 %r2, a;
  mov.u32 %r3, b;
  add.u32 %r4, %r2, %r1;
  ld.global.f32 %f0, [%d2];
  st.shared.f32 [%r4], %f0;
  bar.sync 0;
  sub.u32 %r5, 1020, %r1;
  add.u32 %r6, %r2, %r5;
  ld.shared.f32 %f1, [%r6];
  bar.sync 0;
  add.u32 %r7, %r3, %r1;
  st.shared.f32 [%r7], %f1;
  bar.sync 0;
  add.u32 %r6, %r3, %r5;
  ld.shared.f32 %f2, [%r6];
  st.global.f32 [%d2], %f2;
  ret;
}
"""
ALWAYS = {"block": 256, "when": "always"}


def turned(ptx, kernel="turn"):
    x = np.arange(256, dtype=np.float32)
    outcome = wl.sim.run(ptx, kernel, block=256, args=[x])
    assert outcome.clean, str(outcome)
    return x


def bytes_of(ptx):
    return sum(o.shared for o in wl.reuse.occupancy(ptx, block=256, ptxas=False))


def test_a_rewritten_module_computes_the_same_with_half_of_the_bytes():
    ours = hooks.rewritten(PTX.encode(), whole_program=True, **ALWAYS)
    assert (bytes_of(PTX), bytes_of(ours)) == (2048, 1024)
    np.testing.assert_array_equal(turned(ours), turned(PTX))
    assert wl.reuse.check(PTX, ours, whole_program=True, block=256).ok
    assert not wl.reuse.check(PTX, ours, block=256).ok  # .visible arrays might be another module's
    assert hooks.rewritten(PTX, **ALWAYS) == PTX


@pytest.mark.parametrize("text", ["no PTX", "", PTX.replace("bar.sync 0;\n  sub", "fly.away [%r4];\n  sub"), PTX[:-30]])
def test_what_is_not_understood_is_handed_on(text):
    hook = hooks.Hook("test", {"whole_program": True, **ALWAYS})
    assert hook.rewrite(text) is text
    assert hook.left_alone or not text or [k[:3] for k in hook.kernels] == [("turn", 2048, 2048)]


class Library:
    """numba.cuda.codegen.CUDACodeLibrary"""

    name = "turn"

    def __init__(self, lto=False, files=()):
        self._ptx_cache, self._linking_files, self.needs_cudadevrt, self._lto = {}, set(files), False, lto

    def _ensure_cc(self, cc):
        return cc or (7, 5)

    def get_asm_strs(self, cc=None):
        return self._ptx_cache.setdefault(self._ensure_cc(cc), [PTX])

    def get_cubin(self, cc=None):
        return "LTO-IR" if self._lto else self.get_asm_strs(cc)[0]


@pytest.fixture
def numba(monkeypatch):
    codegen = types.ModuleType("numba.cuda.codegen")
    codegen.CUDACodeLibrary = type("CUDACodeLibrary", (Library,), dict(Library.__dict__))
    for name, module in {"numba": types.ModuleType("numba"), "numba.cuda": types.ModuleType("numba.cuda"), "numba.cuda.codegen": codegen}.items():
        monkeypatch.setitem(sys.modules, name, module)
    return codegen


def test_numba(numba):
    before = numba.CUDACodeLibrary.get_asm_strs
    with hooks.numba_cuda(**ALWAYS) as hook:
        library, optimised = numba.CUDACodeLibrary(), numba.CUDACodeLibrary(lto=True)
        ours = library.get_asm_strs()[0]
        assert bytes_of(ours) == 1024 and library.get_asm_strs(cc=(7, 5)) == [ours] and library.get_cubin() == ours
        assert optimised.get_cubin() == ours  # the PTX, and not what is optimised while linking
        linked = numba.CUDACodeLibrary(files=["other.o"])
        assert linked.get_asm_strs() == [PTX]
    np.testing.assert_array_equal(turned(ours), turned(PTX))
    assert [(k.name, k.bytes_before, k.bytes_after) for k in hook.kernels] == [("turn", 2048, 1024)] * 2
    assert hook.left_alone == ["turn: other files are linked"]
    assert "turn: 2,048 -> 1,024 bytes" in str(hook)
    assert numba.CUDACodeLibrary.get_asm_strs is before and numba.CUDACodeLibrary().get_asm_strs() == [PTX]


def test_a_version_with_another_inside_is_an_error(numba):
    monkey = type("CUDACodeLibrary", (), {"get_asm_strs": Library.get_asm_strs})
    numba.CUDACodeLibrary = monkey
    with pytest.raises(RuntimeError, match="CUDACodeLibrary has no get_cubin: its inside is not that of numba-cuda 0.30"):
        with hooks.numba_cuda():
            pass
    assert monkey.get_asm_strs is Library.get_asm_strs


@pytest.fixture
def cupy_compiler(monkeypatch):
    compiler = types.ModuleType("cupy.cuda.compiler")
    compiler._get_arch_for_options_for_nvrtc = lambda arch=None: (f"-arch=sm_{arch}", "cubin")
    compiler._get_cupy_cache_key = lambda: "key"
    compiler._is_cudadevrt_needed = lambda options: "-rdc=true" in options

    def compile(source, options=(), arch=None, filename="kern.cu", name_expressions=None, log_stream=None, cache_in_memory=False, jitify=None, method=None):
        way = method or compiler._get_arch_for_options_for_nvrtc(arch)[1]
        return (source.encode() if way == "ptx" else way.encode()), {"f<int>": "turn"}

    compiler._compile_using_nvrtc_no_warning = compile
    for name, module in {"cupy": types.ModuleType("cupy"), "cupy.cuda": types.ModuleType("cupy.cuda"), "cupy.cuda.compiler": compiler}.items():
        monkeypatch.setitem(sys.modules, name, module)
    return compiler


def test_cupy(cupy_compiler):
    with hooks.cupy(**ALWAYS) as hook:
        compile = cupy_compiler._compile_using_nvrtc_no_warning
        ours, mapping = compile(PTX, (), "75")
        assert bytes_of(ours.decode()) == 1024 and mapping == {"f<int>": "turn"}
        assert compile("// nothing to win", (), "75")[0] == b"cubin"
        assert compile(PTX, ("-rdc=true",), "75")[0] == b"cubin"
        assert compile(PTX, (), "75", "", None, None, False, None, "lto")[0] == b"lto" == compile(PTX, (), "75", method="lto")[0]
        assert cupy_compiler._get_cupy_cache_key() != "key"
    assert cupy_compiler._get_cupy_cache_key() == "key"
    assert cupy_compiler._compile_using_nvrtc_no_warning(PTX, (), "75")[0] == b"cubin" and len(hook.kernels) == 1


def test_cuda_core(monkeypatch):
    class ObjectCode:
        def __init__(self, code, name="", symbol_mapping=()):
            self.code, self.name, self.symbol_mapping = code, name, dict(symbol_mapping)

        @staticmethod
        def from_ptx(code, *, name="", symbol_mapping=None):
            return ObjectCode(code, name, symbol_mapping)

    class Program:
        def __init__(self, code, code_type):
            self.code = code

        def compile(self, target_type, name_expressions=()):
            return ObjectCode(self.code.encode() + b"\0" if target_type == "ptx" else b"cubin", "program", {"a": "b"})

    core = types.ModuleType("cuda.core")
    core.ObjectCode, core.Program = ObjectCode, Program
    monkeypatch.setitem(sys.modules, "cuda", types.ModuleType("cuda"))
    monkeypatch.setitem(sys.modules, "cuda.core", core)
    with hooks.cuda_core(whole_program=True, **ALWAYS) as hook:
        program = core.Program(PTX, "c++")
        assert isinstance(program, Program)
        made = program.compile("ptx")
        assert bytes_of(made.code.decode()) == 1024 and made.name == "program" and made.symbol_mapping == {"a": "b"}
        assert program.compile("cubin").code == b"cubin"
        assert core.Program("// nothing", "c++").compile("ptx").code == b"// nothing\0"
    assert core.Program is Program and len(hook.kernels) == 1


def test_torch_extension_runs_nvcc_through_wrap(tmp_path, monkeypatch, tool):
    said = tmp_path / "said"
    nvcc = tmp_path / "with blank" / "nvcc"
    nvcc.parent.mkdir()
    nvcc.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >"{said}"\n')
    nvcc.chmod(0o755)
    path = os.environ.get("WARPLOOM_TOOL") or shutil.which("warploom")
    monkeypatch.setenv("PATH", os.path.dirname(path), prepend=os.pathsep)
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    (tmp_path / "bin").symlink_to(nvcc.parent)
    monkeypatch.delenv("PYTORCH_NVCC", raising=False)
    with hooks.torch_extension(flags="--when always", log=tmp_path / "log") as compiler:
        assert os.environ["PYTORCH_NVCC"] == compiler
        assert os.environ["WARPLOOM_REUSE_FLAGS"] == "--when always" and os.environ["WARPLOOM_LOG"] == str(tmp_path / "log")
        subprocess.run([compiler, "--version", "a b"], check=True)
    assert said.read_text() == "--version\na b\n"
    assert "PYTORCH_NVCC" not in os.environ and "WARPLOOM_LOG" not in os.environ and not os.path.exists(compiler)


CUDA = r"""
extern "C" __global__ void turn(float* x) {
  __shared__ float a[256];
  __shared__ float b[256];
  int t = threadIdx.x;
  a[t] = x[t];
  __syncthreads();
  float s = a[255 - t];
  __syncthreads();
  b[t] = s;
  __syncthreads();
  x[t] = b[255 - t];
}
"""


def test_with_numba_itself():
    cuda = pytest.importorskip("numba.cuda", reason="numba-cuda is not installed")
    pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")
    import numba

    def turn(x):
        a = cuda.shared.array(256, numba.float32)
        b = cuda.shared.array(256, numba.float32)
        t = cuda.threadIdx.x
        a[t] = x[t]
        cuda.syncthreads()
        s = a[255 - t]
        cuda.syncthreads()
        b[t] = s
        cuda.syncthreads()
        x[t] = b[255 - t]

    def compiled():
        return cuda.compile_ptx(turn, numba.void(numba.float32[::1]), cc=(9, 0))[0]

    def ran(ptx):
        x = np.arange(256, dtype=np.float32)
        # an array is its data, size and strides, among other things that a kernel does not look at
        outcome = wl.sim.run(ptx, block=256, args=[0, 0, 256, 4, x, 256, 4])
        assert outcome.clean, str(outcome)
        return x

    plain = compiled()
    with hooks.numba_cuda(**ALWAYS) as hook:
        ours = compiled()
    assert [(k.bytes_before, k.bytes_after) for k in hook.kernels] == [(2048, 1024)]
    assert [bytes_of(ptx) for ptx in (plain, ours, compiled())] == [2048, 1024, 2048]
    np.testing.assert_array_equal(ran(ours), ran(plain))
    np.testing.assert_array_equal(ran(plain), np.arange(256))


def test_with_cupy_itself(monkeypatch):
    compiler = pytest.importorskip("cupy.cuda.compiler", reason="cupy is not installed")
    if not shutil.which("nvidia-smi"):  # the driver is asked whose device it is
        monkeypatch.setattr(compiler, "_get_arch_for_options_for_nvrtc", lambda arch=None: (f"-arch=sm_{arch}", "cubin"))
    compile = lambda: compiler._compile_using_nvrtc_no_warning(CUDA, (), "90")[0]
    plain = compile()
    with hooks.cupy(**ALWAYS) as hook:
        ours = compile()
    assert plain[:4] == b"\x7fELF" == compile()[:4] and [(k.bytes_before, k.bytes_after) for k in hook.kernels] == [(2048, 1024)]
    np.testing.assert_array_equal(turned(ours.decode().rstrip("\0")), np.arange(256))


def test_with_cuda_core_itself(monkeypatch):
    core = pytest.importorskip("cuda.core", reason="cuda-core is not installed")
    inside = sys.modules[core.Program.__module__]
    monkeypatch.setattr(inside, "_can_load_generated_ptx", lambda: True)  # asks the driver
    monkeypatch.setattr(inside, "driver_version", lambda: (13, 0, 0))
    compile = lambda: core.Program(CUDA, "c++", core.ProgramOptions(arch="sm_90")).compile("ptx")
    plain = compile()
    with hooks.cuda_core(**ALWAYS) as hook:
        ours = compile()
    assert type(ours) is type(plain) and [(k.bytes_before, k.bytes_after) for k in hook.kernels] == [(2048, 1024)]
    texts = [made.code.decode().rstrip("\0") for made in (plain, ours)]
    assert [bytes_of(text) for text in texts] == [2048, 1024]
    for text in texts:
        np.testing.assert_array_equal(turned(text), np.arange(256))
