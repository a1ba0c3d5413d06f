"""What is true of every call: threads, Ctrl-C, progress, fork, what it costs to call."""

import os
import signal
import threading
import time

import numpy as np
import pytest

import warploom as wl


# Continuous integration shares its processors with others: bounds of time are wider there.
SLACK = 6 if os.environ.get("CI") else 1


def walks(n, m, seed=1):
    return np.cumsum(np.random.default_rng(seed).normal(size=(n, m)), axis=1).astype(np.float32)


@pytest.fixture(scope="module")
def long_work():
    """Takes minutes."""
    X = walks(4000, 1000)
    return lambda **options: wl.distance_matrix(X, band=1, **options)


# Each takes seconds at the least, on a fast machine, too; a GPU is too fast for two of them.
CALLS = {
    "distance_matrix": lambda **o: wl.distance_matrix(walks(4000, 1000), band=1, **o),
    "dp.solve": lambda **o: wl.dp.solve(np.random.default_rng(1).normal(size=8000), device="cpu", **o),
    "segment": lambda **o: wl.segment(walks(100 * 100, 100).reshape(100, 100, 100), method="level-set", tol=0, max_num_iter=100_000, **o),
    "search": lambda **o: wl.search(walks(6, 300_000), walks(6, 1000, 2), match="free", device="cpu", **o),
}


def seconds_from_ctrl_c_to_the_end(name):
    # A shell's background job ignores the signal, and Python then has no handler of it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    begun, pressed, ended = threading.Event(), [], []

    def press():
        begun.wait()
        pressed.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    presser = threading.Thread(target=press)
    presser.start()
    with pytest.raises(KeyboardInterrupt):
        CALLS[name](progress=lambda state: begun.set())
        ended.append("before Ctrl-C was pressed")
        begun.set()
        presser.join()  # the interrupt comes here, and not in another test
    took = time.perf_counter() - pressed[0]
    presser.join()
    signal.signal(signal.SIGINT, before)
    assert not ended
    return took


@pytest.mark.parametrize("name", CALLS)
def test_ctrl_c_ends_a_call_within_three_tenths_of_a_second(name):
    assert any(seconds_from_ctrl_c_to_the_end(name) < 0.3 * SLACK for _ in range(3))  # others may have the processor
    assert wl.dp.chain([1, 2, 3]).optimum == 6  # goes on


def test_a_handler_that_does_not_raise_lets_the_work_go_on():
    heard = []
    before = signal.signal(signal.SIGALRM, lambda *_: heard.append(1))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        X = walks(300, 400)
        found = wl.distance_matrix(X, band=1, threads=1)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert heard == [1]
    np.testing.assert_array_equal(found, found.T)


def test_one_thread_that_is_stopped_does_not_stop_another(long_work):
    """A call's progress raises; a call of another thread at that time ends well."""
    X = walks(400, 300)
    want, found, raised = wl.distance_matrix(X), [], []

    def stop(state):
        raise RuntimeError("enough")

    def other():
        try:
            long_work(progress=stop)
        except RuntimeError as error:
            raised.append(str(error))

    thread = threading.Thread(target=other)
    thread.start()
    while thread.is_alive():
        found.append(wl.distance_matrix(X))
    assert raised == ["enough"]
    for one in found:
        np.testing.assert_array_equal(one, want)


def test_progress_is_told_at_most_ten_times_a_second():
    states = []
    begin = time.perf_counter()
    wl.distance_matrix(walks(300, 400), band=1, threads=1, progress=states.append)
    took = time.perf_counter() - begin
    assert states and states[-1].finished and states[-1].done == states[-1].total == 300
    assert len(states) <= 10 * took + 2  # the first and the last come at once
    assert [s.done for s in states] == sorted(s.done for s in states)


def test_works_in_a_child_after_fork():
    X = walks(100, 100)
    want = wl.distance_matrix(X)
    child = os.fork()
    if child == 0:
        os._exit(0 if np.array_equal(wl.distance_matrix(X), want) else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_other_python_threads_run_meanwhile():
    X, ended = walks(250, 300), threading.Event()

    def work():
        wl.distance_matrix(X, band=1, threads=1)
        ended.set()

    thread, steps = threading.Thread(target=work), 0
    thread.start()
    while not ended.is_set():
        steps += 1
    thread.join()
    assert steps > 1000


def seconds_a_call(call, calls=2000, tries=7):
    """Of this thread's processor time, which others' work does not lengthen much."""
    times = []
    for _ in range(tries):
        begin = time.thread_time()
        for _ in range(calls):
            call()
        times.append((time.thread_time() - begin) / calls)
    return min(times)


def test_a_call_costs_microseconds():
    """Whole calls, the work itself in them; measured in the guide, here a bound that a busy machine keeps."""
    d, X = np.array([3, 4, 5]), walks(2, 8)
    assert seconds_a_call(lambda: wl.dp.chain(d, device="cpu")) < 60e-6 * SLACK
    assert seconds_a_call(lambda: wl.distance_matrix(X, threads=1)) < 60e-6 * SLACK


def test_import_takes_little_beyond_numpys(python):
    def seconds(module):
        code = f"import time; import numpy; b = time.thread_time(); import {module}; print(time.thread_time() - b)"
        return min(float(python(code)) for _ in range(5))

    assert seconds("warploom") < 0.15 * SLACK


def test_import_needs_no_driver_and_brings_nothing_of_others(python):
    loaded = python("""
import sys
import warploom
print([m for m in ("pandas", "nibabel", "mne", "wfdb", "scipy", "torch", "cupy") if m in sys.modules])
print([line for line in open("/proc/self/maps") if "libcuda" in line])
""")
    assert loaded.split("\n")[:2] == ["[]", "[]"]
