#!/usr/bin/env python3
"""Workers of one cohort that are killed at random moments: is every result there in the end, and is it the same?

    bench/cohort/kills.py build/default/bin/warploom --items 200 --workers 4 --kills 100

makes pictures of noisy disks, segments all of them with one worker that nobody disturbs, and then once more with
several, of which one is killed (SIGKILL) after a random time and replaced, until so many are dead. Then a last worker
runs to its end. The files of both runs have to be equal, byte by byte, and nothing else may lie in the folder.

    bench/cohort/kills.py build/default/bin/warploom --items 1000 --workers 4 --speed

measures instead how much faster several workers are than one, undisturbed; with one of them killed in the middle and
replaced; and with one killed and not replaced, beside the bound 1 / (f / n + (1 - f) / (n - 1)). The one worker goes round the
cores of the several, for cores are not equally fast. On a machine whose speed
changes from run to run these ratios do, too; so each is also given by "worker time": the seconds of items that count, as
their records say, divided by the seconds that workers lived, beside the same of one worker. It is what claims, deaths and
the end of the list cost, whatever the speed was.

Prints one JSON object. Exit code 1 if anything is lost, different or left over.
"""
import argparse
import hashlib
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path

from cores import processors


def write_png(path, side, seed):
    draw = random.Random(seed)
    rows = bytearray()
    for y in range(side):
        rows.append(0)
        for x in range(side):
            inside = (x - side / 2) ** 2 + (y - side / 2) ** 2 < (side / 4) ** 2
            rows.append(min(255, max(0, int(draw.gauss(170 if inside else 60, 25)))))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(rows))) + chunk(b"IEND", b""))


def make_inputs(folder, items, side):
    folder.mkdir()
    distinct = min(items, 64)
    for k in range(items):
        path = folder / f"disk{k:04d}.png"
        if k < distinct:
            write_png(path, side, k)
        else:
            os.link(folder / f"disk{k % distinct:04d}.png", path)


class Cohort:
    def __init__(self, tool, inputs, folder, beat):
        self.command = [str(tool), "cohort", str(inputs), "-o", str(folder), "--at-once", "1", "--threads", "1", "-q",
                        "--heartbeat", str(beat), "--device", "cpu", "--", "segment", "{}", "-o", "{out}.nii.gz", "--report",
                        "{out}.json"]
        self.folder = folder

    def start(self, core=None):
        command = self.command if core is None else ["taskset", "-c", str(core)] + self.command
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True)

    def run(self):
        started = time.monotonic()
        worker = self.start()
        error = worker.communicate()[1].decode()
        if worker.returncode != 0:
            sys.exit(f"a worker ended with {worker.returncode}: {error}")
        return time.monotonic() - started

    def results(self):
        """Hashes of results by name; of reports only what is no time."""
        found = {}
        for path in sorted(self.folder.rglob("*")):
            name = str(path.relative_to(self.folder))
            if not path.is_file() or name == "cohort.tsv" or name.startswith(".warploom/records/"):
                continue
            content = path.read_bytes()
            if path.suffix == ".json" and not name.startswith("."):
                report = json.loads(content)
                report.pop("seconds")
                content = json.dumps(report, sort_keys=True).encode()
            found[name] = hashlib.sha256(content).hexdigest()
        return found


def kill_tree(worker):
    os.killpg(worker.pid, signal.SIGKILL)
    worker.communicate()


def kills(arguments, scratch):
    inputs = scratch / "inputs"
    make_inputs(inputs, arguments.items, arguments.side)
    reference = Cohort(arguments.tool, inputs, scratch / "reference", arguments.beat)
    seconds = reference.run()
    expected = reference.results()
    tried = Cohort(arguments.tool, inputs, scratch / "tried", arguments.beat)
    draw = random.Random(arguments.seed)
    each = seconds / arguments.items
    killed = rounds = 0
    lost, different, strange = set(), set(), set()
    while killed < arguments.kills:
        # Once all is done the folder is begun anew, so that each death falls into work.
        rounds += 1
        shutil.rmtree(tried.folder, ignore_errors=True)
        workers = [tried.start() for _ in range(arguments.workers)]
        while killed < arguments.kills and all(worker.poll() is None for worker in workers):
            time.sleep(draw.uniform(0, 6 * each))
            victim = draw.randrange(len(workers))
            if workers[victim].poll() is not None:
                break
            kill_tree(workers[victim])
            killed += 1
            workers[victim] = tried.start()
        for worker in workers:
            worker.communicate()
        tried.run()
        found = tried.results()
        lost |= expected.keys() - found.keys()
        strange |= found.keys() - expected.keys()
        different |= {name for name in expected.keys() & found.keys() if expected[name] != found[name]}
    return {"items": arguments.items, "workers": arguments.workers, "killed": killed, "rounds": rounds, "files": len(expected),
            "lost": sorted(lost), "different": sorted(different), "left over": sorted(strange)}


def go_round(worker, cores):
    """Lets it run on each of the cores in turns."""
    turn = 0
    while True:
        turn += 1
        for thread in Path(f"/proc/{worker.pid}/task").iterdir():
            try:
                os.sched_setaffinity(int(thread.name), {cores[turn % len(cores)]})
            except (ProcessLookupError, FileNotFoundError):
                pass
        try:
            return worker.wait(timeout=.25)
        except subprocess.TimeoutExpired:
            pass


def timed(cohort, workers, kill_at=None, replace=False, around=1):
    """Seconds, and the share of the workers' time that went into items that count. One worker goes round `around` cores."""
    shutil.rmtree(cohort.folder, ignore_errors=True)
    first, second = processors()
    cores = (first + second)[:max(workers, around)]
    started = time.monotonic()
    running = [cohort.start(core) for core in cores[:workers]]
    if workers == 1:
        go_round(running[0], cores)
    if kill_at is not None:
        time.sleep(kill_at)
        kill_tree(running[0])
        if replace:
            running[0] = cohort.start(cores[0])
        else:
            del running[0]
    for worker in running:
        worker.communicate()
    seconds = time.monotonic() - started
    lived = workers * seconds - (seconds - kill_at if kill_at is not None and not replace else 0)
    records = [json.loads(path.read_text()) for path in (cohort.folder / ".warploom/records").rglob("*.json")]
    if len(records) != cohort.items or any(record["error"] for record in records):
        sys.exit(f"{len(records)} of {cohort.items} items have a record")
    return seconds, sum(record["seconds"] for record in records) / lived


def speed(arguments, scratch):
    inputs = scratch / "inputs"
    make_inputs(inputs, arguments.items, arguments.side)
    cohort = Cohort(arguments.tool, inputs, scratch / "results", arguments.beat)
    n = arguments.workers
    cohort.items = arguments.items
    runs = {"one worker": [], "all": [], "one killed and replaced": [], "one killed": []}
    half = []
    for _ in range(arguments.rounds):
        runs["one worker"].append(timed(cohort, 1, around=n))
        runs["all"].append(timed(cohort, n))
        half.append(runs["all"][-1][0] / 2)
        runs["one killed and replaced"].append(timed(cohort, n, half[-1], True))
        runs["one killed"].append(timed(cohort, n, half[-1]))
    middle = sorted(seconds for seconds, _ in runs["one worker"])[arguments.rounds // 2]
    alone = sum(busy for _, busy in runs["one worker"]) / arguments.rounds
    bounds = []
    for (seconds, _), at in zip(runs["one killed"], half):
        f = at * n / middle  # share that is done when it dies
        bounds.append((middle / seconds) / (1 / (f / n + (1 - f) / (n - 1))))
    return {"items": arguments.items, "side": arguments.side, "workers": n,
            "seconds": {name: [seconds for seconds, _ in run] for name, run in runs.items()},
            "faster": [middle / seconds for seconds, _ in runs["all"]],
            "one killed and replaced": [middle / seconds for seconds, _ in runs["one killed and replaced"]],
            "one killed, share of the bound": bounds,
            "by worker time": {"one worker, share in items": alone,
                               "faster": [n * busy / alone for _, busy in runs["all"]],
                               "one killed and replaced": [n * busy / alone for _, busy in runs["one killed and replaced"]],
                               "one killed, share of the bound": [busy / alone for _, busy in runs["one killed"]]}}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tool", type=Path)
    parser.add_argument("--items", type=int, default=200)
    parser.add_argument("--side", type=int, default=96, help="of a picture [pixels]")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--beat", type=float, default=1, help="sign of life of a worker [s]")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--speed", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        result = (speed if arguments.speed else kills)(arguments, Path(folder))
    print(json.dumps(result, indent=1))
    return 1 if result.get("lost") or result.get("different") or result.get("left over") else 0


if __name__ == "__main__":
    sys.exit(main())
