#!/usr/bin/env python3
"""Question: what do calls from Python add to resident memory beyond what the same calls from C++ add?

Fixed: float32 arrays in C order (Fortran order where an image is [x, y, z]) of MIB MiB, one thread (`denoise`: all), a process a call, one at a
time; the growth of the peak, in bytes of the input, from before the call to its end, results included. `bench_python_memory`
does the same in C++.

    PYTHONPATH=build/no-cuda/python python bench/python/memory.py build/no-cuda/bin/bench_python_memory [MIB] >memory.json
"""
import json
import platform
import subprocess
import sys

HEAD = """
import resource
import numpy as np
import warploom as wl

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

values = {mib} << 18
def image_of(voxels):
    image = np.zeros((voxels >> 20, 1024, 1024), np.float32)
    image.reshape(-1, 1024)[:, 256:512] = 1
    return image

{prepare}
before = peak()
kept = {call}
print(peak() - before)
"""

SERIES = """
rng = np.random.default_rng(1)
dwi = np.empty((32, values // (32 * 64 * 64), 64, 64), np.float32)
for volume in dwi: rng.standard_normal(volume.shape, np.float32, out=volume); volume *= 20; volume += 1000
b = np.r_[0., 0, np.full(30, 1000.)]; v = rng.normal(size=(32, 3)); v /= np.linalg.norm(v, axis=1)[:, None]
plane = np.zeros(dwi.T.shape[:3], bool, order='F'); plane[:, :, 0] = True  # memory is for all voxels
"""

CALLS = {
    "segment": ("image = image_of(values)",
                "wl.segment(image, method='level-set', max_num_iter=1, init_level_set='box', threads=1)"),
    "distance_matrix": ("X = np.ones((values >> 12, 1 << 12), np.float32)",
                        "wl.distance_matrix(X[:1], X, band=0, normalize=False, threads=1)"),
    "HashTable.find": ("keys = np.arange(values, dtype=np.uint32); table = wl.HashTable(threads=1); table.find(keys[:1000])",
                       "table.find(keys)"),
    "register.apply": ("small = np.zeros((64, 64, 64), np.float32, order='F'); small[20:40, 20:40] = 1\n"
                       "found = wl.register(small, small, method='rigid', start=np.eye(4), keep_start=True, threads=1)\n"
                       "image = image_of(values).T", "found.apply(image, threads=1)"),
    "search": ("walk = np.random.default_rng(1).standard_normal((1, values), np.float32); np.cumsum(walk, axis=1, out=walk)",
               "wl.search(walk, walk[:, 5000:5100].copy(), best=3, match='in-place', threads=1)"),
    "denoise, the fit alone": (SERIES, "wl.denoise(dwi.T, b, v, series='off', regulariser='none', mask=plane, maps=['fa'], device='cpu')"),
    "denoise, the series and the fit": (SERIES, "wl.denoise(dwi.T, b, v, series='on', regulariser='none', mask=plane, maps=['fa'], device='cpu')"),
    "denoise": (SERIES, "wl.denoise(dwi.T, b, v, series='on', mask=plane, maps=['fa'], device='cpu')"),
}


def main():
    program, mib = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1024
    rows = []
    for name in sys.argv[3:] or CALLS:
        prepare, call = CALLS[name]
        code = HEAD.format(mib=mib, prepare=prepare, call=call)
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        if run.returncode:
            rows.append({"call": name, "failed": run.stderr.strip().split("\n")[-1]})
            continue
        python = int(run.stdout)
        cpp = subprocess.run([program, name, str(mib)], capture_output=True, text=True)
        row = {"call": name, "python_bytes": python, "python_bytes_a_value": python / (mib << 18)}
        if cpp.returncode == 0:
            row |= {"cpp_bytes": int(cpp.stdout), "beyond_cpp_share_of_input": (python - int(cpp.stdout)) / (mib << 20)}
        rows.append(row)
        print(row, file=sys.stderr)
    print(json.dumps({"python": platform.python_version(), "mib": mib, "calls": rows}, indent=2))


if __name__ == "__main__":
    main()
