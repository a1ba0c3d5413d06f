"""Other compilers' kernels with less shared memory, while a context manager is open::

    with warploom.hooks.numba_cuda(block=256) as hook:
        kernel[blocks, 256](x)
    print(hook)

A hook goes between a compiler's PTX and the driver. On any doubt, an instruction that is not known, a library that is linked, a
version whose inside is another one, it hands on what the compiler made, and says why. Off by default; what was compiled while it
was on stays as it is. Options are those of :func:`warploom.reuse.optimize`, with ``whole_program`` where nothing is linked.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import shutil
import stat
import sys
import tempfile
from typing import Any, Callable, Iterator, List, NamedTuple

from . import reuse
from ._core import version

__all__ = ["Hook", "Kernel", "cuda_core", "cupy", "numba_cuda", "rewritten", "torch_extension"]


class Kernel(NamedTuple):
    """What became of a kernel with shared memory."""

    name: str
    bytes_before: int
    """Shared memory of a block, without what a launch adds."""
    bytes_after: int
    reason: str
    """Why it was rewritten, or was not."""


class Hook:
    """What a hook did so far."""

    def __init__(self, compiler: str, options: dict[str, Any]) -> None:
        self.compiler = compiler
        self.options = options
        self.kernels: List[Kernel] = []
        """Those with shared memory that were compiled, in order."""
        self.left_alone: List[str] = []
        """Why whole modules were handed on as they were: an error of ours, a library that is linked."""

    def rewrite(self, ptx: str) -> str:
        """The module with less shared memory, or itself."""
        text = ptx.rstrip("\0")  # NVRTC's ends with one
        try:
            result = reuse.optimize(text, **self.options)
        except Exception as error:  # whatever it is: the compiler's text is good
            self.left_alone.append(str(error))
            return ptx
        if result.report["note"]:
            self.left_alone.append(result.report["note"])
        for kernel in result.report["kernels"]:
            if kernel["bytes_before"]:
                self.kernels.append(Kernel(kernel["name"], kernel["bytes_before"], kernel["bytes_after"], kernel["reason"]))
        return ptx if result.text == text else result.text

    def __str__(self) -> str:
        lines = [f"{k.name}: {k.bytes_before:,} -> {k.bytes_after:,} bytes: {k.reason}" for k in self.kernels]
        return "\n".join([f"{self.compiler}: {len(self.kernels)} kernels with shared memory", *lines, *self.left_alone])


def rewritten(ptx: str | bytes, **options: Any) -> str:
    """A module with less shared memory, or, whatever goes wrong, as it is: for a compiler of your own."""
    text = ptx.decode() if isinstance(ptx, bytes) else ptx
    return Hook("", options).rewrite(text)


@contextlib.contextmanager
def _replaced(owner: Any, name: str, make: Callable[[Any], Any], tried: str) -> Iterator[None]:
    """``make(what was there)`` in its place, for a while."""
    before = getattr(owner, name, None)
    if before is None:
        raise RuntimeError(f"{owner.__name__} has no {name}: its inside is not that of {tried}, with which this hook was tried")
    setattr(owner, name, make(before))
    try:
        yield
    finally:
        setattr(owner, name, before)


def _package(name: str, install: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"there is no {name}: pip install {install}") from error


@contextlib.contextmanager
def numba_cuda(**options: Any) -> Iterator[Hook]:
    """Numba's kernels: every ``cuda.shared.array`` of fixed size. Those with linked files are left alone.

    Kernels are compiled when they are first launched, or asked for (``compile_ptx``, ``inspect_asm``). Link-time optimisation of a
    kernel that was rewritten is turned off: it would begin before the PTX.
    """
    codegen = _package("numba.cuda.codegen", "numba-cuda")
    hook = Hook("numba-cuda", {"whole_program": True, **options})
    changed = set()  # libraries whose PTX is ours

    def ours(get_asm_strs: Any) -> Any:
        def get(library: Any, cc: Any = None) -> Any:
            cc = library._ensure_cc(cc)
            if library._ptx_cache.get(cc):
                return library._ptx_cache[cc]
            made = get_asm_strs(library, cc=cc)
            if library._linking_files or library.needs_cudadevrt or len(made) != 1:
                hook.left_alone.append(f"{library.name}: other files are linked")
                return made
            text = hook.rewrite(made[0])
            if text != made[0]:
                changed.add(id(library))
                library._ptx_cache[cc] = made = [text]
            return made

        return get

    def without_lto(get_cubin: Any) -> Any:
        def get(library: Any, cc: Any = None) -> Any:
            if library._lto:
                library.get_asm_strs(cc=cc)
                if id(library) in changed:
                    library._lto = False
            return get_cubin(library, cc=cc)

        return get

    with _replaced(codegen.CUDACodeLibrary, "get_asm_strs", ours, "numba-cuda 0.30"), _replaced(
        codegen.CUDACodeLibrary, "get_cubin", without_lto, "numba-cuda 0.30"
    ):
        yield hook


@contextlib.contextmanager
def cupy(**options: Any) -> Iterator[Hook]:
    """CuPy's RawKernel, RawModule and ElementwiseKernel, as NVRTC compiles them, and what CuPy compiles for itself.

    A kernel is compiled to PTX, and only if that is rewritten it is loaded; else NVRTC makes code for the device, as ever. The
    driver has to know the PTX of this NVRTC. CuPy's cache on disk keeps kernels of a hook apart from others.
    """
    compiler = _package("cupy.cuda.compiler", "cupy-cuda12x")
    hook = Hook("cupy", {"whole_program": True, **options})

    def as_ptx(_: Any) -> Any:
        return lambda arch=None: (f"-arch=compute_{compiler._get_arch() if arch is None else arch}", "ptx")

    def compiled(compile: Any) -> Any:
        def both(source: Any, options: Any = (), *arguments: Any, **named: Any) -> Any:
            method = named.get("method", arguments[6] if len(arguments) > 6 else None)
            if method is None and not compiler._is_cudadevrt_needed(options):
                with _replaced(compiler, "_get_arch_for_options_for_nvrtc", as_ptx, "cupy 14"):
                    made, mapping = compile(source, options, *arguments, **named)
                text = made.decode()
                ours = hook.rewrite(text)
                if ours != text:
                    return ours.encode(), mapping
            return compile(source, options, *arguments, **named)

        return both

    mark = f" warploom {version} {sorted(hook.options.items())}"
    with _replaced(compiler, "_compile_using_nvrtc_no_warning", compiled, "cupy 14"), _replaced(
        compiler, "_get_cupy_cache_key", lambda key: lambda: f"{key()}{mark}", "cupy 14"
    ):
        yield hook


@contextlib.contextmanager
def cuda_core(**options: Any) -> Iterator[Hook]:
    """``cuda.core.Program(...).compile("ptx")``: the object code that it gives has our PTX.

    Inside, ``cuda.core.Program`` is a class of ours: ask for it there, not by an earlier ``from cuda.core import Program``. Other
    targets, ``"cubin"`` and ``"ltoir"``, and programs that are compiled for linking are left alone.
    """
    core = _package("cuda.core", "cuda-core")
    hook = Hook("cuda.core", options)

    def with_ours(theirs: Any) -> Any:
        class Program(theirs):  # type: ignore[misc]
            def compile(self, target_type: str, *arguments: Any, **named: Any) -> Any:
                made = super().compile(target_type, *arguments, **named)
                if target_type != "ptx":
                    return made
                code = made.code
                text = code.decode() if isinstance(code, bytes) else code
                ours = hook.rewrite(text)
                if ours == text:
                    return made
                return core.ObjectCode.from_ptx(ours.encode(), name=made.name, symbol_mapping=dict(made.symbol_mapping))

        return Program

    with _replaced(core, "Program", with_ours, "cuda-core 1.2"):
        yield hook


@contextlib.contextmanager
def torch_extension(flags: str = "", log: str | os.PathLike[str] | None = None) -> Iterator[str]:
    """Kernels of ``torch.utils.cpp_extension``: nvcc runs through ``warploom wrap``, by the variable ``PYTORCH_NVCC``.

    Args:
        flags: options of ``warploom reuse``: ``"--when always"``.
        log: a file that gets a line of JSON for each kernel.

    Gives the path of the compiler that is used meanwhile. PyTorch is not imported for it.
    """
    tool = shutil.which("warploom") or shutil.which("warploom", path=os.path.dirname(sys.executable))
    if tool is None:
        raise RuntimeError("there is no warploom in PATH: it comes with the wheel, into the folder of scripts")
    home = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH") or "/usr/local/cuda"
    nvcc = os.environ.get("PYTORCH_NVCC") or shutil.which("nvcc", path=os.path.join(home, "bin")) or shutil.which("nvcc")
    if nvcc is None:
        raise RuntimeError("there is no nvcc in CUDA_HOME/bin or PATH")
    given = {"WARPLOOM_REUSE_FLAGS": flags, "WARPLOOM_LOG": "" if log is None else os.fspath(log)}
    with tempfile.TemporaryDirectory(prefix="warploom-") as folder:
        compiler = os.path.join(folder, "nvcc")
        with open(compiler, "w") as script:
            script.write(f'#!/bin/sh\nexec "{tool}" wrap {nvcc if " " in nvcc else _quoted(nvcc)} "$@"\n')
        os.chmod(compiler, os.stat(compiler).st_mode | stat.S_IXUSR)
        changes = {"PYTORCH_NVCC": compiler, **{name: value for name, value in given.items() if value}}
        before = {name: os.environ.get(name) for name in changes}
        os.environ.update(changes)
        try:
            yield compiler
        finally:
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value


def _quoted(path: str) -> str:
    return f'"{path}"'
