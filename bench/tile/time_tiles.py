#!/usr/bin/env python3
"""What do time tiles of stencils gain on this GPU, beside a launch for each stage?

PolyBench's jacobi-2d and fdtd-2d through `warploom tile --cuda --gpu-time-tiles KIND`, compiled by nvcc, data on the
device, kinds in turns. After a first run that loads kernels all arrays are compared with those of a launch a stage, bit
by bit. JSON lines.

    bench/tile/time_tiles.py --tool build/default/bin/warploom --out FILE [--sizes small] [--arch sm_90]
"""

import argparse
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
KINDS = ["none", "shared", "registers"]
NESTS = {  # file, arguments of its function, elements of its arrays, sizes: rows, columns, steps
    "jacobi_2d": ("jacobi-2d.c", "steps, n, a[0], a[1]", ["n * m", "n * m"],
                  [(1300, 1300, 500), (2800, 2800, 1000), (8192, 8192, 50), (250, 250, 100), (700, 700, 100),
                   (1000, 1000, 100), (2000, 2000, 100)]),
    "fdtd_2d": ("fdtd-2d.c", "steps, n, m, a[0], a[1], a[2], a[3]", ["n * m", "n * m", "n * m", "steps"],
                [(1000, 1200, 500), (2000, 2600, 1000), (8192, 8192, 50), (200, 240, 100), (600, 700, 100)]),
}
SMALL = [(1, 1, 1), (2, 2, 3), (3, 3, 2), (37, 37, 1), (133, 133, 9), (300, 300, 4), (701, 701, 10)]

HARNESS = r"""
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#define OK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { std::fprintf(stderr, "%d: %s\n", __LINE__, cudaGetErrorString(e_)); std::exit(1); } } while (0)
int main() {
  cudaDeviceProp device; OK(cudaGetDeviceProperties(&device, 0));
  cudaStream_t s; OK(cudaStreamCreate(&s));
  cudaMemPool_t pool; OK(cudaDeviceGetDefaultMemPool(&pool, 0));
  std::uint64_t keep = UINT64_MAX; OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
  cudaEvent_t begin, end; OK(cudaEventCreate(&begin)); OK(cudaEventCreate(&end));
  const int runs = %RUNS%;
  struct { int n, m, steps; } sizes[] = {%SIZES%};
  for (auto [n, m, steps] : sizes) {
    const std::size_t lengths[] = {%LENGTHS%};
    std::vector<float*> a, first;
    for (std::size_t length : lengths) {
      std::vector<float> values(length);
      for (std::size_t k = 0; k < length; ++k) values[k] = float((k * 7919 + a.size() * 104729 + k / 977) % 1000) * .01f + float(k % 37) / 37;
      a.push_back(nullptr), first.push_back(nullptr);
      OK(cudaMalloc(&a.back(), length * 4)); OK(cudaMalloc(&first.back(), length * 4));
      OK(cudaMemcpy(first.back(), values.data(), length * 4, cudaMemcpyHostToDevice));
    }
    std::vector<float> ms[3];
    std::vector<std::vector<float>> want;
    std::size_t other[3] = {};
    for (int run = 0; run <= runs; ++run)
      for (int kind = 0; kind < 3; ++kind) {
        for (std::size_t k = 0; k < a.size(); ++k) OK(cudaMemcpyAsync(a[k], first[k], lengths[k] * 4, cudaMemcpyDeviceToDevice, s));
        OK(cudaEventRecord(begin, s));
        OK(kind == 0 ? of_none::%CALL% : kind == 1 ? of_shared::%CALL% : of_registers::%CALL%);
        OK(cudaEventRecord(end, s)); OK(cudaEventSynchronize(end));
        float took; OK(cudaEventElapsedTime(&took, begin, end));
        if (run > 0) { ms[kind].push_back(took); continue; }
        for (std::size_t k = 0; k < a.size(); ++k) {
          std::vector<float> got(lengths[k]);
          OK(cudaMemcpy(got.data(), a[k], lengths[k] * 4, cudaMemcpyDeviceToHost));
          if (kind == 0) { want.push_back(std::move(got)); continue; }
          for (std::size_t e = 0; e < got.size(); ++e) other[kind] += std::memcmp(&got[e], &want[k][e], 4) != 0;
        }
      }
    const char* names[] = {"none", "shared", "registers"};
    double base = 0;
    for (int kind = 0; kind < 3; ++kind) {
      std::sort(ms[kind].begin(), ms[kind].end());
      const double median = ms[kind][ms[kind].size() / 2];
      if (kind == 0) base = median;
      std::printf("{\"device\": \"%s\", \"nest\": \"%NEST%\", \"rows\": %d, \"columns\": %d, \"steps\": %d, \"time_tiles\": \"%s\", \"ms\": %.4f, \"least_ms\": %.4f, \"times_as_fast_as_none\": %.2f, \"other_values\": %zu}\n",
                  device.name, n, m, steps, names[kind], median, ms[kind][0], base / median, other[kind]);
    }
    for (std::size_t k = 0; k < a.size(); ++k) { OK(cudaFree(a[k])); OK(cudaFree(first[k])); }
  }
}
"""


def program(tool, nest, sizes, runs):
    file, arguments, lengths, _ = NESTS[nest]
    parts = ["#include <cuda_runtime.h>\n#include <algorithm>\n#include <cmath>\n#include <cstdint>\n"]
    for kind in KINDS:
        text = subprocess.run([tool, "tile", str(ROOT / "examples/tile/polybench" / file), "--gpu-time-tiles", kind, "--cuda", "-"],
                              check=True, capture_output=True, text=True).stdout
        lines = [line.replace('extern "C" ', "") for line in text.splitlines() if not line.startswith("#include")]
        parts.append("namespace of_%s {\n%s\n}\n" % (kind, "\n".join(lines)))
    harness = HARNESS
    for word, by in {"RUNS": str(runs), "SIZES": ", ".join("{%d, %d, %d}" % size for size in sizes), "NEST": nest,
                     "LENGTHS": ", ".join(f"static_cast<std::size_t>({length.split()[0]})" + length[len(length.split()[0]):] for length in lengths),
                     "CALL": f"{nest}_device({arguments}, s)"}.items():
        harness = harness.replace(f"%{word}%", by)
    return "".join(parts) + harness


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--sizes", choices=["polybench", "small"], default="polybench")
    parser.add_argument("--compile-only", action="store_true")
    asked = parser.parse_args()
    results = ""
    with tempfile.TemporaryDirectory() as folder:
        for nest, (_, _, _, sizes) in NESTS.items():
            small = asked.sizes == "small"
            source, binary = pathlib.Path(folder, nest + ".cu"), pathlib.Path(folder, nest)
            source.write_text(program(asked.tool, nest, SMALL if small else sizes, 1 if small else 7))
            subprocess.run([asked.nvcc, "-std=c++17", "-O3", "-arch=" + asked.arch, "-o", str(binary), str(source)], check=True)
            if not asked.compile_only:
                results += subprocess.run([str(binary)], check=True, capture_output=True, text=True).stdout
                pathlib.Path(asked.out).write_text(results)


if __name__ == "__main__":
    main()
