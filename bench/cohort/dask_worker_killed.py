#!/usr/bin/env python3
"""A Dask worker that is killed with the process it runs: is everything done, and the same?

    WARPLOOM_TOOL=build/default/bin/warploom PYTHONPATH=build/default/python bench/cohort/dask_worker_killed.py

segments 60 pictures with one worker that nobody disturbs, and then on a local cluster of two, of which one is killed
(SIGKILL) after a second. Needs `distributed`. Prints one JSON object; exit code 1 if anything is lost, different or left
over.
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time

import distributed
import kills

import warploom


def kill_one(client, killed):
    time.sleep(1)
    victim = next(iter(client.run(os.getpid).values()))
    subprocess.run(["pkill", "-KILL", "-P", str(victim)], check=False)
    os.kill(victim, signal.SIGKILL)
    killed.append(victim)


def results(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*.nii.gz")}


def main():
    scratch = pathlib.Path(tempfile.mkdtemp())
    kills.make_inputs(scratch / "in", 60, 96)
    asked = {"command": "segment {} -o {out}.nii.gz", "inputs": scratch / "in", "device": "cpu", "at_once": 1, "threads": 1}
    warploom.cohort(out=scratch / "reference", **asked)
    killed = []
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, distributed.Client(cluster) as client:
        thread = threading.Thread(target=kill_one, args=(client, killed))
        thread.start()
        done = warploom.cohort(out=scratch / "out", workers=2, client=client, heartbeat=1, **asked)
        thread.join()
    expected, found = results(scratch / "reference"), results(scratch / "out")
    hidden = [str(p.relative_to(scratch)) for p in (scratch / "out").rglob(".*") if p.is_file()]
    told = {"inputs": 60, "workers": 2, "killed": len(killed), "done": sum(item.state == "done" for item in done.items), "failed": len(done.failed),
            "equal": expected == found and len(found) == 60, "left over": hidden}
    print(json.dumps(told, indent=1))
    return 0 if told["equal"] and not hidden and not done.failed else 1


if __name__ == "__main__":
    sys.exit(main())
