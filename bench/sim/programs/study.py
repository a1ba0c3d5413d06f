#!/usr/bin/env python3
"""Programs of others in the simulator and on a GPU: the same results, and faults planted in their kernels.

    study.py --cutlass DIR --flash-attention DIR --ggml DIR --cuda-samples DIR --build build/default --work DIR
             [--gpu DIR] [--faults N] [--json FILE]

CUTLASS (warp-specialised products for compute capability 9.0, tensor copies with multicast), FlashAttention-2's forward
kernel, ggml's quantised products and two of NVIDIA's CUDA samples. Nothing of theirs is here: the folders hold what their repositories hold. Each program
is compiled with nvcc once; WORK/NAME.o, linked with libcudart and run on a GPU with PROGRAM_RESULTS=DIR, leaves there what
--gpu compares with. Linked with runtime.cpp, it runs in the simulator.

--faults N: of each kind of line that orders memory, N are left out one by one (a wait holds at once), or wait for the other
phase, and the race detector is to find it. A line whose loss is not found is listed, with the results that change without it:
where none does, nothing may need the line.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
# Three faults of globalToShmemAsyncCopy that the simulator finds. A thread of each row of the block initialises the barrier ("an
# mbarrier that is in use"); five tiles are under way in four buffers ("memory that nobody wrote", the copy into a buffer that is
# still to be read); no barrier lies between who reads a buffer and who copies into it next.
MENDED = [("if (threadIdx.x == 0) {\n        init(&bar", "if (threadIdx.x == 0 && threadIdx.y == 0) {\n        init(&bar"),
          ("aStage <= a + aStep * maxPipelineStages", "aStage < a + aStep * maxPipelineStages"),
          ("// Don't have to synchronize because maxPipelineStages is greater than one", "__syncthreads();  //")]
# What the kernels as they are do: rows of queries beyond the last are computed from shared memory that nobody wrote, a branch
# depends on them, and nothing of it is stored.
# ggml's mul_mat_f exchanges values within a warp through shared memory without a __syncwarp(), which PTX does not order;
# the copy that is compiled has one before and behind each load of a matrix.
KNOWN = [("flash_attention", "read of uninitialised memory", "softmax.h:179")]
TYPES = {"f16": np.float16, "f32": np.float32, "i32": np.int32}
# Of the greatest value: exponentials are approximate functions, sums of quantised products go over floats.
BOUNDS = {"attention": 2**-10, "q4": 2**-20, "q8": 2**-20}


def programs(options):
    torch = ["-std=c++17", f"-I{HERE}/stubs", f"-I{options.flash_attention}/csrc/flash_attn/src", f"-I{options.cutlass}/include",
             "--expt-relaxed-constexpr", "--expt-extended-lambda"]
    torch += [f"-DFLASHATTENTION_DISABLE_{what}" for what in ("ALIBI", "SOFTCAP", "LOCAL", "UNEVEN_K")]
    cutlass = ["-std=c++17", f"-I{options.cutlass}/include", f"-I{options.cutlass}/tools/util/include", "--expt-relaxed-constexpr"]
    ggml = ["-std=c++20", f"-I{options.work}", "--expt-relaxed-constexpr", "--extended-lambda", "-use_fast_math"]
    ggml += [f"-I{options.ggml}/{folder}" for folder in ("include", "src", "src/ggml-cuda")]
    for part, name in enumerate(("cutlass_f16", "cutlass_bf16", "cutlass_e4m3", "cutlass_s8"), 1):
        yield name, "cutlass_sm90.cu", "90a", cutlass + [f"-DPART={part}"]
    yield "flash_attention", "flash_attention.cu", "80", torch
    yield "ggml_products", "ggml_products.cu", "80", ggml
    yield "cuda_samples", "cuda_samples.cu", "80", ["-std=c++17", f"-I{options.work}", f"-I{options.cuda_samples}/Common"]


def cut(source, before, copy, mend=()):
    """The part of a file that we compile: kernels, not what else their programs have."""
    text = source.read_text()
    text = text[:text.index(before)]
    for wrong, right in mend:
        assert wrong in text, source
        text = text.replace(wrong, right)
    copy.write_text(text)


def build(options, name, source, architecture, flags):
    object_file, program = options.work / f"{name}.o", options.work / name
    if not object_file.exists():
        if name == "ggml_products":
            cut(options.ggml / "src/ggml-cuda/mmvq.cu", "static void mul_mat_vec_q_switch_type(", options.work / "mmvq_part.cuh")
            products = (options.ggml / "src/ggml-cuda/mmf.cuh").read_text()
            (options.work / "mmf.cuh").write_text(re.sub(r"(load_ldmatrix\([^;]*tile_xy[^;]*;)",
                                                         r"{ __syncwarp(); \1 __syncwarp(); }", products))
        if name == "cuda_samples":
            samples = options.cuda_samples / "Samples"
            cut(samples / "3_CUDA_Features/globalToShmemAsyncCopy/globalToShmemAsyncCopy.cu", "void ConstantInit(",
                options.work / "copies.cuh", MENDED)
            cut(samples / "0_Introduction/simpleAWBarrier/simpleAWBarrier.cu", "int runNormVecByDotProductAWBarrier(",
                options.work / "barrier.cuh")
        subprocess.run(["nvcc", "-O3", "-lineinfo", "-w", "--compress-mode=none", f"-I{HERE}", *flags, "-gencode",
                        f"arch=compute_{architecture},code=[compute_{architecture}]", "-c", HERE / source, "-o", object_file],
                       check=True)
    runtime = options.work / "runtime.o"
    if not runtime.exists():
        subprocess.run(["c++", "-std=c++20", "-O2", f"-I{ROOT}/include", "-isystem", f"{ROOT}/third_party/fmt",
                        "-I/usr/local/cuda/include", "-c", HERE / "runtime.cpp", "-o", runtime], check=True)
    libraries = [options.build / f"src/{module}/libwarploom_{module}.a" for module in ("sim", "ptx", "core")]
    subprocess.run(["c++", "-o", program, object_file, runtime, *libraries, "-lz", "-lpthread", "-ldl"], check=True)
    return program


def simulate(options, program, results, races=False, ptx=None):
    """The launches with what was found, seconds of processor time, and what the program said; None: it was stopped."""
    results.mkdir(parents=True, exist_ok=True)
    report = results / "report.json"
    report.unlink(missing_ok=True)
    environment = dict(os.environ, PROGRAM_RESULTS=str(results), WARPLOOM_SIM_REPORT=str(report))
    if races:
        environment["WARPLOOM_SIM_RACES"] = "1"
    if ptx is not None:
        environment.update(WARPLOOM_SIM_PTX=str(ptx), WARPLOOM_SIM_MOST="500000000")
    run = subprocess.run([program], env=environment, capture_output=True, text=True, timeout=600)
    if run.returncode not in (0, 1):
        raise SystemExit(f"{program}: {run.stderr}")
    return json.loads(report.read_text())


def compare(here, there, name):
    """Bits that differ, and how far the most different elements are apart."""
    figures = []
    for path in sorted(here.glob("*.*")):
        if path.suffix[1:] not in TYPES:
            continue
        a = np.fromfile(path, TYPES[path.suffix[1:]])
        b = np.fromfile(there / path.name, TYPES[path.suffix[1:]])
        assert a.size == b.size, path
        off = np.abs(a.astype(np.float64) - b.astype(np.float64)).max() / max(np.abs(b.astype(np.float64)).max(), 1e-300)
        bound = next((value for start, value in BOUNDS.items() if path.name.startswith(start)), 0.0)
        figures.append({"result": path.stem, "elements": int(a.size), "differing": int((a.view(np.uint8).reshape(a.size, -1)
                        != b.view(np.uint8).reshape(a.size, -1)).any(1).sum()), "largest_difference": float(off),
                        "bound": bound, "agrees": bool(off <= bound)})
    assert figures, (here, name)
    return figures


ORDERS = re.compile(r"^\s*(?:@!?%?\w+ )?(bar\.sync|barrier\.sync|barrier\.cluster\.\w+|cp\.async\.wait_group|cp\.async\.wait_all"
                    r"|cp\.async\.bulk\.wait_group|wgmma\.wait_group|wgmma\.fence|fence\.proxy\.async|mbarrier\.try_wait)")


def differing(here, there):
    """Results whose bytes are not the same."""
    return [path.name for path in sorted(there.glob("*.*")) if path.suffix[1:] in TYPES
            and path.read_bytes() != (here / path.name).read_bytes()]


def faults(text, launched):
    """(what, line number, changed text) of each line that orders memory, in the kernels that are launched."""
    lines = text.split("\n")
    inside = False
    for at, line in enumerate(lines):
        if ".entry " in line:
            inside = any(name in line for name in launched)
        found = ORDERS.match(line)
        if not found or not inside:
            continue
        what = found.group(1)
        changed = list(lines)
        if what == "mbarrier.try_wait":
            wait = re.match(r"^\s*(mbarrier\.try_wait\.parity\.\S+) (\S+), (\[[^]]*\]), ([^,;]+)(.*)$", line)
            if not wait:
                continue
            name, predicate, address, parity, rest = wait.groups()
            changed[at] = f"setp.eq.u32 {predicate}, 0, 0;"
            yield "wait for an mbarrier left out", at + 1, "\n".join(changed)
            changed[at] = (f"{{ .reg .b32 %other; xor.b32 %other, {parity}, 1; {name} {predicate}, {address}, %other{rest} }}")
            yield "wrong phase of an mbarrier", at + 1, "\n".join(changed)
            continue
        changed[at] = "// " + line
        yield what + " left out", at + 1, "\n".join(changed)


def plant(options, name, program):
    path = options.work / f"{name}.ptx"
    subprocess.run([program], env=dict(os.environ, WARPLOOM_SIM_WRITE_PTX=str(path)), check=True, capture_output=True)
    changed = options.work / f"{name}.changed.ptx"
    place = lambda finding: (finding["kind"], finding["ptx_line"], finding["other_ptx_line"])
    launches = simulate(options, program, options.work / "changed" / name, races=True)
    before = {place(finding) for launch in launches for finding in launch["findings"]}
    good = options.work / "results" / name
    kinds, unseen = {}, []
    every = {}
    for what, line, text in faults(path.read_text(), {launch["kernel"] for launch in launches}):
        every.setdefault(what, []).append((line, text))
    # Lines that no thread comes to say nothing: a trap in their place would be found.
    reached = {}

    def comes_to(line):
        if line not in reached:
            lines = path.read_text().split("\n")
            lines[line - 1] = "trap;"
            changed.write_text("\n".join(lines))
            report = simulate(options, program, options.work / "changed" / name, ptx=changed)
            reached[line] = any(finding["kind"] == "trap" for launch in report for finding in launch["findings"])
        return reached[line]

    for what, places in every.items():
        places = [place for place in places if comes_to(place[0])]
        step = max(1, len(places) // options.faults)
        if not places:
            continue
        there = kinds.setdefault(what, {"lines_reached": len(places), "tried": 0, "found": 0, "examples": []})
        for line, text in places[::step][:options.faults]:
            changed.write_text(text)
            try:
                report = simulate(options, program, options.work / "changed" / name, races=True, ptx=changed)
            except (subprocess.TimeoutExpired, SystemExit):
                report = []
            findings = [finding for launch in report for finding in launch["findings"] if place(finding) not in before]
            there["tried"] += 1
            there["found"] += bool(findings)
            if findings and len(there["examples"]) < 2:
                there["examples"].append({"line": line, "found": [findings[0]["kind"], findings[0]["ptx_line"],
                                                                  findings[0]["other_ptx_line"]]})
            if not findings:
                changes = differing(options.work / "changed" / name, good) if report else ["it did not end"]
                unseen.append({"line": line, "fault": what, "instruction": path.read_text().split(chr(10))[line - 1].strip(),
                               "results_that_change": changes})
    return kinds, unseen


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for folder in ("cutlass", "flash-attention", "ggml", "cuda-samples", "build", "work"):
        parser.add_argument(f"--{folder}", type=lambda text: pathlib.Path(text).resolve(), required=True)
    parser.add_argument("--gpu", type=pathlib.Path, help="results of the same programs on a GPU")
    parser.add_argument("--faults", type=int, default=0, help="lines of each kind")
    parser.add_argument("--only", nargs="*", help="programs")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    figures, good = [], True
    for name, source, architecture, flags in programs(options):
        if options.only and name not in options.only:
            continue
        program = build(options, name, source, architecture, flags)
        results = options.work / "results" / name
        launches = simulate(options, program, results, races=True)
        findings = [finding for launch in launches for finding in launch["findings"]]
        figure = {"program": name, "launches": len(launches), "findings": [f["text"] for f in findings],
                  "thread_instructions": sum(launch["thread_instructions"] for launch in launches)}
        if options.gpu:
            figure["beside_gpu"] = compare(results, options.gpu, name)
            good &= all(result["agrees"] for result in figure["beside_gpu"])
        if options.faults:
            figure["faults"], figure["unseen"] = plant(options, name, program)
        good &= all(any(name == program and f["kind"] == kind and place in f["text"] for program, kind, place in KNOWN)
                    for f in findings)
        figures.append(figure)
        print(json.dumps(figure, indent=1), flush=True)
        if options.json:
            document = {"device": (options.gpu / "device.txt").read_text().strip() if options.gpu else None, "programs": figures}
            options.json.write_text(json.dumps(document, indent=1) + "\n")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
