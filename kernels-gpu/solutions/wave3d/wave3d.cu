// The damped 3D wave equation in plain CUDA C++, to be timed beside the Rust kernels. Same scheme and order of operations
// as kernels-gpu/src/wave3d: compiled with -fmad=false, the results are equal to the last bit.
//
// Parameters are those of the Rust kernels, whose slices are a pointer and a length.

typedef unsigned int u32;
typedef unsigned long long u64;

// Sites in a cache line, and planes that a thread takes.
constexpr u32 LINE = 16, PLANES = 2;

// Seven-point stencil, a thread for two sites, a branch for the damping: block 64 x 4 x 1 along k, j, i. The threads of a row
// begin at the cache line in which the row begins; the planes are taken in descending order if `descends` is 1. Of u_prev and of the
// damping, memory begins with plane `first`, of u with the one before, if there is one.
extern "C" __global__ void __launch_bounds__(256) wave3d_single(
    double *__restrict__ u_prev, const double *__restrict__ u, u64, const double *__restrict__ c2, u64,
    const double *__restrict__ damping, u64, u32 first, u32 planes, u32 n_x, u32 n_y, u32 n_z, double dt, double ratio, u32 source, double value,
    u32 descends)
{
    const u32 x = blockIdx.x * blockDim.x + threadIdx.x;
    const u32 j = blockIdx.y * blockDim.y + threadIdx.y;
    if (j >= n_y) {
        return;
    }
    u_prev -= first * n_y * n_z;
    u -= (first > 0 ? first - 1 : 0) * n_y * n_z;
    damping -= first * n_y;
#pragma unroll
    for (u32 t = 0; t < PLANES; ++t) {
        const u32 plane = PLANES * blockIdx.z + t;
        if (plane >= planes) {
            return;
        }
        const u32 i = first + (descends ? planes - 1 - plane : plane);
        const u32 column = i * n_y + j;
        const u32 row = column * n_z;
        const u32 k = x - u32(u64(u_prev + row) / sizeof(double)) % LINE;
        if (k >= n_z) {
            continue;
        }
        const u32 site = row + k;
        double next = 0.0;
        if (i > 0 && j > 0 && k > 0 && i < n_x - 1 && j < n_y - 1 && k < n_z - 1) {
            // All loads come first, so that they are under way together.
            const double here = u[site], before = u_prev[site], speed2 = c2[k], d = damping[column];
            double laplacian = (u[site - n_y * n_z] + u[site + n_y * n_z]) + (u[site - n_z] + u[site + n_z])
                + (u[site - 1] + u[site + 1]) - 6.0 * here;
            if (site == source) {
                laplacian += value;
            }
            if (d > 0.0) {
                const double d_dt = d * dt;
                next = (2.0 * here - (1.0 - d_dt) * before + ratio * speed2 * laplacian) / (1.0 + d_dt);
            } else {
                next = 2.0 * here - before + ratio * speed2 * laplacian;
            }
        }
        u_prev[site] = next;
    }
}
