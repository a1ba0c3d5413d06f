#!/usr/bin/env python3
"""Ensembles with the options of `fold` beside ViennaRNA's Python package: equality of random sequences.

    python3 bench/fold/ensemble_options.py build/default/bin/warploom --sequences 300 --out FILE.json

Of sequences of 20 to 120 letters, at 37, 25 and 60 C, with dangles 2 and 0: the largest difference of ensemble energies, relative,
and of the probability of a pair, for each option.
"""
import argparse
import json
import pathlib
import random
import subprocess
import tempfile

import RNA


def ours(tool, sequence, constraint, options):
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/s.fa", "w") as file:
            file.write(sequence + "\n")
        if constraint:
            with open(f"{folder}/c.txt", "w") as file:
                file.write(constraint + "\n")
            options = options + ["-C", f"{folder}/c.txt"]
        done = subprocess.run([tool, "fold", f"{folder}/s.fa", "--ensemble", "--cutoff", "0", "--json", "--threads", "1", "--device", "cpu", *options],
                              capture_output=True, text=True)
        records = json.loads(done.stdout)["records"] if done.returncode == 0 else []
        return records[0]["ensemble"] if records else None


def theirs(sequence, constraint, kind, temperature, dangles):
    RNA.cvar.james_rule = 0  # else RNAfold -p takes .8 kcal/mol for a loop of two bases about a quadruplex, its fold 1.0
    details = RNA.md()
    details.temperature, details.dangles = temperature, dangles
    details.circ_alpha0 = 4.385  # RNAfold's; a new RNA.md() of 2.8.0 has 0
    details.circ, details.gquad = int(kind == "circles"), int(kind == "quadruplexes")
    compound = RNA.fold_compound(sequence, details)
    if constraint:
        compound.constraints_add(constraint, RNA.CONSTRAINT_DB_DEFAULT | RNA.CONSTRAINT_DB_ENFORCE_BP)
    structure, least = compound.mfe()
    compound.exp_params_rescale(least)
    _, energy = compound.pf()
    return energy, compound.bpp(), structure


def constraint_for(draw, structure):
    """One that the structure fulfils, and others."""
    partner, open_bases = {}, []
    for k, letter in enumerate(structure):
        if letter == "(":
            open_bases.append(k)
        elif letter == ")":
            partner[k] = open_bases.pop()
            partner[partner[k]] = k
    letters = ["."] * len(structure)
    for k, other in partner.items():
        kind = draw.random()
        if letters[k] != ".":
            continue
        if kind < .15:
            letters[k] = "|"
        elif kind < .22 and k < other and letters[other] == ".":
            letters[k], letters[other] = "(", ")"
    return "".join(letters)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tool")
    parser.add_argument("--sequences", type=int, default=100, help="of each option")
    parser.add_argument("--options", default="enforced constraints,circles,quadruplexes")
    parser.add_argument("--show", type=float, default=1e-6, help="print those that differ by more")
    parser.add_argument("--out")
    asked = parser.parse_args()
    result = {"viennarna": RNA.__version__}
    for kind in asked.options.split(","):
        draw = random.Random(kind)
        energy_off = pair_off = 0
        compared = 0
        for k in range(asked.sequences):
            letters = "GGGGGGAUC" if kind == "quadruplexes" and k % 2 else "ACGU"
            sequence = "".join(draw.choice(letters) for _ in range(draw.randint(20, 120)))
            temperature, dangles = ((37, 2), (37, 0), (25, 2), (60, 2))[k % 4]
            options, constraint = ["-T", str(temperature), "-d", str(dangles)], ""
            if kind == "circles":
                options.append("--circ")
            elif kind == "quadruplexes":
                options.append("-g")
            else:
                model = RNA.md()
                model.temperature = 70
                compound = RNA.fold_compound(sequence, model)
                model.uniq_ML = 1
                compound = RNA.fold_compound(sequence, model)
                compound.pf()
                constraint = constraint_for(draw, compound.pbacktrack())
                options.append("--enforce-constraint")
            mine = ours(asked.tool, sequence, constraint, options)
            energy, pairs, structure = theirs(sequence, constraint, kind, temperature, dangles)
            if mine is None:
                print("refused", sequence, constraint)
                continue
            compared += 1
            off = abs(energy - mine["energy"]) / (1 + abs(energy))
            of_pair = max((abs(pairs[i][j] - p) for i, j, p in mine["pairs"] if not (kind == "quadruplexes" and sequence[i - 1] == sequence[j - 1] == "G")), default=0)
            if max(off, of_pair) > asked.show:
                print(kind, sequence, constraint, structure, temperature, dangles, energy, mine["energy"], off, of_pair)
            energy_off, pair_off = max(energy_off, off), max(pair_off, of_pair)
        result[kind] = {"sequences": compared, "largest difference of energies, relative": energy_off, "largest difference of a probability": pair_off}
    print(json.dumps(result, indent=1))
    if asked.out:
        pathlib.Path(asked.out).write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
