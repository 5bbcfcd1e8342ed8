// Hopper's programming model: tiles fetched by tensor maps, products of a warpgroup, and programs that lack a wait or a fence.
//
// flags: -gencode arch=compute_90a,code=compute_90a -ldl
// run: emulate --orders 0..1 -- PROGRAM
// prints: f16 matmul: right
// prints: tf32 matmul: right
// prints: s8 matmul: right
// run: emulate -- PROGRAM no-wait
// tells: product under way: an accumulator is read
// exit: 1
// run: emulate -- PROGRAM no-fence
// tells: missing wgmma fence
// exit: 1
// run: emulate -- PROGRAM no-proxy
// tells: missing proxy fence: `wgmma.mma_async`
// exit: 1
// run: emulate -- PROGRAM early-release
// tells: product under way: store of
// exit: 1
// run: emulate -- PROGRAM wrong-map
// tells: something else than a tensor map
// exit: 1
#include "hopper.h"

// ---- a matmul, `c = a b^T`: a producer fetches two tiles at a time, a warpgroup multiplies

enum Kind { F16, TF32, S8 };

template <Kind kind, class T> __device__ void multiply64(T (&d)[32], uint64_t a, uint64_t b)
{
    if constexpr (kind == F16)
        asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " LIST32 ", %32, %33, 1, 1, 1, 0, 0;" : D32("f") : "l"(a), "l"(b));
    if constexpr (kind == TF32)
        asm volatile("wgmma.mma_async.sync.aligned.m64n64k8.f32.tf32.tf32 " LIST32 ", %32, %33, 1, 1, 1;" : D32("f") : "l"(a), "l"(b));
    if constexpr (kind == S8)
        asm volatile("wgmma.mma_async.sync.aligned.m64n64k32.s32.s8.s8 " LIST32 ", %32, %33, 1;" : D32("r") : "l"(a), "l"(b));
}

constexpr int TILE = 64 * 128, STAGES = 2;

template <Kind kind, class T>
__global__ void __launch_bounds__(256)
    matmul(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b, T *c, int n, int steps, int per_row, bool early)
{
    extern __shared__ __align__(1024) unsigned char tiles[];
    __shared__ uint64_t full[STAGES], empty[STAGES];
    const int t = threadIdx.x;
    if (t == 0) {
        for (int s = 0; s < STAGES; s++) {
            init(&full[s], 1);
            init(&empty[s], 128);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    if (t >= 128)
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;" ::: "memory");
    else
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;" ::: "memory");
    if (t == 128) {
        for (int k = 0; k < steps; k++) {
            const int s = k % STAGES;
            wait(&empty[s], k / STAGES % 2 ^ 1);
            expect(&full[s], 2 * TILE);
            fetch(tiles + 2 * s * TILE, &a, k * per_row, blockIdx.y * 64, &full[s]);
            fetch(tiles + (2 * s + 1) * TILE, &b, k * per_row, blockIdx.x * 64, &full[s]);
        }
    }
    if (t < 128) {
        T d[32] = {};
        for (int k = 0; k < steps; k++) {
            const int s = k % STAGES;
            wait(&full[s], k / STAGES % 2);
            const uint32_t start = shared_address(tiles + 2 * s * TILE);
            product_fence();
            for (int part = 0; part < 4; part++)
                multiply64<kind>(d, descriptor(start + 32 * part, 16, 1024, 1), descriptor(start + TILE + 32 * part, 16, 1024, 1));
            commit();
            if (early)
                arrive(&empty[s]);
            product_wait<0>();
            if (!early)
                arrive(&empty[s]);
        }
        for (int i = 0; i < 32; i++) {
            const int row = t / 32 * 16 + t % 32 / 4 + i / 2 % 2 * 8, column = i / 4 * 8 + t % 4 * 2 + i % 2;
            c[(blockIdx.y * 64 + row) * n + blockIdx.x * 64 + column] = d[i];
        }
    }
}

template <Kind kind, class E, class T> static void try_matmul(const char *name, CUtensorMapDataType type, bool wrong_map)
{
    constexpr int M = 128, N = 128, PER_ROW = 128 / sizeof(E), STEPS = 5, K = STEPS * PER_ROW;
    std::vector<E> a(M * K), b(N * K);
    const auto small = [](int i) { return (i * 7 + i / 13) % 5 - 2; };
    for (int i = 0; i < M * K; i++)
        a[i] = E(float(small(i)));
    for (int i = 0; i < N * K; i++)
        b[i] = E(float(small(3 * i + 1)));
    E *on_a, *on_b;
    T *on_c;
    CHECK(cudaMalloc(&on_a, M * K * sizeof(E)));
    CHECK(cudaMalloc(&on_b, N * K * sizeof(E)));
    CHECK(cudaMalloc(&on_c, M * N * sizeof(T)));
    CHECK(cudaMemcpy(on_a, a.data(), M * K * sizeof(E), cudaMemcpyDefault));
    CHECK(cudaMemcpy(on_b, b.data(), N * K * sizeof(E), cudaMemcpyDefault));
    CUtensorMap of_a = map2d(type, sizeof(E), on_a, K, M, PER_ROW, 64, CU_TENSOR_MAP_SWIZZLE_128B);
    const CUtensorMap of_b = map2d(type, sizeof(E), on_b, K, N, PER_ROW, 64, CU_TENSOR_MAP_SWIZZLE_128B);
    if (wrong_map)
        memset(&of_a, 1, sizeof(of_a));
    CHECK(cudaFuncSetAttribute(matmul<kind, T>, cudaFuncAttributeMaxDynamicSharedMemorySize, 2 * STAGES * TILE));
    matmul<kind, T><<<dim3(N / 64, M / 64), 256, 2 * STAGES * TILE>>>(of_a, of_b, on_c, N, STEPS, PER_ROW, false);
    CHECK(cudaDeviceSynchronize());
    std::vector<T> c(M * N);
    CHECK(cudaMemcpy(c.data(), on_c, M * N * sizeof(T), cudaMemcpyDefault));
    int wrong = 0;
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float sum = 0;
            for (int k = 0; k < K; k++)
                sum += float(a[i * K + k]) * float(b[j * K + k]);
            wrong += c[i * N + j] != T(sum);
        }
    if (wrong)
        printf("%s matmul: %d wrong\n", name, wrong);
    else
        printf("%s matmul: right\n", name);
}

template <Missing missing> static void broken()
{
    uint32_t *in;
    float *out;
    CHECK(cudaMalloc(&in, (640 + 512) * 4));
    CHECK(cudaMemset(in, 0, (640 + 512) * 4));
    CHECK(cudaMalloc(&out, 2048));
    product<0, float, 4, missing><<<1, 128>>>(in, out);
    CHECK(cudaDeviceSynchronize());
}

int main(int count, char **arguments)
{
    const std::string asked = count > 1 ? arguments[1] : "";
    if (asked == "no-wait")
        broken<WAIT>();
    else if (asked == "no-fence")
        broken<FENCE>();
    else if (asked == "no-proxy")
        broken<PROXY>();
    else if (asked == "early-release")
        broken<ORDER>();
    else {
        try_matmul<F16, __half, float>("f16", CU_TENSOR_MAP_DATA_TYPE_FLOAT16, asked == "wrong-map");
        try_matmul<TF32, float, float>("tf32", CU_TENSOR_MAP_DATA_TYPE_FLOAT32, false);
        try_matmul<S8, int8_t, int>("s8", CU_TENSOR_MAP_DATA_TYPE_UINT8, false);
    }
    return 0;
}
