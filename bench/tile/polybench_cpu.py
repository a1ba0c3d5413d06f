#!/usr/bin/env python3
"""How fast is PolyBench/C on a CPU after `warploom tile --auto --in-place`, beside what the compiler makes of it as it is?

    polybench_cpu.py POLYBENCH --warploom PROGRAM [--out FILE.json] [--dataset LARGE] [--rounds 3] [--only syrk,lu]
                     [--cc gcc] [--polly clang-14] [--threads N] [--prepare DIR]

POLYBENCH is the unpacked PolyBench/C 4.2. Every kernel is compiled with `CC -O3 -march=native`, restrict on its
arrays for all (-DPOLYBENCH_USE_RESTRICT), as it is and with its nest replaced; with --polly also by that clang alone and
with its Polly. All programs run in turns, --rounds times; the median of PolyBench's own timer counts. First
all of them dump their arrays at the dataset SMALL and agree with the original to the two decimals that are printed.
With --threads all are also measured with -fopenmp, or Polly's -polly-parallel, on so many threads.

--prepare only fills DIR with sources and measure.sh, for a machine that has a compiler and nothing else; there
`sh measure.sh >lines.txt`, and here --collect lines.txt instead of measuring.
"""
import argparse
import json
import math
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

HEAD = r"""#!/bin/sh
# Prints: "kernel variant seconds" for each run, "check kernel variant good|BAD", and what it ran on.
cd "$(dirname "$0")" || exit 1
export OMP_PROC_BIND=true
echo "# cpu $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)"
echo "# compiler $(%(cc)s --version | head -n 1)"
same() {  # the numbers of two dumps differ by less than rounding of their two decimals
  paste -d ' ' "$1" "$2" | awk '{ n = NF / 2; for (k = 1; k <= n; k++) if ($k != $(k + n)) {
    d = $k - $(k + n); if (d < 0) d = -d; m = $k < 0 ? -$k : $k; if (!(d <= 0.011 + 1e-6 * m)) bad = 1 } }
    END { exit bad }'
}
"""


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("polybench", type=pathlib.Path)
    parser.add_argument("--warploom", required=True)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--dataset", default="LARGE")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="")
    parser.add_argument("--cc", default="gcc")
    parser.add_argument("--polly", default="")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--prepare", type=pathlib.Path)
    parser.add_argument("--collect", type=pathlib.Path)
    parser.add_argument("--options", default="", help="further options of `warploom tile`")
    return parser.parse_args()


def kernels(options):
    wanted = set(filter(None, options.only.split(",")))
    lines = (options.polybench / "utilities/benchmark_list").read_text().split()
    sources = [options.polybench / line for line in lines]
    return [source for source in sources if not wanted or source.stem in wanted]


def transform(options, source, dataset, target):
    """The kernel's file with its nest replaced. @return what the tool said, where it did not."""
    shutil.copy(source, target)
    shutil.copy(source.with_suffix(".h"), target.parent)
    # nussinov's char holds bases 0 to 3: what int holds as well.
    words = [options.warploom, "tile", target, "-I", options.polybench / "utilities", "-D", f"{dataset}_DATASET",
             "-D", "POLYBENCH_USE_RESTRICT", "--auto", "--in-place", "--force", *options.options.split()]
    if source.stem == "nussinov":
        target.write_text(target.read_text().replace("typedef char base", "typedef int base"))
    run = subprocess.run(words, capture_output=True, text=True)
    return run.stderr.strip() if run.returncode else ""


def variants(options):
    """Name -> compiler and flags, and whether the source is the transformed one."""
    flags = "-O3 -march=native -DPOLYBENCH_USE_RESTRICT"
    all_variants = {"gcc": (f"{options.cc} {flags}", False), "warploom": (f"{options.cc} {flags}", True)}
    if options.polly:
        all_variants["clang"] = (f"{options.polly} {flags}", False)
        all_variants["polly"] = (f"{options.polly} {flags} -mllvm -polly", False)
    if options.threads > 1:
        all_variants["warploom threads"] = (f"{options.cc} {flags} -fopenmp", True)
        if options.polly:
            all_variants["polly threads"] = (f"{options.polly} {flags} -mllvm -polly -mllvm -polly-parallel -lgomp", False)
    return all_variants


def prepare(options, folder):
    """Sources, and a script that compiles, checks and measures them."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copytree(options.polybench / "utilities", folder / "utilities", dirs_exist_ok=True)
    script = HEAD % {"cc": options.cc}
    refused, programs = {}, []
    for source in kernels(options):
        name = source.stem
        for dataset in (options.dataset, "SMALL"):
            for kind in ("source", "warploom"):
                (folder / name / dataset / kind).mkdir(parents=True, exist_ok=True)
            shutil.copy(source, folder / name / dataset / "source")
            shutil.copy(source.with_suffix(".h"), folder / name / dataset / "source")
            said = transform(options, source, dataset, folder / name / dataset / "warploom" / source.name)
            if said:
                refused[name] = said
        for number, (variant, (compiler, transformed)) in enumerate(variants(options).items()):
            if transformed and name in refused:
                continue
            kind = "warploom" if transformed else "source"
            threads = f"OMP_NUM_THREADS={options.threads if 'threads' in variant else 1}"
            # Results are compared without fused multiply-adds: columns of gramschmidt that are rounding alone agree then.
            for dataset, define, program in ((options.dataset, "POLYBENCH_TIME", f"{name}/run{number}"),
                                             ("SMALL", "POLYBENCH_DUMP_ARRAYS -ffp-contract=off", f"{name}/dump{number}")):
                at = f"{name}/{dataset}/{kind}"
                script += (f"{compiler} -w -D{dataset}_DATASET -D{define} -Iutilities -I{at} utilities/polybench.c "
                           f"{at}/{source.name} -o {program} -lm || echo \"check {name} {variant} BAD does not compile\"\n")
            script += f"{threads} {name}/dump{number} 2>{name}/dump{number}.txt\n"
            if number:
                script += (f"if same {name}/dump0.txt {name}/dump{number}.txt; then echo 'check {name} {variant} good'; "
                           f"else echo 'check {name} {variant} BAD'; fi\n")
            programs.append(f"echo \"{name} {variant} $({threads} {name}/run{number})\"\n")
    # Round after round, so that what was stopped early has whole ones.
    script += "".join(programs) * options.rounds
    (folder / "measure.sh").write_text(script)
    return refused


def collect(options, lines, refused):
    seconds, checks, about = {}, {}, {}
    for line in lines:
        words = line.split()
        if line.startswith("# "):
            about[words[1]] = " ".join(words[2:])
        elif words and words[0] == "check":
            checks[words[1], " ".join(w for w in words[2:] if w not in ("good", "BAD")).split(" does")[0]] = "BAD" not in words
        elif len(words) >= 3:
            try:
                seconds.setdefault((words[0], " ".join(words[1:-1])), []).append(float(words[-1]))
            except ValueError:
                checks[words[0], " ".join(words[1:])] = False
    rows = []
    for (kernel, variant), all_runs in seconds.items():
        base = seconds.get((kernel, "gcc"))
        rows.append({"kernel": kernel, "variant": variant, "seconds": statistics.median(all_runs), "runs": all_runs,
                     "times_gcc": statistics.median(base) / statistics.median(all_runs) if base else None,
                     "good": checks.get((kernel, variant), True)})
    means = {}
    for variant in {row["variant"] for row in rows}:
        ratios = [row["times_gcc"] for row in rows if row["variant"] == variant and row["times_gcc"]]
        if ratios:
            means[variant] = math.exp(statistics.fmean(map(math.log, ratios)))
    return {"question": "PolyBench/C 4.2 on a CPU, after `warploom tile --auto --in-place`",
            **about, "dataset": options.dataset, "rounds": options.rounds, "threads": options.threads,
            "flags": {name: compiler for name, (compiler, _) in variants(options).items()},
            "geometric_mean_times_gcc": means, "refused": refused, "rows": rows}


def main():
    options = arguments()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.prepare or pathlib.Path(temporary)
        refused = {} if options.collect else prepare(options, folder)
        for name, said in refused.items():
            print(f"{name}: {said}", file=sys.stderr)
        if options.prepare:
            return
        if options.collect:
            lines = options.collect.read_text().splitlines()
        else:
            lines = []
            with subprocess.Popen(["sh", folder / "measure.sh"], stdout=subprocess.PIPE, text=True) as run:
                for line in run.stdout:
                    print(line, end="", file=sys.stderr)
                    lines.append(line)
    result = collect(options, lines, refused)
    names = list(variants(options))
    print(f"{'kernel':16}" + "".join(f"{name:>18}" for name in names))
    for kernel in dict.fromkeys(row["kernel"] for row in result["rows"]):
        row = {r["variant"]: r for r in result["rows"] if r["kernel"] == kernel}
        cells = [f"{row[n]['seconds']:9.3f} s {row[n]['times_gcc']:5.2f}{' ' if row[n]['good'] else '!'}" if n in row else "-"
                 for n in names]
        print(f"{kernel:16}" + "".join(f"{cell:>18}" for cell in cells))
    print(f"{'geometric mean':16}" + "".join(f"{result['geometric_mean_times_gcc'].get(n, math.nan):>18.2f}" for n in names))
    if options.out:
        options.out.write_text(json.dumps(result, indent=1) + "\n")
    sys.exit(0 if all(row["good"] for row in result["rows"]) else 1)


if __name__ == "__main__":
    main()
