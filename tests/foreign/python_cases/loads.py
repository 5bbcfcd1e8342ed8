"""A kernel of a cubin on two arrays of numbers, by the driver's functions. Not a case but a part of some."""
import ctypes

import numpy as np
from cuda.bindings import driver


def done(result):
    """The value of a call that has not failed."""
    assert result[0] == 0, result
    return result[1] if len(result) > 1 else None


def doubles(cubin, name, threads, shared=0, blocks=8, n=1000, pointers_behind=0):
    """Whether the kernel writes the sum of an array and itself into a third."""
    done(driver.cuInit(0))
    done(driver.cuCtxSetCurrent(done(driver.cuDevicePrimaryCtxRetain(done(driver.cuDeviceGet(0))))))
    kernel = done(driver.cuModuleGetFunction(done(driver.cuModuleLoadData(cubin)), name.encode()))
    a = np.arange(n, dtype=np.float32)
    arrays = [int(done(driver.cuMemAlloc(a.nbytes))) for _ in range(3)]
    for array in arrays[:2]:
        done(driver.cuMemcpyHtoD(array, a.ctypes.data, a.nbytes))
    kinds = [ctypes.c_void_p] * 3 + [ctypes.c_int] + [ctypes.c_void_p] * pointers_behind
    arguments = (tuple(arrays) + (n,) + (0,) * pointers_behind, tuple(kinds))
    done(driver.cuLaunchKernel(kernel, blocks, 1, 1, threads, 1, 1, shared, 0, arguments, 0))
    done(driver.cuMemcpyDtoH(a.ctypes.data, arrays[2], a.nbytes))
    return (a == 2 * np.arange(n)).all()
