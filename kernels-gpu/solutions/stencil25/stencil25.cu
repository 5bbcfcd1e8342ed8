// The seismic stencil in plain CUDA C++, to time beside the Rust kernels. Layout, launches, and
// order of fused operations are those of kernels-gpu/src/stencil25: compiled with -fmad=false, the
// results are equal to the last bit.
//
// Parameters are those of the Rust kernels, whose slices are a pointer and a length.

typedef unsigned int u32;
typedef unsigned long long u64;

constexpr u32 RADIUS = 4, LINE = 32;

struct Grid {
    u32 n_x, n_y, n_z, pitch;
};

struct Region {
    u32 low[3], high[3];
};

struct Coefficients {
    float centre, x[4], y[4], z[4], slopes[3];
};

struct Task {
    Grid grid;
    Region region;
    Coefficients c;
    u32 source;
};

__device__ inline u32 index_of(const Grid &grid, u32 x, u32 y, u32 z)
{
    return ((x + RADIUS) * (grid.n_y + 2 * RADIUS) + (y + RADIUS)) * grid.pitch + z;
}

__device__ inline u32 stride_x(const Grid &grid)
{
    return (grid.n_y + 2 * RADIUS) * grid.pitch;
}

__device__ inline u32 line_z(const Region &region)
{
    return region.low[2] / LINE * LINE;
}

__device__ inline bool contains(const Region &region, u32 x, u32 y, u32 z)
{
    return x - region.low[0] < region.high[0] - region.low[0] && y - region.low[1] < region.high[1] - region.low[1]
        && z - region.low[2] < region.high[2] - region.low[2];
}

// The Laplacian from the values around `u`: for each distance the axes x, y, z.
__device__ inline float laplacian(const Coefficients &c, float u, const float (&x)[4], const float (&y)[4],
    const float (&z)[4])
{
    float sum = c.centre * u;
#pragma unroll
    for (int r = 0; r < 4; ++r) {
        sum = fmaf(c.x[r], x[r], sum);
        sum = fmaf(c.y[r], y[r], sum);
        sum = fmaf(c.z[r], z[r], sum);
    }
    return sum;
}

// Sums of the values at distance 1 to 4 of `u` along an axis.
template <typename Stride> __device__ inline void pairs(const float *u, Stride stride, float (&sums)[4])
{
#pragma unroll
    for (int r = 1; r <= 4; ++r) {
        sums[r - 1] = u[r * stride] + u[-(r * stride)];
    }
}

__device__ inline float inner(float u, float v, float vp, float laplacian)
{
    return fmaf(2.0f, u, fmaf(vp, laplacian, -v));
}

// 3D blocks of 32 x 4 x 2 along z, y, x, everything from global memory.
extern "C" __global__ void __launch_bounds__(256) stencil25_gmem(const float *__restrict__ u, u64, float *__restrict__ v,
    const float *__restrict__ vp, u64, const Task task, float value)
{
    const Grid &grid = task.grid;
    const u32 z = line_z(task.region) + blockIdx.x * blockDim.x + threadIdx.x;
    const u32 y = task.region.low[1] + blockIdx.y * blockDim.y + threadIdx.y;
    const u32 x = task.region.low[0] + blockIdx.z * blockDim.z + threadIdx.z;
    if (!contains(task.region, x, y, z)) {
        return;
    }
    const u32 index = index_of(grid, x, y, z);
    const float *here = u + index;
    float along_x[4], along_y[4], along_z[4];
    pairs(here, (long long)stride_x(grid), along_x);
    pairs(here, (long long)grid.pitch, along_y);
    pairs(here, 1, along_z);
    float next = inner(*here, v[index], vp[index], laplacian(task.c, *here, along_x, along_y, along_z));
    if (index == task.source) {
        next += value;
    }
    v[index] = next;
}

// A box of the shell, in 3D blocks, everything from global memory.
extern "C" __global__ void __launch_bounds__(256) stencil25_shell(const float *__restrict__ u, u64, float *__restrict__ v,
    const float *__restrict__ vp, u64, const float *__restrict__ eta, u64, float *__restrict__ phi, const Task task, float value)
{
    const Grid &grid = task.grid;
    const u32 z = line_z(task.region) + blockIdx.x * blockDim.x + threadIdx.x;
    const u32 y = task.region.low[1] + blockIdx.y * blockDim.y + threadIdx.y;
    const u32 x = task.region.low[0] + blockIdx.z * blockDim.z + threadIdx.z;
    if (!contains(task.region, x, y, z)) {
        return;
    }
    const u32 index = index_of(grid, x, y, z);
    const long long strides[3] = { stride_x(grid), grid.pitch, 1 };
    const float *here = u + index, *absorption = eta + index;
    const float before = v[index], old = phi[index], e = *absorption;
    float along_x[4], along_y[4], along_z[4];
    pairs(here, strides[0], along_x);
    pairs(here, strides[1], along_y);
    pairs(here, strides[2], along_z);
    const float lap = laplacian(task.c, *here, along_x, along_y, along_z);
    const float a = fmaf(2.0f, e, fmaf(-e, e, 2.0f));
    float next = fmaf(a, *here, fmaf(vp[index], lap + old, -before)) / fmaf(2.0f, e, 1.0f);
    if (index == task.source) {
        next += value;
    }
    v[index] = next;
    float product[3];
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) {
        const long long stride = strides[axis];
        product[axis] = (absorption[stride] - absorption[-stride]) * (here[stride] - here[-stride]);
    }
    float sum = task.c.slopes[0] * product[0];
    sum = fmaf(task.c.slopes[1], product[1], sum);
    sum = fmaf(task.c.slopes[2], product[2], sum);
    phi[index] = (old - sum) / (1.0f + e);
}

constexpr u32 WIDTH = 32, HEIGHT = 16, ROW = WIDTH + 2 * RADIUS;

// Blocks of 32 x 16 along z, y stream along x. A thread's column is in fixed registers; shared
// memory has two planes, which blocks fill in turn.
extern "C" __global__ void __launch_bounds__(512, 2) stencil25_st_reg_fixed(const float *__restrict__ u, u64,
    float *__restrict__ v, const float *__restrict__ vp, u64, const Task task, float value)
{
    __shared__ float planes[2][(HEIGHT + 2 * RADIUS) * ROW];
    const Grid &grid = task.grid;
    const Region &region = task.region;
    const u32 part = (region.high[0] - region.low[0] + gridDim.z - 1) / gridDim.z;
    const u32 first = region.low[0] + blockIdx.z * part, end = min(first + part, region.high[0]);
    if (first >= end) {
        return;
    }
    const u32 lane = threadIdx.x, warp = threadIdx.y;
    const u32 first_y = region.low[1] + blockIdx.y * HEIGHT, first_z = line_z(region) + blockIdx.x * WIDTH;
    // Eight warps load a row of the halo each; four warps load the columns beside four rows each.
    u32 halo_row, halo_column;
    if (warp < 2 * RADIUS) {
        halo_row = warp + (warp < RADIUS ? 0 : HEIGHT);
        halo_column = lane + RADIUS;
    } else {
        const u32 number = (warp - 2 * RADIUS) * WIDTH + lane, side = number % (2 * RADIUS);
        halo_row = number / (2 * RADIUS) + RADIUS;
        halo_column = side + (side < RADIUS ? 0 : WIDTH);
    }
    const bool has_halo = warp < 2 * RADIUS + HEIGHT * 2 * RADIUS / WIDTH;
    const bool is_inside = contains(region, region.low[0], first_y + warp, first_z + lane);
    const u32 plane = (first + RADIUS) * stride_x(grid), last_row = grid.n_y + 2 * RADIUS - 1;
    u32 index = plane + min(first_y + warp + RADIUS, last_row) * grid.pitch + first_z + lane;
    u32 halo_index = plane + min(first_y + halo_row, last_row) * grid.pitch + first_z + halo_column - RADIUS;
    const u32 stride = stride_x(grid);
    const u32 own_place = (warp + RADIUS) * ROW + lane + RADIUS, halo_place = halo_row * ROW + halo_column;

    float column[9];
#pragma unroll
    for (int k = 0; k < 9; ++k) {
        column[k] = u[index + (k - 4) * stride];
    }
    float halo = has_halo ? u[halo_index] : 0.0f;
    float before = is_inside ? v[index] : 0.0f, speed = is_inside ? vp[index] : 0.0f;
    u32 left = end - first, turn = 0;
    while (true) {
#pragma unroll
        for (int phase = 0; phase < 9; ++phase) {
            const float own = column[(phase + 4) % 9];
            float *shared = planes[turn];
            shared[own_place] = own;
            if (has_halo) {
                shared[halo_place] = halo;
            }
            __syncthreads();
            const float old = before, old_speed = speed;
            float ahead = 0.0f;
            if (left > 1) {
                if (has_halo) {
                    halo = u[halo_index + stride];
                }
                if (is_inside) {
                    before = v[index + stride];
                    speed = vp[index + stride];
                }
                ahead = u[index + 5 * stride];
            }
            float along_x[4], along_y[4], along_z[4];
#pragma unroll
            for (int r = 1; r <= 4; ++r) {
                along_x[r - 1] = column[(phase + 4 + r) % 9] + column[(phase + 4 - r) % 9];
            }
            pairs(shared + own_place, (int)ROW, along_y);
            pairs(shared + own_place, 1, along_z);
            float next = inner(own, old, old_speed, laplacian(task.c, own, along_x, along_y, along_z));
            if (is_inside) {
                if (index == task.source) {
                    next += value;
                }
                v[index] = next;
            }
            column[phase] = ahead;
            index += stride;
            halo_index += stride;
            turn ^= 1;
            if (--left == 0) {
                return;
            }
        }
    }
}
