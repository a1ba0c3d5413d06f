"""warploom.fold_windows and fold_mutants: the tool's numbers, and those of each window and mutant alone."""

import pickle

import numpy as np
import pytest

import warploom as wl


@pytest.fixture(scope="module")
def sequence():
    return "".join(np.random.default_rng(5).choice(list("ACGU"), 150))


def test_windows_are_those_of_each_alone(sequence):
    found = wl.fold_windows(sequence, 60, 7, structures=True, dangles=1)
    assert found.begin.tolist() == list(range(0, 91, 7))
    alone = wl.fold([sequence[k:k + 60] for k in found.begin], dangles=1)
    assert found.energy.dtype == np.float64 and np.array_equal(found.energy, alone.energy)
    assert np.array_equal(found.structure, alone.structure)
    assert found.mean.shape == found.z_score.shape == (0,)
    assert wl.fold_windows(sequence, 60).structure.shape == (0,)


def test_shuffles_are_the_tools(tool, tmp_path, sequence):
    (tmp_path / "s.fa").write_text(f">s\n{sequence}\n")
    for options, asked in (([], {}), (["--shuffle", "mononucleotides", "--seed", "9"], {"shuffle": "mononucleotides", "seed": 9})):
        told = tool("fold", "windows", tmp_path / "s.fa", "-w", "50", "-s", "25", "-r", "20", "--json", *options)["records"][0]
        found = wl.fold_windows(sequence, 50, 25, shuffles=20, threads=2, **asked)
        for of_tool, here in (("energies", found.energy), ("means", found.mean), ("deviations", found.deviation),
                              ("z_scores", found.z_score), ("p_values", found.p_value)):
            assert told[of_tool] == here.tolist()
    np.testing.assert_allclose(found.z_score, (found.energy - found.mean) / found.deviation)


def test_mutants_are_those_of_each_alone(tool, tmp_path):
    wild = "GGGCGAUAGCUCAGUUGGAGAGCGCC"
    found = wl.fold_mutants(wild, structures=True, temperature=25)
    assert found.wild_type == wl.fold(wild, temperature=25)
    alone = wl.fold([wild[:k] + letter + wild[k + 1:] for k in range(len(wild)) for letter in "ACGU"], temperature=25)
    assert np.array_equal(found.energy.ravel(), alone.energy) and np.array_equal(found.structure.ravel(), alone.structure)
    np.testing.assert_allclose(found.change, found.energy - found.wild_type.energy, atol=1e-9)
    (tmp_path / "s.fa").write_text(f">s\n{wild}\n")
    told = tool("fold", "mutants", tmp_path / "s.fa", "--positions", "3,20", "-T", "25", "--json")["records"][0]["mutants"]
    some = wl.fold_mutants(wild, [2, 19], temperature=25)
    assert some.position.tolist() == [2, 19] and some.structure.shape == (0, 4)
    assert [one["energy"] for one in told] == [some.energy[k, "ACGU".index(one["letter"])] for k in (0, 1) for one in told[3 * k:3 * k + 3]]


def test_quadruplexes_are_drawn():
    sequence = "ACGGGAGGGUGGGAGGGAC"
    alone = wl.fold(sequence, quadruplexes=True)
    scan = wl.fold_windows(sequence * 2, 19, 19, structures=True, quadruplexes=True)
    assert scan.structure.tolist() == [alone.structure] * 2 and "+" in alone.structure
    assert wl.fold_mutants(sequence, [0], quadruplexes=True).wild_type == alone


def test_errors_say_where(sequence):
    with pytest.raises(wl.BadInput, match="150 bases, a window 200"):
        wl.fold_windows(sequence, 200)
    with pytest.raises(wl.BadInput, match="shuffle: 'codons'"):
        wl.fold_windows(sequence, shuffle="codons")
    with pytest.raises(wl.BadInput, match="1 shuffles of a window"):
        wl.fold_windows(sequence, shuffles=1)
    for none in ([150], [-1], [3, 3], []):
        with pytest.raises(wl.BadInput, match="position"):
            wl.fold_mutants(sequence, none)


def test_results_pickle():
    found = wl.fold_windows("GGGGAAAACCCCAA", 12)
    again = pickle.loads(pickle.dumps(found))
    assert np.array_equal(again.energy, found.energy)
