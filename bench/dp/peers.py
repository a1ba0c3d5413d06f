#!/usr/bin/env python3
"""Nussinov's recurrence: `warploom dp nussinov` beside other programs, in one run.

Question: how many (add, max) pairs a second does each do for a random sequence of n bases?
Fixed: n, the number of threads, pairs counted as (n+1) n (n-1) / 6 for all; sequences are random, minimum
loop 0, no G-U (what the public codes named in docs/guide/dp.md compute). Every round runs all programs once,
one after the other; medians.
Timed: what each program itself prints for its computation ("Time taken: 4.5 seconds", "Time: 4.5"); ours from
its report (solution and transfers, without the traceback), so that neither counts the making of its input.

A peer is a name and the command that runs it and prints its time, with {n} and {threads} for their values:
    peers.py --warploom build/default/bin/warploom --n 4000 8192 --threads 1 2 \\
             --peer "blocked, int16=./nussinov {n} {threads}" --json results.json
"""

import argparse
import json
import random
import re
import shlex
import statistics
import subprocess
import tempfile


def run(command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def peer_seconds(command, n, threads):
    text = run([part.format(n=n, threads=threads) for part in shlex.split(command)])
    found = re.findall(r"Time(?: taken)?: *([0-9.]+)", text)
    if not found:
        raise SystemExit(f"{command}: no line 'Time: SECONDS' in its output")
    return float(found[-1])


def our_seconds(warploom, fasta, device, threads):
    result = json.loads(run([warploom, "dp", "nussinov", fasta, "--min-loop", "0", "--no-gu", "--device",
                             device, "--threads", str(threads), "--timings", "--json"]))
    seconds = result["solver"]["seconds"]
    return seconds["solve"] + seconds["transfers"]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--warploom", required=True)
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=COMMAND")
    parser.add_argument("--n", type=int, nargs="+", default=[4096])
    parser.add_argument("--threads", type=int, nargs="+", default=[1])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", help="file to write")
    options = parser.parse_args()

    rows = []
    for n in options.n:
        pairs = (n + 1) * n * (n - 1) / 6
        with tempfile.NamedTemporaryFile("w", suffix=".fa") as fasta:
            fasta.write(">random\n" + "".join(random.Random(n).choices("ACGU", k=n)) + "\n")
            fasta.flush()
            for threads in options.threads:
                programs = {"warploom": lambda: our_seconds(
                    options.warploom, fasta.name, options.device, threads)}
                for peer in options.peer:
                    name, _, command = peer.partition("=")
                    programs[name] = lambda command=command: peer_seconds(command, n, threads)
                times = {name: [] for name in programs}
                for _ in range(options.rounds):
                    for name, program in programs.items():
                        times[name].append(program())
                for name, seconds in times.items():
                    median = statistics.median(seconds)
                    rows.append({"program": name, "n": n, "threads": threads, "device": options.device,
                                 "seconds": median, "giga_pairs_per_second": pairs / median / 1e9})
                    print(f"{name:28} n {n:6} threads {threads:3}  {median:10.4f} s  "
                          f"{rows[-1]['giga_pairs_per_second']:10.3f} Gpairs/s", flush=True)
    if options.json:
        with open(options.json, "w") as out:
            json.dump({"rounds": options.rounds, "results": rows}, out, indent=2)


if __name__ == "__main__":
    main()
