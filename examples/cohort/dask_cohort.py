#!/usr/bin/env python3
"""A cohort by tasks of a Dask cluster. Each is a worker; they share the inputs by claims in the folder of results.

    python dask_cohort.py scheduler:8786 scans masks 'segment {} -o {out}_mask.nii.gz' --workers 8

A task that is lost with its machine is started again, and what it had in work is done by the others. Without an address
(``-``) a cluster of this machine is started. Workers with a GPU each: start them as ``dask worker --resources GPU=1`` and
say ``--gpu``.
"""
import argparse
import sys

import dask.distributed
import warploom


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scheduler", help="its address, as scheduler:8786; -: a cluster of this machine")
    parser.add_argument("inputs", help="a folder")
    parser.add_argument("results", help="a folder that all machines see by this name")
    parser.add_argument("command", help="of the tool, with {} for the input and {out} for the beginning of its results")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--threads", type=int, help="of each worker")
    parser.add_argument("--gpu", action="store_true", help="a worker for each unit of the cluster's resource GPU")
    asked = parser.parse_args()
    address = None if asked.scheduler == "-" else asked.scheduler
    with dask.distributed.Client(address) as client:
        done = warploom.cohort(
            asked.command, asked.inputs, asked.results, workers=asked.workers, threads=asked.threads, client=client,
            submit={"resources": {"GPU": 1}} if asked.gpu else {},
        )
    for item in done.failed:
        print(f"{item.item}: {item.error}", file=sys.stderr)
    print(f"{len(done.items) - len(done.failed)} of {len(done.items)} are done; what became of each: {done.table}")
    return 1 if done.failed else 0


if __name__ == "__main__":
    sys.exit(main())
