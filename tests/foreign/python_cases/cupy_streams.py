"""Two streams change an array, and neither waits for the other: the lines are the program's, not CuPy's."""
# tells: race between commands: kernel `cupy_add__float32_float_float32` writes bytes
# tells: first: kernel `cupy_add__float32_float_float32` in stream 1 \(non-blocking\), called at .*cupy_streams.py:12, in step
# tells: then: kernel `cupy_add__float32_float_float32` in stream 2 \(non-blocking\), called at .*cupy_streams.py:12, in step
# tells: emulate: 1 fault
import cupy as cp


def step(stream, x):
    with stream:
        # Since CuPy launches it in the current stream.
        x += 1


one, two = (cp.cuda.Stream(non_blocking=True) for _ in range(2))
x = cp.zeros(1000, dtype=cp.float32)
cp.cuda.Device().synchronize()
step(one, x)
step(two, x)
cp.cuda.Device().synchronize()
