# A cubin of nvcc, as PyCUDA has it made.
import os
import subprocess
import tempfile

from loads import doubles

SOURCE = """extern "C" __global__ void add(const float* x, const float* y, float* z, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i];
}"""
with tempfile.TemporaryDirectory() as folder:
    with open(os.path.join(folder, "kernel.cu"), "w") as file:
        file.write(SOURCE)
    subprocess.run(["nvcc", "--cubin", "-arch", "sm_90", "kernel.cu"], cwd=folder, check=True)
    with open(os.path.join(folder, "kernel.cubin"), "rb") as file:
        cubin = file.read()
print("right" if doubles(cubin, "add", 128) else "wrong")
