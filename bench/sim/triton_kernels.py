#!/usr/bin/env python3
"""Kernels that Triton compiles, in the simulator: results beside NumPy's, and faults planted at their lines.

    pip install triton numpy        # compiles to PTX without a GPU
    bench/sim/triton_kernels.py build/no-cuda/bin/warploom [figures.json]

Softmax, a product of matrices (f16, sums in f32) and attention's forward pass (blocks of keys, running maximum
and sum), each for compute capability 8.0 (cp.async, mma) and 9.0 (cp.async, wgmma). Then one line after the
other of those that order memory is taken out. A line whose loss no finding shows is listed: it is one that
nothing needs, or a gap of ours.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import warnings

import numpy as np

warnings.filterwarnings("ignore")
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def softmax(out, x, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + at, mask=at < columns, other=-float("inf"))
    e = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * columns + at, e / tl.sum(e, axis=0), mask=at < columns)


@triton.jit
def product(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for k0 in range(0, tl.cdiv(K, BK)):
        k = k0 * BK + tl.arange(0, BK)
        left = tl.load(a + i[:, None] * K + k[None, :], mask=(i[:, None] < M) & (k[None, :] < K), other=0.0)
        right = tl.load(b + k[:, None] * N + j[None, :], mask=(k[:, None] < K) & (j[None, :] < N), other=0.0)
        total = tl.dot(left, right, total)
    tl.store(c + i[:, None] * N + j[None, :], total.to(tl.float16), mask=(i[:, None] < M) & (j[None, :] < N))


@triton.jit
def attention(q, k, v, out, N, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    head = tl.program_id(1) * N * D
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    queries = tl.load(q + head + i[:, None] * D + d[None, :], mask=i[:, None] < N, other=0.0)
    most = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    sums = tl.zeros((BM, D), tl.float32)
    for j0 in range(0, N, BN):
        j = j0 + tl.arange(0, BN)
        keys = tl.load(k + head + j[None, :] * D + d[:, None], mask=j[None, :] < N, other=0.0)
        values = tl.load(v + head + j[:, None] * D + d[None, :], mask=j[:, None] < N, other=0.0)
        scores = tl.dot(queries, keys) * scale
        scores = tl.where(j[None, :] < N, scores, -float("inf"))
        greater = tl.maximum(most, tl.max(scores, 1))
        p = tl.exp(scores - greater[:, None])
        shrink = tl.exp(most - greater)
        total = total * shrink + tl.sum(p, 1)
        sums = tl.dot(p.to(tl.float16), values, sums * shrink[:, None])
        most = greater
    tl.store(out + head + i[:, None] * D + d[None, :], sums / total[:, None], mask=i[:, None] < N)


def normalised(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


class Case:
    """A kernel's signature and constants, a launch, what its result must be and how far off it may be."""

    def __init__(self, kernel, types, constants, grid, arguments, result, expected, tolerance, stages=3):
        self.kernel, self.types, self.constants, self.grid = kernel, types, constants, grid
        self.arguments, self.result, self.expected, self.tolerance = arguments, result, expected, tolerance
        self.stages = stages

    def compile(self, capability):
        names = self.kernel.arg_names
        constants = {(names.index(n),): value for n, value in self.constants.items()}
        signature = {n: self.types.get(n, "constexpr") for n in names}
        multiples = {(i,): [["tt.divisibility", 16]] for i, n in enumerate(names)
                     if n in self.types and self.types[n] != "fp32" and self.multiple(n)}
        source = ASTSource(fn=self.kernel, signature=signature, constexprs=constants, attrs=multiples)
        return triton.compile(source, target=GPUTarget("cuda", capability, 32),
                              options={"num_warps": 4, "num_stages": self.stages})

    def multiple(self, name):
        if self.types[name].startswith("*"):
            return True
        at = [n for n in self.kernel.arg_names if n in self.types].index(name)
        return int(self.arguments[at].split(":")[1]) % 16 == 0


def floats(kind, *shape):
    return f"buf:{kind}:{int(np.prod(shape))}:random(-1,1)"


ROWS, COLUMNS = 8, 1000
M, N, K = 112, 208, 192
HEADS, TOKENS, WIDTH = 2, 144, 64
CASES = [
    Case(softmax, {"out": "*fp32", "x": "*fp32", "columns": "i32"}, {"BLOCK": 1024}, (ROWS, 1),
         [f"buf:f32:{ROWS * COLUMNS}:zero", floats("f32", ROWS, COLUMNS), f"i32:{COLUMNS}"], 0,
         lambda x: normalised(x[1].reshape(ROWS, COLUMNS)), 1e-6),
    Case(product, {"a": "*fp16", "b": "*fp16", "c": "*fp16", "M": "i32", "N": "i32", "K": "i32"},
         {"BM": 64, "BN": 128, "BK": 64}, (2, 2),
         [floats("f16", M, K), floats("f16", K, N), f"buf:f16:{M * N}:zero", f"i32:{M}", f"i32:{N}", f"i32:{K}"],
         2, lambda x: x[0].reshape(M, K) @ x[1].reshape(K, N), 2.0**-11),
    Case(attention, {"q": "*fp16", "k": "*fp16", "v": "*fp16", "out": "*fp32", "N": "i32", "scale": "fp32"},
         {"BM": 64, "BN": 64, "D": WIDTH}, (3, HEADS),
         [floats("f16", HEADS, TOKENS, WIDTH)] * 3 + [f"buf:f32:{HEADS * TOKENS * WIDTH}:zero", f"i32:{TOKENS}",
                                                      f"f32:{WIDTH ** -.5}"],
         3, lambda x: normalised(np.einsum("hid,hjd->hij", *(x[n].reshape(HEADS, TOKENS, WIDTH) for n in (0, 1)))
                                 * WIDTH ** -.5) @ x[2].reshape(HEADS, TOKENS, WIDTH), 2e-3, stages=2),
]

ORDERING = re.compile(r"^\s*(bar\.sync|cp\.async\.wait_group|wgmma\.wait_group|wgmma\.fence|fence\.proxy)")


def simulate(tool, folder, text, case, compiled, dump=False):
    path = folder / "kernel.ptx"
    path.write_text(text)
    parameters = len(re.findall(r"\.param ", text[:text.index(")\n")]))
    buffers = [n for n, a in enumerate(case.arguments) if a.startswith("buf:")]
    command = [tool, "sim", path, "--grid", ",".join(map(str, case.grid)), "--block", "128", "--dynamic-shared",
               str(compiled.metadata.shared), "--race", "--json"]
    # Triton's last parameters are its own scratch memory, which none of these kernels has.
    for argument in case.arguments + ["u64:0"] * (parameters - len(case.arguments)):
        command += ["--arg", argument]
    for n in buffers if dump else []:
        command += ["--dump", f"{n}:{folder / str(n)}.npy", "--force"]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode not in (0, 1):
        raise SystemExit(run.stderr)
    return json.loads(run.stdout), {n: np.load(folder / f"{n}.npy").astype(np.float64) for n in buffers} if dump else {}


def kinds(report):
    return sorted({kind for kind in re.findall(r'"kind": ?"([^"]+)"', json.dumps(report))})


def main():
    tool = pathlib.Path(sys.argv[1]).resolve()
    figures = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for case in CASES:
            for capability in (80, 90):
                compiled = case.compile(capability)
                text = compiled.asm["ptx"]
                report, buffers = simulate(tool, folder, text, case, compiled, dump=True)
                expected = case.expected(buffers)
                off = np.abs(buffers[case.result].reshape(expected.shape) - expected).max() / np.abs(expected).max()
                lines = text.split("\n")
                planted, unseen = {}, []
                for at, line in enumerate(lines):
                    if not ORDERING.match(line):
                        continue
                    without = "\n".join(lines[:at] + ["// " + line] + lines[at + 1:])
                    found = kinds(simulate(tool, folder, without, case, compiled)[0])
                    what = line.split(";")[0].split()[0]
                    there = planted.setdefault(what, {"lines": 0, "found": 0})
                    there["lines"] += 1
                    there["found"] += bool(found)
                    if not found:
                        unseen.append(f"{at + 1}: {line.strip()}")
                figure = {"kernel": case.kernel.__name__, "capability": capability,
                          "shared_bytes": compiled.metadata.shared, "findings": kinds(report),
                          "largest_error": float(off), "tolerance": case.tolerance, "right": bool(off <= case.tolerance),
                          "planted": planted, "unseen": unseen}
                figures.append(figure)
                print(json.dumps(figure, indent=1))
    if len(sys.argv) > 2:
        pathlib.Path(sys.argv[2]).write_text(json.dumps({"triton": triton.__version__, "kernels": figures}, indent=1) + "\n")
    return 0 if all(f["right"] and not f["findings"] for f in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
