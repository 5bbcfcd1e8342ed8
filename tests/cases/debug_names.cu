// Of nvcc's debug information, a fault's message takes the name of the kernel's argument.
//
// flags: -G
// run: emulate -- PROGRAM
// exit: 1
// tells: buffer `allocation 2` is the kernel's parameter `weights`
// never: does not say which lines
#include <cstdio>

struct Range {
    float* values;
    int n;
};

template <typename T> __device__ T twice(T x) {
    T sum = x + x;
    return sum;
}

template <typename T> __global__ void scale(Range range, const T* weights) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= range.n) range.values[i] *= twice(weights[i]);
}

int main() {
    Range range = {nullptr, 256};
    float* weights;
    cudaMalloc(&range.values, 2048);
    cudaMalloc(&weights, 1024);
    cudaMemset(range.values, 0, 2048);
    cudaMemset(weights, 0, 1024);
    scale<float><<<2, 160>>>(range, weights);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
