#!/usr/bin/env python3
"""Random kernels whose loads of one array are guarded by quotients and remainders of an index: are those that
`warploom reuse` divides into parts the same afterwards?

    bench/reuse/guarded_kernels.py --tool build/default/bin/warploom --first 0 --count 400

Each fills two arrays of 256 words carved from dynamic shared memory, loads at a random distance from the first under
random guards on i / width and i % width (right ones, and ones that look alike), stores what it got to a third array, and
loads the same again. Where the loads keep to the first array, the third may lie over the second; where they do not, they
would see it. Kernels that are rewritten run in the simulator before and after; one that was not clean before (it leaves
its memory) says nothing. Exit status 1: a difference, or the independent check objected to what the passes proved.
"""
import argparse
import os
import random
import subprocess
import sys
import tempfile

HEAD = """.version 8.0
.target sm_80
.address_size 64
.extern .shared .align 16 .b8 s[];
.visible .entry k(.param .u64 out)
.maxntid 256, 1, 1
{
.reg .pred %p<9>; .reg .b32 %r<30>; .reg .b64 %d<9>;
ld.param.u64 %d1, [out]; mov.u32 %r1, %tid.x; mov.u32 %r10, s; mov.u32 %r4, 7;
shl.b32 %r6, %r1, 2; add.s32 %r7, %r10, %r6;
st.shared.u32 [%r7], %r6;
st.shared.u32 [%r7+1024], %r1;
mov.u32 %r9, 5;
bar.sync 0;
"""
TAIL = """bar.sync 0;
st.shared.u32 [%r7+2048], %r4;
bar.sync 0;
{again}bar.sync 0;
mul.wide.u32 %d2, %r1, 4; add.s64 %d3, %d1, %d2;
ld.shared.u32 %r8, [%r7+2048];
mad.lo.u32 %r8, %r9, 3, %r8;
st.global.u32 [%d3], %r8;
ret;
}}
"""


def kernel(seed):
    r = random.Random(seed)
    width = r.choice([8, 16, 32])
    any_comparison = ["lt.u32", "lt.s32", "le.u32", "gt.u32", "gt.s32", "ge.s32", "ne.s32", "eq.u32"]
    index = r.choice(["mov.u32 %r5, %r1;", f"add.s32 %r5, %r1, {r.randint(-40, 40)};",
                      "mov.u32 %r20, 255; sub.s32 %r5, %r20, %r1;", f"xor.b32 %r5, %r1, {r.choice([1, 3, 16])};"])
    shift = width.bit_length() - 1 if r.random() < .8 else r.randint(1, 6)
    quotient = r.choice([f"{r.choice(['shr.u32', 'shr.s32'])} %r12, %r5, {shift};",
                         f"div.u32 %r12, %r5, {r.choice([width, width, 7, 20])};", f"div.s32 %r12, %r5, {width};"])
    remainder = r.choice([f"and.b32 %r11, %r5, {width - 1};", f"rem.u32 %r11, %r5, {r.choice([width, width, 7, 20])};",
                          f"rem.s32 %r11, %r5, {width};"])

    def compared(predicate, register, bound, usual):
        how = r.choice(usual + [r.choice(any_comparison)])
        return f"setp.{how} %p{predicate}, %r{register}, {bound + r.choice([-3, -2, -1, -1, -1, 0, 0, 1])};\n"

    guard = compared(1, 11, width, ["lt.u32", "lt.s32", "lt.s32"]) + compared(2, 12, 256 // width, ["lt.u32", "lt.s32"])
    guard += f"{r.choice(['and', 'and', 'and', 'or', 'xor'])}.pred %p3, %p1, %p2;\n"
    if r.random() < .4:
        guard += compared(4, 5, r.randint(-5, 40), ["ge.s32", "gt.s32"]) + "and.pred %p3, %p3, %p4;\n"
    distance = 4 * r.choice([width + 1, width + 1, width, 1, -1, -width, -width - 1, 0, 2 * width + 1,
                             r.randint(-40, 40)])
    form, negated = r.random(), r.random() < .15
    if form < .7 and form >= .4:
        load = f"@{'' if negated else '!'}%p3 bra E;\nld.shared.u32 %r4, [%r3+{distance}];\nE:\n"
    else:
        load = f"@{'!' if negated else ''}%p3 ld.shared.u32 %r4, [%r3+{distance}];\n"
    body = f"{quotient}\n{remainder}\n{guard}shl.b32 %r2, %r5, 2; add.s32 %r3, %r10, %r2;\n{load}"
    if form >= .7:
        body = (f"mov.u32 %r21, %r5;\nL:\nmov.u32 %r5, %r21;\n{body}add.s32 %r21, %r21, {r.choice([17, 32, 64, 128])};\n"
                f"setp.lt.s32 %p7, %r21, {r.choice([240, 250, 256, 300])};\n@%p7 bra L;\n")
    again = f"@{'!' if negated else ''}%p3 ld.shared.u32 %r9, [%r3+{distance}];\n"
    return HEAD + index + "\n" + body + TAIL.format(again=again)


def simulated(tool, path, dynamic, dump):
    if os.path.exists(dump):
        os.remove(dump)
    run = subprocess.run([tool, "sim", path, "--kernel", "k", "--grid", "1", "--block", "256", "--dynamic-shared",
                          str(dynamic), "--arg", "buf:u32:256:zero", "--dump", dump], capture_output=True)
    return run.returncode, open(dump, "rb").read() if os.path.exists(dump) else b""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", required=True)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=400)
    options = parser.parse_args()
    rewritten = compared = wrong = 0
    with tempfile.TemporaryDirectory() as scratch:
        before, after, dump = (os.path.join(scratch, n) for n in ("before.ptx", "after.ptx", "out.npy"))
        for seed in range(options.first, options.first + options.count):
            with open(before, "w") as f:
                f.write(kernel(seed))
            run = subprocess.run([options.tool, "reuse", before, "--no-ptxas", "--when", "always", "--force", "-o", after],
                                 capture_output=True, text=True)
            if run.returncode != 0 or "independent check found" in run.stdout:
                wrong += 1
                print(f"seed {seed}: {run.stderr or run.stdout}")
            if ": 1 rewritten" not in run.stdout:
                continue
            rewritten += 1
            expected = simulated(options.tool, before, 3072, dump)
            if expected[0] != 0:
                continue
            compared += 1
            if simulated(options.tool, after, 3072, dump) != expected:
                wrong += 1
                print(f"seed {seed}: the rewritten kernel differs")
    print(f"{options.count} kernels, {rewritten} rewritten, {compared} compared, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
