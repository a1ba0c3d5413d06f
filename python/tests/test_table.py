import pickle

import numpy as np
import pytest

import warploom as wl


@pytest.mark.parametrize("key", ["u4", "u8"])
@pytest.mark.parametrize("value", ["u4", "u8"])
def test_does_what_a_dictionary_does(key, value):
    rng = np.random.default_rng(1)
    table, model = wl.HashTable(key, value), {}
    top = np.iinfo(key).max
    keys = rng.integers(top - 5000, top, 20_000, dtype=key, endpoint=True)
    first = np.unique(keys)
    table.insert(first, np.arange(first.size))
    model.update(zip(first.tolist(), range(first.size)))
    table.erase(first[::3])
    for k in first[::3].tolist():
        del model[k]
    table.assign(first[::5], np.full(first[::5].size, 7))
    model.update((k, 7) for k in first[::5].tolist())
    table.add(keys, np.ones(keys.size))
    for k in keys.tolist():
        model[k] = model.get(k, 0) + 1
    assert len(table) == len(model)
    assert dict(zip(*(a.tolist() for a in table.items()))) == model
    found = table.find(np.arange(top - 6000, top, dtype=key))
    for k, outcome, v in zip(range(top - 6000, top), found.outcomes.tolist(), found.values.tolist()):
        assert (outcome, v) == ((1, model[k]) if k in model else (0, 0))


def test_operations_may_differ_within_a_batch():
    table = wl.HashTable()
    table.insert([1, 2], [10, 20])
    names = wl.HashTable.OPERATIONS
    done = table.run([names.index(o) for o in ("find", "erase", "insert")], [1, 2, 3], [0, 0, 30])
    assert [wl.HashTable.OUTCOMES[o] for o in done.outcomes] == ["found", "erased", "inserted"]
    assert done.values[0] == 10


def test_names_what_is_wrong():
    table = wl.HashTable()
    for call in (
        lambda: table.insert([1.5]), lambda: table.insert([-1]), lambda: table.insert([1 << 40]),
        lambda: table.insert([1, 2], [1]), lambda: table.run("put", [1]), lambda: wl.HashTable("i4"),
    ):
        with pytest.raises(ValueError):
            call()
    with pytest.raises(TypeError, match="items"):
        pickle.dumps(table)


def test_a_table_that_does_not_grow_says_when_it_is_full():
    table = wl.HashTable(capacity=100, grows=False)
    with pytest.raises(MemoryError, match="no room"):
        table.insert(np.arange(10**6))
    assert 100 <= len(table) < 10**6


def test_kmers_are_the_tools(tool, tmp_path):
    letters = np.random.default_rng(2).choice(list("ACGT"), (20, 300))
    path = tmp_path / "reads.fa"
    path.write_text("".join(f">{k}\n{''.join(row)}\n" for k, row in enumerate(letters)))
    told = tool("table", "count", path, "--kmer", 4, "--canonical", "--top", 0, "--json")
    found = wl.kmers(path, 4, canonical=True, top=0)
    assert [{"value": w, "count": c} for w, c in zip(found.words, found.counts.tolist())] == told["values"]
    assert (found.total, found.different) == (told["total"], told["different"])


def test_kmers_of_several_files_have_a_histogram(tmp_path):
    (tmp_path / "a.fa").write_text(">a\nACGTA\n")
    (tmp_path / "b.fq").write_text("@b\nACGTN\n+\nII!II\n")
    found = wl.kmers([tmp_path / "a.fa", tmp_path / "b.fq"], 2, top=0, bins=2)
    assert dict(zip(found.words, found.counts.tolist())) == {"AC": 2, "CG": 2, "GT": 2, "TA": 1}
    assert found.histogram.tolist() == [1, 3]
    assert wl.kmers(tmp_path / "b.fq", 2, top=0, min_quality=10).words == ["AC"]
    with pytest.raises(ValueError, match="1 to 63"):
        wl.kmers(tmp_path / "a.fa", 64)
