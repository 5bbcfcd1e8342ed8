// Algorithms of CUB on a device, and two of a block, each against the same on the host.
//
// run: emulate --orders 0..1 -- PROGRAM
// prints: DeviceReduce: right
// prints: DeviceScan: right
// prints: DeviceRadixSort, keys: right
// prints: DeviceRadixSort, pairs: right
// prints: DeviceHistogram: right
// prints: DeviceSelect: right
// prints: DeviceRunLengthEncode: right
// prints: DeviceSegmentedReduce: right
// prints: DeviceMergeSort: right
// prints: ArgMax: right
// prints: BlockScan, BlockReduce: right
#include <algorithm>
#include <cstdio>
#include <cub/cub.cuh>
#include <numeric>
#include <vector>

using Numbers = std::vector<int>;
constexpr int N = 3000, SEGMENTS = 10;

// Memory of the device with these numbers, or with none.
struct Buffer {
    int *at = nullptr;
    size_t count;
    explicit Buffer(size_t count) : count(count) { cudaMalloc(&at, count * sizeof(int)); }
    explicit Buffer(const Numbers &numbers) : Buffer(numbers.size())
    {
        cudaMemcpy(at, numbers.data(), count * sizeof(int), cudaMemcpyHostToDevice);
    }
    Buffer(const Buffer &) = delete;
    ~Buffer() { cudaFree(at); }
    Numbers read(size_t of) const
    {
        Numbers numbers(of);
        cudaMemcpy(numbers.data(), at, of * sizeof(int), cudaMemcpyDeviceToHost);
        return numbers;
    }
    Numbers read() const { return read(count); }
};

// Calls an algorithm twice: for the size of its own memory, and with it.
template <class Algorithm> static void run(Algorithm algorithm)
{
    void *own = nullptr;
    size_t bytes = 0;
    algorithm(own, bytes);
    cudaMalloc(&own, bytes);
    algorithm(own, bytes);
    cudaFree(own);
}

static void tell(const char *name, bool right)
{
    printf("%s: %s\n", name, right ? "right" : "wrong");
}

struct Odd {
    __host__ __device__ bool operator()(int x) const { return x & 1; }
};
struct Less {
    __host__ __device__ bool operator()(int x, int y) const { return x < y; }
};

__global__ void in_a_block(const int *in, int *scanned, int *sum)
{
    using Scan = cub::BlockScan<int, 128>;
    using Reduce = cub::BlockReduce<int, 128>;
    __shared__ union {
        Scan::TempStorage scan;
        Reduce::TempStorage reduce;
    } own;
    int before;
    Scan(own.scan).ExclusiveSum(in[threadIdx.x], before);
    __syncthreads();
    scanned[threadIdx.x] = before;
    const int all = Reduce(own.reduce).Sum(in[threadIdx.x]);
    if (threadIdx.x == 0)
        *sum = all;
}

int main()
{
    Numbers a(N), order(N);
    unsigned seed = 1;
    for (int &value : a)
        value = (seed = seed * 1664525u + 1013904223u) / 65536 % 1000;
    std::iota(order.begin(), order.end(), 0);
    Numbers sorted = a, by_key = order;
    std::sort(sorted.begin(), sorted.end());
    std::stable_sort(by_key.begin(), by_key.end(), [&](int i, int j) { return a[i] < a[j]; });
    const Buffer x(a), x_sorted(sorted), numbers(order);
    Buffer y(N), z(N), count(1);

    run([&](void *own, size_t &bytes) { cub::DeviceReduce::Sum(own, bytes, x.at, count.at, N); });
    tell("DeviceReduce", count.read()[0] == std::accumulate(a.begin(), a.end(), 0));
    Numbers h(N);
    std::exclusive_scan(a.begin(), a.end(), h.begin(), 0);
    run([&](void *own, size_t &bytes) { cub::DeviceScan::ExclusiveSum(own, bytes, x.at, y.at, N); });
    tell("DeviceScan", y.read() == h);
    run([&](void *own, size_t &bytes) { cub::DeviceRadixSort::SortKeys(own, bytes, x.at, y.at, N); });
    tell("DeviceRadixSort, keys", y.read() == sorted);
    run([&](void *own, size_t &bytes) { cub::DeviceRadixSort::SortPairs(own, bytes, x.at, y.at, numbers.at, z.at, N); });
    tell("DeviceRadixSort, pairs", y.read() == sorted && z.read() == by_key);

    constexpr int BINS = 20;
    Numbers bins(BINS);
    for (int value : a)
        bins[value / (1000 / BINS)]++;
    Buffer found(BINS);
    run([&](void *own, size_t &bytes) {
        cub::DeviceHistogram::HistogramEven(own, bytes, x.at, found.at, BINS + 1, 0, 1000, N);
    });
    tell("DeviceHistogram", found.read() == bins);
    Numbers odd;
    std::copy_if(a.begin(), a.end(), std::back_inserter(odd), Odd());
    run([&](void *own, size_t &bytes) { cub::DeviceSelect::If(own, bytes, x.at, y.at, count.at, N, Odd()); });
    tell("DeviceSelect", count.read()[0] == int(odd.size()) && y.read(odd.size()) == odd);
    Numbers runs, lengths;
    for (int value : sorted) {
        if (runs.empty() || runs.back() != value) {
            runs.push_back(value);
            lengths.push_back(0);
        }
        lengths.back()++;
    }
    run([&](void *own, size_t &bytes) {
        cub::DeviceRunLengthEncode::Encode(own, bytes, x_sorted.at, y.at, z.at, count.at, N);
    });
    const size_t groups = runs.size();
    tell("DeviceRunLengthEncode", count.read()[0] == int(groups) && y.read(groups) == runs && z.read(groups) == lengths);

    Numbers offsets, sums;
    for (int i = 0; i <= SEGMENTS; i++)
        offsets.push_back(N * i * i / (SEGMENTS * SEGMENTS));
    for (int i = 0; i < SEGMENTS; i++)
        sums.push_back(std::accumulate(a.begin() + offsets[i], a.begin() + offsets[i + 1], 0));
    const Buffer ends(offsets);
    Buffer totals(SEGMENTS);
    run([&](void *own, size_t &bytes) {
        cub::DeviceSegmentedReduce::Sum(own, bytes, x.at, totals.at, SEGMENTS, ends.at, ends.at + 1);
    });
    tell("DeviceSegmentedReduce", totals.read() == sums);
    Buffer keys(a);
    run([&](void *own, size_t &bytes) { cub::DeviceMergeSort::SortKeys(own, bytes, keys.at, N, Less()); });
    tell("DeviceMergeSort", keys.read() == sorted);
    // Its intermediate elements are structures, of an index and a value.
    Buffer place(1);
    run([&](void *own, size_t &bytes) {
        cub::DeviceReduce::ArgMax(own, bytes, x.at, count.at, reinterpret_cast<long long *>(y.at), (long long)N);
    });
    const auto greatest = std::max_element(a.begin(), a.end());
    tell("ArgMax", count.read()[0] == *greatest && y.read()[0] == greatest - a.begin());

    in_a_block<<<1, 128>>>(x.at, y.at, count.at);
    tell("BlockScan, BlockReduce", y.read(128) == Numbers(h.begin(), h.begin() + 128)
                                       && count.read()[0] == std::accumulate(a.begin(), a.begin() + 128, 0));
}
