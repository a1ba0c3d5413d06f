#!/usr/bin/env python3
"""One problem on 1, 2, 4 and more processes of mpirun: time, most memory of a process, and whether the result is that of one alone.

    bench/cohort/mpi.py build/default/bin/warploom --folder /dev/shm/mpi [--points 6000] [--bases 40000000] [--ranks 1,2,4]

for `dp nussinov` over a random sequence and `table count --kmer 31` with a database, with one thread a process. The tool has to be
built with -DWARPLOOM_MPI=ON, mpirun is Open MPI's. Prints one JSON object; exit code 1 if a result differs.
"""
import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path


def run(command, folder):
    """Seconds, and the most memory of each process [MiB]."""
    started = time.monotonic()
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True,
                          env={**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
    seconds = time.monotonic() - started
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.returncode}\n{done.stderr[-2000:]}")
    return seconds, [round(int(kib) / 1024, 1) for kib in re.findall(r"peak (\d+)", done.stderr)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tool", type=Path)
    parser.add_argument("--folder", type=Path, required=True, help="made, and removed at the end")
    parser.add_argument("--points", type=int, default=6000)
    parser.add_argument("--bases", type=int, default=40_000_000)
    parser.add_argument("--ranks", default="1,2,4")
    arguments = parser.parse_args()
    folder, tool = arguments.folder, str(arguments.tool.resolve())
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    draw = random.Random(1)
    (folder / "r.fa").write_text(">r\n" + "".join(draw.choices("ACGU", k=arguments.points - 1)) + "\n")
    letters = bytes(b"ACGT"[value & 3] for value in range(256))
    with open(folder / "g.fa", "wb") as file:
        file.write(b">g\n")
        for _ in range(arguments.bases // 80):
            file.write(draw.randbytes(80).translate(letters) + b"\n")
    (folder / "s.fa").write_text(">s\n" + "".join(draw.choices("ACGU", k=100)) + "\n")
    problems = {"start: dp nussinov of 100 bases": ["dp", "nussinov", "s.fa", "--storage", "plain", "-o"],
                "dp nussinov": ["dp", "nussinov", "r.fa", "--storage", "plain", "-o"],
                "table count": ["table", "count", "g.fa", "--kmer", "31", "--canonical", "-o", "/dev/null", "--database"]}
    result = {"points": arguments.points, "bases": arguments.bases}
    same = True
    for name, words in problems.items():
        timed = ["time", "-f", "peak %M", tool]
        alone, peak = run(timed + words + ["alone", "--threads", "1", "--device", "cpu"], folder)
        result[name] = {"alone": {"seconds": alone, "peak MiB": peak}}
        for ranks in map(int, arguments.ranks.split(",")):
            seconds, peak = run(["mpirun", "--oversubscribe", "--bind-to", "none", "-np", str(ranks)] + timed + words +
                                [f"shared{ranks}", "--threads", "1", "--mpi"], folder)
            equal = (folder / f"shared{ranks}").read_bytes() == (folder / "alone").read_bytes()
            same = same and equal
            result[name][f"{ranks} processes"] = {"seconds": seconds, "peak MiB": peak, "equal": equal}
        for path in folder.glob("shared*"):
            path.unlink()
        (folder / "alone").unlink()
    shutil.rmtree(folder)
    print(json.dumps(result, indent=1))
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
