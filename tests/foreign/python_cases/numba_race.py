# A barrier is missing in a sum by halves.
# tells: race in shared memory
# tells: numba_race.py:18
# tells: earlier store at .*numba_race.py:18
import numpy as np
from numba import cuda, float32


@cuda.jit(lineinfo=True)
def total(a, out):
    s = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    s[t] = a[cuda.grid(1)]
    cuda.syncthreads()
    k = 64
    while k > 0:
        if t < k:
            s[t] += s[t + k]
        k //= 2
    if t == 0:
        out[cuda.blockIdx.x] = s[0]


total[2, 128](np.ones(256, dtype=np.float32), np.zeros(2, dtype=np.float32))
