"""What a build costs; `./dev build-cost` calls it.

    build_cost.py unit [FILE...] -- COMMAND...   runs a command of the build, which makes these files
    build_cost.py build -- COMMAND...            runs the build, or a part of it
    build_cost.py ctest -- COMMAND...            runs its tests
    build_cost.py table PART=COSTS...            prints a Markdown table of what these left

The first three append a line to the file that WARPLOOM_BUILD_COST names: core-seconds (user and system, of the command
and all that it waited for), seconds of wall time, kind, name. They end as the command does.
"""

import os
import resource
import sys
import time

LONGEST = 3


def run(kind, name, command):
    begin = time.monotonic()
    status = os.spawnvp(os.P_WAIT, command[0], command)  # subprocess takes longer to import than many a command
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    line = f"{used.ru_utime + used.ru_stime:.2f}\t{time.monotonic() - begin:.2f}\t{kind}\t{name}\n"
    with open(os.environ["WARPLOOM_BUILD_COST"], "a") as costs:
        costs.write(line)  # one write, so that commands that run at once do not mix
    return status if status >= 0 else 128 - status


def readable(name):
    """src/sim/CMakeFiles/warploom_sim_avx2.dir/lanes/half.cpp.o as lanes/half.cpp of warploom_sim_avx2."""
    import re  # what measures does without

    name = re.sub(r"^([.][.]/)+", "", name)
    return re.sub(r".*CMakeFiles/([^/]*)[.]dir/(.*)[.]o$", r"\2 of \1", name)


def row(part, path):
    core = {"unit": [], "build": [], "ctest": []}
    wall = 0.0
    with open(path) as costs:
        for line in costs:
            seconds, elapsed, kind, name = line.rstrip("\n").split("\t")
            core[kind].append((float(seconds), name))
            wall += float(elapsed) if kind == "build" else 0
    units = sorted(core["unit"], reverse=True)
    longest = ", ".join(f"{readable(name)} {seconds:.0f}" for seconds, name in units[:LONGEST])
    tests = f"{sum(s for s, _ in core['ctest']):.0f}" if core["ctest"] else ""
    return f"| {part} | {sum(s for s, _ in core['build']):.0f} | {wall:.0f} | {len(units)} | {longest} | {tests} |"


def main(kind, *arguments):
    if kind == "table":
        print("| part | core-seconds | seconds | commands | the longest [core-seconds] | ctest [core-seconds] |")
        print("| --- | ---: | ---: | ---: | --- | ---: |")
        for part, path in (argument.split("=", 1) for argument in arguments):
            print(row(part, path))
        return 0
    end = arguments.index("--")
    command = arguments[end + 1 :]
    return run(kind, " ".join(arguments[:end]) or command[0], command)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
