// A program of `nvcc -rdc=true`: its device code, and that of libcudadevrt, are linked when it starts. The blocks of a grid meet by
// libcudadevrt's functions, where every block must come; and a launch from a kernel is refused by name.
//
// flags: -rdc=true
// run: emulate --orders 0..2 -- PROGRAM 4
// prints: no error, right
// run: emulate -- PROGRAM 3
// tells: deadlock: the 3 blocks that run
// exit: 1
// run: emulate -- PROGRAM launch
// tells: call of `__cudaCDP2GetParameterBufferV2`: dynamic parallelism, a launch from a kernel, is not emulated
// tells: linked.cu:33
// exit: 3
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_device_runtime_api.h>

__global__ void turn(int *out, int come) {
  unsigned long long grid = cudaCGGetIntrinsicHandle(cudaCGScopeGrid);
  int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
  out[i] = i;
  if (blockIdx.x >= come) return;
  cudaError_t first = cudaCGSynchronize(grid, 0);
  int other = out[n - 1 - i];
  cudaError_t second = cudaCGSynchronizeGrid(grid, 0);
  out[i] = other + first + second;
}

__global__ void child(int *out) { *out = 7; }

__global__ void parent(int *out) {
  child<<<1, 1>>>(out);
}

int main(int argc, char **argv) {
  int *out, values[128], come = atoi(argv[1]);
  cudaMalloc(&out, sizeof values);
  if (!strcmp(argv[1], "launch")) {
    parent<<<1, 1>>>(out);
    return 0;
  }
  void *arguments[] = {&out, &come};
  cudaLaunchCooperativeKernel((void *)turn, dim3(4), dim3(32), arguments, 0, 0);
  cudaError_t error = cudaDeviceSynchronize();
  if (error) return 1;
  cudaMemcpy(values, out, sizeof values, cudaMemcpyDeviceToHost);
  bool right = true;
  for (int i = 0; i < 128; i++) right &= values[i] == 127 - i;
  printf("%s, %s\n", cudaGetErrorString(error), right ? "right" : "wrong");
}
