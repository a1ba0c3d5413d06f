#!/usr/bin/env python3
"""How well `warploom segment` finds what a published mask has, beside scikit-image and a threshold.

A folder holds NAME.png and NAME_mask.png (not 0: inside) for each image. Of two sides that one counts which agrees
better with the mask, for chan_vese and for the threshold (a Gaussian of one pixel, then Otsu); of warploom the one
that --inside asks for: bright, or dark where the mask's pixels are darker than the rest.

    python3 bench/imaging/segment_quality.py --warploom build/default/bin/warploom FOLDER --json out.json

needs numpy, Pillow and scikit-image. --masks takes masks that were computed elsewhere, FOLDER/NAME.png. --pairs 8 begins
with eight random pairs of means instead, and says how alike the masks are.
"""
import argparse
import json
import pathlib
import subprocess
import tempfile

import numpy as np
from PIL import Image
from skimage.filters import gaussian, threshold_otsu
from skimage.segmentation import chan_vese


def grey(path):
    image = np.array(Image.open(path)).astype(float)
    return image[..., :3] @ [0.2125, 0.7154, 0.0721] if image.ndim == 3 else image


def dice(mask, truth):
    return 2 * (mask & truth).sum() / max(1, mask.sum() + truth.sum())


def better_side(mask, truth):
    return max(dice(mask, truth), dice(~mask, truth))


def mask_of(arguments, image, inside, *more):
    if arguments.masks:
        return np.array(Image.open(arguments.masks / image.name)) > 0
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "mask.png"
        subprocess.run([arguments.warploom, "segment", image, "-o", out, "--inside", inside, "--device", "cpu", "--json", *more],
                       check=True, stdout=subprocess.DEVNULL)
        return np.array(Image.open(out)) > 0


def least_iou(arguments, image, inside, random):
    """Of the masks that random pairs of first means lead to, with the one without."""
    brightness, usual = grey(image), mask_of(arguments, image, inside)
    least = 1
    for _ in range(arguments.pairs):
        low, high = np.sort(random.uniform(brightness.min(), brightness.max(), 2))
        mask = mask_of(arguments, image, inside, f"--means={low:.4f},{high:.4f}")
        least = min(least, (mask & usual).sum() / max(1, (mask | usual).sum()))
    return least


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path, nargs="+")
    parser.add_argument("--warploom", default="warploom")
    parser.add_argument("--masks", type=pathlib.Path, help="a folder of masks that were computed elsewhere")
    parser.add_argument("--pairs", type=int, default=0, help="of random first means, instead of the comparison")
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    rows = []
    for folder in arguments.folder:
        for truth_file in sorted(folder.glob("*_mask.png")):
            name = truth_file.name.removesuffix("_mask.png")
            image, truth = grey(folder / f"{name}.png"), grey(truth_file) > 0
            inside = "dark" if image[truth].mean() < image[~truth].mean() else "bright"
            if arguments.pairs:
                least = least_iou(arguments, folder / f"{name}.png", inside, np.random.default_rng(7))
                rows.append({"image": name, "least_iou": round(float(least), 6)})
                print(f"| {name} | {least:.6f} |", flush=True)
                continue
            scaled = (image - image.min()) / (image.max() - image.min())
            smooth = gaussian(scaled, 1)
            row = {
                "image": name,
                "inside": inside,
                "dice": dice(mask_of(arguments, folder / f"{name}.png", inside), truth),
                "dice_chan_vese": better_side(chan_vese(scaled), truth),
                "dice_gauss_otsu": better_side(smooth > threshold_otsu(smooth), truth),
            }
            row = {key: round(float(value), 4) if key.startswith("dice") else value for key, value in row.items()}
            rows.append(row)
            less = row["dice"] < max(row["dice_chan_vese"], row["dice_gauss_otsu"])
            print(f"| {name} | {row['dice']:.4f} | {row['dice_chan_vese']:.4f} | {row['dice_gauss_otsu']:.4f} | {'less' if less else ''} |",
                  flush=True)
    if arguments.pairs:
        arguments.json and arguments.json.write_text(json.dumps({"pairs": arguments.pairs, "results": rows}, indent=1) + "\n")
        return
    wins = sum(row["dice"] >= max(row["dice_chan_vese"], row["dice_gauss_otsu"]) for row in rows)
    means = {key: round(float(np.mean([row[key] for row in rows])), 4) for key in ("dice", "dice_chan_vese", "dice_gauss_otsu")}
    print(f"at least as good as the better of both on {wins} of {len(rows)}; means {means}")
    if arguments.json:
        arguments.json.write_text(json.dumps({"wins": wins, "images": len(rows), "means": means, "results": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
