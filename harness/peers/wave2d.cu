// The 2D wave equation in plain CUDA C++, to be timed beside the Rust kernels. Same scheme, same scenes, same order of
// operations as kernels-gpu/src/wave2d: compiled with -fmad=false, the results are equal to the last bit.
//
// Parameters are those of the Rust kernels, whose slices are a pointer and a length.

typedef unsigned int u32;
typedef unsigned long long u64;

// ---- what stands in the domain ----

struct Domain {
    u32 n_x, n_y;
};

__device__ __forceinline__ u32 distance(u32 a, u32 b) { return a < b ? b - a : a - b; }

__device__ __forceinline__ bool is_border(Domain d, u32 x, u32 y)
{
    return x == 0 || y == 0 || x == d.n_x - 1 || y == d.n_y - 1;
}

__device__ __forceinline__ u32 sponge_width(Domain d) { return min(min(d.n_x, d.n_y) / 8, 32u); }

__device__ __forceinline__ float sponge(Domain d, u32 x, u32 y)
{
    const u32 width = sponge_width(d);
    const u32 depth = min(min(x, d.n_x - 1 - x), min(y, d.n_y - 1 - y));
    if (depth >= width) {
        return 0.0f;
    }
    const float into = float(width - depth) / float(width);
    return 0.25f * (into * into);
}

// sin(2 pi phase / 2^32).
__device__ __forceinline__ float sine(u32 phase)
{
    const int turns = int(phase);
    const int quarter = 1 << 30;
    const int folded = turns >= quarter || turns < -quarter ? int((1u << 31) - phase) : turns;
    const float x = float(folded) * (1.0f / 4294967296.0f);
    const float x2 = x * x;
    float sum = -15.094643f * x2 + 42.058693f;
    sum = sum * x2 - 76.70586f;
    sum = sum * x2 + 81.60525f;
    sum = sum * x2 - 41.3417f;
    sum = sum * x2 + 6.2831855f;
    return sum * x;
}

__device__ __forceinline__ float oscillation(u32 t)
{
    const float value = sine(t * 107374182u);
    return t < 80 ? value * (float(t) * (1.0f / 80.0f)) : value;
}

enum Scene : u32 { POINT_SOURCE, DOUBLE_SLIT, ELLIPTIC_ROOM, PARABOLIC_MIRROR, EMPTY_BOX };

__device__ __forceinline__ bool is_wall(u32 scene, Domain d, u32 x, u32 y)
{
    switch (scene) {
    case DOUBLE_SLIT: {
        const u32 first = d.n_x / 4, end = first + 1 + d.n_x / 128;
        const u32 from_middle = distance(y, d.n_y / 2);
        const bool is_open = distance(from_middle, d.n_y / 12) <= d.n_y / 48;
        return first <= x && x < end && !is_open;
    }
    case ELLIPTIC_ROOM: {
        const float a = float(distance(x, d.n_x / 2)) / (float(d.n_x) * (31.0f / 64.0f));
        const float b = float(distance(y, d.n_y / 2)) / (float(d.n_y) * (31.0f / 64.0f));
        return a * a + b * b >= 1.0f;
    }
    case PARABOLIC_MIRROR: {
        const u32 from_axis = distance(y, d.n_y / 2);
        const u32 vertex = d.n_x / 8, focal_length = d.n_y / 8;
        if (from_axis > d.n_y / 3 || focal_length == 0 || x < vertex) {
            return false;
        }
        const float rise = float(from_axis), four_focal = 4.0f * float(focal_length);
        const float surface = rise * rise / four_focal;
        const float slope = 2.0f * rise / four_focal;
        const float behind = surface - float(x - vertex);
        return 0.0f <= behind && behind <= 2.0f + slope;
    }
    default:
        return false;
    }
}

__device__ __forceinline__ bool is_source(u32 scene, Domain d, u32 x, u32 y)
{
    switch (scene) {
    case POINT_SOURCE:
        return x == d.n_x / 2 && y == d.n_y / 2;
    case DOUBLE_SLIT:
        return x == sponge_width(d) + 1;
    case ELLIPTIC_ROOM: {
        const u32 offset = d.n_x / 320 * 93 + d.n_x % 320 * 93 / 320;
        return x == d.n_x / 2 - offset && y == d.n_y / 2;
    }
    case PARABOLIC_MIRROR:
        return x == d.n_x / 8 + d.n_y / 8 && y == d.n_y / 2;
    default:
        return false;
    }
}

__device__ __forceinline__ float damping(u32 scene, Domain d, u32 x, u32 y)
{
    return scene == ELLIPTIC_ROOM || scene >= EMPTY_BOX ? 0.0f : sponge(d, x, y);
}

// ---- the scheme ----

__device__ __forceinline__ float free_cell(
    float u0, float u1, float west, float east, float north, float south, float k, float d)
{
    const float sum = west + east + north + south;
    return (2.0f - d - 4.0f * k) * u1 - (1.0f - d) * u0 + k * sum;
}

// ---- kernels ----

// One thread a cell, everything from global memory: the new field replaces u0.
extern "C" __global__ void wave2d_naive(
    float *__restrict__ u0, const float *__restrict__ u1, u64, u32 n_x, u32 n_y, u32 scene, float k, u32 t)
{
    const u32 x = blockIdx.x * blockDim.x + threadIdx.x;
    const u32 y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= n_x || y >= n_y) {
        return;
    }
    const Domain d = {n_x, n_y};
    const u32 i = y * n_x + x;
    if (is_border(d, x, y) || is_wall(scene, d, x, y)) {
        u0[i] = 0.0f;
    } else if (is_source(scene, d, x, y)) {
        u0[i] = oscillation(t);
    } else {
        u0[i] = free_cell(u0[i], u1[i], u1[i - 1], u1[i + 1], u1[i - n_x], u1[i + n_x], k, damping(scene, d, x, y));
    }
}

// The textbook tile: a block loads its cells of u1 and the ring around them into shared memory, then computes one timestep.
constexpr u32 TILE_X = 32, TILE_Y = 16;

extern "C" __global__ void __launch_bounds__(TILE_X *TILE_Y) wave2d_tile(
    float *__restrict__ u0, const float *__restrict__ u1, u64, u32 n_x, u32 n_y, u32 scene, float k, u32 t)
{
    __shared__ float tile[TILE_Y + 2][TILE_X + 2];
    const u32 tx = threadIdx.x + 1, ty = threadIdx.y + 1;
    const u32 x = blockIdx.x * TILE_X + threadIdx.x;
    const u32 y = blockIdx.y * TILE_Y + threadIdx.y;
    const bool is_inside = x < n_x && y < n_y;
    const u32 i = y * n_x + x;
    if (is_inside) {
        tile[ty][tx] = u1[i];
        if (tx == 1 && x > 0) {
            tile[ty][0] = u1[i - 1];
        }
        if (tx == TILE_X && x + 1 < n_x) {
            tile[ty][TILE_X + 1] = u1[i + 1];
        }
        if (ty == 1 && y > 0) {
            tile[0][tx] = u1[i - n_x];
        }
        if (ty == TILE_Y && y + 1 < n_y) {
            tile[TILE_Y + 1][tx] = u1[i + n_x];
        }
    }
    __syncthreads();
    if (!is_inside) {
        return;
    }
    const Domain d = {n_x, n_y};
    if (is_border(d, x, y) || is_wall(scene, d, x, y)) {
        u0[i] = 0.0f;
    } else if (is_source(scene, d, x, y)) {
        u0[i] = oscillation(t);
    } else {
        u0[i] = free_cell(u0[i], tile[ty][tx], tile[ty][tx - 1], tile[ty][tx + 1], tile[ty - 1][tx], tile[ty + 1][tx], k,
                          damping(scene, d, x, y));
    }
}
