"""Naive wave2d in Python, to time beside the Rust kernels: numba-cuda, or a cupy RawKernel of wave2d.cu.

The harness starts it as `python3 wave2d.py TOOLKIT`. It reads commands from standard input, one per line, and
answers each by one line on standard output:

    prepare JSON        loads the inputs, compiles     -> ok
    reset               inputs to the device           -> ok
    flush               overwrites the L2 cache        -> ok
    run N               N runs back to back            -> time DEVICE_SECONDS HOST_SECONDS
    outputs             writes the fields to files     -> ok

or by `error MESSAGE`. Scheme, scenes and order of operations are those of kernels-gpu/src/wave2d. Each product and
each sum is rounded. numba's compiler would fuse them, so the kernel uses functions that state their rounding.
"""

import json
import sys
import time

import numpy as np

# Names that numpy has dropped. Some numba releases beside it still look them up when they are
# imported.
for dropped, name in (("row_stack", "vstack"), ("in1d", "isin"), ("trapz", "trapezoid")):
    if not hasattr(np, dropped):
        setattr(np, dropped, getattr(np, name))

BLOCK_X = 128


def numba_kernel():
    # The simulator looks for it among the globals.
    global cuda
    from numba import config, cuda

    if config.ENABLE_CUDASIM:
        # The simulator runs Python, which does not fuse.
        def add(a, b):
            return np.float32(a + b)

        def sub(a, b):
            return np.float32(a - b)

        def mul(a, b):
            return np.float32(a * b)

        def div(a, b):
            return np.float32(a / b)
    else:
        from numba.cuda import libdevice

        add, sub, mul, div = libdevice.fadd_rn, libdevice.fsub_rn, libdevice.fmul_rn, libdevice.fdiv_rn

    f32 = np.float32
    device = cuda.jit(device=True)

    @device
    def least(a, b):
        return a if a < b else b

    @device
    def distance(a, b):
        return b - a if a < b else a - b

    @device
    def sponge_width(n_x, n_y):
        return least(least(n_x, n_y) // 8, 32)

    @device
    def sponge(n_x, n_y, x, y):
        width = sponge_width(n_x, n_y)
        depth = least(least(x, n_x - 1 - x), least(y, n_y - 1 - y))
        if depth >= width:
            return f32(0.0)
        into = div(f32(width - depth), f32(width))
        return mul(f32(0.25), mul(into, into))

    @device
    def sine(phase):
        turns = phase if phase < 2**31 else phase - 2**32
        if turns >= 2**30 or turns < -(2**30):
            turns = (2**31 - phase) & 0xFFFFFFFF
            turns = turns if turns < 2**31 else turns - 2**32
        x = mul(f32(turns), f32(1.0 / 4294967296.0))
        x2 = mul(x, x)
        total = add(mul(f32(-15.094643), x2), f32(42.058693))
        total = add(mul(total, x2), f32(-76.70586))
        total = add(mul(total, x2), f32(81.60525))
        total = add(mul(total, x2), f32(-41.3417))
        total = add(mul(total, x2), f32(6.2831855))
        return mul(total, x)

    @device
    def oscillation(t):
        value = sine((t * 107374182) & 0xFFFFFFFF)
        if t < 80:
            return mul(value, mul(f32(t), f32(1.0 / 80.0)))
        return value

    @device
    def is_wall(scene, n_x, n_y, x, y):
        if scene == 1:
            first = n_x // 4
            end = first + 1 + n_x // 128
            is_open = distance(distance(y, n_y // 2), n_y // 12) <= n_y // 48
            return first <= x and x < end and not is_open
        if scene == 2:
            a = div(f32(distance(x, n_x // 2)), mul(f32(n_x), f32(31.0 / 64.0)))
            b = div(f32(distance(y, n_y // 2)), mul(f32(n_y), f32(31.0 / 64.0)))
            return add(mul(a, a), mul(b, b)) >= f32(1.0)
        if scene == 3:
            from_axis = distance(y, n_y // 2)
            vertex = n_x // 8
            focal_length = n_y // 8
            if from_axis > n_y // 3 or focal_length == 0 or x < vertex:
                return False
            rise = f32(from_axis)
            four_focal = mul(f32(4.0), f32(focal_length))
            surface = div(mul(rise, rise), four_focal)
            slope = div(mul(f32(2.0), rise), four_focal)
            behind = sub(surface, f32(x - vertex))
            return f32(0.0) <= behind and behind <= add(f32(2.0), slope)
        return False

    @device
    def is_source(scene, n_x, n_y, x, y):
        if scene == 0:
            return x == n_x // 2 and y == n_y // 2
        if scene == 1:
            return x == sponge_width(n_x, n_y) + 1
        if scene == 2:
            offset = n_x // 320 * 93 + n_x % 320 * 93 // 320
            return x == n_x // 2 - offset and y == n_y // 2
        if scene == 3:
            return x == n_x // 8 + n_y // 8 and y == n_y // 2
        return False

    @cuda.jit
    def wave2d_naive(u0, u1, n_x, n_y, scene, k, t):
        x, y = cuda.grid(2)
        if x >= n_x or y >= n_y:
            return
        i = y * n_x + x
        if x == 0 or y == 0 or x == n_x - 1 or y == n_y - 1 or is_wall(scene, n_x, n_y, x, y):
            u0[i] = f32(0.0)
        elif is_source(scene, n_x, n_y, x, y):
            u0[i] = oscillation(t)
        else:
            d = f32(0.0)
            if scene != 2 and scene < 4:
                d = sponge(n_x, n_y, x, y)
            around = add(add(add(u1[i - 1], u1[i + 1]), u1[i - n_x]), u1[i + n_x])
            here = sub(sub(f32(2.0), d), mul(f32(4.0), k))
            before = mul(sub(f32(1.0), d), u0[i])
            u0[i] = add(sub(mul(here, u1[i]), before), mul(k, around))

    return wave2d_naive


class Numba:
    """numba-cuda."""

    def __init__(self, case):
        from numba import cuda

        self.cuda = cuda
        cuda.select_device(case["ordinal"])
        self.kernel = numba_kernel()
        self.start, self.stop = cuda.event(), cuda.event()
        self.fields = [cuda.device_array(case["n_x"] * case["n_y"], np.float32) for _ in range(2)]
        self.flushed = cuda.device_array(max(case["flush_bytes"], 4) // 4, np.float32)

        @cuda.jit
        def clear(values):
            i = cuda.grid(1)
            if i < values.size:
                values[i] = 0

        self.clear = clear

    def write(self, index, values):
        self.fields[index].copy_to_device(values)

    def read(self, index):
        return self.fields[index].copy_to_host()

    def flush(self):
        self.clear[-(-self.flushed.size // 256), 256](self.flushed)
        self.cuda.synchronize()

    def launch(self, grid, block, u0, u1, case, t):
        self.kernel[grid, block](u0, u1, case["n_x"], case["n_y"], case["scene"], np.float32(case["k"]), t)

    def synchronize(self):
        self.cuda.synchronize()

    def elapsed_s(self):
        return self.start.elapsed_time(self.stop) / 1e3


class Cupy:
    """A cupy RawKernel of the CUDA C++ source."""

    def __init__(self, case):
        import cupy

        self.cupy = cupy
        cupy.cuda.Device(case["ordinal"]).use()
        with open(case["source"], encoding="utf-8") as source:
            module = cupy.RawModule(code=source.read(), options=("-fmad=false", "-std=c++17"))
        self.kernel = module.get_function("wave2d_naive")
        self.start, self.stop = cupy.cuda.Event(), cupy.cuda.Event()
        self.fields = [cupy.empty(case["n_x"] * case["n_y"], cupy.float32) for _ in range(2)]
        self.flushed = cupy.empty(max(case["flush_bytes"], 1), cupy.uint8)

    def write(self, index, values):
        self.fields[index].set(values)

    def read(self, index):
        return self.fields[index].get()

    def flush(self):
        self.flushed.fill(0)
        self.synchronize()

    def launch(self, grid, block, u0, u1, case, t):
        length = np.uint64(u1.size)
        n_x, n_y, scene = np.uint32(case["n_x"]), np.uint32(case["n_y"]), np.uint32(case["scene"])
        self.kernel(grid, block, (u0, u1, length, n_x, n_y, scene, np.float32(case["k"]), np.uint32(t)))

    def synchronize(self):
        self.cupy.cuda.Device().synchronize()

    def elapsed_s(self):
        return self.cupy.cuda.get_elapsed_time(self.start, self.stop) / 1e3


class Peer:
    """A prepared case."""

    def __init__(self, toolkit, case):
        self.case = case
        self.inputs = [np.fromfile(path, np.float32) for path in case["inputs"]]
        self.device = {"numba": Numba, "cupy": Cupy}[toolkit](case)
        rows = case["rows"]
        self.block = (BLOCK_X, rows)
        self.grid = (-(-case["n_x"] // BLOCK_X), -(-case["n_y"] // rows))

    def reset(self):
        for index, values in enumerate(self.inputs):
            self.device.write(index, values)
        self.device.synchronize()

    def run(self, runs):
        device, case = self.device, self.case
        began = time.perf_counter()
        device.start.record()
        for _ in range(runs):
            u0, u1 = device.fields
            for step in range(case["steps"]):
                t = (case["first_step"] + step) & 0xFFFFFFFF
                device.launch(self.grid, self.block, u0, u1, case, t)
                u0, u1 = u1, u0
        device.stop.record()
        device.synchronize()
        return device.elapsed_s(), time.perf_counter() - began

    def outputs(self):
        for index, path in enumerate(self.case["outputs"]):
            self.device.read((index + self.case["steps"]) % 2).tofile(path)


def main():
    toolkit = sys.argv[1]
    # The harness must not take a library's output for an answer.
    answers, sys.stdout = sys.stdout, sys.stderr
    peer = None
    for line in sys.stdin:
        command, _, argument = line.strip().partition(" ")
        answer = "ok"
        try:
            if command == "prepare":
                peer = Peer(toolkit, json.loads(argument))
            elif command == "reset":
                peer.reset()
            elif command == "flush":
                peer.device.flush()
            elif command == "run":
                answer = "time {!r} {!r}".format(*peer.run(int(argument)))
            elif command == "outputs":
                peer.outputs()
            else:
                answer = f"error unknown command {command}"
        except Exception as error:  # The harness shows any error.
            answer = "error " + " ".join(f"{type(error).__name__}: {error}".split())
        print(answer, file=answers, flush=True)


if __name__ == "__main__":
    main()
