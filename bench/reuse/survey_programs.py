#!/usr/bin/env python3
"""Compiles public CUDA sources for bench/reuse/survey.py, and runs the programs among them to see how their kernels are launched.

    bench/reuse/survey_programs.py --out FOLDER [--record libwarploom_launches.so] [--jobs N] [--arch sm_90] SOURCES...

SOURCES are folders, one a collection. Every .cu that names __shared__ or TempStorage and compiles by itself becomes
FOLDER/COLLECTION/FILE.ptx; folders with a Makefile and names that end in -cuda (HeCBench) are made as that says. With --record
each program, and of a Makefile all that `make run` does, is run for --seconds at most with the recording library; what is seen
becomes FILE.sim beside the PTX.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess

SHARED = re.compile(r"__shared__|TempStorage")
MAIN = re.compile(r"\bint\s+main\s*\(")


def run(command, seconds, **more):
    try:
        return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=seconds, **more).returncode
    except subprocess.TimeoutExpired:
        return 124


def includes_of(root, path):
    """Folders from which sources of such a collection include."""
    found = {path.parent, root, root / "Common", root / "common", root / "include", root / "src", root / "ggml/include",
             root / "ggml/src", root / "3rdparty", root / "common/include", root / "src/common", root / "src/cuda/common"}
    found |= {p for p in path.parents if root in p.parents}
    return [f"-I{p}" for p in sorted(found) if p.is_dir()]


class Survey:
    def __init__(self, options):
        self.o = options
        self.count = {"compiled": 0, "programs": 0, "ran": 0, "did not compile": 0}

    def environment(self, record):
        e = dict(os.environ)
        if self.o.record:
            e |= {"CUDA_INJECTION64_PATH": str(self.o.record), "WARPLOOM_LAUNCHES": str(record)}
        return e

    def file(self, root, path):
        """One .cu by itself."""
        out = self.o.out / root.name
        name = str(path.relative_to(root)).replace("/", "@")
        keep = self.o.out / "keep" / root.name / name
        shutil.rmtree(keep, ignore_errors=True)
        keep.mkdir(parents=True)
        common = ["nvcc", "-arch=" + self.o.arch, "-O3", "-std=c++17", "-w", *includes_of(root, path)]
        program = not self.o.ptx_only and MAIN.search(path.read_text(errors="replace")) is not None
        executable = keep / "program"
        built = program and run([*common, "-keep", "-keep-dir", str(keep), str(path), "-o", str(executable), "-lcublas",
                                 "-lcublasLt", "-lcurand", "-lcufft"], self.o.compile_seconds, cwd=keep) == 0
        if built:
            (out / (name + ".ptx")).write_bytes((keep / (path.stem + ".ptx")).read_bytes())
        elif run([*common, "-ptx", str(path), "-o", str(out / (name + ".ptx"))], self.o.compile_seconds, cwd=keep) != 0:
            self.count["did not compile"] += 1
            return
        self.count["compiled"] += 1
        self.count["programs"] += built
        if built and self.o.record:
            record = out / (name + ".sim")
            self.launch(record, [str(executable)], path.parent)

    def made(self, root, folder):
        """A folder with a Makefile."""
        out = self.o.out / root.name
        keep = folder / "keep"
        keep.mkdir(exist_ok=True)
        made = run(["make", "-C", str(folder), "-k", f"ARCH={self.o.arch}", f"CC=nvcc -w -keep -keep-dir {keep}"],
                   self.o.compile_seconds) == 0
        found = [p for p in keep.glob("*.ptx") if ".shared" in p.read_text(errors="replace")]
        if not found:
            self.count["did not compile"] += 1
            return
        for p in found:
            (out / f"{folder.name}@{p.name}").write_bytes(p.read_bytes())
            self.count["compiled"] += 1
        if not made:
            return
        self.count["programs"] += 1
        if self.o.record:
            record = out / f"{folder.name}.sim"
            self.launch(record, ["make", "-C", str(folder), "-k", "-i", f"ARCH={self.o.arch}",
                                 f"CC=nvcc -w -keep -keep-dir {keep}", f"LAUNCHER=timeout {self.o.seconds}", "run"], folder)

    def launch(self, record, command, folder):
        run(command, self.o.seconds * 2, cwd=folder, env=self.environment(record))
        self.count["ran"] += record.exists() and record.stat().st_size > 0

    def run(self):
        work = []
        for root in self.o.sources:
            (self.o.out / root.name).mkdir(parents=True, exist_ok=True)
            folders = [p.parent for p in sorted(root.rglob("Makefile")) if p.parent.name.endswith("-cuda")]
            for folder in folders:
                texts = [p for p in folder.rglob("*") if p.suffix in (".cu", ".cuh", ".h", ".hpp")]
                if any(SHARED.search(p.read_text(errors="replace")) for p in texts):
                    work.append((self.made, root, folder))
            if folders:
                continue
            for path in sorted(root.rglob("*.cu")):
                if SHARED.search(path.read_text(errors="replace")):
                    work.append((self.file, root, path))
        with concurrent.futures.ThreadPoolExecutor(self.o.jobs) as pool:
            for done in [pool.submit(*w) for w in work]:
                done.result()
        print(self.count, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, type=lambda p: pathlib.Path(p).resolve())
    parser.add_argument("--record", type=lambda p: pathlib.Path(p).resolve())
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--ptx-only", action="store_true", help="no programs; takes less time")
    parser.add_argument("--seconds", type=int, default=6, help="of a program")
    parser.add_argument("--compile-seconds", type=int, default=100)
    parser.add_argument("sources", nargs="+", type=lambda p: pathlib.Path(p).resolve())
    Survey(parser.parse_args()).run()


if __name__ == "__main__":
    main()
