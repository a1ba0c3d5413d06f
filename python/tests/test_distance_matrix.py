import numpy as np
import pytest

import warploom as wl


def dtw(a, b, radius, normalize):
    """sqrt(D / (m c)) of one pair, channels on one path: the definition."""
    a, b = np.atleast_2d(a).astype(float), np.atleast_2d(b).astype(float)
    if normalize:
        a, b = (((x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True)) for x in (a, b))
    channels, m = a.shape
    D = np.full((m + 1, m + 1), np.inf)
    D[0, 0] = 0
    for i in range(m):
        for j in range(max(0, i - radius), min(m, i + radius + 1)):
            D[i + 1, j + 1] = ((a[:, i] - b[:, j]) ** 2).sum() + min(D[i, j + 1], D[i + 1, j], D[i, j])
    return np.sqrt(D[m, m] / (m * channels))


@pytest.fixture
def walks():
    rng = np.random.default_rng(1)
    return lambda *shape: np.cumsum(rng.normal(size=shape), axis=-1).astype(np.float32)


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("channels", [None, 3])
@pytest.mark.parametrize("band", [0, 0.1, 1])
def test_is_the_definition(walks, normalize, channels, band):
    shape = (30,) if channels is None else (channels, 30)
    X, Y = walks(4, *shape), walks(21, *shape)
    found = wl.distance_matrix(X, Y, band, normalize=normalize)
    want = [[dtw(x, y, min(int(band * 30), 29), normalize) for y in Y] for x in X]
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-6)


def test_of_one_set_is_symmetric_and_that_of_two(walks):
    X = walks(40, 50)
    found = wl.distance_matrix(X)
    np.testing.assert_array_equal(found, found.T)
    np.testing.assert_array_equal(found, wl.distance_matrix(X, X.copy()))


def test_agrees_with_aeon_by_the_formula_of_the_docstring(walks):
    distances = pytest.importorskip("aeon.distances")
    X = walks(10, 40)
    theirs = distances.pairwise_distance(X.astype(float), method="dtw", window=0.1)
    ours = wl.distance_matrix(X, band=0.1, normalize=False).astype(float)
    np.testing.assert_allclose(ours**2 * 40, theirs, rtol=1e-3, atol=1e-4)


def test_bits_do_not_depend_on_threads(walks):
    X, Y = walks(60, 120), walks(50, 120)
    np.testing.assert_array_equal(wl.distance_matrix(X, Y, threads=1), wl.distance_matrix(X, Y, threads=2))


def test_writes_where_it_is_told(walks):
    X, out = walks(5, 30), np.empty((5, 5), np.float32)
    assert wl.distance_matrix(X, out=out) is out
    np.testing.assert_array_equal(out, wl.distance_matrix(X))
    with pytest.raises(wl.BadInput, match="out"):
        wl.distance_matrix(X, out=np.empty((5, 5)))


def test_takes_lists_and_dlpack_and_any_type(walks):
    class OnlyDlpack:
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **options):
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    X = walks(5, 30)
    want = wl.distance_matrix(X)
    np.testing.assert_array_equal(wl.distance_matrix(OnlyDlpack(X)), want)
    np.testing.assert_array_equal(wl.distance_matrix(X.tolist()), want)
    np.testing.assert_array_equal(wl.distance_matrix(np.asfortranarray(X)), want)


def test_no_sequences_have_no_distances():
    none = np.zeros((0, 30), np.float32)
    assert wl.distance_matrix(none).shape == (0, 0)
    assert wl.distance_matrix(np.zeros((2, 30)), none).shape == (2, 0)


def test_names_what_is_wrong(walks):
    X = walks(5, 30)
    holed = X.copy()
    holed[3, 7] = np.nan
    with pytest.raises(ValueError, match="sample 7 of sequence 3"):
        wl.distance_matrix(holed)
    with pytest.raises(ValueError, match="Y: 20 samples a sequence, and X has 30"):
        wl.distance_matrix(X, X[:, :20])
    with pytest.raises(ValueError, match="expected numbers"):
        wl.distance_matrix(np.array([["a", "b"]]))
    with pytest.raises(ValueError, match="arrays of .* on a GPU are not known"):
        wl.distance_matrix(type("OnAGpu", (), {"__cuda_array_interface__": {}})())


def test_a_large_input_is_not_copied(python):
    """256 MiB, compared as they are: resident memory grows by less than 1 %."""
    grown = int(python("""
import resource
import numpy as np
import warploom as wl
X = np.ones((64, 1 << 20), np.float32)
wl.distance_matrix(X[:2, :100], band=0, normalize=False)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
wl.distance_matrix(X[:1], X, band=0, normalize=False, threads=1)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""))
    # What the C++ call itself takes: windows side by side, at most 16 of 2^20 samples, and a row.
    assert grown * 1024 < 2 * 16 * 4 * (1 << 20) + 0.01 * 256 * 2**20
