#!/usr/bin/env python3
"""How near do structures of least energy come to known ones, ours and RNAfold's?

    archive.py TOOL ArchiveII.csv [--out FILE.json]

The CSV has columns id, sequence and base_pairs (positions counted from 1, pseudoknots among them); the family is what stands before
the id's first '_'. Source: Sloma & Mathews, RNA 22:1808 (2016), as
data/ArchiveII.csv of github sinc-lab/revisiting_xval_rnafolding. A predicted pair is right where the known structure has the same two bases;
of each sequence sensitivity, precision (positive predictive value) and F1, of a family their means. Needs `pip install ViennaRNA`.
"""
import argparse
import csv
import json
import pathlib
import subprocess

import RNA


def pairs_of(structure):
    pairs, stack = set(), []
    for k, letter in enumerate(structure, 1):
        if letter == "(":
            stack.append(k)
        elif letter == ")":
            pairs.add((stack.pop(), k))
    return pairs


def scores(found, known):
    right = len(found & known)
    sensitivity = right / len(known) if known else 0.0
    precision = right / len(found) if found else 0.0
    return sensitivity, precision, 2 * right / (len(found) + len(known)) if found or known else 1.0


def mean(values):
    return sum(values) / len(values)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tool")
    parser.add_argument("csv", type=pathlib.Path)
    parser.add_argument("--most", type=int, default=1_000_000, help="sequences")
    parser.add_argument("--out", type=pathlib.Path)
    args = parser.parse_args()
    with args.csv.open(newline="") as file:
        records = list(csv.DictReader(file))[: args.most]
    fasta = "".join(f">{k}\n{record['sequence']}\n" for k, record in enumerate(records))
    run = subprocess.run([args.tool, "fold", "-", "--json", "--threads", "1"], input=fasta, capture_output=True, text=True, check=True)
    ours = {int(record["name"]): record for record in json.loads(run.stdout)["records"]}
    families, unequal = {}, []
    for k, record in enumerate(records):
        known = {(min(i, j), max(i, j)) for i, j in json.loads(record["base_pairs"])}
        compound = RNA.fold_compound(record["sequence"])
        theirs, energy = compound.mfe()
        if round(100 * energy) != round(100 * ours[k]["energy"]) or round(100 * compound.eval_structure(ours[k]["structure"])) != round(100 * energy):
            unequal.append(record["id"])
        family = families.setdefault(record["id"].split("_")[0], {"lengths": [], "same": 0, "ours": [], "theirs": []})
        family["lengths"].append(len(record["sequence"]))
        family["same"] += theirs == ours[k]["structure"]
        family["ours"].append(scores(pairs_of(ours[k]["structure"]), known))
        family["theirs"].append(scores(pairs_of(theirs), known))
    families = {name: families[name] for name in sorted(families)}
    families["all"] = {key: sum((f[key] for f in families.values()), start=type(next(iter(families.values()))[key])())
                       for key in ("lengths", "same", "ours", "theirs")}
    rows = []
    for name, family in families.items():
        f1 = [(a[2], b[2]) for a, b in zip(family["ours"], family["theirs"])]
        row = {"family": name, "sequences": len(f1), "lengths": [min(family["lengths"]), max(family["lengths"])], "same_structure": family["same"],
               "better": sum(a > b for a, b in f1), "worse": sum(a < b for a, b in f1)}
        for who in ("ours", "theirs"):
            row[who] = dict(zip(("sensitivity", "precision", "f1"), (round(mean(column), 4) for column in zip(*family[who]))))
        rows.append(row)
        print(f"{name} | {row['sequences']} | {row['lengths'][0]} to {row['lengths'][1]} | {row['ours']['f1']:.3f} | {row['theirs']['f1']:.3f} | "
              f"{row['same_structure']} | {row['better']} | {row['worse']}")
    print(len(unequal), "unequal energies")
    if args.out:
        args.out.write_text(json.dumps({"viennarna": RNA.__version__, "data": args.csv.name, "unequal_energies": unequal, "families": rows}, indent=1) + "\n")
    raise SystemExit(1 if unequal else 0)


if __name__ == "__main__":
    main()
