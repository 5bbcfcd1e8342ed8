// Poisson's equation in a cube in plain CUDA C++, to time beside the Rust kernels. Iteration and
// order of operations are those of kernels-gpu/src/poisson: compiled with -fmad=false, the results
// are equal to the last bit.
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

// jacobi outside the source, from the sum of the neighbours, in one operation instead of two. The
// addition of 0 changes only -0, to +0, before or after the product.
__device__ __forceinline__ double sixth(double sum) { return __fma_rn(sum, 1.0 / 6.0, 0.0); }

__device__ __forceinline__ double neighbours(double west, double east, double south, double north, double below, double above)
{
    return (west + east) + (south + north) + (below + above);
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

// f from memory, walls by branches: one thread per point of the cube.
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

// f from the point's position, and a column of points along z for each thread, in registers and
// loaded one layer ahead. Threads along y and z start inside the walls. u begins with the layer
// below first_z, u_next with that of first_z.
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

// Several iterations per launch: the design of fast/kernels.rs. A block streams a tile of 64 x W R
// points through a chunk of planes; level s is at plane p - s. A warp owns R rows, a lane two
// neighbouring points of each, in registers: two planes for each level except the last. If n is
// ODD, every other row begins at an odd element: it is copied from one point before, and is one
// place later in shared memory.

constexpr u32 COLUMNS = 64, MARGIN = 4;

// The kinds of planes for which a function is compiled. ANY: any plane. INNER: each level computes
// a plane inside the walls along z, and each iteration has a level. WALLED: inner planes
// of a tile without the source. PLAIN: inner planes of a tile without the source and without walls.
enum Planes { ANY, INNER, WALLED, PLAIN };

// Flags of a thread: the first of 2 R bits, where bit 2 r + e is for a point; of R bits, one per
// row; of two bits, one per column; and of R bits.
constexpr u32 WALL = 1u << 16, WRITTEN = 1u << 8, SOURCE = 1u << 24, SOURCE_ROW = 1u << 26;

__device__ __forceinline__ void copy_async_16(double *to, const double *from)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((u32)__cvta_generic_to_shared(to)), "l"(from) : "memory");
}

template <int T, int R, int W, int SLOTS, bool ODD> struct Stream {
    static constexpr u32 PLANE = W * R * COLUMNS, ROWS = W * R, AHEAD = SLOTS - 2;
    // The columns in which a block has right values, at most.
    static constexpr u32 WIDTH = COLUMNS - ODD;

    const double *u;
    double *u_next, *shared;
    u32 n, iterations, lane, warp, shift;
    bool descends, has_second;
    Planes kind;
    double h2_f;
    u32 flags;
    u32 copied[R];
    // The place of this lane's part of its warp's first row, in the slots of the next three planes
    // and in the other three; below, the distances from it to the rows before and after the warp's.
    double *half, *other_half;
    int before, after;
    u32 p, last, written, inner;
    double2 planes[T][3][R];

    // The slot of the plane that is q after the first of three.
    __device__ __forceinline__ double *in_ring(int q) { return (q % SLOTS < 3 ? half : other_half) + q % 3 * PLANE; }

    __device__ __forceinline__ double *in_edges(int level, int q, u32 edge)
    {
        return shared + SLOTS * PLANE + ((3 * (level - 1) + q) * 2 * W + edge) * COLUMNS + 2 * lane;
    }

    __device__ __forceinline__ u32 z_of(u32 plane) { return descends ? n - 1 - plane : plane; }

    // The number of the element of memory, of 8 bytes each, where plane 0 begins.
    __device__ __forceinline__ u32 element() { return (u32)((u64)u >> 3); }

    __device__ __forceinline__ void fetch(int q, u32 after)
    {
        const u32 plane = min(p + after, min(last, n - 1));
        const double *from = u + (u64)(z_of(plane) * n) * n;
        const u32 parity = element() + z_of(plane);
        double *to = in_ring(q + after);
#pragma unroll
        for (int r = 0; r < R; ++r) {
            const u32 early = ODD ? (parity + copied[r]) & 1 : 0;
            copy_async_16(to + r * COLUMNS, from + (early > copied[r] ? early : copied[r] - early));
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
    }

    // This lane's points of a row of a plane; rows count from the warp's first.
    __device__ __forceinline__ double2 load(const double *from, u32 plane, u32 row)
    {
        double2 pair = *(const double2 *)from;
        if (ODD) {
            const double after = __shfl_down_sync(~0u, pair.x, 1);
            pair = (shift + z_of(plane) + row) & 1 ? make_double2(pair.y, after) : pair;
        }
        return pair;
    }

    __device__ __forceinline__ void arrive(int q, double2 (&plane)[R])
    {
        asm volatile("cp.async.wait_group %0;" ::"n"(AHEAD - 1) : "memory");
        __syncthreads();
        fetch(q, AHEAD);
        const double *own = in_ring(q);
#pragma unroll
        for (int r = 0; r < R; ++r) {
            plane[r] = load(own + r * COLUMNS, p, r);
        }
    }

    template <Planes P, int S, int Q> __device__ __forceinline__ void level(double2 (&above)[R])
    {
        const u32 plane = p - S, z = z_of(plane);
        const bool is_computed = P != ANY || (S <= iterations && plane - 1 < n - 2);
        const u32 kept = is_computed ? flags : ~0u;
        const u32 warp_before = max(warp, 1u), warp_after = min(warp, W - 2u) + 1;
        constexpr int LAST = (Q + 2) % 3;
        double2 south, north;
        if (S == 1) {
            south = load(in_ring(Q + SLOTS - 1) + before, plane, 1);
            north = load(in_ring(Q + SLOTS - 1) + after, plane, R);
        } else {
            south = *(const double2 *)in_edges(S - 1, LAST, 2 * warp_before - 1);
            north = *(const double2 *)in_edges(S - 1, LAST, 2 * warp_after);
        }
        const double2(&below)[R] = planes[S - 1][(Q + 1) % 3], (&here)[R] = planes[S - 1][LAST];
        double2 next[R];
#pragma unroll
        for (int r = 0; r < R; ++r) {
            const double west = __shfl_up_sync(~0u, here[r].y, 1), east = __shfl_down_sync(~0u, here[r].x, 1);
            const double2 s = r == 0 ? south : here[r - 1], t = r == R - 1 ? north : here[r + 1];
            next[r].x = neighbours(west, here[r].y, s.x, t.x, below[r].x, above[r].x);
            next[r].y = neighbours(here[r].x, east, s.y, t.y, below[r].y, above[r].y);
        }
        if (P < WALLED && flags / SOURCE_ROW != 0 && is_source_layer(n, z)) {
            const double h2_x = flags & SOURCE ? h2_f : 0.0, h2_y = flags & 2 * SOURCE ? h2_f : 0.0;
#pragma unroll
            for (int r = 0; r < R; ++r) {
                if (flags & SOURCE_ROW << r) {
                    next[r].x += h2_x;
                    next[r].y += h2_y;
                }
            }
        }
#pragma unroll
        for (int r = 0; r < R; ++r) {
            next[r].x = sixth(next[r].x);
            next[r].y = sixth(next[r].y);
            if (P != PLAIN) {
                next[r].x = kept & WALL << (2 * r) ? here[r].x : next[r].x;
                next[r].y = kept & WALL << (2 * r + 1) ? here[r].y : next[r].y;
            }
        }
#pragma unroll
        for (int r = 0; r < R; ++r) {
            planes[S - 1][Q][r] = above[r];
            above[r] = next[r];
        }
        if (S < T) {
            *(double2 *)in_edges(S, Q, 2 * warp) = next[0];
            *(double2 *)in_edges(S, Q, 2 * warp + 1) = next[R - 1];
        }
    }

    template <Planes P, int Q> __device__ __forceinline__ void advance()
    {
        double2 above[R];
        arrive(Q, above);
        level<P, 1, Q>(above);
        if constexpr (T > 1) {
            level<P, 2, Q>(above);
        }
        if constexpr (T > 2) {
            level<P, 3, Q>(above);
        }
        if constexpr (T > 3) {
            level<P, 4, Q>(above);
        }
        const u32 rows = last - p < written ? flags : 0;
        double *target = u_next + (u64)(z_of(p - T) * n) * n + copied[0];
#pragma unroll
        for (int r = 0; r < R; ++r) {
            double *to = target + (u64)(r * n);
            if (rows & WRITTEN << r) {
                if (!ODD) {
                    *(double2 *)to = above[r];
                } else {
                    to[0] = above[r].x;
                    if (has_second) {
                        to[1] = above[r].y;
                    }
                }
            }
        }
        ++p;
    }

    template <Planes P> __device__ __forceinline__ void advance_three()
    {
        advance<P, 0>();
        advance<P, 1>();
        advance<P, 2>();
        if constexpr (SLOTS > 3) {
            double *const first = half;
            half = other_half;
            other_half = first;
        }
    }

    __device__ __forceinline__ bool are_inner() { return p - (T + 1) < inner && p <= last; }

    __device__ __forceinline__ void run(u32 first_z, u32 layers, const Place &place)
    {
        const u32 first_x = place.tile[0] * (WIDTH - 2 * MARGIN), first_y = place.tile[1] * (ROWS - 2 * T);
        const bool has_walls = first_x == 0 || first_y == 0 || first_x + COLUMNS >= n || first_y + ROWS >= n;
        kind = is_source_column(n, first_x, first_y) ? INNER : has_walls ? WALLED : PLAIN;
        lane = threadIdx.x;
        warp = threadIdx.y;
        const u32 tile_x = 2 * lane, tile_y = warp * R, x = first_x + tile_x, y = first_y + tile_y;
        // Where n is odd, the first and the last point of a plane have another's value, without
        // effect: they are at edges of the cube, and lack the point beside them in memory.
        const auto copied_x = [&](u32 y) { return min(x, ODD && y < n - 1 ? n : n - 2); };
        const auto is_written_x = [&](u32 e) {
            return x + e < n && (tile_x + e >= MARGIN || first_x == 0) && (tile_x + e < WIDTH - MARGIN || first_x + WIDTH >= n);
        };
        flags = 0;
        has_second = is_written_x(1);
        shift = element() + x + y;
#pragma unroll
        for (int r = 0; r < R; ++r) {
            const u32 row = tile_y + r;
            const bool is_written = is_written_x(0) && y + r - 1 < n - 2 && (row >= T || first_y == 0)
                && (row < ROWS - T || first_y + ROWS >= n);
            flags |= is_written * WRITTEN << r;
            copied[r] = min(y + r, n - 1) * n + copied_x(y + r);
            for (u32 e = 0; e < 2; ++e) {
                const bool is_wall = x + e - 1 >= n - 2 || y + r - 1 >= n - 2;
                flags |= is_wall * WALL << (2 * r + e);
            }
            flags |= is_source_column(n, first_x, y + r) * SOURCE_ROW << r;
        }
        flags |= is_source_column(n, x, 0) * SOURCE | is_source_column(n, x + 1, 0) * 2 * SOURCE;
        const u32 begin = descends ? n - (first_z + layers) : first_z;
        const u32 from = begin + place.planes[0] - first_z, end = begin + place.planes[1] - first_z;
        last = end - 1 + T;
        written = end - from;
        p = from > T ? from - T : 0;
        inner = iterations == T && n > T + 3 ? n - (T + 3) : 0;
        half = shared + tile_y * COLUMNS + tile_x;
        other_half = half + 3 * PLANE;
        before = (warp == 0 ? R - 1 : -1) * (int)COLUMNS;
        after = (warp == W - 1 ? 0 : R) * (int)COLUMNS;

        for (u32 after = 0; after < AHEAD; ++after) {
            fetch(SLOTS - 1, after);
        }
#pragma unroll
        for (int s = 0; s < T; ++s) {
            for (int r = 0; r < R; ++r) {
                planes[s][0][r] = planes[s][1][r] = planes[s][2][r] = make_double2(0.0, 0.0);
            }
        }
        arrive(SLOTS - 1, planes[0][2]);
        for (int s = 1; s < T; ++s) {
            *(double2 *)in_edges(s, 2, 2 * warp) = make_double2(0.0, 0.0);
            *(double2 *)in_edges(s, 2, 2 * warp + 1) = make_double2(0.0, 0.0);
        }
        ++p;
        while (p <= last) {
            if (kind == PLAIN) {
                while (are_inner()) {
                    advance_three<PLAIN>();
                }
            } else if (kind == WALLED) {
                while (are_inner()) {
                    advance_three<WALLED>();
                }
            } else {
                while (are_inner()) {
                    advance_three<INNER>();
                }
            }
            if (p <= last) {
                advance_three<ANY>();
            }
        }
    }
};

template <int T, int R, int W, int SLOTS, bool ODD>
__device__ __forceinline__ void fast(const double *u, double *u_next, double *shared, u32 n, u32 first_z, u32 planes, u32 iterations,
    bool descends, double h2_f, const Place &place)
{
    Stream<T, R, W, SLOTS, ODD> stream;
    stream.u = u - (u64)((first_z > T ? first_z - T : 0) * n) * n;
    stream.u_next = u_next - (u64)(first_z * n) * n;
    stream.shared = shared;
    stream.n = n;
    stream.iterations = iterations;
    stream.descends = descends;
    stream.h2_f = h2_f;
    stream.run(first_z, planes, place);
}

#define FAST(T, R, W, SLOTS) \
    extern "C" __global__ void __launch_bounds__(32 * W) poisson_fast_t##T##_r##R##_w##W##_s##SLOTS(const double *__restrict__ u, u64, \
        double *__restrict__ u_next, u32 n, u32 first_z, u32 planes, u32 iterations, u32 descends, double h2_f, \
        const __grid_constant__ BlockList blocks) \
    { \
        extern __shared__ __align__(16) double shared[]; \
        const Place place = find(blocks, blockIdx.x); \
        if (n % 2 == 0) { \
            fast<T, R, W, SLOTS, false>(u, u_next, shared, n, first_z, planes, iterations, descends != 0, h2_f, place); \
        } else { \
            fast<T, R, W, SLOTS, true>(u, u_next, shared, n, first_z, planes, iterations, descends != 0, h2_f, place); \
        } \
    }

FAST(3, 4, 8, 3)
FAST(2, 4, 8, 6)
FAST(3, 4, 8, 6)
FAST(3, 3, 12, 6)
FAST(4, 3, 8, 6)
