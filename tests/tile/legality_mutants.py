#!/usr/bin/env python3
"""Are wrong dependences and wrong verdicts noticed?

    legality_mutants.py BUILD [--out FILE.json] [--only NAME] [--first]

Puts one fault at a time into the code that finds dependences and judges orders, compiles what holds it, links test_tile
(which BUILD has, up to date) with it, and runs the random nests, the random programs and the unit tests. A fault is
found if a test fails; which ones do is told apart. With --first the first test that fails is enough. The sources and BUILD stay as they are.
"""
import argparse
import json
import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
# What is wrong, where, the text, what stands there instead.
FAULTS = [
    ("the sign of a distance is ignored", "legality.cpp",
     "if (!none_is_negative) turned = turned.unite(pairs.intersect(where_negative(difference_here)));", ""),
    ("sink and source at the same time count as kept", "legality.cpp", "return turned.unite(pairs);", "return turned;"),
    ("what overwrites a value in another iteration of a loop is not looked for", "legality.cpp",
     "if (d >= prefix) before =", "if (d > 1000) before ="),
    ("sizes that bound loops count as asked only whether they are 0", "flags.cpp",
     "if (!involves(set, size)) return true;", "return true;"),
    ("distances of loops that count down have the wrong sign", "later.cpp",
     "directions_.push_back(loop.direction);", "directions_.push_back(1);"),
    ("what is at least 0 counts as later", "legality.cpp", "if (more.least && *more.least > 0) return turned;",
     "if (more.least && *more.least >= 0) return turned;"),
    ("different loops that share one in the times count as the same", "later.cpp",
     "if (loop >= dependence_.distance.size() || a != b) return {};", "if (loop >= dependence_.distance.size()) return {};"),
    ("different multiples of a quotient count as the same", "later.cpp", "if (a != b) return {};\n    bounds", "bounds"),
    ("quotients of distances are rounded up", "later.cpp", "return value / by - (value % by < 0);",
     "return value / by + (value % by > 0);"),
    ("a loop counts as parallel where a distance may be 0", "code.cpp",
     "return by.least && by.most && *by.least == 0 && *by.most == 0;", "return by.least && *by.least == 0;"),
    ("sums that are assigned first count as updates alone", "parallelise_copies.cpp",
     "return !r.is_write && r.element == target.element;", "return r.element == target.element;"),
    ("pairs of which one statement stays are not asked about", "legality.cpp",
     "if (!moves[dependence.source] && !moves[dependence.sink]) continue;",
     "if (!moves[dependence.source] || !moves[dependence.sink]) continue;"),
    ("sums may take any order without leave", "legality.cpp",
     "if (dependence.reduction && reorder_reductions) continue;", "if (dependence.reduction) continue;"),
    ("a value that is overwritten before it is read is not looked for", "legality.cpp",
     "if (broken.is_empty()) return std::nullopt;", "return std::nullopt;"),
    ("what is written in another iteration counts as the iteration's own", "legality.cpp", "return known == depth;",
     "return true;"),
    ("a write under a condition hides earlier ones", "dependence.cpp",
     "if (!between.conditions.empty()) return false;", ""),
    ("a write of other iterations hides earlier ones", "dependence.cpp",
     "between.assignment.target == from.element && from.element == to.element &&\n"
     "             bodies_[m] == bodies_[source] && bodies_[m] == bodies_[sink];",
     "between.assignment.target == from.element && from.element == to.element;"),
    ("what is read and then overwritten is no dependence", "dependence.cpp",
     "(!from.is_write && !to.is_write)) continue;", "!from.is_write) continue;"),
    ("loops that count down count up", "dependence.cpp",
     "a.loops[l].direction > 0 ? isl_map_order_lt : isl_map_order_gt;", "isl_map_order_lt;"),
    ("dependences within an iteration are not seen", "dependence.cpp",
     "same_iteration = source < sink && !is_implied(source, sink, false, from, to);", "same_iteration = false;"),
    ("an assignment in a branch counts as one that surely runs", "lifetimes.cpp",
     "return arms.size() <= of_reader.size() && std::equal(arms.begin(), arms.end(), of_reader.begin());",
     "return arms.size() + of_reader.size() < 1000;"),
    ("one assignment of several that give a value counts as all", "lifetimes.cpp",
     "if (left.is_empty()) return std::max(depth, home_);", "return std::max(depth, home_);"),
    ("a scalar counts as its element although something touches that", "values_in_place.cpp",
     "if (!same.is_empty()) return true;", ""),
    ("a subscript that memory holds touches one element", "access_relations.cpp", "reference.is_exact = false;", ";"),
    ("a loop that carries a dependence counts as parallel", "code.cpp", "facts.parallel = false;\n        break;",
     "break;"),
]
GROUPS = {"random nests": "RandomNests.*", "random programs": "RandomPrograms.*",
          "unit tests": "-RandomNests.*:RandomPrograms.*:CostRanking*:*EveryExample*"}


def ninja_commands(build, target):
    return subprocess.run(["ninja", "-C", build, "-t", "commands", target], check=True, capture_output=True,
                          text=True).stdout.splitlines()


def mutant(build, name, old, new, folder):
    """test_tile with the fault. @return the program"""
    source = next(ROOT.glob(f"src/tile/*/{name}"))
    text = source.read_text()
    if text.count(old) != 1:
        raise SystemExit(f"{source}: the text of the fault is there {text.count(old)} times: {old}")
    wrong = folder / name
    wrong.write_text(text.replace(old, new))
    commands = ninja_commands(build, "test_tile")
    unity = next(u for u in build.glob("src/tile/CMakeFiles/warploom_tile.dir/Unity/*.cxx") if str(source) in u.read_text())
    changed = folder / unity.name
    changed.write_text(unity.read_text().replace(str(source), str(wrong)))
    compile_line = next(c for c in commands if f"warploom_tile.dir/Unity/{unity.name}.o" in c)
    words = shlex.split(compile_line)
    words[words.index("-o") + 1] = str(folder / (unity.name + ".o"))
    words[words.index("-c") + 1] = str(changed)
    words = [w for w in words if w != "-Werror"]
    subprocess.run(words, cwd=build, check=True)
    archive = folder / "libwarploom_tile.a"
    shutil.copy(build / "src/tile/libwarploom_tile.a", archive)
    subprocess.run(["ar", "r", archive, folder / (unity.name + ".o")], check=True, capture_output=True)
    link = next(c for c in reversed(commands) if "-o bin/test_tile " in c)
    program = folder / "test_tile"
    link = link.replace("src/tile/libwarploom_tile.a", str(archive)).replace("-o bin/test_tile ", f"-o {program} ")
    subprocess.run(link, cwd=build, check=True, shell=True)
    return program


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--first", action="store_true")
    options = parser.parse_args()
    build = options.build.resolve()
    rows = []
    for what, name, old, new in FAULTS:
        if options.only not in what:
            continue
        with tempfile.TemporaryDirectory() as temporary:
            program = mutant(build, name, old, new, pathlib.Path(temporary))
            row = {"fault": what, "file": name}
            for group, names in GROUPS.items():
                if options.first and any(row[earlier] for earlier in GROUPS if earlier in row):
                    row[group] = []
                    continue
                try:
                    run = subprocess.run([program, f"--gtest_filter={names}", "--gtest_brief=1",
                                          *(["--gtest_fail_fast"] if options.first else [])],
                                         capture_output=True, text=True, timeout=300)
                    failed = re.findall(r"\[  FAILED  \] (\S+)(?: \(\d+ ms\))?$", run.stdout, re.M)
                    row[group] = sorted(set(failed)) or (["it dies"] if run.returncode else [])
                except subprocess.TimeoutExpired:
                    row.setdefault("not judged, more than 300 s", []).append(group)
                    row[group] = []
        rows.append(row)
        found = [f"{group}: {len(row[group])}" for group in GROUPS if row[group]]
        late = row.get("not judged, more than 300 s")
        print(f"{what}: {', '.join(found) or 'NOT FOUND'}{f' (not judged: {late})' if late else ''}", flush=True)
    if options.out:
        options.out.write_text(json.dumps({"question": "faults put into the code of dependences and legality", "rows": rows},
                                          indent=1) + "\n")
    raise SystemExit(0 if all(any(row[group] for group in GROUPS) for row in rows) else 1)


if __name__ == "__main__":
    main()
