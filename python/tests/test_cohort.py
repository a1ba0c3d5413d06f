"""Many inputs: workers that share a folder, here and on a Dask cluster."""

import os

import pytest
import warploom as wl


@pytest.fixture
def rnas(tmp_path):
    folder = tmp_path / "rnas"
    folder.mkdir()
    for k in range(8):
        (folder / f"r{k}.fa").write_text(f">r{k}\n{'G' * (4 + k)}AAAA{'C' * (4 + k)}\n")
    return folder


class OneByOne:
    """Does at once what it is asked for, as a cluster of one machine that never tires."""

    def __init__(self):
        self.options = []

    def submit(self, function, *arguments, **options):
        self.options.append(options)
        return function(*arguments)

    def gather(self, futures):
        return futures


def test_each_input_has_its_result(rnas, tmp_path, tool):
    done = wl.cohort("fold {}", rnas, tmp_path / "out", workers=2)
    assert [item.state for item in done.items] == ["done"] * 8 and not done.failed
    assert (tmp_path / "out" / "r3.txt").read_text() == tool("fold", rnas / "r3.fa")
    assert os.path.exists(done.table)


def test_what_is_done_is_not_done_again(rnas, tmp_path):
    wl.cohort("fold {}", rnas, tmp_path / "out")
    assert {item.state for item in wl.cohort("fold {}", rnas, tmp_path / "out").items} == {"there"}


def test_a_failure_stops_no_other(rnas, tmp_path):
    (rnas / "bad.fa").write_text(">bad\nGG!!\n")
    done = wl.cohort(["fold", "{}"], rnas, tmp_path / "out", workers=2)
    assert [item.item for item in done.failed] == ["bad"]
    assert "bad.fa" in done.failed[0].error
    assert sum(item.state == "done" for item in done.items) == 8


def test_tasks_of_a_client_are_workers(rnas, tmp_path):
    client = OneByOne()
    done = wl.cohort("fold {}", rnas, tmp_path / "out", workers=3, client=client, submit={"resources": {"GPU": 1}})
    assert [item.state for item in done.items] == ["done"] * 8
    assert client.options == [{"pure": False, "retries": 3, "resources": {"GPU": 1}}] * 3


def test_runs_on_dask(rnas, tmp_path):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, distributed.Client(cluster) as client:
        done = wl.cohort("fold {}", rnas, tmp_path / "out", workers=2, client=client)
    assert [item.state for item in done.items] == ["done"] * 8


@pytest.mark.parametrize("wrong, says", [
    ({"workers": 0}, "workers: 0: expected a whole number of at least 1"),
    ({"command": "fold x"}, "put {} where it belongs"),
    ({"inputs": "nothing_there"}, "there is no such file or folder"),
    ({"at_once": 0}, "--at-once"),
])
def test_names_what_is_wrong(rnas, tmp_path, wrong, says):
    asked = {"command": "fold {}", "inputs": rnas, "out": tmp_path / "out", **wrong}
    with pytest.raises(wl.BadInput) as error:
        wl.cohort(**asked)
    assert says in str(error.value)
