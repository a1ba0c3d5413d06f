#!/usr/bin/env python3
"""What does it cost to warp all labels of an image, and are they greedy's?

    label_peers.py WARPLOOM > register_labels.json

139 made-up labels on 128 x 150 x 128 voxels, a smooth random field of up to 6 mm, two threads: `warploom register apply --labels`
from file to file, and greedy's `-ri LABEL`, with a width that is next to nothing. Processor time is the steadier figure. Where a
voxel leads beyond the outermost voxels' centres the two have different rules, so those are counted apart. Needs picsl-greedy,
SimpleITK and numpy.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np
import SimpleITK as sitk

SIZE = (128, 150, 128)


def write_scene(at):
    z, y, x = np.indices(SIZE[::-1])
    sitk.WriteImage(sitk.GetImageFromArray(((x // 8 + 7 * (y // 8) + 31 * (z // 8)) % 139).astype(np.int16)),
                    str(at / "labels.nii.gz"))
    noise = np.random.default_rng(2).normal(size=SIZE[::-1] + (3,)).astype(np.float32)
    smooth = sitk.SmoothingRecursiveGaussian(sitk.GetImageFromArray(noise, isVector=True), 6.0)
    values = sitk.GetArrayFromImage(smooth)
    sitk.WriteImage(sitk.GetImageFromArray((values * 6 / np.abs(values).max()).astype(np.float32), isVector=True),
                    str(at / "warp.nii.gz"))
    return values * 6 / np.abs(values).max()


def timed(command, at):
    before, begin = os.times(), time.time()
    subprocess.run(command, cwd=at, check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    return {"seconds": round(time.time() - begin, 3),
            "user_seconds": round(after.children_user - before.children_user, 3)}


def main(warploom):
    with tempfile.TemporaryDirectory() as folder:
        at = pathlib.Path(folder)
        field = write_scene(at)
        ours = timed([warploom, "register", "apply", "labels.nii.gz", "--labels", "-t", "warp.nii.gz", "-o",
                      "ours.nii.gz", "--threads", "2"], at)
        greedy = timed([sys.executable, "-c", "from picsl_greedy import Greedy3D; Greedy3D().execute("
                        "'-rf labels.nii.gz -ri LABEL 0.0001vox -rm labels.nii.gz greedy.nii.gz "
                        "-r warp.nii.gz -threads 2')"], at)
        a, b = (sitk.GetArrayFromImage(sitk.ReadImage(str(at / f"{name}.nii.gz"))) for name in ("ours", "greedy"))
    z, y, x = np.indices(a.shape)
    to = np.stack([x, y, z], -1) + field
    within = ((to >= 0) & (to <= np.array(SIZE) - 1)).all(-1)
    print(json.dumps({"size": SIZE, "labels": 139, "threads": 2, "warploom": ours, "greedy": greedy,
                      "within": {"voxels": int(within.sum()), "differ": int(((a != b) & within).sum())},
                      "beyond": {"voxels": int((~within).sum()), "differ": int(((a != b) & ~within).sum())}}, indent=1))


main(str(pathlib.Path(sys.argv[1]).resolve()))
