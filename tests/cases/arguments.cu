// A fault's message names the kernel's argument that the buffer is.
//
// run: emulate -- PROGRAM
// exit: 1
// tells: buffer `allocation 2` is the kernel's argument 2 \(`float const\*`\)
// never: does not say which lines
#include <cstdio>

template <typename T> __global__ void scale(T* values, const T* weights, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n) values[i] *= weights[i];
}

int main() {
    float *values, *weights;
    cudaMalloc(&values, 2048);
    cudaMalloc(&weights, 1024);
    cudaMemset(values, 0, 2048);
    cudaMemset(weights, 0, 1024);
    scale<float><<<2, 160>>>(values, weights, 256);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
