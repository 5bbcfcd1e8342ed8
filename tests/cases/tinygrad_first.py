# tinygrad's first programs, by its PTX: arange, sums, a product of matrices, a softmax, a gradient, a sort.
#
# needs: tinygrad numpy
# run: emulate -- env DEV=CUDA:PTX CACHELEVEL=0 PROGRAM
# tells: (?m)^arange: right$
# tells: (?m)^sum: right$
# tells: (?m)^product: right$
# tells: (?m)^softmax: right$
# tells: (?m)^gradient: right$
# tells: (?m)^sort: right$
# tells: no fault
import numpy as np
from tinygrad import Tensor


def tell(name, found, expected):
    right = np.allclose(found.numpy(), expected, rtol=1e-4, atol=1e-5)
    print(f"{name}: {'right' if right else 'wrong'}", flush=True)


random = np.random.default_rng(1)
a, b = (random.standard_normal((32, 32), dtype=np.float32) for _ in range(2))
x, y = Tensor(a), Tensor(b)
# A tensor without data is no device's until it meets one that has.
tell("arange", Tensor.arange(100) + Tensor(np.ones(100, np.int32)), np.arange(1, 101))
tell("sum", x.sum(axis=1), a.sum(axis=1))
tell("product", x @ y, a @ b)
powers = np.exp(a - a.max(axis=1, keepdims=True))
tell("softmax", x.softmax(), powers / powers.sum(axis=1, keepdims=True))
weights = Tensor(b)
(x @ weights).relu().sum().backward()
tell("gradient", weights.grad, a.T @ (a @ b > 0).astype(np.float32))
values = random.standard_normal(64, dtype=np.float32)
tell("sort", Tensor(values).sort()[0], np.sort(values))
