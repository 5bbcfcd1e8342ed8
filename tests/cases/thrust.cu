// Algorithms of Thrust, each against the same of the C++ library on the host. All of them are right on an H200.
//
// run: emulate -- PROGRAM
// prints: transform: right
// prints: reduce: right
// prints: transform_reduce: right
// prints: inner_product: right
// prints: inclusive_scan: right
// prints: exclusive_scan: right
// prints: adjacent_difference: right
// prints: sort: right
// prints: stable_sort_by_key: right
// prints: unique: right
// prints: copy_if: right
// prints: partition: right
// prints: reduce_by_key: right
// prints: merge: right
// prints: lower_bound: right
// prints: max_element: right
//
// set_intersection compares what it has loaded with a word of shared memory that nothing has set, and masks the result
// by another condition: no wrong result, but a branch on an unset value by the letter, which the driver's list has.
//
// run: emulate -- PROGRAM set_intersection
// prints: set_intersection: right
// tells: emulate: no fault; 1 known and left out
#include <algorithm>
#include <cstdio>
#include <functional>
#include <numeric>
#include <thrust/adjacent_difference.h>
#include <thrust/binary_search.h>
#include <thrust/copy.h>
#include <thrust/device_vector.h>
#include <thrust/extrema.h>
#include <thrust/host_vector.h>
#include <thrust/inner_product.h>
#include <thrust/merge.h>
#include <thrust/partition.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/set_operations.h>
#include <thrust/sort.h>
#include <thrust/transform.h>
#include <thrust/transform_reduce.h>
#include <thrust/unique.h>
#include <vector>

using Host = std::vector<int>;
using Device = thrust::device_vector<int>;

struct Square {
    __host__ __device__ int operator()(int x) const { return x * x; }
};
struct Odd {
    __host__ __device__ bool operator()(int x) const { return x & 1; }
};

static void tell(const char *name, bool right)
{
    printf("%s: %s\n", name, right ? "right" : "wrong");
}

static bool same(const Device &device, const Host &host)
{
    Host copy(device.size());
    thrust::copy(device.begin(), device.end(), copy.begin());
    return copy == host;
}

// Numbers from 0 to `below`, in no order.
static Host numbers(int count, int below, unsigned seed)
{
    Host values(count);
    for (int &value : values)
        value = (seed = seed * 1664525u + 1013904223u) / 65536 % below;
    return values;
}

static void set_intersection()
{
    Host a = numbers(3000, 5000, 1), b = numbers(2000, 5000, 2), right;
    std::sort(a.begin(), a.end());
    std::sort(b.begin(), b.end());
    std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(right));
    Device x(a.begin(), a.end()), y(b.begin(), b.end()), z(2000);
    z.resize(thrust::set_intersection(x.begin(), x.end(), y.begin(), y.end(), z.begin()) - z.begin());
    tell("set_intersection", same(z, right));
}

int main(int count, char **)
{
    if (count > 1) {
        set_intersection();
        return 0;
    }
    constexpr int N = 3000;
    const Host a = numbers(N, 1000, 1), b = numbers(N, 1000, 2);
    const Device x(a.begin(), a.end()), y(b.begin(), b.end());
    Host h(N);
    Device d(N);

    std::transform(a.begin(), a.end(), b.begin(), h.begin(), std::plus<int>());
    thrust::transform(x.begin(), x.end(), y.begin(), d.begin(), thrust::plus<int>());
    tell("transform", same(d, h));
    tell("reduce", thrust::reduce(x.begin(), x.end()) == std::accumulate(a.begin(), a.end(), 0));
    std::transform(a.begin(), a.end(), h.begin(), Square());
    tell("transform_reduce", thrust::transform_reduce(x.begin(), x.end(), Square(), 0, thrust::plus<int>())
                                 == std::accumulate(h.begin(), h.end(), 0));
    tell("inner_product", thrust::inner_product(x.begin(), x.end(), y.begin(), 0)
                              == std::inner_product(a.begin(), a.end(), b.begin(), 0));
    std::partial_sum(a.begin(), a.end(), h.begin());
    thrust::inclusive_scan(x.begin(), x.end(), d.begin());
    tell("inclusive_scan", same(d, h));
    std::exclusive_scan(a.begin(), a.end(), h.begin(), 7);
    thrust::exclusive_scan(x.begin(), x.end(), d.begin(), 7);
    tell("exclusive_scan", same(d, h));
    std::adjacent_difference(a.begin(), a.end(), h.begin());
    thrust::adjacent_difference(x.begin(), x.end(), d.begin());
    tell("adjacent_difference", same(d, h));

    Host sorted = a;
    std::sort(sorted.begin(), sorted.end());
    d = x;
    thrust::sort(d.begin(), d.end());
    tell("sort", same(d, sorted));
    Host order(N);
    std::iota(order.begin(), order.end(), 0);
    Device keys = x, values(order.begin(), order.end());
    std::stable_sort(order.begin(), order.end(), [&](int i, int j) { return a[i] < a[j]; });
    thrust::stable_sort_by_key(keys.begin(), keys.end(), values.begin());
    tell("stable_sort_by_key", same(keys, sorted) && same(values, order));
    h = sorted;
    h.erase(std::unique(h.begin(), h.end()), h.end());
    d.erase(thrust::unique(d.begin(), d.end()), d.end());
    tell("unique", same(d, h));

    h.clear();
    std::copy_if(a.begin(), a.end(), std::back_inserter(h), Odd());
    d.resize(N);
    d.resize(thrust::copy_if(x.begin(), x.end(), d.begin(), Odd()) - d.begin());
    tell("copy_if", same(d, h));
    d = x;
    const auto middle = thrust::partition(d.begin(), d.end(), Odd()) - d.begin();
    Host parts(N);
    thrust::copy(d.begin(), d.end(), parts.begin());
    const bool apart = std::is_partitioned(parts.begin(), parts.end(), Odd()) && middle == long(h.size());
    std::sort(parts.begin(), parts.end());
    tell("partition", apart && parts == sorted);

    Host names, sums;
    for (int i = 0; i < N; i++) {
        if (names.empty() || names.back() != sorted[i]) {
            names.push_back(sorted[i]);
            sums.push_back(0);
        }
        sums.back() += b[i];
    }
    Device groups(sorted.begin(), sorted.end()), of(N), totals(N);
    const auto ends = thrust::reduce_by_key(groups.begin(), groups.end(), y.begin(), of.begin(), totals.begin());
    of.erase(ends.first, of.end());
    totals.erase(ends.second, totals.end());
    tell("reduce_by_key", same(of, names) && same(totals, sums));

    Host others = b;
    std::sort(others.begin(), others.end());
    Device more(others.begin(), others.end()), merged(2 * N);
    h.resize(2 * N);
    std::merge(sorted.begin(), sorted.end(), others.begin(), others.end(), h.begin());
    thrust::merge(groups.begin(), groups.end(), more.begin(), more.end(), merged.begin());
    tell("merge", same(merged, h));
    h.resize(N);
    std::transform(b.begin(), b.end(), h.begin(), [&](int value) {
        return int(std::lower_bound(sorted.begin(), sorted.end(), value) - sorted.begin());
    });
    Device places(N);
    thrust::lower_bound(groups.begin(), groups.end(), y.begin(), y.end(), places.begin());
    tell("lower_bound", same(places, h));
    tell("max_element", thrust::max_element(x.begin(), x.end()) - x.begin()
                            == std::max_element(a.begin(), a.end()) - a.begin());
}
