#!/usr/bin/env python3
"""Is the energy of every window and every mutant ViennaRNA's, and how long do both take?

    scan_viennarna.py TOOL GENOME.fa [--cases N] [--seed S] [--out FILE.json]
    scan_viennarna.py TOOL GENOME.fa --times [--windows N] [--bases N] [--out FILE.json]

Needs `pip install ViennaRNA`. A case is a piece of the genome, its windows of a drawn length and step and its mutants in some places, under
drawn options of viennarna.py; each energy has to be equal to that of RNAfold of this window or mutant alone. --times: processor time of all
windows of 120 bases of the genome, of N windows with 100 shuffles each, and of the mutants of its first bases; ours is the whole program with
one thread, theirs the calls, of which the first so many are timed and the rest reckoned.
"""
import argparse
import json
import pathlib
import random
import time

import RNA
import viennarna


def energies_of_viennarna(sequences, options):
    return [round(100 * viennarna.of_viennarna(sequence, options, "").mfe()[1]) for sequence in sequences]


def whole(numbers):
    return [round(100 * number) for number in numbers]


def of_tool(tool, verb, sequence, words):
    run = viennarna.subprocess.run([tool, "fold", verb, "-", *map(str, words)], input=f">s\n{sequence}\n", text=True, capture_output=True, check=True)
    return json.loads(run.stdout)["records"][0]


def compare(args, genome):
    rng = random.Random(args.seed)
    windows = mutants = 0
    different = []
    for _ in range(args.cases):
        n, window, step = rng.randint(160, 400), rng.randint(10, 150), rng.randint(1, 20)
        begin = rng.randrange(len(genome) - n)
        piece = genome[begin:begin + n]
        drawn = viennarna.draw_options(rng, window)
        options = drawn[:6] + (0, 0)
        words = viennarna.words_of(options) + ["--noLP"] * options[2] + ["--max-span", options[5]]
        ours = whole(of_tool(args.tool, "windows", piece, ["-w", window, "-s", step, *words])["energies"])
        theirs = energies_of_viennarna([piece[k:k + window] for k in range(0, n - window + 1, step)], options)
        different += [("window", begin, window, options)] * (ours != theirs)
        windows += len(theirs)
        piece = piece[:80]
        places = sorted(rng.sample(range(80), 4))
        ours = [round(100 * one["energy"]) for one in of_tool(
            args.tool, "mutants", piece, ["--positions", ",".join(str(p + 1) for p in places), *words])["mutants"]]
        theirs = energies_of_viennarna([piece[:p] + letter + piece[p + 1:] for p in places for letter in "ACGU" if letter != piece[p]], options)
        different += [("mutants", begin, places, options)] * (ours != theirs)
        mutants += len(theirs)
    return {"cases": args.cases, "seed": args.seed, "windows": windows, "mutants": mutants, "different": different}


def timed(args, genome, path):
    def ours(*words):
        return min(viennarna.of_child([args.tool, "fold", *map(str, words), "--threads", "1", "-o", "/dev/null", "--force"])[0] for _ in range(3))

    def theirs(sequences):
        begin = time.process_time()
        for sequence in sequences:
            RNA.fold_compound(sequence).mfe()
        return (time.process_time() - begin) / len(sequences)

    rng = random.Random(args.seed)
    count = len(genome) - 119
    some = [genome[k:k + 120] for k in sorted(rng.sample(range(count), args.windows))]
    of_one = theirs(some)
    rows = [{"what": f"{count} windows of 120", "ours_s": ours("windows", path), "theirs_s": of_one * count, "timed": len(some)},
            {"what": f"{count} windows of 120, structures", "ours_s": ours("windows", path, "--structures"), "theirs_s": of_one * count, "timed": len(some)}]
    piece = pathlib.Path(args.piece)
    piece.write_text(f">piece\n{genome[:args.windows + 119]}\n")
    rows.append({"what": f"{args.windows} windows of 120, 100 shuffles each", "ours_s": ours("windows", piece, "-r", 100),
                 "theirs_s": of_one * 101 * args.windows, "timed": len(some)})
    wild = genome[:args.bases]
    piece.write_text(f">piece\n{wild}\n")
    places = sorted(rng.sample(range(args.bases), 20))
    of_one = theirs([wild[:p] + ("A" if wild[p] != "A" else "C") + wild[p + 1:] for p in places])
    rows.append({"what": f"{3 * args.bases} mutants of {args.bases}", "ours_s": ours("mutants", piece), "theirs_s": of_one * 3 * args.bases, "timed": len(places)})
    piece.unlink()
    for row in rows:
        row["ratio"] = row["theirs_s"] / row["ours_s"]
    return {"times": rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tool")
    parser.add_argument("genome")
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--times", action="store_true")
    parser.add_argument("--windows", type=int, default=200)
    parser.add_argument("--bases", type=int, default=300)
    parser.add_argument("--piece", default="piece.fa", help="a file to write and remove")
    parser.add_argument("--out")
    args = parser.parse_args()
    genome = viennarna.sequences_of(args.genome)[0].upper().replace("T", "U")
    result = {"viennarna": RNA.__version__, "genome": pathlib.Path(args.genome).name,
              **(timed(args, genome, args.genome) if args.times else compare(args, genome))}
    print(json.dumps(result, indent=1))
    if args.out:
        pathlib.Path(args.out).write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
