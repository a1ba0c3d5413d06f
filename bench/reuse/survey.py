#!/usr/bin/env python3
"""What `warploom reuse` finds in folders of PTX files, and whether the bytes that it reports are ptxas'.

    bench/reuse/survey.py --tool build/default/bin/warploom --json survey.json [--ptxas] NAME=FOLDER...

Each file goes through `reuse --json --no-ptxas` twice: with `--when always` (what could be saved) and by default
(what pays). With --ptxas the input and the rewritten module are assembled with `ptxas -v`, and the bytes of shared
memory of every kernel are compared; a difference makes the exit status 1.
"""
import argparse
import collections
import concurrent.futures
import json
import pathlib
import re
import subprocess
import sys
import tempfile


def run(command):
    return subprocess.run(command, capture_output=True, text=True)


def reuse(tool, path, *more):
    result = run([tool, "reuse", str(path), "--json", "--no-ptxas", *more])
    try:
        return json.loads(result.stdout)
    except json.JSONDecodeError:
        return {"error": (result.stderr or "no report").strip().splitlines()[-1]}


def assembled(path, architecture):
    """Bytes of shared memory by kernel, or None where ptxas does not take the file."""
    result = run(["ptxas", "-v", "-O1", "-arch=" + architecture, str(path), "-o", "/dev/null"])
    if result.returncode != 0:
        return None
    found, kernel = {}, None
    for line in result.stderr.splitlines():
        if match := re.search(r"Compiling entry function '([^']+)'", line):
            kernel = match[1]
        elif kernel and "Used" in line and "registers" in line:
            smem = re.search(r"(\d+) bytes smem", line)
            found[kernel] = int(smem[1]) if smem else 0
            kernel = None
    return found


def kind_of(reason):
    """A reason without the names and numbers of one kernel."""
    reason = re.sub(r"'[^']*', PTX line \d+: ", "", reason)
    return re.sub(r"'[^']*'", "'...'", re.sub(r"\d[\d,]*", "N", reason))


def launches_of(path):
    """What survey_programs.py recorded of the program that this file is of."""
    for sim in (path.with_suffix(".sim"), path.parent / (path.name.split("@")[0] + ".sim")):
        if sim.exists() and sim.stat().st_size > 0:
            return sim
    return None


def survey_file(path, options):
    c = collections.Counter(files=1)
    refused, unchanged, differences, errors = collections.Counter(), collections.Counter(), [], []
    launches = launches_of(path) if options.launches else None
    known = ["--launches", str(launches)] if launches else []
    with tempfile.TemporaryDirectory() as scratch:
        output = pathlib.Path(scratch) / "out.ptx"
        most = reuse(options.tool, path, "--when", "always", *known, "-o", str(output))
        default = reuse(options.tool, path, *known)
        assumed = reuse(options.tool, path, "--when", "always", "--assume-parts", *known) if options.assume_parts else most
        for report in (most, default, assumed):
            if "error" in report:
                return c, refused, unchanged, differences, [f"{path.name}: {report['error']}"]
        architecture = re.search(r"\.target\s+(\w+)", path.read_text())[1]
        if options.ptxas:
            for text, key in ((path, "bytes_before"), (output, "bytes_after")):
                truth = assembled(text, architecture)
                c["not assembled"] += truth is None
                for k in most["kernels"] if truth else []:
                    if k["symbol"] in truth:
                        c["bytes compared"] += 1
                        if truth[k["symbol"]] != k[key]:
                            differences.append({"file": path.name, "kernel": k["symbol"], "which": key,
                                                "reported": k[key], "ptxas": truth[k["symbol"]]})
    for k, d, a in zip(most["kernels"], default["kernels"], assumed["kernels"]):
        c["kernels"] += 1
        c["static bytes"] += k["bytes_before"]
        c["static bytes after"] += k["bytes_after"]
        c["dynamic bytes known"] += k["dynamic_before"]
        c["dynamic bytes after"] += k["dynamic_after"]
        c["block size known"] += k["threads_from"] is not None
        c["block size from recorded launches"] += k["threads_from"] == "recorded launches"
        c["with static arrays"] += k["bytes_before"] > 0
        if d["threads_from"] == "recorded launches":
            c["static bytes, launched"] += k["bytes_before"]
            c["static bytes after, launched"] += k["bytes_after"]
            dynamic = max((r["shared_dynamic"] for r in d["residency"]), default=0)
            c["launched with dynamic bytes"] += dynamic > 0
            c["dynamic bytes, launched"] += dynamic
        if k["verdict"] == "refused":
            refused[kind_of(k["reason"])] += 1
        elif k["verdict"] == "failed":
            errors.append(f"{path.name}: {k['symbol']}: {k['reason']}")
        elif k["verdict"] == "rewritten":
            c["rewritten, --when always"] += 1
            c["thanks to parts of the dynamic array"] += k["dynamic_after"] < k["dynamic_before"]
            c["thanks to formulas of the launch"] += k["dynamic_formula"] is not None
            c["thanks to parts of static arrays"] += any("[" in o["name"] and ".." in o["name"] and o["shares"]
                                                         for o in k["objects"]) and k["dynamic_before"] == 0 \
                and k["dynamic_formula"] is None
        else:
            unchanged[kind_of(k["reason"])] += 1
        c["dynamic array in one piece"] += "is not proved to keep to a part" in k["reason"]
        if a["verdict"] == "rewritten" and k["verdict"] != "rewritten" and a["dynamic_formula"] is not None:
            c["divided with --assume-parts"] += 1
            c["example bytes before, --assume-parts"] += a["dynamic_formula"]["example_before"]
            c["example bytes after, --assume-parts"] += a["dynamic_formula"]["example_after"]
        if a["verdict"] == "failed":
            errors.append(f"{path.name}: {a['symbol']}: --assume-parts: {a['reason']}")
        c["rewritten by default"] += d["verdict"] == "rewritten"
        c["would gain with 256 threads a block"] += any(
            r["threads"] == 256 and r["after"]["blocks"] > r["before"]["blocks"] for r in d["residency"])
    return c, refused, unchanged, differences, errors


def survey(name, folder, options):
    c = collections.Counter()
    refused, unchanged, differences, errors = collections.Counter(), collections.Counter(), [], []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for f in pool.map(lambda path: survey_file(path, options), sorted(pathlib.Path(folder).glob("*.ptx"))):
            c += f[0]
            refused += f[1]
            unchanged += f[2]
            differences += f[3]
            errors += f[4]
    return {"collection": name, **c, "refused": dict(refused), "unchanged": dict(unchanged.most_common()),
            "differences from ptxas": differences, "errors": errors}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", required=True)
    parser.add_argument("--json", required=True)
    parser.add_argument("--ptxas", action="store_true")
    parser.add_argument("--launches", action="store_true", help="take FILE.sim beside FILE.ptx, from survey_programs.py")
    parser.add_argument("--assume-parts", action="store_true", help="count what that divides, too")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("collections", nargs="+", metavar="NAME=FOLDER")
    options = parser.parse_args()
    results = []
    for entry in options.collections:
        results.append(survey(*entry.split("=", 1), options))
        pathlib.Path(options.json).write_text(json.dumps({"collections": results}, indent=1) + "\n")
        r = results[-1]
        print(f"{r['collection']}: {r.get('kernels', 0)} kernels, {r.get('rewritten, --when always', 0)} rewritten, "
              f"{len(r['differences from ptxas'])} differ from ptxas, {len(r['errors'])} errors", flush=True)
    return 1 if any(r["differences from ptxas"] or r["errors"] for r in results) else 0


if __name__ == "__main__":
    sys.exit(main())
