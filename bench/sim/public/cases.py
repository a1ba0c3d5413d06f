"""Launches of kernels of public programs: docs/guide/trust-public.md. Inputs from a fixed seed; oracles in NumPy."""

import numpy as np

from harness import *  # noqa: F403

rng = np.random.default_rng(7)


def F(*s, lo=-1, hi=1):
    return rng.uniform(lo, hi, s).astype(np.float32)


def fb(*v):
    return np.asarray(v, np.float32).tobytes()


# --- CUDA samples
x = rng.integers(-1000, 1000, 16384, dtype=np.int32)
r6 = [x.reshape(-1, 256).reshape(4, 16, 256)[:, [2 * b, 2 * b + 1]].sum(dtype=np.int32) for b in range(8)]
case(
    'reduction',
    'reduction',
    r'reduce6IiLj256ELb1E',
    (8,),
    (256,),
    [Buf(x), Zero('i32', 8), u32(16384)],
    lambda o: same(o[1], r6),
    dyn=1024,
)
case(
    'reduction.reduce7',
    'reduction',
    r'reduce7IiLj256ELb1E',
    (8,),
    (256,),
    [Buf(x), Zero('i32', 8), u32(16384)],
    lambda o: same(o[1], r6),
    dyn=9 * 4,
)
u = rng.integers(0, 2**32, 4096, dtype=np.uint32)


def exscan(a, n):
    a = a.reshape(-1, n)
    return (np.cumsum(a, axis=1, dtype=np.uint32) - a).astype(np.uint32)


case(
    'scan',
    'scan',
    'scanExclusiveShared[^2]',
    (4,),
    (256,),
    [Zero('u32', 4096), Buf(u), u32(1024)],
    lambda o: same(o[0], exscan(u, 1024)),
)
case(
    'scan.64',
    'scan',
    'scanExclusiveShared[^2]',
    (4,),
    (256,),
    [Zero('u32', 4096), Buf(u), u32(64)],
    lambda o: same(o[0], exscan(u, 64)),
)
keys = rng.integers(0, 500, 2048, dtype=np.uint32)
vals = np.arange(2048, dtype=np.uint32)


def sorted_ok(o, n=1024):
    k, v = o[0], o[1]
    r = same(k, np.sort(keys.reshape(-1, n), axis=1)) or same(keys[v], k)
    return r or same(np.sort(v), vals)


sargs = [Zero('u32', 2048), Zero('u32', 2048), Buf(keys), Buf(vals), u32(1024), u32(1)]
case('bitonicSort', 'bitonicSort', 'bitonicSortSharedP', (2,), (512,), sargs, sorted_ok)
case('oddEvenMergeSort', 'oddEvenMergeSort', 'oddEvenMergeSortShared', (2,), (512,), sargs, sorted_ok)
case('mergeSort', 'mergeSort', 'mergeSortSharedKernelILj1', (2,), (512,), sargs[:5], sorted_ok)
h = rng.integers(0, 2**32, 8000, dtype=np.uint32)


def h256(o):
    return same(o[0].reshape(-1, 256).sum(axis=0), np.bincount(h.view(np.uint8), minlength=256))


case(
    'histogram256',
    'histogram256',
    'histogram256Kernel',
    (3,),
    (192,),
    [Zero('u32', 768), Buf(h), u32(8000)],
    h256,
)
part = rng.integers(0, 100, 10 * 256, dtype=np.uint32)
case(
    'histogram256.merge',
    'histogram256',
    'mergeHistogram256Kernel',
    (256,),
    (256,),
    [Zero('u32', 256), Buf(part), u32(10)],
    lambda o: same(o[0], part.reshape(10, 256).sum(axis=0)),
)
h64 = rng.integers(0, 2**32, 3800 * 4, dtype=np.uint32)
case(
    'histogram64',
    'histogram64',
    '17histogram64Kernel',
    (4,),
    (64,),
    [Zero('u32', 256), Buf(h64), u32(3800)],
    lambda o: same(o[0].reshape(-1, 64).sum(axis=0), np.bincount(h64.view(np.uint8) >> 2, minlength=64)),
)
m = F(96, 128)
case(
    'transpose',
    'transpose',
    'transposeDiagonal',
    (4, 3),
    (32, 16),
    [Zero('f32', m.size), Buf(m), i32(128), i32(96)],
    lambda o: same(o[0], m.T),
)
case(
    'transpose.nbc',
    'transpose',
    'transposeNoBankConflicts',
    (4, 3),
    (32, 16),
    [Zero('f32', m.size), Buf(m), i32(128), i32(96)],
    lambda o: same(o[0], m.T),
)
A, B = F(32, 64), F(64, 48)
case(
    'matrixMul',
    'matrixMul',
    'MatrixMulCUDAILi16',
    (3, 2),
    (16, 16),
    [Zero('f32', 32 * 48), Buf(A), Buf(B), i32(64), i32(48)],
    lambda o: close(o[0], A.astype(float) @ B),
)
A2, B2 = F(32, 128), F(128, 32)
mm = [Zero('f32', 32 * 32), Buf(A2), Buf(B2), i32(128), i32(32)]
ck2 = lambda o: close(o[0], A2.astype(float) @ B2)
case(
    'globalToShmemAsyncCopy',
    'globalToShmemAsyncCopy',
    'MatrixMulAsyncCopySingleStage',
    (2, 2),
    (16, 16),
    mm,
    ck2,
)
taps = F(17)
img = F(16, 256)
cimg = F(128, 32)


def conv(a, axis):
    p = np.pad(a.astype(float), [(8, 8) if i == axis else (0, 0) for i in range(2)])
    n = a.shape[axis]
    out = np.zeros(a.shape)
    for j in range(-8, 9):
        out += float(taps[8 - j]) * np.take(p, np.arange(n) + 8 + j, axis=axis)
    return out


case(
    'convolutionSeparable',
    'convolutionSeparable',
    'convolutionRows',
    (2, 4),
    (16, 4),
    [Zero('f32', img.size), Buf(img), i32(256), i32(16), i32(256)],
    lambda o: close(o[0], conv(img, 1)),
    consts={'c_Kernel': fb(*taps)},
)
case(
    'convolutionSeparable.columns',
    'convolutionSeparable',
    'convolutionColumns',
    (2, 2),
    (16, 8),
    [Zero('f32', cimg.size), Buf(cimg), i32(32), i32(128), i32(32)],
    lambda o: close(o[0], conv(cimg, 0)),
    consts={'c_Kernel': fb(*taps)},
)


def fwt(a):
    a = a.astype(float).copy()
    n = a.shape[1]
    hh = 1
    while hh < n:
        a = a.reshape(a.shape[0], -1, 2, hh)
        a = np.stack([a[:, :, 0] + a[:, :, 1], a[:, :, 0] - a[:, :, 1]], axis=2).reshape(a.shape[0], -1)
        hh *= 2
    return a


w10, w9 = F(3, 1024), F(2, 512)
case(
    'fastWalshTransform',
    'fastWalshTransform',
    'fwtBatch1',
    (3,),
    (256,),
    [Zero('f32', w10.size), Buf(w10), i32(10)],
    lambda o: close(o[0], fwt(w10), 1e-4, 1e-3),
    dyn=4096,
)
case(
    'fastWalshTransform.odd',
    'fastWalshTransform',
    'fwtBatch1',
    (2,),
    (128,),
    [Zero('f32', w9.size), Buf(w9), i32(9)],
    lambda o: close(o[0], fwt(w9), 1e-4, 1e-3),
    dyn=2048,
)
d = F(32, 64)


def dct(o):
    k = np.arange(8)
    D = np.sqrt(2 / 8) * np.cos(np.pi * (2 * k[None] + 1) * k[:, None] / 16)
    D[0] /= np.sqrt(2)
    b = d.astype(float).reshape(4, 8, 8, 8).transpose(0, 2, 1, 3)
    b = D @ b @ D.T
    return close(o[0], b.transpose(0, 2, 1, 3), 1e-4, 1e-4)


case('dct8x8', 'dct8x8', 'CUDAkernel2DCT', (2, 2), (8, 4, 2), [Zero('f32', d.size), Buf(d), i32(64)], dct)
pos = np.concatenate([F(256, 3), F(256, 1, lo=0.5, hi=1)], axis=1)
vel = F(256, 4)


def nbody(o):
    p = pos.astype(float)
    r = p[None, :, :3] - p[:, None, :3]
    d2 = (r**2).sum(-1) + 0.01
    a = (r * (p[None, :, 3] * d2**-1.5)[..., None]).sum(1)
    v = (vel[:, :3].astype(float) + a * 0.016) * 0.99
    q = p[:, :3] + v * 0.016
    return close(o[0].reshape(-1, 4)[:, :3], q, 1e-4, 1e-4) or close(
        o[2].reshape(-1, 4)[:, :3], v, 1e-3, 1e-3
    )


case(
    'nbody',
    'nbody',
    'integrateBodiesIf',
    (4,),
    (64,),
    [Zero('f32', 1024), Buf(pos), Buf(vel), u32(0), u32(256), f32(0.016), f32(0.99), i32(4)],
    nbody,
    dyn=64 * 16,
    consts={'softeningSquared': fb(0.01)},
)
vol = F(13, 40, 72)
st = F(5)


def fdtd(o):
    v = vol.astype(float)
    s = st.astype(float)
    c = v[4:9, 4:36, 4:68] * s[0]
    for i in range(1, 5):
        c = c + s[i] * (
            v[4 - i : 9 - i, 4:36, 4:68]
            + v[4 + i : 9 + i, 4:36, 4:68]
            + v[4:9, 4 - i : 36 - i, 4:68]
            + v[4:9, 4 + i : 36 + i, 4:68]
            + v[4:9, 4:36, 4 - i : 68 - i]
            + v[4:9, 4:36, 4 + i : 68 + i]
        )
    e = np.zeros(v.shape)
    e[4:9, 4:36, 4:68] = c
    return close(o[0], e)


case(
    'FDTD3d',
    'FDTD3d',
    'FiniteDiff',
    (2, 2),
    (32, 16),
    [Zero('f32', vol.size), Buf(vol), i32(64), i32(32), i32(5)],
    fdtd,
    consts={'stencil': st.tobytes()},
)
hs = F(1024)


def haar(o):
    s = hs.astype(float)
    out = np.zeros(1024)
    for l in range(9):
        s = s.reshape(-1, 2)
        n = len(s)
        out[n : 2 * n] = (s[:, 0] - s[:, 1]) / np.sqrt(2)
        s = (s[:, 0] + s[:, 1]) / np.sqrt(2)
    return close(o[1][2:], out[2:]) or close(o[2], s)


case(
    'dwtHaar1D',
    'dwtHaar1D',
    'dwtHaar1DP',
    (2,),
    (256,),
    [Buf(hs), Zero('f32', 1024), Zero('f32', 2), u32(9), u32(512), i32(256)],
    haar,
    dyn=512 * 4 + 32 * 4,
)
va, vb = F(6, 2000), F(6, 2000)
case(
    'scalarProd',
    'scalarProd',
    'scalarProdGPU',
    (4,),
    (256,),
    [Zero('f32', 6), Buf(va), Buf(vb), i32(6), i32(2000)],
    lambda o: close(o[0], (va.astype(float) * vb).sum(1), 1e-3, 1e-3),
)
opts = []
for Sp, X, Ty, R, V in [(20.0, 25.0, 1.0, 0.02, 0.3), (30.0, 25.0, 2.0, 0.02, 0.3)]:
    dt = Ty / 2048
    vdt = V * np.sqrt(dt)
    rdt = R * dt
    If = np.exp(rdt)
    Df = np.exp(-rdt)
    uu = np.exp(vdt)
    dd = np.exp(-vdt)
    pu = (If - dd) / (uu - dd)
    opts += [Sp, X, vdt, pu * Df, (1 - pu) * Df]
case(
    'binomialOptions',
    'binomialOptions',
    'binomialOptionsKernel',
    (2,),
    (128,),
    [],
    None,
    consts={'d_OptionData': fb(*opts)},
)
sh = rng.integers(0, 100, 1024, dtype=np.int32)


def shfl(o):
    e = np.cumsum(sh.reshape(4, 256), axis=1)
    return same(o[0], e) or same(o[2], e[:, -1])


case(
    'shfl_scan', 'shfl_scan', 'shfl_scan_test', (4,), (256,), [Buf(sh), i32(32), Zero('i32', 4)], shfl, dyn=32
)
J = [F(20, 96) for _ in range(5)]


def jac(o):
    w, hgt = 70, 20
    du, dv, Ix, Iy, Iz = [a[:, :w].astype(float) for a in J]

    def avg(a):
        p = np.pad(a, 1, mode='edge')
        return (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:]) / 4

    su, sv = avg(du), avg(dv)
    fr = (Ix * su + Iy * sv + Iz) / (Ix**2 + Iy**2 + np.float32(0.2))
    return close(o[9].reshape(20, 96)[:, :w], su - Ix * fr, 1e-3, 1e-4) or close(
        o[10].reshape(20, 96)[:, :w], sv - Iy * fr, 1e-3, 1e-4
    )


case(
    'HSOpticalFlow',
    'HSOpticalFlow',
    'JacobiIteration',
    (3, 4),
    (32, 6),
    [Buf(a) for a in J] + [i32(70), i32(20), i32(96), f32(0.2), Zero('f32', 1920), Zero('f32', 1920)],
    jac,
)
rng.integers(0, 2**32, 64, dtype=np.uint32)  # of a case that is not here; what follows keeps its values
dirs = np.stack([rng.integers(0, 2**32, 32, dtype=np.uint32) for _ in range(3)])


def sobol(o):
    e = np.zeros((3, 1000), np.uint32)
    for i in range(1000):
        g = i ^ (i >> 1)
        for k in range(32):
            if g >> k & 1:
                e[:, i] ^= dirs[:, k]
    return close(o[3], e * 2.3283064e-10, 1e-6, 1e-7)


case(
    'SobolQRNG',
    'SobolQRNG',
    'sobolGPU',
    (4, 3),
    (64,),
    [u32(1000), u32(3), Buf(dirs), Zero('f32', 3000)],
    sobol,
)
xf = F(16384)
case(
    'threadFenceReduction',
    'threadFenceReduction',
    'reduceSinglePassILj256ELb1',
    (8,),
    (256,),
    [Buf(xf), Zero('f32', 8), u32(16384)],
    lambda o: close(o[1][0], xf.sum(dtype=float), 1e-3, 1e-2),
    dyn=1024,
)

# --- Rodinia
M = (F(64, 64) + 8 * np.eye(64, dtype=np.float32)).astype(np.float32)


def lu(a):
    a = a.astype(float).copy()
    for i in range(len(a)):
        a[i + 1 :, i] /= a[i, i]
        a[i + 1 :, i + 1 :] -= np.outer(a[i + 1 :, i], a[i, i + 1 :])
    return a


def lud1(o):
    e = M.astype(float).copy()
    e[:16, :16] = lu(e[:16, :16])
    return close(o[0], e, 1e-4, 1e-4)


def lud2(o):
    e = M.astype(float).copy()
    dg = e[:16, :16]
    Lo = np.tril(dg, -1) + np.eye(16)
    Up = np.triu(dg)
    e[:16, 16:] = np.linalg.solve(Lo, e[:16, 16:])
    e[16:, :16] = e[16:, :16] @ np.linalg.inv(Up)
    return close(o[0], e, 1e-3, 1e-3 * np.abs(e).max())


def lud3(o):
    e = M.astype(float).copy()
    e[16:, 16:] -= e[16:, :16] @ e[:16, 16:]
    return close(o[0], e, 1e-4, 1e-4)


case('lud', 'lud', 'lud_diagonal', (1,), (16,), [Buf(M), i32(64), i32(0)], lud1)
case('lud.perimeter', 'lud', 'lud_perimeter', (3,), (32,), [Buf(M), i32(64), i32(0)], lud2)
case('lud.internal', 'lud', 'lud_internal', (3, 3), (16, 16), [Buf(M), i32(64), i32(0)], lud3)
ref = rng.integers(-5, 6, (65, 65), dtype=np.int32)
mat = rng.integers(-200, 200, (65, 65), dtype=np.int32)


def nw(o):
    e = mat.astype(int).copy()
    for bx in range(3):
        r0, c0 = 16 * (2 - bx), 16 * bx
        for i in range(r0 + 1, r0 + 17):
            for j in range(c0 + 1, c0 + 17):
                e[i, j] = max(e[i - 1, j - 1] + ref[i, j], e[i, j - 1] - 10, e[i - 1, j] - 10)
    return same(o[1], e)


case(
    'nw',
    'nw',
    'needle_cuda_shared_1',
    (3,),
    (16,),
    [Buf(ref), Buf(mat), i32(65), i32(10), i32(3), i32(4)],
    nw,
)
wall = rng.integers(0, 10, (4, 1000), dtype=np.int32)
src = rng.integers(0, 50, 1000, dtype=np.int32)


def path(o):
    s = src.astype(int)
    for i in range(4):
        p = np.pad(s, 1, mode='edge')
        s = wall[i] + np.minimum(np.minimum(p[:-2], p[1:-1]), p[2:])
    return same(o[3], s)


case(
    'pathfinder',
    'pathfinder',
    'dynproc_kernel',
    (5,),
    (256,),
    [i32(4), Buf(wall), Buf(src), Zero('i32', 1000), i32(1000), i32(5), i32(0), i32(4)],
    path,
)
tp, pw = F(50, 60, lo=320, hi=340), F(50, 60, lo=0, hi=0.01)
cap, rx, ry, rz, stp = [np.float32(v) for v in (0.5, 0.8, 0.7, 90.0, 0.01)]


def hot(o):
    t = tp.astype(float)
    for _ in range(2):
        p = np.pad(t, 1, mode='edge')
        t = t + float(stp / cap) * (
            pw
            + (p[2:, 1:-1] + p[:-2, 1:-1] - 2 * t) / float(ry)
            + (p[1:-1, 2:] + p[1:-1, :-2] - 2 * t) / float(rx)
            + (80.0 - t) / float(rz)
        )
    return close(o[3], t, 1e-5, 1e-3)


case(
    'hotspot',
    'hotspot',
    'calculate_temp',
    (5, 5),
    (16, 16),
    [
        i32(2),
        Buf(pw),
        Buf(tp),
        Zero('f32', 3000),
        i32(60),
        i32(50),
        i32(2),
        i32(2),
        f32(cap),
        f32(rx),
        f32(ry),
        f32(rz),
        f32(stp),
        f32(0.001),
    ],
    hot,
)
bi, bw = F(65), F(65, 17)


def bp(o):
    e = (bw[1:, 1:].astype(float) * bi[1:, None]).reshape(4, 16, 16).sum(1)
    return close(o[3], e, 1e-4, 1e-5)


case(
    'backprop',
    'backprop',
    'bpnn_layerforward',
    (1, 4),
    (16, 16),
    [Buf(bi), Zero('f32', 17), Buf(bw), Zero('f32', 64), i32(64), i32(16)],
    bp,
)
rv = rng.uniform(0.1, 1, (200, 4))
qv = rng.uniform(0.1, 1, 200)


def nei(b):
    return struct.pack('<iiiiq', b, 0, 0, b, b * 100)


box = b''.join(struct.pack('<iiiiqi4x', b, 0, 0, b, b * 100, 1) + nei(1 - b) + nei(0) * 25 for b in range(2))


def lava(o):
    e = np.zeros((200, 4))
    for i in range(200):
        r2 = rv[i, 0] + rv[:, 0] - rv[i, 1:] @ rv[:, 1:].T
        v = np.exp(-0.5 * r2)
        dd = rv[i, 1:] - rv[:, 1:]
        e[i, 0] = (qv * v).sum()
        e[i, 1:] = ((qv * 2 * v)[:, None] * dd).sum(0)
    return close(o[5], e, 1e-9, 1e-9)


case(
    'lavaMD',
    'lavaMD',
    'kernel_gpu_cuda',
    (2,),
    (128,),
    [
        Raw(struct.pack('<d', 0.5)),
        Raw(struct.pack('<4i5q', 0, 0, 0, 2, 2, 0, 0, 0, 0)),
        Buf(np.frombuffer(box, np.uint8)),
        Buf(rv),
        Buf(qv),
        Zero('f64', 800),
    ],
    lava,
)

# --- HeCBench
z = rng.uniform(-1, 1, (1024, 2))


def fft(o):
    e = np.fft.fft((z[:, 0] + 1j * z[:, 1]).reshape(2, 512), axis=1).ravel()
    g = o[0].reshape(-1, 2)
    return close(g[:, 0], e.real, 1e-5, 1e-5) or close(
        g[:, 1], e.imag, 1e-5, 1e-5
    )  # the twiddles use a float pi


case('fft', 'fft', 'fft1D_512', (2,), (64,), [Buf(z)], fft)
sk = rng.integers(0, 2**32, 8192, dtype=np.uint32)
digit = sk >> 4 & 15
cnt = np.stack([np.bincount(digit.reshape(4, 2048)[b], minlength=16) for b in range(4)], axis=1).astype(
    np.uint32
)  # digit, block
seed = (np.cumsum(cnt.ravel()) - cnt.ravel()).astype(np.uint32)
case(
    'sort',
    'sort',
    'bottom_scan',
    (4,),
    (256,),
    [Zero('u32', 8192), Buf(sk), Buf(seed), u64(8192), u32(4)],
    lambda o: same(o[0], sk[np.argsort(digit, kind='stable')]),
)
case(
    'sort.reduce',
    'sort',
    '6reduce',
    (4,),
    (256,),
    [Buf(sk), Zero('u32', 64), u64(8192), u32(4)],
    lambda o: same(o[1], cnt),
)
case('sort.top_scan', 'sort', 'top_scan', (1,), (256,), [Buf(cnt), u64(4)], lambda o: same(o[0], seed))
pool, chi = F(4096), F(2)


def wallace(o):
    c = np.repeat(chi, 2048)
    r = close(o[2], pool * c)
    ms = (1664525 * 12345 + 1013904223) & 0xFFFFFFFF
    e = np.zeros((2, 2048))
    for b in range(2):
        p = pool[b * 2048 : (b + 1) * 2048].astype(float)
        for t in range(256):
            s = (ms + t) & 255
            v = []
            for k in range(8):
                s = (s * 241 + 59) & 255
                v.append(p[s * 8 + k])
            ta, tb = sum(v[:4]) / 2, sum(v[4:]) / 2
            w = [v[0] - ta, v[1] - ta, ta - v[2], ta - v[3], tb - v[4], tb - v[5], v[6] - tb, v[7] - tb]
            for k in range(8):
                e[b, k * 256 + t] = w[k]
    return r or close(o[1], e, 1e-4, 1e-5)


case(
    'rngWallace',
    'rngWallace',
    'rng_wallace',
    (2,),
    (256,),
    [u32(12345), Buf(pool), Zero('f32', 4096), Buf(chi)],
    wallace,
)
ta, tb, tc, td = F(3, 64), F(3, 64) + 4, F(3, 64), F(3, 64)
ta[:, 0] = 0
tc[:, -1] = 0
tb = tb.astype(np.float32)


def tri(o):
    e = [
        np.linalg.solve(
            np.diag(tb[s].astype(float))
            + np.diag(ta[s, 1:].astype(float), -1)
            + np.diag(tc[s, :-1].astype(float), 1),
            td[s],
        )
        for s in range(3)
    ]
    return close(o[4], np.array(e), 1e-3, 1e-4)


case(
    'tridiagonal',
    'tridiagonal',
    'pcr_small_systems',
    (3,),
    (64,),
    [Buf(ta), Buf(tb), Buf(tc), Buf(td), Zero('f32', 192), i32(64), i32(3), i32(5)],
    tri,
    dyn=65 * 5 * 4,
)
tf = rng.integers(-50, 50, 1000).astype(np.float32)  # whole: the order of float atomics must not matter
case(
    'threadfence',
    'threadfence',
    '3sumPKf',
    (8,),
    (128,),
    [Buf(tf), i32(1000), Zero('u32', 1), Zero('f32', 8)],
    lambda o: close(o[3][0], tf.sum(dtype=float), 1e-3, 1e-3) or same(o[2], [0]),
)
s1 = rng.integers(0, 100, 1024 + 7, dtype=np.int32)


def stencil(o):
    p = np.concatenate([np.zeros(7, int), s1])
    return same(o[1], [p[i : i + 15].sum() for i in range(1024)])


case('stencil1d', 'stencil1d', 'stencil_1d', (4,), (256,), [Buf(s1), Zero('i32', 1024)], stencil)
ma = np.sort(rng.integers(0, 5000, 1000, dtype=np.uint32))
mb = np.sort(rng.integers(3000, 12000, 1000, dtype=np.uint32))  # lopsided: several steps to each split


def diag(o):
    g = o[4]
    x, y = g[:9].astype(int), g[9:].astype(int)
    e = np.array([b * 2000 // 8 for b in range(9)])
    r = same(x + y, e)
    if r:
        return r
    for i, j in zip(x, y):
        if i > 0 and j < 1000 and not ma[i - 1] <= mb[j]:
            return f'split {i},{j}'
        if j > 0 and i < 1000 and not mb[j - 1] < ma[i]:
            return f'split {i},{j}'


case(
    'wild.merge',
    'merge',
    'workloadDiagonals',
    (8,),
    (32,),
    [Buf(ma), u32(1000), Buf(mb), u32(1000), Zero('u32', 18)],
    diag,
    wild=True,
)
inf = np.full(1024, 2**32 - 1, np.uint32)


def split(d):
    lo, hi = max(0, d - 1000), min(d, 1000)
    while lo < hi:
        i = (lo + hi) // 2
        if ma[i] <= mb[d - i - 1]:
            lo = i + 1
        else:
            hi = i
    return lo


xs = [split(b * 2000 // 8) for b in range(9)]
dpi = np.array(xs + [b * 2000 // 8 - xx for b, xx in enumerate(xs)], np.uint32)
case(
    'wild.merge.path',
    'merge',
    'mergeSinglePath',
    (8,),
    (128,),
    [
        Buf(np.concatenate([ma, inf])),
        u32(1000),
        Buf(np.concatenate([mb, inf])),
        u32(1000),
        Buf(dpi),
        Zero('u32', 3024),
        u32(2000),
    ],
    lambda o: same(o[5][:2000], np.sort(np.concatenate([ma, mb]))),
    wild=True,
)
sb = rng.integers(-100, 100, 3 * 512, dtype=np.int32)
case(
    'scanHec',
    'scanHec',
    r'scan_bcaoIiLi512E',
    (2,),
    (256,),
    [S('i64', 3), Zero('i32', 1536), Buf(sb)],
    lambda o: same(o[1], np.cumsum(sb.reshape(3, 512), 1) - sb.reshape(3, 512)),
)
be = rng.integers(0, 1000, 4096, dtype=np.int32)


def bex(o):
    return same(o[1], be.reshape(4, 4, 256).transpose(0, 2, 1))


case(
    'blockexchange', 'blockexchange', '1kILi256', (16,), (256,), [Buf(be), Zero('i32', 4096), i32(4096)], bex
)

# --- llm.c
li, lw, lb = F(10, 256), F(256), F(256)


def ln(o):
    a = li.astype(float)
    mu = a.mean(1, keepdims=True)
    rs = 1 / np.sqrt(a.var(1, keepdims=True) + 1e-5)
    return (
        close(o[0], (a - mu) * rs * lw + lb, 1e-3, 1e-4)
        or close(o[1], mu, 1e-3, 1e-5)
        or close(o[2], rs, 1e-3, 1e-4)
    )


case(
    'layernorm',
    'layernorm',
    'layernorm_forward_kernel6',
    (2,),
    (32, 8),
    [Zero('f32', 2560), Zero('f32', 10), Zero('f32', 10), Buf(li), Buf(lw), Buf(lb), i32(10), i32(256)],
    ln,
    dyn=10 * 256 * 4,
)

# --- suspected by reading
case(
    'wild.reduce7',
    'reduction',
    r'reduce7IfLj256ELb1E',
    (8,),
    (256,),
    [Buf(x.astype(np.float32)), Zero('f32', 8), u32(16384)],
    lambda o: close(o[1], r6, 1e-5, 1),
    dyn=9 * 4,
    wild=True,
)
case(
    'wild.asyncMultiStage',
    'globalToShmemAsyncCopy',
    'MatrixMulAsyncCopyMultiStageILi16',
    (2, 2),
    (16, 16),
    mm,
    ck2,
    wild=True,
)
case(
    'wild.asyncMultiStageLargeChunk',
    'globalToShmemAsyncCopy',
    'MatrixMulAsyncCopyMultiStageLargeChunkILi16',
    (2, 2),
    (16, 16),
    mm,
    ck2,
    wild=True,
)
case(
    'wild.asyncLargeChunk',
    'globalToShmemAsyncCopy',
    'MatrixMulAsyncCopyLargeChunkILi16',
    (2, 2),
    (16, 16),
    mm,
    ck2,
    wild=True,
)
sr = F(32, 32, lo=0.5, hi=1)
case(
    'wild.srad_v2',
    'srad_v2',
    'srad_cuda_1',
    (2, 2),
    (16, 16),
    [Zero('f32', 1024) for _ in range(4)] + [Buf(sr), Zero('f32', 1024), i32(32), i32(32), f32(0.05)],
    None,
    wild=True,
)
case(
    'wild.srad_v2.2',
    'srad_v2',
    'srad_cuda_2',
    (2, 2),
    (16, 16),
    [Buf(F(1024)) for _ in range(4)]
    + [Buf(sr), Buf(F(1024, lo=0, hi=1)), i32(32), i32(32), f32(0.5), f32(0.05)],
    None,
    wild=True,
)
hd = F(3000, lo=0, hi=0.999)
case(
    'wild.histogram1024',
    'histogram1024',
    'histogram1024Kernel',
    (2,),
    (96,),
    [Zero('u32', 1024), Buf(hd), f32(0), f32(1), i32(3000)],
    lambda o: same(o[0].sum(), 3000),
    wild=True,
)
pwt = rng.uniform(0.1, 1, 1024)
case(
    'wild.particlefilter',
    'particlefilter',
    'normalize_weights',
    (2,),
    (512,),
    [
        Buf(pwt),
        i32(1024),
        Buf(np.array([pwt.sum(), 0.0])),
        Zero('f64', 1024),
        Zero('f64', 1024),
        Buf(np.arange(1024, dtype=np.int32) * 77 + 1),
    ],
    lambda o: close(o[3], np.cumsum(pwt / pwt.sum()), 1e-9, 1e-9)
    or close(np.diff(o[4]), np.full(1023, 1 / 1024), 1e-6, 1e-9),
    wild=True,
)
deg = 6
nn = 600
edges = rng.integers(0, nn, nn * deg, dtype=np.int32)
nodes = np.stack([np.arange(nn) * deg, np.full(nn, deg)], 1).astype(np.int32)
fr = (rng.random(nn) < 0.3).astype(np.uint8)
vis = np.maximum(fr, (rng.random(nn) < 0.1).astype(np.uint8))
case(
    'wild.bfs',
    'bfs',
    '6KernelP4',
    (2,),
    (512,),
    [Buf(nodes), Buf(edges), Buf(fr), Zero('u8', nn), Buf(vis), Zero('i32', nn), i32(nn)],
    None,
    wild=True,
)
case(
    'wild.bfs2',
    'bfs',
    '7Kernel2',
    (2,),
    (512,),
    [Zero('u8', nn), Buf(fr), Zero('u8', nn), Zero('u8', 1), i32(nn)],
    None,
    wild=True,
)
bs = rng.integers(-50, 50, 256, dtype=np.int32)
case(
    'wild.bscan',
    'bscan',
    'binary_scan',
    (1,),
    (256,),
    [Zero('i32', 256), Buf(bs)],
    lambda o: same(o[0], np.cumsum(bs > 0) - (bs > 0)),
    wild=True,
)
rp = np.arange(0, 201 * 20, 20, dtype=np.int32)[:201]
ci = rng.integers(0, 200, 4000, dtype=np.int32)
vv = F(4000)
xv = F(200)
case(
    'wild.lanczos',
    'lanczos',
    'warp_multiply_kernelIf',
    (25,),
    (256,),
    [i32(32), i32(200), i32(0), Buf(rp), Buf(ci), Buf(vv), Buf(xv), Zero('f32', 200)],
    lambda o: close(o[7], (vv.astype(float) * xv[ci]).reshape(200, 20).sum(1), 1e-3, 1e-3),
    wild=True,
)
slack = rng.integers(1, 100000, 65536, dtype=np.int32)
case(
    'wild.hungarian',
    'hungarian',
    'calc_min_in_rows',
    (4,),
    (256,),
    [],
    None,
    consts={'slack': slack.tobytes()},
    wild=True,
)
case(
    'wild.blockexchange',
    'blockexchange',
    '1kILi256',
    (2,),
    (256,),
    [Buf(be), Zero('i32', 4096), i32(4096)],
    bex,
    wild=True,
)
ssum, ssum2 = F(900), F(900)
case(
    'wild.srad_v1',
    'srad_v1',
    '6reducelii',
    (2,),
    (512,),
    [S('i64', 900), i32(900), i32(1), Buf(ssum), Buf(ssum2)],
    lambda o: close([o[3][0] + o[3][512]], [ssum.sum(dtype=float)], 1e-3, 1e-3),
    wild=True,
)
s2 = F(512 * 5)
p2 = s2[::512][:5]
case(
    'wild.srad_v1.second',
    'srad_v1',
    '6reducelii',
    (1,),
    (512,),
    [S('i64', 2560), i32(5), i32(512), Buf(s2), Buf(s2)],
    lambda o: close([o[3][0]], [p2.sum(dtype=float)], 1e-3, 1e-3),
    wild=True,
)
lo_ = [F(16, 256) for _ in range(2)]
mu_ = lo_[1].mean(1)
rs_ = 1 / np.sqrt(lo_[1].var(1) + 1e-5)


def lnb(o):
    do, a, wv = lo_[0].astype(float), lo_[1].astype(float), lw.astype(float)
    nb = (a - mu_[:, None]) * rs_[:, None]
    dn = do * wv
    di = (dn - dn.mean(1, keepdims=True) - nb * (dn * nb).mean(1, keepdims=True)) * rs_[:, None]
    return (
        close(o[2], do.sum(0), 1e-3, 1e-3)
        or close(o[1], (do * nb).sum(0), 1e-3, 1e-3)
        or close(o[0], di, 1e-2, 1e-3)
    )


case(
    'wild.layernorm_backward',
    'layernorm',
    'layernorm_backward_kernel10',
    (2,),
    (128,),
    [
        Zero('f32', 4096),
        Zero('f32', 256),
        Zero('f32', 256),
        Zero('f32', 32 + 2 * 2 * 256),
        Buf(lo_[0]),
        Buf(lo_[1]),
        Buf(lw),
        Buf(mu_.astype(np.float32)),
        Buf(rs_.astype(np.float32)),
        i32(4),
        i32(4),
        i32(256),
    ],
    lnb,
    dyn=(2 * 256 + 2 * (128 - 32) * 4) * 4,
    wild=True,
)

bv = F(5000, lo=0, hi=10)
case(
    'bincount',
    'bincount',
    'bincountIifiL16DeviceMemoryType0',
    (4,),
    (256,),
    [Zero('i32', 64), Buf(bv), i32(64), f32(0), f32(10), i32(5000), i32(64)],
    lambda o: same(o[0].sum(), 5000)
    or (None if np.abs(o[0] - np.histogram(bv, 64, (0, 10))[0]).max() <= 2 else 'bins'),
    dyn=256,
)
nl = np.where(rng.random(2500) < 0.4, -1, 5).astype(np.int32)
fam = rng.integers(200, 300, 10, dtype=np.int32)


def dam(o):
    e = np.array([(nl[b * 256 : (b + 1) * 256] != -1).sum() for b in range(10)])
    return same(o[3], e) or close(o[4], 1 - e / fam, 1e-12, 1e-12)


case(
    'damage',
    'damage',
    'damage_of_nodei',
    (10,),
    (256,),
    [i32(2500), Buf(nl), Buf(fam), Zero('i32', 10), Zero('f64', 10)],
    dam,
    dyn=1024,
)
case(
    'damage.cub',
    'damage',
    'damage_of_node_opt',
    (10,),
    (256,),
    [i32(2500), Buf(nl), Buf(fam), Zero('i32', 10), Zero('f64', 10)],
    dam,
)
wi = F(8, 3, 100)
case(
    'wedford',
    'wedford',
    'welford_kernel',
    (3,),
    (32, 4),
    [Buf(wi), Zero('f32', 3), Zero('f32', 3), i32(8), i32(3), i32(100)],
    lambda o: close(o[1], wi.astype(float).transpose(1, 0, 2).reshape(3, -1).mean(1), 1e-3, 1e-5)
    or close(o[2], wi.astype(float).transpose(1, 0, 2).reshape(3, -1).var(1), 1e-3, 1e-5),
)
case(
    'wild.romberg',
    'romberg',
    'romberg',
    (2,),
    (64,),
    [S('f64', 0), S('f64', 15), Zero('f64', 2)],
    lambda o: close(o[2].sum(), (np.exp(15) * (np.sin(15) - np.cos(15)) + 1) / 2, 1e-9, 1e-6),
    dyn=17 * 64 * 8,
    wild=True,
)
ft = np.arange(256, dtype=np.float64).view(np.uint64)
case(
    'wild.fpdc',
    'fpdc',
    'CompressionKernel',
    (2,),
    (32,),
    [i32(1), Buf(ft), Zero('u8', 3000), Buf(np.array([128, 256], np.int32)), Zero('i32', 2)],
    None,
    wild=True,
)
case(
    'fsm',
    'fsm',
    'FSMKernel',
    (2,),
    (64,),
    [
        i32(200),
        Buf(rng.integers(0, 65536, 200, dtype=np.uint16)),
        Zero('i32', 19),
        Zero('u32', 128),
        Zero('u8', 32),
        Zero('u8', 2),
        Zero('i32', 2),
        Zero('i32', 2),
        Zero('i32', 2),
    ],
    None,
)
nrm = rng.normal(size=(600, 3))
nrm /= np.linalg.norm(nrm, axis=1, keepdims=True)
surf = np.concatenate(
    [rng.uniform(-5, 5, (600, 2)), rng.uniform(0.3, 5, (600, 1)), nrm, rng.uniform(0.5, 2, (600, 1))], 1
).astype(np.float32)


def surfel(o):
    sx = surf.astype(float)
    e = np.zeros((32, 32))
    for y in range(32):
        for x in range(32):
            r = np.array([x - 15.5, y - 15.5, 0.02])
            al = (sx[:, :3] * sx[:, 3:6]).sum(1) / (sx[:, 3:6] @ r)
            pt = r[None] * al[:, None] - sx[:, :3]
            t = r[2] * al
            ok = (pt**2).sum(1) < sx[:, 6]
            m = t[ok].min() if ok.any() else 1e20
            e[y, x] = 0 if m > 100 else m
    a = o[5].reshape(32, 32)
    bad = (np.abs(a - e) > 1e-2 * np.maximum(1, np.abs(e))).sum()
    return None if bad <= 3 else f'{bad} of 1024 differ'


case(
    'wild.surfel',
    'surfel',
    'surfel_render_tile',
    (2, 2),
    (16, 16),
    [Buf(surf), i32(600), f32(0.02), i32(32), i32(32), Zero('f32', 1024)],
    surfel,
    wild=True,
)
case(
    'wild.phmm',
    'phmm',
    'pair_HMM',
    (4,),
    (2,),
    [
        i32(3),
        i32(5),
        Buf(rng.uniform(0, 1, 12 * 41 * 4 * 2)),
        Buf(rng.uniform(0, 1, 12 * 4 * 2 * 3)),
        Buf(rng.uniform(0, 1, 12 * 41 * 4 * 2)),
        Buf(rng.uniform(0, 1, 2 * 2 * 4 * 2)),
        Buf(rng.uniform(0, 1, 8)),
        Zero('f64', 12 * 41 * 4 * 2),
    ],
    None,
    wild=True,
)
spk = rng.integers(0, 2**32, 1024, dtype=np.uint32)
case(
    'wild.split',
    'split',
    'radixSortBlocks',
    (2,),
    (128,),
    [Buf(spk), Zero('u32', 1024), u32(4), u32(0)],
    lambda o: same(o[1], np.concatenate([b[np.argsort(b & 15, kind='stable')] for b in spk.reshape(2, 512)])),
    wild=True,
)
cx, cy = F(100, lo=0, hi=1000), F(100, lo=0, hi=1000)
case(
    'wild.tsp',
    'tsp',
    'TwoOpt',
    (2,),
    (64,),
    [
        i32(100),
        Buf(cx),
        Buf(cy),
        Zero('i32', 2 * ((3 * 100 + 2 + 31) // 32 * 32)),
        Zero('i32', 1),
        Buf(np.array([2**31 - 1], np.int32)),
    ],
    lambda o: None if 5000 < o[5][0] < 12000 else f'tour {o[5][0]}',
    dyn=256,
    wild=True,
)
mdist = rng.uniform(0.1, 1, (3, 700)).astype(np.float32)
smp = np.array([0.1, 0.5, 0.9], np.float32)


def mult(o):
    c = np.cumsum(mdist.astype(float), 1) / mdist.sum(1, keepdims=True, dtype=float)
    e = [np.searchsorted(c[i], smp[i]) for i in range(3)]
    return None if np.abs(o[0] - e).max() <= 1 else f'{o[0]} expected {e}'


case(
    'wild.multinomial',
    'multinomial',
    'sampleMultinomialOnce',
    (3,),
    (256,),
    [Zero('i32', 3), i32(3), i32(700), Buf(smp), Buf(mdist), i32(700), i32(1)],
    mult,
    wild=True,
)

case(
    'wild.sosfil',
    'sosfil',
    'sosfiltIf',
    (2,),
    (64,),
    [
        i32(2),
        i32(200),
        i32(64),
        i32(2),
        Buf(np.tile(np.float32([0.1, 0.05, 0.05, 1, 0.2, 0.1]), 64)),
        Zero('f32', 2 * 64 * 2),
        Buf(F(400)),
    ],
    None,
    dyn=(64 + 128 + 384) * 4,
    wild=True,
)
case(
    'wild.floydwarshall2',
    'floydwarshall2',
    'FWrem_64',
    (1,),
    (1024,),
    [
        Buf(rng.integers(1, 1000, 16384, dtype=np.int32)),
        i32(128),
        Buf(rng.integers(1, 1000, 16384, dtype=np.int32)),
        Buf(rng.integers(1, 1000, 16384, dtype=np.int32)),
        i32(0),
        i32(1),
    ],
    None,
    wild=True,
)
case(
    'wild.medianfilter',
    'medianfilter',
    'ckMedian',
    (3, 4),
    (16, 4),
    [Buf(rng.integers(0, 256, 40 * 16 * 4, dtype=np.uint8)), Zero('u32', 40 * 16), i32(18), i32(40), i32(16)],
    None,
    dyn=18 * 6 * 4,
    wild=True,
)
if __name__ == '__main__':
    gen()
    print(
        len(CASES),
        'cases,',
        len([c for c in CASES.values() if not c['wild']]),
        'not wild,',
        len({n.split('.')[0] for n, c in CASES.items() if not c['wild']}),
        'programs',
    )
