#!/usr/bin/env python3
"""How well and how fast do `warploom register`, greedy, SimpleITK's diffeomorphic demons and ANTs' SyN bring one image's labels or landmarks onto another's?

    peers.py --tool build/default/bin/warploom --threads 2 --out peers.json PAIR...

PAIR is NAME=FIXED,MOVING,FIXED_MARKS,MOVING_MARKS, images in two or three dimensions (NIfTI), marks either maps of labels or tables of
points (.csv: x,y,z [mm, LPS], a row of names first). One after the other: affine and deformable stage from file to file, wall and processor
seconds. SimpleITK then applies each program's transforms: labels by nearest neighbour on the fixed grid, Dice of each label that either
image has, averaged over labels; distances of points [mm]; cells of the deformable stage's field with a corner whose determinant is not
positive. Results that OUT has of other programs or pairs stay. Needs SimpleITK, picsl-greedy, antspyx and numpy.
"""
import argparse
import importlib.metadata
import itertools
import json
import os
import pathlib
import platform
import resource
import subprocess
import sys
import tempfile
import time

import numpy
import SimpleITK as sitk

from programs import ANTS, DEMONS, GREEDY


def timed(command, threads):
    """Wall and processor seconds of a command, children of it included."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.time()
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "ITK_GLOBAL_DEFAULT_NUMBER_OF_THREADS": str(threads)})
    wall, after = time.time() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        sys.exit(f"{command[:3]}: {done.stderr[-2000:]}")
    return {"wall_s": wall, "processor_s": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime}


def dice(a, b):
    labels = [k for k in numpy.union1d(a, b) if k != 0]
    return float(numpy.mean([2 * numpy.sum((a == k) & (b == k)) / (numpy.sum(a == k) + numpy.sum(b == k)) for k in labels]))


def folded_cells(path):
    """Of an ITK field: cells with a corner at which the determinant is 0 or less, and the least of all corners."""
    image = sitk.ReadImage(path)
    d = image.GetDimension()
    u = sitk.GetArrayFromImage(image).astype(numpy.float64)  # (z,) y, x, component [mm, LPS]
    step = numpy.array(image.GetDirection()).reshape(d, d) * numpy.array(image.GetSpacing())
    edges = [numpy.diff(u, axis=d - 1 - a) + step[:, a] for a in range(d)]  # along x, y, z
    shape = tuple(n - 1 for n in u.shape[:d])
    cells, least = numpy.zeros(shape, bool), numpy.inf
    for corner in itertools.product((0, 1), repeat=d):  # z, y, x
        at = [edges[a][tuple(slice(0, n) if k == d - 1 - a else slice(corner[k], corner[k] + n) for k, n in enumerate(shape))] for a in range(d)]
        det = (numpy.einsum("zyxi,zyxi->zyx", at[0], numpy.cross(at[1], at[2])) if d == 3 else
               at[0][..., 0] * at[1][..., 1] - at[0][..., 1] * at[1][..., 0]) / numpy.linalg.det(step)
        cells |= det <= 0
        least = min(least, float(det.min()))
    return {"folded_cells": int(cells.sum()), "cells": int(cells.size), "smallest_determinant": least}


def affine_of_greedy(path, d):
    """greedy's matrix is of RAS, ITK's are of LPS."""
    flip = numpy.diag([-1, -1, 1, 1] if d == 3 else [-1, -1, 1])
    matrix = flip @ numpy.loadtxt(path) @ flip
    out = sitk.AffineTransform(d)
    out.SetMatrix(matrix[:d, :d].ravel())
    out.SetTranslation(matrix[:d, d])
    return out


def transform_of(program, out, d):
    """Of points of the fixed image: first the field, then the affine map, which ours has in its field."""
    chain = sitk.CompositeTransform(d)
    if program != "warploom":
        chain.AddTransform(affine_of_greedy(f"{out}/a.mat", d) if program == "greedy" else
                           sitk.ReadTransform(f"{out}/a.tfm" if program == "demons" else f"{out}/a.mat"))
    chain.AddTransform(sitk.DisplacementFieldTransform(sitk.Cast(sitk.ReadImage(f"{out}/warp.nii.gz"), sitk.sitkVectorFloat64)))
    return chain


def score(chain, pair):
    """Dice, or distances of points [mm]; of no transform with None."""
    fixed, _, fixed_marks, moving_marks = pair
    if fixed_marks.endswith(".csv"):
        a, b = (numpy.loadtxt(path, delimiter=",", skiprows=1) for path in (fixed_marks, moving_marks))
        there = numpy.array([chain.TransformPoint(p) for p in a]) if chain else a
        off = numpy.linalg.norm(there - b, axis=1)
        return {"mm": {"mean": float(off.mean()), "median": float(numpy.median(off)), "largest": float(off.max()), "points": len(off)}}
    a, b = (sitk.ReadImage(path) for path in (fixed_marks, moving_marks))
    there = sitk.Resample(b, a, chain or sitk.Transform(), sitk.sitkNearestNeighbor, 0)
    return {"dice": dice(sitk.GetArrayFromImage(a), sitk.GetArrayFromImage(there))}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", required=True)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--levels", default="100x100x20", help="greedy's iterations; ours are its --levels")
    parser.add_argument("--ours", default="", help="options of register, as '--method demons'")
    parser.add_argument("--as", dest="label", default="warploom", help="what register's row is called")
    parser.add_argument("--only", default="warploom,greedy,demons,syn")
    parser.add_argument("--out", required=True)
    parser.add_argument("pairs", nargs="+")
    asked = parser.parse_args()
    result = json.loads(pathlib.Path(asked.out).read_text()) if os.path.exists(asked.out) else {
        "machine": platform.processor() or platform.machine(), "threads": asked.threads, "levels": asked.levels,
        "programs": {"SimpleITK": sitk.Version.VersionString(), "antspyx": importlib.metadata.version("antspyx"),
                     "picsl-greedy": importlib.metadata.version("picsl-greedy")}, "pairs": {}}
    for text in asked.pairs:
        name, files = text.split("=", 1)
        pair = files.split(",")
        rows = result["pairs"].setdefault(name, {"before": score(None, pair)})
        d = sitk.ReadImage(pair[0]).GetDimension()
        for program in asked.only.split(","):
            with tempfile.TemporaryDirectory() as out:
                names = dict(fixed=pair[0], moving=pair[1], out=out, threads=asked.threads, d=d, levels=asked.levels, radius="x".join("2" * d),
                             iterations=(100, 70, 20))
                if program == "warploom":
                    more = asked.ours.split() or ["--levels", asked.levels.replace("x", ",")]
                    row = timed([asked.tool, "register", pair[0], pair[1], "--field", f"{out}/warp.nii.gz", "--report", f"{out}/report.json",
                                 "--threads", str(asked.threads), *more], asked.threads)
                    report = json.loads(pathlib.Path(f"{out}/report.json").read_text())
                    row["options"], row["stages_s"], row["folding"] = more, report["seconds"], report["folding"]
                else:
                    row = timed([sys.executable, "-c", {"greedy": GREEDY, "demons": DEMONS, "syn": ANTS}[program].format(**names)], asked.threads)
                row.update(score(transform_of(program, out, d), pair))
                row["corners"] = folded_cells(f"{out}/warp.nii.gz")
                row["load"] = os.getloadavg()[0]
                rows[asked.label if program == "warploom" else program] = row
                print(name, program, json.dumps(row), flush=True)
        pathlib.Path(asked.out).write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
