// A race between two streams is told with the lines that launched, past the stubs that nvcc makes; a fill that a
// non-blocking stream does not wait for; memory that is freed in another stream. With an event each is right.
// flags: -g
// run: emulate -- PROGRAM
// exit: 1
// prints: done
// tells: race between commands: kernel `consume` reads bytes that kernel `produce` writes, and nothing orders the two
// tells: first: kernel `produce` in stream 1, called at .*streams.cu:40, in launch
// tells: then: kernel `consume` in stream 2 \(non-blocking\), called at .*streams.cu:44, in launch
// tells: first: the fill of cuMemsetD8 in the default stream, called at .*streams.cu:65, in main
// tells: memory freed in use: nothing orders kernel `consume` before the free of cuMemFreeAsync
// tells: emulate: 3 faults
// run: emulate -- PROGRAM right
// prints: done
// tells: emulate: no fault
// run: emulate --check races,unset,barriers -- PROGRAM
// prints: done
// tells: emulate: no fault
#include <cstdio>
#include <cuda_runtime.h>

__global__ void produce(int *data) {
    data[threadIdx.x] = threadIdx.x;
}

__global__ void consume(const int *data, int *out) {
    out[threadIdx.x] = data[threadIdx.x] + 1;
}

static cudaEvent_t event;

static void order(bool is_right, cudaStream_t one, cudaStream_t other) {
    if (is_right) {
        cudaEventRecord(event, one);
        cudaStreamWaitEvent(other, event, 0);
    }
}

static void launch(bool is_right, int *data, int *out, cudaStream_t one, cudaStream_t other) {
    produce<<<1, 64, 0, one>>>(data);

    order(is_right, one, other);

    consume<<<1, 64, 0, other>>>(data, out);
}

int main(int argc, char **) {
    const bool is_right = argc > 1;
    int *data, *out, *more;
    cudaMalloc(&data, 256);
    cudaMalloc(&out, 256);
    cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    cudaStream_t one, other;
    cudaStreamCreate(&one);
    cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);

    launch(is_right, data, out, one, other);
    cudaDeviceSynchronize();

    if (is_right) {
        cudaMemsetAsync(data, 0, 256, other);
    } else {
        // The default stream, which `other` does not wait for.

        cudaMemset(data, 0, 256);
    }
    consume<<<1, 64, 0, other>>>(data, out);
    cudaDeviceSynchronize();

    cudaMallocAsync(&more, 256, one);
    cudaMemsetAsync(more, 0, 256, one);
    cudaStreamSynchronize(one);
    consume<<<1, 64, 0, other>>>(more, out);
    order(is_right, other, one);
    cudaFreeAsync(more, one);
    cudaDeviceSynchronize();
    puts("done");
}
