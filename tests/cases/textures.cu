// Textures of arrays and of memory, by points and filtered, against the formulas of the CUDA Programming Guide ("Texture
// Fetching"). Weights have 8 bits behind the point. With the argument `values` it prints each value instead: a GPU's lines
// are to be the same (see tests/textures.sh).
//
// run: emulate --orders 0..1 -- PROGRAM
// prints: tex1Dfetch: right
// prints: tex1Dfetch, parts of 255: right
// prints: tex2D of pitched memory: right
// prints: tex1D: right
// prints: tex2D, points: right
// prints: tex2D, filtered: right
// prints: tex2D, filtered, wrap: right
// prints: tex2D, filtered, mirror: right
// prints: tex2D, filtered, border: right
// prints: tex2D of four bytes: right
// prints: tex2D of halves: right
// prints: tex3D, filtered: right
// prints: tex1DLayered: right
// prints: tex2DLayered, filtered: right
// prints: texCubemap: right
// prints: tex2Dgather: right
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_fp16.h>
#include <functional>
#include <string>
#include <vector>

constexpr int N = 512, W = 16, H = 8, D = 4;
static bool prints_values;

#define CHECK(call) check(call, #call)
static void check(cudaError_t error, const char *what)
{
    if (error != cudaSuccess) {
        printf("%s: %s\n", what, cudaGetErrorString(error));
        exit(1);
    }
}

struct Point {
    float x, y, z;
    int layer;
};

struct half4 {
    __half x, y, z, w;
};
template <> cudaChannelFormatDesc cudaCreateChannelDesc<half4>()
{
    return cudaCreateChannelDesc(16, 16, 16, 16, cudaChannelFormatKindFloat);
}

enum Kind { FETCH, ONE, TWO, THREE, ONE_LAYERED, TWO_LAYERED, CUBE, GATHER };

template <class T> __global__ void sample(cudaTextureObject_t t, Kind kind, const Point *points, float *out)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const Point p = points[i];
    T v{};
    if (kind == FETCH)
        v = tex1Dfetch<T>(t, int(p.x));
    if (kind == ONE)
        v = tex1D<T>(t, p.x);
    if (kind == TWO)
        v = tex2D<T>(t, p.x, p.y);
    if (kind == THREE)
        v = tex3D<T>(t, p.x, p.y, p.z);
    if (kind == ONE_LAYERED)
        v = tex1DLayered<T>(t, p.x, p.layer);
    if (kind == TWO_LAYERED)
        v = tex2DLayered<T>(t, p.x, p.y, p.layer);
    if (kind == CUBE)
        v = texCubemap<T>(t, p.x, p.y, p.z);
    if (kind == GATHER)
        v = tex2Dgather<T>(t, p.x, p.y, 0);
    out[4 * i] = v.x;
    out[4 * i + 1] = v.y;
    out[4 * i + 2] = v.z;
    out[4 * i + 3] = v.w;
}

static unsigned seed = 1;
static float random(float low, float high)
{
    seed = seed * 1664525u + 1013904223u;
    return low + (high - low) * float(seed >> 8) / float(1 << 24);
}

// The host's texture: four channels of each element.
struct Image {
    int w = W, h = 1, d = 1;
    std::vector<float4> texels;
    cudaTextureAddressMode mode = cudaAddressModeClamp;
    bool filtered = false, normalized = false, gathered = false;

    static int addressed(int i, int n, cudaTextureAddressMode mode)
    {
        if (i >= 0 && i < n)
            return i;
        if (mode == cudaAddressModeBorder)
            return -1;
        if (mode == cudaAddressModeWrap)
            return ((i % n) + n) % n;
        if (mode == cudaAddressModeMirror) {
            const int j = ((i % (2 * n)) + 2 * n) % (2 * n);
            return j < n ? j : 2 * n - 1 - j;
        }
        return i < 0 ? 0 : n - 1;
    }
    float4 at(int x, int y, int z) const
    {
        x = addressed(x, w, mode), y = addressed(y, h, mode), z = addressed(z, d, mode);
        return x < 0 || y < 0 || z < 0 ? make_float4(0, 0, 0, 0) : texels[(z * h + y) * w + x];
    }
    // Index below, and the part of the one above.
    void axis(float x, int n, int &i, double &part) const
    {
        if (normalized)
            x *= n;
        if (!filtered) {
            i = int(floorf(x)), part = 0;
            return;
        }
        double fixed = floor((double(x) - 0.5) * 256 + 0.5);
        if (mode == cudaAddressModeClamp && !gathered)
            fixed = fmin(fmax(fixed, 0), (n - 1) * 256.);
        i = int(floor(fixed / 256)), part = fixed - 256 * i;
    }
    // As an H200 does: products of weights have eight bits too, and add up to 256.
    float4 sample(float x, float y, float z, int dimensions, int layer) const
    {
        int i, j = 0, k = layer;
        double a, b = 0, c = 0;
        axis(x, w, i, a);
        if (dimensions > 1)
            axis(y, h, j, b);
        if (dimensions > 2)
            axis(z, d, k, c);
        double sum[4] = {};
        for (int corner = 0; corner < 8; corner++) {
            const int p = corner & 1, q = corner >> 1 & 1, r = corner >> 2;
            const double plane = r ? c : 256 - c, second = floor((plane * a + 128) / 256), row = p ? second : plane - second;
            // What lies on the diagonal is rounded.
            const double rounded = floor((row * (p ? b : 256 - b) + 128) / 256);
            const double weight = (p == q ? rounded : row - rounded) / 256;
            if (weight == 0)
                continue;
            const float4 t = at(i + p, j + q, k + r);
            sum[0] += weight * t.x, sum[1] += weight * t.y, sum[2] += weight * t.z, sum[3] += weight * t.w;
        }
        return make_float4(sum[0], sum[1], sum[2], sum[3]);
    }
    float4 cube(float x, float y, float z) const
    {
        const float ax = fabsf(x), ay = fabsf(y), az = fabsf(z);
        int face;
        float m, s, t;
        if (ax >= ay && ax >= az)
            face = x < 0, m = ax, s = x < 0 ? z : -z, t = -y;
        else if (ay >= az)
            face = 2 + (y < 0), m = ay, s = x, t = y < 0 ? -z : z;
        else
            face = 4 + (z < 0), m = az, s = z < 0 ? -x : x, t = -y;
        return sample((s / m + 1) / 2, (t / m + 1) / 2, 0, 2, face);
    }
};

using Expected = std::function<float4(const Point &)>;

template <class T>
static void test(const char *name, cudaTextureObject_t t, Kind kind, const std::vector<Point> &points, const Expected &expected,
                 float tolerance)
{
    Point *p;
    float *out;
    CHECK(cudaMalloc(&p, N * sizeof(Point)));
    CHECK(cudaMalloc(&out, 4 * N * sizeof(float)));
    CHECK(cudaMemcpy(p, points.data(), N * sizeof(Point), cudaMemcpyHostToDevice));
    sample<T><<<N / 64, 64>>>(t, kind, p, out);
    std::vector<float> found(4 * N);
    CHECK(cudaMemcpy(found.data(), out, 4 * N * sizeof(float), cudaMemcpyDeviceToHost));
    float worst = 0;
    for (int i = 0; i < N; i++) {
        const float4 e = expected(points[i]);
        const float right[] = {e.x, e.y, e.z, e.w};
        for (int c = 0; c < 4; c++) {
            const float difference = fabsf(found[4 * i + c] - right[c]);
            worst = difference > worst || difference != difference ? difference : worst;
        }
        if (prints_values)
            printf("%s (%.9g, %.9g, %.9g, %d): %.9g %.9g %.9g %.9g\n", name, points[i].x, points[i].y, points[i].z, points[i].layer,
                   found[4 * i], found[4 * i + 1], found[4 * i + 2], found[4 * i + 3]);
    }
    if (worst <= tolerance)
        printf("%s: right\n", name);
    else
        printf("%s: wrong by %g\n", name, worst);
    CHECK(cudaDestroyTextureObject(t));
    CHECK(cudaFree(p));
    CHECK(cudaFree(out));
}

static cudaTextureObject_t texture(const cudaResourceDesc &resource, const Image &image, bool reads_parts)
{
    cudaTextureDesc d{};
    d.addressMode[0] = d.addressMode[1] = d.addressMode[2] = image.mode;
    d.filterMode = image.filtered ? cudaFilterModeLinear : cudaFilterModePoint;
    d.readMode = reads_parts ? cudaReadModeNormalizedFloat : cudaReadModeElementType;
    d.normalizedCoords = image.normalized;
    cudaTextureObject_t t;
    CHECK(cudaCreateTextureObject(&t, &resource, &d, nullptr));
    return t;
}

// An array with these elements, and a texture of it. `flags` of cudaMalloc3DArray.
template <class T>
static cudaTextureObject_t of_array(Image &image, const std::vector<T> &texels, cudaExtent extent, unsigned flags = 0,
                                    bool reads_parts = false)
{
    const cudaChannelFormatDesc format = cudaCreateChannelDesc<T>();
    cudaArray_t array;
    CHECK(cudaMalloc3DArray(&array, &format, extent, flags));
    cudaMemcpy3DParms copy{};
    copy.srcPtr = make_cudaPitchedPtr((void *)texels.data(), image.w * sizeof(T), image.w, image.h);
    copy.dstArray = array;
    copy.extent = make_cudaExtent(image.w, image.h, image.d);
    copy.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&copy));
    cudaResourceDesc resource{};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    return texture(resource, image, reads_parts);
}

static std::vector<float4> floats(Image &image)
{
    image.texels.clear();
    for (int i = 0; i < image.w * image.h * image.d; i++)
        image.texels.push_back(make_float4(random(-1, 1), random(-1, 1), random(-1, 1), random(-1, 1)));
    return image.texels;
}

static std::vector<Point> points(float low, float high, float scale_x, float scale_y, float scale_z, int layers = 1)
{
    std::vector<Point> all;
    for (int i = 0; i < N; i++)
        all.push_back({random(low, high) * scale_x, random(low, high) * scale_y, random(low, high) * scale_z, i % layers});
    return all;
}

static void of_memory()
{
    Image image;
    image.w = 64;
    std::vector<float4> texels = floats(image);
    float4 *memory;
    CHECK(cudaMalloc(&memory, texels.size() * sizeof(float4)));
    CHECK(cudaMemcpy(memory, texels.data(), texels.size() * sizeof(float4), cudaMemcpyHostToDevice));
    cudaResourceDesc resource{};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear = {memory, cudaCreateChannelDesc<float4>(), texels.size() * sizeof(float4)};
    const auto fetched = [&](const Point &p) {
        return p.x < 0 || p.x >= image.w ? make_float4(0, 0, 0, 0) : image.texels[int(p.x)];
    };
    test<float4>("tex1Dfetch", texture(resource, image, false), FETCH, points(0, 1, 70, 0, 0), fetched, 0);

    std::vector<uchar4> bytes;
    for (float4 &t : image.texels) {
        const uchar4 b = make_uchar4(random(0, 256), random(0, 256), random(0, 256), random(0, 256));
        bytes.push_back(b);
        t = make_float4(b.x / 255.f, b.y / 255.f, b.z / 255.f, b.w / 255.f);
    }
    CHECK(cudaMemcpy(memory, bytes.data(), bytes.size() * sizeof(uchar4), cudaMemcpyHostToDevice));
    resource.res.linear = {memory, cudaCreateChannelDesc<uchar4>(), bytes.size() * sizeof(uchar4)};
    test<float4>("tex1Dfetch, parts of 255", texture(resource, image, true), FETCH, points(0, 1, 63, 0, 0), fetched, 1e-7f);

    Image rows;
    rows.h = H, rows.filtered = true;
    texels = floats(rows);
    float4 *pitched;
    size_t pitch;
    CHECK(cudaMallocPitch(&pitched, &pitch, W * sizeof(float4), H));
    CHECK(cudaMemcpy2D(pitched, pitch, texels.data(), W * sizeof(float4), W * sizeof(float4), H, cudaMemcpyHostToDevice));
    resource = {};
    resource.resType = cudaResourceTypePitch2D;
    resource.res.pitch2D = {pitched, cudaCreateChannelDesc<float4>(), W, H, pitch};
    test<float4>("tex2D of pitched memory", texture(resource, rows, false), TWO, points(-.2f, 1.2f, W, H, 0),
                 [&](const Point &p) { return rows.sample(p.x, p.y, 0, 2, 0); }, 1e-6f);
}

static void of_arrays()
{
    Image line;
    line.filtered = true;
    test<float4>("tex1D", of_array(line, floats(line), make_cudaExtent(W, 0, 0)), ONE, points(-.2f, 1.2f, W, 0, 0),
                 [&](const Point &p) { return line.sample(p.x, 0, 0, 1, 0); }, 1e-6f);

    Image plane;
    plane.h = H;
    const auto two = [&](const Point &p) { return plane.sample(p.x, p.y, 0, 2, 0); };
    const cudaExtent extent = make_cudaExtent(W, H, 0);
    test<float4>("tex2D, points", of_array(plane, floats(plane), extent), TWO, points(-.2f, 1.2f, W, H, 0), two, 0);
    plane.filtered = true;
    test<float4>("tex2D, filtered", of_array(plane, floats(plane), extent), TWO, points(-.2f, 1.2f, W, H, 0), two, 1e-6f);
    plane.normalized = true;
    const std::pair<const char *, cudaTextureAddressMode> modes[] = {
        {"tex2D, filtered, wrap", cudaAddressModeWrap},
        {"tex2D, filtered, mirror", cudaAddressModeMirror},
        {"tex2D, filtered, border", cudaAddressModeBorder},
    };
    for (const auto &mode : modes) {
        plane.mode = mode.second;
        test<float4>(mode.first, of_array(plane, floats(plane), extent), TWO, points(-2, 3, 1, 1, 0), two, 1e-6f);
    }

    Image image;
    image.h = H;
    std::vector<uchar4> bytes;
    const auto image_two = [&](const Point &p) { return image.sample(p.x, p.y, 0, 2, 0); };
    for (int i = 0; i < W * H; i++) {
        bytes.push_back(make_uchar4(random(0, 256), random(0, 256), random(0, 256), random(0, 256)));
        image.texels.push_back(make_float4(bytes[i].x, bytes[i].y, bytes[i].z, bytes[i].w));
    }
    test<uchar4>("tex2D of four bytes", of_array(image, bytes, extent), TWO, points(-.2f, 1.2f, W, H, 0), image_two, 0);
    std::vector<half4> quads;
    for (float4 &t : image.texels) {
        t = make_float4(random(-9, 9), random(-9, 9), random(-9, 9), random(-9, 9));
        half4 q{__float2half(t.x), __float2half(t.y), __float2half(t.z), __float2half(t.w)};
        t = make_float4(__half2float(q.x), __half2float(q.y), __half2float(q.z), __half2float(q.w));
        quads.push_back(q);
    }
    test<float4>("tex2D of halves", of_array(image, quads, extent), TWO, points(-.2f, 1.2f, W, H, 0), image_two, 0);
}

static void of_layers()
{
    Image space;
    space.h = H, space.d = D, space.filtered = true;
    test<float4>("tex3D, filtered", of_array(space, floats(space), make_cudaExtent(W, H, D)), THREE, points(-.2f, 1.2f, W, H, D),
                 [&](const Point &p) { return space.sample(p.x, p.y, p.z, 3, 0); }, 1e-6f);
    Image lines;
    lines.d = D;
    test<float4>("tex1DLayered", of_array(lines, floats(lines), make_cudaExtent(W, 0, D), cudaArrayLayered), ONE_LAYERED,
                 points(-.2f, 1.2f, W, 0, 0, D), [&](const Point &p) { return lines.sample(p.x, 0, 0, 1, p.layer); }, 0);
    Image planes = space;
    test<float4>("tex2DLayered, filtered", of_array(planes, floats(planes), make_cudaExtent(W, H, D), cudaArrayLayered), TWO_LAYERED,
                 points(-.2f, 1.2f, W, H, 0, D), [&](const Point &p) { return planes.sample(p.x, p.y, 0, 2, p.layer); }, 1e-6f);
    Image cube;
    cube.h = W, cube.d = 6, cube.normalized = true;
    test<float4>("texCubemap", of_array(cube, floats(cube), make_cudaExtent(W, W, 6), cudaArrayCubemap), CUBE, points(-1, 1, 1, 1, 1),
                 [&](const Point &p) { return cube.cube(p.x, p.y, p.z); }, 0);
    Image plane;
    plane.h = H, plane.filtered = plane.gathered = true;
    test<float4>("tex2Dgather", of_array(plane, floats(plane), make_cudaExtent(W, H, 0), cudaArrayTextureGather), GATHER,
                 points(0, 1, W, H, 0),
                 [&](const Point &p) {
                     int i, j;
                     double part;
                     plane.axis(p.x, W, i, part), plane.axis(p.y, H, j, part);
                     return make_float4(plane.at(i, j + 1, 0).x, plane.at(i + 1, j + 1, 0).x, plane.at(i + 1, j, 0).x,
                                        plane.at(i, j, 0).x);
                 },
                 0);
}

int main(int count, char **arguments)
{
    prints_values = count > 1 && !strcmp(arguments[1], "values");
    of_memory();
    of_arrays();
    of_layers();
}
