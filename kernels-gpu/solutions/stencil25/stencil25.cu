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

// ---- the Rust variant `two_steps`: two timesteps per pass, on tiles that stream along x ----

constexpr int HALO = RADIUS, POINTS = 4, COLUMN = 2 * HALO + 1, COPIES = 2;
constexpr u32 NONE = ~0u;

// A ring of planes in shared memory. A plane has `rows` rows of `row` values.
struct Ring {
    u32 planes, rows, row;

    __host__ __device__ constexpr u32 plane() const { return rows * row; }
    __host__ __device__ constexpr u32 len() const { return planes * plane(); }
    // The place of the plane that is `number` before the one at `place`.
    __device__ u32 before(u32 place, u32 number) const
    {
        const u32 back = number * plane();
        return place >= back ? place - back : place + len() - back;
    }
    __device__ u32 next(u32 place) const { return before(place, planes - 1); }
};

template <u32 Y, u32 Z, u32 AHEAD> struct Tile {
    static constexpr Ring U = { HALO + 1 + AHEAD, Y + 4 * HALO, Z + 4 * HALO };
    static constexpr Ring FIRST = { HALO + 1, Y + 2 * HALO, Z + 2 * HALO };
    static constexpr Ring V = { 1 + AHEAD, FIRST.rows, FIRST.row }, VP = { HALO + 1 + AHEAD, FIRST.rows, FIRST.row };
    static constexpr Ring ETA = { HALO + 3 + AHEAD, FIRST.rows + 2, U.row };
    static constexpr u32 FOURS = FIRST.row / POINTS, THREADS = (FIRST.rows * FOURS + 31) / 32 * 32;
    static_assert(U.plane() / POINTS <= COPIES * THREADS && ETA.plane() / POINTS <= COPIES * THREADS, "two copies per thread");
};

struct Arrays {
    const float *u, *v, *vp, *eta, *phi;
    float *first, *second, *next_phi;
};

struct Four {
    float at[POINTS];
};

__device__ inline Four load4(const float *p)
{
    const float4 four = *reinterpret_cast<const float4 *>(p);
    return { { four.x, four.y, four.z, four.w } };
}

__device__ inline void copy4(float *to, const float *from)
{
    const u32 at = (u32)__cvta_generic_to_shared(to);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from) : "memory");
}

// One store to global memory: nvcc makes four of an ordinary one in a branch.
__device__ inline void store4_global(float *p, const Four &four)
{
    asm volatile("st.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(p), "f"(four.at[0]), "f"(four.at[1]), "f"(four.at[2]),
                 "f"(four.at[3])
                 : "memory");
}

__device__ inline void store4(float *p, const Four &four)
{
    *reinterpret_cast<float4 *>(p) = make_float4(four.at[0], four.at[1], four.at[2], four.at[3]);
}

__device__ inline u32 in_plane(const Grid &grid, int y, int z)
{
    return u32(y + HALO) * grid.pitch + u32(z);
}

// The places in a plane of the groups of four values that this thread copies.
template <typename Needed>
__device__ inline void copies(const Ring &ring, u32 threads, const Grid &grid, int y, int z, u32 (&places)[COPIES], Needed needed)
{
    u32 number = threadIdx.x;
#pragma unroll
    for (int n = 0; n < COPIES; ++n, number += threads) {
        const u32 row = number / (ring.row / POINTS), four = number % (ring.row / POINTS);
        const int at_y = y + int(row), at_z = z + int(four) * POINTS;
        places[n] = row < ring.rows && needed(at_y, at_z) ? in_plane(grid, at_y, at_z) : NONE;
    }
}

// Quotients as by `/`, side by side: see kernels-gpu/src/real.rs.
template <int N> __device__ inline void quotients(const float (&a)[N], const float (&d)[N], float (&q)[N])
{
    const u32 one = 127 << 23;
    u32 least = ~0u, largest = 0, divisor = 0;
#pragma unroll
    for (int k = 0; k < N; ++k) {
        const u32 magnitude = __float_as_uint(a[k]) << 1;
        least = min(least, magnitude - 1), largest = max(largest, magnitude);
        divisor = max(divisor, __float_as_uint(d[k]) - one);
    }
    if (least >= (63u << 24) - 1 && largest <= (191u << 24) && divisor <= (20u << 23)) {
#pragma unroll
        for (int k = 0; k < N; ++k) {
            float reciprocal;
            asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(reciprocal) : "f"(d[k]));
            reciprocal = fmaf(reciprocal, fmaf(-d[k], reciprocal, 1.0f), reciprocal);
            const float quotient = a[k] * reciprocal;
            q[k] = copysignf(fmaf(fmaf(-d[k], quotient, a[k]), reciprocal, quotient), a[k]);
        }
    } else {
#pragma unroll
        for (int k = 0; k < N; ++k) {
            q[k] = a[k] / d[k];
        }
    }
}

// Four points of a timestep. Without SHELL, all exist, none is in the shell, and none is the source's.
struct Points {
    u32 x, y, z, element;
    float value;
    Four v, vp;
    bool has_shell;
};

template <u32 ROW, u32 ETA_ROW, bool SHELL, typename Eta>
__device__ inline Four next_of(const Task &task, const Points &points, const Four (&column)[COLUMN], const float *here, Eta eta, Four &phi)
{
    const Coefficients &c = task.c;
    const Four u = column[HALO];
    Four rows[HALO][2];
#pragma unroll
    for (int r = 0; r < HALO; ++r) {
        rows[r][0] = load4(here - (r + 1) * ROW), rows[r][1] = load4(here + (r + 1) * ROW);
    }
    const Four before = load4(here - POINTS), after = load4(here + POINTS);
    float line[3 * POINTS], lap[POINTS];
    Four next;
#pragma unroll
    for (int k = 0; k < POINTS; ++k) {
        line[k] = before.at[k], line[POINTS + k] = u.at[k], line[2 * POINTS + k] = after.at[k];
    }
#pragma unroll
    for (int k = 0; k < POINTS; ++k) {
        float along_x[4], along_y[4], along_z[4];
#pragma unroll
        for (int r = 0; r < HALO; ++r) {
            along_x[r] = column[HALO + 1 + r].at[k] + column[HALO - 1 - r].at[k];
            along_y[r] = rows[r][1].at[k] + rows[r][0].at[k];
            along_z[r] = line[POINTS + k + r + 1] + line[POINTS + k - r - 1];
        }
        lap[k] = laplacian(c, u.at[k], along_x, along_y, along_z);
        next.at[k] = inner(u.at[k], points.v.at[k], points.vp.at[k], lap[k]);
    }
    if (!SHELL) {
        return next;
    }
    if (points.has_shell) {
        const float *behind, *at, *ahead;
        eta(behind, at, ahead);
        const Four own = load4(at), eta_behind = load4(behind), eta_ahead = load4(ahead);
        const Four eta_low = load4(at - ETA_ROW), eta_high = load4(at + ETA_ROW);
        float eta_line[POINTS + 2];
        eta_line[0] = at[-1], eta_line[POINTS + 1] = at[POINTS];
#pragma unroll
        for (int k = 0; k < POINTS; ++k) {
            eta_line[k + 1] = own.at[k];
        }
        float dividends[2 * POINTS], divisors[2 * POINTS], quotient[2 * POINTS];
#pragma unroll
        for (int k = 0; k < POINTS; ++k) {
            const float e = own.at[k], old = phi.at[k];
            const float a = fmaf(2.0f, e, fmaf(-e, e, 2.0f));
            dividends[k] = fmaf(a, u.at[k], fmaf(points.vp.at[k], lap[k] + old, -points.v.at[k]));
            divisors[k] = fmaf(2.0f, e, 1.0f);
            const float product_x
                = (eta_ahead.at[k] - eta_behind.at[k]) * (column[HALO + 1].at[k] - column[HALO - 1].at[k]);
            const float product_y = (eta_high.at[k] - eta_low.at[k]) * (rows[0][1].at[k] - rows[0][0].at[k]);
            const float product_z = (eta_line[k + 2] - eta_line[k]) * (line[POINTS + k + 1] - line[POINTS + k - 1]);
            float sum = c.slopes[0] * product_x;
            sum = fmaf(c.slopes[1], product_y, sum);
            sum = fmaf(c.slopes[2], product_z, sum);
            dividends[POINTS + k] = old - sum, divisors[POINTS + k] = 1.0f + e;
        }
        quotients(dividends, divisors, quotient);
#pragma unroll
        for (int k = 0; k < POINTS; ++k) {
            if (points.z + k < task.grid.n_z && !contains(task.region, points.x, points.y, points.z + k)) {
                next.at[k] = quotient[k], phi.at[k] = quotient[POINTS + k];
            }
        }
    }
    if (task.source - points.element < POINTS) {
#pragma unroll
        for (int k = 0; k < POINTS; ++k) {
            if (points.element + k == task.source) {
                next.at[k] += points.value;
            }
        }
    }
    if (points.z + POINTS > task.grid.n_z) {
#pragma unroll
        for (int k = 0; k < POINTS; ++k) {
            if (points.z + k >= task.grid.n_z) {
                next.at[k] = 0.0f;
            }
        }
    }
    return next;
}

// Whether the source is in a tile, or at most four points beside it.
__device__ inline bool reaches(const Task &task, u32 tile_y, u32 tile_z, u32 y, u32 z)
{
    const u32 row = task.source / task.grid.pitch % (task.grid.n_y + 2 * RADIUS), column = task.source % task.grid.pitch + RADIUS;
    return task.source != ~0u && row - tile_y < y + 2 * RADIUS && column - tile_z < z + 2 * RADIUS;
}

// Without SHELL, all
// points are deep inside, and nine planes follow each other in the loop: then values move on along
// the columns for nothing.
template <u32 Y, u32 Z, u32 AHEAD, bool SHELL>
__device__ inline void two_steps(const Arrays &arrays, const Task &task, const Region &area, float value_1, float value_2, u32 steps,
    u32 of_group, u32 chunks)
{
    using T = Tile<Y, Z, AHEAD>;
    constexpr Ring U = T::U, FIRST = T::FIRST, V = T::V, VP = T::VP, ETA = T::ETA;
    const Grid &grid = task.grid;
    const Region &region = task.region;
    // Which tile, and which of its planes.
    const u32 along_z = (area.high[2] - area.low[2] + Z - 1) / Z;
    const u32 block = blockIdx.x / of_group, rank = blockIdx.x % of_group, group = block / chunks, chunk = block % chunks;
    const u32 planes = (area.high[0] - area.low[0] + chunks - 1) / chunks;
    const u32 start = area.low[0] + chunk * planes, end = min(start + planes, area.high[0]);
    const int tile_y = area.low[1] + (group / along_z * of_group + rank) * Y, tile_z = area.low[2] + group % along_z * Z;
    if (tile_y >= int(area.high[1]) || start >= end || (!SHELL && reaches(task, tile_y, tile_z, Y, Z))) {
        return;
    }
    const int n_y = grid.n_y, n_z = grid.n_z;
    const u32 stride = stride_x(grid);

    // This thread's points.
    // Threads beyond the last are where it is, in a corner: they only copy.
    const u32 number = threadIdx.x, own_number = min(number, FIRST.rows * T::FOURS - 1);
    const u32 row = own_number / T::FOURS, four = own_number % T::FOURS;
    const int signed_y = tile_y + int(row) - HALO, signed_z = tile_z + int(four) * POINTS - HALO;
    const bool is_middle_row = row - HALO < Y, is_middle_four = four * POINTS - HALO < Z, is_own = is_middle_row && is_middle_four && signed_y < int(area.high[1]) && signed_z < int(area.high[2]);
    const bool are_points = signed_y >= 0 && signed_y < n_y && signed_z >= 0 && signed_z < n_z;
    const bool is_two = !SHELL || steps == 2;
    const bool has_first = are_points && (is_own || (is_two && (is_middle_row || is_middle_four)));
    const bool has_own = are_points && is_own;
    const u32 y = signed_y, z = signed_z, own_in_plane = in_plane(grid, signed_y, signed_z);
    const bool is_inside = z >= region.low[2] && z + POINTS <= region.high[2] && y >= region.low[1] && y < region.high[1] && has_first;

    // This thread's copies.
    u32 of_u[COPIES], of_eta[COPIES], of_sides[COPIES];
    copies(U, T::THREADS, grid, tile_y - 2 * HALO, tile_z - 2 * HALO, of_u,
        [&](int y, int z) { return y >= 0 && y < n_y && z >= 0 && z < n_z; });
    const auto is_near = [&](int y, int z) { return y >= -1 && y <= n_y && z >= -HALO && z < n_z + HALO; };
    copies(ETA, T::THREADS, grid, tile_y - HALO - 1, tile_z - 2 * HALO, of_eta, is_near);
    const int low_y = region.low[1], low_z = region.low[2], high_y = region.high[1], high_z = region.high[2];
    copies(ETA, T::THREADS, grid, tile_y - HALO - 1, tile_z - 2 * HALO, of_sides, [&](int y, int z) {
        return is_near(y, z) && !(y > low_y && y + 1 < high_y && z >= low_z + POINTS && z + 2 * POINTS <= high_z);
    });
    const bool has_sides = tile_y < low_y + HALO || tile_y + int(Y) + HALO > high_y || tile_z < low_z + HALO
        || tile_z + int(Z) + HALO > high_z;

    extern __shared__ float4 dynamic[];
    float *shared = reinterpret_cast<float *>(dynamic), *firsts = shared + U.len(), *vs = firsts + FIRST.len();
    float *vps = vs + V.len(), *etas = vps + VP.len();
    u32 x = start > 2 * RADIUS ? start - 2 * RADIUS : 0;
    const u32 x_end = end + (is_two ? 2 : 1) * RADIUS;
    const u32 first_from = is_two ? (start > RADIUS ? start - RADIUS : 0) : start;
    const u32 first_to = is_two ? min(end + RADIUS, grid.n_x) : end;

    const Four zero = {};
    const auto in_first = [&](u32 x) { return has_first && x - RADIUS - first_from < first_to - first_from; };
    const u32 own_place = row * FIRST.row + four * POINTS;
    const u32 u_own = (row + HALO) * U.row + (four + 1) * POINTS;
    const auto copy = [&](float *to, const float *plane, const u32(&places)[COPIES]) {
#pragma unroll
        for (int n = 0; n < COPIES; ++n) {
            if (places[n] != NONE) {
                copy4(to + POINTS * (number + n * T::THREADS), plane + places[n]);
            }
        }
    };
    // Starts the copies of plane x of u, of this thread's points of plane x - 4 of v and vp, and of
    // plane x - 3 of eta.
    const auto fetch = [&](u32 x, u32 u_place, u32 v_place, u32 vp_place, u32 eta_place) {
        if (!SHELL || x < grid.n_x) {
            copy(shared + u_place, arrays.u + u64(x + RADIUS) * stride, of_u);
        }
        if (in_first(x)) {
            copy4(vs + v_place + own_place, arrays.v + x * stride + own_in_plane);
            copy4(vps + vp_place + own_place, arrays.vp + x * stride + own_in_plane);
        }
        if (!SHELL) {
            return;
        }
        const u32 plane = x + RADIUS - 3;
        if (plane + 1 >= RADIUS && plane <= grid.n_x + RADIUS) {
            const float *from = arrays.eta + u64(plane) * stride;
            if (plane <= region.low[0] + RADIUS || plane + 1 >= region.high[0] + RADIUS) {
                copy(etas + eta_place, from, of_eta);
            } else if (has_sides) {
                copy(etas + eta_place, from, of_sides);
            }
        }
    };

    for (u32 at = POINTS * number; at < U.len() + FIRST.len() + V.len() + VP.len(); at += POINTS * T::THREADS) {
        store4(shared + at, zero);
    }
    __syncthreads();
    for (u32 ahead = 0; ahead < AHEAD; ++ahead) {
        fetch(x + ahead, ahead * U.plane(), ahead * V.plane(), ahead * VP.plane(), ahead * ETA.plane());
        asm volatile("cp.async.commit_group;" ::: "memory");
    }
    Four column[COLUMN] = {}, first_column[COLUMN] = {};
    u32 u_place = 0, first_place = 0, v_place = 0, vp_place = 0, eta_place = 0;
    const float *own = shared + u_own;
    float *first_own = firsts + own_place;
    const float *eta_own = etas + (row + 1) * ETA.row + (four + 1) * POINTS;
#pragma unroll(SHELL ? 1 : COLUMN)
    for (; x < x_end; ++x) {
        const u32 p = x - RADIUS, q = x - 2 * RADIUS;
        const u32 element = x * stride + own_in_plane, second_element = element - RADIUS * stride;
        const bool is_first = in_first(x);
        const bool is_written = has_own && p - start < end - start, is_second = has_own && is_two && q - start < end - start;
        const bool first_shell = SHELL && !(is_inside && p - region.low[0] < region.high[0] - region.low[0]);
        const bool second_shell = SHELL && !(is_inside && q - region.low[0] < region.high[0] - region.low[0]);
        Four phi = zero, second_phi = zero;
        Points first = { p, y, z, element, value_1, zero, zero, first_shell };
        Points second = { q, y, z, second_element, value_2, zero, zero, second_shell };
        if (is_first && first_shell) {
            phi = load4(arrays.phi + element);
        }
        if (is_second && second_shell) {
            second_phi = load4(arrays.next_phi + second_element);
        }
        asm volatile("cp.async.wait_group %0;" ::"n"(AHEAD - 1) : "memory");
        __syncthreads();
        if (x + AHEAD < x_end) {
            fetch(x + AHEAD, U.before(u_place, HALO + 1), V.before(v_place, 1), VP.before(vp_place, HALO + 1),
                ETA.before(eta_place, ETA.planes - AHEAD));
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
#pragma unroll
        for (int r = 0; r < COLUMN - 1; ++r) {
            column[r] = column[r + 1], first_column[r] = first_column[r + 1];
        }
        column[COLUMN - 1] = !SHELL || (has_first && x < grid.n_x) ? load4(own + u_place) : zero;
        const auto eta_at = [&](u32 planes) {
            return [=](const float *&behind, const float *&at, const float *&ahead) {
                behind = eta_own + ETA.before(eta_place, planes + 1), at = eta_own + ETA.before(eta_place, planes);
                ahead = eta_own + ETA.before(eta_place, planes - 1);
            };
        };
        Four next = zero;
        if (!SHELL || is_first) {
            first.v = load4(vs + v_place + own_place), first.vp = load4(vps + vp_place + own_place);
            next = next_of<U.row, ETA.row, SHELL>(task, first, column, own + U.before(u_place, HALO), eta_at(1), phi);
            if (is_written) {
                store4_global(arrays.first + element, next);
                if (first_shell) {
                    store4_global(arrays.next_phi + element, phi);
                }
            }
        }
        if (has_first) {
            store4(first_own + first_place, next);
        }
        first_column[COLUMN - 1] = next;
        if (is_second) {
            const float *here = first_own + FIRST.before(first_place, HALO);
            second.v = column[0], second.vp = load4(vps + VP.before(vp_place, HALO) + own_place);
            const Four last = next_of<FIRST.row, ETA.row, SHELL>(task, second, first_column, here, eta_at(5), second_phi);
            store4_global(arrays.second + second_element, last);
            if (second_shell) {
                store4_global(arrays.next_phi + second_element, second_phi);
            }
        }
        u_place = U.next(u_place), first_place = FIRST.next(first_place), eta_place = ETA.next(eta_place);
        v_place = V.next(v_place), vp_place = VP.next(vp_place);
    }
}

#define TWO_STEPS(NAME, Y, Z, AHEAD, SHELL, BLOCKS) \
    extern "C" __global__ void __launch_bounds__(Tile<Y, Z, AHEAD>::THREADS, BLOCKS) stencil25_two_steps_##NAME( \
        const float *u, u64, const float *v, const float *vp, u64, const float *eta, u64, const float *phi, float *first, \
        float *second, float *next_phi, const Task task, const Region area, float value_1, float value_2, u32 steps, u32 group, u32 chunks) \
    { \
        two_steps<Y, Z, AHEAD, SHELL>( \
            { u, v, vp, eta, phi, first, second, next_phi }, task, area, value_1, value_2, steps, group, chunks); \
    }

TWO_STEPS(any_y8_z32, 8, 32, 1, true, 2)
TWO_STEPS(any_y24_z40, 24, 40, 2, true, 1)
TWO_STEPS(any_y40_z24, 40, 24, 2, true, 1)
TWO_STEPS(y8_z32_a1, 8, 32, 1, false, 2)
TWO_STEPS(y24_z40_a2, 24, 40, 2, false, 1)
TWO_STEPS(y24_z56_a2, 24, 56, 2, false, 1)
TWO_STEPS(y20_z64_a2, 20, 64, 2, false, 1)
