#!/usr/bin/env python3
"""Runs kernels of public programs in the simulator, and compares what they compute with NumPy.

The programs are not here. Compile the files that docs/guide/trust-public.md names, host code left out where it
does not compile alone: nvcc -ptx -arch=sm_80 -lineinfo -O3 FILE -o FOLDER/PROGRAM.ptx. Then:

  run.py FOLDER [CASE...] [--warploom build/default/bin/warploom] [--work public-runs]

Cases whose PTX is not in FOLDER are passed over. Those named wild.* are the ones with findings. Exit code 1: a case
that should be clean is not, or differs from NumPy.
"""

import argparse
import json
import pathlib
import shlex
import subprocess
import sys

import numpy as np

from cases import CASES
from harness import outs, write_launch


def run(name, options):
    launch = (options.work / f'{name}.sim').read_text().replace('\\\n', ' ')
    command = [
        str(options.warploom.resolve()),
        'sim',
        f'{name}.ptx',
        *shlex.split(launch),
        '--race',
        '--schedule',
        'all',
    ]
    for k in outs(name):
        command += ['--dump', f'{k}:{name}.{k}.out.npy']
    done = subprocess.run(command + ['--json'], cwd=options.work, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        return f'exit code {done.returncode}: {done.stderr.strip()}', False
    found = json.loads(done.stdout)
    verdict = 'clean' if found['clean'] else 'findings'
    check = CASES[name]['check']
    wrong = None
    if check:
        wrong = check({k: np.load(options.work / f'{name}.{k}.out.npy').reshape(-1) for k in outs(name)})
        verdict += f', differs from NumPy: {wrong}' if wrong else ', as NumPy'
    return verdict, found['clean'] and not wrong


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('folder', type=pathlib.Path, help='holds PROGRAM.ptx')
    parser.add_argument('cases', nargs='*', help='all, if none is named')
    parser.add_argument('--warploom', type=pathlib.Path, default=pathlib.Path('build/default/bin/warploom'))
    parser.add_argument(
        '--work', type=pathlib.Path, default=pathlib.Path('public-runs'), help='for launches and arrays'
    )
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    failed = ran = 0
    for name in options.cases or CASES:
        if not write_launch(name, options.work, options.folder):
            continue
        verdict, good = run(name, options)
        print(f'{name}: {verdict}', flush=True)
        ran += 1
        failed += not good and not name.startswith('wild.')
    print(f'{ran} of {len(CASES)} cases ran, {failed} failed')
    return 1 if failed or not ran else 0


if __name__ == '__main__':
    sys.exit(main())
