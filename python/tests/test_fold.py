"""warploom.fold: the tool's structures and energies, letter by letter."""

import pickle

import numpy as np
import pytest

import warploom as wl


@pytest.fixture(scope="module")
def sequences():
    rng = np.random.default_rng(7)
    return ["".join(rng.choice(list("ACGU"), n)) for n in (1, 12, 60, 75, 130, 301)]


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


@pytest.mark.parametrize("method, words", [
    ("D", []), ("Dm2.1b-0.3", ["--shape-method=Dm2.1b-0.3"]), ("Zb0.6", ["--shape-method=Zb0.6", "--shape-conversion=L"]),
])
def test_reactivities_are_the_tools(tool, tmp_path, sequences, method, words):
    sequences = sequences[2:5]
    rng = np.random.default_rng(3)
    reactivities = [np.where(rng.random(len(s)) < 0.2, np.nan, np.round(rng.random(len(s)), 3)) for s in sequences]
    found = wl.fold(sequences, reactivities=reactivities, shape_method=method, shape_conversion="L")
    for k, (sequence, values) in enumerate(zip(sequences, reactivities, strict=True)):
        (tmp_path / "r.dat").write_text("".join(f"{i} {-1 if np.isnan(r) else r}\n" for i, r in enumerate(values, 1)))
        told = told_of(tool, tmp_path, [sequence], "--shape", tmp_path / "r.dat", *words)[0]
        assert (found.structure[k], found.energy[k]) == (told["structure"], told["energy"])
        assert wl.fold(sequence, reactivities=values, shape_method=method, shape_conversion="L") == (told["structure"], told["energy"])
        assert wl.fold_eval(sequence, told["structure"], reactivities=values, shape_method=method,
                            shape_conversion="L").energy == told["energy"]


@pytest.mark.parametrize("options, asked", [
    ([], {}), (["--circ", "-d", "0"], {"circular": True, "dangles": 0}), (["--noLP", "-T", "50"], {"lonely_pairs": False, "temperature": 50}),
], ids=["defaults", "circle", "pairs"])
def test_suboptimal_structures_are_the_tools(tool, tmp_path, sequences, options, asked):
    told = told_of(tool, tmp_path, [sequences[2]], "--suboptimal", "2.5", "--sorted", *options)[0]
    found = wl.fold_suboptimal(sequences[2], 2.5, **asked)
    assert found.structure.tolist() == [s["structure"] for s in told["structures"]]
    assert found.energy.tolist() == [s["energy"] for s in told["structures"]]
    assert found.complete and len(found.energy) > 1
    some = wl.fold_suboptimal(sequences[2], 2.5, most=1, **asked)
    assert len(some.structure) == 1 and not some.complete


def test_enforced_constraints_hold():
    assert wl.fold("GGGGAAAACCCC", constraint="(.......)...", enforce_constraint=True).structure == "(.......)..."
    assert wl.fold_suboptimal("GGGGAAAACCCC", 0, constraint="(.......)...", enforce_constraint=True).structure.tolist() == ["(.......)..."]
    with pytest.raises(wl.BadInput, match="no structure"):
        wl.fold("AAAAAAAA", constraint="|.......", enforce_constraint=True)


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
    ((["GGG", 5],), r"seq\[1\]: "),
])
def test_errors_say_where(arguments, message):
    with pytest.raises(wl.BadInput, match=message):
        wl.fold(*arguments)


def test_errors_of_options():
    with pytest.raises(wl.BadInput, match="dangles|-d"):
        wl.fold("GGGAAACCC", dangles=7)
    with pytest.raises(wl.BadInput, match="constraint"):
        wl.fold("GGGAAACCC", constraint=["........."])
    for wrong, message in [({"shape_method": "Q"}, "shape_method"), ({"reactivities": [[1.0]]}, "dimensions"), ({"reactivities": [0.5]}, "1 bases")]:
        with pytest.raises(wl.BadInput, match=message):
            wl.fold("GGGAAACCC", **{"reactivities": [0.5] * 9, **wrong})
    with pytest.raises(wl.BadInput, match="1 arrays of 2"):
        wl.fold(["GGGAAACCC", "GGGAAACCC"], reactivities=[[0.5] * 9])
    for delta in (-1, float("nan"), 1e9):
        with pytest.raises(wl.BadInput, match="delta"):
            wl.fold_suboptimal("GGGAAACCC", delta)
    with pytest.raises(wl.BadInput, match="dangles"):
        wl.fold_suboptimal("GGGAAACCC", 1, dangles=3)
    with pytest.raises(wl.BadInput, match="quadruplexes"):
        wl.fold("GGGAAACCC", dangles=3, quadruplexes=True)
    with pytest.raises(wl.BadInput, match="is not closed"):
        wl.fold_eval("GGGAAACCC", "(((...)).")


def test_none_are_none_and_results_pickle():
    none = wl.fold([])
    assert none.structure.shape == none.energy.shape == (0,)
    found = wl.fold("GGGGAAAACCCC")
    assert pickle.loads(pickle.dumps(found)) == found
