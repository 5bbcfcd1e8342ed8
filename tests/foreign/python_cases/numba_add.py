# Numba, which links by nvJitLink with optimisation where that is installed.
import numpy as np
from numba import cuda


@cuda.jit
def add(a, b, c):
    i = cuda.grid(1)
    if i < c.size:
        c[i] = a[i] + b[i]


n = 1000
a = np.arange(n, dtype=np.float32)
c = np.zeros_like(a)
add[(n + 127) // 128, 128](a, 2 * a, c)
print("right" if (c == 3 * a).all() else "wrong")
