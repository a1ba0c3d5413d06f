#!/usr/bin/env python3
"""Question: what does a Python user gain over the package that is usual for a call, and are the results the same?

Fixed: one thread each, arrays in memory, what compiles at its first call has compiled. Timed: processor seconds of whole calls,
in turns, the median of RUNS; a busy machine lengthens them less than wall time.

    OMP_NUM_THREADS=1 NUMBA_NUM_THREADS=1 PYTHONPATH=build/no-cuda/python \
      python bench/python/peers.py SERIES.nii.gz BVAL BVEC GAIT.csv RNA.fa [ROW...] >peers.json

needs aeon, dipy, nibabel, scikit-image, stumpy and ViennaRNA. Rows: distances profile matches segmentation tensors folding
(all).
"""
import json
import platform
import statistics
import sys
import time

import numpy as np

import warploom as wl

RUNS = 5


def in_turns(ours, theirs):
    """Medians of both [s], after a first call of each, whose results are returned."""
    results, times = (ours(), theirs()), ([], [])
    for _ in range(RUNS):
        for call, into in zip((ours, theirs), times):
            begin = time.process_time()
            call()
            into.append(time.process_time() - begin)
    return results, [statistics.median(t) for t in times]


def row(call, rival, input_, times, agreement):
    return {"call": call, "rival": rival, "input": input_, "ours_s": times[0], "rival_s": times[1],
            "ratio": times[1] / times[0], "agreement": agreement}


def distances(recording):
    from aeon.distances import pairwise_distance

    X = np.ascontiguousarray(np.lib.stride_tricks.sliding_window_view(recording[0], 200)[::80])
    m = X.shape[1]
    (ours, theirs), times = in_turns(
        lambda: wl.distance_matrix(X, band=0.1, normalize=False, threads=1),
        lambda: pairwise_distance(X.astype(float), method="dtw", window=0.1, n_jobs=1))
    worst = np.abs(ours.astype(float) ** 2 * m - theirs)[theirs > 0] / theirs[theirs > 0]
    return row("distance_matrix", "aeon pairwise_distance", f"{len(X)} x {m}, band .1", times,
               f"largest relative difference {worst.max():.1e}")


def profile(recording):
    import stumpy

    x, query = recording[0].astype(float), recording[0, 5000:5128].astype(float)
    single = x.astype(np.float32)
    (ours, theirs), times = in_turns(
        lambda: wl.distance_profile(single, query, band=0, threads=1),
        lambda: stumpy.mass(query, x))
    ours = ours * np.sqrt(len(query))
    return row("distance_profile, band=0", "stumpy mass", f"{x.size} samples, query 128", times,
               f"largest difference {np.nanmax(np.abs(ours - theirs)[np.isfinite(theirs)]):.1e}, "
               f"the nearest at {ours.argmin()} and {theirs.argmin()}")


def matches(recording):
    import stumpy

    x, query, best = recording[0].astype(float), recording[0, 5000:5128].astype(float), 20
    single = x.astype(np.float32)[np.newaxis]
    (ours, theirs), times = in_turns(
        lambda: wl.search(single, query[np.newaxis], best=best, band=0, exclusion=0.25, match="in-place", threads=1),
        lambda: stumpy.match(query, x, max_distance=np.inf, max_matches=best))
    mine = [match.pairs[0].offset for match in ours]
    same = sum(any(abs(place - other) <= 1 for other in theirs[:, 1]) for place in mine)
    return row('search, match="in-place", band=0', "stumpy match", f"{x.size} samples, query 128, {best} best", times,
               f"{same} of {len(theirs)} places the same to a sample")


def folding(fasta):
    import RNA

    genome = "".join(line.strip() for line in open(fasta) if not line.startswith(">")).upper().replace("T", "U")
    windows = [genome[k : k + 200] for k in range(0, 60 * 400, 400)]
    (ours, theirs), times = in_turns(lambda: wl.fold(windows, threads=1), lambda: [RNA.fold(window) for window in windows])
    equal = sum(round(energy, 2) == round(other, 2) for energy, (_, other) in zip(ours.energy, theirs))
    return row("fold", "ViennaRNA RNA.fold", f"{len(windows)} windows of 200 bases of SARS-CoV-2", times,
               f"{equal} of {len(windows)} energies equal")


def segmentation():
    from skimage import data
    from skimage.segmentation import chan_vese

    image = data.camera()
    (ours, theirs), times = in_turns(
        lambda: wl.segment(image, method="level-set", inside="start", tol=0, max_num_iter=100, threads=1),
        lambda: chan_vese(image, tol=0, max_num_iter=100))
    return row('segment, method="level-set"', "scikit-image chan_vese", "camera, 512 x 512, 100 iterations", times,
               f"{int((ours.mask != theirs).sum())} of {theirs.size} pixels differ")


def tensors(series, bval, bvec):
    import nibabel
    from dipy.core.gradients import gradient_table
    from dipy.io.gradients import read_bvals_bvecs
    from dipy.reconst.dti import TensorModel

    image = nibabel.load(series)
    bvals, bvecs = read_bvals_bvecs(bval, bvec)
    values = np.asarray(image.dataobj, np.float32)
    data = values.astype(float)
    mask = data[..., bvals < 50].mean(-1) > np.percentile(data[..., bvals < 50].mean(-1), 60)
    table = gradient_table(bvals, bvecs=bvecs, b0_threshold=50)

    def theirs():
        fit = TensorModel(table, fit_method="WLS").fit(data, mask=mask)
        return fit.fa, fit.md

    def ours():
        found = wl.denoise(values, bvals, bvecs, affine=image.affine, mask=mask, series="off", regulariser="none",
                           maps=["fa", "md"], threads=1)
        return found.fa, found.md

    (mine, other), times = in_turns(ours, theirs)
    inside = mask & (mine[0] > 0)
    apart = np.abs(mine[0] - other[0])[inside]
    return row('denoise, series="off", regulariser="none"', "dipy TensorModel (WLS) fit, FA, MD",
               f"{' x '.join(map(str, values.shape))}, {int(mask.sum())} voxels", times,
               f"FA differs by {np.median(apart):.1e} (median), {np.percentile(apart, 99):.1e} (99 %)")


def main(series, bval, bvec, gait, fasta, *asked):
    recording = np.nan_to_num(np.atleast_2d(wl.Index(gait).samples))
    makers = {"distances": lambda: distances(recording), "profile": lambda: profile(recording), "matches": lambda: matches(recording),
              "segmentation": segmentation, "tensors": lambda: tensors(series, bval, bvec), "folding": lambda: folding(fasta)}
    rows = [makers[name]() for name in asked or makers]
    with open("/proc/cpuinfo") as cpu:
        processor = next(line.split(":")[1].strip() for line in cpu if line.startswith("model name"))
    print(json.dumps({"processor": processor, "python": platform.python_version(), "runs": RUNS, "rows": rows}, indent=1))


if __name__ == "__main__":
    main(*sys.argv[1:])
