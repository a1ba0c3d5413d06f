#!/usr/bin/env python3
"""How long does `warploom tile --front-end clang FILE --explain` take?

    explain_times.py WARPLOOM LIST [--before OTHER] [--rounds N] [--out FILE.json]

LIST has a line for each file: what it is called, its path, flags for Clang. Each round runs every program on a file, one
after the other; a row gives the median of the processor's seconds in user mode, Clang's among them. With --before, another
warploom takes turns with the first, and `same` tells whether both print the same.
"""
import argparse
import json
import pathlib
import resource
import shlex
import statistics
import subprocess


def explain(program, path, flags):
    """@return seconds of user time, and what is printed"""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    run = subprocess.run([program, "tile", "--front-end", "clang", path, "--explain", "--", *flags], capture_output=True)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before, (run.returncode, run.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("warploom")
    parser.add_argument("list", type=pathlib.Path)
    parser.add_argument("--before")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    programs = {"seconds": options.warploom} | ({"before": options.before} if options.before else {})
    rows = []
    for line in options.list.read_text().splitlines():
        name, path, *flags = shlex.split(line)
        times, printed = {key: [] for key in programs}, {}
        for _ in range(options.rounds):
            for key, program in programs.items():
                seconds, printed[key] = explain(program, path, flags)
                times[key].append(seconds)
        row = {"file": name} | {key: round(statistics.median(all), 3) for key, all in times.items()}
        row["rc"] = printed["seconds"][0]
        if options.before:
            row["same"] = printed["seconds"] == printed["before"]
        rows.append(row)
    rows.sort(key=lambda row: -row["seconds"])
    result = {"question": "How long does `warploom tile --front-end clang FILE --explain` take? All nests of a file, Clang's time among it",
              "unit": f"processor seconds in user mode, median of {options.rounds} rounds in turns", "files": len(rows)}
    for key in programs:
        result[f"median of {key}"] = round(statistics.median(row[key] for row in rows), 3)
        result[f"{key} above 1"] = sum(row[key] > 1 for row in rows)
    if options.before:
        result["median ratio before / seconds"] = round(statistics.median(row["before"] / row["seconds"] for row in rows), 2)
    result["rows"] = rows
    text = json.dumps(result, indent=1) + "\n"
    if options.out:
        options.out.write_text(text)
    print(text.split(' "rows"')[0])


if __name__ == "__main__":
    main()
