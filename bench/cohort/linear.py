#!/usr/bin/env python3
"""How what a cohort does in a second grows with cores, and how much of what is missing is the machine's.

    bench/cohort/linear.py build/default/bin/warploom --folder /dev/shm/linear --cores 1,4,8,16 [--each 4] [--side 64]

On N cores, one after the other: N processes that compute and touch no memory (`spin`); N that copy 64 MiB back and forth
(`copy`); N that call `warploom denoise --threads 1` for images of their own, one after the other (`processes`); N workers of one
thread that share a folder (`workers`); and one worker of N threads that has N images in work at a time, or --at-once (`cohort`). Each gets the same work a
core. Says for each how much it did a second, divided by N times what one core did (the median of rounds), the processor
time of an image, and the share of the cores' time that this was: images a second are the busy cores divided by an image's time, so
that what is lost is either slower images, as those of independent processes are, or cores that wait. Prints one JSON object.
"""
import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

from cores import processors
from throughput import disk_of, write_tensors

SPIN = """
import hashlib, sys, time
block = bytes(4096)
begin = time.monotonic()
for _ in range(int(sys.argv[1])):
    hashlib.sha256(block)
print(time.monotonic() - begin)
"""
COPY = """
import sys, time
import numpy as np
a, b = np.ones(1 << 23), np.ones(1 << 23)
begin = time.monotonic()
for _ in range(int(sys.argv[1])):
    np.copyto(b, a)
print(time.monotonic() - begin)
"""


def on_cores(commands):
    """Starts command k on core k. Wall seconds, user and system seconds, and what each printed."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    running = [subprocess.Popen(["taskset", "-c", core] + command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
               for core, command in commands]
    printed = []
    for process in running:
        out, error = process.communicate()
        if process.returncode:
            sys.exit(f"{process.args}: {process.returncode}\n{error[-2000:]}")
        printed.append(out)
    seconds, after = time.monotonic() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime, printed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tool", type=Path)
    parser.add_argument("--folder", type=Path, required=True, help="made, and removed at the end")
    parser.add_argument("--cores", default="1,4,8,16")
    parser.add_argument("--each", type=int, default=4, help="images a core")
    parser.add_argument("--side", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--at-once", default="", help="images that the cohort has in work, one number for each of --cores [one a core]")
    parser.add_argument("--options", default="", help="more words of denoise")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    folder, tool = arguments.folder, str(arguments.tool.resolve())
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    first, second = processors()
    numbers = [int(n) for n in arguments.cores.split(",")]
    at_once = [int(n) for n in arguments.at_once.split(",")] if arguments.at_once else numbers
    if len(at_once) != len(numbers):
        sys.exit(f"--at-once has {len(at_once)} numbers, --cores {len(numbers)}")
    if max(numbers) > len(first + second):
        sys.exit(f"{max(numbers)} cores are asked for, {len(first + second)} are there")
    for k in range(4):
        write_tensors(folder / f"made{k}.nii", arguments.side, k)
    words = ["--order", "fsl", "--maps", "all", "--format", "nii", "--device", "cpu"] + arguments.options.split()
    rounds = {}
    result = {"side": arguments.side, "images a core": arguments.each, "disk": disk_of(folder), "options": arguments.options,
              "processors": {"cores": len(first), "that share one with another": len(second)}, "runs": []}
    for n, images_at_once in zip(numbers, at_once):
        cores = list(map(str, (first + second)[:n]))
        inputs, results = folder / f"in{n}", folder / "out"
        inputs.mkdir()
        for k in range(n * arguments.each):
            os.link(folder / f"made{k % 4}.nii", inputs / f"sub{k:03d}.nii")
        worker = [tool, "cohort", str(inputs), "-o", str(results), "-q"]
        tail = ["--", "denoise", "{}", "-o", "{out}"] + words
        for _ in range(arguments.rounds):
            run = {"cores": n, "at once": images_at_once}
            for name, program, times in (("spin", SPIN, 200000), ("copy", COPY, 40)):
                seconds, _, _, printed = on_cores([(core, [sys.executable, "-c", program, str(times)]) for core in cores])
                run[name] = {"rate": sum(times / float(text) for text in printed)}
            ways = {
                "processes": [(core, ["sh", "-c", "for k in \"$@\"; do " + " ".join(
                    [tool, "denoise", f"{inputs}/sub$k.nii", "-q", "-o", f"{results}/sub$k", "--threads", "1"] + words) +
                    " || exit 1; done", "sh"] + [f"{at * arguments.each + k:03d}" for k in range(arguments.each)])
                    for at, core in enumerate(cores)],
                "workers": [(core, worker + ["--at-once", "1", "--threads", "1"] + tail) for core in cores],
                "cohort": [(",".join(cores), worker + ["--at-once", str(images_at_once), "--threads", str(n)] + tail)],
            }
            for name, commands in ways.items():
                shutil.rmtree(results, ignore_errors=True)
                results.mkdir()
                seconds, user, system, _ = on_cores(commands)
                images = n * arguments.each
                run[name] = {"rate": images / seconds, "user s an image": user / images, "system s an image": system / images,
                             "busy": (user + system) / seconds / n}
            rounds.setdefault(n, []).append(run)
            print(json.dumps(run), file=sys.stderr, flush=True)
        shutil.rmtree(inputs)
        run = {"cores": n, "at once": images_at_once}
        for name in rounds[n][0]:
            if name not in run:
                run[name] = {what: statistics.median(one[name][what] for one in rounds[n]) for what in rounds[n][0][name]}
        for name, said in run.items():
            if isinstance(said, dict) and numbers[0] == 1:
                said["of linear"] = said["rate"] / (result["runs"] or [run])[0][name]["rate"] / n
        result["runs"].append(run)
    result["rounds"] = rounds
    shutil.rmtree(folder)
    text = json.dumps(result, indent=1)
    if arguments.out:
        arguments.out.write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
