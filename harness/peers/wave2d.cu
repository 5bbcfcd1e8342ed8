// The plain CUDA C++ counterpart of the kernel `wave2d_naive`: the same scheme, scene (point-source) and launch shape, so
// that a difference in time is a difference between compilers.
//
//     nvcc -O3 -arch=native -fmad=false harness/peers/wave2d.cu -o wave2d && ./wave2d 3201 3201 12800
//
// Prints the time of a timestep: the median of seven runs, in microseconds. With -fmad=false no product is fused with a
// sum, as in the Rust kernel, and the checksums of the two agree.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                                    \
    do {                                                                                               \
        cudaError_t status = (call);                                                                   \
        if (status != cudaSuccess) {                                                                   \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status));       \
            std::exit(1);                                                                              \
        }                                                                                              \
    } while (0)

__device__ float sine(uint32_t phase) {
    int32_t turns = int32_t(phase);
    const int32_t quarter = 1 << 30;
    int32_t folded = turns >= quarter || turns < -quarter ? int32_t((1u << 31) - phase) : turns;
    float x = float(folded) * (1.0f / 4294967296.0f);
    float x2 = x * x;
    float sum = -15.094643f * x2 + 42.058693f;
    sum = sum * x2 - 76.70586f;
    sum = sum * x2 + 81.60525f;
    sum = sum * x2 - 41.3417f;
    sum = sum * x2 + 6.2831855f;
    return sum * x;
}

__device__ float source_value(uint32_t t) {
    float value = sine(t * uint32_t((1ull << 32) / 40));
    return t < 80 ? value * (float(t) * (1.0f / 80.0f)) : value;
}

__global__ void wave2d_naive(float* u0, const float* __restrict__ u1, uint32_t n_x, uint32_t n_y, float k, uint32_t t) {
    uint32_t x = blockIdx.x * blockDim.x + threadIdx.x;
    uint32_t y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= n_x || y >= n_y) return;
    size_t i = size_t(y) * n_x + x;
    float next;
    if (x - 1 >= n_x - 2 || y - 1 >= n_y - 2) {
        next = 0.0f;
    } else if (x == n_x / 2 && y == n_y / 2) {
        next = source_value(t);
    } else {
        uint32_t width = min(min(n_x, n_y) / 8, 32u);
        uint32_t depth = min(min(x, n_x - 1 - x), min(y, n_y - 1 - y));
        float d = 0.0f;
        if (depth < width) {
            float into = float(width - depth) / float(width);
            d = 0.25f * (into * into);
        }
        float sum = u1[i - 1] + u1[i + 1] + u1[i - n_x] + u1[i + n_x];
        next = (2.0f - d - 4.0f * k) * u1[i] - (1.0f - d) * u0[i] + k * sum;
    }
    u0[i] = next;
}

int main(int argc, char** argv) {
    if (argc != 4) {
        std::fprintf(stderr, "usage: %s N_X N_Y STEPS\n", argv[0]);
        return 2;
    }
    uint32_t n_x = std::atoi(argv[1]), n_y = std::atoi(argv[2]), steps = std::atoi(argv[3]);
    size_t cells = size_t(n_x) * n_y;
    std::vector<float> host(cells);
    uint32_t state = 1;
    for (float& value : host) {
        state = state * 1664525u + 1013904223u;
        value = float(int32_t(state)) * (1.0f / 2147483648.0f);
    }
    float *u0, *u1;
    CHECK(cudaMalloc(&u0, cells * sizeof(float)));
    CHECK(cudaMalloc(&u1, cells * sizeof(float)));
    cudaEvent_t start, stop;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&stop));
    dim3 block(128, 1);
    dim3 grid((n_x + block.x - 1) / block.x, (n_y + block.y - 1) / block.y);
    std::vector<float> times;
    for (int run = 0; run < 8; run++) {
        CHECK(cudaMemcpy(u0, host.data(), cells * sizeof(float), cudaMemcpyHostToDevice));
        CHECK(cudaMemcpy(u1, host.data(), cells * sizeof(float), cudaMemcpyHostToDevice));
        CHECK(cudaEventRecord(start));
        for (uint32_t t = 0; t < steps; t++) {
            wave2d_naive<<<grid, block>>>(u0, u1, n_x, n_y, 0.25f, t);
            std::swap(u0, u1);
        }
        CHECK(cudaGetLastError());
        CHECK(cudaEventRecord(stop));
        CHECK(cudaEventSynchronize(stop));
        float ms;
        CHECK(cudaEventElapsedTime(&ms, start, stop));
        if (run > 0) times.push_back(ms * 1000.0f / steps);
    }
    std::sort(times.begin(), times.end());
    std::printf("wave2d_naive, CUDA C++, %u x %u, %u steps: %.3f us a step (min %.3f, max %.3f)\n", n_x, n_y, steps,
                times[times.size() / 2], times.front(), times.back());
    return 0;
}
