// Public bug reports of commands that nothing orders, each as a small program of our own, and as its mend has it. What was
// reported is in docs/emulate-streams.md. `PROGRAM REPORT [right] [RUNS WORDS]` prints in how many runs a value was wrong; on the
// emulated driver each command is done when it is called, so that none is, and the missing edge is told.
// flags: -g
// run: emulate -- PROGRAM alpaka-850
// exit: 1
// prints: 0 of 1 runs wrong
// tells: the copy of cuMemcpyDtoH reads bytes that kernel `produce` writes, and nothing orders the two
// tells: emulate: 1 fault
// run: emulate -- PROGRAM alpaka-851
// exit: 1
// prints: 0 of 1 runs wrong
// tells: kernel `add` writes bytes that the fill of cuMemsetD8 writes, and nothing orders the two
// run: emulate -- PROGRAM cutlass-214
// exit: 1
// prints: 0 of 1 runs wrong
// tells: kernel `add` writes bytes that the fill of cuMemsetD8Async writes, and nothing orders the two
// run: emulate -- PROGRAM nvMolKit-55
// exit: 1
// prints: 0 of 1 runs wrong
// tells: memory used before its allocation
// run: emulate -- PROGRAM torchcodec-868
// exit: 1
// prints: 0 of 1 runs wrong
// tells: kernel `copy` reads bytes that kernel `produce` writes, and nothing orders the two
// run: emulate -- PROGRAM intel-llvm-1798
// exit: 1
// prints: 0 of 1 runs wrong
// tells: kernel `copy` reads bytes that the copy of cuMemcpyHtoD writes, and nothing orders the two
// run: emulate -- PROGRAM quadrants-649
// exit: 1
// prints: 0 of 1 runs wrong
// tells: the copy of cuMemcpyHtoDAsync writes bytes that kernel `copy` reads, and nothing orders the two
// run: emulate -- PROGRAM FLAMEGPU2-840
// exit: 1
// prints: 0 of 1 runs wrong
// tells: kernel `produce` writes bytes that kernel `produce` writes, and nothing orders the two
// run: emulate -- PROGRAM cupy-5155
// exit: 1
// prints: 0 of 1 runs wrong
// tells: kernel `produce` writes bytes that the copy of cuMemcpyDtoHAsync reads, and nothing orders the two
// run: emulate -- PROGRAM cuda-api-wrappers-28
// exit: 1
// prints: 0 of 1 runs wrong
// tells: kernel `copy` reads bytes that kernel `produce` writes, and nothing orders the two
// run: emulate -- PROGRAM fastfields-88
// exit: 1
// prints: 0 of 1 runs wrong
// tells: memory freed in use: nothing orders kernel `copy` before the free of cuMemFreeAsync
// run: emulate -- PROGRAM all right
// prints: 0 of 1 runs wrong
// tells: emulate: no fault
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>

// Takes its time, as a kernel with work to do does.
__global__ void produce(int *to, int n, int value) {
#if __CUDA_ARCH__ >= 700
    for (int i = 0; i < 40; i++)
        __nanosleep(1000);
#endif
    for (int i = threadIdx.x + blockIdx.x * blockDim.x; i < n; i += blockDim.x * gridDim.x)
        to[i] = value;
}

__global__ void copy(const int *from, int *to, int n) {
    for (int i = threadIdx.x + blockIdx.x * blockDim.x; i < n; i += blockDim.x * gridDim.x)
        to[i] = from[i];
}

__global__ void add(int *to, int n, int value) {
    for (int i = threadIdx.x + blockIdx.x * blockDim.x; i < n; i += blockDim.x * gridDim.x)
        to[i] += value;
}

static int n = 1024;
static int *data, *out, *more, *pageable, *pinned, *big;
static cudaStream_t one, other;
static cudaEvent_t event;
static bool is_right;

#define ON(stream) <<<32, 64, 0, stream>>>

// What the mends do: the second stream waits for what the first has.
static void order(cudaStream_t first, cudaStream_t second) {
    if (is_right) {
        cudaEventRecord(event, first);
        cudaStreamWaitEvent(second, event, 0);
    }
}

static int wrong(const int *values, int expected) {
    int found = 0;
    for (int i = 0; i < n; i++)
        found += values[i] != expected;
    return found;
}

static int wrong_on_device(const int *values, int expected) {
    cudaDeviceSynchronize();
    cudaMemcpy(pageable, values, 4 * n, cudaMemcpyDeviceToHost);
    return wrong(pageable, expected);
}

// A copy by a call without a stream takes the result of a stream that does not block.
static int alpaka_850(int value) {
    produce ON(one)(data, n, value);
    if (is_right)
        cudaStreamSynchronize(one);
    cudaMemcpy(pageable, data, 4 * n, cudaMemcpyDeviceToHost);
    return wrong(pageable, value);
}

// cudaMemset returns before it is done.
static int alpaka_851(int value) {
    cudaMemset(data, 0, 4 * n);
    if (is_right)
        cudaStreamSynchronize(0);
    add ON(one)(data, n, value);
    return wrong_on_device(data, value);
}

// The workspace is set to zero in the default stream, and used in the caller's.
static int cutlass_214(int value) {
    cudaMemsetAsync(data, 0, 4 * n, is_right ? one : 0);
    add ON(one)(data, n, value);
    return wrong_on_device(data, value);
}

// Memory is allocated in the default stream, and used in another.
static int nvmolkit_55(int value) {
    int *made;
    cudaMallocAsync(&made, 4 * n, is_right ? one : 0);
    produce ON(one)(made, n, value);
    const int found = wrong_on_device(made, value);
    cudaFree(made);
    return found;
}

// One stream decodes, another converts.
static int torchcodec_868(int value) {
    produce ON(one)(data, n, value);
    order(one, other);
    copy ON(other)(data, out, n);
    return wrong_on_device(out, value);
}

// From pageable memory, cudaMemcpy returns once the values are staged.
static int intel_llvm_1798(int value) {
    for (int i = 0; i < n; i++)
        pageable[i] = value;
    cudaMemcpy(data, pageable, 4 * n, cudaMemcpyHostToDevice);
    if (is_right)
        cudaStreamSynchronize(0);
    copy ON(one)(data, out, n);
    return wrong_on_device(out, value);
}

// The arguments of the second launch overwrite those that the first one reads.
static int quadrants_649(int value) {
    for (int i = 0; i < n; i++)
        pinned[i] = value, pinned[n + i] = -value;
    cudaMemcpyAsync(data, pinned, 4 * n, cudaMemcpyHostToDevice, one);
    produce ON(one)(more, n, 0);
    copy ON(one)(data, out, n);
    order(one, other);
    cudaMemcpyAsync(data, pinned + n, 4 * n, cudaMemcpyHostToDevice, other);
    return wrong_on_device(out, value);
}

// Two sorts in two streams have one piece of temporary memory.
static int flamegpu2_840(int value) {
    produce ON(one)(data, n, value);
    copy ON(one)(data, out, n);
    order(one, other);
    produce ON(other)(data, n, -value);
    copy ON(other)(data, more, n);
    return wrong_on_device(out, value) + wrong_on_device(more, -value);
}

// An array is copied to the host in one stream, and changed in another.
static int cupy_5155(int value) {
    for (int i = 0; i < n; i++)
        pinned[i] = 0;
    copy ON(one)(big, data, n);
    add ON(one)(data, n, value);
    cudaStreamSynchronize(one);
    cudaMemcpyAsync(pinned, data, 4 * n, cudaMemcpyDeviceToHost, one);
    order(one, other);
    produce ON(other)(data, n, 0);
    cudaDeviceSynchronize();
    return wrong(pinned, value);
}

// A wait for an event that is recorded only later waits for nothing.
static int cuda_api_wrappers_28(int value) {
    cudaEvent_t ready;
    cudaEventCreateWithFlags(&ready, cudaEventDisableTiming);
    if (!is_right)
        cudaStreamWaitEvent(other, ready, 0);
    produce ON(one)(data, n, value);
    cudaEventRecord(ready, one);
    if (is_right)
        cudaStreamWaitEvent(other, ready, 0);
    copy ON(other)(data, out, n);
    const int found = wrong_on_device(out, value);
    cudaEventDestroy(ready);
    return found;
}

// What cudaFree waits for, cudaFreeAsync does not.
static int fastfields_88(int value) {
    int *made, *next;
    cudaMallocAsync(&made, 4 * n, one);
    produce ON(one)(made, n, value);
    order(one, other);
    if (!is_right)
        cudaStreamSynchronize(one);
    produce ON(one)(more, n, 0);
    copy ON(one)(made, out, n);
    order(one, other);
    cudaFreeAsync(made, other);
    // Other memory of the pool, which may be that one.
    cudaMallocAsync(&next, 4 * n, other);
    produce ON(other)(next, n, -value);
    cudaFreeAsync(next, other);
    return wrong_on_device(out, value);
}

static const struct {
    const char *name;
    int (*run)(int);
} REPORTS[] = {
    {"alpaka-850", alpaka_850},
    {"alpaka-851", alpaka_851},
    {"cutlass-214", cutlass_214},
    {"nvMolKit-55", nvmolkit_55},
    {"torchcodec-868", torchcodec_868},
    {"intel-llvm-1798", intel_llvm_1798},
    {"quadrants-649", quadrants_649},
    {"FLAMEGPU2-840", flamegpu2_840},
    {"cupy-5155", cupy_5155},
    {"cuda-api-wrappers-28", cuda_api_wrappers_28},
    {"fastfields-88", fastfields_88},
};

int main(int argc, char **argv) {
    const char *name = argc > 1 ? argv[1] : "all";
    is_right = argc > 2 && !strcmp(argv[2], "right");
    const int first = 2 + is_right;
    const int runs = argc > first ? atoi(argv[first]) : 1;
    n = argc > first + 1 ? atoi(argv[first + 1]) : n;
    cudaMalloc(&data, 4 * n);
    cudaMalloc(&out, 4 * n);
    cudaMalloc(&more, 4 * n);
    cudaMalloc(&big, 4 * n);
    cudaMemset(big, 0, 4 * n);
    cudaMallocHost(&pinned, 8 * n);
    pageable = (int *)malloc(4 * n);
    cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    cudaDeviceSynchronize();

    int wrong_runs = 0;
    for (int run = 0; run < runs; run++) {
        int found = 0;
        for (const auto &report : REPORTS)
            if (!strcmp(name, "all") || !strcmp(name, report.name))
                found += report.run(run + 1);
        wrong_runs += found > 0;
    }
    const cudaError_t error = cudaDeviceSynchronize();
    if (error)
        printf("%s\n", cudaGetErrorString(error));
    printf("%d of %d runs wrong\n", wrong_runs, runs);
    return error != cudaSuccess;
}
