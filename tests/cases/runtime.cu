// What the other cases hold of the driver and of PTX, by the CUDA runtime and in CUDA C++. These are an H200's answers.
//
// run: emulate --orders 0..3 -- PROGRAM shuffle
// prints: 1162 1312 2151
// run: emulate -- PROGRAM printf
// prints: [     7] [abc]
// prints: [7     ] [abc]
// prints: [000007] [010]
// prints: no error
// run: emulate -- PROGRAM host_function
// prints: in the function: cudaErrorNotPermitted cudaErrorNotPermitted cudaErrorNotPermitted
// prints: afterwards: cudaSuccess
// run: emulate -- PROGRAM registered
// prints: aligned: 2000, attribute 1, its own address 1
// prints: in the middle: 2000, attribute 1, its own address 1
// prints: unregistered: cudaSuccess cudaErrorHostMemoryNotRegistered
// run: emulate -- PROGRAM padding
// prints: 5 10.0
#include <cstdio>
#include <cstdlib>
#include <cstring>

__global__ void exchange(int *out)
{
    int t = threadIdx.x, v = 10 * t, r;
    if (t < 16) {
        v += 1;
        r = 1000 + __shfl_xor_sync(0xffffffff, v, 16);
    } else {
        v += 2;
        r = 2000 + __shfl_xor_sync(0xffffffff, v, 16);
    }
    out[t] = r;
}

static void shuffle()
{
    int *out, host[32];
    cudaMalloc(&out, sizeof(host));
    exchange<<<1, 32>>>(out);
    cudaMemcpy(host, out, sizeof(host), cudaMemcpyDeviceToHost);
    printf("%d %d %d\n", host[0], host[15], host[31]);
}

__device__ char name[] = "abc";
__global__ void show()
{
    printf("[%*d] [%s]\n", 6, 7, name);
    printf("[%-*d] [%s]\n", 6, 7, name);
    printf("[%0*d] [%#o]\n", 6, 7, 8);
}

static int *pinned;
static cudaError_t inside[3];
static void CUDART_CB call(void *)
{
    void *p;
    int device;
    inside[0] = cudaMalloc(&p, 16);
    inside[1] = cudaFreeHost(pinned);
    inside[2] = cudaGetDevice(&device);
}

static void host_function()
{
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    cudaHostAlloc(&pinned, 64, 0);
    cudaLaunchHostFunc(stream, call, nullptr);
    const cudaError_t after = cudaStreamSynchronize(stream);
    printf("in the function:");
    for (cudaError_t error : inside)
        printf(" %s", cudaGetErrorName(error));
    printf("\nafterwards: %s\n", cudaGetErrorName(after));
}

__global__ void total(const int *x, int n, int *out)
{
    int sum = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        sum += x[i];
    atomicAdd(out, sum);
}

static void registered()
{
    int *out, can;
    cudaMallocManaged(&out, sizeof(int));
    cudaDeviceGetAttribute(&can, cudaDevAttrCanUseHostPointerForRegisteredMem, 0);
    char *memory = static_cast<char *>(aligned_alloc(4096, 16384));
    for (int at : {0, 12}) {
        int *x = reinterpret_cast<int *>(memory + at), *seen = nullptr;
        for (int i = 0; i < 1000; i++)
            x[i] = 2;
        cudaHostRegister(x, 1000 * sizeof(int), 0);
        cudaHostGetDevicePointer(&seen, x, 0);
        *out = 0;
        total<<<1, 64>>>(x, 1000, out);
        cudaDeviceSynchronize();
        printf("%s: %d, attribute %d, its own address %d\n", at ? "in the middle" : "aligned", *out, can, seen == x);
        if (!at)
            cudaHostUnregister(x);
    }
    const cudaError_t first = cudaHostUnregister(memory + 12);
    printf("unregistered: %s %s\n", cudaGetErrorName(first), cudaGetErrorName(cudaHostUnregister(memory + 12)));
}

struct Pair {
    int key;
    double value;
};
__global__ void set(Pair *p)
{
    p[threadIdx.x].key = threadIdx.x;
    p[threadIdx.x].value = 2.0 * threadIdx.x;
}
__global__ void copy(const Pair *from, Pair *to)
{
    to[threadIdx.x] = from[threadIdx.x];
}

static void padding()
{
    Pair *a, *b, host[32];
    cudaMalloc(&a, sizeof(host));
    cudaMalloc(&b, sizeof(host));
    set<<<1, 32>>>(a);
    copy<<<1, 32>>>(a, b);
    cudaMemcpy(host, b, sizeof(host), cudaMemcpyDeviceToHost);
    printf("%d %.1f\n", host[5].key, host[5].value);
}

int main(int, char **arguments)
{
    const char *what = arguments[1];
    if (!strcmp(what, "shuffle"))
        shuffle();
    if (!strcmp(what, "printf")) {
        show<<<1, 1>>>();
        printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    }
    if (!strcmp(what, "host_function"))
        host_function();
    if (!strcmp(what, "registered"))
        registered();
    if (!strcmp(what, "padding"))
        padding();
}
