#!/usr/bin/env python3
"""Is every energy ViennaRNA's, and how long do both take?

    viennarna.py TOOL [--cases N] [--seed S] [--shortest N] [--longest N] [--pieces FASTA] [--out FILE.json]
    viennarna.py TOOL --suboptimal [--cases N] [...]   the structures within a range of the least energy, as sets
    viennarna.py TOOL --quadruplexes [...]   sequences of many G, with G-quadruplexes
    viennarna.py TOOL --table FILE       writes cases with ViennaRNA's energies: tests/fold/viennarna.tsv
    viennarna.py TOOL --times FASTA...   processor time: ours of the whole program with one thread, theirs of the calls
    viennarna.py TOOL --dangles FASTA... processor time of -d 0, 1, 2 and 3

Needs `pip install ViennaRNA`. Each case is a drawn sequence (uniform; few letters; with N; half of them their own complement) under drawn
options; the energy has to be equal, and ViennaRNA has to give our structure that energy.
"""
import argparse
import contextlib
import json
import pathlib
import random
import resource
import subprocess
import tempfile
import time

import RNA

COLUMNS = ("temperature", "dangles", "no_lonely_pairs", "no_gu", "no_gu_closing", "max_span", "circular", "enforce", "quadruplexes")
USUAL = (37, 2, 0, 0, 0, 0, 0, 0, 0)
# Where RNAfold is no oracle. A: it misses a structure of less energy, which it itself gives that energy. B: it gives
# its own structure another energy than it folded with. Ours is the least by either program's evaluation then.
EXCEPTIONS = ("A: circles, enforced or without G-U closing", "B: dangles 1 and 3 with energies of unpaired bases",
              "dangles 3: they give ours another energy")
CONVERSIONS = ("O", "M", "L", "S", "C", "C0.5", "Os1.2i-1", "Ls0.9i0.1")


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


def draw_options(rng, longest, quadruplexes=False):
    dangles = rng.choice([2, 2, 0, 1, 3])
    return (rng.choice([37, 37, 37, 25, 60, 10.5, 80, 0]), dangles, int(rng.random() < 0.25), int(rng.random() < 0.2), int(rng.random() < 0.2),
            rng.choice([0, 0, 0, rng.randint(5, max(6, longest))]), int(dangles % 2 == 0 and rng.random() < 0.3), int(rng.random() < 0.15), 0) if not quadruplexes else quadruplex_options(rng, longest)


def quadruplex_options(rng, longest):
    """Without circles, dangles 1 and 3, enforced constraints."""
    return (*draw_options(rng, longest)[:1], rng.choice([2, 2, 0]), *draw_options(rng, longest)[2:6], 0, 0, 1)


def runs_of_g(rng, n):
    text = ""
    while len(text) < n:
        text += "G" * rng.randint(1, 4) + "".join(rng.choices("ACGU", (2, 3, 1, 2), k=rng.randint(1, 5)))
    return text[:n]


def draw(rng, shortest, longest, options, genome=""):
    """A sequence, a constraint, and a method with reactivities; perhaps none of the last two."""
    n = rng.randint(shortest, longest)
    letters, weights = rng.choice([("ACGU", None)] * 6 + [("GC", None), ("GU", None), ("ACGUN", (5, 5, 5, 5, 1)), ("ACGU", (1, 4, 4, 1))])
    sequence = "".join(rng.choices(letters, weights, k=n))
    if options[8]:
        sequence = rng.choice([sequence, runs_of_g(rng, n), "".join(rng.choices("ACGU", (1, 1, 4, 1), k=n)), runs_of_g(rng, max(12, n // 2))])
    if rng.random() < 0.15:
        half = sequence[: n // 2]
        sequence = half + "".join({"A": "U", "C": "G", "G": "C", "U": "A", "N": "N"}[c] for c in reversed(half)) or sequence
    if genome and rng.random() < 0.5:
        begin = rng.randint(0, len(genome) - n)
        sequence = genome[begin: begin + n]
    constraint = draw_constraint(rng, sequence) if options[7] or rng.random() < 0.2 else ""
    if rng.random() > 0.15:
        return sequence, constraint, None
    reactivities = [rng.choice([-999.0, 0.0, round(rng.random(), 3), round(rng.random(), 3), round(3 * rng.random(), 3)]) for _ in sequence]
    methods = [("D", 1.8, -0.6), ("D", 2.3, -1.1)] * (options[1] != 3) + [("Z", 0.89, "O"), ("Z", 0.6, rng.choice(CONVERSIONS))] * (not options[8])
    return sequence, constraint, (rng.choice(methods), tuple(reactivities))


def of_viennarna(sequence, options, constraint, shape=None, unique=False):
    model = RNA.md()
    model.uniq_ML = int(unique)
    model.temperature, model.dangles, model.noLP, model.noGU, model.noGUclosure, span, model.circ, enforce, model.gquad = options
    model.circ_alpha0 = 4.385  # RNAfold's; a new RNA.md() of 2.8.0 has 0
    if span:
        model.max_bp_span = span
    compound = RNA.fold_compound(sequence, model)
    if constraint:
        compound.hc_add_from_db(constraint, RNA.CONSTRAINT_DB_DEFAULT | (RNA.CONSTRAINT_DB_ENFORCE_BP if enforce else 0))
    if shape:
        (method, number, other), reactivities = shape
        values = [0.0, *(-1.0 if r < 0 else r for r in reactivities)]
        if method == "D":
            compound.sc_add_SHAPE_deigan(values, number, other)
        else:
            compound.sc_add_SHAPE_zarringhalam(values, number, 0.5, other)
    return compound


def words_of(options):
    temperature, dangles, _, no_gu, no_gu_closing, _, circular, _, quadruplexes = options
    return (["--json", "-T", str(temperature), "-d", str(dangles)] + ["--noGU"] * no_gu + ["--noClosingGU"] * no_gu_closing
            + ["--circ"] * circular + ["-g"] * quadruplexes)


@contextlib.contextmanager
def shape_words(shape):
    """Options for reactivities, in a file that is there as long."""
    with tempfile.NamedTemporaryFile("w+", suffix=".dat") as file:
        if shape is None:
            yield []
            return
        (method, number, other), reactivities = shape
        file.write("".join(f"{k} {r}\n" for k, r in enumerate(reactivities, 1)))
        file.flush()
        yield ["--shape", file.name] + ([f"--shapeMethod=Dm{number}b{other}"] if method == "D" else
                                        [f"--shapeMethod=Zb{number}", "--shapeConversion", other])


def evaluated(tool, structures, options, shape):
    """Energies that we give structures."""
    with shape_words(shape) as words:
        run = subprocess.run([tool, "fold", "eval", "-"] + words_of(options) + words, input="".join(f"{s}\n{x}\n" for s, x in structures),
                             capture_output=True, text=True, check=True)
    return [record["energy"] for record in json.loads(run.stdout)["records"]]


def of_ours(tool, sequences, options, constraints, shape=None, threads=1, more=()):
    """Records by name, the place of each sequence; those that cannot be folded are missing."""
    words = [tool, "fold", "-", "--threads", str(threads), "--max-span", str(options[5])] + words_of(options) + ["--noLP"] * options[2]
    with tempfile.NamedTemporaryFile("w+", suffix=".txt") as file, shape_words(shape) as of_shape:
        if any(constraints):
            file.write("".join((c or "." * len(s)) + "\n" for s, c in zip(sequences, constraints)))
            file.flush()
            words += ["-C", file.name] + ["--enforceConstraint"] * options[7]
        run = subprocess.run([*words, *of_shape, *more], input="".join(f">{k}\n{s}\n" for k, s in enumerate(sequences)), capture_output=True, text=True)
    if run.returncode > (1 if options[7] else 0):
        raise RuntimeError(run.stderr)
    return {int(record["name"]): record for record in json.loads(run.stdout)["records"]}


def compare(args):
    rng = random.Random(args.seed)
    genome = "".join(sequences_of(args.pieces)).upper().replace("T", "U") if args.pieces else ""
    by_options = {}
    for number in range(args.cases):
        if number % args.batch == 0:
            options = draw_options(rng, args.longest, args.quadruplexes)
        sequence, constraint, shape = draw(rng, args.shortest, args.longest, options, genome)
        by_options.setdefault((options, shape), []).append((sequence, constraint))
    wrong, rows = [], []
    counts = dict.fromkeys((*COLUMNS, "constraint", *(f"dangles {d}" for d in range(4)), "reactivities (Deigan)", "reactivities (Zarringhalam)",
                            "cannot be fulfilled", "with a quadruplex", *EXCEPTIONS), 0)
    for (options, shape), cases in by_options.items():
        sequences, constraints = zip(*cases)
        records = of_ours(args.tool, sequences, options, constraints, shape)
        compounds = [of_viennarna(s, options, c, shape) for s, c in cases]
        folded = [compound.mfe() for compound in compounds]
        # Their structures have their energies for us, ours for them. With dangles 3 RNAeval sums multiloops otherwise
        # than RNAfold, so what it says of ours is counted only.
        possible = [k for k, (_, energy) in enumerate(folded) if energy < 9999]
        again = evaluated(args.tool, [(sequences[k], folded[k][0]) for k in possible], options, shape) if possible else []
        counts["cannot be fulfilled"] += len(cases) - len(possible)
        for k in set(possible) ^ set(records):
            found = k in records and options[6] and round(100 * compounds[k].eval_structure(records[k]["structure"])) == round(
                100 * records[k]["energy"])
            counts[EXCEPTIONS[0]] += found
            if not found:
                wrong.append({"sequence": sequences[k], "options": options, "constraint": constraints[k], "folded_by": "one alone"})
        if not set(possible) <= set(records):
            continue
        for k, theirs_by_us in zip(possible, again, strict=True):
            sequence, constraint, record, compound, energy = sequences[k], constraints[k], records[k], compounds[k], folded[k][1]
            ours, theirs, theirs_by_us, ours_by_them, theirs_by_them = (
                round(100 * e) for e in (record["energy"], energy, theirs_by_us, compound.eval_structure(record["structure"]),
                                         compound.eval_structure(folded[k][0])))
            right = ours == theirs == theirs_by_us and (ours == ours_by_them or options[1] == 3)
            counts[EXCEPTIONS[2]] += options[1] == 3 and ours_by_them != ours
            if not right and options[6] and (options[7] or options[4]):
                right = ours <= theirs == theirs_by_us and ours == ours_by_them
                counts[EXCEPTIONS[0]] += right
            elif not right and options[1] % 2 == 1 and shape is not None and shape[0][0] == "Z" and theirs != theirs_by_them:
                right = ours <= theirs_by_us and (options[1] == 3 or (ours == ours_by_them and theirs_by_us == theirs_by_them))
                counts[EXCEPTIONS[1]] += right
            if not right:
                wrong.append({"sequence": sequence, "options": options, "constraint": constraint, "shape": shape, "ours": ours, "theirs": theirs,
                              "ours_by_them": ours_by_them, "theirs_by_us": theirs_by_us})
            if shape is None and ours == theirs:
                rows.append((sequence, *options, constraint or "-", theirs))
            if shape is not None:
                counts["reactivities (Deigan)" if shape[0][0] == "D" else "reactivities (Zarringhalam)"] += 1
            counts["with a quadruplex"] += "+" in record["structure"]
            counts["constraint"] += bool(constraint)
            counts[f"dangles {options[1]}"] += 1
            for name, value, usual in zip(COLUMNS, options, USUAL):
                counts[name] += value != usual
    result = {"viennarna": RNA.__version__, "cases": args.cases, "seed": args.seed, "lengths": [args.shortest, args.longest],
              "cases_with": counts, "wrong": wrong}
    if genome:
        result["pieces_of"] = pathlib.Path(args.pieces).name
    print(json.dumps({**result, "wrong": len(wrong)}))
    if args.table:
        lines = ["# sequence, " + ", ".join(COLUMNS) + f", constraint, least energy [0.01 kcal/mol] by ViennaRNA {RNA.__version__}"]
        args.table.write_text("\n".join(lines + ["\t".join(map(str, row)) for row in rows]) + "\n")
    return result


def compare_suboptimal(args):
    """Are the structures within a range RNAsubopt's?"""
    rng = random.Random(args.seed)
    counts = dict.fromkeys((*COLUMNS[:6], "constraint", "reactivities", "cannot be fulfilled", "circles whose least is another", "structures", "most structures of a case"), 0)
    wrong, cases = [], 0
    while cases < args.cases:
        options = draw_options(rng, args.longest)
        if options[1] % 2 == 1 or args.circles != bool(options[6]) or args.enforced != bool(options[7]):
            continue
        sequence, constraint, shape = draw(rng, args.shortest, args.longest, options)
        cases += 1
        delta = rng.choice([0, 0.1, 0.5, 1, 1.5, 2, 3, 4])
        compound = of_viennarna(sequence, options, constraint, shape, unique=True)
        least = of_viennarna(sequence, options, constraint, shape).mfe()[1]
        if least > 9999:
            counts["cannot be fulfilled"] += 1
            continue
        theirs = {s.structure: round(100 * s.energy) for s in compound.subopt(round(100 * delta), 1)}
        if options[6]:  # a circle without pairs costs nothing there, and may be its least
            counts["circles whose least is another"] += min(theirs.values()) != round(100 * least)
            if min(theirs.values()) != round(100 * least):
                continue
            open_circle = "." * len(sequence)
            if open_circle in theirs:
                theirs[open_circle] = round(100 * compound.eval_structure(open_circle))
                theirs = {x: e for x, e in theirs.items() if e <= round(100 * least) + round(100 * delta)}
        found = of_ours(args.tool, [sequence], options, [constraint], shape, more=["--suboptimal", str(delta)])[0]["structures"]
        ours = {s["structure"]: round(100 * s["energy"]) for s in found}
        if ours != theirs or len(found) != len(ours):
            wrong.append({"sequence": sequence, "options": options, "constraint": constraint, "shape": shape, "delta": delta,
                          "ours_alone": sorted(ours.items() - theirs.items())[:5], "theirs_alone": sorted(theirs.items() - ours.items())[:5]})
        counts["structures"] += len(ours)
        counts["most structures of a case"] = max(counts["most structures of a case"], len(ours))
        counts["constraint"] += bool(constraint)
        counts["reactivities"] += shape is not None
        for name, value, usual in zip(COLUMNS[:6], options, USUAL):
            counts[name] += value != usual
    result = {"viennarna": RNA.__version__, "suboptimal_cases": cases, "seed": args.seed, "lengths": [args.shortest, args.longest],
              "cases_with": counts, "wrong": wrong}
    print(json.dumps({**result, "wrong": len(wrong)}))
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


def dangles(args):
    """What -d costs: processor time beside that of -d 2, one after another."""
    rows = []
    for path in args.dangles:
        tried = {d: [] for d in (2, 0, 1, 3)}
        for _ in range(args.tries):
            for d, seconds in tried.items():
                seconds.append(of_child([args.tool, "fold", path, "--threads", "1", "-d", str(d), "-q", "--force", "-o", "/dev/null"])[0])
        middle = {d: median(seconds) for d, seconds in tried.items()}
        rows.append({"file": pathlib.Path(path).name, "seconds": middle, "ratio": {d: t / middle[2] for d, t in middle.items()}})
        print(json.dumps(rows[-1]), flush=True)
    return {"dangles": rows}


def times(args):
    rows = []
    for path in args.times:
        sequences = sequences_of(path)
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "out.json"
            tried = {1: [], 2: []}  # in turns, as other work comes and goes
            for _ in range(args.tries):
                for n, runs in tried.items():
                    runs.append(of_child([args.tool, "fold", path, "--threads", str(n), "--force", "-o", out]))
            ours = [round(100 * record["energy"]) for record in json.loads(out.read_text())["records"]]
        row = {"file": pathlib.Path(path).name, "sequences": len(sequences), "bases": max(map(len, sequences)),
               "ours_s": median([t for t, _ in tried[1]]), "ours_wall_s": median([w for _, w in tried[1]]),
               "two_threads_wall_s": median([w for _, w in tried[2]])}
        row["two_threads_ratio"] = row["ours_wall_s"] / row["two_threads_wall_s"]
        # Where each thread had a processor of its own for all of the time; else other work took some.
        row["two_threads_processor_s"] = median([t for t, _ in tried[2]])
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
    parser.add_argument("--batch", type=int, default=16, help="cases with the same options")
    parser.add_argument("--pieces", help="half of the sequences are pieces of this one")
    parser.add_argument("--table", type=pathlib.Path)
    parser.add_argument("--suboptimal", action="store_true")
    parser.add_argument("--quadruplexes", action="store_true")
    parser.add_argument("--circles", action="store_true", help="suboptimal structures of circles")
    parser.add_argument("--enforced", action="store_true", help="the same of constraints that are enforced")
    parser.add_argument("--times", nargs="+")
    parser.add_argument("--dangles", nargs="+")
    parser.add_argument("--tries", type=int, default=3)
    parser.add_argument("--their-longest", type=int, default=10_000, help="what ViennaRNA is not asked beyond [bases]")
    parser.add_argument("--out", type=pathlib.Path)
    args = parser.parse_args()
    result = times(args) if args.times else dangles(args) if args.dangles else compare_suboptimal(args) if args.suboptimal else compare(args)
    if args.out:
        args.out.write_text(json.dumps(result, indent=1) + "\n")
    raise SystemExit(1 if result.get("wrong") else 0)


if __name__ == "__main__":
    main()
