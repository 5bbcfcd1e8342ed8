# The last thread reads behind the array.
# tells: out of bounds.*index 128
# tells: numba_out_of_bounds.py:12
# tells: CUDA_ERROR_ILLEGAL_ADDRESS
import numpy as np
from numba import cuda


@cuda.jit(lineinfo=True)
def shift(a, b):
    i = cuda.grid(1)
    b[i] = a[i + 1]


a = cuda.to_device(np.arange(128, dtype=np.int32))
b = cuda.device_array(128, np.int32)
shift[1, 128](a, b)
b.copy_to_host()
