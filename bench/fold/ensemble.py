#!/usr/bin/env python3
"""`warploom fold --ensemble` beside ViennaRNA's Python package: equality of random sequences, and processor time.

    python3 bench/fold/ensemble.py build/default/bin/warploom --sequences 5000 --lengths 500,1000,2000 --out FILE.json

Equality: of sequences of 20 to 200 letters, in turns at 37, 25 and 60 C, with dangles 2 and 0: the largest difference of ensemble
energies, relative, and of the probability of a pair that is above 1e-6. Processor time: one thread, energy and all
probabilities; ours is the whole process, which folds, too; theirs is pf() and bpp() alone.
"""
import argparse
import json
import os
import random
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


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tool")
    parser.add_argument("--sequences", type=int, default=200)
    parser.add_argument("--lengths", default="500,1000,2000")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out")
    asked = parser.parse_args()
    draw = random.Random(asked.seed)

    def letters(n):
        return "".join(draw.choice("ACGU") for _ in range(n))

    energy_off = pair_off = 0
    models = [(t, d) for t in (37, 25, 60) for d in (2, 0)]
    for number, (temperature, dangles) in enumerate(models):
        sequences = [letters(draw.randint(20, 200)) for _ in range(number, asked.sequences, len(models))]
        records, _ = ours(asked.tool, sequences, temperature, dangles) if sequences else ([], 0)
        for sequence, record in zip(sequences, records):
            energy, pairs, _ = theirs(sequence, temperature, dangles)
            energy_off = max(energy_off, abs(energy - record["ensemble"]["energy"]) / (1 + abs(energy)))
            for i, j, probability in record["ensemble"]["pairs"]:
                pair_off = max(pair_off, abs(pairs[i][j] - probability))
    result = {"viennarna": RNA.__version__, "sequences": asked.sequences, "largest difference of energies, relative": energy_off,
              "largest difference of a probability": pair_off, "times": []}
    for n in [int(n) for n in asked.lengths.split(",") if n]:
        sequence = letters(n)
        mine, other = [], []
        for _ in range(asked.rounds):
            mine.append(ours(asked.tool, [sequence])[1])
            other.append(theirs(sequence)[2])
        result["times"].append({"bases": n, "warploom [s of a processor]": mine, "viennarna [s of a processor]": other,
                                "ratio of least": min(other) / min(mine)})
    result["processor"] = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "")
    result["cores"] = os.cpu_count()
    print(json.dumps(result, indent=1))
    if asked.out:
        with open(asked.out, "w") as file:
            file.write(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
