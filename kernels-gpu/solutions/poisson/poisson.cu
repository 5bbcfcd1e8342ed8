// Poisson's equation in a cube in plain CUDA C++, to be timed beside the Rust kernels. Same iteration and order of
// operations as kernels-gpu/src/poisson: compiled with -fmad=false, the results are equal to the last bit.
//
// Parameters are those of the Rust kernels, whose slices are a pointer and a length.

typedef unsigned int u32;
typedef unsigned long long u64;

__device__ __forceinline__ double wall_value(u32 y) { return y == 0 ? 0.0 : 20.0; }

__device__ __forceinline__ bool is_source_column(u32 n, u32 x, u32 y) { return 16 * x <= 5 * (n - 1) && 4 * y <= n - 1; }

__device__ __forceinline__ bool is_source_layer(u32 n, u32 z) { return 6 * z >= n - 1 && 2 * z <= n - 1; }

__device__ __forceinline__ double jacobi(
    double west, double east, double south, double north, double below, double above, double h2_f)
{
    return ((west + east) + (south + north) + (below + above) + h2_f) * (1.0 / 6.0);
}

// f as a field, for the kernel that reads it.
extern "C" __global__ void poisson_source(double *__restrict__ f, u32 n)
{
    const u32 x = blockIdx.x * blockDim.x + threadIdx.x;
    const u32 y = blockIdx.y * blockDim.y + threadIdx.y;
    const u32 z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x < n && y < n && z < n) {
        f[(z * n + y) * n + x] = is_source_column(n, x, y) && is_source_layer(n, z) ? 200.0 : 0.0;
    }
}

// f from memory, walls by branches: one thread a point of the cube.
extern "C" __global__ void poisson_reads_source(
    const double *__restrict__ u, u64, const double *__restrict__ f, u64, double *__restrict__ u_next, u32 n, double h2)
{
    const u32 x = blockIdx.x * blockDim.x + threadIdx.x;
    const u32 y = blockIdx.y * blockDim.y + threadIdx.y;
    const u32 z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x >= n || y >= n || z >= n) {
        return;
    }
    const u32 i = (z * n + y) * n + x;
    if (x == 0 || y == 0 || z == 0 || x == n - 1 || y == n - 1 || z == n - 1) {
        u_next[i] = wall_value(y);
    } else {
        u_next[i] = jacobi(u[i - 1], u[i + 1], u[i - n], u[i + n], u[i - n * n], u[i + n * n], h2 * f[i]);
    }
}

// f from the point's position, and a column of points along z for each thread, kept in registers and loaded one layer ahead.
// Threads along y and z start inside the walls. u begins with the layer below first_z, u_next with that of first_z.
extern "C" __global__ void __launch_bounds__(512, 3) poisson_computes_source(
    const double *__restrict__ u, u64, double *__restrict__ u_next, u32 n, u32 first_z, u32 layers, u32 column, double h2)
{
    const u32 x = blockIdx.x * blockDim.x + threadIdx.x;
    const u32 y = blockIdx.y * blockDim.y + threadIdx.y + 1;
    const u32 first = (blockIdx.z * blockDim.z + threadIdx.z) * column + 1;
    const u32 end = min(first + column, layers + 1);
    if (x >= n || y >= n - 1 || first >= end) {
        return;
    }
    const bool is_wall = x == 0 || x == n - 1;
    const bool is_source = is_source_column(n, x, y);
    const double h2_source = h2 * 200.0;
    const u32 layer = n * n;
    const u32 last = (end * n + y) * n + x;
    u32 i = (first * n + y) * n + x;
    u_next -= layer;
    double below = u[i - layer], here = u[i], above = u[i + layer];
    for (u32 z = first_z + first - 1; z < first_z + end - 1; ++z) {
        const double ahead = u[min(i + 2 * layer, last)];
        const double h2_f = is_source && is_source_layer(n, z) ? h2_source : 0.0;
        const double next = jacobi(u[i - 1], u[i + 1], u[i - n], u[i + n], below, above, h2_f);
        u_next[i] = is_wall ? wall_value(1) : next;
        below = here;
        here = above;
        above = ahead;
        i += layer;
    }
}
