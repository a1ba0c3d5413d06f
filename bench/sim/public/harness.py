"""What a case of cases.py is made of: a kernel of somebody's program, its arguments, and what NumPy says they give."""

import re
import struct

import numpy as np

CASES = {}
T = {
    'i8': np.int8,
    'u8': np.uint8,
    'i16': np.int16,
    'u16': np.uint16,
    'f16': np.float16,
    'i32': np.int32,
    'u32': np.uint32,
    'f32': np.float32,
    'i64': np.int64,
    'u64': np.uint64,
    'f64': np.float64,
}
NAME = {np.dtype(v): k for k, v in T.items()}


class Buf:  # buffer with contents
    def __init__(self, a):
        self.a = np.ascontiguousarray(a)


class Zero:  # zeroed buffer
    def __init__(self, t, n):
        self.t, self.n = t, n


class S:  # scalar
    def __init__(self, t, v):
        self.t, self.v = t, v


def i32(v):
    return S('i32', int(v))


def u32(v):
    return S('u32', int(v))


def f32(v):
    return S('f32', repr(float(np.float32(v))))


def u64(v):
    return S('u64', int(v))


class Raw:
    def __init__(self, b):
        self.b = b


def case(name, ptx, entry, grid, block, args, check=None, dyn=0, consts=None, wild=False):
    CASES[name] = dict(
        ptx=ptx,
        entry=entry,
        grid=grid,
        block=block,
        args=args,
        check=check,
        dyn=dyn,
        consts=consts or {},
        wild=wild,
    )


def patch(text, consts):
    for n, b in consts.items():
        m = re.search(r'(\.(?:const|global) \.align \d+ )\.(\w+) (\w*%s\w*)(\[\d+\])?( = [^;]*)?;' % n, text)
        assert m, n
        if m.group(2) == 'b8':
            size = int(m.group(4)[1:-1])
            b = b + bytes(0)
            assert len(b) <= size, (n, len(b), size)
            # the rest stays zero
            rep = '%s.b8 %s[%d] = {%s};' % (m.group(1), m.group(3), size, ', '.join(map(str, b)))
        else:
            rep = '%s.%s %s = %s;' % (
                m.group(1),
                m.group(2),
                m.group(3),
                (
                    ('0f%08X' % struct.unpack('<I', b)[0])
                    if m.group(2) == 'f32'
                    else str(struct.unpack('<I', b)[0])
                ),
            )
        text = text.replace(m.group(0), rep)
    return text


def write_launch(name, folder, ptx_folder):
    """Writes NAME.ptx (constants filled in), NAME.sim and its arrays; False: that PTX is not there."""
    c = CASES[name]
    path = ptx_folder / f"{c['ptx']}.ptx"
    if not path.exists():
        return False
    text = path.read_text()
    kernels = [e for e in re.findall(r'\.entry (\w+)', text) if re.search(c['entry'], e)]
    if not kernels:
        return False
    (folder / f'{name}.ptx').write_text(patch(text, c['consts']))
    parts = [
        f'--kernel {kernels[0]}',
        '--grid ' + ','.join(map(str, c['grid'])),
        '--block ' + ','.join(map(str, c['block'])),
    ]
    if c['dyn']:
        parts.append(f"--dynamic-shared {c['dyn']}")
    for k, a in enumerate(c['args']):
        if isinstance(a, Buf):
            np.save(folder / f'{name}.{k}.npy', a.a.reshape(-1))
            parts.append(f'--arg buf:{NAME[a.a.dtype]}:{a.a.size}:{name}.{k}.npy')
        elif isinstance(a, Zero):
            parts.append(f'--arg buf:{a.t}:{a.n}:zero')
        elif isinstance(a, Raw):
            parts.append(f'--arg bytes:{len(a.b)}:{a.b.hex()}')
        else:
            parts.append(f'--arg {a.t}:{a.v}')
    (folder / f'{name}.sim').write_text(' \\\n  '.join(parts) + '\n')
    return True


def close(a, b, rtol=1e-4, atol=1e-5):
    a = np.asarray(a, np.float64).ravel()
    b = np.asarray(b, np.float64).ravel()
    if a.shape != b.shape:
        return f'shape {a.shape} {b.shape}'
    bad = ~np.isclose(a, b, rtol=rtol, atol=atol)
    return (
        None
        if not bad.any()
        else f'{bad.sum()} of {a.size} differ, first at {int(np.argmax(bad))}: {a[np.argmax(bad)]} expected {b[np.argmax(bad)]}'
    )


def same(a, b):
    a = np.asarray(a).ravel()
    b = np.asarray(b).ravel()
    if a.shape != b.shape:
        return f'shape {a.shape} {b.shape}'
    bad = a != b
    return (
        None
        if not bad.any()
        else f'{bad.sum()} of {a.size} differ, first at {int(np.argmax(bad))}: {a[np.argmax(bad)]} expected {b[np.argmax(bad)]}'
    )


def outs(name):
    return [k for k, a in enumerate(CASES[name]['args']) if isinstance(a, (Buf, Zero))]
