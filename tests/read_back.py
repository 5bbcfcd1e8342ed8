"""Reads the files that `harness run` writes with readers that are not this project's: numpy (.npy) and VTK through
pyvista (.vti, .pvd); and compares what they find with the problems' definitions, computed here anew.

Usage: read_back.py poisson.npy poisson.vti N K        the same N^3 field after K iterations from 0, twice
       read_back.py wave3d.pvd N_X N_Y N_Z DX DT STEP...  fields from rest after these timesteps
"""

import sys
from pathlib import Path

import numpy as np
import pyvista


def expect(condition, what):
    if not condition:
        sys.exit(f"read_back.py: {what}")


def image(path):
    """The field of a .vti file with axes z, y, x, and its grid."""
    grid = pyvista.read(path)
    expect(isinstance(grid, pyvista.ImageData), f"{path} is no image data")
    return grid, field(grid, path)


def field(grid, path):
    expect(grid.array_names == ["u"], f"{path} has arrays {grid.array_names}, not u alone")
    values = np.asarray(grid.point_data["u"])
    expect(values.dtype == np.float64, f"{path} holds {values.dtype}")
    # VTK runs through x fastest.
    return values.reshape(tuple(reversed(grid.dimensions)))


def jacobi(n, iterations):
    """The definition of the problem, in whole arrays: axes z, y, x."""
    points = np.linspace(-1.0, 1.0, n)
    z, y, x = np.meshgrid(points, points, points, indexing="ij")
    # Grid points on a border of the source belong to it, rounding aside.
    eps = 1e-9
    inside = (x <= -3 / 8 + eps) & (y <= -1 / 2 + eps) & (z >= -2 / 3 - eps) & (z <= eps)
    f = np.where(inside, 200.0, 0.0)
    u = np.zeros((n, n, n))
    for wall in (np.s_[0], np.s_[-1]):
        u[wall, :, :] = u[:, wall, :] = u[:, :, wall] = 20.0
    u[:, 0, :] = 0.0
    h2 = (2.0 / (n - 1)) ** 2
    for _ in range(iterations):
        around = (
            u[1:-1, 1:-1, :-2] + u[1:-1, 1:-1, 2:]
            + u[1:-1, :-2, 1:-1] + u[1:-1, 2:, 1:-1]
            + u[:-2, 1:-1, 1:-1] + u[2:, 1:-1, 1:-1]
        )
        u[1:-1, 1:-1, 1:-1] = (around + h2 * f[1:-1, 1:-1, 1:-1]) / 6.0
    return u


def poisson(npy, vti, n, iterations):
    from_npy = np.load(npy, allow_pickle=False)
    expect(from_npy.dtype == np.dtype("<f8"), f"{npy} holds {from_npy.dtype}")
    expect(from_npy.shape == (n, n, n), f"{npy} has shape {from_npy.shape}")
    expect(from_npy.flags.c_contiguous, f"{npy} is not in C order")
    grid, from_vti = image(vti)
    expect(grid.dimensions == (n, n, n), f"{vti} has {grid.dimensions} points")
    expect(grid.origin == (-1.0, -1.0, -1.0), f"{vti} begins at {grid.origin}")
    expect(np.allclose(grid.spacing, 2.0 / (n - 1), rtol=1e-15), f"{vti} has spacing {grid.spacing}")
    expect(np.allclose(grid.bounds, [-1, 1] * 3, rtol=1e-15), f"{vti} spans {grid.bounds}")
    same = from_npy.tobytes() == from_vti.tobytes()
    expect(same, f"{npy} and {vti} differ")
    expected = jacobi(n, iterations)
    walls = np.ones((n, n, n), dtype=bool)
    walls[1:-1, 1:-1, 1:-1] = False
    expect((from_npy[walls] == expected[walls]).all(), f"{npy} has wrong walls")
    worst = np.abs(from_npy - expected).max()
    # The product with 1/6 replaces the division, and sums are in another order: rounding of values
    # up to 20.
    bound = 8 * iterations * np.spacing(np.abs(expected).max())
    expect(worst <= bound, f"{npy} is off by {worst}, of which rounding explains {bound}")
    print(f"poisson: {n}^3 points, .npy and .vti equal, at most {worst:.1e} from numpy's Jacobi")


def wave3d(pvd, shape, dx, dt, steps):
    reader = pyvista.get_reader(pvd)
    times = [step * dt for step in steps]
    expect(np.allclose(reader.time_values, times, rtol=1e-12), f"{pvd} has times {reader.time_values}")
    # The middle of x and y, a quarter of the way down; none of its neighbours is in the damped
    # boundary layer.
    n_x, n_y, n_z = shape
    source = (n_z // 4, n_y // 2, n_x // 2)
    z, y, x = np.indices((n_z, n_y, n_x))
    distance = abs(z - source[0]) + abs(y - source[1]) + abs(x - source[2])
    for step, time in zip(steps, reader.time_values):
        reader.set_active_time_value(time)
        (grid,) = reader.read()
        expect(grid.dimensions == shape, f"step {step} has {grid.dimensions} points")
        expect(grid.origin == (0.0, 0.0, 0.0), f"step {step} begins at {grid.origin}")
        expect(grid.spacing == (dx, dx, dx), f"step {step} has spacing {grid.spacing}")
        u = field(grid, f"step {step}")
        # From rest, what a source does travels one site a step along the axes, and no further.
        expect((u[distance >= step] == 0).all(), f"step {step}: a wave that is too fast, or elsewhere")
        expect((u[distance < step] != 0).all(), f"step {step}: the wave has not come as far as it must")
        if step == 2:
            k, j, i = source
            beside = [u[k, j, i - 1], u[k, j, i + 1], u[k, j - 1, i], u[k, j + 1, i]]
            expect(len(set(beside)) == 1, f"step 2: neighbours of the source differ: {beside}")
        # Alike along +x and -x, +y and -y, where both are as far from the boundary.
        if n_x % 2 == 1:
            expect(np.allclose(u, u[:, :, ::-1], rtol=1e-9, atol=0), f"step {step}: x is not symmetric")
    print(f"wave3d: {len(steps)} fields of {shape} sites, where and when the source says")


def main(args):
    if len(args) == 4:
        poisson(Path(args[0]), Path(args[1]), int(args[2]), int(args[3]))
    elif len(args) >= 7:
        shape = tuple(int(extent) for extent in args[1:4])
        wave3d(Path(args[0]), shape, float(args[4]), float(args[5]), [int(step) for step in args[6:]])
    else:
        sys.exit(__doc__)


main(sys.argv[1:])
