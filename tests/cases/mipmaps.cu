// Mipmaps: levels by number and by the changes of coordinates, against what an H200 gives (driver 580). Level k holds 256 k
// everywhere, so that a fetch filtered between levels is the level that it has taken, in parts of 256.
//
// run: emulate -- PROGRAM
// prints: extents: right
// prints: tex2DLod, nearest level: right
// prints: tex2DLod, between levels: right
// prints: tex2DLod, bias and clamp: right
// prints: tex2D: right
// prints: tex3DLod: right
// prints: tex2DLayeredLod: right
// prints: tex1DGrad: right
// prints: tex2DGrad: right
// prints: tex3DGrad: right
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

constexpr int N = 256;

#define CHECK(call) check(call, #call)
static void check(cudaError_t error, const char *what)
{
    if (error != cudaSuccess) {
        printf("%s: %s\n", what, cudaGetErrorString(error));
        exit(1);
    }
}

struct Point {
    float level;
    float4 right, down;
};

enum Kind { BASE, LOD, LOD3, LAYERED, GRAD1, GRAD2, GRAD3 };

__global__ void sample(cudaTextureObject_t t, Kind kind, const Point *points, float *out)
{
    const Point p = points[threadIdx.x];
    const float x = 0.4f, y = 0.6f, z = 0.3f;
    float value = 0;
    switch (kind) {
    case BASE: value = tex2D<float>(t, x, y); break;
    case LOD: value = tex2DLod<float>(t, x, y, p.level); break;
    case LOD3: value = tex3DLod<float>(t, x, y, z, p.level); break;
    case LAYERED: value = tex2DLayeredLod<float>(t, x, y, 1, p.level); break;
    case GRAD1: value = tex1DGrad<float>(t, x, p.right.x, p.down.x); break;
    case GRAD2:
        value = tex2DGrad<float>(t, x, y, make_float2(p.right.x, p.right.y), make_float2(p.down.x, p.down.y));
        break;
    case GRAD3: value = tex3DGrad<float>(t, x, y, z, p.right, p.down); break;
    }
    out[threadIdx.x] = value;
}

// A mipmap of all its levels, and whether their extents are right.
static cudaMipmappedArray_t mipmap(int w, int h, int d, unsigned flags, int levels, bool *are_right)
{
    cudaMipmappedArray_t made;
    const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    // More levels than there are: the driver makes as many as there are.
    CHECK(cudaMallocMipmappedArray(&made, &format, make_cudaExtent(w, h, d), 99, flags));
    cudaArray_t level;
    *are_right &= cudaGetMipmappedArrayLevel(&level, made, levels) == cudaErrorInvalidValue;
    cudaGetLastError();
    for (int k = 0; k < levels; k++) {
        CHECK(cudaGetMipmappedArrayLevel(&level, made, k));
        cudaChannelFormatDesc known;
        cudaExtent extent;
        unsigned has;
        CHECK(cudaArrayGetInfo(&known, &extent, &has, level));
        auto half = [k](int of) { return of ? std::max(1, of >> k) : 0; };
        const size_t wanted[] = {size_t(half(w)), size_t(half(h)), size_t(flags ? d : half(d))};
        *are_right &= extent.width == wanted[0] && extent.height == wanted[1] && extent.depth == wanted[2];
        const size_t rows = std::max<size_t>(1, wanted[1]), layers = std::max<size_t>(1, wanted[2]);
        std::vector<float> values(wanted[0] * rows * layers, 256.0f * k);
        cudaMemcpy3DParms copy = {};
        copy.srcPtr = make_cudaPitchedPtr(values.data(), wanted[0] * sizeof(float), wanted[0], rows);
        copy.dstArray = level;
        copy.extent = make_cudaExtent(wanted[0], rows, layers);
        copy.kind = cudaMemcpyHostToDevice;
        CHECK(cudaMemcpy3D(&copy));
    }
    return made;
}

static cudaTextureObject_t texture(cudaMipmappedArray_t of, cudaTextureFilterMode between, float bias, float least, float most)
{
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeMipmappedArray;
    resource.res.mipmap.mipmap = of;
    cudaTextureDesc how = {};
    how.normalizedCoords = 1;
    how.filterMode = cudaFilterModeLinear;
    how.mipmapFilterMode = between;
    how.mipmapLevelBias = bias;
    how.minMipmapLevelClamp = least;
    how.maxMipmapLevelClamp = most;
    cudaTextureObject_t made;
    CHECK(cudaCreateTextureObject(&made, &resource, &how, nullptr));
    return made;
}

static void expect(const char *name, cudaTextureObject_t texture, Kind kind, const std::vector<Point> &points, float off,
                   const std::function<float(const Point &)> &wanted)
{
    Point *on_device;
    float *out;
    CHECK(cudaMalloc(&on_device, sizeof(Point) * points.size()));
    CHECK(cudaMalloc(&out, sizeof(float) * points.size()));
    CHECK(cudaMemcpy(on_device, points.data(), sizeof(Point) * points.size(), cudaMemcpyHostToDevice));
    sample<<<1, unsigned(points.size())>>>(texture, kind, on_device, out);
    std::vector<float> got(points.size());
    CHECK(cudaMemcpy(got.data(), out, sizeof(float) * points.size(), cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < points.size(); i++)
        if (!(std::fabs(got[i] - wanted(points[i])) <= off)) {
            printf("%s: level %g, %g, not %g\n", name, points[i].level, got[i], wanted(points[i]));
            return;
        }
    printf("%s: right\n", name);
    CHECK(cudaFree(on_device));
    CHECK(cudaFree(out));
}

static float between(float least, float value, float most) { return std::min(std::max(value, least), most); }

static float cut(float level) { return std::floor(level * 256.0f) / 256.0f; }

// What is longest of two changes, their sum and difference, by an H200's measure of a length; the level that it has.
static float of_changes(const Point &p, float w, float h, float d, float last)
{
    auto length = [&](float sign, float right, float down) {
        float of[3] = {std::fabs(w * (right * p.right.x + sign * down * p.down.x)),
                       std::fabs(h * (right * p.right.y + sign * down * p.down.y)),
                       std::fabs(d * (right * p.right.z + sign * down * p.down.z))};
        std::sort(of, of + 3);
        return of[2] + of[1] * 11.0f / 32.0f + of[0] / 4.0f;
    };
    const float along = std::max(length(1, 1, 0), length(1, 0, 1));
    const float across = std::max(length(1, 1, 1), length(-1, 1, 1)) * 11.0f / 16.0f;
    return 256.0f * between(0, std::log2(std::max(along, across)), last);
}

int main()
{
    bool are_right = true;
    const cudaMipmappedArray_t flat = mipmap(64, 64, 0, 0, 7, &are_right), row = mipmap(128, 0, 0, 0, 8, &are_right);
    const cudaMipmappedArray_t deep = mipmap(32, 16, 8, 0, 6, &are_right);
    const cudaMipmappedArray_t layered = mipmap(64, 64, 3, cudaArrayLayered, 7, &are_right);
    printf("extents: %s\n", are_right ? "right" : "wrong");
    unsigned seed = 1;
    auto next = [&seed](float least, float most) {
        seed = seed * 1664525u + 1013904223u;
        return least + (most - least) * float(seed >> 8) / 16777216.0f;
    };
    std::vector<Point> points(N);
    for (Point &p : points) {
        const float scale = std::exp2(next(-8, 0));
        p.level = next(-1, 8);
        p.right = make_float4(scale * next(-1, 1), scale * next(-1, 1), scale * next(-1, 1), 0);
        p.down = make_float4(scale * next(-1, 1), scale * next(-1, 1), scale * next(-1, 1), 0);
    }
    const float levels[] = {-100, 0, 0.4999f, 0.5f, 2.5f, 6.5f, 100, NAN, INFINITY};
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
        points[i].level = levels[i];
    const cudaTextureFilterMode linear = cudaFilterModeLinear, nearest = cudaFilterModePoint;
    auto named = [](const Point &p) { return std::isnan(p.level) ? -100 : p.level; };
    expect("tex2DLod, nearest level", texture(flat, nearest, 0, 0, 99), LOD, points, 0,
           [&](const Point &p) { return 256 * std::floor(between(0, named(p), 6) + 0.5f); });
    expect("tex2DLod, between levels", texture(flat, linear, 0, 0, 99), LOD, points, 0,
           [&](const Point &p) { return 256 * between(0, cut(named(p)), 6); });
    expect("tex2DLod, bias and clamp", texture(flat, linear, 0.3f, 0.5f, 3.25f), LOD, points, 0,
           [&](const Point &p) { return 256 * between(0.5f, cut(named(p)) + cut(0.3f), 3.25f); });
    expect("tex2D", texture(flat, linear, 1.3f, 0.5f, 3.25f), BASE, points, 0, [](const Point &) { return 128.0f; });
    expect("tex3DLod", texture(deep, linear, 0, 0, 99), LOD3, points, 0,
           [&](const Point &p) { return 256 * between(0, cut(named(p)), 5); });
    expect("tex2DLayeredLod", texture(layered, linear, 0, 0, 99), LAYERED, points, 0,
           [&](const Point &p) { return 256 * between(0, cut(named(p)), 6); });
    expect("tex1DGrad", texture(row, linear, 0, 0, 99), GRAD1, points, 2.5f,
           [&](const Point &p) { return of_changes(p, 128, 0, 0, 7); });
    expect("tex2DGrad", texture(flat, linear, 0, 0, 99), GRAD2, points, 2.5f,
           [&](const Point &p) { return of_changes(p, 64, 64, 0, 6); });
    expect("tex3DGrad", texture(deep, linear, 0, 0, 99), GRAD3, points, 2.5f,
           [&](const Point &p) { return of_changes(p, 32, 16, 8, 5); });
    CHECK(cudaFreeMipmappedArray(flat));
    return 0;
}
