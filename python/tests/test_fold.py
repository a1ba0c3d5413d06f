"""warploom.fold: the tool's structures and energies, letter by letter."""

import pickle

import numpy as np
import pytest

import warploom as wl


@pytest.fixture(scope="module")
def sequences():
    rng = np.random.default_rng(7)
    return ["".join(rng.choice(list("ACGU"), n)) for n in (1, 12, 60, 75, 130, 301)] + ["ACGGGAGGGUGGGAGGGAC"]


def told_of(tool, tmp_path, sequences, *options):
    (tmp_path / "s.fa").write_text("".join(f">s{k}\n{s}\n" for k, s in enumerate(sequences)))
    return tool("fold", tmp_path / "s.fa", "--json", *options)["records"]


@pytest.mark.parametrize("options, asked", [
    ([], {}),
    (["-T", "25", "-d", "0"], {"temperature": 25, "dangles": 0}),
    (["--noLP", "--noGU"], {"lonely_pairs": False, "gu": False}),
    (["--noClosingGU", "--max-span", "40"], {"gu_closing": False, "max_span": 40}),
    (["-d", "3"], {"dangles": 3}),
    (["--circ"], {"circular": True}),
    (["-g"], {"quadruplexes": True}),
], ids=["defaults", "temperature", "pairs", "span", "dangles", "circle", "quadruplexes"])
def test_structures_and_energies_are_the_tools(tool, tmp_path, sequences, options, asked):
    told = told_of(tool, tmp_path, sequences, *options)
    found = wl.fold(sequences, **asked)
    assert found.structure.tolist() == [t["structure"] for t in told]
    assert found.energy.dtype == np.float64 and found.energy.tolist() == [t["energy"] for t in told]
    one = wl.fold(np.array(sequences)[4], **asked)
    assert one == (told[4]["structure"], told[4]["energy"])


def test_constraints_are_the_tools(tool, tmp_path, sequences):
    sequences = sequences[2:5]
    constraints = ["x" * 20 + "." * (len(s) - 20) for s in sequences]
    (tmp_path / "c.txt").write_text("\n".join(constraints) + "\n")
    told = told_of(tool, tmp_path, sequences, "--constraint", tmp_path / "c.txt")
    found = wl.fold(np.array(sequences), constraint=constraints)
    assert found.structure.tolist() == [t["structure"] for t in told]
    assert all(structure[:20] == "." * 20 for structure in found.structure)
    assert wl.fold(sequences[0], constraint=constraints[0]).structure == told[0]["structure"]


def test_quadruplexes_are_drawn(sequences):
    with_them, without = wl.fold(sequences[-1], quadruplexes=True), wl.fold(sequences[-1])
    assert with_them.structure.count("+") == 11 and with_them.structure.count("~") == 1 and with_them.energy < without.energy
    scan = wl.fold_windows(sequences[-1] * 2, len(sequences[-1]), 19, structures=True, quadruplexes=True)
    assert scan.structure.tolist() == [with_them.structure] * 2


def test_results_do_not_depend_on_threads(sequences):
    assert wl.fold(sequences[5] * 3, threads=1) == wl.fold(sequences[5] * 3, threads=3)


def test_the_energy_of_a_structure_is_the_sum_of_its_loops(tool, tmp_path, sequences):
    structure, energy = wl.fold(sequences[5])
    (tmp_path / "f.txt").write_text(f"{sequences[5]}\n{structure}\n")
    told = tool("fold", "eval", tmp_path / "f.txt", "--json")["records"][0]
    found = wl.fold_eval(sequences[5], structure)
    assert found.energy == told["energy"] == energy
    assert round(sum(loop.energy for loop in found.loops), 2) == energy
    for loop, of_tool in zip(found.loops, told["loops"], strict=True):
        assert (loop.kind, loop.energy) == (of_tool["kind"], of_tool["energy"])
        closing = of_tool.get("closing")
        assert loop.closing == (tuple(place - 1 for place in closing) if closing else None)
    assert [loop.kind for loop in found.loops].count("exterior") == 1


def test_parameters_of_a_file(tmp_path):
    (tmp_path / "p.par").write_text("## RNAfold parameter file v2.0\n\n# hairpin\nINF INF INF" + " 100" * 28 + "\n")
    stem = "GGGGAAAACCCC"
    assert wl.fold(stem, parameters=tmp_path / "p.par").energy < wl.fold(stem).energy
    with pytest.raises(wl.BadInput, match="none.par"):
        wl.fold(stem, parameters=tmp_path / "none.par")


@pytest.mark.parametrize("arguments, message", [
    (("GGXX-",), "letter"),
    (("",), "empty|no base|1"),
    ((["GGGAAACCC", ""],), "2"),
    ((["GGG", 5],), r"seq\[1\]: a int"),
])
def test_errors_say_where(arguments, message):
    with pytest.raises(wl.BadInput, match=message):
        wl.fold(*arguments)


def test_errors_of_options():
    with pytest.raises(wl.BadInput, match="dangles|-d"):
        wl.fold("GGGAAACCC", dangles=7)
    with pytest.raises(wl.BadInput, match="constraint"):
        wl.fold("GGGAAACCC", constraint=["........."])
    with pytest.raises(wl.BadInput, match="is not closed"):
        wl.fold_eval("GGGAAACCC", "(((...)).")


def test_none_are_none_and_results_pickle():
    none = wl.fold([])
    assert none.structure.shape == none.energy.shape == (0,)
    found = wl.fold("GGGGAAAACCCC")
    assert pickle.loads(pickle.dumps(found)) == found
