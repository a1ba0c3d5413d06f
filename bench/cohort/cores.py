"""Which processors a run is given."""
import os
from pathlib import Path


def processors():
    """Those this process may use: first one of each core, then those that share a core with one before."""
    first, second, seen = [], [], set()
    for number in sorted(os.sched_getaffinity(0)):
        siblings = Path(f"/sys/devices/system/cpu/cpu{number}/topology/thread_siblings_list")
        core = siblings.read_text().strip() if siblings.exists() else str(number)
        (second if core in seen else first).append(number)
        seen.add(core)
    return first, second
