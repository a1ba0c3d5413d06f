"""Writes walk.csv: four pressure sensors under a foot at 50 Hz, made up. `python3 walk.py > walk.csv`

Steps of 1.1 s: heel, arch, ball and toe are pressed one after the other. From 5 s on steps as they should be, from
15 s on (column `limp`) the toe comes a quarter of a second late and the heel is barely pressed, from 25 s on the plugs
of arch and ball are exchanged; in between the foot stands.
"""

import math

SENSORS = [(0.00, 0.45, 220), (0.20, 0.45, 90), (0.40, 0.40, 180), (0.60, 0.35, 140)]  # begin [s], length [s], [N]
STEP, RATE = 1.1, 50

state = 12345


def noise():
    """Uniform in [-1, 1], the same on every machine."""
    global state
    state = (1103515245 * state + 12345) % 2**31
    return state / 2**30 - 1


def pressed(sensor, since, late=0.0):
    begin, length, force = SENSORS[sensor]
    x = (since - begin - late) / length
    return force * math.sin(math.pi * x) ** 2 if 0 < x < 1 else 0.0


print("time [s],heel [N],arch [N],ball [N],toe [N],limp")
for k in range(35 * RATE):
    t = k / RATE
    bout = next((b for b in (5, 15, 25) if b <= t < b + 6 * STEP), None)
    force = [60, 25, 50, 15]  # standing
    if bout is not None:
        since = math.fmod(t - bout, STEP)
        force = [pressed(s, since, 0.25 if bout == 15 and s == 3 else 0.0) for s in range(4)]
        if bout == 15:
            force[0] *= 0.1
        if bout == 25:
            force[1], force[2] = force[2], force[1]
    print(f"{t:.2f}," + ",".join(f"{f + 6 * noise():.1f}" for f in force) + f",{int(bout == 15)}")
