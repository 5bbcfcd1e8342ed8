# CuPy's first programs. The elements of argmax are structures with padding, which CuPy copies.
#
# needs: cupy
# run: emulate -- PROGRAM
# tells: (?m)^arange: right$
# tells: (?m)^kernel: right$
# tells: (?m)^argmax: right$
# tells: (?m)^argmin: right$
# tells: (?m)^sort: right$
# tells: no fault
import cupy as cp
import numpy as np


def tell(name, right):
    print(f"{name}: {'right' if right else 'wrong'}", flush=True)


tell("arange", (cp.arange(10) + 1).get().tolist() == list(range(1, 11)))
reverse = cp.RawKernel(
    'extern "C" __global__ void reverse(const float *x, float *y) { y[threadIdx.x] = x[99 - threadIdx.x]; }', "reverse"
)
y = cp.zeros(100, cp.float32)
reverse((1,), (100,), (cp.arange(100, dtype=cp.float32), y))
tell("kernel", (y.get() == np.arange(100)[::-1]).all())
a = np.random.default_rng(1).standard_normal(5000)
tell("argmax", int(cp.asarray(a).argmax()) == a.argmax())
tell("argmin", int(cp.asarray(a).reshape(50, 100).argmin(axis=1).get()[7]) == a.reshape(50, 100).argmin(axis=1)[7])
tell("sort", (cp.sort(cp.asarray(a)).get() == np.sort(a)).all())
