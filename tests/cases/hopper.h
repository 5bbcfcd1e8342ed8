// For hopper.cu and ../hopper_values.cu: barriers, copies of tiles and products of a warpgroup, in inline PTX of the PTX ISA's own words.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#define CHECK(call) check(call, #call)
static void check(cudaError_t error, const char *what)
{
    if (error != cudaSuccess) {
        printf("%s: %s\n", what, cudaGetErrorString(error));
        exit(1);
    }
}

using Encode = decltype(&cuTensorMapEncodeTiled);
static Encode encode()
{
    static void *library = dlopen("libcuda.so.1", RTLD_NOW);
    static auto function = reinterpret_cast<Encode>(dlsym(library, "cuTensorMapEncodeTiled"));
    return function;
}

// A tensor of rows of `width` elements, in tiles.
static CUtensorMap map2d(CUtensorMapDataType type, int size, void *data, uint64_t width, uint64_t height, uint32_t tile_width,
                         uint32_t tile_height, CUtensorMapSwizzle swizzle, bool nan = false, uint64_t pitch = 0)
{
    CUtensorMap map;
    const uint64_t extents[] = {width, height}, strides[] = {pitch ? pitch : width * size};
    const uint32_t tile[] = {tile_width, tile_height}, steps[] = {1, 1};
    const CUresult result = encode()(&map, type, 2, data, extents, strides, tile, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
                                     CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                     nan ? CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA : CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (result != CUDA_SUCCESS)
        printf("cuTensorMapEncodeTiled: %d\n", result);
    return map;
}

// ---- device: barriers, copies, products

__device__ uint32_t shared_address(const void *p) { return uint32_t(__cvta_generic_to_shared(p)); }
__device__ void init(uint64_t *barrier, int count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(count) : "memory");
}
__device__ void expect(uint64_t *barrier, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes) : "memory");
}
__device__ void arrive(uint64_t *barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}
__device__ void wait(uint64_t *barrier, int parity)
{
    asm volatile("{ .reg .pred p; again_%=: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @!p bra again_%=; }" ::"r"(
                     shared_address(barrier)),
                 "r"(parity)
                 : "memory");
}
// False if the phase does not complete within many tries.
__device__ bool completes(uint64_t *barrier, int parity)
{
    for (int tries = 0; tries < 20000; tries++) {
        int done;
        asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2; selp.b32 %0, 1, 0, p; }"
                     : "=r"(done)
                     : "r"(shared_address(barrier)), "r"(parity)
                     : "memory");
        if (done)
            return true;
        __nanosleep(100);
    }
    return false;
}
__device__ void fetch(void *to, const CUtensorMap *map, int x, int y, uint64_t *barrier)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
                     shared_address(to)),
                 "l"(map), "r"(x), "r"(y), "r"(shared_address(barrier))
                 : "memory");
}
__device__ void fence_proxy() { asm volatile("fence.proxy.async;" ::: "memory"); }
__device__ void product_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ void commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int N> __device__ void product_wait() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory"); }

// The descriptor of a factor in shared memory; distances in bytes. Swizzle: 1 is 128 bytes, 2 is 64, 3 is 32.
__device__ uint64_t descriptor(uint32_t address, uint32_t leading, uint32_t stride, uint64_t swizzle, uint64_t base = 0)
{
    return uint64_t(address >> 4 & 0x3fff) | uint64_t(leading >> 4) << 16 | uint64_t(stride >> 4) << 32 | base << 49 | swizzle << 62;
}

#define D4(r, i) "+" r(d[i]), "+" r(d[i + 1]), "+" r(d[i + 2]), "+" r(d[i + 3])
#define D32(r) D4(r, 0), D4(r, 4), D4(r, 8), D4(r, 12), D4(r, 16), D4(r, 20), D4(r, 24), D4(r, 28)
#define LIST32                                                                                                                     \
    "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, "   \
    "%26, %27, %28, %29, %30, %31}"

// ---- one product of what threads have stored: 64 rows and 8 or 64 columns

struct Layout {
    // Of each factor: where it starts, its distances, and the base of its pattern.
    uint32_t start[2], leading[2], stride[2], base[2];
    uint64_t swizzle;
};

enum Missing { NOTHING, PROXY, FENCE, WAIT, ORDER };

#define LIST4 "{%0, %1, %2, %3}"
template <int kind> __device__ void multiply8(float (&d)[4], uint64_t a, uint64_t b)
{
    if constexpr (kind == 0)
        asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 " LIST4 ", %4, %5, 1, 1, 1, 0, 0;" : D4("f", 0) : "l"(a), "l"(b));
    if constexpr (kind == 1)
        asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 " LIST4 ", %4, %5, 1, 1, 1, 0, 0;" : D4("f", 0) : "l"(a), "l"(b));
    if constexpr (kind == 2)
        asm volatile("wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 " LIST4 ", %4, %5, 1, 1, 1;" : D4("f", 0) : "l"(a), "l"(b));
    if constexpr (kind == 3)
        asm volatile("wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3 " LIST4 ", %4, %5, 1, 1, 1;" : D4("f", 0) : "l"(a), "l"(b));
    if constexpr (kind == 4)
        asm volatile("wgmma.mma_async.sync.aligned.m64n8k32.f32.e5m2.e5m2 " LIST4 ", %4, %5, 1, 1, 1;" : D4("f", 0) : "l"(a), "l"(b));
}
template <int kind> __device__ void multiply8(uint32_t (&d)[2], uint64_t a, uint64_t b)
{
    if constexpr (kind == 5)
        asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 {%0, %1}, %2, %3, 1, 1, 1, 0, 0;" : "+r"(d[0]), "+r"(d[1]) : "l"(a), "l"(b));
    if constexpr (kind == 6)
        asm volatile("wgmma.mma_async.sync.aligned.m64n8k32.f16.e4m3.e5m2 {%0, %1}, %2, %3, 1, 1, 1;" : "+r"(d[0]), "+r"(d[1]) : "l"(a), "l"(b));
}
template <int kind> __device__ void multiply8(int (&d)[4], uint64_t a, uint64_t b)
{
    if constexpr (kind == 7)
        asm volatile("wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.u8 " LIST4 ", %4, %5, 1;" : D4("r", 0) : "l"(a), "l"(b));
    if constexpr (kind == 8)
        asm volatile("wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.s8.satfinite " LIST4 ", %4, %5, 1;" : D4("r", 0) : "l"(a), "l"(b));
}

// `in` has the first factor, then the second one at 2048, then the accumulators of each thread.
template <int kind, class T, int R, Missing missing> __global__ void product(const uint32_t *in, T *out)
{
    __shared__ __align__(1024) uint32_t tile[640];
    const int t = threadIdx.x;
    for (int i = t; i < 640; i += 128)
        tile[i] = in[i];
    if (missing != PROXY)
        fence_proxy();
    __syncthreads();
    T d[R];
    for (int i = 0; i < R; i++)
        d[i] = reinterpret_cast<const T *>(in)[640 + t * R + i];
    const uint32_t start = shared_address(tile);
    if (missing != FENCE)
        product_fence();
    multiply8<kind>(d, descriptor(start, 128, 256, 0), descriptor(start + 2048, 128, 256, 0));
    commit();
    if (missing == ORDER)
        tile[t] = 0;
    if (missing != WAIT)
        product_wait<0>();
    for (int i = 0; i < R; i++)
        out[t * R + i] = d[i];
}
