#!/usr/bin/env python3
"""What a tensor image costs a core, for several builds of the tool in turns, alone and beside others that do the same.

    bench/cohort/image_cost.py before/warploom build/default/bin/warploom --folder /dev/shm/cost --at-once 1,2,4,8,16 --rounds 5

Each round runs every build (in the other order every second time): N processes on N cores, each a cohort of one thread with --images
images of its own, all started at once. Says user and system seconds an image, medians of rounds, and the ratio to the first build's of
the same round. That builds write the same bytes is checked. Prints one JSON object.
"""
import argparse
import hashlib
import json
import os
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

from cores import processors
from throughput import write_tensors


def cost(tool, folder, cores, images):
    """User and system seconds an image, and the hash of what the first process wrote."""
    out = folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    running = [subprocess.Popen(
        ["taskset", "-c", core, tool, "cohort", str(folder / "in"), "-o", str(out / core), "-q", "--at-once", "1", "--threads", "1", "--",
         "denoise", "{}", "-o", "{out}", "--order", "fsl", "--maps", "all", "--format", "nii", "--device", "cpu"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for core in cores]
    user = system = 0
    for process in running:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            sys.exit(f"{process.args}: {process.returncode}")
        user, system = user + used.ru_utime, system + used.ru_stime
    digest = hashlib.sha256()
    for path in sorted((out / cores[0]).rglob("*.nii")):
        digest.update(path.read_bytes())
    return user / len(cores) / images, system / len(cores) / images, digest.hexdigest()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tools", nargs="+", help="builds of warploom; the first is what others are compared with")
    parser.add_argument("--folder", type=Path, required=True, help="made, and removed at the end")
    parser.add_argument("--at-once", default="1", help="processes")
    parser.add_argument("--images", type=int, default=2, help="of each process")
    parser.add_argument("--side", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    folder = arguments.folder
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "in").mkdir(parents=True)
    for k in range(arguments.images):
        write_tensors(folder / "in" / f"sub{k}.nii", arguments.side, k)
    first, second = processors()
    result = {"side": arguments.side, "images a process": arguments.images, "rounds": arguments.rounds, "runs": []}
    written = set()
    for n in map(int, arguments.at_once.split(",")):
        cores = list(map(str, (first + second)[:n]))
        if len(cores) < n:
            sys.exit(f"{n} cores are asked for, {len(cores)} are there")
        costs = {tool: [] for tool in arguments.tools}
        for k in range(arguments.rounds):
            for tool in arguments.tools[::-1] if k % 2 else arguments.tools:
                *seconds, digest = cost(tool, folder, cores, arguments.images)
                costs[tool].append(seconds)
                written.add(digest)
        base = costs[arguments.tools[0]]
        for tool in arguments.tools:
            run = {"processes": n, "build": Path(tool).name,
                   "user s an image": statistics.median(user for user, _ in costs[tool]),
                   "system s an image": statistics.median(system for _, system in costs[tool]),
                   "user, of the first build's": statistics.median(user / other for (user, _), (other, _) in zip(costs[tool], base)),
                   "user of rounds": [round(user, 3) for user, _ in costs[tool]]}
            result["runs"].append(run)
            print(json.dumps(run), file=sys.stderr, flush=True)
    shutil.rmtree(folder)
    result["same bytes"] = len(written) == 1
    json.dump(result, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
