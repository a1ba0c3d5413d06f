#!/usr/bin/env python3
"""Compiles public CUDA sources for bench/reuse/survey.py, and runs the programs among them to see how their kernels are launched.

    bench/reuse/survey_programs.py --out FOLDER [--record libwarploom_launches.so] [--jobs N] [--arch sm_90] SOURCES...
    bench/reuse/survey_programs.py --out FOLDER --record libwarploom_launches.so --run-only SOURCES...

SOURCES are folders, one a collection. Every .cu that names __shared__ or TempStorage and compiles by itself becomes
FOLDER/COLLECTION/FILE.ptx; folders with a Makefile and names that end in -cuda (HeCBench) are made as that says. A source with
`main` becomes a program, by itself or with the other sources of its folder. With --record each program, and of a Makefile all
that `make run` does, is run for --seconds at most with the recording library, with the arguments of the script `run` beside it
(Rodinia) or those below; what is seen becomes FILE.sim beside the PTX. --run-only runs programs that were compiled before, on
another machine, say.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess

SHARED = re.compile(r"__shared__|TempStorage")
MAIN = re.compile(r"\bint\s+main\s*\(")
INCLUDED = re.compile(r'#\s*include\s+"([^"]+)"')
SOURCE = {".cu", ".cpp", ".cc", ".c"}
LIBRARIES = ["-lcublas", "-lcublasLt", "-lcurand", "-lcufft", "-lcusparse", "-lcusolver"]
# How programs are started that have neither `run` nor go without arguments: by the end of their folder's path.
ARGUMENTS = {"llm.c/dev/cuda": [[str(k)] for k in range(1, 9)]}


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


def programs_with(path):
    """Lists of sources that may be a program with this one: alone, with the rest of its folder, with a `main` there."""
    texts = {p: p.read_text(errors="replace") for p in sorted(path.parent.iterdir()) if p.suffix in SOURCE}
    included = {pathlib.Path(i).name for text in texts.values() for i in INCLUDED.findall(text)}
    mains = [p for p, text in texts.items() if MAIN.search(text)]
    others = [p for p in texts if p not in mains and p.name not in included and p != path]
    if path in mains:
        return [[path], [path, *others]] if others else [[path]]
    part = [path] if path.name not in included else []
    return [[m, *part, *others] for m in mains[:2] if part or path.name in included]


def arguments_of(folder):
    for end, arguments in ARGUMENTS.items():
        if str(folder).endswith(end):
            return arguments
    for script in (folder / "run", folder.parent / "run"):
        if script.is_file():
            lines = [shlex.split(line, comments=True) for line in script.read_text(errors="replace").splitlines()
                     if re.match(r"\s*[\w./]*/", line)]
            found = [line[1:line.index(">")] if ">" in line else line[1:] for line in lines if line]
            if found:
                return found
    return [[]]


class Survey:
    def __init__(self, options):
        self.o = options
        self.count = {"compiled": 0, "programs": 0, "ran": 0, "did not compile": 0}

    def environment(self, record):
        e = dict(os.environ)
        if self.o.record:
            e |= {"CUDA_INJECTION64_PATH": str(self.o.record), "WARPLOOM_LAUNCHES": str(record)}
        return e

    def compile(self, root, path):
        """One .cu, and the program that it is a part of, if it has one."""
        out = self.o.out / root.name
        name = str(path.relative_to(root)).replace("/", "@")
        keep = self.o.out / "keep" / root.name / name
        shutil.rmtree(keep, ignore_errors=True)
        keep.mkdir(parents=True)
        common = ["nvcc", "-arch=" + self.o.arch, "-O3", "-std=c++17", "-w", *includes_of(root, path)]
        built = False
        for sources in [] if self.o.ptx_only else programs_with(path):
            built = run([*common, "-keep", "-keep-dir", str(keep), *map(str, sources), "-o", str(keep / "program"), *LIBRARIES],
                        self.o.compile_seconds, cwd=keep) == 0
            if built:
                break
        # Of a source that another one includes, the other's: it may not compile alone.
        made = [keep / (p.stem + ".ptx") for p in ([path, sources[0]] if built else [])]
        alone = ["nvcc", "-ptx", str(path), "-o", str(out / (name + ".ptx"))]
        if made and made[0].exists():
            (out / (name + ".ptx")).write_bytes(made[0].read_bytes())
        elif run([*alone, *common[1:]], self.o.compile_seconds, cwd=keep) != 0:
            if not made or not made[1].exists():
                self.count["did not compile"] += 1
                return
            (out / (name + ".ptx")).write_bytes(made[1].read_bytes())
        for rest in keep.glob("*"):
            if rest.name != "program":
                rest.unlink()
        self.count["compiled"] += 1
        self.count["programs"] += built
        if built:
            (keep / "runs.json").write_text(json.dumps({"folder": str(path.parent.relative_to(root)),
                                                        "arguments": arguments_of(path.parent)}))

    def file(self, root, path):
        self.compile(root, path)
        name = str(path.relative_to(root)).replace("/", "@")
        self.run_compiled(root, self.o.out / "keep" / root.name / name)

    def run_compiled(self, root, keep):
        if not self.o.record or not (keep / "runs.json").exists():
            return
        how = json.loads((keep / "runs.json").read_text())
        folder = root / how["folder"]
        record = self.o.out / root.name / (keep.name + ".sim")
        for arguments in how["arguments"]:
            run([str(keep / "program"), *arguments], self.o.seconds, cwd=folder if folder.exists() else keep,
                env=self.environment(record))
        self.count["ran"] += record.exists() and record.stat().st_size > 0

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

    def run_all_compiled(self):
        with concurrent.futures.ThreadPoolExecutor(self.o.jobs) as pool:
            work = [(root, keep) for root in self.o.sources for keep in sorted((self.o.out / "keep" / root.name).glob("*"))]
            for done in [pool.submit(self.run_compiled, *w) for w in work]:
                done.result()
        print(self.count, flush=True)

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
    parser.add_argument("--run-only", action="store_true", help="nothing is compiled")
    parser.add_argument("--seconds", type=int, default=6, help="of a program")
    parser.add_argument("--compile-seconds", type=int, default=100)
    parser.add_argument("sources", nargs="+", type=lambda p: pathlib.Path(p).resolve())
    survey = Survey(parser.parse_args())
    survey.run_all_compiled() if survey.o.run_only else survey.run()


if __name__ == "__main__":
    main()
