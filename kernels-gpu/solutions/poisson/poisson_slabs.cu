// Poisson's equation in a cube on several GPUs in plain CUDA C++: the algorithm of `split`, to time
// beside it. It is a separate program:
//
//     nvcc -O3 -std=c++17 -arch=native -fmad=false -o poisson_slabs poisson_slabs.cu
//     ./poisson_slabs N ITERATIONS DEVICES
//
// It divides the cube into slabs of layers, one for each device, and uses the kernel of poisson.cu.
// A device has two streams: one for the layers at its seams and the copies to its neighbours, one
// for the others. It prints, for each of five samples after one that warms up,
//
//     time DEVICE_SECONDS HOST_SECONDS
//
// as the other peers do, and at the end a digest of the field. Digests are equal if and only if
// (except by chance) the results are, on any number of devices.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "poisson.cu"

constexpr u32 BLOCK[3] = {32, 8, 1}, COLUMN = 32;
constexpr int SAMPLES = 5;

static void check(cudaError_t error, const char *what)
{
    if (error != cudaSuccess) {
        std::fprintf(stderr, "error %s: %s\n", what, cudaGetErrorString(error));
        std::exit(1);
    }
}

#define CHECK(call) check(call, #call)

// Layers first_z to first_z + layers of the start field: the walls' values, and 0 between them.
__global__ void initial(double *u, u32 n, u32 first_z, u32 layers)
{
    const u64 points = u64(n) * n * layers;
    for (u64 i = blockIdx.x * u64(blockDim.x) + threadIdx.x; i < points; i += u64(gridDim.x) * blockDim.x) {
        const u32 x = i % n, y = i / n % n, z = first_z + i / n / n;
        const bool is_wall = x == 0 || y == 0 || z == 0 || x == n - 1 || y == n - 1 || z == n - 1;
        u[i] = is_wall ? wall_value(y) : 0.0;
    }
}

struct Slab {
    // Layers that the device computes, and the first layer in its memory. Memory ends with the
    // layer after the last.
    u32 begin, end, held;
    // The field and the next one.
    double *u[2];
    cudaStream_t inside, seams;
    cudaEvent_t inside_done, seams_done, sent;
};

struct Cube {
    u32 n;
    double h2;
    std::vector<Slab> slabs;

    u64 layer() const { return u64(n) * n; }

    // One iteration of layers begin to end of a slab, in launches whose points 32 bits number.
    void sweep(const Slab &slab, u32 t, u32 begin, u32 end, cudaStream_t stream) const
    {
        const u32 most = u32((u64(1) << 32) / layer() - 3);
        for (u32 first = begin; first < end; first += most) {
            const u32 layers = first + most < end ? most : end - first;
            const u32 columns = (layers + COLUMN - 1) / COLUMN;
            const dim3 grid((n + BLOCK[0] - 1) / BLOCK[0], (n - 2 + BLOCK[1] - 1) / BLOCK[1], columns);
            const double *u = slab.u[t % 2] + (first - 1 - slab.held) * layer();
            double *u_next = slab.u[(t + 1) % 2] + (first - slab.held) * layer();
            poisson_computes_source<<<grid, dim3(BLOCK[0], BLOCK[1], BLOCK[2]), 0, stream>>>(
                u, (layers + 2) * layer(), u_next, n, first, layers, COLUMN, h2);
        }
    }

    // Copies a layer of the next field to the neighbour that has it as halo.
    void send(u32 from, u32 to, u32 z, u32 t) const
    {
        const Slab &a = slabs[from], &b = slabs[to];
        const u32 next = (t + 1) % 2;
        CHECK(cudaMemcpyPeerAsync(
            b.u[next] + (z - b.held) * layer(), to, a.u[next] + (z - a.held) * layer(), from, layer() * sizeof(double), a.seams));
    }

    void step(u32 t) const
    {
        const u32 count = u32(slabs.size());
        for (u32 device = 0; device < count; ++device) {
            const Slab &slab = slabs[device];
            CHECK(cudaSetDevice(int(device)));
            // The seams need the slab's last iteration, and both neighbours' layers. The neighbours
            // have then read the layers that are overwritten.
            CHECK(cudaStreamWaitEvent(slab.seams, slab.inside_done, 0));
            CHECK(cudaStreamWaitEvent(slab.inside, slab.seams_done, 0));
            if (device > 0) {
                CHECK(cudaStreamWaitEvent(slab.seams, slabs[device - 1].sent, 0));
            }
            if (device + 1 < count) {
                CHECK(cudaStreamWaitEvent(slab.seams, slabs[device + 1].sent, 0));
            }
            u32 begin = slab.begin, end = slab.end;
            if (device > 0) {
                sweep(slab, t, begin, begin + 1, slab.seams);
                ++begin;
            }
            if (device + 1 < count && begin < end) {
                --end;
                sweep(slab, t, end, end + 1, slab.seams);
            }
            CHECK(cudaEventRecord(slab.seams_done, slab.seams));
            sweep(slab, t, begin, end, slab.inside);
            CHECK(cudaEventRecord(slab.inside_done, slab.inside));
        }
        for (u32 device = 0; device < count; ++device) {
            const Slab &slab = slabs[device];
            CHECK(cudaSetDevice(int(device)));
            // The overwritten layers were read by the neighbours' seams of the last iteration, for
            // which those of this one waited.
            if (device > 0) {
                CHECK(cudaStreamWaitEvent(slab.seams, slabs[device - 1].seams_done, 0));
                send(device, device - 1, slab.begin, t);
            }
            if (device + 1 < count) {
                CHECK(cudaStreamWaitEvent(slab.seams, slabs[device + 1].seams_done, 0));
                send(device, device + 1, slab.end - 1, t);
            }
            CHECK(cudaEventRecord(slab.sent, slab.seams));
        }
        CHECK(cudaGetLastError());
    }

    void reset() const
    {
        for (u32 device = 0; device < slabs.size(); ++device) {
            CHECK(cudaSetDevice(int(device)));
            const Slab &slab = slabs[device];
            for (double *u : slab.u) {
                initial<<<4096, 256>>>(u, n, slab.held, slab.end + 1 - slab.held);
            }
            CHECK(cudaDeviceSynchronize());
        }
    }
};

int main(int count, char **values)
{
    const long n = count == 4 ? std::atol(values[1]) : 0, iterations = count == 4 ? std::atol(values[2]) : 0;
    const long devices = count == 4 ? std::atol(values[3]) : 0;
    if (n < 3 || n > 32768 || iterations < 1 || devices < 1 || devices > n - 2) {
        std::fprintf(
            stderr, "error usage: poisson_slabs N ITERATIONS DEVICES: N from 3 to 32768, at least 1 iteration, 1 to N - 2 devices\n");
        return 2;
    }
    int present = 0;
    CHECK(cudaGetDeviceCount(&present));
    if (devices > present) {
        std::fprintf(stderr, "error %ld devices: there are %d\n", devices, present);
        return 2;
    }
    Cube cube{u32(n), (2.0 / double(n - 1)) * (2.0 / double(n - 1)), {}};
    u32 begin = 1;
    for (long device = 0; device < devices; ++device) {
        CHECK(cudaSetDevice(int(device)));
        for (long other : {device - 1, device + 1}) {
            if (other >= 0 && other < devices) {
                const cudaError_t error = cudaDeviceEnablePeerAccess(int(other), 0);
                // Without peer access, copies go through the host.
                if (error == cudaErrorPeerAccessUnsupported) {
                    std::fprintf(stderr, "devices %ld and %ld have no peer access\n", device, other);
                    cudaGetLastError();
                } else {
                    check(error, "cudaDeviceEnablePeerAccess");
                }
            }
        }
        const u32 layers = u32((n - 2) / devices + (device < (n - 2) % devices));
        Slab slab{};
        slab.begin = begin;
        slab.end = begin + layers;
        slab.held = begin - 1;
        begin = slab.end;
        for (double *&u : slab.u) {
            CHECK(cudaMalloc(&u, (layers + 2) * cube.layer() * sizeof(double)));
        }
        int least, greatest;
        CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
        CHECK(cudaStreamCreateWithPriority(&slab.inside, cudaStreamNonBlocking, least));
        CHECK(cudaStreamCreateWithPriority(&slab.seams, cudaStreamNonBlocking, greatest));
        for (cudaEvent_t *event : {&slab.inside_done, &slab.seams_done, &slab.sent}) {
            CHECK(cudaEventCreateWithFlags(event, cudaEventDisableTiming));
        }
        cube.slabs.push_back(slab);
    }
    CHECK(cudaSetDevice(0));
    cudaEvent_t started, ended;
    CHECK(cudaEventCreate(&started));
    CHECK(cudaEventCreate(&ended));
    const Slab &first = cube.slabs[0];
    for (int sample = 0; sample <= SAMPLES; ++sample) {
        cube.reset();
        CHECK(cudaSetDevice(0));
        const auto host_started = std::chrono::steady_clock::now();
        CHECK(cudaEventRecord(started, first.inside));
        for (const Slab &slab : cube.slabs) {
            CHECK(cudaStreamWaitEvent(slab.inside, started, 0));
            CHECK(cudaStreamWaitEvent(slab.seams, started, 0));
        }
        for (long t = 0; t < iterations; ++t) {
            cube.step(u32(t));
        }
        CHECK(cudaSetDevice(0));
        for (const Slab &slab : cube.slabs) {
            CHECK(cudaStreamWaitEvent(first.inside, slab.inside_done, 0));
            CHECK(cudaStreamWaitEvent(first.inside, slab.sent, 0));
        }
        CHECK(cudaEventRecord(ended, first.inside));
        CHECK(cudaEventSynchronize(ended));
        const double host = std::chrono::duration<double>(std::chrono::steady_clock::now() - host_started).count();
        float milliseconds;
        CHECK(cudaEventElapsedTime(&milliseconds, started, ended));
        if (sample > 0) {
            std::printf("time %.9f %.9f\n", double(milliseconds) * 1e-3, host);
            std::fflush(stdout);
        }
    }
    // FNV-1a over the bits of all points inside the walls along z.
    u64 digest = 14695981039346656037ull;
    std::vector<u64> values_of_layer(cube.layer());
    for (u32 device = 0; device < cube.slabs.size(); ++device) {
        const Slab &slab = cube.slabs[device];
        CHECK(cudaSetDevice(int(device)));
        for (u32 z = slab.begin; z < slab.end; ++z) {
            const double *u = slab.u[iterations % 2] + (z - slab.held) * cube.layer();
            CHECK(cudaMemcpy(values_of_layer.data(), u, cube.layer() * sizeof(double), cudaMemcpyDeviceToHost));
            for (u64 bits : values_of_layer) {
                digest = (digest ^ bits) * 1099511628211ull;
            }
        }
    }
    std::printf("digest %016llx\n", digest);
    return 0;
}
