// The damped 3D wave equation in plain CUDA C++, to be timed beside the Rust kernels. Same scheme and order of operations
// as kernels-gpu/src/wave3d: compiled with -fmad=false, the results are equal to the last bit.
//
// Parameters are those of the Rust kernels, whose slices are a pointer and a length.

typedef unsigned int u32;
typedef unsigned long long u64;

// Seven-point stencil, one thread a site, a branch for the damping: block 32 x 4 x 2 along k, j, i.
extern "C" __global__ void __launch_bounds__(256) wave3d_single(
    double *__restrict__ u_prev, const double *__restrict__ u, u64, const double *__restrict__ c2, u64,
    const double *__restrict__ damping, u64, u32 n_x, u32 n_y, u32 n_z, double dt, double ratio, u32 source, double value)
{
    const u32 k = blockIdx.x * blockDim.x + threadIdx.x;
    const u32 j = blockIdx.y * blockDim.y + threadIdx.y;
    const u32 i = blockIdx.z * blockDim.z + threadIdx.z;
    if (i >= n_x || j >= n_y || k >= n_z) {
        return;
    }
    const u32 column = i * n_y + j;
    const u32 site = column * n_z + k;
    if (i == 0 || j == 0 || k == 0 || i == n_x - 1 || j == n_y - 1 || k == n_z - 1) {
        u_prev[site] = 0.0;
        return;
    }
    const double here = u[site], before = u_prev[site];
    double laplacian = (u[site - n_y * n_z] + u[site + n_y * n_z]) + (u[site - n_z] + u[site + n_z])
        + (u[site - 1] + u[site + 1]) - 6.0 * here;
    if (site == source) {
        laplacian += value;
    }
    const double d = damping[column];
    double next;
    if (d > 0.0) {
        const double d_dt = d * dt;
        next = (2.0 * here - (1.0 - d_dt) * before + ratio * c2[k] * laplacian) / (1.0 + d_dt);
    } else {
        next = 2.0 * here - before + ratio * c2[k] * laplacian;
    }
    u_prev[site] = next;
}
