#!/usr/bin/env python3
"""Are images that change places mapped by the inverse, and an image onto itself by the identity?

    consistency.py --tool build/default/bin/warploom --threads 2 --out consistency.json NAME=A,B...

`register A B` and `register B A` [options], each on its own, then both maps one after the other: how far points of A are from where they began,
where A is not 0, in voxels; the same of `register A A`. Needs nibabel and numpy.
"""
import argparse
import json
import pathlib
import subprocess
import tempfile

import nibabel
import numpy


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", required=True)
    parser.add_argument("--threads", default="2")
    parser.add_argument("--options", default="", help="of register")
    parser.add_argument("--out", required=True)
    parser.add_argument("pairs", nargs="+")
    asked = parser.parse_args()
    result = {"options": asked.options, "pairs": {}}
    with tempfile.TemporaryDirectory() as folder:
        def run(*arguments):
            subprocess.run([asked.tool, "register", *arguments, "--force"], check=True, capture_output=True)

        def register(fixed, moving, field):
            run(fixed, moving, "--field", f"{folder}/{field}.nii.gz", "--threads", asked.threads, *asked.options.split())

        for text in asked.pairs:
            name, files = text.split("=", 1)
            a, b = files.split(",")
            image = nibabel.load(a)
            voxel = numpy.linalg.norm(image.affine[:3, :3], axis=0).min()
            inside = image.get_fdata().squeeze() != 0
            register(a, b, "there"), register(b, a, "back"), register(a, a, "same")
            run("apply", "--reference", a, "-t", f"{folder}/there.nii.gz", "-t", f"{folder}/back.nii.gz", "--composed", f"{folder}/both.nii.gz")
            rows = {}
            for what, field in (("there and back", "both"), ("the moving image's way", "there"), ("onto itself", "same")):
                length = numpy.linalg.norm(nibabel.load(f"{folder}/{field}.nii.gz").get_fdata().squeeze(), axis=-1)[inside] / voxel
                rows[what] = {"mean_voxels": float(length.mean()), "99_percent_voxels": float(numpy.quantile(length, 0.99)), "largest_voxels": float(length.max())}
            result["pairs"][name] = rows
            print(name, json.dumps(rows), flush=True)
            pathlib.Path(asked.out).write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
