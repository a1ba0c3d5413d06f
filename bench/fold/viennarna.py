#!/usr/bin/env python3
"""Is every energy ViennaRNA's, and how long do both take?

    viennarna.py TOOL [--cases N] [--seed S] [--shortest N] [--longest N] [--out FILE.json]
    viennarna.py TOOL --table FILE       writes cases with ViennaRNA's energies: tests/fold/viennarna.tsv
    viennarna.py TOOL --times FASTA...   processor time: ours of the whole program with one thread, theirs of the calls

Needs `pip install ViennaRNA`. Each case is a drawn sequence (uniform; few letters; with N; half of them their own complement) under drawn
options; the energy has to be equal, and ViennaRNA has to give our structure that energy.
"""
import argparse
import json
import pathlib
import random
import resource
import subprocess
import tempfile
import time

import RNA

COLUMNS = ("temperature", "dangles", "no_lonely_pairs", "no_gu", "no_gu_closing", "max_span")
USUAL = (37, 2, 0, 0, 0, 0)


def draw_constraint(rng, sequence):
    """Letters at random, and pairs of brackets that do not cross."""
    letters = rng.choices(".|x<>", (12, 1, 1, 1, 1), k=len(sequence))
    begin = 0
    for _ in range(rng.randint(0, 3)):
        places = [(i, j) for i in range(begin, len(sequence)) for j in range(i + 4, min(len(sequence), i + 40))
                  if sequence[i] + sequence[j] in ("GC", "CG", "AU", "UA")]
        if not places:
            break
        i, j = rng.choice(places)
        letters[i], letters[j] = "(", ")"
        begin = j + 1 if rng.random() < 0.5 or j - i < 8 else i + 1
        if begin == i + 1:
            inside = [(k, l) for k in range(i + 1, j) for l in range(k + 4, j) if sequence[k] + sequence[l] in ("GC", "CG", "AU", "UA")]
            if inside:
                k, l = rng.choice(inside)
                letters[k], letters[l] = "(", ")"
            begin = j + 1
    return "".join(letters)


def draw(rng, shortest, longest):
    n = rng.randint(shortest, longest)
    letters, weights = rng.choice([("ACGU", None)] * 6 + [("GC", None), ("GU", None), ("ACGUN", (5, 5, 5, 5, 1)), ("ACGU", (1, 4, 4, 1))])
    sequence = "".join(rng.choices(letters, weights, k=n))
    if rng.random() < 0.15:
        half = sequence[: n // 2]
        sequence = half + "".join({"A": "U", "C": "G", "G": "C", "U": "A", "N": "N"}[c] for c in reversed(half)) or sequence
    options = (rng.choice([37, 37, 37, 25, 60, 10.5, 80, 0]), rng.choice([2, 2, 0, 1, 3]), int(rng.random() < 0.25),
               int(rng.random() < 0.2), int(rng.random() < 0.2), rng.choice([0, 0, 0, rng.randint(5, max(6, n))]))
    return sequence, options, draw_constraint(rng, sequence) if rng.random() < 0.25 else ""


def of_viennarna(sequence, options, constraint):
    model = RNA.md()
    model.temperature, model.dangles, model.noLP, model.noGU, model.noGUclosure, span = options
    if span:
        model.max_bp_span = span
    compound = RNA.fold_compound(sequence, model)
    if constraint:
        compound.hc_add_from_db(constraint)
    return compound


def words_of(options):
    temperature, dangles, _, no_gu, no_gu_closing, _ = options
    return (["--json", "-T", str(temperature), "-d", str(dangles)] + ["--noGU"] * no_gu + ["--noClosingGU"] * no_gu_closing)


def evaluated(tool, structures, options):
    """Energies that we give structures."""
    run = subprocess.run([tool, "fold", "eval", "-"] + words_of(options), input="".join(f"{s}\n{x}\n" for s, x in structures),
                         capture_output=True, text=True, check=True)
    return [record["energy"] for record in json.loads(run.stdout)["records"]]


def of_ours(tool, sequences, options, constraints, threads=1):
    words = [tool, "fold", "-", "--threads", str(threads), "--max-span", str(options[5])] + words_of(options) + ["--noLP"] * options[2]
    with tempfile.NamedTemporaryFile("w+", suffix=".txt") as file:
        if any(constraints):
            file.write("".join((c or "." * len(s)) + "\n" for s, c in zip(sequences, constraints)))
            file.flush()
            words += ["-C", file.name]
        run = subprocess.run(words, input="\n".join(sequences) + "\n", capture_output=True, text=True, check=True)
    return json.loads(run.stdout)["records"]


def compare(args):
    rng = random.Random(args.seed)
    by_options = {}
    for _ in range(args.cases):
        sequence, options, constraint = draw(rng, args.shortest, args.longest)
        by_options.setdefault(options, []).append((sequence, constraint))
    wrong, rows = [], []
    counts = dict.fromkeys((*COLUMNS, "constraint", *(f"dangles {d}" for d in range(4)), "theirs gives ours another energy"), 0)
    for options, cases in by_options.items():
        sequences, constraints = zip(*cases)
        records = of_ours(args.tool, sequences, options, constraints)
        compounds = [of_viennarna(*case) for case in zip(sequences, [options] * len(cases), constraints)]
        folded = [compound.mfe() for compound in compounds]
        # Their structures have their energies for us, ours for them. With dangles 3 RNAeval sums multiloops otherwise
        # than RNAfold, so what it says of ours is counted only.
        again = evaluated(args.tool, [(s, structure) for s, (structure, _) in zip(sequences, folded)], options)
        for sequence, constraint, record, compound, (_, energy), theirs_by_us in zip(sequences, constraints, records, compounds, folded, again,
                                                                                  strict=True):
            ours, theirs, theirs_by_us, ours_by_them = (
                round(100 * e) for e in (record["energy"], energy, theirs_by_us, compound.eval_structure(record["structure"])))
            counts["theirs gives ours another energy"] += ours_by_them != ours
            if not (ours == theirs == theirs_by_us and (ours == ours_by_them or options[1] == 3)):
                wrong.append({"sequence": sequence, "options": options, "constraint": constraint, "ours": ours, "theirs": theirs,
                              "ours_by_them": ours_by_them, "theirs_by_us": theirs_by_us})
            rows.append((sequence, *options, constraint or "-", theirs))
            counts["constraint"] += bool(constraint)
            counts[f"dangles {options[1]}"] += 1
            for name, value, usual in zip(COLUMNS, options, USUAL):
                counts[name] += value != usual
    result = {"viennarna": RNA.__version__, "cases": args.cases, "seed": args.seed, "lengths": [args.shortest, args.longest],
              "cases_with": counts, "wrong": wrong}
    print(json.dumps({**result, "wrong": len(wrong)}))
    if args.table:
        lines = ["# sequence, " + ", ".join(COLUMNS) + f", constraint, least energy [0.01 kcal/mol] by ViennaRNA {RNA.__version__}"]
        args.table.write_text("\n".join(lines + ["\t".join(map(str, row)) for row in rows]) + "\n")
    return result


def of_child(words):
    """Processor and wall time of a program [s]."""
    begin, clock = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(words, check=True)
    wall, end = time.perf_counter() - clock, resource.getrusage(resource.RUSAGE_CHILDREN)
    return end.ru_utime + end.ru_stime - begin.ru_utime - begin.ru_stime, wall


def median(values):
    return sorted(values)[len(values) // 2]


def sequences_of(path):
    return ["".join(record.splitlines()[1:]) for record in pathlib.Path(path).read_text().split(">")[1:]]


def times(args):
    rows = []
    for path in args.times:
        sequences = sequences_of(path)
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "out.json"
            tried = {n: [of_child([args.tool, "fold", path, "--threads", str(n), "--force", "-o", out]) for _ in range(args.tries)]
                     for n in (1, 2)}
            ours = [round(100 * record["energy"]) for record in json.loads(out.read_text())["records"]]
        row = {"file": pathlib.Path(path).name, "sequences": len(sequences), "bases": max(map(len, sequences)),
               "ours_s": median([t for t, _ in tried[1]]), "ours_wall_s": median([w for _, w in tried[1]]),
               "two_threads_wall_s": median([w for _, w in tried[2]])}
        row["two_threads_ratio"] = row["ours_wall_s"] / row["two_threads_wall_s"]
        if max(map(len, sequences)) <= args.their_longest:
            begin = time.process_time()
            theirs = [round(100 * RNA.fold_compound(sequence).mfe()[1]) for sequence in sequences]
            row.update(theirs_s=time.process_time() - begin, equal=theirs == ours)
            row["ratio"] = row["theirs_s"] / row["ours_s"]
        rows.append(row)
        print(json.dumps(row), flush=True)
    return {"viennarna": RNA.__version__, "times": rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tool")
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--shortest", type=int, default=5)
    parser.add_argument("--longest", type=int, default=150)
    parser.add_argument("--table", type=pathlib.Path)
    parser.add_argument("--times", nargs="+")
    parser.add_argument("--tries", type=int, default=3)
    parser.add_argument("--their-longest", type=int, default=10_000, help="what ViennaRNA is not asked beyond [bases]")
    parser.add_argument("--out", type=pathlib.Path)
    args = parser.parse_args()
    result = times(args) if args.times else compare(args)
    if args.out:
        args.out.write_text(json.dumps(result, indent=1) + "\n")
    raise SystemExit(1 if result.get("wrong") else 0)


if __name__ == "__main__":
    main()
