# A function in CUDA C++ that is linked to a kernel in Python.
import numpy as np
from numba import cuda

SOURCE = 'extern "C" __device__ int plus_one(int* to, int x) { *to = x + 1; return 0; }'
plus_one = cuda.declare_device("plus_one", "int32(int32)", link=cuda.CUSource(SOURCE))


@cuda.jit
def fill(a):
    i = cuda.grid(1)
    a[i] = plus_one(i)


a = np.zeros(128, dtype=np.int32)
fill[1, 128](a)
print("right" if (a == np.arange(128) + 1).all() else "wrong")
