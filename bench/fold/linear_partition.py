#!/usr/bin/env python3
"""What full exactness changes: `warploom fold --ensemble` beside LinearPartition, which looks at a beam of structures.

    git clone https://github.com/LinearFold/LinearPartition && make -C LinearPartition
    python3 bench/fold/linear_partition.py build/default/bin/warploom LinearPartition GENOME.fa --threads 16 --out FILE.json

First with -b0, without a beam, on short random sequences: what is left is its model and its arithmetic (single precision, an
approximate exp, pairs below 5e-5 left out, 5 decimals). Then with its beam of 100 on the genome: the largest differences of a
pair's probability and of a base's to be unpaired, and of stretches of bases in the mean.

--kept FOLDER keeps what LinearPartition said of the genome, and takes from there what is there; --ours FILE takes ours from what
`warploom fold --ensemble --cutoff 1e-5 --json` or `gpu_bench_fold_ensemble --fasta GENOME.fa --list FILE` wrote: the two may run on
different machines.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import random
import subprocess
import tempfile
import time

LEAST = 1e-4  # theirs are not printed below 5e-5


def read_ours(text):
    records = [record["ensemble"] for record in json.loads(text)["records"]]
    return [(r["energy"], {(i, j): p for i, j, p in r["pairs"]}, r["unpaired"]) for r in records]


def ours(asked, path):
    started = time.perf_counter()
    command = [asked.tool, "fold", path, "--ensemble", "--cutoff", "1e-5", "--json", "--threads", str(asked.threads), "--device", asked.device]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    seconds = time.perf_counter() - started
    return read_ours(out), seconds


def theirs(folder, sequence, beam):
    """Energy, pairs, seconds."""
    with tempfile.TemporaryDirectory() as scratch:
        table = os.path.join(scratch, "pairs")
        # beam, sharp turns, verbose, pairs, prefix, energy alone, cutoff, forest, MEA, gamma, ThreshKnot, threshold, four files, FASTA, dangles, p(y|x)
        asked = [str(beam), "0", "1", table, "", "0", "None", "", "0", "3.0", "0", "0.3", "", "", "0", "", "0", "2", ""]
        started = time.perf_counter()
        done = subprocess.run([str(pathlib.Path(folder) / "bin" / "linearpartition_v"), *asked], input=sequence + "\n", capture_output=True,
                              text=True, check=True)
        seconds = time.perf_counter() - started
        energy = next(float(line.split(":")[1].split()[0]) for line in done.stderr.splitlines() if line.startswith("Free Energy"))
        pairs = {}
        for line in open(table):
            if line.strip():
                i, j, p = line.split()
                pairs[int(i), int(j)] = float(p)
        return energy, pairs, seconds


def kept(folder, kept_in, sequence, beam):
    """theirs(), or what it said before of a sequence of as many bases."""
    if not kept_in:
        return theirs(folder, sequence, beam)
    path = pathlib.Path(kept_in) / f"{len(sequence)}_{beam}.json"
    if path.exists():
        known = json.loads(path.read_text())
        return known["energy"], {(i, j): p for i, j, p in known["pairs"]}, known["seconds"]
    energy, pairs, seconds = theirs(folder, sequence, beam)
    path.write_text(json.dumps({"energy": energy, "seconds": seconds, "pairs": [[i, j, p] for (i, j), p in pairs.items()]}))
    return energy, pairs, seconds


def unpaired_of(pairs, n):
    alone = [1.0] * n
    for (i, j), p in pairs.items():
        alone[i - 1] -= p
        alone[j - 1] -= p
    return alone


def compare(mine, other, unpaired, n):
    pair = max(((abs(mine.get(k, 0) - other.get(k, 0)), k) for k in mine.keys() | other.keys()), default=(0, None))
    alone = unpaired_of(other, n)
    base = max((abs(a - b), k + 1) for k, (a, b) in enumerate(zip(unpaired, alone)))
    result = {"largest difference of a pair": pair[0], "of": pair[1], "largest difference of an unpaired base": base[0], "of base": base[1],
              "pairs above 1e-4": [sum(p > LEAST for p in mine.values()), sum(p > LEAST for p in other.values())],
              "pairs that differ by more than .1": sum(abs(mine.get(k, 0) - other.get(k, 0)) > .1 for k in mine.keys() | other.keys()),
              "bases that differ by more than .1": sum(abs(a - b) > .1 for a, b in zip(unpaired, alone)),
              "bases that are unpaired above 1/2 in one alone": sum((a > .5) != (b > .5) for a, b in zip(unpaired, alone))}
    for width in (30, 100, 400):
        if width > n:
            continue
        sums, most = [0.0], (0, 0)
        for a, b in zip(unpaired, alone):
            sums.append(sums[-1] + a - b)
        for k in range(n - width + 1):
            most = max(most, (abs(sums[k + width] - sums[k]) / width, k + 1))
        result[f"largest difference of {width} bases, mean"] = {"difference": most[0], "from base": most[1]}
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tool")
    parser.add_argument("folder", help="of LinearPartition, built")
    parser.add_argument("genome", nargs="?")
    parser.add_argument("--short", type=int, default=200, help="sequences of 30 to 300 bases")
    parser.add_argument("--beams", default="100")
    parser.add_argument("--bases", type=int, default=0, help="of the genome, the first of them; 0: all")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--device", default="cpu", help="ours")
    parser.add_argument("--ours", help="a file, in place of a run on the genome")
    parser.add_argument("--kept", help="a folder of LinearPartition's results")
    parser.add_argument("--out")
    asked = parser.parse_args()
    draw, result = random.Random(1), {}
    sequences = ["".join(draw.choice("ACGU") for _ in range(draw.randint(30, 300))) for _ in range(asked.short)]
    if sequences:
        with tempfile.NamedTemporaryFile("w", suffix=".fa") as file:
            file.write("".join(f">{k}\n{s}\n" for k, s in enumerate(sequences)))
            file.flush()
            mine, _ = ours(asked, file.name)
        energy_off = pair_off = 0
        for sequence, (energy, pairs, _) in zip(sequences, mine):
            their_energy, their_pairs, _ = theirs(asked.folder, sequence, 0)
            energy_off = max(energy_off, abs(energy - their_energy))
            pair_off = max(pair_off, max((abs(pairs.get(k, 0) - their_pairs.get(k, 0)) for k in pairs.keys() | their_pairs.keys()), default=0))
        result["without a beam"] = {"sequences": len(sequences), "largest difference of energies [kcal/mol]": energy_off,
                                    "largest difference of a pair": pair_off}
    print(json.dumps(result, indent=1), flush=True)
    if asked.genome:
        genome = "".join(line.strip() for line in open(asked.genome) if not line.startswith(">")).upper().replace("T", "U")
        genome = genome[: asked.bases or None]
        with concurrent.futures.ThreadPoolExecutor() as pool:  # each of theirs on a core of its own
            running = {beam: pool.submit(kept, asked.folder, asked.kept, genome, beam) for beam in asked.beams.split(",")}
            device = asked.device
            if asked.ours:
                text = pathlib.Path(asked.ours).read_text()
                [(energy, pairs, unpaired)], said = read_ours(text), json.loads(text)
                seconds, device = said.get("seconds"), said.get("device", asked.device)
            else:
                with tempfile.NamedTemporaryFile("w", suffix=".fa") as file:
                    file.write(genome + "\n")
                    file.flush()
                    [(energy, pairs, unpaired)], seconds = ours(asked, file.name)
            their = {beam: run.result() for beam, run in running.items()}
        if len(unpaired) != len(genome):
            raise SystemExit(f"{asked.ours} is of {len(unpaired)} bases, the genome has {len(genome)}")
        result["genome"] = {"bases": len(genome), "threads": asked.threads, "warploom": {"device": device, "seconds": seconds, "energy": energy}}
        for beam, (their_energy, their_pairs, their_seconds) in their.items():
            result["genome"][f"beam {beam}"] = {"seconds": their_seconds, "energy": their_energy, **compare(pairs, their_pairs, unpaired, len(genome))}
    result["processor"] = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "")
    print(json.dumps(result, indent=1))
    if asked.out:
        with open(asked.out, "w") as file:
            file.write(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
