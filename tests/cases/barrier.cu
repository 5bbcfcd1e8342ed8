// `cuda::barrier` with `cuda::memcpy_async`, and `cuda::pipeline`, as libcu++ documents them: without a fence between
// `init` and the copy, which on compute capability 9.0 is a bulk copy to an `mbarrier` object. A wait shows what each arrival
// of the phase has released (PTX ISA, "mbarrier.test_wait"), also between lanes of one warp.
//
// run: emulate --orders 0..3 -- PROGRAM
// prints: barrier: 0 wrong
// prints: barrier, in phases: 0 wrong
// prints: pipeline: 0 wrong
// prints: lane to lanes: 0 wrong
// prints: no error
#include <cooperative_groups.h>
#include <cstdio>
#include <cuda/barrier>
#include <cuda/pipeline>

constexpr int THREADS = 128;
using Barrier = cuda::barrier<cuda::thread_scope_block>;

__global__ void reversed(const int *in, int *out)
{
    __shared__ alignas(16) int tile[THREADS];
    __shared__ Barrier barrier;
    auto block = cooperative_groups::this_thread_block();
    if (block.thread_rank() == 0)
        init(&barrier, block.size());
    block.sync();
    cuda::memcpy_async(block, tile, in, cuda::aligned_size_t<16>(sizeof(tile)), barrier);
    barrier.arrive_and_wait();
    out[threadIdx.x] = tile[THREADS - 1 - threadIdx.x];
}

// The sum of the same element of each tile: one barrier for several phases.
__global__ void summed(const int *in, int tiles, int *out)
{
    __shared__ alignas(16) int tile[THREADS];
    __shared__ Barrier barrier;
    auto block = cooperative_groups::this_thread_block();
    if (block.thread_rank() == 0)
        init(&barrier, block.size());
    block.sync();
    int sum = 0;
    for (int i = 0; i < tiles; i++) {
        cuda::memcpy_async(block, tile, in + i * THREADS, cuda::aligned_size_t<16>(sizeof(tile)), barrier);
        barrier.arrive_and_wait();
        sum += tile[threadIdx.x];
        block.sync();
    }
    out[threadIdx.x] = sum;
}

// The same by a pipeline of two stages.
__global__ void piped(const int *in, int tiles, int *out)
{
    __shared__ alignas(16) int tile[2][THREADS];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    auto block = cooperative_groups::this_thread_block();
    auto pipeline = cuda::make_pipeline(block, &state);
    auto fetch = [&](int i) {
        pipeline.producer_acquire();
        cuda::memcpy_async(block, tile[i % 2], in + i * THREADS, cuda::aligned_size_t<16>(sizeof(tile[0])), pipeline);
        pipeline.producer_commit();
    };
    int sum = 0;
    fetch(0);
    for (int i = 0; i < tiles; i++) {
        if (i + 1 < tiles)
            fetch(i + 1);
        pipeline.consumer_wait();
        sum += tile[i % 2][threadIdx.x];
        pipeline.consumer_release();
    }
    out[threadIdx.x] = sum;
}

// The first lane of a warp hands each number to the others, which tell it when they have read it.
__global__ void handed(const int *in, int count, int *out)
{
    __shared__ int cell;
    __shared__ Barrier full, empty;
    if (threadIdx.x == 0) {
        init(&full, 1);
        init(&empty, blockDim.x - 1);
    }
    __syncthreads();
    int sum = 0;
    for (int i = 0; i < count; i++) {
        if (threadIdx.x == 0) {
            cell = in[i];
            (void)full.arrive();
            empty.wait_parity(i & 1);
            sum += in[i];
        } else {
            full.wait_parity(i & 1);
            sum += cell;
            (void)empty.arrive();
        }
    }
    out[threadIdx.x] = sum;
}

int main()
{
    constexpr int TILES = 5;
    int *in, *out;
    cudaMallocManaged(&in, TILES * THREADS * sizeof(int));
    cudaMallocManaged(&out, THREADS * sizeof(int));
    for (int i = 0; i < TILES * THREADS; i++)
        in[i] = i;
    auto tell = [&](const char *name, auto right, int threads = THREADS) {
        cudaDeviceSynchronize();
        int wrong = 0;
        for (int i = 0; i < threads; i++)
            wrong += out[i] != right(i);
        printf("%s: %d wrong\n", name, wrong);
    };
    auto sum = [](int i) { return TILES * i + THREADS * TILES * (TILES - 1) / 2; };
    reversed<<<1, THREADS>>>(in, out);
    tell("barrier", [](int i) { return THREADS - 1 - i; });
    summed<<<1, THREADS>>>(in, TILES, out);
    tell("barrier, in phases", sum);
    piped<<<1, THREADS>>>(in, TILES, out);
    tell("pipeline", sum);
    handed<<<1, 32>>>(in, TILES, out);
    tell("lane to lanes", [](int) { return TILES * (TILES - 1) / 2; }, 32);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
