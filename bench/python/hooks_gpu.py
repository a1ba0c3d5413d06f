#!/usr/bin/env python3
"""Question: do kernels of CuPy, cuda.core, PyTorch's extensions and Numba, compiled through warploom.hooks, load on a GPU, need less
shared memory as the driver counts it, and give the results that they gave before?

    PYTHONPATH=build/no-cuda/python python bench/python/hooks_gpu.py cupy cuda_core numba torch >hooks.json

Programs of others: --program FILE.py, whose run(numpy) gives a dictionary of arrays and whose kernels() gives Numba's dispatchers by
name; it runs in two processes, one of them in the hook with --block X,Y,Z.
"""
import argparse
import json
import pickle
import runpy
import subprocess
import sys
import tempfile
import traceback

import numpy as np

CUDA = r"""
extern "C" __global__ void turn(float* x) {
  __shared__ float a[256];
  __shared__ float b[256];
  int t = threadIdx.x;
  a[t] = x[blockIdx.x * 256 + t];
  __syncthreads();
  float s = a[255 - t] * 3;
  __syncthreads();
  b[t] = s;
  __syncthreads();
  x[blockIdx.x * 256 + t] = b[(t + 1) % 256];
}
"""
BLOCKS = 1000
ALWAYS = {"block": 256, "when": "always"}


def expected():
    x = np.arange(BLOCKS * 256, dtype=np.float32).reshape(BLOCKS, 256)
    return np.roll(x[:, ::-1] * 3, -1, axis=1).reshape(-1)


def row(compiler, version, before, after, same):
    return {"compiler": compiler, "version": version, "bytes_before": before, "bytes_after": after, "results_equal": bool(same)}


def cupy():
    import cupy as cp
    from warploom import hooks

    def run():
        kernel = cp.RawKernel(CUDA, "turn")
        x = cp.arange(BLOCKS * 256, dtype=cp.float32)
        kernel((BLOCKS,), (256,), (x,))
        return kernel.shared_size_bytes, cp.asnumpy(x)

    before, plain = run()
    with hooks.cupy(**ALWAYS) as hook:
        cp.clear_memo()
        after, ours = run()
        total = int(cp.arange(1000).sum())  # CuPy's own kernels go on
    cp.clear_memo()
    again, _ = run()
    assert again == before and total == 499500, (again, total)
    return [row("CuPy RawKernel", cp.__version__, before, after, np.array_equal(plain, ours) and np.array_equal(ours, expected())) | {"hook": str(hook)}]


def cuda_core():
    import cuda.core as core
    from warploom import hooks

    if not hasattr(core, "Program"):
        import cuda.core.experimental as core
    device = core.Device()
    device.set_current()
    stream = device.create_stream()
    import cupy as cp

    def run():
        options = core.ProgramOptions(std="c++17", arch=f"sm_{device.arch}")
        kernel = core.Program(CUDA, code_type="c++", options=options).compile("ptx").get_kernel("turn")
        x = cp.arange(BLOCKS * 256, dtype=cp.float32)
        device.sync()
        core.launch(stream, core.LaunchConfig(grid=BLOCKS, block=256), kernel, x.data.ptr)
        stream.sync()
        shared = kernel.attributes.shared_size_bytes  # a method in some versions
        return int(shared() if callable(shared) else shared), cp.asnumpy(x)

    before, plain = run()
    with hooks.cuda_core(whole_program=True, **ALWAYS) as hook:
        after, ours = run()
    return [row("cuda.core Program", getattr(core, "__version__", ""), before, after, np.array_equal(plain, ours) and np.array_equal(ours, expected())) | {"hook": str(hook)}]


def numba():
    import numba
    from numba import cuda
    from warploom import hooks

    def turn(x):
        a = cuda.shared.array(256, numba.float32)
        b = cuda.shared.array(256, numba.float32)
        t = cuda.threadIdx.x
        a[t] = x[cuda.blockIdx.x * 256 + t]
        cuda.syncthreads()
        s = a[255 - t] * 3
        cuda.syncthreads()
        b[t] = s
        cuda.syncthreads()
        x[cuda.blockIdx.x * 256 + t] = b[(t + 1) % 256]

    def run():
        kernel = cuda.jit(turn)
        x = np.arange(BLOCKS * 256, dtype=np.float32)
        kernel[BLOCKS, 256](x)
        return next(iter(kernel.get_shared_mem_per_block().values())), x

    before, plain = run()
    with hooks.numba_cuda(**ALWAYS) as hook:
        after, ours = run()
    try:
        import numba_cuda
        version = numba_cuda.__version__
    except (ImportError, AttributeError):
        version = numba.__version__
    return [row("Numba-CUDA", version, before, after, np.array_equal(plain, ours) and np.array_equal(ours, expected())) | {"hook": str(hook)}]


TORCH = """
#include <torch/extension.h>
""" + CUDA + """
void turn_tensor(torch::Tensor x) { turn<<<x.numel() / 256, 256>>>(x.data_ptr<float>()); }
int64_t shared_bytes() { cudaFuncAttributes a; cudaFuncGetAttributes(&a, turn); return a.sharedSizeBytes; }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("turn_tensor", &turn_tensor); m.def("shared_bytes", &shared_bytes); }
"""


def torch_extension():
    """Compiles and runs the extension: the kernel's bytes, and what it gave."""
    import torch
    from torch.utils.cpp_extension import load

    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/turn_torch.cu", "w") as file:
            file.write(TORCH)
        module = load("turn_torch", [f"{folder}/turn_torch.cu"], build_directory=folder)
    x = torch.arange(BLOCKS * 256, dtype=torch.float32, device="cuda")
    module.turn_tensor(x)
    return module.shared_bytes(), x.cpu().numpy(), torch.__version__


def torch():
    from warploom import hooks

    child = subprocess.Popen([sys.executable, __file__, "--torch-child"], stdout=subprocess.PIPE)
    with hooks.torch_extension(flags="--when always --block 256"):
        after, ours, version = torch_extension()
    before, plain, _ = pickle.loads(after_start(child.communicate()[0]))
    return [row("PyTorch cpp_extension", version, before, after, np.array_equal(plain, ours) and np.array_equal(ours, expected()))]


def after_start(said):
    return said[said.index(b"\x80") :]


TRITON = """
import triton, triton.language as tl
@triton.jit
def row_sums(x, out, n: tl.constexpr):
    row = tl.program_id(0)
    v = tl.load(x + row * n + tl.arange(0, n))
    tl.store(out + row, tl.sum(v, axis=0))
"""


def triton():
    """Triton packs its shared memory itself: occupancy and the simulator take its PTX."""
    import torch
    import triton as tr
    import warploom as wl
    from warploom import _core

    with tempfile.NamedTemporaryFile("w", suffix=".py") as file:  # Triton reads a kernel's source
        file.write(TRITON)
        file.flush()
        row_sums = runpy.run_path(file.name)["row_sums"]
        x = torch.arange(8 * 512, dtype=torch.float32, device="cuda").reshape(8, 512)
        out = torch.zeros(8, device="cuda")
        compiled = row_sums[(8,)](x, out, 512)
    ptx = compiled.asm["ptx"]
    machine = _core.Machine(ptx, "triton")
    scratch = len(machine.parameters(machine.kernel(""))) - 2  # Triton's own, which this kernel does not use
    simulated = np.zeros(8, np.float32)
    arguments = [x.cpu().numpy().reshape(-1), simulated] + [0] * scratch
    outcome = wl.sim.run(ptx, "", grid=8, block=32 * compiled.metadata.num_warps, args=arguments, dynamic_shared=compiled.metadata.shared)
    resident = wl.reuse.occupancy(ptx, block=32 * compiled.metadata.num_warps)
    return [{"compiler": "Triton", "version": tr.__version__, "simulated_equals_gpu": bool(np.array_equal(simulated, out.cpu().numpy())),
             "findings": str(outcome), "occupancy": str(resident[0])}]


def program(path, block):
    """In a process: the arrays of a program, and the bytes of its kernels as the driver counts them."""
    code = runpy.run_path(path)
    results = code["run"](np)
    shared = {}
    for name, kernel in code["kernels"]().items():
        for bytes_ in kernel.get_shared_mem_per_block().values():
            shared[name] = bytes_
    return results, shared


def program_child(path, block):
    said = ""
    if block:
        from warploom import hooks
        with hooks.numba_cuda(block=tuple(int(e) for e in block.split(",")), when="always") as hook:
            made = program(path, block)
        said = str(hook)
    else:
        made = program(path, block)
    sys.stdout.buffer.write(pickle.dumps((*made, said)))


def programs(path, block):
    def child(*more):
        run = subprocess.run([sys.executable, __file__, "--program", path, "--child", *more], capture_output=True)
        if run.returncode:
            raise RuntimeError(run.stderr.decode()[-1500:])
        return pickle.loads(after_start(run.stdout))

    plain, before, _ = child()
    again, _, _ = child()
    ours, after, said = child("--block", block)
    relative = lambda a, b: max(float(np.max(np.abs(np.asarray(a[k], float) - b[k])) / max(1e-30, float(np.max(np.abs(a[k]))))) for k in a)
    return [{"compiler": f"Numba-CUDA: {path.split('/')[-1]}", "bytes_before": before, "bytes_after": after,
             "difference": relative(plain, ours), "difference_of_two_plain_runs": relative(plain, again), "hook": said}]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", nargs="*")
    parser.add_argument("--program")
    parser.add_argument("--block", default="")
    parser.add_argument("--child", action="store_true")
    parser.add_argument("--torch-child", action="store_true")
    asked = parser.parse_args()
    if asked.child:
        return program_child(asked.program, asked.block)
    if asked.torch_child:
        return sys.stdout.buffer.write(pickle.dumps(torch_extension()))
    rows = []
    jobs = [(name, globals()[name]) for name in asked.what]
    if asked.program:
        jobs.append((asked.program, lambda: programs(asked.program, asked.block)))
    for name, job in jobs:
        try:
            rows += job()
        except Exception as error:
            rows.append({"compiler": name, "error": f"{type(error).__name__}: {error}", "where": traceback.format_exc()[-1200:]})
    print(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
