import pickle
import types

import numpy as np
import pytest

import warploom as wl


@pytest.fixture(scope="module")
def walk():
    """Three channels, 100 Hz, ten steps and what lies between."""
    rng = np.random.default_rng(1)
    x = np.cumsum(rng.normal(scale=0.05, size=(3, 3000)), axis=1)
    step = np.stack([np.sin(np.linspace(0, k * np.pi, 80)) for k in (2, 3, 5)])
    for at in range(100, 2900, 290):
        x[:, at : at + 80] += 2 * step * (1 + rng.normal(scale=0.02))
    return x.astype(np.float32)


def facts(matches):
    return [(m.first, m.last, m.matched, m.score, m.coverage) for m in matches]


@pytest.mark.parametrize("match", ["auto", "in-place", "free"])
def test_is_the_tools(walk, tool, tmp_path, match):
    np.save(tmp_path / "walk.npy", walk.T)
    told = tool("search", "walk.npy", "walk.npy", "--rate", 100, "--from", 1.0, "--to", 1.8, "--best", 10, "--match", match,
                "--json", cwd=tmp_path)
    found = wl.search(walk, (1.0, 1.8), best=10, fs=100, match=match)
    want = told["recordings"][0]["matches"] if "recordings" in told else told["matches"]
    assert len(want) == len(found) > 0
    for m, t in zip(found, want):
        assert (m.onset, m.duration, m.matched, m.score, m.coverage, m.chance) == (
            t["onset"], t["duration"], t["matched"], t["distance"], t["coverage"], t["chance"])
        assert [(p.query_channel, p.channel, p.offset, p.distance) for p in m.pairs] == [
            (q["query_channel"], q["channel"], q["offset"], q["distance"]) for q in t["pairs"]]


def test_finds_the_steps(walk):
    found = wl.search(walk, walk[:, 100:180], best=10, fs=100)
    assert sorted(round(m.onset, 1) for m in found) == [round(1 + 2.9 * k, 1) for k in range(10)]
    assert found[0].score < 1e-3 and found[0].matched == 3


def test_files_and_arrays_are_the_same(walk, tmp_path):
    np.savetxt(tmp_path / "walk.csv", walk.T, delimiter=",", header="x,y,z", comments="", fmt="%.9g")
    index = wl.Index(tmp_path / "walk.csv", fs=100)
    assert index.channels == ["x", "y", "z"] and index.fs == 100
    np.testing.assert_array_equal(index.samples, walk)
    assert facts(index.find(walk[:, 100:180])) == facts(wl.search(walk, walk[:, 100:180], fs=100))
    assert [p.channel for p in index.find((1.0, 1.8))[0].pairs] == ["x", "y", "z"]


def test_other_libraries_recordings_are_the_same(walk):
    class Raw:
        ch_names, info = ["x", "y", "z"], {"sfreq": 100.0}

        def get_data(self):
            return walk.astype(float)

    record = types.SimpleNamespace(p_signal=walk.T.astype(float), sig_name=["x", "y", "z"], fs=100)
    want = facts(wl.search(walk, walk[:, 100:180], fs=100))
    for recording in (Raw(), record):
        found = wl.search(recording, walk[:, 100:180])
        assert facts(found) == want
        assert found[0].onset == found[0].first / 100


def test_data_frames_with_times(walk):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(walk.T, columns=["x", "y", "z"], index=pandas.to_timedelta(np.arange(3000) * 10, unit="ms"))
    found = wl.search(frame, frame.iloc[100:180])
    assert wl.Index(frame).fs == pytest.approx(100)
    assert facts(found) == facts(wl.search(walk, walk[:, 100:180], fs=100))
    assert found.to_pandas().columns.tolist() == ["onset", "duration", "channels", "score"]
    with pytest.raises(ValueError, match="evenly"):
        wl.search(frame.drop(frame.index[50:60]), frame.iloc[100:180])


def test_profile_is_the_distance_at_each_offset(walk):
    query = walk[:, 100:140]
    found = wl.distance_profile(walk[:, :400], query, band=0.1)
    windows = np.stack([walk[:, t : t + 40] for t in range(361)])
    np.testing.assert_allclose(found, wl.distance_matrix(query[np.newaxis], windows, band=0.1)[0], rtol=1e-4, atol=1e-5)
    assert found.argmin() == 100
    holed = walk[:, :400].copy()
    holed[1, 200] = np.nan
    assert np.isinf(wl.distance_profile(holed, query)[161:201]).all()


def test_names_what_is_wrong(walk):
    with pytest.raises(ValueError, match="longer|samples"):
        wl.search(walk[:, :50], walk[:, :80])
    with pytest.raises(ValueError, match="match"):
        wl.search(walk, walk[:, :80], match="somewhere")
    with pytest.raises(ValueError, match="recording"):
        wl.search(np.zeros((2, 3, 4)), walk)
    with pytest.raises(TypeError, match="samples"):
        pickle.dumps(wl.Index(walk))
    assert pickle.loads(pickle.dumps(wl.search(walk, walk[:, 100:180])[0])).first == 100


def test_other_units_are_noticed_or_given(walk):
    # Accelerations of three axes that show gravity: in g, and in m/s^2.
    recording = 0.1 * walk + np.array([[0.2], [0.1], [1.0]], np.float32)
    query = recording[:, 100:180]
    same = wl.search(recording, query, best=5, fs=100)
    assert same.gains == [1, 1, 1]
    assert wl.search(recording, query, best=5, fs=100, match="free").gains == []
    found = wl.search(9.80665 * recording, query, best=5, fs=100)
    assert found.gains == pytest.approx([9.80665] * 3) and "9.81" in "".join(found.remarks)
    given = wl.search(9.80665 * recording, query, best=5, fs=100, gain=9.80665)
    assert [m.first for m in given] == [m.first for m in found] == [m.first for m in same]
    assert wl.search(9.80665 * recording, query, best=5, fs=100, gain=1).gains == [1, 1, 1]


@pytest.mark.parametrize("gain, options, words", [("twice", {}, "twice"), (0, {}, "1e-12"), (float("nan"), {}, "nan"), (-1, {}, "-1"),
                                                  (2, {"match": "free"}, "shapes alone")])
def test_gains_that_are_none(walk, gain, options, words):
    with pytest.raises(ValueError, match=words):
        wl.search(walk, walk[:, 100:180], gain=gain, **options)
