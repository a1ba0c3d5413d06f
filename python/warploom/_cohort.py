"""One verb of the tool over many inputs, by several workers: processes here, or tasks of a Dask cluster."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Protocol, Sequence, Union

from ._core import BadInput

PathLike = Union[str, "os.PathLike[str]"]


class CohortItem(NamedTuple):
    """What became of one input."""

    item: str
    """Its path in the folder that was given, without endings."""
    input: str
    """The file."""
    state: str
    """``done``, ``there`` (was done before) or ``failed``."""
    seconds: float
    """That it took."""
    files: int
    """That were written."""
    error: str
    """Why it failed; empty if it did not."""


class Cohort(NamedTuple):
    """What became of all inputs."""

    items: List[CohortItem]
    """In the order of their names."""
    table: str
    """The file that says the same: tab-separated."""

    @property
    def failed(self) -> List[CohortItem]:
        """Those that failed."""
        return [item for item in self.items if item.state == "failed"]


class Client(Protocol):
    """What is asked of a Dask client."""

    def submit(self, function: Any, *arguments: Any, **options: Any) -> Any: ...

    def gather(self, futures: Any) -> Any: ...


def _tool() -> str:
    tool = os.environ.get("WARPLOOM_TOOL") or shutil.which("warploom") or shutil.which("warploom", path=os.path.dirname(sys.executable))
    if not tool:
        raise BadInput("there is no program warploom in PATH; it comes with the package")
    return tool


def _result(words: Sequence[str], code: int, out: str, error: str) -> Dict[str, Any]:
    if code in (0, 1):  # 1: some failed, and are named
        told: Dict[str, Any] = json.loads(out)
        return told
    message = error.strip().split("\n")[-1].replace("warploom: ", "", 1)
    if code == 2:
        raise BadInput(message)
    raise RuntimeError(message or f"a worker ended with {code}: {shlex.join(words)}")


def _work(words: Sequence[str], number: int) -> Dict[str, Any]:
    """One worker, where it is called: on a machine of the cluster. The number makes each call another."""
    done = subprocess.run([_tool(), *words], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return _result(words, done.returncode, done.stdout, done.stderr)


def _work_here(words: Sequence[str], workers: int) -> List[Dict[str, Any]]:
    running = [
        subprocess.Popen([_tool(), *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(workers)
    ]
    try:
        told = [worker.communicate() for worker in running]
    except KeyboardInterrupt:
        for worker in running:
            worker.send_signal(signal.SIGINT)
        for worker in running:
            worker.communicate()
        raise
    return [_result(words, worker.returncode, *said) for worker, said in zip(running, told)]


def cohort(
    command: Union[str, Sequence[str]],
    inputs: Union[PathLike, Sequence[PathLike]],
    out: PathLike,
    *,
    match: Optional[str] = None,
    workers: int = 1,
    client: Optional[Client] = None,
    device: Optional[str] = None,
    at_once: Optional[int] = None,
    threads: Optional[int] = None,
    memory: Optional[str] = None,
    heartbeat: float = 10.0,
    force: bool = False,
    submit: Mapping[str, Any] = {},
) -> Cohort:
    """Runs a verb on many inputs, as ``warploom cohort`` does: what is done is not done again, a failure stops no other.

    Args:
        command: of the tool, as ``"segment {} -o {out}.nii.gz"``, in which ``{}`` is the input, ``{base}`` the input
            without its endings, ``{name}`` its name and ``{out}`` the folder of results and the name.
        inputs: files, and folders whose files are taken.
        out: the folder of results. All workers have to see it, and the inputs, under these names.
        match: of the files in folders those with such names, as ``"*.nii.gz"``.
        workers: how many share the inputs; each is a process that has several inputs in work.
        client: a Dask client; the workers are tasks of its cluster then, where the package has to be installed. One that
            is lost is started again three times, and what it had in work is done by the others.
        device: ``"cpu"``, ``"cuda"``, ``"cuda:0,1"``, ``"cuda:all"`` (in turns); None: the tool's choice.
        at_once: inputs that a worker has in work; None: one a thread.
        threads: of a worker; None: one a processor.
        memory: a worker begins no input while those in work hold more, as ``"64G"``; None: half of what is available.
        heartbeat: how often a worker says that it lives [s]; one that is silent for three times as long is taken for dead.
        force: replaces files that are there and are of no earlier run.
        submit: further arguments for ``client.submit``, as ``{"resources": {"GPU": 1}}``.

    Returns:
        What became of each input.

    Raises:
        BadInput: the command or the inputs are wrong; nothing was begun.

    Cost: a process a worker, some 30 ms, and a look at each input.
    """
    words = shlex.split(command) if isinstance(command, str) else [str(word) for word in command]
    if isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
        raise BadInput(f"workers: {workers!r}: expected a whole number of at least 1")
    if isinstance(inputs, (str, os.PathLike)):
        inputs = [inputs]
    asked = ["cohort", *(os.fspath(one) for one in inputs), "-o", os.fspath(out), "--json", "--heartbeat", str(heartbeat)]
    for name, value in (("match", match), ("device", device), ("at-once", at_once), ("threads", threads), ("memory", memory)):
        if value is not None:
            asked += [f"--{name}", str(value)]
    if force:
        asked.append("--force")
    asked += ["--", *words]
    if client is None:
        told = _work_here(asked, workers)
    else:
        options: Dict[str, Any] = {"pure": False, "retries": 3, **submit}
        told = client.gather([client.submit(_work, asked, number, **options) for number in range(workers)])
    items: Dict[str, CohortItem] = {}
    for one in told:
        for item in one["items"]:
            known = items.get(item["item"])
            if known is None or known.state == "there":
                items[item["item"]] = CohortItem(**item)
    return Cohort([items[name] for name in sorted(items)], told[0]["table"])
