#!/usr/bin/env python3
"""How well and how fast do `warploom register`, greedy and SimpleITK's diffeomorphic demons bring one brain's labels onto another's?

    peers.py --tool build/default/bin/warploom --threads 2 --out peers.json PAIR...

PAIR is NAME=FIXED,MOVING,FIXED_LABELS,MOVING_LABELS. One after the other, in one run: affine and deformable stage from file to
file, wall and processor seconds; labels by nearest neighbour on the fixed grid; Dice of each label that either image has, averaged
over labels; cells of the deformable stage's field with a corner whose determinant is not positive. Needs SimpleITK, picsl-greedy,
nibabel and numpy.
"""
import argparse
import json
import os
import pathlib
import platform
import resource
import subprocess
import sys
import tempfile
import time

import nibabel
import numpy
import SimpleITK as sitk

GREEDY = """
from picsl_greedy import Greedy3D
g = Greedy3D()
g.execute('-a -m NCC 2x2x2 -i {fixed} {moving} -o {out}/a.mat -n 100x50x10 -ia-image-centers -threads {threads}')
g.execute('-m NCC 2x2x2 -i {fixed} {moving} -it {out}/a.mat -o {out}/warp.nii.gz -n {levels} -threads {threads}')
"""
GREEDY_LABELS = """
from picsl_greedy import Greedy3D
Greedy3D().execute('-rf {fixed} -ri NN -rm {labels} {out}/labels.nii.gz -r {out}/warp.nii.gz {out}/a.mat')
"""
DEMONS = """
import SimpleITK as sitk
sitk.ProcessObject.SetGlobalDefaultNumberOfThreads({threads})
read = lambda path: sitk.Cast(sitk.ReadImage(path), sitk.sitkFloat32)
fixed, moving = read('{fixed}'), read('{moving}')
start = sitk.CenteredTransformInitializer(fixed, moving, sitk.AffineTransform(3), sitk.CenteredTransformInitializerFilter.GEOMETRY)
r = sitk.ImageRegistrationMethod()
r.SetMetricAsMattesMutualInformation(32)
r.SetMetricSamplingStrategy(r.REGULAR)
r.SetMetricSamplingPercentage(0.2)
r.SetInterpolator(sitk.sitkLinear)
r.SetOptimizerAsRegularStepGradientDescent(1.0, 1e-4, 200)
r.SetOptimizerScalesFromPhysicalShift()
r.SetShrinkFactorsPerLevel([4, 2, 1])
r.SetSmoothingSigmasPerLevel([2, 1, 0])
r.SetInitialTransform(start, True)
r.Execute(fixed, moving)
moved = sitk.HistogramMatching(sitk.Resample(moving, fixed, start, sitk.sitkLinear), fixed, 128, 10, True)
def shrunk(image, by):
    return sitk.Shrink(sitk.SmoothingRecursiveGaussian(image, by / 2), [by] * 3) if by > 1 else image
field = None
for by, iterations in ((4, 100), (2, 100), (1, 30)):
    f, m = shrunk(fixed, by), shrunk(moved, by)
    d = sitk.DiffeomorphicDemonsRegistrationFilter()
    d.SetNumberOfIterations(iterations)
    d.SetStandardDeviations(1.5)
    if field is None:
        field = sitk.Image(f.GetSize(), sitk.sitkVectorFloat64)
        field.CopyInformation(f)
    else:
        field = sitk.Resample(field, f)
    field = d.Execute(f, m, field)
sitk.WriteImage(sitk.Cast(field, sitk.sitkVectorFloat32), '{out}/warp.nii.gz')
sitk.WriteTransform(start, '{out}/a.tfm')
"""


def timed(command):
    """Wall and processor seconds of a command, children of it included."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.time()
    done = subprocess.run(command, capture_output=True, text=True)
    wall, after = time.time() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        sys.exit(f"{command[:3]}: {done.stderr[-2000:]}")
    return {"wall_s": wall, "processor_s": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime}


def volume(path):
    return numpy.asarray(nibabel.load(path).dataobj).squeeze()


def dice(a, b):
    labels = [k for k in numpy.union1d(a, b) if k != 0]
    return float(numpy.mean([2 * numpy.sum((a == k) & (b == k)) / (numpy.sum(a == k) + numpy.sum(b == k)) for k in labels]))


def folded_cells(path):
    """Of an ITK field: cells with a corner at which the determinant is 0 or less, and the least of all corners."""
    image = sitk.ReadImage(path)
    u = sitk.GetArrayFromImage(image).astype(numpy.float64)  # z, y, x, component [mm, LPS]
    step = numpy.array(image.GetDirection()).reshape(3, 3) * numpy.array(image.GetSpacing())
    edges = []
    for axis, of in ((2, 0), (1, 1), (0, 2)):  # x, y, z
        edges.append(numpy.diff(u, axis=axis) + step[:, of])
    cells = numpy.zeros(tuple(n - 1 for n in u.shape[:3]), bool)
    least = numpy.inf
    volume_of_voxel = numpy.linalg.det(step)
    n = cells.shape
    for cz in (0, 1):
        for cy in (0, 1):
            for cx in (0, 1):
                ex = edges[0][cz:cz + n[0], cy:cy + n[1], :]
                ey = edges[1][cz:cz + n[0], :, cx:cx + n[2]]
                ez = edges[2][:, cy:cy + n[1], cx:cx + n[2]]
                det = numpy.einsum("zyxi,zyxi->zyx", ex, numpy.cross(ey, ez)) / volume_of_voxel
                cells |= det <= 0
                least = min(least, float(det.min()))
    return {"folded_cells": int(cells.sum()), "cells": int(cells.size), "smallest_determinant": least}


def ours(tool, pair, threads, out, more):
    fixed, moving, _, labels = pair
    result = timed([tool, "register", fixed, moving, "--field", f"{out}/warp.nii.gz", "-o", f"{out}/warped.nii.gz", "--report", f"{out}/report.json",
                    "--threads", str(threads), *more])
    subprocess.run([tool, "register", "apply", labels, "--interpolation", "nearest", "--reference", fixed, "-t", f"{out}/warp.nii.gz", "-o", f"{out}/labels.nii.gz"],
                   check=True, capture_output=True)
    report = json.loads(pathlib.Path(f"{out}/report.json").read_text())
    result["stages_s"], result["folding"] = report["seconds"], report["folding"]
    # Another program's reading of our field.
    field = sitk.DisplacementFieldTransform(sitk.Cast(sitk.ReadImage(f"{out}/warp.nii.gz"), sitk.sitkVectorFloat64))
    theirs = sitk.Resample(sitk.ReadImage(labels), sitk.ReadImage(fixed), field, sitk.sitkNearestNeighbor, 0)
    result["labels_unlike_simpleitk"] = int(numpy.sum(sitk.GetArrayFromImage(theirs).T != volume(f"{out}/labels.nii.gz")))
    return result


def greedy(pair, threads, out, levels):
    fixed, moving, _, labels = pair
    result = timed([sys.executable, "-c", GREEDY.format(fixed=fixed, moving=moving, out=out, threads=threads, levels=levels)])
    subprocess.run([sys.executable, "-c", GREEDY_LABELS.format(fixed=fixed, labels=labels, out=out)], check=True, capture_output=True)
    return result


def demons(pair, threads, out):
    fixed, moving, _, labels = pair
    result = timed([sys.executable, "-c", DEMONS.format(fixed=fixed, moving=moving, out=out, threads=threads)])
    chain = sitk.CompositeTransform(3)
    chain.AddTransform(sitk.ReadTransform(f"{out}/a.tfm"))
    chain.AddTransform(sitk.DisplacementFieldTransform(sitk.Cast(sitk.ReadImage(f"{out}/warp.nii.gz"), sitk.sitkVectorFloat64)))
    sitk.WriteImage(sitk.Resample(sitk.ReadImage(labels), sitk.ReadImage(fixed), chain, sitk.sitkNearestNeighbor, 0), f"{out}/labels.nii.gz")
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", required=True)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--levels", default="100x100x20", help="greedy's iterations; ours are its --levels")
    parser.add_argument("--only", default="warploom,greedy,demons")
    parser.add_argument("--out", required=True)
    parser.add_argument("pairs", nargs="+")
    asked = parser.parse_args()
    result = {"machine": platform.processor() or platform.machine(), "threads": asked.threads, "levels": asked.levels,
              "programs": {"SimpleITK": sitk.Version.VersionString()}, "pairs": {}}
    for text in asked.pairs:
        name, files = text.split("=", 1)
        pair = files.split(",")
        fixed_labels = volume(pair[2])
        rows = {"before": {"dice": dice(fixed_labels, volume(pair[3]))} if fixed_labels.shape == volume(pair[3]).shape else {}}
        for program in asked.only.split(","):
            with tempfile.TemporaryDirectory() as out:
                if program == "warploom":
                    row = ours(asked.tool, pair, asked.threads, out, ["--levels", asked.levels.replace("x", ",")])
                elif program == "greedy":
                    row = greedy(pair, asked.threads, out, asked.levels)
                else:
                    row = demons(pair, asked.threads, out)
                row["dice"] = dice(fixed_labels, volume(f"{out}/labels.nii.gz"))
                row["corners"] = folded_cells(f"{out}/warp.nii.gz")
                rows[program] = row
                print(name, program, json.dumps(row), flush=True)
        result["pairs"][name] = rows
        pathlib.Path(asked.out).write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
