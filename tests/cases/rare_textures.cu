// Textures and surfaces as few programs use them: whether an element is resident, changes of a cube map's directions, results
// of 16 bits, stores that convert, views of a part of an array. With the argument `values` it prints each value instead: a
// GPU's lines are to be the same (see tests/textures.sh). Of what the PTX ISA leaves open (integers that do not fit in an
// element, the rounding to 16 bits) only those lines tell.
//
// run: emulate -- PROGRAM
// prints: resident: right
// prints: texCubemapGrad: right
// prints: 16 bits: right
// prints: sust.p of halves: right
// prints: sust.p of bytes: right
// prints: a view: right
// run: emulate -- PROGRAM outside
// tells: sust\.p\.2d\.v4\.b32\.trap` of surface object 0x[0-9a-f]+ at \(16, 0\): the element there is outside of the surface
// exit: 1
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_fp16.h>
#include <functional>
#include <vector>

constexpr int N = 256, W = 16, H = 8, CUBE = 64, LEVELS = 7;
static bool prints_values;

#define CHECK(call) check(call, #call)
static void check(cudaError_t error, const char *what)
{
    if (error != cudaSuccess) {
        printf("%s: %s\n", what, cudaGetErrorString(error));
        exit(1);
    }
}

struct Direction {
    float4 at, right, down;
};

static unsigned seed = 1;
static float random(float low, float high)
{
    seed = seed * 1664525u + 1013904223u;
    return low + (high - low) * float(seed >> 8) / float(1 << 24);
}

// Tells a kind by the values found, and by what they are to be.
static void tell(const char *name, const std::vector<float> &found, const std::function<float(int)> &expected, float tolerance)
{
    float worst = 0;
    for (size_t i = 0; i < found.size(); i++) {
        const float difference = fabsf(found[i] - expected(i));
        worst = difference > worst || difference != difference ? difference : worst;
        if (prints_values)
            printf("%s (%zu): %.9g\n", name, i, found[i]);
    }
    if (worst <= tolerance)
        printf("%s: right\n", name);
    else
        printf("%s: wrong by %g\n", name, worst);
}

template <class Launch> static std::vector<float> of_kernel(int count, Launch launch)
{
    float *out;
    CHECK(cudaMalloc(&out, count * sizeof(float)));
    launch(out);
    std::vector<float> found(count);
    CHECK(cudaMemcpy(found.data(), out, count * sizeof(float), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(out));
    return found;
}

template <class T> static cudaArray_t array(const std::vector<T> &texels, int w, int h, int layers, unsigned flags)
{
    const cudaChannelFormatDesc format = cudaCreateChannelDesc<T>();
    cudaArray_t made;
    CHECK(cudaMalloc3DArray(&made, &format, make_cudaExtent(w, h, layers), flags));
    cudaMemcpy3DParms copy{};
    copy.srcPtr = make_cudaPitchedPtr((void *)texels.data(), w * sizeof(T), w, h);
    copy.dstArray = made;
    copy.extent = make_cudaExtent(w, h, layers ? layers : 1);
    copy.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&copy));
    return made;
}

static cudaResourceDesc resource(cudaArray_t of)
{
    cudaResourceDesc made{};
    made.resType = cudaResourceTypeArray;
    made.res.array.array = of;
    return made;
}

static cudaTextureObject_t texture(const cudaResourceDesc &of, cudaTextureDesc sampling = {}, const cudaResourceViewDesc *view = nullptr)
{
    cudaTextureObject_t made;
    sampling.addressMode[0] = sampling.addressMode[1] = sampling.addressMode[2] = cudaAddressModeClamp;
    CHECK(cudaCreateTextureObject(&made, &of, &sampling, view));
    return made;
}

__global__ void resident(cudaTextureObject_t t, float *out)
{
    const int i = threadIdx.x;
    bool is_resident = false, is_gathered = false;
    const float v = tex2D<float>(t, i % W, i / W, &is_resident);
    const float4 g = tex2Dgather<float4>(t, i % W + .75f, i / W + .75f, &is_gathered, 0);
    out[i] = is_resident && is_gathered ? v + g.w : -1;
}

__global__ void changes(cudaTextureObject_t t, const Direction *all, float *out)
{
    const Direction d = all[threadIdx.x];
    out[threadIdx.x] = texCubemapGrad<float>(t, d.at.x, d.at.y, d.at.z, d.right, d.down);
}

// Level k of the cube holds 256 k everywhere.
static void of_a_cube()
{
    const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaResourceDesc mipmap{};
    mipmap.resType = cudaResourceTypeMipmappedArray;
    CHECK(cudaMallocMipmappedArray(&mipmap.res.mipmap.mipmap, &format, make_cudaExtent(CUBE, CUBE, 6), LEVELS, cudaArrayCubemap));
    for (int k = 0; k < LEVELS; k++) {
        const int w = CUBE >> k;
        const std::vector<float> texels(6 * w * w, 256 * k);
        cudaMemcpy3DParms copy{};
        CHECK(cudaGetMipmappedArrayLevel(&copy.dstArray, mipmap.res.mipmap.mipmap, k));
        copy.srcPtr = make_cudaPitchedPtr((void *)texels.data(), w * sizeof(float), w, w);
        copy.extent = make_cudaExtent(w, w, 6);
        copy.kind = cudaMemcpyHostToDevice;
        CHECK(cudaMemcpy3D(&copy));
    }
    cudaTextureDesc sampling{};
    sampling.normalizedCoords = 1;
    sampling.filterMode = sampling.mipmapFilterMode = cudaFilterModeLinear;
    sampling.maxMipmapLevelClamp = 99;
    std::vector<Direction> all;
    std::vector<float> expected;
    for (int i = 0; i < N; i++) {
        Direction d{};
        float *at = &d.at.x, *right = &d.right.x;
        // One coordinate is the greatest, and one other changes.
        const int major = i % 3, other = (major + 1 + i / 3 % 2) % 3;
        for (int k = 0; k < 3; k++)
            at[k] = random(-1, 1);
        at[major] = (i % 5 < 3 ? 1 : -1) * random(1.1f, 3);
        right[other] = random(.02f, 1);
        // On the face a change of the direction is half of its quotient with the greatest coordinate.
        const float elements = CUBE * right[other] / (2 * fabsf(at[major]));
        expected.push_back(256 * fmaxf(0, log2f(elements)));
        all.push_back(d);
    }
    Direction *directions;
    CHECK(cudaMalloc(&directions, N * sizeof(Direction)));
    CHECK(cudaMemcpy(directions, all.data(), N * sizeof(Direction), cudaMemcpyHostToDevice));
    const cudaTextureObject_t t = texture(mipmap, sampling);
    const auto found = of_kernel(N, [&](float *out) { changes<<<1, N>>>(t, directions, out); });
    tell("texCubemapGrad", found, [&](int i) { return expected[i]; }, 2);
}

__global__ void halves(cudaTextureObject_t t, float *out)
{
    const int i = threadIdx.x;
    const float x = i % W + .5f, y = i / W + .5f;
    unsigned short h[4];
    unsigned p[2];
    asm volatile("tex.2d.v4.f16.f32 {%0, %1, %2, %3}, [%4, {%5, %6}];"
                 : "=h"(h[0]), "=h"(h[1]), "=h"(h[2]), "=h"(h[3]) : "l"(t), "f"(x), "f"(y));
    asm volatile("tex.2d.v2.f16x2.f32 {%0, %1}, [%2, {%3, %4}];" : "=r"(p[0]), "=r"(p[1]) : "l"(t), "f"(x), "f"(y));
    const bool are_equal = p[0] == (h[0] | unsigned(h[1]) << 16) && p[1] == (h[2] | unsigned(h[3]) << 16);
    for (int k = 0; k < 4; k++)
        out[4 * i + k] = are_equal ? __half2float(__ushort_as_half(h[k])) : -1;
}

template <bool OUTSIDE> __global__ void formatted(cudaSurfaceObject_t s, const float4 *values)
{
    const int i = threadIdx.x;
    const float4 v = values[i];
    asm volatile("sust.p.2d.v4.b32.trap [%0, {%1, %2}], {%3, %4, %5, %6};"
                 :: "l"(s), "r"(i % W + (OUTSIDE ? W : 0)), "r"(i / W), "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w) : "memory");
}

__global__ void integers(cudaSurfaceObject_t s)
{
    const int i = threadIdx.x, v = 3 * i;
    asm volatile("sust.p.2d.v4.b32.zero [%0, {%1, %2}], {%3, %4, %5, %6};"
                 :: "l"(s), "r"(i % W), "r"(i / W), "r"(v), "r"(v + 1), "r"(-v), "r"(1 << i % 32) : "memory");
}

template <class T> __global__ void read(cudaSurfaceObject_t s, float *out)
{
    const int i = threadIdx.x;
    const T v = surf2Dread<T>(s, i % W * sizeof(T), i / W);
    out[4 * i] = v.x, out[4 * i + 1] = v.y, out[4 * i + 2] = v.z, out[4 * i + 3] = v.w;
}

__global__ void view(cudaTextureObject_t t, float *out)
{
    out[threadIdx.x] = tex2DLayered<unsigned>(t, threadIdx.x % W, threadIdx.x / W, 0);
}

static void of_surfaces(bool goes_outside)
{
    std::vector<float4> values;
    for (int i = 0; i < W * H; i++)
        values.push_back(make_float4(i + random(0, 1), -i / 3.f, random(-1, 1), ldexpf(1 + random(0, 1), i % 32 - 16)));
    float4 *given;
    CHECK(cudaMalloc(&given, values.size() * sizeof(float4)));
    CHECK(cudaMemcpy(given, values.data(), values.size() * sizeof(float4), cudaMemcpyHostToDevice));
    const auto half = [&](int i) { return __half2float(__float2half_rn((&values[i / 4].x)[i % 4])); };
    const auto sampled = texture(resource(array(values, W, H, 0, 0)));
    tell("16 bits", of_kernel(4 * W * H, [&](float *out) { halves<<<1, W * H>>>(sampled, out); }), half, 0);

    const cudaChannelFormatDesc format = cudaCreateChannelDesc(16, 16, 16, 16, cudaChannelFormatKindFloat);
    cudaArray_t made;
    CHECK(cudaMalloc3DArray(&made, &format, make_cudaExtent(W, H, 0), cudaArraySurfaceLoadStore));
    const cudaResourceDesc of = resource(made);
    cudaSurfaceObject_t s;
    CHECK(cudaCreateSurfaceObject(&s, &of));
    if (goes_outside) {
        formatted<true><<<1, 1>>>(s, given);
        CHECK(cudaDeviceSynchronize());
    }
    formatted<false><<<1, W * H>>>(s, given);
    const auto stored = of_kernel(4 * W * H, [&](float *out) { read<ushort4><<<1, W * H>>>(s, out); });
    const auto bits = [&](int i) { return float(__half_as_ushort(__float2half_rn((&values[i / 4].x)[i % 4]))); };
    tell("sust.p of halves", stored, bits, 0);

    const cudaResourceDesc bytes = resource(array(std::vector<uchar4>(W * H), W, H, 0, cudaArraySurfaceLoadStore));
    CHECK(cudaCreateSurfaceObject(&s, &bytes));
    integers<<<1, W * H>>>(s);
    const auto found = of_kernel(4 * W * H, [&](float *out) { read<uchar4><<<1, W * H>>>(s, out); });
    // The others may not fit.
    const auto fits = [&](int i) { return i % 4 < 2 && 3 * (i / 4) + 1 < 256 ? 3 * (i / 4) + i % 4 : found[i]; };
    tell("sust.p of bytes", found, fits, 0);
}

int main(int count, char **arguments)
{
    prints_values = count > 1 && !strcmp(arguments[1], "values");
    std::vector<float> numbers;
    for (int i = 0; i < W * H; i++)
        numbers.push_back(i);
    const auto plane = texture(resource(array(numbers, W, H, 0, cudaArrayTextureGather)));
    tell("resident", of_kernel(W * H, [&](float *out) { resident<<<1, W * H>>>(plane, out); }),
         [](int i) { return 2 * i; }, 0);
    of_a_cube();
    of_surfaces(count > 1 && !strcmp(arguments[1], "outside"));

    std::vector<uchar4> layers;
    for (int i = 0; i < 3 * W * H; i++)
        layers.push_back(make_uchar4(i % 256, i / 256, 0, 0));
    cudaResourceViewDesc part{};
    part.format = cudaResViewFormatUnsignedInt1;
    part.width = W, part.height = H, part.depth = 0;
    part.firstLayer = 1, part.lastLayer = 2;
    const auto seen = texture(resource(array(layers, W, H, 3, cudaArrayLayered)), {}, &part);
    tell("a view", of_kernel(W * H, [&](float *out) { view<<<1, W * H>>>(seen, out); }), [](int i) { return i + W * H; }, 0);
}
