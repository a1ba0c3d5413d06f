#!/usr/bin/env python3
"""Simulates reads of real genomes, and compares every count of `warploom table count` with those of KMC 3 and Jellyfish.

    exact.py GENOME.fa... --warploom PROGRAM [--kmc kmc] [--jellyfish jellyfish] [--simulator wgsim | art_illumina]
             [--coverage 60] [--k 21,31,55] [--threads 16] [--scratch DIR] [--out FILE.json]

wgsim's reads have --errors and its default variants (.1 %, 15 % of them indels), art_illumina's those of a HiSeq 2500. Each of
--threads processes simulates its share of a genome's reads with its number as seed. `warploom` writes a database, `table dump`
its text; KMC counts with -ci1 -cs4294967295; texts are sorted and compared byte by byte, and so are the histograms.
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time


def run(words, **more):
    subprocess.run([str(word) for word in words], check=True, stdout=more.pop("stdout", subprocess.DEVNULL),
                   stderr=subprocess.DEVNULL, **more)


def simulate(genome, options, folder):
    bases = sum(len(line.strip()) for line in open(genome) if not line.startswith(">"))

    def part(seed):
        place = folder / f"{genome.stem}.{seed}"
        if "art" in pathlib.Path(options.simulator).name:
            run([options.simulator, "-ss", "HS25", "-i", genome, "-l", 150, "-f", options.coverage / options.threads, "-rs", seed,
                 "-na", "-o", place])
            return [pathlib.Path(f"{place}.fq")]
        pairs = int(bases * options.coverage / 300 / options.threads)
        run([options.simulator, "-e", options.errors, "-N", pairs, "-1", 150, "-2", 150, "-S", seed, genome, f"{place}.1.fq", f"{place}.2.fq"])
        return [pathlib.Path(f"{place}.1.fq"), pathlib.Path(f"{place}.2.fq")]

    reads = folder / f"{genome.stem}.fq"
    with concurrent.futures.ThreadPoolExecutor(options.threads) as pool, open(reads, "wb") as whole:
        for files in pool.map(part, range(1, options.threads + 1)):
            for file in files:
                whole.write(file.read_bytes())
                file.unlink()
    return reads


def digest(path, options, sort=True):
    """SHA-256 of the lines "WORD COUNT", sorted."""
    if sort:
        with open(f"{path}.sorted", "wb") as out:
            run(["sort", "-S", "4G", "--parallel", options.threads, path], stdout=out, env={**os.environ, "LC_ALL": "C"})
        os.replace(f"{path}.sorted", path)
    value = hashlib.sha256()
    with open(path, "rb") as text:
        while piece := text.read(1 << 24):
            value.update(piece.replace(b"\t", b" "))
    return value.hexdigest()


def count(reads, k, options, folder):
    row = {"reads": reads.name, "bytes": reads.stat().st_size, "k": k}
    begin = time.monotonic()
    run([options.warploom, "table", "count", reads, "--kmer", k, "--canonical", "--database", folder / "ours.kmers", "--histogram",
         folder / "ours.histo", "--top", 1, "--threads", options.threads, "--device", "cpu", "--force", "-o", "/dev/null"])
    row["warploom with database"] = round(time.monotonic() - begin, 2)
    row["database bytes"] = (folder / "ours.kmers").stat().st_size
    begin = time.monotonic()
    run([options.warploom, "table", "dump", folder / "ours.kmers", "--form", "blank", "-o", folder / "ours", "--force"])
    row["dump"] = round(time.monotonic() - begin, 2)
    info = json.loads(subprocess.run([options.warploom, "table", "dump", folder / "ours.kmers", "--json"], check=True,
                                     capture_output=True).stdout)
    row["different"], row["total"] = info["different"], info["total"]
    ours = digest(folder / "ours", options, sort=False)
    (folder / "ours").unlink()

    (folder / "tmp").mkdir(exist_ok=True)
    begin = time.monotonic()
    run([options.kmc, f"-k{k}", "-ci1", "-cs4294967295", f"-t{options.threads}", "-m12", reads, folder / "kmc", folder / "tmp"])
    row["kmc"] = round(time.monotonic() - begin, 2)
    row["kmc database bytes"] = sum((folder / f"kmc.kmc_{part}").stat().st_size for part in ("pre", "suf"))
    run([options.kmc + "_dump", folder / "kmc", folder / "theirs"])
    row["equal to KMC"] = digest(folder / "theirs", options) == ours
    begin = time.monotonic()
    run([options.jellyfish, "count", "-m", k, "-C", "-s", "200M", "-c", 32, "-t", options.threads, "-o", folder / "jf", reads])
    row["jellyfish"] = round(time.monotonic() - begin, 2)
    with open(folder / "theirs", "wb") as out:
        run([options.jellyfish, "dump", "-c", folder / "jf"], stdout=out)
    row["equal to Jellyfish"] = digest(folder / "theirs", options) == ours
    histo = subprocess.run([options.jellyfish, "histo", folder / "jf"], capture_output=True, check=True).stdout
    row["histogram equal to Jellyfish's"] = (folder / "ours.histo").read_bytes() == histo
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("genomes", nargs="+", type=pathlib.Path)
    parser.add_argument("--warploom", default="warploom")
    parser.add_argument("--kmc", default="kmc")
    parser.add_argument("--jellyfish", default="jellyfish")
    parser.add_argument("--simulator", default="wgsim")
    parser.add_argument("--coverage", type=float, default=60)
    parser.add_argument("--errors", type=float, default=.02, help="share of misread bases, of wgsim")
    parser.add_argument("--k", default="21,31,55")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--scratch")
    parser.add_argument("--keep", type=pathlib.Path, help="put the reads there")
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    rows = []
    folder = pathlib.Path(tempfile.mkdtemp(dir=options.scratch))
    try:
        for genome in options.genomes:
            reads = simulate(genome, options, folder)
            for k in options.k.split(","):
                rows.append(count(reads, int(k), options, folder))
                print(json.dumps(rows[-1]), flush=True)
                if options.out:
                    result = {"question": "every count equal to KMC 3's and Jellyfish's", "simulator": pathlib.Path(options.simulator).name,
                              "coverage": options.coverage, "errors": options.errors, "rows": rows}
                    options.out.write_text(json.dumps(result, indent=1) + "\n")
            if options.keep:
                shutil.move(reads, options.keep / reads.name)
            else:
                reads.unlink()
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
