#!/usr/bin/env python3
"""How fast is PolyBench/C on a CPU after `warploom tile --auto --in-place`, beside what the compiler makes of it as it is?

    polybench_cpu.py POLYBENCH --warploom PROGRAM [--out FILE.json] [--dataset LARGE] [--rounds 3] [--only syrk,lu]
                     [--cc gcc] [--polly clang-14] [--other pluto=DIR] [--threads N] [--prepare DIR] [--jobs 1]

POLYBENCH is the unpacked PolyBench/C 4.2. Every kernel is compiled with `CC -O3 -march=native`, restrict on its
arrays for all (-DPOLYBENCH_USE_RESTRICT), as it is and with its nest replaced; with --polly also by that clang alone and
with its Polly; with --other also what another program wrote: KERNEL.c in its folder, of the original's with the same
macros. Programs run in turns, --rounds times; the median of PolyBench's own timer counts. First
all of them dump their arrays at the dataset SMALL and agree with the original to the two decimals that are printed.
With --threads all are also measured with -fopenmp, or Polly's -polly-parallel, on so many threads, one after the other.
One thread is measured --jobs programs at a time, each on a core of its own. What has no parallel loop is measured on
one thread alone, and has this figure for threads as well. What takes more than two seconds is measured once.

--prepare only fills DIR with sources, what --polly makes of them (compiled here, for --march) and measure.sh, for a
machine that has a compiler and nothing else; there `sh measure.sh >lines.txt`, and here --collect lines.txt instead
of measuring. What runs, or is compiled, longer than --time-limit, on threads a quarter of it, ends there and has no
figure.
"""
import argparse
import concurrent.futures
import json
import math
import os
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
cat >same.sh <<'END'  # the numbers of two dumps differ by less than rounding of their two decimals
paste -d ' ' "$1" "$2" | awk '{ n = NF / 2; for (k = 1; k <= n; k++) if ($k != $(k + n)) {
  d = $k - $(k + n); if (d < 0) d = -d; m = $k < 0 ? -$k : $k; if (!(d <= 0.011 + 1e-6 * m)) bad = 1 } }
  END { exit bad || NR == 0 }'
END
# The cores that this process may use: one for each of the programs that run at a time.
sed -n 's/^Cpus_allowed_list:[^0-9]*//p' /proc/self/status | tr ',' '\n' |
  awk -F- '{ for (k = $1; k <= ($2 == "" ? $1 : $2); k++) print k }' >cores.txt
cat >pinned.sh <<'END'
taskset -c "$(sed -n "$((CORE * $(wc -l <cores.txt) / JOBS + 1))p" cores.txt)" sh "$1"
END
cat >run.sh <<'END'  # kernel, variant, program, threads, seconds that it may take
[ -e "$3.long" ] && exit 0
took=$(OMP_NUM_THREADS=$4 timeout "$5" "$3.run" || echo "above $5 s")
echo "$1 $2 $took"
awk -v took="$took" 'BEGIN { exit !(took + 0 > 2) }' && touch "$3.long"
exit 0
END
# Longest first, so that no core is left with one at the end.
in_order() {
  for kernel in floyd-warshall seidel-2d adi gramschmidt covariance lu ludcmp nussinov heat-3d fdtd-2d symm trmm correlation; do
    ls $kernel/*.$1 2>/dev/null
  done
  ls */*.$1
}
listed() { in_order "$1" | awk '!seen[$0]++'; }
listed build | xargs -P "$(nproc)" -n 1 sh
echo "# built $(date +%%s)"
ls */gcc.check | xargs -P "$(nproc)" -n 1 sh
ls */*.check | grep -v /gcc.check | xargs -P "$(nproc)" -n 1 sh
echo "# checked $(date +%%s)"
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
    parser.add_argument("--other", action="append", default=[], metavar="NAME=DIR")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--march", default="native")
    parser.add_argument("--time-limit", type=int, default=120, help="seconds of one run")
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
    words = [options.warploom, "tile", target, "-I", options.polybench / "utilities", "-D", f"{dataset}_DATASET",
             "-D", "POLYBENCH_USE_RESTRICT", "--auto", "--in-place", "--force", *options.options.split()]
    run = subprocess.run(words, capture_output=True, text=True)
    return run.stderr.strip() if run.returncode else ""


def others(options):
    return dict(word.split("=", 1) for word in options.other)


def variants(options):
    """Name -> compiler and flags, and whose source it compiles."""
    flags = f"-O3 -march={options.march} -DPOLYBENCH_USE_RESTRICT"
    threads = options.threads > 1
    all_variants = {"gcc": (f"{options.cc} {flags}", "source")}
    for kind in ("warploom", *others(options)):
        all_variants[kind] = (f"{options.cc} {flags}", kind)
        if threads:
            all_variants[f"{kind} threads"] = (f"{options.cc} {flags} -fopenmp", kind)
    if options.polly:
        all_variants["clang"] = (f"{options.polly} {flags}", "source")
        all_variants["polly"] = (f"{options.polly} {flags} -mllvm -polly", "source")
        if threads:
            all_variants["polly threads"] = (f"{options.polly} {flags} -mllvm -polly -mllvm -polly-parallel", "source")
    return all_variants


def put_sources(options, source, at, dataset):
    """The kernel by each of those who wrote one. @return who could not, and why"""
    missing = {}
    for kind in ("source", "warploom", *others(options)):
        (at / kind).mkdir(parents=True, exist_ok=True)
        shutil.copy(source.with_suffix(".h"), at / kind)
        if kind == "source":
            shutil.copy(source, at / kind)
        elif kind == "warploom":
            if said := transform(options, source, dataset, at / kind / source.name):
                missing[kind] = said
        elif (written := pathlib.Path(others(options)[kind]) / source.name).exists():
            shutil.copy(written, at / kind)
        else:
            missing[kind] = f"{kind} wrote no {source.name}"
    return missing


def is_parallel(folder, dataset, source, kind, program):
    """Whether the text or, where it was compiled already, the program shares a loop among threads."""
    if kind != "source":
        return "#pragma omp parallel" in (folder / dataset / kind / source.name).read_text()
    return not program.exists() or b"GOMP_parallel" in program.read_bytes()


def prepare(options, folder):
    """Sources, and scripts that compile, check and measure them."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copytree(options.polybench / "utilities", folder / "utilities", dirs_exist_ok=True)
    refused, one_after_another = {}, ""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        written = {(source, dataset): pool.submit(put_sources, options, source, folder / source.stem / dataset, dataset)
                   for source in kernels(options) for dataset in (options.dataset, "SMALL")}
    for source in kernels(options):
        name = source.stem
        missing = written[source, options.dataset].result() | written[source, "SMALL"].result()
        refused |= {f"{name} {kind}": said for kind, said in missing.items()}
        for variant, (compiler, kind) in variants(options).items():
            if kind in missing:
                continue
            build, check = "", ""
            threads = options.threads if "threads" in variant else 1
            program_of = f"{name}/{variant.replace(' ', '-')}"
            # Results are compared without fused multiply-adds: columns of gramschmidt that are rounding alone agree then.
            for dataset, define, program in ((options.dataset, "POLYBENCH_TIME", f"{program_of}.run"),
                                             ("SMALL", "POLYBENCH_DUMP_ARRAYS -ffp-contract=off", f"{program_of}.dump")):
                at = f"{name}/{dataset}/{kind}"
                command = (f"{compiler} -w -D{dataset}_DATASET -D{define} -Iutilities -I{at} utilities/polybench.c "
                           f"{at}/{source.name} -o {program} -lm{' -lgomp' if 'polly threads' == variant else ''}")
                if options.prepare and compiler.startswith(options.polly or "\0"):
                    if not (folder / program).exists():
                        subprocess.run(command, shell=True, check=True, cwd=folder)
                else:
                    build += (f"timeout {options.time_limit} {command} || "
                              f"echo \"check {name} {variant} BAD does not compile\"\n")
            check += f"OMP_NUM_THREADS={threads} timeout {options.time_limit} {program_of}.dump 2>{program_of}.txt\n"
            if variant != "gcc":
                check += (f"if sh same.sh {name}/gcc.txt {program_of}.txt; then echo 'check {name} {variant} good'; "
                          f"else echo 'check {name} {variant} BAD'; fi\n")
            # One after another, those that threads make no faster would take all the time.
            limit = options.time_limit if threads == 1 else max(options.time_limit // 4, 1)
            run = f"sh run.sh {name} '{variant}' {program_of} {threads} {limit}\n"
            (folder / f"{program_of}.build").write_text(build)
            (folder / f"{program_of}.check").write_text(check)
            if threads == 1:
                (folder / f"{program_of}.one").write_text(run)
            elif is_parallel(folder / name, options.dataset, source, kind, folder / f"{program_of}.run"):
                one_after_another += run
    # Round after round, so that what was stopped early has whole ones.
    one_thread = f"export JOBS={options.jobs}\nlisted one | xargs -P {options.jobs} --process-slot-var=CORE -n 1 sh pinned.sh\n"
    script = HEAD % {"cc": options.cc} + (one_thread + one_after_another) * options.rounds
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
                took = float(words[-1])
                seconds.setdefault((words[0], " ".join(words[1:-1])), []).append(took)
            except ValueError:
                checks[words[0], " ".join(words[1:])] = False
    for (kernel, variant), all_runs in list(seconds.items()):
        if f"{variant} threads" in variants(options):
            seconds.setdefault((kernel, f"{variant} threads"), all_runs)
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
            **about, "dataset": options.dataset, "rounds": options.rounds, "threads": options.threads, "jobs": options.jobs,
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
        cells = [f"{row[n]['seconds']:9.3f} s {row[n]['times_gcc'] or math.nan:5.2f}{' ' if row[n]['good'] else '!'}" if n in row else "-"
                 for n in names]
        print(f"{kernel:16}" + "".join(f"{cell:>18}" for cell in cells))
    print(f"{'geometric mean':16}" + "".join(f"{result['geometric_mean_times_gcc'].get(n, math.nan):>18.2f}" for n in names))
    if options.out:
        options.out.write_text(json.dumps(result, indent=1) + "\n")
    sys.exit(0 if all(row["good"] for row in result["rows"]) else 1)


if __name__ == "__main__":
    main()
