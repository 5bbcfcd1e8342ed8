# CuPy's own kernels, which NVRTC makes for the device's architecture.
import cupy as cp

a = cp.arange(1000)
right = (a + 1).sum() == 500_500 and (cp.sort(-a)[:3].get() == [-999, -998, -997]).all()
print("right" if right else "wrong")
