# Taichi's first programs: a field that a kernel fills, a sum by atomics, an array, and the Julia set of its README, small.
# Its runtime aligns to 4096 bytes within the memory that it has asked for.
#
# needs: taichi
# run: emulate -- PROGRAM
# tells: (?m)^field: right$
# tells: (?m)^sum: right$
# tells: (?m)^array: right$
# tells: (?m)^Julia set: right$
# tells: no fault
import numpy as np
import taichi as ti

ti.init(arch=ti.cuda, offline_cache=False)
N = 1000
squares = ti.field(ti.i32, shape=N)
total = ti.field(ti.i32, shape=())
pixels = ti.field(ti.f32, shape=(64, 32))


@ti.kernel
def fill():
    for i in squares:
        squares[i] = i * i % 1000


@ti.kernel
def add():
    for i in squares:
        total[None] += squares[i]


@ti.kernel
def double(x: ti.types.ndarray()):
    for i in range(x.shape[0]):
        x[i] *= 2.0


@ti.func
def square(z):
    return ti.Vector([z[0] * z[0] - z[1] * z[1], 2 * z[0] * z[1]])


@ti.kernel
def julia():
    for i, j in pixels:
        c, z = ti.Vector([-0.8, 0.2]), ti.Vector([i / 32 - 1, j / 32 - 0.5]) * 2
        steps = 0
        while z.norm() < 20 and steps < 50:
            z = square(z) + c
            steps += 1
        pixels[i, j] = steps


def tell(name, right):
    print(f"{name}: {'right' if right else 'wrong'}", flush=True)


fill()
expected = np.arange(N) ** 2 % 1000
tell("field", (squares.to_numpy() == expected).all())
add()
tell("sum", total[None] == expected.sum())
x = np.arange(100, dtype=np.float32)
double(x)
tell("array", (x == 2 * np.arange(100)).all())
julia()
steps = pixels.to_numpy()
tell("Julia set", steps.min() >= 1 and steps.max() <= 50 and len(np.unique(steps)) > 5)
