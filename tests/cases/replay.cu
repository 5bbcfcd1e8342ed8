// The page of a replay is of the first launch, until one has a fault; what it prints is printed once.
//
// run: emulate --replay SCRATCH/page.html -- PROGRAM right
// tells: note: wrote .*page.html: \d+ steps of 1 block
// prints: in the kernel
// prints: no error
// run: emulate --replay SCRATCH/page.html -- PROGRAM race
// exit: 1
// tells: note: wrote .*page.html: \d+ steps of 1 block
// prints: in the kernel
// prints: in the kernel
// prints: no error
// run: emulate --replay SCRATCH/page.html --replay-steps 7 -- PROGRAM beyond
// exit: 1
// tells: wrote .*page.html: 7 steps of 1 block, the last; --replay-steps takes more
// prints: in the kernel
// prints: in the kernel
// prints: an illegal memory access was encountered
#include <cstdio>
#include <cstring>

__global__ void shift(int* out, int step) {
    __shared__ int tile[64];
    int i = threadIdx.x;
    if (i == 0) printf("in the kernel\n");
    tile[i] = i;
    if (step != 1) __syncthreads();
    out[i + (step == 2 ? 1 : 0)] = tile[(i + 1) % 64];
}

int main(int argc, char** argv) {
    int* out;
    cudaMalloc(&out, 64 * sizeof(int));
    shift<<<1, 64>>>(out, 0);
    if (!strcmp(argv[1], "race")) shift<<<1, 64>>>(out, 1);
    if (!strcmp(argv[1], "beyond")) shift<<<1, 64>>>(out, 2);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
