"""Question: how much faster is `warploom segment --method level-set` on a CPU than scikit-image's chan_vese, and is the result the same?

Fixed: a picture like a micrograph (200 disks of random place, size and brightness, a background that grows brighter,
white noise of standard deviation 0.1), the checkerboard, the defaults of both: mu 0.25, tolerance 1e-3, at most 500
iterations. Timed: chan_vese() as a whole on float32 and float64, as it is called; of warploom the iterations (its
report's seconds.iterations) and the whole process, which reads and writes files too. One run, one machine, JSON.

    python3 bench/imaging/segment_peers.py --warploom build/default/bin/warploom [--sizes 256,512,1024] > peers.json
"""

import argparse
import json
import os
import platform
import subprocess
import tempfile
import time

import numpy as np
import skimage
from skimage.segmentation import chan_vese

from nifti import read_nifti, write_nifti


def scene(n, objects=200, noise=0.1, seed=1):
    random = np.random.default_rng(seed)
    y, x = np.mgrid[0:n, 0:n]
    image = 0.25 + 0.1 * x / n
    for _ in range(objects):
        cx, cy = random.uniform(0, n, 2)
        radius, brightness = random.uniform(0.01, 0.04) * n, random.uniform(0.45, 0.8)
        image[(x - cx) ** 2 + (y - cy) ** 2 < radius**2] = brightness
    return (image + noise * random.standard_normal((n, n))).astype(np.float32)


def dice(a, b):
    return 2 * np.count_nonzero(a & b) / (np.count_nonzero(a) + np.count_nonzero(b))


def warploom(tool, image, directory):
    source, mask = os.path.join(directory, "in.nii"), os.path.join(directory, "mask.nii")
    write_nifti(source, image)
    begin = time.perf_counter()
    out = subprocess.run(
        [tool, "segment", source, "-o", mask, "--device", "cpu", "--method", "level-set", "--inside", "start", "--force", "--json"],
        check=True, capture_output=True, text=True).stdout
    whole = time.perf_counter() - begin
    report = json.loads(out)
    return {"process_s": whole, "iterations_s": report["seconds"]["iterations"],
            "iterations": report["iterations"]}, read_nifti(mask, image.shape, np.uint8) != 0


def peer(image):
    begin = time.perf_counter()
    mask, _, energies = chan_vese(image, extended_output=True)
    return {"whole_s": time.perf_counter() - begin, "iterations": len(energies)}, mask


def best(runs, seconds):
    return min(runs, key=lambda run: run[0][seconds])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--warploom", required=True, help="the tool")
    parser.add_argument("--sizes", default="256,512,1024", help="pixels along each side")
    parser.add_argument("--repeat", type=int, default=3, help="the best of so many runs counts")
    arguments = parser.parse_args()
    results = []
    with tempfile.TemporaryDirectory() as directory:
        for n in map(int, arguments.sizes.split(",")):
            image = scene(n)
            ours, mask = best([warploom(arguments.warploom, image, directory) for _ in range(arguments.repeat)],
                              "iterations_s")
            single, mask32 = best([peer(image) for _ in range(arguments.repeat)], "whole_s")
            double, mask64 = best([peer(image.astype(np.float64)) for _ in range(arguments.repeat)], "whole_s")
            per_iteration = ours["iterations_s"] / ours["iterations"]
            results.append({
                "size": [n, n], "warploom": ours, "skimage_float32": single, "skimage_float64": double,
                "ratio_per_iteration_float32": single["whole_s"] / single["iterations"] / per_iteration,
                "ratio_whole_process_float32": single["whole_s"] / ours["process_s"],
                "ratio_per_iteration_float64": double["whole_s"] / double["iterations"] / per_iteration,
                "dice_with_float32": dice(mask, mask32), "dice_with_float64": dice(mask, mask64)})
    print(json.dumps({"machine": platform.processor() or platform.machine(), "cpus": os.cpu_count(),
                      "skimage": skimage.__version__, "numpy": np.__version__, "results": results}, indent=2))


if __name__ == "__main__":
    main()
