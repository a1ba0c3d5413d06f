#!/usr/bin/env python3
"""Question: how long does `warploom denoise` take as a whole, from and to uncompressed files?

Fixed: the noisy phantom of make_phantom.py, SIZE^3 tensors in the page cache; all maps; relative gap 1e-4; lambda from the noise
and lambda given. Timed: the whole process by the clock, ROUNDS times, median; its report's parts beside it.

    wall.py --warploom build/gpu/bin/warploom [--size 128] [--device cuda] [--rounds 7] [--out FILE.json]
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--warploom", required=True)
    parser.add_argument("--size", type=int, default=128)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--format", default="nii")
    parser.add_argument("--out")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "noisy.nii")
        phantom = os.path.join(os.path.dirname(os.path.abspath(__file__)), "make_phantom.py")
        subprocess.run([sys.executable, phantom, str(options.size), source], check=True)
        for weight in ("auto", "4"):
            runs = []
            for _ in range(options.rounds + 1):  # the first one warms up
                command = [options.warploom, "denoise", source, "-o", os.path.join(folder, "out"), "--force", "--json"]
                command += ["--format", options.format, "--device", options.device, "--lambda", weight, "--tolerance", "1e-4"]
                for name in os.listdir(folder):
                    if name.startswith("out"):
                        os.remove(os.path.join(folder, name))
                begin = time.perf_counter()
                told = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
                runs.append(dict(wall=time.perf_counter() - begin, **told["seconds"]))
            median = {key: statistics.median(run[key] for run in runs[1:]) for key in runs[0]}
            rows.append({"lambda": weight, "iterations": told["solver"]["iterations"],
                         "seconds": median, "slowest_wall": max(run["wall"] for run in runs[1:])})
            print(json.dumps(rows[-1]))
    if options.out:
        with open(options.out, "w") as file:
            json.dump(dict(size=options.size, device=options.device, format=options.format, rounds=options.rounds, rows=rows), file, indent=1)


if __name__ == "__main__":
    main()
