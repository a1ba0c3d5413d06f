#!/usr/bin/env python3
"""Compiles the benchmark kernels, rewrites them with `warploom reuse`, and writes the manifest that
gpu_bench_reuse and gpu_test_reuse read.

  gpu_prepare.py --warploom build/warploom --out build/gpu-reuse [--arch sm_90a] [--nvcc nvcc] [--ptxas ptxas]

Variants of each module:
  original   as nvcc wrote it
  rewritten  after `warploom reuse --when always`
  barriers   the original with the rewriter's barriers only (left out where it added none)
  doubled    the original with every barrier twice: more than the paper's one barrier at each point of reuse
"""
import argparse
import pathlib
import re
import subprocess

KERNELS = {  # file: [(kernel, family, tile, block)]
    "curvature3d": [
        ("curvature3d_16x16", "curvature3d", "14,14,1", "16,16,1"),
        ("curvature3d_16x16_stored", "curvature3d", "14,14,1", "16,16,1"),
    ],
    "curvature3d_tiles": [
        ("curvature3d_8x8x8", "curvature3d", "8,8,8", "256,1,1"),
        ("curvature3d_16x16x4", "curvature3d", "16,16,4", "256,1,1"),
        ("curvature3d_16x16x4_stored", "curvature3d", "16,16,4", "256,1,1"),
    ],
    "curvature2d": [("curvature2d_16x16", "curvature2d", "14,14,1", "16,16,1")],
    "registration": [
        ("registration_16x24", "registration", "16,24,1", "16,24,1"),
        ("registration_16x24_reordered", "registration", "16,24,1", "16,24,1"),
    ],
}
BARRIER = re.compile(r"^\s*(bar|barrier)\.(cta\.)?sync\b.*;")


def is_code(line):
    """True for a label or an instruction, which the rewriter keeps in order; not for a directive or comment."""
    text = line.split("//")[0].strip()
    return bool(text) and not text.startswith((".", "{", "}", "(", ")")) and text.endswith((";", ":"))


def with_added_barriers(original, rewritten):
    """The original's lines with the barriers that only the rewritten lines have, and how many those are."""
    theirs = iter([line for line in rewritten if is_code(line)])
    out, added = [], 0
    for line in original:
        if is_code(line):
            other = next(theirs)
            while BARRIER.match(other) and not BARRIER.match(line):
                out.append(other)
                added += 1
                other = next(theirs)
            if other.split()[0] != line.split()[0]:
                raise SystemExit(f"rewritten code is not the original plus barriers: '{line}' became '{other}'")
        out.append(line)
    return out, added


def doubled(original):
    return [copy for line in original for copy in ([line, line] if BARRIER.match(line) else [line])]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--warploom", help="the tool; without it there are no rewritten modules")
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("--arch", default="sm_90a", help="an sm_*a: tiles over 48 KB need it (default sm_90a)")
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--ptxas", default="ptxas")
    parser.add_argument("--nvcc-flags", default="", help="for instance --nvcc-flags='-prec-div=false'")
    parser.add_argument("--reuse-flags", default="--when always")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    sources = pathlib.Path(__file__).resolve().parent / "kernels"

    def run(*command):
        subprocess.run([str(word) for word in command], check=True)

    manifest = []
    for stem, kernels in KERNELS.items():
        original = args.out / f"{stem}.original.ptx"
        run(args.nvcc, "-std=c++17", f"-arch={args.arch}", "-lineinfo", *args.nvcc_flags.split(),
            "-ptx", sources / f"{stem}.cu", "-o", original)
        variants = {"original": original}
        lines = original.read_text().splitlines()

        def write(name, text):
            variants[name] = args.out / f"{stem}.{name}.ptx"
            variants[name].write_text("\n".join(text) + "\n")

        write("doubled", doubled(lines))
        if args.warploom:
            variants["rewritten"] = args.out / f"{stem}.rewritten.ptx"
            run(args.warploom, "reuse", original, "-o", variants["rewritten"], "--force", *args.reuse_flags.split())
            barriers, added = with_added_barriers(lines, variants["rewritten"].read_text().splitlines())
            print(f"{stem}: {added} barriers added")
            if added:
                write("barriers", barriers)
        for path in variants.values():
            run(args.ptxas, f"-arch={args.arch}", path, "-o", path.with_suffix(".cubin"))
        modules = " ".join(f"{name}={path.with_suffix('.cubin').name}" for name, path in variants.items())
        manifest += [f"kernel={k} family={f} tile={t} block={b} {modules}" for k, f, t, b in kernels]
    (args.out / "manifest").write_text("\n".join(manifest) + "\n")
    print(args.out / "manifest")


if __name__ == "__main__":
    main()
