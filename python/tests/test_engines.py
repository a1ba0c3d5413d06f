"""The files of examples/cohort under the engines they are for: a Slurm of one node, Snakemake, Dask. Those that are not here are skipped."""

import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "cohort"
COMMAND = ["fold", "{}"]


@pytest.fixture
def rnas(tmp_path):
    folder = tmp_path / "rnas"
    folder.mkdir()
    for k in range(24):
        (folder / f"r{k:02}.fa").write_text(f">r{k}\n{'GGGACUUCGGUCCCAAUG' * (k + 2)}\n")
    return folder


@pytest.fixture
def path(tmp_path, tool):
    """The environment in which ``warploom`` is found by its name."""
    folder = tmp_path / "bin"
    folder.mkdir()
    found = os.environ.get("WARPLOOM_TOOL") or shutil.which("warploom")
    (folder / "warploom").symlink_to(Path(found).resolve())
    return {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", "HOME": str(tmp_path)}


def results(folder):
    return {one.name: one.read_text() for one in folder.glob("r*.txt")}


@pytest.fixture
def expected(rnas, tmp_path, tool):
    """What one worker makes of all, that nobody disturbs."""
    tool("cohort", rnas, "-o", tmp_path / "expected", "--", *COMMAND)
    return results(tmp_path / "expected")


def free_ports(count):
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]  # together, so that no two are the same
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports


def wait_until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come to pass"
        time.sleep(0.05)


@pytest.fixture
def slurm(tmp_path_factory, path):
    """A cluster of this machine alone, with daemons of its own. Gives the environment in which ``sbatch`` finds it."""
    programs = ("munged", "slurmctld", "slurmd", "sbatch", "scancel", "squeue")
    search = f"{path['PATH']}{os.pathsep}/usr/sbin"
    lacks = [name for name in programs if not shutil.which(name, path=search)]
    if lacks or os.geteuid() != 0:
        pytest.skip(f"a Slurm of one's own needs root and {', '.join(programs)}; not here: {', '.join(lacks) or 'root'}")
    folder = tmp_path_factory.mktemp("slurm")
    for one in [folder, *folder.parents]:  # munge wants a way to its socket that others may go, and may not change
        if one.stat().st_uid == 0 and one != Path("/tmp") and Path("/tmp") in one.parents:
            one.chmod(0o755)
    for name in ("munge", "state", "spool"):
        (folder / name).mkdir(mode=0o700)
    key = folder / "munge" / "key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o600)
    host = socket.gethostname().split(".")[0]
    controller_port, node_port = free_ports(2)
    configuration = folder / "slurm.conf"
    configuration.write_text(f"""
ClusterName=one
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CryptoType=crypto/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MpiDefault=none
SchedulerParameters=sched_interval=1,batch_sched_delay=0
ReturnToService=2
KillWait=1
NodeName={host} NodeAddr=127.0.0.1 CPUs={min(2, os.cpu_count())} State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
""")
    environment = {**path, "PATH": search, "SLURM_CONF": str(configuration)}
    munge = folder / "munge"
    daemons = [
        ["munged", "--foreground", "--force", f"--socket={folder}/munge.socket", f"--key-file={key}", f"--pid-file={munge}/pid",
         f"--log-file={munge}/log", f"--seed-file={munge}/seed", "--num-threads=2"],
        ["slurmctld", "-D"],
        ["slurmd", "-D"],
    ]
    running = []
    try:
        for daemon in daemons:
            running.append(subprocess.Popen(daemon, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
            wait_until((folder / "munge.socket").exists)  # the first daemon's
        sinfo = ["sinfo", "-h", "-o", "%T"]
        try:
            wait_until(lambda: subprocess.run(sinfo, env=environment, capture_output=True, text=True).stdout.strip() == "idle")
        except AssertionError:
            logs = "\n".join(f"{log}:\n{log.read_text()[-2000:]}" for log in folder.rglob("*log"))
            pytest.fail(f"Slurm did not start:\n{logs}")
        yield environment
    finally:
        for daemon in reversed(running):
            daemon.terminate()
        for daemon in reversed(running):
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()


def run(words, environment, cwd):
    done = subprocess.run([*map(str, words)], env=environment, cwd=cwd, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def submit(environment, cwd, array, words):
    return run(["sbatch", "--parsable", f"--array={array}", "--cpus-per-task=1", "-o", cwd / "task%a.txt", EXAMPLES / "slurm.sh", *words], environment, cwd).strip()


def has_ended(job, environment, cwd):
    return not run(["squeue", "-h", "-j", job], environment, cwd).strip()


def test_the_tasks_of_a_slurm_array_are_workers(slurm, rnas, tmp_path, expected):
    job = submit(slurm, tmp_path, "1-2", [rnas, tmp_path / "out", *COMMAND])
    wait_until(lambda: has_ended(job, slurm, tmp_path))
    assert results(tmp_path / "out") == expected
    said = [(tmp_path / f"task{k}.txt").read_text() for k in (1, 2)]
    assert all("cohort.tsv" in one for one in said), said
    job = submit(slurm, tmp_path, "3", [rnas, tmp_path / "out", *COMMAND])
    wait_until(lambda: has_ended(job, slurm, tmp_path))
    assert "24 were done before" in (tmp_path / "task3.txt").read_text()


def test_what_a_killed_slurm_task_had_in_work_is_done_by_the_next(slurm, rnas, tmp_path, expected, tool):
    long = rnas / "long.fa"
    long.write_text(f">long\n{'GGGACUUCGGUCCCAAUG' * 800}\n")  # seconds
    claims = tmp_path / "out" / ".warploom" / "claims"
    job = submit(slurm, tmp_path, "1", [rnas, tmp_path / "out", *COMMAND])
    wait_until((claims / "long.claim").exists)
    run(["scancel", "--signal=KILL", "--full", f"{job}_1"], slurm, tmp_path)
    wait_until(lambda: has_ended(job, slurm, tmp_path))
    assert (claims / "long.claim").exists() and not (tmp_path / "out" / "long.txt").exists()
    long.write_text(f">long\n{'GGGACUUCGGUCCCAAUG' * 50}\n")
    job = submit(slurm, tmp_path, "2", [rnas, tmp_path / "out", *COMMAND])
    wait_until(lambda: has_ended(job, slurm, tmp_path))
    got = results(tmp_path / "out")
    assert got == expected
    assert (tmp_path / "out" / "long.txt").read_text() == tool("fold", long)
    assert not any(claims.iterdir())


def test_jobs_of_snakemake_are_workers(path, rnas, tmp_path, expected):
    snakemake = shutil.which("snakemake", path=f"{os.path.dirname(sys.executable)}{os.pathsep}{path['PATH']}")
    if not snakemake:
        pytest.skip("Snakemake is not here")
    environment = {**path, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    words = [snakemake, "-s", EXAMPLES / "Snakefile", "--cores", "2", "--config", f"inputs={rnas}", f"results={tmp_path}/out", "workers=2"]
    run([*words, f"command={' '.join(COMMAND)}"], environment, tmp_path)
    assert results(tmp_path / "out") == expected


def test_tasks_of_a_dask_cluster_are_workers(path, rnas, tmp_path, expected):
    pytest.importorskip("distributed")
    words = [sys.executable, EXAMPLES / "dask_cohort.py", "-", rnas, tmp_path / "out", " ".join(COMMAND), "--workers", "2", "--threads", "1"]
    assert "24 of 24 are done" in run(words, path, tmp_path)
    assert results(tmp_path / "out") == expected
