# A kernel in CUDA C++, with a race between its blocks.
# tells: race in global memory
# tells: in kernel `count`
import cupy as cp

count = cp.RawKernel('extern "C" __global__ void count(int* n) { *n = *n + 1; }', "count")
n = cp.zeros(1, cp.int32)
count((2,), (1,), (n,))
cp.cuda.Device().synchronize()
