# Numba's programs whose device code the driver links, where there is no nvJitLink: a function in CUDA C++ (Numba's own for half
# precision are, too), and the meeting of a grid's blocks, which is a function of libcudadevrt. A function that is nowhere is an
# error of the linker.
#
# needs: numba_cuda numpy
# run: emulate -- PROGRAM function
# prints: right
# run: emulate -- PROGRAM half
# prints: right
# run: emulate -- PROGRAM grid
# prints: right
# run: emulate -- PROGRAM missing
# tells: undefined reference to `missing`
# prints: CUDAError
import sys

import numpy as np
from numba import cuda

SOURCE = cuda.CUSource('extern "C" __device__ int triple(int *result, int x) { *result = 3 * x; return 0; }', name="triple.cu")
triple = cuda.declare_device("triple", "int32(int32)", link=SOURCE)
missing = cuda.declare_device("missing", "int32(int32)")


@cuda.jit
def function(x, y):
    i = cuda.grid(1)
    y[i] = triple(x[i])


@cuda.jit
def half(x, y):
    i = cuda.grid(1)
    y[i] = cuda.fp16.hsqrt(x[i])


@cuda.jit
def grid(x, y):
    i = cuda.grid(1)
    y[i] = x[i]
    cuda.cg.this_grid().sync()
    x[i] = y[y.size - 1 - i]


@cuda.jit
def lacks(x, y):
    y[0] = missing(x[0])


what = sys.argv[1]
x = np.arange(128, dtype=np.float16 if what == "half" else np.int32)
y = np.zeros_like(x)
if what == "function":
    function[4, 32](x, y)
    print("right" if (y == 3 * x).all() else "wrong")
elif what == "half":
    half[4, 32](x, y)
    print("right" if np.allclose(y, np.sqrt(x), rtol=2e-3) else "wrong")
elif what == "grid":
    grid[4, 32](x, y)
    print("right" if (x == y[::-1]).all() else "wrong")
else:
    try:
        lacks[1, 1](x, y)
    except Exception as error:
        print(type(error).__name__)
