# Of Numba's debug information, a fault's message takes the name of the kernel's argument.
#
# needs: numba_cuda numpy
# run: emulate -- PROGRAM
# exit: 1
# tells: buffer `allocation 2` is the kernel's parameter `weights`
import numpy as np
from numba import cuda


@cuda.jit(debug=True, opt=False)
def scale(values, weights, n):
    i = cuda.grid(1)
    if i <= n:
        values[i] *= weights[i]


values = cuda.to_device(np.zeros(512, np.float32))
weights = cuda.to_device(np.zeros(256, np.float32))
scale[2, 160](values, weights, 256)
cuda.synchronize()
