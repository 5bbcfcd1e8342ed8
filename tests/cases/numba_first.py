# Numba's first programs, with nvJitLink and without. A barrier that is left out, and a sum that is not atomic, are told with
# their lines of Python.
#
# needs: numba_cuda numpy
# run: emulate -- PROGRAM add
# prints: right
# run: emulate --orders 0..1 -- PROGRAM total
# prints: right
# run: emulate -- PROGRAM no_barrier
# tells: race in shared memory
# tells: numba_first.py:41
# exit: 1
# run: emulate -- PROGRAM histogram
# tells: race in global memory
# tells: numba_first.py:52
# exit: 1
import sys

import numpy as np
from numba import cuda, float32

N, BLOCK = 1000, 128


@cuda.jit(lineinfo=True)
def add(a, b, c):
    i = cuda.grid(1)
    if i < c.size:
        c[i] = a[i] + b[i]


@cuda.jit(lineinfo=True)
def total(a, out, barrier):
    s = cuda.shared.array(BLOCK, float32)
    t = cuda.threadIdx.x
    s[t] = a[cuda.grid(1)]
    cuda.syncthreads()
    k = BLOCK // 2
    while k > 0:
        if t < k:
            s[t] += s[t + k]
        if barrier:
            cuda.syncthreads()
        k //= 2
    if t == 0:
        out[cuda.blockIdx.x] = s[0]


@cuda.jit(lineinfo=True)
def histogram(a, bins):
    i = cuda.grid(1)
    bins[a[i]] += 1


what = sys.argv[1]
if what == "add":
    a = np.arange(N, dtype=np.float32)
    c = np.zeros_like(a)
    add[(N + BLOCK - 1) // BLOCK, BLOCK](a, 2 * a, c)
    print("right" if (c == 3 * a).all() else "wrong")
elif what == "histogram":
    histogram[2, BLOCK]((np.arange(2 * BLOCK) % 16).astype(np.int32), np.zeros(16, np.int32))
    cuda.synchronize()
else:
    out = np.zeros(2, np.float32)
    total[2, BLOCK](np.ones(2 * BLOCK, np.float32), out, what == "total")
    print("right" if (out == BLOCK).all() else "wrong")
