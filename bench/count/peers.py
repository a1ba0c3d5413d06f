#!/usr/bin/env python3
"""Counts k-mers of FASTQ with `warploom table count`, KMC 3 and Jellyfish, one after the other, several times, and compares
histograms and times.

    peers.py READS.fastq --warploom PROGRAM [--kmc kmc] [--jellyfish jellyfish] [--k 21,31,55] [--threads 1,2]
             [--rounds 3] [--scratch DIR] [--out FILE.json]
    peers.py --make READS.fastq [--genome 5000000] [--coverage 60]

--make writes made-up reads of 150 bases: of both strands of a random genome, in which a tenth is repeats, with .5 % of
the bases misread and qualities to match. All programs count canonical words that came once and more; KMC in memory (-r) and on
disk, in DIR. Each one's time is a whole process', that of Jellyfish and KMC without writing the histogram.
"""
import argparse
import json
import pathlib
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time


def make(path, bases, coverage, seed=1):
    import numpy as np
    draw = np.random.default_rng(seed)
    genome = draw.integers(0, 4, bases, dtype=np.uint8)
    repeat = genome[1000:3000].copy()
    for begin in draw.integers(0, bases - 3000, bases // 10 // 2000):
        genome[begin:begin + 2000] = repeat
    letters = np.frombuffer(b"ACGT", np.uint8)
    length, step, left = 150, 20_000, bases * coverage // 150
    with open(path, "wb") as out:
        number = 0
        while left > 0:
            count = min(step, left)
            at = draw.integers(0, bases - length, count)[:, None] + np.arange(length)
            reads = genome[at]
            turned = draw.random(count) < .5
            reads[turned] = 3 - reads[turned][:, ::-1]
            wrong = draw.random(reads.shape) < .005
            reads[wrong] = draw.integers(0, 4, int(wrong.sum()))
            text = letters[reads]
            quality = np.where(wrong, ord("#"), ord("F")).astype(np.uint8)
            rows = b"".join(b"@r%d\n%b\n+\n%b\n" % (number + k, text[k].tobytes(), quality[k].tobytes()) for k in range(count))
            out.write(rows)
            number += count
            left -= count


def run(words):
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    wall, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(f"{words}: {done.stderr.strip()}")
    return {"wall": wall, "processor": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime}


def histogram(path):
    return [tuple(map(int, line.split())) for line in pathlib.Path(path).read_text().splitlines() if line.split()[1] != "0"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reads", nargs="?", type=pathlib.Path)
    parser.add_argument("--make", type=pathlib.Path)
    parser.add_argument("--genome", type=int, default=5_000_000)
    parser.add_argument("--coverage", type=int, default=60)
    parser.add_argument("--warploom")
    parser.add_argument("--kmc", default="kmc")
    parser.add_argument("--jellyfish", default="jellyfish")
    parser.add_argument("--k", default="21,31,55")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--memory", type=int, default=12, help="of KMC [GB]")
    parser.add_argument("--hash", default="100M", help="of Jellyfish, its first size")
    parser.add_argument("--scratch", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    if options.make:
        return make(options.make, options.genome, options.coverage)
    folder = pathlib.Path(tempfile.mkdtemp(dir=options.scratch))
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "")
    rows = []
    try:
        for threads in options.threads.split(","):
            for k in options.k.split(","):
                kmc = [options.kmc, f"-k{k}", f"-t{threads}", "-ci1", "-cs4294967295", f"-m{options.memory}", "-fq", "-hp"]
                programs = {
                    "warploom": [options.warploom, "table", "count", options.reads, "--kmer", k, "--canonical", "--top", "1",
                                 "--device", "cpu", "--threads", threads, "--histogram", folder / "ours", "--force", "-o", folder / "text"],
                    "kmc": [*kmc, options.reads, folder / "kmc", folder],
                    "kmc -r": [*kmc, "-r", options.reads, folder / "kmc_r", folder],
                    "jellyfish": [options.jellyfish, "count", "-C", "-m", k, "-t", threads, "-s", options.hash, "-o", folder / "jf",
                                  options.reads],
                }
                times = {name: [] for name in programs}
                for _ in range(options.rounds):
                    for name, words in programs.items():
                        times[name].append(run(words))
                        print(name, f"k = {k}, {threads} threads", times[name][-1], file=sys.stderr, flush=True)
                histo = pathlib.Path(folder / "jf_histo")
                histo.write_text(subprocess.run([options.jellyfish, "histo", folder / "jf"], capture_output=True, text=True).stdout)
                row = {"k": int(k), "threads": int(threads), "equal_to_jellyfish": histogram(folder / "ours") == histogram(histo),
                       "different": sum(number for _, number in histogram(folder / "ours"))}
                for name, runs in times.items():
                    for what in ("wall", "processor"):
                        row[f"{name} {what}"] = round(statistics.median(one[what] for one in runs), 3)
                rows.append(row)
                print(json.dumps(row), flush=True)
                result = {"question": "k-mers beside KMC 3 and Jellyfish", "cpu": cpu, "reads": options.reads.name,
                          "bytes": options.reads.stat().st_size, "rounds": options.rounds, "rows": rows}
                if options.out:
                    options.out.write_text(json.dumps(result, indent=1) + "\n")
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
