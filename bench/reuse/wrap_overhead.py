#!/usr/bin/env python3
"""What `warploom wrap` adds to a build.

Compiles a small project with nvcc and with `warploom wrap nvcc`, alternating, in two forms: without
candidates (kernels with at most one shared array) and with one (every kernel is rewritten). Prints medians
and quartiles of a whole build, one compiler at a time, and the median of the paired differences in percent of
the plain build: of processor time, which other work on the machine disturbs little, and of wall time.

    wrap_overhead.py build/default/bin/warploom --rounds 20
"""
import argparse
import os
import resource
import shutil
import statistics
import subprocess
import tempfile
import time

PLAIN = """
#include <cub/block/block_reduce.cuh>
__global__ void __launch_bounds__(256) sum(const int* in, int* out) {
  typedef cub::BlockReduce<int, 256> Reduce;
  __shared__ typename Reduce::TempStorage storage;
  const int total = Reduce(storage).Sum(in[threadIdx.x] + NUMBER);
  if (threadIdx.x == 0) *out = total;
}
"""
CANDIDATE = """
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
__global__ void __launch_bounds__(256) sum(int* in, int* out) {
  typedef cub::BlockReduce<int, 256> Reduce;
  typedef cub::BlockScan<int, 256> Scan;
  __shared__ typename Scan::TempStorage scan;
  __shared__ typename Reduce::TempStorage reduce;
  int x = in[threadIdx.x] + NUMBER;
  Scan(scan).InclusiveSum(x, x);
  in[threadIdx.x] = x;
  __syncthreads();
  const int total = Reduce(reduce).Sum(x);
  if (threadIdx.x == 0) *out = total;
}
"""


def build(directory, launcher, files, arguments):
    """Processor and wall time of one build [s]."""
    used, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    for name in files:
        subprocess.run(launcher + ["nvcc", "-O3", "-std=c++17", *arguments, "-c", name, "-o", name + ".o"],
                       cwd=directory, check=True)
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    return now.ru_utime - used.ru_utime + now.ru_stime - used.ru_stime, time.perf_counter() - begin


def measure(warploom, text, files, rounds, arguments):
    plain, wrapped = [], []
    with tempfile.TemporaryDirectory() as directory:
        names = [f"k{i}.cu" for i in range(files)]
        for i, name in enumerate(names):
            with open(os.path.join(directory, name), "w") as out:
                out.write(text.replace("NUMBER", str(i)))
        for round_ in range(rounds + 1):
            order = [(plain, []), (wrapped, [warploom, "wrap"])]
            for times, launcher in order if round_ % 2 else reversed(order):
                cost = build(directory, launcher, names, arguments)
                if round_ > 0:  # the first warms the file cache
                    times.append(cost)
    return plain, wrapped


def describe(times):
    low, middle, high = statistics.quantiles(times, n=4)
    return f"{middle:.3f} s ({low:.3f} to {high:.3f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("warploom", help="the tool")
    parser.add_argument("--rounds", type=int, default=20, help="builds of each kind, at least 2 [20]")
    parser.add_argument("--files", type=int, default=3, help="CUDA files in the project [3]")
    options = parser.parse_args()
    if shutil.which("nvcc") is None:
        raise SystemExit("wrap_overhead: nvcc is not in PATH")
    warploom = os.path.abspath(options.warploom)
    os.environ["WARPLOOM_REUSE_FLAGS"] = "--when always"
    architectures = [f"-gencode=arch=compute_{a},code=sm_{a}" for a in (80, 90)]
    for title, text in ("no candidates", PLAIN), ("every kernel rewritten", CANDIDATE):
        plain, wrapped = measure(warploom, text, options.files, options.rounds, architectures)
        for what, index in ("processor time", 0), ("wall time", 1):
            before, after = [p[index] for p in plain], [w[index] for w in wrapped]
            added = statistics.median(w - p for p, w in zip(before, after)) / statistics.median(before)
            print(f"{title}, {what}: nvcc {describe(before)}, wrapped {describe(after)}, difference {added * 100:+.2f} %")


if __name__ == "__main__":
    main()
