import pickle

import numpy as np
import pytest

import warploom as wl
from warploom import dp


def best_table(leaves, weight, split, best):
    """m over points, by the recurrence as it is written; a cell at a time."""
    n = len(leaves)
    m = np.zeros((n + 1, n + 1))
    for i in range(n):
        m[i, i + 1] = leaves[i]
    for span in range(2, n + 1):
        for i in range(n + 1 - span):
            j = i + span
            m[i, j] = weight(i, j) + best(m[i, k] + m[k, j] + split(i, k, j) for k in range(i + 1, j))
    return m


def test_chain_costs_what_brute_force_finds():
    d = np.random.default_rng(1).integers(1, 50, 14)
    m = best_table(np.zeros(13), lambda i, j: 0, lambda i, k, j: d[i] * d[k] * d[j], min)
    order = dp.chain(d)
    assert order.optimum == m[0, 13]
    assert order.trace().shape == (12, 3)
    assert sum(int(d[i] * d[k] * d[j]) for i, k, j in order.trace()) == order.optimum


def test_chain_is_the_tools(tool):
    d = np.random.default_rng(2).integers(1, 1000, 60)
    order, told = dp.chain(d), tool("dp", "chain", *d, "--json")
    assert (order.optimum, order.structure, order.left_to_right) == (
        told["cost"], told["parenthesisation"], told["left_to_right"])
    assert [[i + 1, k, j] for i, k, j in order.trace().tolist()] == told["products"]


def test_nussinov_is_the_tools(tool, tmp_path):
    letters = np.random.default_rng(3).choice(list("ACGU"), (5, 90))
    sequences = ["".join(row) for row in letters]
    (tmp_path / "s.fa").write_text("".join(f">s{k}\n{s}\n" for k, s in enumerate(sequences)))
    told = tool("dp", "nussinov", tmp_path / "s.fa", "--weights", "3,2,1", "--json")["records"]
    found = dp.nussinov(sequences, weights=(3, 2, 1))
    assert [(f.structure, f.optimum, f.pairs) for f in found] == [(t["structure"], t["score"], t["pairs"]) for t in told]
    one = dp.nussinov(sequences[0], weights=(3, 2, 1))
    assert one.structure == found[0].structure


def test_pairs_of_a_structure_are_its_brackets():
    found = dp.nussinov("GGGGAAAACCCCT")
    assert found.sequence == "GGGGAAAACCCCU"
    assert len(found.trace()) == found.pairs == found.structure.count("(")
    for a, b in found.trace():
        assert found.partner[a] == b and found.partner[b] == a
        assert found.structure[a] == "(" and found.structure[b] == ")"


def test_polygon_is_the_tools(tool, tmp_path):
    angle = np.sort(np.random.default_rng(4).uniform(0, 2 * np.pi, 25))
    xy = np.column_stack([2 * np.cos(angle), np.sin(angle)])
    np.savetxt(tmp_path / "p.csv", xy, delimiter=",", fmt="%.17g")
    told = tool("dp", "polygon", tmp_path / "p.csv", "--json")
    found = dp.polygon(xy)
    assert (found.optimum, found.perimeter, found.convex) == (told["weight"], told["perimeter"], told["convex"])
    assert found.triangles.tolist() == told["triangles"]
    assert found.diagonals.tolist() == told["diagonals"]


def test_search_tree_is_the_tools(tool, tmp_path):
    rng = np.random.default_rng(5)
    p, q = rng.integers(0, 100, 30), rng.integers(0, 100, 31)
    (tmp_path / "f.csv").write_text("".join(f"{a},{b}\n" for a, b in zip([0, *p], q)))
    told = tool("dp", "search-tree", tmp_path / "f.csv", "--json")
    found = dp.search_tree(p, q)
    assert (found.optimum, found.root) == (told["cost"], told["root"])
    assert isinstance(dp.search_tree(p / 7, q / 7).optimum, float)


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("optimum", ["min", "max"])
def test_solve_gives_the_recurrences_cells(dtype, optimum):
    rng, n = np.random.default_rng(6), 12
    draw = lambda *shape: rng.integers(0, 9, shape).astype(dtype)
    leaves, row, column, cell, factors = draw(n), draw(n + 1), draw(n + 1), draw(n + 1, n + 1), draw(n + 1)
    m = best_table(
        leaves.tolist(),
        lambda i, j: float(row[i]) + float(column[j]) + float(cell[i, j]),
        lambda i, k, j: float(factors[i]) * float(factors[k]) * float(factors[j]),
        min if optimum == "min" else max,
    )
    solution = dp.solve(leaves, row=row, column=column, cell=cell, factors=factors, optimum=optimum)
    table = solution.table()
    assert table.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(table, np.triu(m[:-1, 1:]))  # whole numbers: exact in any type
    assert solution.optimum == m[0, n] == solution.value(0, n - 1)
    assert solution.trace().shape == (n - 1, 3)


def test_a_square_table_is_solved_as_the_tool_does(tool, tmp_path):
    w = np.random.default_rng(7).normal(size=(40, 40))
    np.save(tmp_path / "w.npy", w)
    told = tool("dp", "solve", "w.npy", "--save-table", "m.npy", "--json", cwd=tmp_path)
    solution = dp.solve(w)
    assert (solution.optimum, solution.structure) == (told["optimum"], told["tree"])
    assert solution.table().tobytes() == np.load(tmp_path / "m.npy").tobytes()
    assert solution.trace().tolist() == told["splits"]


@pytest.mark.parametrize("dtype", ["i1", "u2", "i4", "i8", "f4", "f8", ">f8"])
def test_tables_are_taken_in_any_order(dtype):
    w = np.random.default_rng(8).integers(0, 99, (17, 17)).astype(dtype)
    want = dp.solve(w)
    wide = np.zeros((34, 34), dtype)
    wide[1::2, 1::2] = w
    for given in (np.asfortranarray(w), wide[1::2, 1::2], np.array(w[::-1])[::-1]):
        np.testing.assert_array_equal(dp.solve(given).table(), want.table())
        cell, line = np.pad(given, ((0, 1), (0, 1)))[:, ::-1][:, ::-1].astype("f8"), given[0].astype("f8")
        np.testing.assert_array_equal(dp.solve(line, cell=np.asfortranarray(cell)).table(), dp.solve(line, cell=cell.copy()).table())
    for wrong in (w[:3], w.astype("c8"), w.astype("f2"), w.astype("u8"), w[:0, :0], w > 3):
        with pytest.raises(wl.BadInput, match="leaves: (elements of type|shape)"):
            dp.solve(wrong)


def test_no_solution_is_none():
    assert dp.solve([1.0, np.inf, 1.0]).optimum is None
    assert dp.solve([1.0, np.inf, 1.0]).structure == ""
    assert dp.solve([1.0, np.inf, 1.0]).value(0, 0) == 1


def test_errors_name_argument_and_value():
    with pytest.raises(ValueError, match="2.5|whole"):
        dp.chain([3, 2.5])
    with pytest.raises(wl.BadInput, match="X"):
        dp.nussinov("GGXAAACC")
    with pytest.raises(wl.BadInput, match=r"\[n, 2\]"):
        dp.polygon([1.0, 2.0, 3.0])
    with pytest.raises(wl.BadInput, match="int33"):
        dp.chain([1, 2], type="int33")
    with pytest.raises(wl.BadInput, match="row"):
        dp.solve([1, 2], row=[1, 2])
    with pytest.raises(wl.BadInput, match="expected"):
        dp.solve([1, 2], cell=[[1, 2], [3, 4]])


def test_a_gpu_that_is_absent_is_a_runtime_error():
    if any(name.startswith("cuda") for name in wl.devices()):
        pytest.skip("there is a GPU")
    with pytest.raises(wl.NoDevice):
        dp.chain([1, 2, 3], device="cuda")
    assert issubclass(wl.NoDevice, RuntimeError)


def test_memory_that_is_not_there_is_a_memory_error():
    with pytest.raises(MemoryError):
        dp.solve(np.zeros(3_000_000))


def test_results_pickle_and_a_solution_says_why_not():
    order = dp.chain([3, 4, 5, 6])
    again = pickle.loads(pickle.dumps(order))
    assert (again.optimum, again.structure) == (order.optimum, order.structure)
    assert pickle.loads(pickle.dumps(dp.nussinov("GGGAAACCC"))).structure == "(((...)))"
    with pytest.raises(TypeError, match="table"):
        pickle.dumps(dp.solve([1, 2, 3]))


def test_the_smallest_problems():
    assert dp.chain([3, 4]).trace().shape == (0, 3) and dp.chain([3, 4]).optimum == 0
    triangle = dp.polygon([[0, 0], [1, 0], [0, 1]])
    assert triangle.diagonals.shape == (0, 2) and triangle.triangles.tolist() == [[0, 1, 2]]
    assert dp.nussinov("A").structure == "." and dp.nussinov([]) == []
    with pytest.raises(ValueError):
        dp.chain([])
