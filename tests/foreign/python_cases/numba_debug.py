# Numba without optimisation at link time: nvJitLink assembles one text.
import numpy as np
from numba import cuda


@cuda.jit(debug=True, opt=False)
def twice(a):
    a[cuda.grid(1)] *= 2


a = np.arange(128, dtype=np.float32)
twice[1, 128](a)
print("right" if (a == 2 * np.arange(128)).all() else "wrong")
