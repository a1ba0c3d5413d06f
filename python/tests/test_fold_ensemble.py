"""warploom.fold_ensemble: the tool's numbers, and slopes by differences."""

import numpy as np
import pytest

import warploom as wl


@pytest.fixture(scope="module")
def sequences():
    rng = np.random.default_rng(8)
    return ["".join(rng.choice(list("ACGU"), n)) for n in (1, 12, 60, 130)]


@pytest.mark.parametrize("options, asked", [
    ([], {}),
    (["-T", "25", "-d", "0"], {"temperature": 25, "dangles": 0}),
    (["--noLP", "--noGU", "--max-span", "40"], {"lonely_pairs": False, "gu": False, "max_span": 40}),
], ids=["defaults", "temperature", "pairs"])
def test_ensembles_are_the_tools(tool, tmp_path, sequences, options, asked):
    (tmp_path / "s.fa").write_text("".join(f">s{k}\n{s}\n" for k, s in enumerate(sequences)))
    told = tool("fold", tmp_path / "s.fa", "--json", "--ensemble", "--gradient", "--gamma", "2", "--samples", "3", *options)["records"]
    found = wl.fold_ensemble(sequences, gamma=2, samples=3, gradient=True, **asked)
    for one, record in zip(found, told, strict=True):
        expected = record["ensemble"]
        assert one.energy == expected["energy"] and one.diversity == expected["diversity"]
        assert one.unpaired.tolist() == expected["unpaired"]
        assert [[i + 1, j + 1, p] for (i, j), p in zip(one.pairs.tolist(), one.probability.tolist(), strict=True)] == expected["pairs"]
        assert (one.centroid, one.mea) == (expected["centroid"]["structure"], expected["mea"]["structure"])
        assert one.samples.tolist() == expected["samples"]
        for name, section in expected["gradient"]["sections"].items():
            flat = np.zeros(one.gradient[name].size)
            for place, value in section["values"]:
                flat[place] = value
            assert list(one.gradient[name].shape) == section["shape"] and one.gradient[name].ravel().tolist() == flat.tolist()
        assert one.gradient["pseudo_stack"].tolist() == expected["gradient"]["stack"]
    alone = wl.fold_ensemble(sequences[2], **asked)
    assert alone.energy == found[2].energy and alone.gradient == {} and alone.samples.size == 0


def test_matrix_and_unpaired_bases_sum_to_one(sequences):
    ensemble = wl.fold_ensemble(sequences[3], cutoff=0)
    matrix = ensemble.matrix()
    assert matrix.shape == (130, 130) and np.array_equal(matrix, matrix.T)
    np.testing.assert_allclose(matrix.sum(1) + ensemble.unpaired, 1, atol=1e-12)
    assert 0 < ensemble.probability_of(wl.fold(sequences[3]).energy) < 1


def test_reactivities_and_constraints(sequences):
    sequence = sequences[2]
    plain, probed = wl.fold_ensemble(sequence), wl.fold_ensemble([sequence], reactivities=[[0.0] * 60], gradient=True)[0]
    stacks = probed.gradient["stack"].sum() - probed.gradient["bulge"][1]  # a bulge of one base pays for the stack over it, too
    assert probed.energy < plain.energy and stacks > 1
    np.testing.assert_allclose(probed.gradient["pseudo_stack"].sum(), 4 * stacks)
    none = wl.fold_ensemble(sequence, constraint="x" * 60)
    assert none.energy == pytest.approx(0, abs=1e-12) and none.pairs.shape == (0, 2)


def test_where_a_circle_is_cut_does_not_matter(sequences):
    whole = wl.fold_ensemble(sequences[3], circular=True)
    turned = wl.fold_ensemble(sequences[3][20:] + sequences[3][:20], circular=True)
    assert turned.energy == pytest.approx(whole.energy, abs=1e-9)
    np.testing.assert_allclose(np.roll(turned.unpaired, 20), whole.unpaired, atol=1e-10)


def test_quadruplexes_are_the_tools(tool, tmp_path):
    sequence = "CAGGAGGAGGAGGAGAAGGGAGGGAGGGAGGG"
    (tmp_path / "s.fa").write_text(sequence + "\n")
    told = tool("fold", tmp_path / "s.fa", "--json", "--ensemble", "-g")["records"][0]["ensemble"]
    found = wl.fold_ensemble(sequence, quadruplexes=True)
    ends, probabilities = zip(*[((i, j), p) for i, j, p in told["quadruplexes"]], strict=True)
    assert (found.quadruplexes + 1).tolist() == [list(one) for one in ends] and found.quadruplex_probability.tolist() == list(probabilities)
    assert found.in_quadruplexes.tolist() == told["in_quadruplexes"] and found.unpaired.tolist() == told["unpaired"]
    assert wl.fold_ensemble(sequence).in_quadruplexes.size == 0


def test_what_has_to_pair_does(sequences):
    forced = wl.fold_ensemble("GGGGAAAACCCC", constraint="|...........", enforce_constraint=True)
    assert forced.unpaired[0] < 1e-12
    with pytest.raises(wl.BadInput, match="no structure"):
        wl.fold_ensemble("GGGGAAAACCCC", constraint="....|.......", enforce_constraint=True)


@pytest.mark.parametrize("asked", [
    {"cutoff": -1}, {"cutoff": float("nan")}, {"gamma": -1}, {"samples": -1}, {"seed": -1}, {"dangles": 1}, {"constraint": "("},
    {"constraint": ["." * 12]}, {"reactivities": [1.0]},
])
def test_what_does_not_fit_is_refused(asked):
    with pytest.raises(wl.BadInput):
        wl.fold_ensemble("GGGGAAAACCCC", **asked)


def test_unpaired_stretches_are_the_tools(tool, tmp_path, sequences):
    (tmp_path / "s.fa").write_text(f">s\n{sequences[3]}\n")
    told = tool("fold", "unpaired", tmp_path / "s.fa", "--json", "-W", "60", "-u", "5", "--max-span", "40")["records"][0]
    found = wl.fold_unpaired(sequences[3], window=60, stretch=5, max_span=40)
    assert found.unpaired.shape == (130, 5) and np.isnan(found.unpaired[2]).tolist() == [False] * 3 + [True] * 2
    assert [[None if np.isnan(p) else p for p in row] for row in found.unpaired.tolist()] == told["unpaired"]
    assert [[i + 1, j + 1, p] for (i, j), p in zip(found.pairs.tolist(), found.probability.tolist(), strict=True)] == told["pairs"]
    whole = wl.fold_unpaired(sequences[3], window=0, stretch=1)
    np.testing.assert_allclose(whole.unpaired[:, 0], wl.fold_ensemble(sequences[3]).unpaired, atol=1e-12)
    for asked in ({"window": -1}, {"stretch": 0}, {"cutoff": 2}, {"dangles": 3}):
        with pytest.raises(wl.BadInput):
            wl.fold_unpaired("GGGAAACCC", **asked)
