"""The sum of each 256 values, by a kernel of Numba."""
import numpy as np
from numba import cuda, int32

THREADS = 256


# With `lineinfo` messages name the lines of this file.
@cuda.jit(lineinfo=True)
def block_sum(values, sums):
    partial = cuda.shared.array(THREADS, int32)
    thread = cuda.threadIdx.x
    partial[thread] = values[cuda.grid(1)]
    half = THREADS // 2
    while half > 0:
        cuda.syncthreads()
        if thread < half:
            partial[thread] += partial[thread + half]
        half //= 2
    if thread == 0:
        sums[cuda.blockIdx.x] = partial[0]


@cuda.jit(lineinfo=True)
def block_sum_in_a_hurry(values, sums):
    partial = cuda.shared.array(THREADS, int32)
    thread = cuda.threadIdx.x
    partial[thread] = values[cuda.grid(1)]
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if thread < half:
            partial[thread] += partial[thread + half]
        half //= 2
    if thread == 0:
        sums[cuda.blockIdx.x] = partial[0]


def block_sums(values, kernel=block_sum):
    """The sums, of an array of 32-bit integers whose length is a multiple of 256."""
    sums = cuda.device_array(len(values) // THREADS, np.int32)
    kernel[len(sums), THREADS](cuda.to_device(values), sums)
    return sums.copy_to_host()
