// Surfaces: loads and stores in one to three dimensions and in layers, with each treatment of coordinates outside, and a
// texture of the same array afterwards. The second run stores outside with `.trap`, and the third a misaligned coordinate.
//
// run: emulate --orders 0..1 -- PROGRAM
// prints: surf1D: right
// prints: surf2D: right
// prints: surf2D, bytes: right
// prints: surf3D: right
// prints: surf2DLayered: right
// prints: outside, clamped: right
// prints: outside, zero: right
// prints: texture of the array: right
// run: emulate -- PROGRAM outside
// tells: sust\.b\.2d\.b32\.trap` of surface object 0x[0-9a-f]+ at \(64, 0\): 4 bytes there are outside of the surface
// exit: 1
// run: emulate -- PROGRAM misaligned
// tells: at \(2, 0\): the first coordinate, which counts bytes, is not a multiple
// exit: 1
// run: emulate -- PROGRAM destroyed
// tells: texture object 0x[0-9a-f]+ at \(0\.5, 0\.5\): the object has been destroyed
// exit: 1
// run: emulate -- PROGRAM unwritten
// tells: uninitialized read: load of 4 bytes from byte 0 of buffer `array \d+`
// exit: 1
#include <cstdio>
#include <cstdlib>
#include <cstring>

constexpr int W = 16, H = 8, D = 4;

static void check(cudaError_t error)
{
    if (error != cudaSuccess) {
        printf("%s\n", cudaGetErrorString(error));
        exit(1);
    }
}

__device__ unsigned wrong;

__device__ void expect(bool right)
{
    if (!right)
        atomicAdd(&wrong, 1);
}

__global__ void one(cudaSurfaceObject_t s)
{
    const int x = threadIdx.x;
    surf1Dwrite(make_float2(x, -x), s, x * 8);
    const float2 v = surf1Dread<float2>(s, x * 8);
    expect(v.x == x && v.y == -x);
}

__global__ void two(cudaSurfaceObject_t s)
{
    const int x = threadIdx.x, y = threadIdx.y;
    surf2Dwrite(10 * y + x, s, x * 4, y);
    __syncthreads();
    expect(surf2Dread<int>(s, (W - 1 - x) * 4, y) == 10 * y + W - 1 - x);
}

__global__ void bytes(cudaSurfaceObject_t s)
{
    const int x = threadIdx.x, y = threadIdx.y;
    surf2Dwrite(make_uchar4(x, y, x + y, 255), s, x * 4, y);
    const uchar4 v = surf2Dread<uchar4>(s, x * 4, y);
    expect(v.x == x && v.y == y && v.z == x + y && v.w == 255);
    surf2Dwrite((unsigned char)7, s, x * 4 + 1, y);
    expect(surf2Dread<unsigned char>(s, x * 4 + 1, y) == 7 && surf2Dread<unsigned char>(s, x * 4, y) == x);
}

__global__ void three(cudaSurfaceObject_t s)
{
    const int x = threadIdx.x, y = threadIdx.y, z = blockIdx.x;
    surf3Dwrite(make_float4(x, y, z, 1), s, x * 16, y, z);
    const float4 v = surf3Dread<float4>(s, x * 16, y, z);
    expect(v.x == x && v.y == y && v.z == z && v.w == 1);
}

__global__ void layered(cudaSurfaceObject_t s)
{
    const int x = threadIdx.x, y = threadIdx.y, z = blockIdx.x;
    surf2DLayeredwrite(short(100 * z + 10 * y + x), s, x * 2, y, z);
    expect(surf2DLayeredread<short>(s, x * 2, y, z) == 100 * z + 10 * y + x);
}

// After `two`.
__global__ void outside(cudaSurfaceObject_t s, cudaSurfaceBoundaryMode mode)
{
    if (mode == cudaBoundaryModeClamp) {
        expect(surf2Dread<int>(s, -4, -1, cudaBoundaryModeClamp) == 0);
        expect(surf2Dread<int>(s, 4 * W + 40, 2, cudaBoundaryModeClamp) == 20 + W - 1);
    } else {
        expect(surf2Dread<int>(s, 4 * W, 2, cudaBoundaryModeZero) == 0);
        surf2Dwrite(5, s, 4 * W, 2, cudaBoundaryModeZero);
        expect(surf2Dread<int>(s, 0, 3) == 30);
    }
}

__global__ void fetch(cudaTextureObject_t t)
{
    const int x = threadIdx.x, y = threadIdx.y;
    expect(tex2D<int>(t, x + .5f, y + .5f) == 10 * y + x);
}

__global__ void store(cudaSurfaceObject_t s, int x)
{
    surf2Dwrite(1, s, x, 0);
}

template <class T> static cudaResourceDesc array(int w, int h, int d, unsigned flags)
{
    const cudaChannelFormatDesc format = cudaCreateChannelDesc<T>();
    cudaResourceDesc resource{};
    resource.resType = cudaResourceTypeArray;
    check(cudaMalloc3DArray(&resource.res.array.array, &format, make_cudaExtent(w, h, d), flags | cudaArraySurfaceLoadStore));
    return resource;
}

static cudaSurfaceObject_t surface(const cudaResourceDesc &resource)
{
    cudaSurfaceObject_t s;
    check(cudaCreateSurfaceObject(&s, &resource));
    return s;
}

static void tell(const char *name)
{
    unsigned count, none = 0;
    check(cudaDeviceSynchronize());
    check(cudaMemcpyFromSymbol(&count, wrong, sizeof count));
    check(cudaMemcpyToSymbol(wrong, &none, sizeof none));
    printf("%s: %s\n", name, count ? "wrong" : "right");
}

int main(int count, char **arguments)
{
    const dim3 block(W, H);
    const cudaResourceDesc plane = array<int>(W, H, 0, 0);
    const cudaSurfaceObject_t s = surface(plane);
    cudaTextureDesc sampling{};
    cudaTextureObject_t t;
    check(cudaCreateTextureObject(&t, &plane, &sampling, nullptr));
    const char *fault = count > 1 ? arguments[1] : "";
    if (!strcmp(fault, "outside"))
        store<<<1, 1>>>(s, 64);
    if (!strcmp(fault, "misaligned"))
        store<<<1, 1>>>(s, 2);
    if (!strcmp(fault, "destroyed")) {
        two<<<1, block>>>(s);
        check(cudaDestroyTextureObject(t));
    }
    if (!strcmp(fault, "destroyed") || !strcmp(fault, "unwritten"))
        fetch<<<1, 1>>>(t);
    if (*fault)
        return cudaDeviceSynchronize() != cudaSuccess;

    one<<<1, W>>>(surface(array<float2>(W, 0, 0, 0)));
    tell("surf1D");
    two<<<1, block>>>(s);
    tell("surf2D");
    bytes<<<1, block>>>(surface(array<uchar4>(W, H, 0, 0)));
    tell("surf2D, bytes");
    three<<<D, block>>>(surface(array<float4>(W, H, D, 0)));
    tell("surf3D");
    layered<<<D, block>>>(surface(array<short>(W, H, D, cudaArrayLayered)));
    tell("surf2DLayered");
    outside<<<1, 1>>>(s, cudaBoundaryModeClamp);
    tell("outside, clamped");
    outside<<<1, 1>>>(s, cudaBoundaryModeZero);
    tell("outside, zero");
    fetch<<<1, block>>>(t);
    tell("texture of the array");
}
