// The 2D wave equation in plain CUDA C++, to time beside the Rust kernels. Scheme, scenes and order
// of operations are those of kernels-gpu/src/wave2d: compiled with -fmad=false, the results are
// equal to the last bit.
//
// Parameters are those of the Rust kernels, whose slices are a pointer and a length.

typedef unsigned int u32;
typedef unsigned long long u64;

// ---- the contents of the domain ----

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

// One thread per cell, everything from global memory: the new field replaces u0.
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

// The textbook tile: a block loads its cells of u1 and the ring around them into shared memory,
// then computes one timestep.
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

// Several timesteps per launch on tiles in registers (overlapped temporal blocking): the algorithm
// of the Rust variant `shmem`. A warp owns ROWS rows of a tile and a lane four neighbouring cells
// of each. Warps exchange their outermost rows through shared memory, lanes their outermost cells
// by shuffles. Each timestep makes one more ring of the tile wrong; the cells that stay right are
// written.
constexpr u32 ROWS = 4, WARPS = 16, LANES = 32;
constexpr u32 WIDE_X = 4 * LANES, WIDE_Y = ROWS * WARPS;
constexpr u32 EDGES = 2 * WARPS * 2 * WIDE_X; // In floats; as staging space, ROWS rows for each warp.

struct Region {
    u32 x_first, x_end, y_first, y_end;
};

__device__ __forceinline__ bool meets(Region r, u32 x_first, u32 x_end, u32 y_first, u32 y_end)
{
    return r.x_first < x_end && x_first < r.x_end && r.y_first < y_end && y_first < r.y_end;
}

__device__ __forceinline__ bool has_margin(Domain d, Region r, u32 margin)
{
    return r.x_first >= margin && r.y_first >= margin && r.x_end + margin <= d.n_x && r.y_end + margin <= d.n_y;
}

// Whether every cell of the region is inside the border, free and undamped. False is always a right
// answer.
__device__ __forceinline__ bool is_plain(u32 scene, Domain d, Region r)
{
    if (r.x_first >= r.x_end || r.y_first >= r.y_end || !has_margin(d, r, max(sponge_width(d), 1u))) {
        return scene >= EMPTY_BOX && r.x_first < r.x_end && r.y_first < r.y_end && has_margin(d, r, 1);
    }
    switch (scene) {
    case POINT_SOURCE:
        return !meets(r, d.n_x / 2, d.n_x / 2 + 1, d.n_y / 2, d.n_y / 2 + 1);
    case DOUBLE_SLIT: {
        const u32 first = d.n_x / 4, end = first + 1 + d.n_x / 128, source = sponge_width(d) + 1;
        return !meets(r, first, end, r.y_first, r.y_end) && !meets(r, source, source + 1, r.y_first, r.y_end);
    }
    case ELLIPTIC_ROOM: {
        // An ellipse is convex: a rectangle is inside if its corners are.
        const u32 x = d.n_x / 2 - (d.n_x / 320 * 93 + d.n_x % 320 * 93 / 320), y = d.n_y / 2;
        return !is_wall(scene, d, r.x_first, r.y_first) && !is_wall(scene, d, r.x_first, r.y_end - 1)
            && !is_wall(scene, d, r.x_end - 1, r.y_first) && !is_wall(scene, d, r.x_end - 1, r.y_end - 1)
            && !meets(r, x, x + 1, y, y + 1);
    }
    case PARABOLIC_MIRROR: {
        const float half_height = float(d.n_y / 3);
        const u32 vertex = d.n_x / 8, focal_length = d.n_y / 8;
        const u32 rim = u32(float(vertex) + half_height * half_height / (4.0f * float(focal_length)));
        return focal_length > 0 && r.x_first > max(rim, vertex + focal_length) + 2;
    }
    default:
        return true;
    }
}

// A cell's kind in one float: the damping of a free cell, or one of these.
constexpr float ZERO = -1.0f, SOURCE = -2.0f;

struct Tile {
    Domain d;
    u32 lane, warp;
    u32 x, y; // The first cell; left of and above the domain these wrap around, and so are outside it.
    float *edges;
    float *kinds;
    float *sources;

    __device__ __forceinline__ float *staging() const { return edges + warp * ROWS * WIDE_X; }

    // The place of the lane's first column in a row. Left of and above the domain this cell does
    // not exist.
    __device__ __forceinline__ long long offset(u32 row) const
    {
        return (long long)(y + warp * ROWS + row) * d.n_x + int(x + lane);
    }

    // Reads neighbouring cells with neighbouring lanes.
    template <bool PLAIN>
    __device__ __forceinline__ void load(const float *__restrict__ field, float (&loaded)[ROWS][4]) const
    {
#pragma unroll
        for (u32 row = 0; row < ROWS; ++row) {
            const u32 cell_y = y + warp * ROWS + row;
            const float *const first = field + offset(row);
#pragma unroll
            for (u32 quarter = 0; quarter < 4; ++quarter) {
                const u32 cell_x = x + lane + LANES * quarter;
                const bool is_there = PLAIN || (cell_x < d.n_x && cell_y < d.n_y);
                loaded[row][quarter] = is_there ? first[LANES * quarter] : 0.0f;
            }
        }
    }

    // Exchanges the loaded values, so that each lane gets four neighbours.
    __device__ __forceinline__ void hand_over(const float (&loaded)[ROWS][4], float4 (&cells)[ROWS]) const
    {
        float *const stage = staging();
#pragma unroll
        for (u32 row = 0; row < ROWS; ++row) {
#pragma unroll
            for (u32 quarter = 0; quarter < 4; ++quarter) {
                stage[row * WIDE_X + lane + LANES * quarter] = loaded[row][quarter];
            }
        }
        __syncwarp();
#pragma unroll
        for (u32 row = 0; row < ROWS; ++row) {
            cells[row] = *reinterpret_cast<float4 *>(stage + row * WIDE_X + 4 * lane);
        }
        __syncwarp();
    }

    template <bool PLAIN>
    __device__ __forceinline__ void store(const float4 (&cells)[ROWS], float *__restrict__ field, u32 steps) const
    {
        float *const stage = staging();
#pragma unroll
        for (u32 row = 0; row < ROWS; ++row) {
            *reinterpret_cast<float4 *>(stage + row * WIDE_X + 4 * lane) = cells[row];
        }
        __syncwarp();
#pragma unroll
        for (u32 row = 0; row < ROWS; ++row) {
            const u32 row_in_tile = warp * ROWS + row, cell_y = y + row_in_tile;
            if (row_in_tile - steps >= WIDE_Y - 2 * steps || (!PLAIN && cell_y >= d.n_y)) {
                continue;
            }
            float *const first = field + offset(row);
#pragma unroll
            for (u32 quarter = 0; quarter < 4; ++quarter) {
                const u32 column = lane + LANES * quarter, cell_x = x + column;
                if (column - steps < WIDE_X - 2 * steps && (PLAIN || cell_x < d.n_x)) {
                    first[LANES * quarter] = stage[row * WIDE_X + column];
                }
            }
        }
        __syncwarp();
    }

    // Cells' kinds, and the source's values at the launch's timesteps.
    __device__ __forceinline__ void classify(u32 scene, u32 t, u32 steps) const
    {
        const u32 step = LANES * warp + lane;
        if (step < steps) {
            sources[step] = scene >= EMPTY_BOX ? 0.0f : oscillation(t + step);
        }
#pragma unroll 1
        for (u32 cell = 0; cell < 4 * ROWS; ++cell) {
            const u32 row = warp * ROWS + cell / 4, column = 4 * lane + cell % 4;
            const u32 cell_x = x + column, cell_y = y + row;
            float kind;
            if (cell_x >= d.n_x || cell_y >= d.n_y || is_border(d, cell_x, cell_y) || is_wall(scene, d, cell_x, cell_y)) {
                kind = ZERO;
            } else if (is_source(scene, d, cell_x, cell_y)) {
                kind = SOURCE;
            } else {
                kind = damping(scene, d, cell_x, cell_y);
            }
            kinds[row * WIDE_X + column] = kind;
        }
    }

    // One timestep: replaces `cells`, the second-last field, by the next.
    template <bool PLAIN>
    __device__ __forceinline__ void step(
        float4 (&cells)[ROWS], const float4 (&last)[ROWS], u32 parity, float k, float source) const
    {
        const auto edge = [&](u32 of_warp, u32 last_row) {
            return reinterpret_cast<float4 *>(edges + ((parity * WARPS + of_warp) * 2 + last_row) * WIDE_X + 4 * lane);
        };
        *edge(warp, 0) = last[0];
        *edge(warp, 1) = last[ROWS - 1];
        __syncthreads();
        const float4 none = {0.0f, 0.0f, 0.0f, 0.0f};
        const float4 north_edge = warp == 0 ? none : *edge(warp - 1, 1);
        const float4 south_edge = warp == WARPS - 1 ? none : *edge(warp + 1, 0);
#pragma unroll
        for (u32 row = 0; row < ROWS; ++row) {
            const float4 own = last[row];
            const float4 north = row == 0 ? north_edge : last[row - 1];
            const float4 south = row == ROWS - 1 ? south_edge : last[row + 1];
            const float before = __shfl_up_sync(~0u, own.w, 1), after = __shfl_down_sync(~0u, own.x, 1);
            float4 kind = none;
            if (!PLAIN) {
                kind = *reinterpret_cast<float4 *>(kinds + (warp * ROWS + row) * WIDE_X + 4 * lane);
            }
            const auto next = [&](float u0, float u1, float west, float east, float n, float s, float of_kind) {
                if (PLAIN) {
                    return free_cell(u0, u1, west, east, n, s, k, 0.0f);
                }
                // This selects between computed values, without a branch.
                const float free = free_cell(u0, u1, west, east, n, s, k, of_kind);
                return of_kind >= 0.0f ? free : of_kind == SOURCE ? source : 0.0f;
            };
            float4 &cell = cells[row];
            cell.x = next(cell.x, own.x, before, own.y, north.x, south.x, kind.x);
            cell.y = next(cell.y, own.y, own.x, own.z, north.y, south.y, kind.y);
            cell.z = next(cell.z, own.z, own.y, own.w, north.z, south.z, kind.z);
            cell.w = next(cell.w, own.w, own.z, after, north.w, south.w, kind.w);
        }
    }

    template <bool PLAIN>
    __device__ __forceinline__ void run(
        u32 scene, const float *__restrict__ u0, const float *__restrict__ u1, float *__restrict__ out0,
        float *__restrict__ out1, float k, u32 t, u32 steps) const
    {
        if (!PLAIN) {
            classify(scene, t, steps);
        }
        // Both fields' loads are in flight before the first wait.
        float second_last[ROWS][4], last[ROWS][4];
        load<PLAIN>(u0, second_last);
        load<PLAIN>(u1, last);
        float4 even[ROWS], odd[ROWS];
        hand_over(second_last, even);
        hand_over(last, odd);
        __syncthreads();
        // Two timesteps at a time: the fields swap roles without moves.
        const auto source = [&](u32 s) { return PLAIN ? 0.0f : sources[s]; };
        u32 s = 0;
        for (; s + 1 < steps; s += 2) {
            step<PLAIN>(even, odd, 0, k, source(s));
            step<PLAIN>(odd, even, 1, k, source(s + 1));
        }
        if (s < steps) {
            step<PLAIN>(even, odd, 0, k, source(s));
            __syncthreads();
            store<PLAIN>(odd, out0, steps);
            store<PLAIN>(even, out1, steps);
        } else {
            __syncthreads();
            store<PLAIN>(even, out0, steps);
            store<PLAIN>(odd, out1, steps);
        }
    }
};

extern "C" __global__ void __launch_bounds__(LANES *WARPS, 2) wave2d_shmem(
    const float *__restrict__ u0, u64, const float *__restrict__ u1, u64, float *__restrict__ out0,
    float *__restrict__ out1, u32 n_x, u32 n_y, u32 scene, float k, u32 t, u32 steps)
{
    extern __shared__ float4 shared[];
    float *const floats = reinterpret_cast<float *>(shared);
    const Tile tile = {
        {n_x, n_y},
        threadIdx.x,
        threadIdx.y,
        blockIdx.x * (WIDE_X - 2 * steps) - steps,
        blockIdx.y * (WIDE_Y - 2 * steps) - steps,
        floats,
        floats + EDGES,
        floats + EDGES + WIDE_X * WIDE_Y,
    };
    if (is_plain(scene, tile.d, {tile.x, tile.x + WIDE_X, tile.y, tile.y + WIDE_Y})) {
        tile.run<true>(scene, u0, u1, out0, out1, k, t, steps);
    } else {
        tile.run<false>(scene, u0, u1, out0, out1, k, t, steps);
    }
}

// ---- the Rust variant `fast`: many timesteps per launch, in a pipeline of each warp ----
//
// A warp streams over a chunk of rows of a strip of 128 columns. Level s, the field after s
// timesteps, is at row r - s when row r of the inputs has arrived. Registers hold each level's last
// row, and the partial values of the next one, without the neighbours to the south and to the west.
// While all cells in the pipeline are plain, a warp tests none; otherwise their codes come from a
// table, through shared memory like the fields. Fields have padding: a lane's cells are 16 aligned
// bytes.

constexpr u32 STRIP = 128, MARGIN = 32, RING = 8, AHEAD = RING - 2, CODE_RING = 32;
constexpr u32 WARP_FLOATS = RING * 2 * STRIP + CODE_RING * STRIP + 32;
constexpr u32 IS_ROUGH = 1, IS_ZERO = 2, IS_CHANGED = 4, IS_OTHER = 8, IS_NEAR_ROUGH = 1 << 2;
// The assumptions of a path about the cells in the pipeline: plain; every row the same; none; plain
// or zero; plain, but rows to come may not be.
constexpr u32 PLAIN = 0, UNIFORM = 1, ROUGH = 2, WALLS = 3, NEAR = 4;

// Rows of `pitch()` floats, `before()` of them before the first column, and MARGIN rows before the
// first row. u1 comes first, and u0 a plane behind it.
struct Layout {
    u32 n_x, n_y, halo;

    __device__ u32 own() const { return STRIP - 2 * halo; }
    __device__ u32 strips() const { return (n_x + own() - 1) / own(); }
    __device__ u32 pitch() const { return strips() * own() + 2 * halo; }
    __device__ u32 before() const { return halo + (strips() * own() - n_x) / 8 * 4; }
    __device__ u32 rows() const { return n_y + 2 * MARGIN; }
    __device__ u64 plane() const { return u64(pitch()) * rows(); }
    __device__ u64 row(u32 y) const { return u64(y + MARGIN) * pitch(); }
    __device__ u64 cell(u32 cell) const { return row(cell / n_x) + (cell % n_x + before()); }
};

__device__ __forceinline__ void pad(const float *__restrict__ u0, const float *__restrict__ u1, float *__restrict__ fields, const Layout layout)
{
    const u32 cell = blockIdx.x * blockDim.x + threadIdx.x;
    if (cell < layout.n_x * layout.n_y) {
        fields[layout.cell(cell)] = u1[cell];
        fields[layout.cell(cell) + layout.plane()] = u0[cell];
    }
}

// If `skips`, kernels have not written rows far inside walls.
__device__ __forceinline__ void unpad(
    const float *__restrict__ fields, const float *__restrict__ kinds, float *__restrict__ u0, float *__restrict__ u1, const Layout layout, bool skips)
{
    const u32 cell = blockIdx.x * blockDim.x + threadIdx.x;
    if (cell < layout.n_x * layout.n_y) {
        const u64 at = layout.cell(cell);
        const bool is_zero = skips && kinds[at] == 0.0f;
        u1[cell] = is_zero ? 0.0f : fields[at];
        u0[cell] = is_zero ? 0.0f : fields[at + layout.plane()];
    }
}

// Writes the code of each cell: -(1 - d) if it is free, 0 for border and wall, 1 for a source. For
// each row of each strip it writes whether the row is rough, is all zero, differs from the one
// above, or has cells that are neither plain nor zero.
__device__ __forceinline__ void write_kinds(float *__restrict__ kinds, u32 *__restrict__ rough, const Layout layout, u32 scene)
{
    const u32 strip = blockIdx.x, lane = threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    const u32 n_x = layout.n_x, n_y = layout.n_y, halo = layout.halo;
    if (row >= layout.rows()) {
        return;
    }
    const Domain d = {n_x, n_y};
    const u32 y = row - MARGIN, first = strip * layout.own() - layout.before();
    bool plain = true, zero = true, same = true, other = false;
    const auto code_of = [&](u32 x, u32 y) {
        if (x >= n_x || y >= n_y || is_border(d, x, y) || is_wall(scene, d, x, y)) {
            return 0.0f;
        }
        return is_source(scene, d, x, y) ? 1.0f : -(1.0f - damping(scene, d, x, y));
    };
#pragma unroll 1
    for (u32 column = lane; column < STRIP; column += LANES) {
        const u32 x = first + column;
        const float above = code_of(x, y - 1), code = code_of(x, y);
        if (x < n_x && y < n_y && column - halo < layout.own()) {
            kinds[layout.row(y) + (x + layout.before())] = code;
        }
        plain = plain && code == -1.0f;
        zero = zero && code == 0.0f;
        same = same && code == above;
        other = other || (code != -1.0f && code != 0.0f);
    }
    plain = __all_sync(~0u, plain);
    zero = __all_sync(~0u, zero);
    same = __all_sync(~0u, same);
    other = __any_sync(~0u, other);
    if (lane == 0) {
        rough[strip * layout.rows() + row] =
            (plain ? 0 : IS_ROUGH) | (zero ? IS_ZERO : 0) | (same ? 0 : IS_CHANGED) | (other ? IS_OTHER : 0);
    }
}

// The kernels of `fast` also take the rows of a device: here they are always all of the domain's.
#define TABLES(NAME, ...)                                                                                                     \
    extern "C" __global__ void wave2d_##NAME##_pad(                                                                           \
        const float *__restrict__ u0, u64, const float *__restrict__ u1, u64, float *__restrict__ fields, u32 n_x, u32 n_y,   \
        u32 halo)                                                                                                             \
    {                                                                                                                         \
        pad(u0, u1, fields, Layout{n_x, n_y, halo});                                                                          \
    }                                                                                                                         \
    extern "C" __global__ void wave2d_##NAME##_unpad(                                                                         \
        const float *__restrict__ fields, u64, const float *__restrict__ kinds, u64, float *__restrict__ u0,                  \
        float *__restrict__ u1, u32 n_x, u32 n_y, u32 halo __VA_ARGS__, u32 skips)                                                        \
    {                                                                                                                         \
        unpad(fields, kinds, u0, u1, Layout{n_x, n_y, halo}, skips);                                                          \
    }                                                                                                                         \
    extern "C" __global__ void wave2d_##NAME##_kinds(                                                                         \
        float *__restrict__ kinds, u32 *__restrict__ rough, u32 n_x, u32 n_y, u32 scene, u32 halo, u32 __VA_ARGS__)                       \
    {                                                                                                                         \
        write_kinds(kinds, rough, Layout{n_x, n_y, halo}, scene);                                                             \
    }

TABLES(fast, , u32, u32)
TABLES(wavefront)

// Writes whether each row and the one before it are rough, and whether some row near them is. It
// also counts, before each row, the rows with work, and those of them near rough ones.
extern "C" __global__ void wave2d_fast_flags(
    const u32 *__restrict__ rough, u64, u32 *__restrict__ flags, uint2 *__restrict__ before, u32 n_y, u32, u32, u32 reach, u32 skips)
{
    const u32 strip = blockIdx.x, lane = threadIdx.x, rows = n_y + 2 * MARGIN;
    const auto is = [&](u32 row) { return row < rows ? rough[strip * rows + row] : IS_ZERO; };
    uint2 count = make_uint2(0, 0);
    for (u32 first = 0; first < rows; first += LANES) {
        const u32 row = first + lane, y = row - MARGIN;
        bool is_near = false, is_blank = skips;
        for (u32 other = row < reach ? 0 : row - reach; other <= row + reach; ++other) {
            const u32 is_other = is(other);
            is_near |= bool(is_other & IS_ROUGH);
            is_blank &= bool(is_other & IS_ZERO);
        }
        if (row < rows) {
            u32 flag = is_near ? IS_NEAR_ROUGH : 0;
            for (u32 i = 0; i < 2; ++i) {
                flag |= (is(row - i) & IS_ROUGH) << i;
            }
            flags[strip * rows + row] = flag;
        }
        const u32 all = __ballot_sync(~0u, y < n_y && !is_blank), near = __ballot_sync(~0u, y < n_y && !is_blank && is_near);
        if (y <= n_y) {
            const u32 below = (1u << lane) - 1;
            before[strip * (n_y + 1) + y] = make_uint2(count.x + __popc(all & below), count.y + __popc(near & below));
        }
        count.x += __popc(all), count.y += __popc(near);
    }
}

// A chunk's time, in hundredths of a step of the pipeline on plain rows: L plain rows take L + T
// steps, and those near rough ones `rough` each. x counts the rows with work, y those of them near
// rough ones.
struct Budget {
    u32 hundredths, t, rough;

    __device__ u64 share(uint2 rows) const
    {
        return (rows.x - rows.y) * (100 * u64(hundredths - rough * t)) + rows.y * (rough * u64(hundredths - 100 * t));
    }
    __device__ u32 chunks(uint2 rows) const
    {
        const u64 whole = u64(hundredths - 100 * t) * (hundredths - rough * t);
        return u32(min(max((share(rows) + whole - 1) / whole, 1ull), u64(max(rows.x, 1u))));
    }
};

// Makes chunks of equal time: first those with rows near rough ones, then the others. Either all or
// none of the chunks of a block have such rows.
extern "C" __global__ void __launch_bounds__(512) wave2d_fast_chunks(const uint2 *__restrict__ before, u64, uint2 *counts, uint4 *chunks, u32 strips,
    u32, u32 n_y, u32 most, u32 t, u32 rough, u32 together)
{
    const u32 thread = threadIdx.x, lane = thread % LANES, warp = thread / LANES;
    const auto rows_before = [&](u32 strip, u32 y) { return before[strip * (n_y + 1) + y]; };
    u32 too_small = rough * t, enough = rough * (n_y + t);
    while (enough - too_small > 1) {
        const Budget budget = {too_small + (enough - too_small) / 2, t, rough};
        u32 all = 0;
        for (u32 strip = lane; strip < strips; strip += LANES) {
            all += budget.chunks(rows_before(strip, n_y));
        }
        (__reduce_add_sync(~0u, all) <= most - (together - 1) ? enough : too_small) = budget.hundredths;
    }
    const Budget budget = {enough, t, rough};
    const auto first_row = [&](const auto &is_enough) {
        u32 low = 0, high = n_y;
        while (low < high) {
            const u32 y = low + (high - low) / 2;
            if (is_enough(y)) {
                high = y;
            } else {
                low = y + 1;
            }
        }
        return low;
    };
    // The lane's chunk of a strip; the lanes whose chunk comes first, and those with another chunk;
    // the strip's number of chunks.
    uint2 rows, lanes;
    const auto chunks_from = [&](u32 strip, u32 first) {
        const u32 count = budget.chunks(rows_before(strip, n_y));
        const u64 share = budget.share(rows_before(strip, n_y));
        const auto boundary = [&](u32 chunk) {
            const u64 wanted = share * min(chunk, count);
            return first_row([&](u32 y) { return budget.share(rows_before(strip, y)) * count >= wanted; });
        };
        const u32 begin = boundary(first + lane), end = boundary(first + lane + 1);
        const u32 none = rows_before(strip, begin).x;
        rows = make_uint2(first_row([&](u32 y) { return rows_before(strip, min(y + 1, n_y)).x > none; }), end);
        const bool is_chunk = first + lane < count;
        const bool comes_first = rows_before(strip, end).y > rows_before(strip, begin).y;
        lanes = make_uint2(__ballot_sync(~0u, is_chunk && comes_first), __ballot_sync(~0u, is_chunk && !comes_first));
        return count;
    };
    for (u32 strip = warp; strip < strips; strip += blockDim.x / LANES) {
        uint2 both = make_uint2(0, 0);
        for (u32 first = 0, count = 1; first < count; first += LANES) {
            count = chunks_from(strip, first);
            both.x += __popc(lanes.x), both.y += __popc(lanes.y);
        }
        if (lane == 0) {
            counts[strip] = both;
        }
    }
    __syncthreads();
    const auto in_strips = [&](u32 strips) {
        uint2 both = make_uint2(0, 0);
        for (u32 strip = 0; strip < strips; ++strip) {
            both.x += counts[strip].x, both.y += counts[strip].y;
        }
        return both;
    };
    const uint2 all = in_strips(strips);
    const u32 first_other = (all.x + together - 1) / together * together;
    for (u32 strip = warp; strip < strips; strip += blockDim.x / LANES) {
        uint2 at = in_strips(strip);
        at.y += first_other;
        for (u32 first = 0, count = 1; first < count; first += LANES) {
            count = chunks_from(strip, first);
            const u32 below = (1u << lane) - 1;
            const uint4 chunk = make_uint4(strip, rows.x, rows.y, 0);
            if (lanes.x >> lane & 1) {
                chunks[at.x + __popc(lanes.x & below)] = chunk;
            } else if (lanes.y >> lane & 1) {
                chunks[at.y + __popc(lanes.y & below)] = chunk;
            }
            at.x += __popc(lanes.x), at.y += __popc(lanes.y);
        }
    }
    for (u32 empty = all.x + thread; empty < most; empty += blockDim.x) {
        if (empty < first_other || empty >= first_other + all.y) {
            chunks[empty] = make_uint4(0, 0, 0, 0);
        }
    }
}

__device__ __forceinline__ void copy_16_to(u32 shared, const float *global)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(global) : "memory");
}

template <u32 T>
struct Pipeline {
    float k, kept; // 1 - 4k.
    u32 lane, rows, pitch, plane; // The last one in lanes' cells.
    bool is_own;
    const float *next, *fields, *kinds;
    float *out;
    const u32 *next_flags;
    u32 flags, rough;
    float *shared;
    u32 copied;
    // Each level's last row (the ring has level 0's), and the partial values of the row after it,
    // without the neighbours to the west and south.
    float4 last[T], begun[T + 1];

    // The place of a row in a ring of `ring` rows, counted from the first of its group of two.
    static __device__ __forceinline__ u32 in_groups(u32 group, int row, u32 ring)
    {
        return (group + (row + 2 * CODE_RING) / 2) % (ring / 2) * 2 + (row + 2 * CODE_RING) % 2;
    }
    static __device__ __forceinline__ u32 ring(u32 group, int row) { return in_groups(group, row, RING) * 2 * STRIP; }
    static __device__ __forceinline__ u32 codes(u32 group, int row)
    {
        return (RING * 2 + in_groups(group, row, CODE_RING)) * STRIP;
    }
    __device__ __forceinline__ float *sources() { return shared + (RING * 2 + CODE_RING) * STRIP; }

    __device__ __forceinline__ void copy(u32 group, int row, bool is_near_rough)
    {
        const u32 place = copied + 4 * ring(group, row);
        copy_16_to(place, next);
        copy_16_to(place + 4 * STRIP, next + 4 * u64(plane));
        if (is_near_rough) {
            copy_16_to(copied + 4 * codes(group, row), kinds + (next - fields));
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
        next += pitch;
    }

    __device__ __forceinline__ bool is_near_rough() const { return flags & IS_NEAR_ROUGH; }

    __device__ __forceinline__ void take_flags()
    {
        rough = rough << 2 | (flags & 3);
        flags = *next_flags;
        next_flags += 2;
    }

    // A row of u1, or of u0, which is `behind` by a row.
    __device__ __forceinline__ float4 row(u32 group, int row, u32 behind) const
    {
        return *reinterpret_cast<const float4 *>(shared + ring(group, row) + behind + 4 * lane);
    }

    __device__ __forceinline__ float4 code(u32 group, int row)
    {
        return *reinterpret_cast<const float4 *>(shared + codes(group, row) + 4 * lane);
    }

    // Computes a row of level S from the next row of level S - 1, `newest`. `older` is that row of
    // level S - 2. Afterwards these are of level S and S - 1. `here` are the codes of that row, and
    // afterwards of the one before it.
    template <u32 PATH, u32 Q, u32 S>
    __device__ __forceinline__ void level(u32 group, float4 &newest, float4 &older, float4 &here)
    {
        if constexpr (S <= T) {
            const float4 own = S == 1 ? row(group, int(Q) - 1, 0) : last[S - 1];
            const float west = __shfl_up_sync(~0u, own.w, 1);
            const float4 sum = make_float4(__fadd_rn(west, newest.x), __fadd_rn(own.x, newest.y), __fadd_rn(own.y, newest.z), __fadd_rn(own.z, newest.w));
            const float after = __shfl_down_sync(~0u, sum.x, 1);
            constexpr bool ANY = PATH == UNIFORM || PATH == ROUGH;
            float4 code = here;
            float source = 0.0f;
            if (PATH == ROUGH || PATH == WALLS) {
                code = this->code(group, int(Q) - int(S));
            }
            if (ANY) {
                source = sources()[S - 1];
            }
            // k (west + south) + (k (north + east) + (a u1 - b u0)), a = (1 - 4k) + b, b = 1 - d,
            // which is -code.
            const auto end = [&](float sum, float begun, float code) {
                const float free = __fmaf_rn(k, sum, begun);
                const float fixed = ANY ? __fmaf_rn(code, source, 0.0f) : 0.0f;
                return !(ANY || PATH == WALLS) || __float_as_int(code) < 0 ? free : fixed;
            };
            const auto begin = [&](float u0, float u1, float sum, float code) {
                const float a = ANY ? __fadd_rn(kept, -code) : __fadd_rn(kept, 1.0f);
                const float past = ANY ? __fmul_rn(code, u0) : -u0;
                return __fmaf_rn(k, sum, __fmaf_rn(a, u1, past));
            };
            const float4 b = begun[S];
            const float4 next = make_float4(end(sum.x, b.x, code.x), end(sum.y, b.y, code.y), end(sum.z, b.z, code.z), end(sum.w, b.w, code.w));
            begun[S] = make_float4(begin(older.x, newest.x, sum.y, here.x), begin(older.y, newest.y, sum.z, here.y),
                                   begin(older.z, newest.z, sum.w, here.z), begin(older.w, newest.w, after, here.w));
            last[S - 1] = newest;
            newest = next, older = own, here = PATH == WALLS ? here : code;
        }
    }

    template <u32 PATH, bool BEGINS, u32 Q, u32 FIRST>
    __device__ __forceinline__ void four_levels(u32 group, float4 &newest, float4 &older, float4 &here)
    {
        if constexpr (FIRST <= T) {
            if (!BEGINS || 2 * group + Q + 1 >= 2 * FIRST) {
                level<PATH, Q, FIRST>(group, newest, older, here);
                level<PATH, Q, FIRST + 1>(group, newest, older, here);
                level<PATH, Q, FIRST + 2>(group, newest, older, here);
                level<PATH, Q, FIRST + 3>(group, newest, older, here);
                four_levels<PATH, BEGINS, Q, FIRST + 4>(group, newest, older, here);
            } else {
                last[FIRST - 1] = newest;
            }
        }
    }

    template <u32 PATH, bool BEGINS, u32 Q>
    __device__ __forceinline__ void one(u32 group, bool is_near_rough)
    {
        asm volatile("cp.async.wait_group %0;" ::"n"(AHEAD - 1) : "memory");
        float4 newest = row(group, Q, 0), older = row(group, Q, STRIP);
        float4 here = make_float4(-1.0f, -1.0f, -1.0f, -1.0f);
        copy(group, Q + AHEAD, is_near_rough);
        if (PATH == ROUGH) {
            here = code(group, Q);
        }
        const bool is_stored = is_own && 2 * group + Q - 2 * T < rows;
        if (is_stored) {
            *reinterpret_cast<float4 *>(out + 4 * u64(plane)) = T == 1 ? row(group, int(Q) - 1, 0) : last[T - 1];
        }
        four_levels<PATH, BEGINS, Q, 1>(group, newest, older, here);
        if (is_stored) {
            *reinterpret_cast<float4 *>(out) = newest;
        }
        out += pitch;
    }

    template <u32 PATH, bool BEGINS>
    __device__ __forceinline__ void two(u32 group)
    {
        const bool is_near_rough = (PATH == ROUGH || BEGINS) && this->is_near_rough();
        take_flags();
        one<PATH, BEGINS, 0>(group, is_near_rough);
        one<PATH, BEGINS, 1>(group, is_near_rough);
    }

    // Clears the registers and the table's ring, and writes the source's values.
    __device__ __forceinline__ void prepare(u32 scene, u32 t)
    {
        const float4 none = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
        for (u32 s = 0; s < T; ++s) {
            last[s] = none, begun[s + 1] = none;
        }
#pragma unroll 1
        for (u32 row = 0; row < CODE_RING; ++row) {
            *reinterpret_cast<float4 *>(shared + (RING * 2 + row) * STRIP + 4 * lane) = none;
        }
        if (lane < T) {
            sources()[lane] = scene >= EMPTY_BOX ? 0.0f : oscillation(t + lane);
        }
    }

    __device__ __forceinline__ void run(u32 scene, u32 t)
    {
        prepare(scene, t);
        __syncwarp();
        bool is_near_rough = false;
#pragma unroll
        for (u32 row = 0; row < AHEAD; ++row) {
            if (row % 2 == 0) {
                is_near_rough = this->is_near_rough();
                take_flags();
            }
            copy(0, row, is_near_rough);
        }
        const u32 groups = (rows + 2 * T + 1) / 2, begun_at = (2 * ((T - 1) / 4 * 4 + 1)) / 2;
        constexpr u32 HELD = ((1u << (T + 2)) - 1) << (AHEAD - 2);
        u32 group = 0;
        while (group < groups) {
            if (rough & HELD) {
                two<ROUGH, true>(group);
                ++group;
            } else if (group < begun_at || this->is_near_rough()) {
                two<PLAIN, true>(group);
                ++group;
            } else {
                while (group < groups && !(rough & HELD) && !this->is_near_rough()) {
                    two<PLAIN, false>(group);
                    ++group;
                }
            }
        }
    }
};

// `out` begins with row 0 and its padding.
template <u32 T>
__device__ __forceinline__ void pass(
    const float *__restrict__ fields, float *__restrict__ out, u32 plane, const float *__restrict__ kinds, const u32 *__restrict__ flags,
    const uint4 *__restrict__ chunks, u64 numbers, const Layout layout, u32 scene, float k, u32 t)
{
    extern __shared__ float4 dynamic[];
    const u32 lane = threadIdx.x, warp = threadIdx.y, index = blockIdx.x * blockDim.y + warp;
    if (index >= numbers / 4) {
        return;
    }
    const uint4 chunk = chunks[index];
    const u32 strip = chunk.x, first = chunk.y, end = chunk.z;
    if (first >= end) {
        return;
    }
    const u32 row_0 = first - T, column = 4 * lane;
    const u64 next = layout.row(row_0) + (strip * layout.own() + column);
    Pipeline<T> pipeline;
    pipeline.k = k, pipeline.kept = __fadd_rn(1.0f, -__fmul_rn(4.0f, k));
    pipeline.lane = lane, pipeline.rows = end - first, pipeline.pitch = layout.pitch();
    pipeline.is_own = column - layout.halo < layout.own();
    pipeline.plane = plane;
    pipeline.fields = fields, pipeline.kinds = kinds, pipeline.next = fields + next;
    pipeline.out = out + next - layout.row(0) - u64(layout.pitch()) * T;
    const u32 *const of_first = flags + (strip * layout.rows() + row_0 + MARGIN + 1);
    pipeline.flags = *of_first, pipeline.next_flags = of_first + 2, pipeline.rough = 0;
    pipeline.shared = reinterpret_cast<float *>(dynamic) + warp * WARP_FLOATS;
    pipeline.copied = u32(__cvta_generic_to_shared(pipeline.shared + column));
    pipeline.run(scene, t);
}

#define FAST(T)                                                                                                               \
    extern "C" __global__ void __launch_bounds__(256) wave2d_fast_t##T(                                                       \
        const float *__restrict__ fields, u64, float *__restrict__ out, const float *out_behind,                              \
        const float *__restrict__ kinds, u64, const u32 *__restrict__ flags, u64, const uint4 *__restrict__ chunks,           \
        u64 numbers, u32 n_x, u32 n_y, u32 halo, u32, u32, u32 scene, float k, u32 t)                                         \
    {                                                                                                                         \
        const u32 plane = u32((out_behind - out) / 4);                                                                        \
        pass<T>(fields, out, plane, kinds, flags, chunks, numbers, Layout{n_x, n_y, halo}, scene, k, t);                      \
    }

FAST(1)
FAST(4)
FAST(16)

// ---- the Rust variant `wavefront`: passes of some timesteps behind one another, in one launch
// ----
//
// In a pass a warp has a whole strip. It copies a row when the pass before has stored it, in this
// strip and those beside it: each warp publishes its progress. Blocks take turns from a counter: a
// warp waits only for running ones. Paths are computed before, for 8 rows at a time. Hints tell L2
// to keep stored rows until they are read, and not after. Shared memory holds values that are
// needed once per interval, because loads that acquire empty L1.

constexpr u32 HALO = 16, INTERVAL = 8, PUBLISHED = 3, PATHS = 32;

// The policies that createpolicy makes of L2::evict_first and L2::evict_last.
constexpr u64 EVICT_FIRST = 0x12f0000000000000, EVICT_LAST = 0x14f0000000000000;

__device__ __forceinline__ void copy_16_evict_first_to(u32 shared, const void *global)
{
    asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2;" ::"r"(shared), "l"(global), "l"(EVICT_FIRST) : "memory");
}

__device__ __forceinline__ void store_4_evict_last(float *to, const float4 &value)
{
    asm volatile("st.global.L2::cache_hint.v4.f32 [%0], {%1, %2, %3, %4}, %5;" ::"l"(to), "f"(value.x), "f"(value.y), "f"(value.z), "f"(value.w),
                 "l"(EVICT_LAST)
                 : "memory");
}

extern "C" __global__ void wave2d_wavefront_paths(const u32 *__restrict__ rough, u64, u32 *paths, uint4 *table, u32 n_y, u32 skips)
{
    const u32 strip = blockIdx.x, lane = threadIdx.x, rows = n_y + 2 * MARGIN, intervals = (rows + INTERVAL - 1) / INTERVAL, held = HALO + 2;
    const u32 later = ((AHEAD + held + INTERVAL - 1) / INTERVAL + 1) * INTERVAL;
    const auto is = [&](u32 row) { return row < rows ? rough[strip * rows + row] : IS_ZERO; };
    u32 first = ~0u, end = 0, quarters = 0;
    for (u32 interval = lane; interval < intervals; interval += LANES) {
        const u32 row = interval * INTERVAL;
        u32 any = 0, changed = 0, any_later = 0, all = IS_ZERO;
        for (u32 other = 0; other < held + INTERVAL + later; ++other) {
            const u32 flags = is(row + other - held);
            all &= other < held + INTERVAL + held ? flags : IS_ZERO;
            (other < held + INTERVAL ? any : any_later) |= flags;
            changed |= other > 0 && other < held + INTERVAL ? flags : 0;
        }
        const u32 path = !(any & IS_ROUGH) ? any_later & IS_ROUGH ? NEAR : PLAIN : !(changed & IS_CHANGED) ? UNIFORM : !(any & IS_OTHER) ? WALLS : ROUGH;
        paths[strip * intervals + interval] = path;
        if (row + INTERVAL > MARGIN && row < n_y + MARGIN && !(skips && all)) {
            first = min(first, row), end = max(end, min(row + INTERVAL, n_y + MARGIN));
            quarters += path == PLAIN || path == NEAR ? 4 : path == ROUGH ? 8 : 6;
        }
    }
    first = __reduce_min_sync(~0u, first), end = __reduce_max_sync(~0u, end), quarters = __reduce_add_sync(~0u, quarters);
    if (lane == 0) {
        table[strip] = make_uint4(end ? first : 0, end, quarters > 5 * intervals, 0);
    }
}

// Writes the number of a pass's warps, and then for each its strip, first row, and the row after
// its last. If `apart`, slow warps have an empty one beside them.
extern "C" __global__ void wave2d_wavefront_warps(const uint4 *__restrict__ table, u64, uint4 *warps, u32 strips, u32 apart)
{
    const u32 lane = threadIdx.x;
    u32 at = 1;
    for (u32 is_slow = 1; is_slow < 2; --is_slow) {
        const u32 each = is_slow && apart ? 2 : 1;
        for (u32 from = 0; from < strips; from += LANES) {
            const uint4 of_strip = from + lane < strips ? table[from + lane] : make_uint4(0, 0, 0, 0);
            const bool is_one = of_strip.x < of_strip.y && of_strip.z == is_slow;
            const u32 lanes = __ballot_sync(~0u, is_one);
            if (is_one) {
                const u32 place = at + each * __popc(lanes & ((1u << lane) - 1));
                warps[place] = make_uint4(from + lane, of_strip.x, of_strip.y, 0);
                if (each == 2) {
                    warps[place + 1] = make_uint4(0, 0, 0, 0);
                }
            }
            at += each * __popc(lanes);
        }
    }
    if (lane == 0) {
        if (apart && at % 2 == 0) {
            warps[at++] = make_uint4(0, 0, 0, 0);
        }
        warps[0] = make_uint4(at - 1, 0, 0, 0);
    }
}

extern "C" __global__ void wave2d_wavefront_start(const uint4 *__restrict__ table, u64, u32 *progress, u32 *counter, u32 strips, u32 passes)
{
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x, pass = i / (strips + 2), strip = i % (strips + 2) - 1;
    if (i == 0) {
        *counter = 0;
    }
    if (pass <= passes) {
        progress[i] = pass > 0 && strip < strips && table[strip].x < table[strip].y ? table[strip].x : ~0u;
    }
}

template <u32 T>
struct Pass : Pipeline<T> {
    using Base = Pipeline<T>;
    float *all; // Four planes of fields, and the table of kinds. Places there are in lanes' cells.
    u32 from, to, to_kinds, stride, behind;
    const u32 *paths;
    u32 *progress;
    u32 admitted;

    // Shared memory holds values that are needed once per interval: the warp's place in `progress`,
    // that of the first of three that it waits for, the first row, intervals, the place in `paths`,
    // and PATHS of these, a byte each.
    __device__ __forceinline__ volatile u32 *kept_numbers() { return reinterpret_cast<volatile u32 *>(this->sources() + 16); }
    __device__ __forceinline__ float *at(u32 place) { return all + 4 * u64(place); }

    template <u32 PATH>
    __device__ __forceinline__ void copy(u32 group, int row)
    {
        const u32 place = this->copied + 4 * Base::ring(group, row);
        copy_16_evict_first_to(place, at(from));
        copy_16_evict_first_to(place + 4 * STRIP, at(from + behind));
        if (PATH != PLAIN) {
            copy_16_to(this->copied + 4 * Base::codes(group, row), at(from + to_kinds));
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
        from += stride;
    }

    template <u32 PATH, u32 Q, u32 S>
    __device__ __forceinline__ void levels(u32 group, float4 &newest, float4 &older, float4 &here)
    {
        if constexpr (S <= T) {
            this->template level<PATH, Q, S>(group, newest, older, here);
            levels<PATH, Q, S + 1>(group, newest, older, here);
        }
    }

    // The rows that the last level and the last but one have reached in a step.
    template <u32 PATH, u32 Q>
    __device__ __forceinline__ void one(u32 group, float4 &newest, float4 &older)
    {
        asm volatile("cp.async.wait_group %0;" ::"n"(AHEAD - 1 - Q) : "memory");
        newest = this->row(group, Q, 0), older = this->row(group, Q, STRIP);
        float4 here = make_float4(-1.0f, -1.0f, -1.0f, -1.0f);
        if (PATH == UNIFORM || PATH == ROUGH) {
            here = this->code(group, Q);
        }
        this->template level<PATH, Q, 1>(group, newest, older, here);
        if (Q == 0) {
            copy<PATH>(group, AHEAD);
            copy<PATH>(group, AHEAD + 1);
        }
        levels<PATH, Q, 2>(group, newest, older, here);
    }

    __device__ __forceinline__ void store(u32 step, const float4 &newest, const float4 &older)
    {
        // Rows below the strip's last are blank, or padding.
        if (step >= HALO + T && 4 * threadIdx.x - HALO < STRIP - 2 * HALO) {
            store_4_evict_last(at(to), newest);
            store_4_evict_last(at(to + behind), older);
        }
        to += stride;
    }

    // Returns the rows that the last step has reached.
    template <u32 PATH>
    __device__ __forceinline__ void interval(u32 &group, float4 &newest, float4 &older)
    {
#pragma unroll 1
        for (;;) {
            const u32 step = 2 * group;
            one<PATH, 0>(group, newest, older);
            store(step, newest, older);
            one<PATH, 1>(group, newest, older);
            if (++group % (INTERVAL / 2) == 0) {
                return;
            }
            store(step + 1, newest, older);
        }
    }

    __device__ __forceinline__ void publish(u32 row)
    {
        __syncwarp();
        if (this->lane == 0) {
            asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(progress + kept_numbers()[0]), "r"(row) : "memory");
        }
    }

    __device__ __forceinline__ void admit(u32 row)
    {
        while (admitted < row) {
            const u32 *const beside = progress + kept_numbers()[1] + min(this->lane, 2u);
            u32 done;
            asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(done) : "l"(beside) : "memory");
            admitted = __reduce_min_sync(~0u, done);
            __syncwarp();
        }
    }

    __device__ __forceinline__ u32 path(u32 number)
    {
        volatile u32 *const kept = kept_numbers();
        volatile unsigned char *const copied = reinterpret_cast<volatile unsigned char *>(kept + 5);
        if (number % PATHS == 0) {
            const u32 path = paths[kept[4] + min(number + this->lane, kept[3] - 1)];
            __syncwarp();
            copied[this->lane] = path;
            __syncwarp();
        }
        return copied[number % PATHS];
    }

    __device__ __forceinline__ void run(u32 scene, u32 t, const u32 (&numbers)[5])
    {
        this->prepare(scene, t);
        *reinterpret_cast<float4 *>(this->shared + Base::ring(0, -1) + 4 * this->lane) = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        volatile u32 *const kept = kept_numbers();
        if (this->lane == 0) {
            for (u32 i = 0; i < 5; ++i) {
                kept[i] = numbers[i];
            }
        }
        __syncwarp();
        admit(kept[2] + AHEAD);
#pragma unroll
        for (u32 row = 0; row < AHEAD; ++row) {
            copy<ROUGH>(0, row);
        }
        u32 group = 0;
#pragma unroll 1
        for (u32 number = 0; number < kept[3]; number = group / (INTERVAL / 2)) {
            const u32 step = number * INTERVAL, row = kept[2];
            admit(row + step + INTERVAL + AHEAD);
            float4 newest, older;
            switch (path(number)) {
            case PLAIN:
                interval<PLAIN>(group, newest, older);
                break;
            case NEAR:
                interval<NEAR>(group, newest, older);
                break;
            case UNIFORM:
                interval<UNIFORM>(group, newest, older);
                break;
            case WALLS:
                interval<WALLS>(group, newest, older);
                break;
            default:
                interval<ROUGH>(group, newest, older);
            }
            // The last step's rows are stored after the warp has published its progress, which
            // waits for all earlier stores.
            const u32 end = 2 * group;
            if (end % (PUBLISHED * INTERVAL) == 0 && end > HALO + T) {
                publish(kept[2] + end - T - 1);
            }
            store(end - 1, newest, older);
        }
        asm volatile("cp.async.wait_all;" ::: "memory");
        publish(~0u);
    }
};

template <u32 T>
__device__ __forceinline__ void passes(
    float *fields, const u32 *__restrict__ paths, const uint4 *__restrict__ warps, u32 *progress, u32 *counter, const Layout layout, u32 pitch,
    u32 plane, u32 scene, float k, u32 t, u32 from, u32 count)
{
    extern __shared__ float4 dynamic[];
    u32 *const taken = reinterpret_cast<u32 *>(dynamic);
    const u32 lane = threadIdx.x, warp = threadIdx.y, pairs = (blockDim.y + 1) / 2;
    for (;;) {
        if (lane == 0 && warp == 0) {
            *taken = atomicAdd(counter, 1);
        }
        __syncthreads();
        const u32 turn = *taken, in_pass = warps[0].x;
        __syncthreads();
        if (in_pass == 0 || turn * blockDim.y / in_pass >= count) {
            return;
        }
        // Pairs are warps of one scheduler.
        const u32 number = turn * blockDim.y + warp % pairs * 2 + warp / pairs, pass = number / in_pass;
        const uint4 of_warp = warps[number % in_pass + 1];
        const u32 strip = of_warp.x, first = of_warp.y, end = of_warp.z;
        if (pass >= count || first >= end) {
            continue;
        }
        const u32 row = first - HALO, column = 4 * lane, read = pass % 2 == 0 ? from : 2 * plane - from;
        const u32 place = row * pitch + (strip * layout.own() + column) / 4, intervals = (layout.rows() + INTERVAL - 1) / INTERVAL;
        Pass<T> it;
        it.k = k, it.kept = __fadd_rn(1.0f, -__fmul_rn(4.0f, k));
        it.lane = lane, it.all = fields, it.paths = paths, it.progress = progress;
        it.stride = pitch, it.behind = plane, it.to_kinds = 4 * plane - read;
        it.from = read + place, it.to = 2 * plane - read + place - pitch * T;
        it.admitted = 0;
        it.shared = reinterpret_cast<float *>(dynamic) + warp * WARP_FLOATS;
        it.copied = u32(__cvta_generic_to_shared(it.shared + column));
        const u32 of_pass = layout.strips() + 2;
        const u32 numbers[5] = {(pass + 1) * of_pass + strip + 1, pass * of_pass + strip, row, (end - row + T + INTERVAL - 1) / INTERVAL,
                                strip * intervals + row / INTERVAL};
        it.run(scene, t + pass * T, numbers);
    }
}

#define WAVEFRONT(T)                                                                                                          \
    extern "C" __global__ void __launch_bounds__(256) wave2d_wavefront_t##T(                                                  \
        float *fields, const u32 *__restrict__ paths, u64, const uint4 *__restrict__ warps, u64, u32 *progress, u32 *counter, \
        u32 n_x, u32 n_y, u32 pitch, u32 plane, u32 scene, float k, u32 t, u32 from, u32 count)                               \
    {                                                                                                                         \
        passes<T>(fields, paths, warps, progress, counter, Layout{n_x, n_y, HALO}, pitch, plane, scene, k, t, from, count);   \
    }

WAVEFRONT(1)
WAVEFRONT(4)
WAVEFRONT(16)
