#!/usr/bin/env python3
"""`warploom fold --ensemble` beside ViennaRNA's Python package: equality of random sequences, and processor time.

    python3 bench/fold/ensemble.py build/default/bin/warploom --sequences 5000 --processes 8 --lengths 500,1000,2000 --out FILE.json
    python3 bench/fold/ensemble.py build/default/bin/warploom --sequences 0 --lengths "" --threads-at 2000,4000   time of 1 and 2 threads

Equality: of sequences of 20 to 200 letters, in turns at 37, 25 and 60 C, with dangles 2 and 0: the largest difference of ensemble
energies, relative, and of the probability of a pair that is above 1e-6. Processor time: one thread, energy and all
probabilities; ours is the whole process, which folds, too; theirs is pf() and bpp() alone.
"""
import argparse
import json
import multiprocessing
import os
import random
import statistics
import resource
import subprocess
import tempfile
import time

import RNA


def ours(tool, records, temperature=37, dangles=2, threads=1):
    with tempfile.NamedTemporaryFile("w", suffix=".fa") as file:
        file.write("".join(f">{k}\n{s}\n" for k, s in enumerate(records)))
        file.flush()
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        out = subprocess.run([tool, "fold", file.name, "--ensemble", "--cutoff", "1e-6", "--json", "--threads", str(threads), "--device", "cpu",
                              "-T", str(temperature), "-d", str(dangles)], capture_output=True, text=True, check=True).stdout
        return json.loads(out)["records"], resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def theirs(sequence, temperature=37, dangles=2):
    details = RNA.md()
    details.temperature, details.dangles = temperature, dangles
    compound = RNA.fold_compound(sequence, details)
    _, least = compound.mfe()
    started = time.process_time()
    compound.exp_params_rescale(least)
    _, energy = compound.pf()
    pairs = compound.bpp()
    return energy, pairs, time.process_time() - started


def letters(draw, n):
    return "".join(draw.choice("ACGU") for _ in range(n))


def differences(case):
    """The largest of sequences at one temperature, with one kind of dangles: of energies, of probabilities."""
    tool, seed, count, temperature, dangles = case
    draw = random.Random(seed)
    sequences = [letters(draw, draw.randint(20, 200)) for _ in range(count)]
    energy_off = pair_off = 0
    for sequence, record in zip(sequences, ours(tool, sequences, temperature, dangles)[0]):
        energy, pairs, _ = theirs(sequence, temperature, dangles)
        energy_off = max(energy_off, abs(energy - record["ensemble"]["energy"]) / (1 + abs(energy)))
        for i, j, probability in record["ensemble"]["pairs"]:
            pair_off = max(pair_off, abs(pairs[i][j] - probability))
    return energy_off, pair_off


def threads_at(tool, n, rounds):
    """Seconds of 1 and of 2 threads, in turns: energy and all probabilities, without the process's start."""
    sequence, seconds = letters(random.Random(n), n), {1: [], 2: []}
    for _ in range(rounds):
        for threads in seconds:
            with tempfile.NamedTemporaryFile("w", suffix=".fa") as file:
                file.write(sequence + "\n")
                file.flush()
                out = subprocess.run([tool, "fold", file.name, "--ensemble", "--json", "--threads", str(threads), "--device", "cpu"],
                                     capture_output=True, text=True, check=True).stdout
                seconds[threads].append(json.loads(out)["seconds"])
    medians = {threads: statistics.median(times) for threads, times in seconds.items()}
    return {"bases": n, "1 thread [s]": seconds[1], "2 threads [s]": seconds[2], "ratio of medians": medians[1] / medians[2]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tool")
    parser.add_argument("--sequences", type=int, default=200)
    parser.add_argument("--lengths", default="500,1000,2000")
    parser.add_argument("--processes", type=int, default=1, help="for equality alone")
    parser.add_argument("--threads-at", default="")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out")
    asked = parser.parse_args()
    draw = random.Random(asked.seed)

    models = [(t, d) for t in (37, 25, 60) for d in (2, 0)]
    cases = []
    for number, (temperature, dangles) in enumerate(models):
        left = len(range(number, asked.sequences, len(models)))
        for part in range(0, left, 50):
            cases.append((asked.tool, f"{asked.seed} {number} {part}", min(50, left - part), temperature, dangles))
    with multiprocessing.Pool(asked.processes) as pool:
        offs = pool.map(differences, cases, chunksize=1)
    energy_off, pair_off = max((e for e, _ in offs), default=0), max((p for _, p in offs), default=0)
    result = {"viennarna": RNA.__version__, "sequences": asked.sequences, "largest difference of energies, relative": energy_off,
              "largest difference of a probability": pair_off, "times": []}
    for n in [int(n) for n in asked.lengths.split(",") if n]:
        sequence = letters(draw, n)
        mine, other = [], []
        for _ in range(asked.rounds):
            mine.append(ours(asked.tool, [sequence])[1])
            other.append(theirs(sequence)[2])
        result["times"].append({"bases": n, "warploom [s of a processor]": mine, "viennarna [s of a processor]": other,
                                "ratio of least": min(other) / min(mine)})
    result["threads"] = [threads_at(asked.tool, int(n), asked.rounds) for n in asked.threads_at.split(",") if n]
    result["processor"] = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "")
    result["cores"] = os.cpu_count()
    print(json.dumps(result, indent=1))
    if asked.out:
        with open(asked.out, "w") as file:
            file.write(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
