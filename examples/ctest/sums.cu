#include "sums.h"

#include <cstdio>
#include <cstdlib>

namespace {

constexpr int THREADS = 256;

void must(cudaError_t result) {
    if (result != cudaSuccess) {
        std::fprintf(stderr, "%s\n", cudaGetErrorString(result));
        std::exit(2);
    }
}

__global__ void block_sum(const int *values, int *sums) {
    __shared__ int partial[THREADS];
    const int thread = threadIdx.x;
    partial[thread] = values[blockIdx.x * THREADS + thread];
    for (int half = THREADS / 2; half > 0; half /= 2) {
#ifndef WITHOUT_BARRIER
        __syncthreads();
#endif
        if (thread < half) partial[thread] += partial[thread + half];
    }
    if (thread == 0) sums[blockIdx.x] = partial[0];
}

} // namespace

std::vector<int> block_sums(const std::vector<int> &values) {
    const size_t blocks = values.size() / THREADS;
    std::vector<int> sums(blocks);
    int *device_values, *device_sums;
    must(cudaMalloc(&device_values, values.size() * sizeof(int)));
    must(cudaMalloc(&device_sums, blocks * sizeof(int)));
    must(cudaMemcpy(device_values, values.data(), values.size() * sizeof(int), cudaMemcpyHostToDevice));
    block_sum<<<blocks, THREADS>>>(device_values, device_sums);
    must(cudaGetLastError());
    must(cudaMemcpy(sums.data(), device_sums, blocks * sizeof(int), cudaMemcpyDeviceToHost));
    must(cudaFree(device_values));
    must(cudaFree(device_sums));
    return sums;
}
