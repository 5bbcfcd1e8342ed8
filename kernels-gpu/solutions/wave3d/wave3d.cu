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

// Several timesteps a launch, as kernels-gpu/solutions/wave3d/fast: a block of 64 x THREADS threads takes a tile of 64 sites along k and THREADS x ROWS rows
// along i, through a chunk of planes. When plane i of the last field comes in, timestep s computes plane i - s; each keeps two planes of its sites in
// registers, and two of the tile in shared memory.

constexpr u32 WIDTH = 64, FACTORS = 4;

// Of a column's damping: divisor 1 + d dt, its inverse, 1 - d dt, and one unused.
extern "C" __global__ void __launch_bounds__(256) wave3d_fast_factors(const double *__restrict__ d, u64 columns, double *__restrict__ out, double dt)
{
    const u32 column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column < columns) {
        const double d_dt = d[column] * dt, divisor = 1.0 + d_dt;
        double2 *const to = reinterpret_cast<double2 *>(out + u64(FACTORS) * column);
        to[0] = make_double2(divisor, 1.0 / divisor);
        to[1] = make_double2(1.0 - d_dt, 0.0);
    }
}

// value / divisor, rounded right: a product with the rounded inverse, corrected twice, where nothing is subnormal.
__device__ __forceinline__ double divide(double value, double divisor, double inverse)
{
    constexpr u32 SMALLEST = (1023 - 500) << 20, INFINITE = 0x7ff << 20;
    const u32 high = u32(__double2hiint(value)) & 0x7fffffff;
    if (high - SMALLEST < INFINITE - SMALLEST) {
        double quotient = value * inverse;
        quotient = fma(fma(-divisor, quotient, value), inverse, quotient);
        return fma(fma(-divisor, quotient, value), inverse, quotient);
    }
    return value == 0.0 ? value : value / divisor;
}

template <int DEPTH, int ROWS, int THREADS> struct Fast {
    static constexpr u32 TILE_ROWS = ROWS * THREADS;
    static constexpr int PLANE = WIDTH * (TILE_ROWS + 2);
    // Three planes of each timestep, the newest in slot i modulo 3.
    typedef double Planes[DEPTH][3][ROWS];

    const double *__restrict__ u_prev, *__restrict__ u;
    double *__restrict__ out_prev, *__restrict__ out;
    const double *__restrict__ factors;
    u32 n_x, n_y, n_z;
    u32 source_plane, source_row;
    double values[4];
    u32 in_domain, inside, written, j, position;
    double ratio_c2;
    double *place;
    u32 first, end;
    double ahead_u[ROWS], ahead_u_prev[ROWS];
    bool ahead_damped;

    // u's plane i and u_prev's plane i - 1; 0 where there is none.
    __device__ __forceinline__ void load(u32 i)
    {
        const u32 before = i - 1, plane = n_y * n_z;
        ahead_damped = false;
#pragma unroll
        for (int row = 0; row < ROWS; ++row) {
            const bool is_there = in_domain >> row & 1;
            const u32 site = position + row * n_z;
            ahead_u[row] = is_there && i < n_x ? u[site + i * plane] : 0.0;
            const bool is_before = is_there && before < n_x;
            ahead_u_prev[row] = is_before ? u_prev[site + before * plane] : 0.0;
            ahead_damped |= is_before && factors[u64(FACTORS) * (before * n_y + j + row) + 2] != 1.0;
        }
    }

    // Timestep `step` of its plane, i - step.
    template <int SLOT>
    __device__ __forceinline__ void timestep(int step, const Planes &planes, const double (&before)[ROWS], u32 i, bool is_damped, double (&next)[ROWS])
    {
        const double(&newest)[ROWS] = planes[step - 1][SLOT];
        const double(&middle)[ROWS] = planes[step - 1][(SLOT + 2) % 3];
        const double(&oldest)[ROWS] = planes[step - 1][(SLOT + 1) % 3];
        const double *const here = place + (2 * (step - 1) + (i + 1) % 2) * PLANE;
        const u32 plane = i - step;
        double laplacians[ROWS];
#pragma unroll
        for (int row = 0; row < ROWS; ++row) {
            const double *const at = here + row * WIDTH;
            const double south = row == 0 ? at[-int(WIDTH)] : middle[row - 1];
            const double north = row == ROWS - 1 ? at[WIDTH] : middle[row + 1];
            laplacians[row] = (oldest[row] + newest[row]) + (south + north) + (at[-1] + at[1]) - 6.0 * middle[row];
        }
        if (plane == source_plane) {
#pragma unroll
            for (int row = 0; row < ROWS; ++row) {
                // A choice between values: nvcc makes of a conditional sum an index, and puts the array into local memory.
                const double with_source = laplacians[row] + values[step - 1];
                laplacians[row] = row == int(source_row) ? with_source : laplacians[row];
            }
        }
        if (is_damped) {
#pragma unroll
            for (int row = 0; row < ROWS; ++row) {
                const u32 column = min(plane, n_x - 1) * n_y + min(j + row, n_y - 1);
                const double2 *const from = reinterpret_cast<const double2 *>(factors + u64(FACTORS) * column);
                const double2 divisor = from[0];
                const double rest = from[1].x * before[row];
                next[row] = divide(fma(middle[row], 2.0, -rest) + ratio_c2 * laplacians[row], divisor.x, divisor.y);
            }
        } else {
#pragma unroll
            for (int row = 0; row < ROWS; ++row) {
                next[row] = fma(middle[row], 2.0, -before[row]) + ratio_c2 * laplacians[row];
            }
        }
        const bool is_plane_inside = plane - 1 < n_x - 2;
#pragma unroll
        for (int row = 0; row < ROWS; ++row) {
            next[row] = is_plane_inside && (inside >> row & 1) ? next[row] : 0.0;
        }
    }

    // All timesteps when plane i comes in.
    template <int SLOT> __device__ __forceinline__ void advance(Planes &planes, u32 &damped, u32 i)
    {
        double last[ROWS];
        damped = damped << 1 | ahead_damped;
        double before[ROWS];
#pragma unroll
        for (int row = 0; row < ROWS; ++row) {
            planes[0][SLOT][row] = ahead_u[row];
            before[row] = ahead_u_prev[row];
        }
#pragma unroll
        for (int step = 1; step <= DEPTH; ++step) {
            const bool is_damped = damped >> (step - 1) & 1;
            if (step == 1) {
                timestep<SLOT>(1, planes, before, i, is_damped, last);
                load(i + 1);
            } else {
                timestep<SLOT>(step, planes, planes[step - 2][(SLOT + 1) % 3], i, is_damped, last);
            }
            if (step < DEPTH) {
#pragma unroll
                for (int row = 0; row < ROWS; ++row) {
                    planes[step][SLOT][row] = last[row];
                }
            }
        }
#pragma unroll
        for (int step = 0; step < DEPTH; ++step) {
            double *const to = place + (2 * step + i % 2) * PLANE;
#pragma unroll
            for (int row = 0; row < ROWS; ++row) {
                to[row * WIDTH] = planes[step][SLOT][row];
            }
        }
        const u32 plane = i - DEPTH;
        if (plane >= first && plane < end) {
            const u32 site = position + plane * n_y * n_z;
#pragma unroll
            for (int row = 0; row < ROWS; ++row) {
                if (written >> row & 1) {
                    out_prev[site + row * n_z] = planes[DEPTH - 1][(SLOT + 2) % 3][row];
                    out[site + row * n_z] = last[row];
                }
            }
        }
        __syncthreads();
    }

    __device__ __forceinline__ void run(double *shared, const double *__restrict__ c2, double ratio, u32 source, u32 chunk)
    {
        const u32 x = threadIdx.x, y = threadIdx.y, along_k = WIDTH - 2 * DEPTH, along_j = TILE_ROWS - 2 * DEPTH;
        const u32 k = blockIdx.x * along_k + x - DEPTH, first_row = y * ROWS;
        j = blockIdx.y * along_j + first_row - DEPTH;
        in_domain = inside = written = 0;
        source_plane = source_row = ~0u;
#pragma unroll
        for (int row = 0; row < ROWS; ++row) {
            const bool is_there = j + row < n_y && k < n_z;
            in_domain |= u32(is_there) << row;
            inside |= u32(j + row - 1 < n_y - 2 && k - 1 < n_z - 2) << row;
            written |= u32(is_there && x - DEPTH < along_k && first_row + row - DEPTH < along_j) << row;
        }
        if (source < n_x * n_y * n_z) {
            const u32 row = source % (n_y * n_z) / n_z - j;
            if (source % n_z == k && row < ROWS) {
                source_plane = source / (n_y * n_z);
                source_row = row;
            }
        }
        for (u32 at = y * WIDTH + x; at < 2 * DEPTH * PLANE; at += WIDTH * THREADS) {
            shared[at] = 0.0;
        }
        __syncthreads();
        position = j * n_z + k;
        ratio_c2 = ratio * c2[min(k, n_z - 1)];
        place = shared + (first_row + 1) * WIDTH + x;
        first = blockIdx.z * chunk;
        end = min(first + chunk, n_x);
        Planes planes = {};
        u32 damped = 0, i = first > DEPTH ? first - DEPTH : 0;
        const u32 last = end + DEPTH;
        load(i);
        while (true) {
            advance<0>(planes, damped, i);
            if (++i >= last) {
                break;
            }
            advance<1>(planes, damped, i);
            if (++i >= last) {
                break;
            }
            advance<2>(planes, damped, i);
            if (++i >= last) {
                break;
            }
        }
    }
};

#define WAVE3D_FAST(DEPTH, ROWS, THREADS) \
    extern "C" __global__ void __launch_bounds__(WIDTH * THREADS) wave3d_fast_t##DEPTH##_r##ROWS##_y##THREADS( \
        const double *__restrict__ u_prev, u64, const double *__restrict__ u, u64, double *__restrict__ out_prev, double *__restrict__ out, \
        const double *__restrict__ c2, u64, const double *__restrict__ factors, u64, u32 n_x, u32 n_y, u32 n_z, double ratio, u32 source, \
        double value_1, double value_2, double value_3, double value_4, u32 planes) \
    { \
        extern __shared__ double shared[]; \
        Fast<DEPTH, ROWS, THREADS> fast; \
        fast.u_prev = u_prev, fast.u = u, fast.out_prev = out_prev, fast.out = out, fast.factors = factors; \
        fast.n_x = n_x, fast.n_y = n_y, fast.n_z = n_z; \
        fast.values[0] = value_1, fast.values[1] = value_2, fast.values[2] = value_3, fast.values[3] = value_4; \
        fast.run(shared, c2, ratio, source, planes); \
    }

WAVE3D_FAST(1, 4, 6)
WAVE3D_FAST(2, 6, 6)
WAVE3D_FAST(3, 4, 6)
WAVE3D_FAST(3, 8, 4)
WAVE3D_FAST(4, 4, 6)
WAVE3D_FAST(4, 6, 4)
