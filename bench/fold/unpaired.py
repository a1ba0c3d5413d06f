#!/usr/bin/env python3
"""`warploom fold unpaired` beside RNAplfold (ViennaRNA's Python package): equality on random sequences, and processor time.

    python3 bench/fold/unpaired.py build/default/bin/warploom --sequences 200 --genome GENOME.fa --out FILE.json

Processor time: one thread, windows of 200 bases, pairs up to 150, stretches up to 31; ours is the whole process.
"""
import argparse
import json
import math
import os
import random
import resource
import subprocess
import tempfile
import time

import RNA


def ours(tool, sequence, window, span, stretch, cutoff):
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/s.fa", "w") as file:
            file.write(sequence + "\n")
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        subprocess.run([tool, "fold", "unpaired", f"{folder}/s.fa", "-W", str(window), "--max-span", str(span), "-u", str(stretch), "--cutoff",
                        str(cutoff), "--threads", "1", "-o", f"{folder}/s.json"], check=True)
        seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
        return json.load(open(f"{folder}/s.json"))["records"][0], seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tool")
    parser.add_argument("--sequences", type=int, default=60)
    parser.add_argument("--genome")
    parser.add_argument("--out")
    asked = parser.parse_args()
    draw = random.Random(1)
    most_pair = most_stretch = 0
    for _ in range(asked.sequences):
        n = draw.randint(60, 300)
        window = draw.randint(40, n)
        span, stretch = draw.randint(10, window), draw.randint(1, 20)
        sequence = "".join(draw.choice("ACGU") for _ in range(n))
        record, _ = ours(asked.tool, sequence, window, span, stretch, 1e-4)
        stretches = RNA.pfl_fold_up(sequence, stretch, window, span)
        pairs = {(p.i, p.j): p.p for p in RNA.pfl_fold(sequence, window, span, 1e-4) if p.i > 0}
        mine = {(i, j): p for i, j, p in record["pairs"]}
        for pair in pairs.keys() & mine.keys():
            most_pair = max(most_pair, abs(pairs[pair] - mine[pair]))
        for end, row in enumerate(record["unpaired"], 1):
            for u, value in enumerate(row, 1):
                if value is not None and u <= end and not math.isnan(stretches[end][u]):
                    most_stretch = max(most_stretch, abs(value - stretches[end][u]))
    result = {"viennarna": RNA.__version__, "sequences": asked.sequences, "largest difference of a pair": most_pair,
              "largest difference of a stretch": most_stretch}
    if asked.genome:
        genome = "".join(line.strip() for line in open(asked.genome) if not line.startswith(">")).upper().replace("T", "U")
        _, mine = ours(asked.tool, genome, 200, 150, 31, .01)
        started = time.process_time()
        RNA.pfl_fold_up(genome, 31, 200, 150)
        result["genome"] = {"bases": len(genome), "warploom [s of a processor]": mine, "pfl_fold_up [s of a processor]": time.process_time() - started}
    result["processor"] = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "")
    print(json.dumps(result, indent=1))
    if asked.out:
        with open(asked.out, "w") as file:
            file.write(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
