// The damped 3D wave equation in plain CUDA C++, to time beside the Rust kernels. Scheme and order
// of operations are those of kernels-gpu/src/wave3d: compiled with -fmad=false, the results are
// equal to the last bit.
//
// Parameters are those of the Rust kernels, whose slices are a pointer and a length.

typedef unsigned int u32;
typedef unsigned long long u64;

// Sites in a cache line, and planes that a thread takes.
constexpr u32 LINE = 16, PLANES = 2;

// Seven-point stencil, a thread for two sites, a branch for the damping: block 64 x 4 x 1 along k,
// j, i. The threads of a row begin at the cache line in which the row begins. The planes are taken
// in descending order if `descends` is 1. The memory of u_prev and of the damping begins with plane
// `first`, that of u with the plane before, if there is one.
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
            // All loads come first, so that they are in flight together.
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

// The blocks of a launch, as kernels-gpu/src/blocks.rs has them: groups of tiles, each with its own
// number of chunks of planes.
struct Along {
    u32 first, count, step;
};
struct Group {
    u32 before;
    Along tiles[2];
    u32 planes[2], chunks;
};
struct BlockList {
    Group groups[8];
    u32 blocks;
};
struct Place {
    u32 tile[2], planes[2];
};

__device__ __forceinline__ Place find(const BlockList &list, u32 block)
{
    u32 last = 0;
#pragma unroll
    for (u32 number = 1; number < 8; ++number) {
        last = block >= list.groups[number].before ? number : last;
    }
    const Group &group = list.groups[last];
    const u32 along = group.tiles[0].count, tiles = along * group.tiles[1].count;
    const u32 chunk = (block - group.before) / tiles, tile = (block - group.before) % tiles;
    const u32 len = group.planes[1] - group.planes[0];
    const u32 numbers[2] = {tile % along, tile / along};
    Place place;
    for (int axis = 0; axis < 2; ++axis) {
        place.tile[axis] = group.tiles[axis].first + numbers[axis] * group.tiles[axis].step;
        place.planes[axis] = group.planes[0] + len * (chunk + axis) / group.chunks;
    }
    return place;
}

// Several timesteps per launch, as in kernels-gpu/solutions/wave3d/fast: a block of 64 x THREADS
// threads takes a tile of 64 sites along k and THREADS x ROWS rows along j through a chunk of
// planes. When plane i of the last field arrives, timestep s computes plane i - s. Each timestep
// keeps two planes of its sites in registers (the first RELOADED keep one, and load the other
// again), and two planes of the tile in shared memory. Both fields and the factors come to rings in
// shared memory by asynchronous copies.

constexpr u32 WIDTH = 64, MARGIN = 4, FACTORS = 4, MAX_ROWS = 8;
constexpr u32 AHEAD = 2, U_SLOTS = AHEAD + 2, U_PREV_SLOTS = AHEAD + 1, FACTOR_SLOTS = 8;

// Factors from a column's damping: divisor 1 + d dt, its inverse, 1 - d dt. The bits of the last
// value say which of the columns from this one on along j are damped.
extern "C" __global__ void __launch_bounds__(256)
    wave3d_fast_factors(const double *__restrict__ d, u64 columns, double *__restrict__ out, u32 n_y, double dt)
{
    const u32 column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column < columns) {
        const double d_dt = d[column] * dt, divisor = 1.0 + d_dt;
        u64 damped = 0;
        for (u32 row = 0; row < min(MAX_ROWS, n_y - column % n_y); ++row) {
            damped |= u64(1.0 - d[column + row] * dt != 1.0) << row;
        }
        double2 *const to = reinterpret_cast<double2 *>(out + u64(FACTORS) * column);
        to[0] = make_double2(divisor, 1.0 / divisor);
        to[1] = make_double2(1.0 - d_dt, __longlong_as_double((long long)damped));
    }
}

__device__ __forceinline__ void copy_async_16(double *to, const double *from)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(u32(__cvta_generic_to_shared(to))), "l"(from) : "memory");
}

__device__ __forceinline__ void copy_async_8(double *to, const double *from)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(u32(__cvta_generic_to_shared(to))), "l"(from) : "memory");
}

// value / divisor, rounded right if is_sure(value): a product with the rounded inverse, with two
// corrections.
__device__ __forceinline__ double quotient(double value, double divisor, double inverse)
{
    double quotient = value * inverse;
    quotient = fma(fma(-divisor, quotient, value), inverse, quotient);
    return copysign(fma(fma(-divisor, quotient, value), inverse, quotient), value);
}

__device__ __forceinline__ bool is_sure(double value)
{
    constexpr u32 SMALLEST = (1023 - 500) << 20, INFINITE = 0x7ff << 20;
    const u32 high = u32(__double2hiint(value)) & 0x7fffffff;
    return high - SMALLEST < INFINITE - SMALLEST || (high | u32(__double2loint(value))) == 0;
}

template <int DEPTH, int ROWS, int THREADS, int RELOADED> struct Fast {
    static constexpr u32 TILE_ROWS = ROWS * THREADS, PLANE = WIDTH * (TILE_ROWS + 1);
    static constexpr u32 U_PREV_RING = WIDTH + (U_SLOTS + 2 * (DEPTH - 1)) * PLANE;
    static constexpr u32 FACTORS_RING = U_PREV_RING + U_PREV_SLOTS * TILE_ROWS * WIDTH;
    static constexpr u32 SHARED = FACTORS_RING + FACTOR_SLOTS * TILE_ROWS * FACTORS;
    // Two planes of each timestep. In phase p, plane p is the older, which the newest replaces.
    typedef double Planes[DEPTH][2][ROWS];

    // Each pointer is to plane 0 of the domain, which need not be in memory.
    const double *__restrict__ u_prev, *__restrict__ u;
    double *__restrict__ out_prev, *__restrict__ out;
    const double *__restrict__ factors;
    double *shared;
    // The last plane of u_prev and u in memory.
    u32 last;
    u32 n_x, n_y, n_z;
    u32 source_plane, source_row;
    double values[4];
    u32 inside, written, position, own, copied_to, copied_factors, has_second;
    u32 copied[ROWS / 2];
    double ratio_c2;
    u32 first, end, plain_from, plain;

    __device__ __forceinline__ double *in_u(u32 plane) { return shared + WIDTH + plane % U_SLOTS * PLANE; }

    __device__ __forceinline__ double *in_published(u32 step, u32 phase) { return shared + WIDTH + (U_SLOTS + 2 * (step - 1) + phase) * PLANE; }

    // The place of u_prev's plane i - 1.
    __device__ __forceinline__ double *in_u_prev(u32 i)
    {
        return shared + U_PREV_RING + (i + U_PREV_SLOTS - 1) % U_PREV_SLOTS * (TILE_ROWS * WIDTH);
    }

    // The place of the factors of this thread's first row.
    __device__ __forceinline__ double *in_factors(u32 plane)
    {
        return shared + FACTORS_RING + FACTORS * (plane % FACTOR_SLOTS * TILE_ROWS + own / WIDTH);
    }

    __device__ __forceinline__ void copy(const double *field, u32 plane, double *to)
    {
        const double *const from = field + u64(plane) * (n_y * n_z);
        to += copied_to;
        if (n_z % 2 == 0) {
#pragma unroll
            for (int row = 0; row < ROWS / 2; ++row) {
                copy_async_16(to + row * WIDTH, from + copied[row]);
            }
        } else {
#pragma unroll
            for (int row = 0; row < ROWS / 2; ++row) {
                copy_async_8(to + row * WIDTH, from + copied[row]);
                copy_async_8(to + row * WIDTH + 1, from + copied[row] + has_second);
            }
        }
    }

    // Copies u's plane i, and plane i - 1 of u_prev and of the factors; beyond what is in memory,
    // another plane.
    __device__ __forceinline__ void fetch(u32 i)
    {
        const u32 before = min(i - 1, last);
        copy(u, min(i, last), in_u(i));
        copy(u_prev, before, in_u_prev(i));
        const u32 half = own % WIDTH;
        if (half < 2 * ROWS) {
            copy_async_16(in_factors(i - 1) + 2 * half, factors + u64(before) * (n_y * FACTORS) + copied_factors);
        }
    }

    __device__ __forceinline__ void load(const double *from, double (&plane)[ROWS])
    {
#pragma unroll
        for (int row = 0; row < ROWS; ++row) {
            plane[row] = from[row * WIDTH + own];
        }
    }

    // Computes timestep `step` of its plane, i - step.
    template <bool PLAIN>
    __device__ __forceinline__ void timestep(int step, const double (&newest)[ROWS], const double (&middle)[ROWS], const double (&oldest)[ROWS],
        const double *here, const double (&before)[ROWS], u32 i, bool is_damped, double (&next)[ROWS])
    {
        const u32 plane = i - step;
        const double *const from = in_factors(plane);
        const u32 row_of_source = plane == source_plane ? source_row : ~0u;
#pragma unroll
        for (int row = 0; row < ROWS; ++row) {
            next[row] = before[row];
        }
        if (!PLAIN && is_damped) {
#pragma unroll
            for (int row = 0; row < ROWS; ++row) {
                next[row] *= from[FACTORS * row + 2];
            }
        }
#pragma unroll
        for (int row = 0; row < ROWS; ++row) {
            const double *const at = here + own + row * int(WIDTH);
            const double south = row == 0 ? at[-int(WIDTH)] : middle[row - 1];
            const double north = row == ROWS - 1 ? at[WIDTH] : middle[row + 1];
            double laplacian = (oldest[row] + newest[row]) + (south + north) + (at[-1] + at[1]) - 6.0 * middle[row];
            if (!PLAIN) {
                // This selects between values. nvcc would turn a conditional sum into an index, and
                // put the array into local memory.
                const double with_source = laplacian + values[step - 1];
                laplacian = row == int(row_of_source) ? with_source : laplacian;
            }
            next[row] = fma(middle[row], 2.0, -next[row]) + ratio_c2 * laplacian;
        }
        if (!PLAIN && is_damped) {
            bool are_sure = true;
#pragma unroll
            for (int row = 0; row < ROWS; ++row) {
                are_sure &= is_sure(next[row]);
            }
            if (are_sure) {
#pragma unroll
                for (int row = 0; row < ROWS; ++row) {
                    const double2 divisor = *reinterpret_cast<const double2 *>(from + FACTORS * row);
                    next[row] = quotient(next[row], divisor.x, divisor.y);
                }
            } else {
#pragma unroll
                for (int row = 0; row < ROWS; ++row) {
                    next[row] /= from[FACTORS * row];
                }
            }
        }
        if (!PLAIN) {
            const bool is_plane_inside = plane - 1 < n_x - 2;
#pragma unroll
            for (int row = 0; row < ROWS; ++row) {
                next[row] = is_plane_inside && (inside >> row & 1) ? next[row] : 0.0;
            }
        }
    }

    // Computes all timesteps when plane i has arrived.
    template <int PHASE, bool PLAIN> __device__ __forceinline__ void advance(Planes &planes, u32 damped, u32 i)
    {
        double newest[ROWS], before[ROWS], second_last[ROWS];
        load(in_u(i), newest);
        load(in_u_prev(i), before);
#pragma unroll
        for (int step = 1; step <= DEPTH; ++step) {
            const double *const here = step == 1 ? in_u(i - 1) : in_published(step - 1, 1 - PHASE);
            double oldest[ROWS], middle[ROWS], next[ROWS];
#pragma unroll
            for (int row = 0; row < ROWS; ++row) {
                oldest[row] = planes[step - 1][PHASE][row];
                middle[row] = planes[step - 1][1 - PHASE][row];
            }
            if (step <= RELOADED) {
                load(here, middle);
            }
            timestep<PLAIN>(step, newest, middle, oldest, here, before, i, damped >> (step - 1) & 1, next);
#pragma unroll
            for (int row = 0; row < ROWS; ++row) {
                planes[step - 1][1 - PHASE][row] = middle[row];
                planes[step - 1][PHASE][row] = newest[row];
                newest[row] = next[row];
                before[row] = oldest[row];
                second_last[row] = middle[row];
                if (step < DEPTH) {
                    in_published(step, PHASE)[row * WIDTH + own] = next[row];
                }
            }
        }
        const u32 plane = i - DEPTH;
        if (PLAIN || (plane >= first && plane < end)) {
            const u32 site = position + plane * (n_y * n_z);
            double *const to_prev = out_prev + site, *const to = out + site;
#pragma unroll
            for (int row = 0; row < ROWS; ++row) {
                if (written >> row & 1) {
                    to_prev[u64(row) * n_z] = second_last[row];
                    to[u64(row) * n_z] = newest[row];
                }
            }
        }
    }

    template <int PHASE> __device__ __forceinline__ void plane(Planes &planes, u32 &damped, u32 i)
    {
        asm volatile("cp.async.wait_group %0;" ::"n"(AHEAD - 1) : "memory");
        __syncthreads();
        if (i + AHEAD < end + DEPTH) {
            fetch(i + AHEAD);
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
        const u32 rows = *reinterpret_cast<const u32 *>(in_factors(i - 1) + 3) & ((1 << ROWS) - 1);
        damped = damped << 1 | u32(__any_sync(~0u, rows != 0) != 0);
        if (i - plain_from < plain && (damped & ((1 << DEPTH) - 1)) == 0) {
            advance<PHASE, true>(planes, damped, i);
        } else {
            advance<PHASE, false>(planes, damped, i);
        }
    }

    static __device__ __forceinline__ bool is_right(u32 at, u32 sites, u32 margin, u32 from, u32 n)
    {
        return (at >= margin || from == 0) && (at < sites - margin || from + sites >= n);
    }

    __device__ __forceinline__ void run(const double *__restrict__ c2, double ratio, u32 source, const Place &place)
    {
        const u32 x = threadIdx.x, y = threadIdx.y;
        const u32 first_k = place.tile[0] * (WIDTH - 2 * MARGIN), first_j = place.tile[1] * (TILE_ROWS - 2 * DEPTH);
        const u32 first_row = y * ROWS, k = first_k + x, j = first_j + first_row;
        inside = written = 0;
        source_plane = source_row = ~0u;
#pragma unroll
        for (int row = 0; row < ROWS; ++row) {
            inside |= u32(j + row - 1 < n_y - 2 && k - 1 < n_z - 2) << row;
            written |= u32(j + row < n_y && k < n_z && is_right(x, WIDTH, MARGIN, first_k, n_z)
                           && is_right(first_row + row, TILE_ROWS, DEPTH, first_j, n_y))
                << row;
        }
        bool is_plain = first_j > 0 && first_k > 0 && first_j + TILE_ROWS < n_y && first_k + WIDTH < n_z;
        if (source < n_x * n_y * n_z) {
            const u32 source_j = source % (n_y * n_z) / n_z, source_k = source % n_z;
            source_plane = source / (n_y * n_z);
            source_row = source_k == k ? source_j - j : ~0u;
            is_plain &= source_j - first_j >= TILE_ROWS || source_k - first_k >= WIDTH;
        }
        first = place.planes[0];
        end = place.planes[1];
        plain_from = max(first, 1u) + DEPTH;
        const u32 plain_end = is_plain ? min(end + DEPTH, n_x) : 0;
        plain = plain_end > plain_from ? plain_end - plain_from : 0;
        const u32 copied_k = min(first_k + 2 * (x % 32), n_z - 2 + n_z % 2), copied_row = first_row + x / 32 * (ROWS / 2);
#pragma unroll
        for (int row = 0; row < ROWS / 2; ++row) {
            copied[row] = min(first_j + copied_row + row, n_y - 1) * n_z + copied_k;
        }
        has_second = copied_k + 1 < n_z;
        copied_to = copied_row * WIDTH + 2 * (x % 32);
        copied_factors = min(j + x / 2, n_y - 1) * FACTORS + x % 2 * 2;
        own = first_row * WIDTH + x;
        position = j * n_z + k;
        ratio_c2 = ratio * c2[min(k, n_z - 1)];
        for (u32 at = 2 * (y * WIDTH + x); at < SHARED; at += 2 * WIDTH * THREADS) {
            *reinterpret_cast<double2 *>(shared + at) = make_double2(0.0, 0.0);
        }
        __syncthreads();
        Planes planes = {};
        u32 damped = 0, i = first > DEPTH ? first - DEPTH : 0;
        for (u32 ahead = 0; ahead < AHEAD; ++ahead) {
            fetch(i + ahead);
            asm volatile("cp.async.commit_group;" ::: "memory");
        }
        // After an odd number of planes comes one more, without effect.
        for (; i < end + DEPTH; i += 2) {
            plane<0>(planes, damped, i);
            plane<1>(planes, damped, i + 1);
        }
    }
};

#define WAVE3D_FAST(DEPTH, ROWS, THREADS, RELOADED) \
    extern "C" __global__ void __launch_bounds__(WIDTH * THREADS) wave3d_fast_t##DEPTH##_r##ROWS##_y##THREADS( \
        const double *__restrict__ u_prev, u64, const double *__restrict__ u, u64, double *__restrict__ out_prev, double *__restrict__ out, \
        const double *__restrict__ c2, u64, const double *__restrict__ factors, u64, u32 first, u32 len, u32 n_x, u32 n_y, u32 n_z, \
        double ratio, u32 source, double value_1, double value_2, double value_3, double value_4, const __grid_constant__ BlockList blocks) \
    { \
        extern __shared__ __align__(16) double shared[]; \
        Fast<DEPTH, ROWS, THREADS, RELOADED> fast; \
        const u32 read = first > DEPTH + 1 ? first - (DEPTH + 1) : 0; \
        const u64 before = u64(read) * (n_y * n_z), to_first = u64(first) * (n_y * n_z); \
        fast.u_prev = u_prev - before, fast.u = u - before, fast.factors = factors - u64(read) * (n_y * FACTORS), fast.shared = shared; \
        fast.out_prev = out_prev - to_first, fast.out = out - to_first, fast.last = min(first + len + DEPTH, n_x) - 1; \
        fast.n_x = n_x, fast.n_y = n_y, fast.n_z = n_z; \
        fast.values[0] = value_1, fast.values[1] = value_2, fast.values[2] = value_3, fast.values[3] = value_4; \
        fast.run(c2, ratio, source, find(blocks, blockIdx.x)); \
    }

WAVE3D_FAST(1, 2, 10, 0)
WAVE3D_FAST(2, 2, 10, 0)
WAVE3D_FAST(1, 4, 8, 1)
WAVE3D_FAST(2, 4, 8, 0)
WAVE3D_FAST(3, 4, 8, 2)
WAVE3D_FAST(3, 4, 6, 0)
WAVE3D_FAST(3, 4, 9, 3)
WAVE3D_FAST(3, 6, 6, 3)
WAVE3D_FAST(3, 8, 4, 2)
WAVE3D_FAST(3, 2, 16, 3)
WAVE3D_FAST(4, 4, 8, 4)
WAVE3D_FAST(4, 4, 7, 4)
WAVE3D_FAST(4, 4, 6, 2)
WAVE3D_FAST(4, 8, 4, 4)
