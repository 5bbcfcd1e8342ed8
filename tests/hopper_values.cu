// Prints values of wgmma and of tiles by tensor maps, by which tests/hopper.sh compares a GPU with the emulated device: products of each type
// with NaN, infinities, huge, tiny and subnormal numbers, all layouts, tiles of each type at and beyond the edges, stores, reductions, and
// the driver's rules.
#include "cases/hopper.h"

template <int ta, int tb> __global__ void laid_out(const uint32_t *in, float *out, Layout l)
{
    __shared__ __align__(1024) uint32_t tile[4096 + 256];
    for (int i = threadIdx.x; i < 4096 + 256; i += 128)
        tile[i] = in[i];
    fence_proxy();
    __syncthreads();
    float d[32] = {};
    const uint32_t s = shared_address(tile);
    const uint64_t a = descriptor(s + l.start[0], l.leading[0], l.stride[0], l.swizzle, l.base[0]);
    const uint64_t b = descriptor(s + l.start[1], l.leading[1], l.stride[1], l.swizzle, l.base[1]);
    product_fence();
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " LIST32 ", %32, %33, 1, 1, 1, %34, %35;"
                 : D32("f")
                 : "l"(a), "l"(b), "n"(ta), "n"(tb));
    commit();
    product_wait<0>();
    for (int i = 0; i < 32; i++)
        out[threadIdx.x * 32 + i] = d[i];
}

// A factor in registers, and a sign.
__global__ void from_registers(const uint32_t *in, float *out)
{
    __shared__ __align__(1024) uint32_t tile[640];
    const int t = threadIdx.x;
    for (int i = t; i < 640; i += 128)
        tile[i] = in[i];
    fence_proxy();
    __syncthreads();
    float d[4] = {1, 2, 3, 4};
    product_fence();
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 " LIST4 ", {%4, %5, %6, %7}, %8, 1, -1, 1, 0;"
                 : D4("f", 0)
                 : "r"(in[t]), "r"(in[t + 1]), "r"(in[t + 2]), "r"(in[t + 3]), "l"(descriptor(shared_address(tile) + 2048, 128, 256, 0)));
    commit();
    product_wait<0>();
    for (int i = 0; i < 4; i++)
        out[t * 4 + i] = d[i];
}

static uint64_t state = 1;
static uint32_t random32()
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return uint32_t(state >> 33) ^ uint32_t(state >> 12 << 20);
}

// A number whose exponent is chosen among some, with some that are not finite where `special`.
static float number(int pattern)
{
    const float fraction = 1 + float(random32() & 0xffff) / 65536;
    const float sign = random32() & 1 ? 1 : -1;
    switch (pattern) {
    case 0: return sign * fraction;
    case 1: return sign * std::ldexp(fraction, int(random32() % 12) - 6);
    case 2: return sign * std::ldexp(fraction, int(random32() % 30) - 15);
    case 3: return random32() % 3 ? 0 : sign * std::ldexp(fraction, int(random32() % 12) - 6);
    case 4: return sign * std::ldexp(fraction, 100 + int(random32() % 28));
    case 5: return sign * std::ldexp(fraction, -120 - int(random32() % 28));
    case 6: return random32() % 24 ? sign * fraction : random32() & 1 ? sign * INFINITY : random32() & 1 ? NAN : 0;
    default: return sign * std::ldexp(fraction, int(random32() % 4) + 7);
    }
}

template <class T, class E> static void put(std::vector<uint32_t> &in, int index, E element)
{
    memcpy(reinterpret_cast<char *>(in.data()) + index * sizeof(T), &element, sizeof(T));
}

static void put_element(std::vector<uint32_t> &in, int kind, int index, bool second, int pattern)
{
    const float x = number(pattern);
    if (kind == 0 || kind == 5)
        put<__half>(in, index, __float2half(pattern == 4 ? std::ldexp(x, -112) : pattern == 5 ? std::ldexp(x, 110) : x));
    else if (kind == 1)
        put<__nv_bfloat16>(in, index, __float2bfloat16(x));
    else if (kind == 2)
        put<float>(in, index, x);
    else if (kind >= 7)
        put<int8_t>(in, index, int8_t(random32()));
    else if (kind == 4 || kind == 6 && second)
        put<uint8_t>(in, index, uint8_t(__nv_cvt_float_to_fp8(pattern == 4 ? std::ldexp(x, -113) : pattern == 5 ? std::ldexp(x, 108) : x, __NV_NOSAT, __NV_E5M2)));
    else
        put<uint8_t>(in, index, uint8_t(__nv_cvt_float_to_fp8(pattern == 4 ? std::ldexp(x, -118) : pattern == 5 ? std::ldexp(x, 115) : x, __NV_NOSAT, __NV_E4M3)));
}

template <int kind, class T, int R> static void print_products(const char *name)
{
    constexpr int SIZE = kind == 2 ? 4 : kind == 0 || kind == 1 || kind == 5 ? 2 : 1;
    uint32_t *on_in;
    T *on_out;
    const int words = 640 + 128 * R;
    CHECK(cudaMalloc(&on_in, words * 4));
    CHECK(cudaMalloc(&on_out, 128 * R * sizeof(T)));
    for (int pattern = 0; pattern < (kind >= 7 ? 2 : 8); pattern++) {
        std::vector<uint32_t> in(words);
        for (int i = 0; i < 2560 / SIZE; i++)
            put_element(in, kind, i, i >= 2048 / SIZE, pattern);
        for (int i = 640; i < words; i++) {
            const float c = pattern == 3 ? 0 : pattern == 7 ? number(2) * 1024 : number(pattern);
            if (sizeof(T) == 4 && R == 2) {
                const __half half[2] = {__float2half(number(pattern < 3 ? pattern : 0)), __float2half(number(1))};
                memcpy(&in[i], half, 4);
            } else if (kind >= 7)
                in[i] = pattern == 0 ? random32() : 0x7fffff00 + random32() % 200;
            else
                memcpy(&in[i], &c, 4);
        }
        CHECK(cudaMemcpy(on_in, in.data(), words * 4, cudaMemcpyDefault));
        product<kind, T, R, NOTHING><<<1, 128>>>(on_in, on_out);
        CHECK(cudaDeviceSynchronize());
        std::vector<uint32_t> out(128 * R);
        CHECK(cudaMemcpy(out.data(), on_out, 128 * R * 4, cudaMemcpyDefault));
        for (int i = 0; i < 128 * R; i++)
            printf("%s (pattern %d, thread %d, %d) %08x\n", name, pattern, i / R, i % R, out[i]);
    }
    CHECK(cudaFree(on_in));
    CHECK(cudaFree(on_out));
}

template <int ta, int tb> static void print_layout(const char *name, Layout layout)
{
    uint32_t *on_in;
    float *on_out;
    std::vector<uint32_t> in(4096 + 256);
    for (int i = 0; i < 2 * int(in.size()); i++)
        put<__half>(in, i, __float2half(float(int(random32() >> 7) % 9 - 4)));
    CHECK(cudaMalloc(&on_in, in.size() * 4));
    CHECK(cudaMalloc(&on_out, 128 * 32 * 4));
    CHECK(cudaMemcpy(on_in, in.data(), in.size() * 4, cudaMemcpyDefault));
    laid_out<ta, tb><<<1, 128>>>(on_in, on_out, layout);
    CHECK(cudaDeviceSynchronize());
    std::vector<float> out(128 * 32);
    CHECK(cudaMemcpy(out.data(), on_out, 128 * 32 * 4, cudaMemcpyDefault));
    for (int t = 0; t < 128; t++) {
        uint32_t hash = 0;
        for (int i = 0; i < 32; i++)
            hash = hash * 31 + uint32_t(int(out[t * 32 + i]));
        printf("layout %s (thread %d) %08x\n", name, t, hash);
    }
    CHECK(cudaFree(on_in));
    CHECK(cudaFree(on_out));
}

// ---- tiles

__global__ void load_tile(const __grid_constant__ CUtensorMap map, int x, int y, int bytes, uint32_t *out, int *done)
{
    __shared__ __align__(1024) uint32_t tile[1024];
    __shared__ uint64_t barrier;
    const int t = threadIdx.x;
    for (int i = t; i < 1024; i += 32)
        tile[i] = 0xdeadbeef;
    fence_proxy();
    __syncthreads();
    if (t == 0) {
        init(&barrier, 1);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        expect(&barrier, bytes);
        fetch(tile, &map, x, y, &barrier);
        *done = completes(&barrier, 0);
    }
    __syncthreads();
    for (int i = t; i < 1024; i += 32)
        out[i] = tile[i];
}

enum Op { STORE, ADD, MIN, MAX, INC, DEC, AND, OR, XOR };

template <int op> __global__ void store_tile(const __grid_constant__ CUtensorMap map, int x, int y, const uint32_t *in)
{
    __shared__ __align__(1024) uint32_t tile[1024];
    for (int i = threadIdx.x; i < 1024; i += 32)
        tile[i] = in[i];
    fence_proxy();
    __syncthreads();
    if (threadIdx.x == 0) {
        const uint32_t from = shared_address(tile);
#define SEND(text) asm volatile(text " [%0, {%1, %2}], [%3];" ::"l"(&map), "r"(x), "r"(y), "r"(from) : "memory")
        if constexpr (op == STORE)
            SEND("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group");
        if constexpr (op == ADD)
            SEND("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group");
        if constexpr (op == MIN)
            SEND("cp.reduce.async.bulk.tensor.2d.global.shared::cta.min.tile.bulk_group");
        if constexpr (op == MAX)
            SEND("cp.reduce.async.bulk.tensor.2d.global.shared::cta.max.tile.bulk_group");
        if constexpr (op == INC)
            SEND("cp.reduce.async.bulk.tensor.2d.global.shared::cta.inc.tile.bulk_group");
        if constexpr (op == DEC)
            SEND("cp.reduce.async.bulk.tensor.2d.global.shared::cta.dec.tile.bulk_group");
        if constexpr (op == AND)
            SEND("cp.reduce.async.bulk.tensor.2d.global.shared::cta.and.tile.bulk_group");
        if constexpr (op == OR)
            SEND("cp.reduce.async.bulk.tensor.2d.global.shared::cta.or.tile.bulk_group");
        if constexpr (op == XOR)
            SEND("cp.reduce.async.bulk.tensor.2d.global.shared::cta.xor.tile.bulk_group");
        asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
    }
}

static const struct {
    const char *name;
    int size;
} TYPES[] = {{"u8", 1},  {"u16", 2}, {"u32", 4},  {"s32", 4},     {"u64", 8},  {"s64", 8},     {"f16", 2},
             {"f32", 4}, {"f64", 8}, {"bf16", 2}, {"f32 ftz", 4}, {"tf32", 4}, {"tf32 ftz", 4}};

static void print_words(const std::string &name, const std::vector<uint32_t> &words)
{
    for (size_t i = 0; i < words.size(); i += 8) {
        printf("%s (%d)", name.c_str(), int(i));
        for (int k = 0; k < 8; k++)
            printf(" %08x", words[i + k]);
        printf("\n");
    }
}

// A tile that begins at some elements in a row, or bytes before or behind it.
struct Place {
    int elements, bytes, y;
};
static const Place PLACES[] = {{0, 64, 2}, {1, 0, 0}, {0, -16, 0}, {-1, 0, 0}, {-3, 0, -2}, {0, 0, -2}, {0, 368, 11}, {-5, 384, 11}, {0, 384, 0}, {0, 0, 16}};

static void print_tiles(int type, int number)
{
    // 16 rows of 512 bytes, of which a tensor has 384.
    std::vector<uint32_t> data(2048);
    for (auto &word : data)
        word = random32() % 4 ? random32() : random32() & 0x807fffff;
    uint32_t *on_data, *on_out;
    int *on_done;
    CHECK(cudaMalloc(&on_data, 8192));
    CHECK(cudaMalloc(&on_out, 4096));
    CHECK(cudaMalloc(&on_done, 4));
    CHECK(cudaMemcpy(on_data, data.data(), 8192, cudaMemcpyDefault));
    const int size = TYPES[type].size;
    const bool is_float = type >= 6;
    for (int swizzle = 0; swizzle < (number ? 1 : 4); swizzle++)
        for (int row_bytes = 32; row_bytes <= 128; row_bytes *= 2)
            for (int nan = 0; nan <= int(is_float); nan++) {
                if (swizzle && row_bytes > 16 << swizzle)
                    continue;
                const int width = row_bytes / size, x = PLACES[number].elements + PLACES[number].bytes / size, y = PLACES[number].y;
                const CUtensorMap map = map2d(CUtensorMapDataType(type), size, on_data, 384 / size, 16, width, 8, CUtensorMapSwizzle(swizzle), nan, 512);
                load_tile<<<1, 32>>>(map, x, y, 8 * row_bytes, on_out, on_done);
                CHECK(cudaDeviceSynchronize());
                std::vector<uint32_t> out(8 * std::max(row_bytes, swizzle ? 16 << swizzle : 0) / 4);
                int done;
                CHECK(cudaMemcpy(out.data(), on_out, out.size() * 4, cudaMemcpyDefault));
                CHECK(cudaMemcpy(&done, on_done, 4, cudaMemcpyDefault));
                char name[100];
                snprintf(name, sizeof(name), "tile of %s (x %d, y %d, swizzle %d, rows of %d, nan %d, done %d)", TYPES[type].name, x, y, swizzle, row_bytes, nan, done);
                print_words(name, out);
            }
}

template <int op> static void print_store(const char *name, int type, int swizzle)
{
    const int size = TYPES[type].size;
    std::vector<uint32_t> data(1024), sent(1024);
    for (auto *all : {&data, &sent})
        for (int i = 0; i < 4096 / size; i++) {
            const float x = number(1);
            if (type == 6)
                put<__half>(*all, i, __float2half(x));
            else if (type == 9)
                put<__nv_bfloat16>(*all, i, __float2bfloat16(x));
            else if (type == 7)
                put<float>(*all, i, x);
            else if (type == 8)
                put<double>(*all, i, double(x) / 3);
            else
                put<uint32_t>(*all, i * size / 4, random32() % 2 ? random32() % 16 : random32());
        }
    uint32_t *on_data, *on_sent;
    CHECK(cudaMalloc(&on_data, 4096));
    CHECK(cudaMalloc(&on_sent, 4096));
    CHECK(cudaMemcpy(on_data, data.data(), 4096, cudaMemcpyDefault));
    CHECK(cudaMemcpy(on_sent, sent.data(), 4096, cudaMemcpyDefault));
    const CUtensorMap map = map2d(CUtensorMapDataType(type), size, on_data, 240 / size, 16, 128 / size, 8, CUtensorMapSwizzle(swizzle), false, 256);
    store_tile<op><<<1, 32>>>(map, 128 / size, 12, on_sent);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(data.data(), on_data, 4096, cudaMemcpyDefault));
    print_words(std::string(name) + " of " + TYPES[type].name + (swizzle ? " (swizzled)" : " (plain)"), data);
    CHECK(cudaFree(on_data));
    CHECK(cudaFree(on_sent));
}

// What cuTensorMapEncodeTiled says to arguments, one of which is changed.
static void print_rules(void *data)
{
    struct Arguments {
        uint32_t type = 6, rank = 3;
        uint64_t address = 0, extents[5] = {64, 32, 4, 2, 2}, strides[4] = {128, 4096, 16384, 32768};
        uint32_t tile[5] = {64, 8, 2, 1, 1}, steps[5] = {1, 1, 1, 1, 1}, interleave = 0, swizzle = 3, promotion = 0, fill = 0;
    };
    const auto ask = [&](const char *name, auto change) {
        Arguments a;
        change(a);
        CUtensorMap map;
        const int result = encode()(&map, CUtensorMapDataType(a.type), a.rank, static_cast<char *>(data) + a.address, a.extents, a.strides, a.tile, a.steps, CUtensorMapInterleave(a.interleave),
                                    CUtensorMapSwizzle(a.swizzle), CUtensorMapL2promotion(a.promotion), CUtensorMapFloatOOBfill(a.fill));
        printf("rule %s: %d\n", name, result);
    };
    ask("right", [](auto &) {});
    ask("rank 5", [](auto &a) { a.rank = 5; });
    ask("rank 0", [](auto &a) { a.rank = 0; });
    ask("rank 6", [](auto &a) { a.rank = 6; });
    ask("address + 8", [](auto &a) { a.address = 8; });
    ask("address + 16", [](auto &a) { a.address = 16; });
    ask("extent 0", [](auto &a) { a.extents[1] = 0; });
    ask("extent 2^31", [](auto &a) { a.extents[1] = 1ull << 31; });
    ask("extent 2^32", [](auto &a) { a.extents[1] = 1ull << 32; });
    ask("extent 2^32 + 1", [](auto &a) { a.extents[1] = (1ull << 32) + 1; });
    ask("stride 0", [](auto &a) { a.strides[0] = 0; });
    ask("stride 120", [](auto &a) { a.strides[0] = 120; });
    ask("stride 64, less than a row", [](auto &a) { a.strides[0] = 64; });
    ask("strides that fall", [](auto &a) { a.strides[1] = 64; });
    ask("stride 2^40", [](auto &a) { a.strides[1] = 1ull << 40; });
    ask("tile 0", [](auto &a) { a.tile[1] = 0; });
    ask("tile 256", [](auto &a) { a.tile[1] = 256; });
    ask("tile 257", [](auto &a) { a.tile[1] = 257; });
    ask("rows of 256 bytes, swizzled", [](auto &a) { a.tile[0] = 128; });
    ask("rows of 256 bytes", [](auto &a) { a.tile[0] = 128, a.swizzle = 0; });
    ask("rows of 8 bytes", [](auto &a) { a.tile[0] = 4; });
    ask("rows of 64 bytes, swizzle of 32", [](auto &a) { a.tile[0] = 32, a.swizzle = 1; });
    ask("first step 0", [](auto &a) { a.steps[0] = 0; });
    ask("first step 3", [](auto &a) { a.steps[0] = 3; });
    ask("step 0", [](auto &a) { a.steps[1] = 0; });
    ask("step 8", [](auto &a) { a.steps[1] = 8; });
    ask("step 9", [](auto &a) { a.steps[1] = 9; });
    ask("type 13", [](auto &a) { a.type = 13; });
    ask("type 14", [](auto &a) { a.type = 14, a.extents[0] = 128, a.tile[0] = 128; });
    ask("type 16", [](auto &a) { a.type = 16; });
    for (static int s = 4; s < 8; s++)
        ask("swizzle above 3", [](auto &a) { a.swizzle = s; });
    ask("promotion 4", [](auto &a) { a.promotion = 4; });
    ask("fill 2", [](auto &a) { a.fill = 2; });
    ask("nan of f16", [](auto &a) { a.fill = 1; });
    ask("nan of u16", [](auto &a) { a.type = 1, a.fill = 1; });
}

static void print_values()
{
    print_products<0, float, 4>("f16");
    print_products<1, float, 4>("bf16");
    print_products<2, float, 4>("tf32");
    print_products<3, float, 4>("e4m3");
    print_products<4, float, 4>("e5m2");
    print_products<5, uint32_t, 2>("f16 to f16");
    print_products<6, uint32_t, 2>("e4m3 e5m2 to f16");
    print_products<7, int, 4>("s8 u8");
    print_products<8, int, 4>("s8 s8 satfinite");
    uint32_t *on_in;
    float *on_out;
    std::vector<uint32_t> in(640);
    for (int i = 0; i < 1280; i++)
        put<__half>(in, i, __float2half(number(0)));
    CHECK(cudaMalloc(&on_in, 2560));
    CHECK(cudaMalloc(&on_out, 2048));
    CHECK(cudaMemcpy(on_in, in.data(), 2560, cudaMemcpyDefault));
    from_registers<<<1, 128>>>(on_in, on_out);
    CHECK(cudaDeviceSynchronize());
    std::vector<uint32_t> out(512);
    CHECK(cudaMemcpy(out.data(), on_out, 2048, cudaMemcpyDefault));
    print_words("from registers", out);
    print_layout<0, 0>("along k, none", {{0, 8192}, {128, 1024}, {256, 128}, {}, 0});
    print_layout<0, 0>("along k, 128", {{0, 8192}, {16, 16}, {1024, 1024}, {}, 1});
    print_layout<0, 0>("along k, 128, second step", {{32, 8192 + 96}, {16, 16}, {1024, 1024}, {}, 1});
    print_layout<0, 0>("along k, 64", {{32, 8192}, {16, 16}, {512, 512}, {}, 2});
    print_layout<0, 0>("along k, 32", {{0, 8192}, {16, 16}, {256, 512}, {}, 3});
    print_layout<0, 0>("along k, 128, leading is not looked at", {{0, 8192}, {512, 256}, {1024, 1024}, {}, 1});
    print_layout<0, 0>("along k, 128, from line 1", {{128, 8192 + 256}, {16, 16}, {1024, 1024}, {}, 1});
    print_layout<0, 0>("along k, 128, base 1 and 2", {{128, 8192 + 256}, {16, 16}, {1024, 1024}, {1, 2}, 1});
    print_layout<0, 0>("along k, 64, base 3", {{128 * 3, 8192}, {16, 16}, {512, 512}, {3, 0}, 2});
    print_layout<1, 1>("along m, none", {{0, 8192}, {1024, 128}, {128, 256}, {}, 0});
    print_layout<1, 1>("along m, 128", {{0, 8192}, {16, 16}, {1024, 1024}, {}, 1});
    print_layout<1, 1>("along m, 128, leading and stride", {{0, 8192}, {2048, 4096}, {4096, 1024}, {}, 1});
    print_layout<1, 0>("along m, 64", {{0, 8192}, {1024, 16}, {512, 512}, {}, 2});
    print_layout<0, 1>("along n, 32", {{0, 8192}, {16, 512}, {512, 256}, {}, 3});
}

static void print_stores()
{
    for (int swizzle = 0; swizzle <= 3; swizzle += 3) {
        for (int type : {2, 3, 4, 6, 7, 8, 9})
            print_store<STORE>("store", type, swizzle);
        for (int type : {2, 3, 4, 6, 7, 8, 9})
            print_store<ADD>("add", type, swizzle);
        for (int type : {2, 3, 4, 5}) {
            print_store<MIN>("min", type, swizzle);
            print_store<MAX>("max", type, swizzle);
        }
        for (int type : {2, 3, 4}) {
            print_store<AND>("and", type, swizzle);
            print_store<OR>("or", type, swizzle);
            print_store<XOR>("xor", type, swizzle);
        }
        print_store<INC>("inc", 2, swizzle);
        print_store<DEC>("dec", 2, swizzle);
    }
}

// Prints in a process of its own: what a GPU stops at ends no more than that.
template <class F> static void apart(const char *name, F print)
{
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        print();
        exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    if (status)
        printf("%s ended with %d\n", name, WEXITSTATUS(status));
}

int main()
{
    apart("products", print_values);
    for (int type = 0; type < 13; type++)
        for (int place = 0; place < int(sizeof(PLACES) / sizeof(*PLACES)); place++)
            apart("tile", [&] { print_tiles(type, place); });
    apart("stores", print_stores);
    apart("rules", [] {
        void *data;
        CHECK(cudaMalloc(&data, 4096));
        print_rules(data);
    });
}
