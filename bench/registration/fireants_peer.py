#!/usr/bin/env python3
"""How fast and how well do FireANTs and `warploom register` deform a pair of labelled images on one GPU, in one run?

    fireants_peer.py --tool build/default/bin/warploom --out fireants.json FIXED MOVING FIXED_LABELS MOVING_LABELS

FireANTs' affine stage, then its GreedyRegistration with local correlation of 5 voxels, fused operations where they are installed, Adam .5:
medians of three after a run to warm up, images in the GPU's memory already. `register` from file to file, five times, in processes of its
own. Labels by the nearest voxel; cells that fold at a corner. Needs fireants, fireants_fused_ops, torch, SimpleITK and numpy.
"""
import argparse
import itertools
import json
import pathlib
import statistics
import subprocess
import tempfile
import time

import numpy
import SimpleITK as sitk
import torch
from fireants.interpolator import fireants_interpolator
from fireants.io import BatchedImages, Image
from fireants.registration.affine import AffineRegistration
from fireants.registration.greedy import GreedyRegistration

SCHEDULES = {"60,60,60,20": ([8, 4, 2, 1], [60, 60, 60, 20]), "200,100,25, its tutorial's": ([4, 2, 1], [200, 100, 25])}


def dice(a, b):
    labels = [k for k in numpy.union1d(a, b) if k != 0]
    return float(numpy.mean([2 * numpy.sum((a == k) & (b == k)) / (numpy.sum(a == k) + numpy.sum(b == k)) for k in labels]))


def folded_cells(places):
    """Of where each voxel leads, [z, y, x, 3] in voxels."""
    edges = [places.diff(dim=2 - axis) for axis in range(3)]
    n = [extent - 1 for extent in places.shape[:3]]
    folded = torch.zeros(n, dtype=torch.bool, device=places.device)
    for corner in itertools.product((0, 1), repeat=3):
        x, y, z = (edges[axis][tuple(slice(0, n[k]) if k == 2 - axis else slice(corner[k], corner[k] + n[k]) for k in range(3))] for axis in range(3))
        folded |= (x * torch.cross(y, z, dim=-1)).sum(-1) <= 0
    return int(folded.sum())


def fireants(fixed, moving, fixed_labels, moving_labels, scales, iterations):
    loss = "fusedcc" if fireants_interpolator.use_ffo else "cc"
    seconds = {"affine_s": [], "deforming_s": []}
    for _ in range(4):
        torch.cuda.synchronize()
        begin = time.time()
        affine = AffineRegistration([4, 2, 1], [200, 100, 50], fixed, moving, optimizer="Adam", optimizer_lr=3e-3, cc_kernel_size=5, loss_type=loss,
                                    progress_bar=False)
        affine.optimize()
        torch.cuda.synchronize()
        seconds["affine_s"].append(time.time() - begin)
        begin = time.time()
        greedy = GreedyRegistration(scales, iterations, fixed, moving, cc_kernel_size=5, loss_type=loss, deformation_type="compositive", smooth_grad_sigma=1,
                                    smooth_warp_sigma=0.5, optimizer="Adam", optimizer_lr=0.5, init_affine=affine.get_affine_matrix().detach(),
                                    progress_bar=False)
        greedy.optimize()
        torch.cuda.synchronize()
        seconds["deforming_s"].append(time.time() - begin)
    with torch.no_grad():
        found = greedy.get_warp_parameters(fixed, moving)
        grid = torch.nn.functional.affine_grid(found["affine"], fixed().shape, align_corners=True) + found["grid"]
        labels = torch.from_numpy(moving_labels.astype(numpy.float32))[None, None].cuda()
        moved = torch.nn.functional.grid_sample(labels, grid, mode="nearest", align_corners=True)[0, 0].cpu().numpy()
        half = torch.tensor([n - 1 for n in moving_labels.shape[::-1]], device="cuda") / 2
        return {**{name: statistics.median(of[1:]) for name, of in seconds.items()}, "fused": loss == "fusedcc",
                "dice": dice(fixed_labels, moved.astype(fixed_labels.dtype)), "folded_cells": folded_cells(grid[0].double() * half)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("files", nargs=4)
    asked = parser.parse_args()
    fixed, moving = (BatchedImages([Image.load_file(path)]) for path in asked.files[:2])
    labels = [sitk.GetArrayFromImage(sitk.ReadImage(path)) for path in asked.files[2:]]
    result = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "fireants": {}, "register": []}
    for name, (scales, iterations) in SCHEDULES.items():
        result["fireants"][name] = fireants(fixed, moving, *labels, scales, iterations)
        print(name, json.dumps(result["fireants"][name]), flush=True)
    torch.cuda.empty_cache()
    with tempfile.TemporaryDirectory() as out:
        for _ in range(5):
            begin = time.time()
            subprocess.run([asked.tool, "register", *asked.files[:2], "--field", f"{out}/w.nii", "-o", f"{out}/o.nii", "--report", f"{out}/r.json",
                            "--device", "cuda", "--force", "-q"], check=True)
            report = json.loads(pathlib.Path(f"{out}/r.json").read_text())
            result["register"].append({"wall_s": time.time() - begin, "stages_s": report["seconds"], "folding": report["folding"]})
        subprocess.run([asked.tool, "register", "apply", asked.files[3], "--interpolation", "nearest", "--reference", asked.files[0], "-t", f"{out}/w.nii", "-o",
                        f"{out}/l.nii", "-q"], check=True)
        result["register_dice"] = dice(labels[0], sitk.GetArrayFromImage(sitk.ReadImage(f"{out}/l.nii")))
    pathlib.Path(asked.out).write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result))


if __name__ == "__main__":
    main()
