"""The scheme of lab stencil25 in numpy and double precision, written from its description alone, beside a field of the program's.

    harness run stencil25 --shape 48,41,52 --steps 120 --out fields
    python3 tests/stencil25.py --shape 48,41,52 --steps 120 fields/u-000120.vti [--v FILE] [--phi FILE]

Starts from rest or a pulse: with what the program computes from a seed, it would not be independent. Needs numpy, which
`cargo test` does not: so this is no part of it.
"""

import argparse
import sys

import numpy as np

RADIUS = 4
CENTRE = -205 / 72
WEIGHTS = [8 / 5, -1 / 5, 8 / 315, -1 / 560]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("u", help="the last field: a .vti of the program's, or a .npy of n_x, n_y, n_z values, or of these with their halo")
    parser.add_argument("--v", help="the second-last field")
    parser.add_argument("--phi", help="the shell's field")
    parser.add_argument("--shape", default="96,96,96", type=lambda text: tuple(map(int, text.split(","))))
    parser.add_argument("--steps", default=100, type=int)
    parser.add_argument("--spacing", default="10,10,10", type=lambda text: tuple(map(float, text.split(","))))
    parser.add_argument("--dt", type=float, help="in seconds [default: 0.9 of the largest]")
    parser.add_argument("--shell", default=16, type=int)
    parser.add_argument("--model", default="layers", help="layers, uniform, or a .npy file of speeds")
    parser.add_argument("--frequency", default=15.0, type=float, help="of the source, in Hz; 0: none")
    parser.add_argument("--start", default="rest", choices=["rest", "pulse"])
    parser.add_argument("--tolerance", default=1e-4, type=float, help="of the largest value")
    return parser.parse_args()


def speeds(model, shape):
    if model == "uniform":
        return np.full(shape, 2000.0)
    if model == "layers":
        layer = np.arange(shape[2]) * 4 // shape[2]
        return np.broadcast_to(np.array([1500.0, 1800.0, 2100.0, 2400.0])[layer], shape)
    return np.load(model).astype(float).reshape(shape)


def absorption(shape, shell, spacing, dt, fastest):
    """eta with its halo: quadratic in the depth, the largest of the three axes'."""
    depth = np.zeros([n + 2 * RADIUS for n in shape])
    for axis, n in enumerate(shape):
        place = np.clip(np.arange(-RADIUS, n + RADIUS), 0, n - 1)
        along = np.maximum(shell - np.minimum(place, n - 1 - place), 0)
        depth = np.maximum(depth, np.expand_dims(along, [other for other in range(3) if other != axis]))
    largest = dt * 3 * fastest * np.log(1e3) / (2 * shell * min(spacing))
    return min(largest, 1.0) * (depth / shell) ** 2


def ricker(time, frequency):
    a = (np.pi * frequency * (time - 1.5 / frequency)) ** 2
    return (1 - 2 * a) * np.exp(-a)


def shifted(field, axis, by):
    """The values of the points' neighbours at this distance, of a field with its halo."""
    return field[tuple(
        slice(RADIUS + (by if other == axis else 0), field.shape[other] - RADIUS + (by if other == axis else 0))
        for other in range(3)
    )]


def run(args):
    shape, spacing = args.shape, args.spacing
    c = speeds(args.model, shape)
    eigenvalue = sum((2 * sum(abs(w) for w in WEIGHTS) - CENTRE) / d**2 for d in spacing)
    largest = (1 - 1e-6) * 2 / (c.max() * np.sqrt(eigenvalue))
    dt = args.dt or 0.9 * largest
    assert dt <= largest, f"dt is at most {largest}"
    vp = (c * dt) ** 2
    eta = absorption(shape, args.shell, spacing, dt, c.max())
    own_eta = shifted(eta, 0, 0)
    is_shell = own_eta > 0
    inside = np.s_[RADIUS:-RADIUS, RADIUS:-RADIUS, RADIUS:-RADIUS]
    u, v = np.zeros(eta.shape), np.zeros(eta.shape)
    phi = np.zeros(shape)
    if args.start == "pulse":
        square = sum(
            np.expand_dims((np.arange(n) - n // 2) ** 2, [other for other in range(3) if other != axis])
            for axis, n in enumerate(shape)
        )
        u[inside] = v[inside] = np.exp(-square / 18)
    source = (shape[0] // 2, shape[1] // 2, max(shape[2] // 4, args.shell))
    for step in range(args.steps):
        laplacian = sum(CENTRE / d**2 for d in spacing) * u[inside]
        product = np.zeros(shape)
        for axis, d in enumerate(spacing):
            for r, weight in enumerate(WEIGHTS, 1):
                laplacian += weight / d**2 * (shifted(u, axis, r) + shifted(u, axis, -r))
            slope = [(shifted(f, axis, 1) - shifted(f, axis, -1)) / (2 * d) for f in (eta, u)]
            product += slope[0] * slope[1]
        # Where eta and phi are 0, these are the formulas of the inside.
        a = 2 + 2 * own_eta - own_eta**2
        v[inside] = (a * u[inside] - v[inside] + vp * (laplacian + phi)) / (1 + 2 * own_eta)
        phi = np.where(is_shell, (phi - product) / (1 + own_eta), 0)
        if args.frequency > 0:
            v[inside][source] += ricker(step * dt, args.frequency)
        u, v = v, u
    return u[inside], v[inside], phi


def points_of(path, shape):
    """The points of a field that may have its halo: three axes, or the raw rows of the program's buffers."""
    if path.endswith(".vti"):
        text = open(path, "rb").read()
        # Raw data follow an underscore: their length in bytes, then the values, x fastest.
        start = text.index(b"_", text.index(b"<AppendedData")) + 1
        length = int.from_bytes(text[start : start + 8], "little")
        values = np.frombuffer(text, "<f4", length // 4, start + 8)
        return values.reshape(tuple(reversed(shape))).transpose(2, 1, 0)
    values = np.load(path)
    if values.shape == tuple(shape):
        return values
    n_x, n_y, n_z = shape
    pitch = (n_z + RADIUS + 31) // 32 * 32
    return values.reshape(n_x + 8, n_y + 8, pitch)[RADIUS:-RADIUS, RADIUS:-RADIUS, :n_z]


def main():
    args = arguments()
    is_right = True
    for name, exact in zip(["u", "v", "phi"], run(args)):
        path = getattr(args, name)
        if path is None:
            continue
        got = points_of(path, args.shape).astype(float)
        largest, distance = np.abs(exact).max(), np.abs(got - exact).max()
        print(f"{name}: the largest value is {largest:.4g}, the farthest from numpy's {distance:.3g}")
        is_right &= bool(distance <= args.tolerance * largest)
    print("equal but for rounding" if is_right else "DIFFERENT")
    sys.exit(0 if is_right else 1)


main()
